"""Phantom tic-tac-toe and dark hex: infosets that nobody reaches and boards with wrong rules are refused."""

from __future__ import annotations

import numpy as np
import pytest

from games import GameError, load_game
from games.infosets.private_moves import Placements, check_private_moves


def test_an_infoset_that_nobody_reaches_is_refused() -> None:
    for text in ("P0 a1-taken", "P0 a1 a1", "P1 d4", "P0 b2 waiting"):
        with pytest.raises(GameError):
            load_game("dark_hex(size=2)").parse_infoset(text)


def test_a_game_that_does_not_play_as_its_placements_say_is_caught() -> None:
    game = load_game("dark_hex(size=2)")
    other = load_game("dark_hex(size=2,abrupt=true)")
    game.placements = other.placements  # type: ignore[attr-defined]
    game.step = load_game("dark_hex(size=2)").step  # type: ignore[method-assign]
    with pytest.raises(GameError, match="must be as `placements` says"):
        check_private_moves(game, np.random.default_rng(0))  # type: ignore[arg-type]


def test_a_board_on_which_one_stone_wins_is_refused() -> None:
    wins = np.ones((2, 8), bool)
    with pytest.raises(GameError, match="two stones"):
        Placements(3, wins, False)
    with pytest.raises(GameError, match=r"\(2, 16\)"):
        Placements(4, wins, False)
