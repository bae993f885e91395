"""What a server holds: its tables, on disk too, who looks at them, and its jobs."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from gs2.web.answers import NoSuch
from gs2.web.games.game_table import GameTable
from gs2.web.games.game_tables import GameTables
from gs2.web.guandan.match_tables import MatchTables
from gs2.web.jobs import Jobs
from gs2.web.tables.person_table import LONGEST_PACE, PersonTable, Refused
from gs2.web.tables.table_log import (
    MATCHES,
    PERSON,
    TableLog,
    TableSetup,
    read_table,
    stored_table,
    stored_tables,
)

__all__ = ["House", "TableWatcher"]

logger = logging.getLogger("gs2.web")

MOST_TABLES = 512
"""Tables that are open at once; the others are on disk, and opened when somebody asks for them."""
SEEDS = 2**63


class TableWatcher(Protocol):
    """A connection that looks at a table."""

    seat: int | None

    def show(self) -> None:
        """Send what is to be seen now."""
        ...


AnyTable = PersonTable | GameTable
T = TypeVar("T", PersonTable, GameTable)


class House:
    """All tables of a server, and what they share.

    folder: of the tables' files. agents, game_agents: names that may be seated at GuanDan and at other games,
    beside those that are listed. workers: processes for each agent of GuanDan.
    """

    def __init__(
        self, folder: Path, *, agents: Sequence[str] = (), game_agents: Sequence[str] = (), workers: int = 1
    ) -> None:
        self.folder = folder
        self.jobs = Jobs()
        self.matches = MatchTables(self.jobs, agents, workers=workers)
        self.games = GameTables(game_agents)
        self.tables: dict[str, AnyTable] = {}
        self.watchers: dict[str, set[TableWatcher]] = {}
        self.damaged: list[str] = []
        self._opening = asyncio.Lock()

    async def open(self) -> None:
        """Open the folder's tables where they were left, at most as many as may be open, those played last.

        A damaged one is named and left alone.
        """
        for path in reversed(stored_tables(self.folder)[:MOST_TABLES]):
            await self._open(path)

    async def table(self, key: str, kind: type[T]) -> T:
        """Return the table of an id and a kind, opened from its file if it is not open.

        Raises NoSuch if there is none, and Refused if too many are open.
        """
        if key not in self.tables:
            async with self._opening:  # two who ask at the same time get the same table
                path = None if key in self.tables else stored_table(self.folder, key)
                if path is not None:
                    self._make_room()
                    await self._open(path)
        found = self.tables.get(key)
        if not isinstance(found, kind):
            raise NoSuch("no table has this address; it may have been removed")
        return found

    async def create(
        self, kind: MatchTables | GameTables, data: dict[str, Any], name: str
    ) -> dict[str, str | int | None]:
        """Set up a table; return its id, and seat and key of the person who asked, None without a person.

        Raises Refused at what cannot be.
        """
        seed, pace = _seed(data), _pace(data)
        fields = await kind.asked(data)
        self._make_room()
        setup = TableSetup(
            id=secrets.token_urlsafe(9), seed=seed, pace=pace, created=round(time.time(), 3), **fields
        )
        table = kind.new(setup, TableLog(self.folder / f"{setup.id}.jsonl", setup, new=True))
        self._keep(table)
        seat, key = table.sit(name) if PERSON in setup.seats else (None, None)
        return {"id": setup.id, "seat": seat, "key": key}

    def close(self) -> None:
        """End everything; the tables stay on disk."""
        for table in self.tables.values():
            table.close()
        self.matches.close()
        self.games.close()
        self.jobs.close()

    async def _open(self, path: Path) -> None:
        """Open a table as its file has it; a damaged one is noted."""
        log = None
        try:
            setup, lines = read_table(path)
            log = TableLog(path, setup, new=False)
            kind = self.matches if setup.game == MATCHES else self.games
            self._keep(await kind.restored(setup, lines, log))
        except (OSError, ValueError) as error:
            if log is not None:
                log.close()
            told = str(error) if str(path) in str(error) else f"{path}: {error}"
            self.damaged.append(told)
            logger.warning("left alone: %s", told)

    def _keep(self, table: AnyTable) -> None:
        key = table.setup.id
        self.tables[key] = table
        watchers = self.watchers[key] = set()

        def changed() -> None:
            for watcher in list(watchers):
                watcher.show()

        table.changed = changed
        table.drive()

    def _make_room(self) -> None:
        """Close a table if no other may be open: one that is over, else the one opened first.

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


def _seed(data: dict[str, Any]) -> int:
    """Return the seed that a request gives, or a random one. Raises Refused at what is none."""
    seed = data.get("seed")
    if seed is None:
        return secrets.randbits(62)
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < SEEDS:
        raise Refused("wrong", f"a seed is a whole number in 0..{SEEDS - 1}; got {seed!r:.40}")
    return seed


def _pace(data: dict[str, Any]) -> float:
    """Return the pace that a request gives, in seconds. Raises Refused at what is none."""
    pace = data.get("pace", 0.7)
    if isinstance(pace, bool) or not isinstance(pace, int | float) or not 0 <= pace <= LONGEST_PACE:
        raise Refused("wrong", f"a pace is in 0..{LONGEST_PACE:g} seconds; got {pace!r:.40}")
    return float(pace)
