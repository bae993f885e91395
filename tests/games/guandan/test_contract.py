"""A small endgame keeps the contract of a game from end to end; `tests/games` deals rounds."""

from __future__ import annotations

import os

import numpy as np
import pytest

from games.guandan.rounds.round import GuanDan
from tests.games.guandan.rounds.test_round import start
from tests.games.random_games import check_quickly
from tests.patience import LONG


@pytest.mark.parametrize("moves", [pytest.param("full", marks=pytest.mark.long), "canonical"])
@pytest.mark.some(1)
def test_a_small_endgame_keeps_the_contract_in_every_history(moves: str) -> None:
    game = GuanDan(
        moves, start=start("S3 D3 S9" if LONG in os.environ else "S3 S9", "S4 D4", "S5 D5", "S6 H2")
    )
    report = check_quickly(game, np.random.default_rng(0), max_width=20_000)
    assert report.complete and report.terminals > 100
