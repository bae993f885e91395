"""A small endgame keeps the contract of a game from end to end; `tests/games` deals rounds."""

from __future__ import annotations

import numpy as np
import pytest

from games.check import check_game
from games.guandan.rounds.round import GuanDan
from tests.games.guandan.rounds.test_round import start


@pytest.mark.parametrize("moves", [pytest.param("full", marks=pytest.mark.long), "canonical"])
@pytest.mark.some(1)
def test_a_small_endgame_keeps_the_contract_in_every_history(moves: str) -> None:
    game = GuanDan(moves, start=start("S3 D3 S9", "S4 D4", "S5 D5", "S6 H2"))
    report = check_game(game, np.random.default_rng(0), max_width=20_000)
    assert report.complete and report.terminals > 100
