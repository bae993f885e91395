"""Rounds of matches, scored by the chance of winning the match."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from click.testing import CliRunner

from experiments.training import match_worth as module
from experiments.training.frequencies import count_results, frequencies
from experiments.training.match_worth import match_situations, match_worth, play_worth
from games.guandan.rounds.state import NOBODY


@pytest.fixture(autouse=True)
def few_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "match_situations", functools.partial(match_situations, most=12))


def test_situations_are_those_of_matches() -> None:
    rows = match_situations(200, 1, most=12)
    assert len(rows) == 200
    first = rows["order"][:, 0] == NOBODY
    assert 0 < first.sum() < 100 and np.array_equal(first, rows["owner"] == NOBODY)
    assert not rows["fails"][rows["levels"] != 12].any() and rows["levels"].max() == 12


@pytest.mark.long
def test_an_agent_gains_nothing_over_itself_and_much_over_random_play() -> None:
    same = play_worth("greedy", "greedy", 40, 1)
    assert same.chance == pytest.approx((0.0, 0.0), abs=1e-9) and same.levels[0] == 0.0
    better = play_worth("blueprint", "random", 40, 1)
    assert better.chance[0] > 3 * better.chance[1] > 0 and better.levels[0] > 2 and better.won > 90
    apart = play_worth("blueprint", "random", 10, 1, apart=0.6)
    assert 0 < apart.rounds <= 10


def test_rounds_that_are_nowhere_so_far_apart_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"--apart must leave 2 rounds; got 99.* draw more --rounds"):
        play_worth("greedy", "greedy", 4, 1, apart=99)
    for value in ("nan", "inf", "-1"):
        said = CliRunner().invoke(match_worth, ["greedy", "greedy", "--apart", value])
        assert said.exit_code == 2 and "--apart" in said.output


@pytest.mark.long
def test_the_commands_print_what_they_found() -> None:
    said = CliRunner().invoke(match_worth, ["blueprint", "greedy", "--rounds", "6"])
    assert said.exit_code == 0 and "points of winning the match a round" in said.output
    said = CliRunner().invoke(frequencies, ["--agent", "greedy", "--matches", "2"])
    assert said.exit_code == 0 and said.output.count("won by") == 3
    count = count_results("greedy", 6, 3)
    assert count.shape == (3, 6) and count.sum() > 30
