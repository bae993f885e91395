"""A browser's side of a table of a game, without a browser."""

from __future__ import annotations

import json
import random
from contextlib import ExitStack
from typing import Any

import numpy as np
from websockets.sync.client import ClientConnection, connect

from games.game import Game
from games.support.array_types import Array
from gs2.web.games.game_round import GameRound
from tests.web.serving import PATIENCE, Server

__all__ = ["GameSeat", "new_table", "play_round", "round_along"]

State = dict[str, Any]


def new_table(server: Server, game: str, players: list[str], **options: Any) -> tuple[str, str]:
    """Return a new table's id and the person's key; agents move at once."""
    made = server.post("/api/game-tables", {"game": game, "players": players, "pace": 0, **options})
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


class GameSeat:
    """A connection to a table of a game, and the state that was shown last."""

    def __init__(self, server: Server, table: str, key: str) -> None:
        address = f"{server.url.replace('http', 'ws')}/ws/game-tables/{table}?key={key}"
        line = connect(address, max_size=1 << 22, ping_interval=None)
        self.line: ClientConnection = ExitStack().enter_context(line)
        self.state: State = {}
        while not self.state:
            self.hear()

    def hear(self, patience: float = PATIENCE) -> dict[str, Any]:
        """Return the next message; a state is kept too."""
        message: dict[str, Any] = json.loads(self.line.recv(patience))
        if message["type"] == "state":
            self.state = message
        return message

    def say(self, **message: Any) -> None:
        """Send a message."""
        self.line.send(json.dumps(message))

    def ask(self, *kinds: str, **message: Any) -> dict[str, Any]:
        """Return the answer of one of these kinds, or the error, to a message."""
        self.say(**message)
        while True:
            answer = self.hear()
            if answer["type"] in (*kinds, "error"):
                return answer

    def due(self) -> State:
        """Return the state in which this seat is to act, or the round is over."""
        while not (self.state["round"]["over"] or self.state["round"]["moves"]):
            self.hear()
        return self.state

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

    def close(self) -> None:
        """Hang up."""
        self.line.close()


def play_round(seat: GameSeat, rng: random.Random, moves: int | None = None) -> State:
    """Return the state after a round of random clicks, or after so many of them."""
    made = 0
    while not seat.due()["round"]["over"] and made != moves:
        seat.take(rng.randrange(len(seat.state["round"]["moves"]["texts"])))
        made += 1
    return seat.state
