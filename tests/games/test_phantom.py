"""Phantom tic-tac-toe and dark hex play as OpenSpiel's do; boards with wrong rules are refused."""

from __future__ import annotations

import numpy as np
import pytest

from games import TERMINAL, GameError, load_game
from games.infosets.private_moves import Placements, check_private_moves
from tests.games.trees import random_line
from tests.patience import amount

PAIRS = (
    ("phantom_ttt", "phantom_ttt(gameversion=classical)"),
    ("phantom_ttt(abrupt=true)", "phantom_ttt(gameversion=abrupt)"),
    ("dark_hex", "dark_hex(gameversion=cdh,board_size=3)"),
    ("dark_hex(abrupt=true)", "dark_hex(gameversion=adh,board_size=3)"),
    ("dark_hex(size=2)", "dark_hex(gameversion=cdh,board_size=2)"),
    ("dark_hex(size=2,abrupt=true)", "dark_hex(gameversion=adh,board_size=2)"),
)


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_random_plays_agree_with_openspiel_move_by_move(ours: str, theirs: str) -> None:
    pyspiel = pytest.importorskip("pyspiel")
    game, other = load_game(ours), pyspiel.load_game(theirs)
    rng = np.random.default_rng(0)
    for _ in range(amount(150, 30)):
        state = other.new_initial_state()
        for states, who, actions, taken in random_line(game, rng):
            if who == TERMINAL:
                assert state.is_terminal() and game.returns(states)[0].tolist() == state.returns()
            else:
                assert who == state.current_player() and actions.values.tolist() == state.legal_actions()
                state.apply_action(int(taken))


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
