"""What a server holds: its tables, on disk too, the agents that sit at them, who watches, and its jobs."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import attrs

from games.guandan.rules import as_rules
from gs2.guandan.table.agents import host_for, start_hosts
from gs2.guandan.table.hosts import Host
from gs2.guandan.table.seat import AgentError
from gs2.web.jobs import Jobs
from gs2.web.tables.person_table import LONGEST_PACE, PersonTable, Refused
from gs2.web.tables.seat_labels import seat_labels, without_folders
from gs2.web.tables.table_log import (
    MATCHES,
    PERSON,
    DamagedTable,
    TableLog,
    TableSetup,
    read_table,
    stored_table,
    stored_tables,
)

__all__ = ["AGENTS", "HINT", "House", "TableWatcher"]

logger = logging.getLogger("gs2.web")

AGENTS = (
    ("gs2", "searches half a second at most"),
    ("gs2-fast", "searches 50 ms at most"),
    ("gs2-deep", "searches 3 seconds at most"),
    ("blueprint", "the network alone"),
    ("strong", "the strongest of the rule-based agents"),
    ("mincomb", "rules: plays towards the fewest moves"),
    ("aggressive", "rules: beats what it can"),
    ("conservative", "rules: saves its high cards"),
    ("balanced", "rules: in between"),
    ("greedy", "rules: the simplest"),
    ("random", "any legal move"),
)
"""Agents that anybody may seat, and what they are; the command line may add others."""
MOST_TABLES = 512
"""Tables that are open at once; the others are on disk, and opened when somebody asks for them."""
MOST_GAMES = 100
"""Games at a table."""
LONGEST_NAME = 40
HINT = "standard"
"""How deeply a hint searches."""


class TableWatcher(Protocol):
    """A connection that looks at a table."""

    seat: int | None

    def show(self) -> None:
        """Send what is to be seen now."""
        ...


class House:
    """All tables of a server, and what they share.

    folder: of the tables' files. agents: names that may be seated; the page has them without their folders.
    workers: processes for each agent.
    """

    def __init__(self, folder: Path, *, agents: Sequence[str] = (), workers: int = 1) -> None:
        self.folder, self.workers = folder, workers
        self._labels = seat_labels(agents, [name for name, _ in AGENTS])
        self._given = {label: name for name, label in self._labels.items()}
        self.agents = dict(AGENTS) | dict.fromkeys(self._given, "from the command line")
        self.tables: dict[str, PersonTable] = {}
        self.watchers: dict[str, set[TableWatcher]] = {}
        self.hosts: dict[str, Host] = {}
        self.jobs = Jobs()
        self.damaged: list[str] = []
        self._starting: dict[str, asyncio.Task[None]] = {}
        self._opening = asyncio.Lock()
        self._hints = False

    async def open(self) -> None:
        """Take up the folder's tables where they were left, as many as may be open, those played at last.

        A damaged one is named and left alone.
        """
        found = [await self._stored(path) for path in stored_tables(self.folder)[:MOST_TABLES]]
        for table in reversed(found):
            if table is not None:
                self._keep(table)

    async def table(self, key: str) -> PersonTable | None:
        """Return the table of an id, taken up from its file if it is not open; None if there is none.

        Raises Refused if too many are open.
        """
        if key not in self.tables:
            async with self._opening:  # whoever asks at the same time gets the same table
                path = None if key in self.tables else stored_table(self.folder, key)
                if path is not None:
                    self._make_room()
                    table = await self._stored(path)
                    if table is not None:
                        self._keep(table)
        return self.tables.get(key)

    async def _stored(self, path: Path) -> PersonTable | None:
        """Return a table as its file has it; None if that is damaged, which is noted."""
        log = None
        try:
            setup, lines = read_table(path)
            if setup.game != MATCHES:
                raise DamagedTable(f"{path}: a table of {setup.game[:60]!r} is kept in games/; move it there")
            # a table that is older than the labels has the agents' own names
            setup = attrs.evolve(setup, seats=tuple(self._labels.get(s, s) for s in setup.seats))
            for name in setup.seats:
                if name != PERSON and name not in self.agents:
                    raise DamagedTable(
                        f"{path}: no agent is called {name[:80]!r} here; give your own by --agent"
                    )
            await self._hosts_for(setup.seats)
            log = TableLog(path, setup, new=False)
            return PersonTable.restored(setup, lines, log, self.hosts)
        except (OSError, ValueError) as error:
            if log is not None:
                log.close()
            self.damaged.append(str(error))
            logger.warning("%s", error)
            return None

    def close(self) -> None:
        """End everything; the tables stay on disk."""
        for table in self.tables.values():
            table.close()
        for host in self.hosts.values():
            host.close()
        self.jobs.close()

    async def create(self, seats: Sequence[str], *, games: int, seed: int | None, pace: float) -> PersonTable:
        """Return a new table. Raises Refused at what cannot be."""
        if (
            not isinstance(seats, Sequence)
            or len(seats) != 4
            or not all(isinstance(name, str) for name in seats)
        ):
            raise Refused("wrong", f"a table has four seats, each {PERSON!r} or an agent's name")
        for name in seats:
            if name != PERSON and name not in self.agents:
                known = ", ".join(self.agents)
                raise Refused("wrong", f"no agent is called {name[:40]!r} here; there are {known}")
        for word, value, most in (
            ("games", games, MOST_GAMES),
            ("seed", 0 if seed is None else seed, 2**63 - 1),
        ):
            low = 1 if word == "games" else 0
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= most:
                raise Refused("wrong", f"{word} is a whole number in {low}..{most}; got {value!r}")
        if isinstance(pace, bool) or not isinstance(pace, int | float) or not 0 <= pace <= LONGEST_PACE:
            raise Refused("wrong", f"a pace is in 0..{LONGEST_PACE:g} seconds; got {pace!r}")
        await self._hosts_for(seats)
        self._make_room()
        setup = TableSetup(
            id=secrets.token_urlsafe(9),
            seats=tuple(seats),
            games=games,
            seed=secrets.randbits(62) if seed is None else seed,
            pace=float(pace),
            created=round(time.time(), 3),
        )
        as_rules(setup.rules)
        log = TableLog(self.folder / f"{setup.id}.jsonl", setup, new=True)
        table = PersonTable(setup, log, self.hosts)
        self._keep(table)
        if table.people and not self._hints:
            self._hints = True
            self.jobs.start("hint", "gs2.guandan.table.hints:ready", HINT)
        return table

    def _keep(self, table: PersonTable) -> None:
        key = table.setup.id
        self.tables[key] = table
        watchers = self.watchers[key] = set()

        def changed() -> None:
            for watcher in list(watchers):
                watcher.show()

        table.changed = changed
        table.drive()

    def _make_room(self) -> None:
        """Let go of a table if no other may be open: one that is over, else the one opened first.

        Its file stays, from which it is opened again. Raises Refused if somebody looks at every table.
        """
        if len(self.tables) < MOST_TABLES:
            return
        alone = [key for key in self.tables if not self.watchers[key]]
        if not alone:
            raise Refused("full", f"people are at {MOST_TABLES} tables; wait until some have left theirs")
        key = min(alone, key=lambda one: not self.tables[one].over)
        self.tables[key].close()
        del self.tables[key], self.watchers[key]

    async def _hosts_for(self, seats: Sequence[str]) -> None:
        """Have the agents loaded. Raises AgentError if one cannot be."""
        for name in dict.fromkeys(seats):
            if name == PERSON or name in self.hosts:
                continue
            if name not in self._starting:
                self._starting[name] = asyncio.ensure_future(self._start(name))
            try:
                await asyncio.shield(self._starting[name])
            finally:
                self._starting.pop(name, None)

    async def _start(self, name: str) -> None:
        given = self._given.get(name, name)
        host = host_for(given, workers=self.workers)
        try:
            await start_hosts([host])
        except AgentError as error:
            host.close()
            logger.warning("agent %s: %s", given, error)
            raise AgentError(without_folders(str(error), given, name)) from None
        except BaseException:
            host.close()
            raise
        self.hosts[name] = host
