"""Rounds of games as workers are told of them."""

from __future__ import annotations

import numpy as np

from games.game import Game
from games.support.array_types import Array
from gs2.web.games.game_round import GameRound


def progress(done: int, of: int) -> None:
    """Hear nothing of how far a worker is."""


def round_along(game: Game, actions: Array) -> GameRound:
    """Return the round in which these actions were taken, chance's among them."""
    found = GameRound(game, 0, 0)
    found.states, found.players, found.taken = [game.root()], [], []
    for at in range(len(actions)):
        found.players.append(found.player)
        found.taken.append(actions[at : at + 1])
        found.states.append(game.step(found.state, np.zeros(1, np.int64), actions[at : at + 1]))
    return found
