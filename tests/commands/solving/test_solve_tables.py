"""The tables of `gs2 solve` show payoffs of any size, and no errors of rounding."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.commands.runner import ran

SOURCE = """
from games.research.goofspiel import Goofspiel

class Scaled(Goofspiel):
    def __init__(self):
        super().__init__(cards=3)
        low, high = self.payoff_range
        self.payoff_range = {size} * low, {size} * high

    def returns(self, states):
        return {size} * super().returns(states)
"""
BIDS = {1: 0.5, 2: 0.0, 3: -0.5}
"""What the bids on the first prize, 1, are worth of the payoffs if everything else is chosen uniformly."""


@pytest.mark.parametrize("size", [1e-6, 3e-5, 1.0, 1e5])
def test_values_are_told_whatever_their_size(size: float, tmp_path: Path) -> None:
    file = tmp_path / "scaled.py"
    file.write_text(SOURCE.format(size=size))
    words = ("solve", f"{file}:Scaled", "--infoset", "P0 | prize 1", "--blueprint", "uniform")
    result = ran(*words)
    for bid, worth in BIDS.items():
        told = re.search(rf"^bid {bid} .* ([+-][0-9.e+-]+)\s*$", result.stdout, re.M)
        assert told is not None and float(told[1]) == pytest.approx(size * worth), result.stdout
    assert not re.search(r"[+-]\d\.\de-(?:0[9]|[1-9]\d)", result.stdout), "no errors of rounding"


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("mirror-descent", "no answer of the opponent"),
        ("gs2-s", "gains against three answers of the opponent"),
        ("gs2-s:robust=false", "against the opponent's own step"),
        ("gs2-s:source=sampled", "values by rollout after 1 action"),
    ],
)
def test_a_step_is_told_as_one_and_not_as_a_subgame(method: str, words: str) -> None:
    result = ran("solve", "kuhn_poker", "--method", method)
    assert words in result.stdout and "Subgame" not in result.stdout
