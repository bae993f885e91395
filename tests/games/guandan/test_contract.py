"""The round holds the contract of a game: a small endgame from end to end, sampled deals in part."""

from __future__ import annotations

import numpy as np
import pytest

from games.check import check_game
from games.guandan.rounds.belief import determinise
from games.guandan.rounds.round import GuanDan, deal
from tests.games.guandan.rounds.test_round import start


@pytest.mark.parametrize("moves", [pytest.param("full", marks=pytest.mark.long), "canonical"])
def test_a_small_endgame_keeps_the_contract_in_every_history(moves: str) -> None:
    game = GuanDan(moves, start=start("S3 D3 S9", "S4 D4", "S5 D5", "S6 H2"))
    report = check_game(game, np.random.default_rng(0), max_width=20_000)
    assert report.complete and report.terminals > 100


def test_sampled_deals_keep_the_contract() -> None:
    rng = np.random.default_rng(1)
    roots = deal(1, rng, level=4, first=1)
    roots = np.concatenate([roots, determinise(roots[:1], 0, rng)])  # two that seat 0 cannot tell apart
    report = check_game(GuanDan("canonical"), rng, roots=roots, max_width=6)
    assert not report.complete and report.histories > 200
