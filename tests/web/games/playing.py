"""A browser's side of a table of a game, without a browser."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from games.game import Game
from games.support.array_types import Array
from gs2.web.games.game_round import GameRound
from tests.web.serving import Seat, Server, State

__all__ = ["GameSeat", "new_table", "play_round", "round_along"]


def new_table(server: Server, game: str, players: list[str], **options: Any) -> tuple[str, str]:
    """Return a new table's id and the person's key; agents move at once."""
    made = server.post("/api/tables", {"game": game, "seats": players, "pace": 0, **options})
    return made["id"], made["key"]


def round_along(game: Game, actions: Array) -> GameRound:
    """Return the round in which these actions were taken, chance's among them."""
    found = GameRound(game, 0, 0)
    found.states, found.players, found.taken = [game.root()], [], []
    for at in range(len(actions)):
        found.players.append(found.player)
        found.taken.append(actions[at : at + 1])
        found.states.append(game.step(found.state, np.zeros(1, np.int64), actions[at : at + 1]))
    return found


class GameSeat(Seat):
    """A connection to a table of a game."""

    def due(self) -> State:
        """Return the state in which this seat is to act, or the round is over."""
        return self.until(lambda state: state["round"]["over"] or state["turn"]["you"])

    def go(self, **message: Any) -> State:
        """Return the state after a message that is granted."""
        version = self.state["version"]
        self.say(**{"version": version, **message})
        while self.state["version"] == version:
            answer = self.hear()
            assert answer["type"] != "error", answer
        return self.state

    def take(self, index: int, cards: list[str] | None = None) -> State:
        """Return the state after one of the legal moves."""
        return self.go(type="play", index=index, version=self.state["version"], cards=cards or [])


def play_round(seat: GameSeat, rng: random.Random, moves: int | None = None) -> State:
    """Return the state after a round of random clicks, or after so many of them."""
    made = 0
    while not seat.due()["round"]["over"] and made != moves:
        seat.take(rng.randrange(seat.state["turn"]["you"]["count"]))
        made += 1
    return seat.state
