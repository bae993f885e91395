"""One table of people and agents: everything on the event loop, in the order in which it arrives."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from gs2.guandan.table.hosts import Host
from gs2.guandan.table.seat import AgentError, Observation
from gs2.guandan.table.server.place import default_choice
from gs2.guandan.table.session import Session
from gs2.web.account import TableAccount
from gs2.web.tables.seat_labels import without_folders
from gs2.web.tables.table_log import PERSON, DamagedTable, Line, TableLog, TableSetup
from gs2.web.tables.versions import Offer, Versions

__all__ = ["PersonTable", "Refused", "Sitter", "key_digest"]

logger = logging.getLogger("gs2.web")

PATIENCE = 60.0
"""Seconds an agent has for a move, before the weakest choice is played for it."""
LONGEST_PACE = 10.0
"""Seconds between two moves of agents at most."""
BETWEEN_ROUNDS = 5
"""Paces between two rounds of a table to watch."""


class Refused(ValueError):
    """Something a table does not do now; `code` says which rule, for the page's own words."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


@dataclass
class Sitter:
    """Who has a seat: an agent, a person, or nobody yet (name None). key: SHA-256 of a person's key."""

    agent: bool
    name: str | None = None
    key: str | None = None

    @property
    def kind(self) -> str:
        """ "agent", "person" or "open"."""
        return "agent" if self.agent else "open" if self.name is None else PERSON


def key_digest(key: str) -> str:
    """Return what is kept of a key."""
    return hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()


