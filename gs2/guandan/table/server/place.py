"""A place at a table: who sits there, what they are asked, and how long the table waits for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from games.guandan.cards import PASS
from games.guandan.matches.match import Pending
from games.guandan.rules import RULING, Rules
from gs2.guandan.table.hosts import Host
from gs2.guandan.table.wire.connection import Connection
from gs2.guandan.table.wire.moves import MoveList


class TableError(ValueError):
    """A client asked for what it cannot have; the message is for it to read."""


@dataclass(frozen=True)
class RoomConfig:
    """How a table treats its players.

    rules: of the games. decision: seconds a client may take for an answer; 0 for no limit (the competition
    platform's rule). reconnect: seconds that the seat of a lost connection waits before others decide for it.
    wrong: bad answers to one request until it is decided for the client. missed: requests in a row decided
    for a silent client after which nobody waits for it, until it speaks again. delay: seconds from the fourth
    player to the first deal (the official server: about 1). probe: seconds that a connection has to show that
    it lives when somebody else claims its seat; above 0.
    """

    rules: Rules = RULING
    decision: float = 60.0
    reconnect: float = 30.0
    wrong: int = 20
    missed: int = 3
    delay: float = 0.0
    probe: float = 2.0

    def __post_init__(self) -> None:
        for name in ("decision", "reconnect", "delay", "probe"):
            seconds = getattr(self, name)
            # a comparison with nan is false: the limit would be gone without a word
            if not (math.isfinite(seconds) and seconds >= 0):
                raise TableError(f"{name} is a number of seconds, at least 0; got {seconds:g}")
        if self.probe == 0:
            raise TableError("probe is a number of seconds above 0; nobody answers within none")
        for name in ("wrong", "missed"):
            if getattr(self, name) < 1:
                raise TableError(f"{name} is at least 1; got {getattr(self, name)}")


@dataclass(slots=True)
class Seat:
    """One seat: a client with its connection, or an agent with its host.

    user: by what a client is known when it comes back; name: what the table calls whoever sits here.
    asked: the request it has not answered, in JSON; None when it has nothing to answer.
    since: when it was asked; deadline: when it is decided for it; wrong: bad answers since.
    limit: when its own time is up, which begins once, when it is sent the request; None if it was away then
    and still is.
    missed: requests in a row that were decided for it.
    hand: number of cards, and the cards in JSON, when they were last written during play.
    lost: when its connection was lost, None while it is there.
    """

    index: int
    name: str = ""
    user: str | None = None
    connection: Connection | None = None
    host: Host | None = None
    asked: bytes | None = None
    due: Pending | None = None
    since: float = 0.0
    deadline: float = math.inf
    limit: float | None = math.inf
    wrong: int = 0
    missed: int = 0
    lost: float | None = None
    thinking: bool = False
    moves: MoveList | None = None
    beginning: bytes = field(default=b"", repr=False)
    hand: tuple[int, bytes] = (-1, b"")

    @property
    def taken(self) -> bool:
        """Whether somebody sits here."""
        return self.user is not None or self.host is not None


def default_choice(due: Pending) -> int:
    """Return what is played for a seat that does not answer: PASS if it may, else the weakest choice."""
    return int(np.argmax(due.actions["type"] == PASS))


def place_agents(agents: Sequence[str], client: int) -> dict[int, str]:
    """Return who sits where beside a client in seat `client`, by seat.

    One name takes the seat before the client's, two the opponents' seats, three all others. `SEAT:NAME` takes
    that very seat.
    Raises TableError if a seat is taken twice or no seat is left for a client.
    """
    placed: dict[int, str] = {}
    rest = []
    for agent in agents:
        seat, name = _seat_and_name(agent)
        if seat is None:
            rest.append(name)
        elif seat in placed:
            raise TableError(f"seat {seat} is given to two agents: {', '.join(agents)}")
        else:
            placed[seat] = name
    if len(placed) + len(rest) > 3:
        raise TableError(f"a table has four seats and a client needs one; got {len(agents)} agents")
    order = {1: (3, 1, 2), 2: (1, 3, 2), 3: (1, 2, 3)}.get(len(rest), ())
    free = [(client + step) % 4 for step in order if (client + step) % 4 not in placed]
    placed |= dict(zip(free, rest, strict=False))
    return placed


def agent_names(agents: Sequence[str]) -> list[str]:
    """Return the names in `NAME` and `SEAT:NAME`, each once."""
    return list(dict.fromkeys(_seat_and_name(agent)[1] for agent in agents))


def _seat_and_name(agent: str) -> tuple[int | None, str]:
    """Return the parts of `SEAT:NAME`; no seat if there is only a name (which may have colons itself)."""
    seat, _, name = agent.partition(":")
    return (int(seat), name) if name and seat in ("0", "1", "2", "3") else (None, agent)
