"""A browser's side of a table of a game, without a browser."""

from __future__ import annotations

import random

import numpy as np

from games.game import Game
from games.support.array_types import Array
from gs2.web.games.game_round import GameRound
from tests.web.serving import Seat, State


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


def play_round(seat: Seat, rng: random.Random, moves: int | None = None) -> State:
    """Return the state after a round of random clicks, or after so many of them."""
    made = 0
    while not seat.my_turn()["round"]["over"] and made != moves:
        seat.play(rng.randrange(seat.state["turn"]["you"]["count"]))
        made += 1
    return seat.state