class PersonTable:
    """A table: its session, who sits there, and what waits for whom.

    changed: called after every change. versions: counts them.
    waiting: whether the people look at a round's result; agents wait for them.
    """

    def __init__(self, setup: TableSetup, log: TableLog, hosts: Mapping[str, Host]) -> None:
        self.setup, self.log, self.hosts = setup, log, hosts
        self.sitters = [Sitter(s != PERSON, None if s == PERSON else s) for s in setup.seats]
        self.pace, self.paused = setup.pace, False
        self.versions = Versions()
        self.waiting = False
        self.steps = 0
        self.failure: str | None = None
        self.changed: Callable[[], None] = lambda: None
        self.choices: list[tuple[int, int]] = []
        self._epoch = 0
        self._wake = asyncio.Event()
        self._thinking: dict[int, asyncio.Task[None]] = {}
        self._again(())

    @classmethod
    def restored(
        cls, setup: TableSetup, lines: Sequence[Line], log: TableLog, hosts: Mapping[str, Host]
    ) -> PersonTable:
        """Return a table as its log left it. Raises DamagedTable where the log departs from the rules."""
        table = cls(setup, log, hosts)
        for number, line in lines:
            try:
                table._replay(line)
            except (AgentError, KeyError, TypeError, ValueError, IndexError) as error:
                raise DamagedTable(f"{log.path}:{number}: {error}; move the file away") from None
        table._count_change()
        return table

    def _replay(self, line: dict[str, Any]) -> None:
        ((word, value),) = line.items()
        if word == "sit":
            seat, name, key = value
            if self.sitters[seat].agent:
                raise ValueError(f"seat {seat} is an agent's")
            self._give(seat, str(name), str(key))
        elif word == "choose":
            seat, index = value
            self._take(seat, index)
        elif word == "undo":
            self._again(self.choices[:value])
        elif word == "next":
            self.waiting = False
        else:
            raise ValueError(f"a line is one of sit, choose, undo, next; got {word!r}")

    # --- who sits here ---

    @property
    def people(self) -> list[int]:
        """Seats that are for people, taken or not."""
        return [seat for seat, sitter in enumerate(self.sitters) if not sitter.agent]

    @property
    def names(self) -> list[str]:
        """What each seat is called."""
        return [sitter.name or "" for sitter in self.sitters]

    @property
    def over(self) -> bool:
        """Whether the last game is over."""
        return self.session.stage == "over"

    def seat_of(self, key: str | None) -> int | None:
        """Return the seat that a key opens; None if it opens none."""
        if not key:
            return None
        digest = key_digest(key)
        for seat, sitter in enumerate(self.sitters):
            if sitter.key is not None and hmac.compare_digest(sitter.key, digest):
                return seat
        return None

    def sit(self, name: str, seat: int | None = None) -> tuple[int, str]:
        """Return a seat given to a person, and the key that opens it from now on.

        Raises Refused if it is taken, or none is left.
        """
        free = [s for s in self.people if self.sitters[s].name is None]
        if seat is None and free:
            seat = free[0]
        if seat not in free:
            raise Refused("taken", f"seat {seat} is taken; free: {', '.join(map(str, free)) or 'none'}")
        assert seat is not None
        key = secrets.token_urlsafe(24)
        self.log.append({"sit": [seat, name, key_digest(key)]})
        self._give(seat, name, key_digest(key))
        self._tell()
        return seat, key

    def _give(self, seat: int, name: str, digest: str) -> None:
        self.sitters[seat].name, self.sitters[seat].key = name, digest
        self.account.names = self.names

    # --- play ---

    def _again(self, choices: tuple[tuple[int, int], ...] | list[tuple[int, int]]) -> None:
        """Play the session anew up to some choices."""
        self._epoch += 1
        self.choices = []
        self.waiting = False
        self.account = TableAccount(self.names)
        self.session = Session(
            self.account, games=self.setup.games, rules=self.setup.rules, seed=self.setup.seed
        )
        self.account.session = self.session
        self.session.begin()
        for seat, index in choices:
            self._take(seat, index)
            self.waiting = False

    def _take(self, seat: int, index: int) -> None:
        rounds = len(self.account.results)
        self.session.choose(seat, index)
        self.choices.append((seat, index))
        if len(self.account.results) > rounds and self.people and not self.over:
            self.waiting = True

    def choose(self, seat: int, index: int) -> None:
        """Carry out a choice, and have the next seats asked.

        Raises Refused if it is not the seat's turn, or the index is not one of its choices.
        """
        if seat not in self.session.pending:
            raise Refused("not_your_turn", f"seat {seat} is not to act now")
        if self.waiting:
            raise Refused("waiting", "the round is over; start the next one first")
        choices = len(self.session.pending[seat].actions)
        if not 0 <= index < choices:
            raise Refused("no_choice", f"a choice is an index in 0..{choices - 1}; got {index}")
        self.log.append({"choose": [seat, index]})
        self._take(seat, index)
        self._tell()

    def undo(self, seat: int) -> None:
        """Go back to before the last choice of a person.

        Raises Refused at a table with other people, or if there is nothing to take back.
        """
        if len(self.people) > 1:
            raise Refused("not_alone", "moves can be taken back only where one person plays with agents")
        last = self._last_choice(seat)
        if last is None:
            raise Refused("nothing", "you have not chosen anything yet")
        self.log.append({"undo": last})
        self._again(self.choices[:last])
        for place in range(4):
            self._forget(place)
        self._tell()

    def can_undo(self, seat: int | None) -> bool:
        """Return whether `undo` would do something."""
        return seat is not None and len(self.people) == 1 and self._last_choice(seat) is not None

    def _last_choice(self, seat: int) -> int | None:
        places = range(len(self.choices) - 1, -1, -1)
        return next((place for place in places if self.choices[place][0] == seat), None)

    def go_on(self) -> None:
        """Leave a round's result for the next round."""
        if self.waiting:
            self.log.append({"next": 1})
            self.waiting = False
            self._tell()

    def set_pace(self, pace: float | None, paused: bool | None) -> None:
        """Set the seconds between moves of agents, or have them wait. Raises Refused at a wrong pace."""
        if pace is not None:
            if not 0 <= pace <= LONGEST_PACE:
                raise Refused("wrong", f"a pace is in 0..{LONGEST_PACE:g} seconds; got {pace}")
            self.pace = pace
        if paused is not None:
            self.paused = paused
            self.steps = 0
        self._tell()

    def step(self) -> None:
        """Let one agent move at a paused table."""
        if self.paused:
            self.steps = 1
            self._tell()

    def offer(self, what: str, seat: int) -> Offer:
        """Return what `versions` calls a seat's choice ("choose"), "undo" or "next".

        Where two seats pay tribute, one need not look again because the other has chosen.
        """
        return (what,) if what == "next" else (what, seat, self._last_choice(seat))

    def observe(self, seat: int) -> Observation:
        """Return what a seat that is to act knows."""
        return self.session.observe(seat)

    # --- agents ---

    def _count_change(self) -> None:
        offers = [self.offer("choose", seat) for seat in self.session.pending]
        offers += [self.offer("undo", seat) for seat in self.people if self.can_undo(seat)]
        offers += [self.offer("next", seat) for seat in self.people if self.waiting]
        self.versions.count(offers)

    def _tell(self) -> None:
        self._count_change()
        self._wake.set()
        self._wake = asyncio.Event()
        self.changed()
        self.drive()

    def drive(self) -> None:
        """Have the agents think that are to act."""
        for seat in list(self.session.pending):
            if self.sitters[seat].agent and seat not in self._thinking and not self.waiting:
                task = asyncio.get_running_loop().create_task(self._think(seat))
                self._thinking[seat] = task

    async def _think(self, seat: int) -> None:
        epoch, fresh = self._epoch, not self.account.plays and bool(self.account.results)
        began = time.monotonic()
        index = await self._answer(seat)
        while epoch == self._epoch:
            # the pace may change, and the table be paused, while a move waits to be shown
            paces = BETWEEN_ROUNDS if fresh and not self.people else 1
            left = began + self.pace * paces - time.monotonic()
            held = self.paused and not self.steps
            if not held and (left <= 0 or self.steps):
                break
            wake = self._wake
            with suppress(TimeoutError):
                await asyncio.wait_for(wake.wait(), None if held else left)
        self._thinking.pop(seat, None)
        if epoch != self._epoch:
            self.drive()
            return
        self.steps = 0
        self.choose(seat, index)

    async def _answer(self, seat: int) -> int:
        """Return an agent's choice; the weakest one if it fails or takes too long."""
        due = self.session.pending[seat]
        if len(due.actions) == 1:
            return 0
        name = self.sitters[seat].name or ""
        host, key = self.hosts[name], (self.setup.id, seat)
        try:
            index = await asyncio.wait_for(host.answer(key, self.session.observe(seat)), PATIENCE)
            self.failure = None
            return index
        except TimeoutError:
            host.give_up(key)
            self.failure = f"{name} took more than {PATIENCE:g} s; the weakest choice was played"
        except AgentError as error:
            told = without_folders(str(error), getattr(host, "name", name), name)
            self.failure = f"{name}: {told}; the weakest choice was played"
        logger.warning("table %s: %s", self.setup.id, self.failure)
        return default_choice(due)

    def _forget(self, seat: int) -> None:
        if self.sitters[seat].agent:
            self.hosts[self.sitters[seat].name or ""].forget((self.setup.id, seat))

    def close(self) -> None:
        """Let go of the agents and the file; the table stays on disk."""
        self._epoch += 1
        for task in self._thinking.values():
            task.cancel()
        for seat in range(4):
            self._forget(seat)
        self.log.close()
