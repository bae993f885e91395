"""What a server holds: its tables, on disk too, who looks at them, and its jobs."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from pathlib import Path
from typing import Any

from gs2.jobs import Jobs
from gs2.web.games.game_tables import GameTables
from gs2.web.games.offers import game_offers
from gs2.web.tables.table import Refused, Table, checked_pace
from gs2.web.tables.table_log import TableLog, TableSetup, read_table, stored_table, stored_tables

logger = logging.getLogger("gs2.web")

MOST_TABLES = 512
"""Tables that are open at once; the others are on disk, and opened when somebody asks for them."""
MOST_LISTED = 100
SEEDS = 2**63


class House:
    """All tables of a server, and what they share.

    folder: of the tables' files. games: what may be played, and by which agents; None for what is listed.
    """

    def __init__(self, folder: Path, games: GameTables | None = None) -> None:
        self.folder = folder
        self.jobs = Jobs()
        self.games = games or GameTables()
        self.tables: dict[str, Table[Any]] = {}
        self.damaged: list[str] = []
        self._opening = asyncio.Lock()

    async def open(self) -> None:
        """Open the folder's tables where they were left, at most as many as may be open, those played last.

        A damaged one is named and left alone.
        """
        for path in reversed(stored_tables(self.folder)[:MOST_TABLES]):
            await self._open(path)

    def offers(self) -> list[dict[str, Any]]:
        """Return the games as the page lists them, each with its options and agents."""
        return game_offers(self.games.agents, self.games.own)

    async def table(self, key: str) -> Table[Any]:
        """Return the table of an id, opened from its file if it is not open.

        Raises Refused if there is none, or if too many are open.
        """
        if key not in self.tables:
            async with self._opening:  # two who ask at the same time get the same table
                path = None if key in self.tables else stored_table(self.folder, key)
                if path is not None:
                    self._make_room()
                    await self._open(path)
        found = self.tables.get(key)
        if found is None:
            raise Refused("missing", "no table has this address; it may have been removed")
        return found

    def newest(self) -> list[Table[Any]]:
        """Return the tables that are open, at most `MOST_LISTED`, those set up last first."""
        return sorted(self.tables.values(), key=lambda table: -table.setup.created)[:MOST_LISTED]

    async def create(self, data: dict[str, Any], name: str) -> dict[str, str | int | None]:
        """Set up a table; return its id, and seat and key of the person who asked, None without a person.

        Raises Refused at what cannot be.
        """
        seed, pace = _seed(data), checked_pace(data.get("pace", 0.7))
        fields = await self.games.asked(data)
        setup = TableSetup(
            id=secrets.token_urlsafe(9), seed=seed, pace=pace, created=round(time.time(), 3), **fields
        )
        play = await self.games.play(setup)
        await self.games.load(play)
        self._make_room()
        log = TableLog(self.folder / f"{setup.id}.jsonl", setup, new=True)
        table = self.tables[setup.id] = Table(log, play, self.games)
        seat, key = table.sit(name) if table.people else (None, None)
        table.drive()
        return {"id": setup.id, "seat": seat, "key": key}

    def close(self) -> None:
        """End everything; the tables stay on disk."""
        for table in self.tables.values():
            table.close()
        self.games.close()
        self.jobs.close()

    async def _open(self, path: Path) -> None:
        """Open a table as its file has it; a damaged one is noted."""
        log = None
        try:
            setup, lines = read_table(path)
            play = await self.games.play(setup)
            log = TableLog(path, setup, new=False)
            # beside the event loop: kernels may have to be compiled
            table = self.tables[setup.id] = await asyncio.to_thread(Table, log, play, self.games, lines)
            table.drive()
        except (OSError, ValueError) as error:
            if log is not None:
                log.close()
            told = str(error) if str(path) in str(error) else f"{path}: {error}"
            self.damaged.append(told)
            logger.warning("left alone: %s", told)

    def _make_room(self) -> None:
        """Close a table if no other may be open: one that is over, else the one opened first.

        Its file stays, from which it is opened again. Raises Refused if somebody looks at every table.
        """
        if len(self.tables) < MOST_TABLES:
            return
        alone = [key for key in self.tables if not self.tables[key].watchers]
        if not alone:
            raise Refused("full", f"people are at {MOST_TABLES} tables; wait until some have left theirs")
        key = min(alone, key=lambda one: not self.tables[one].play.over)
        self.tables.pop(key).close()


def _seed(data: dict[str, Any]) -> int:
    """Return the seed that a request gives, or a random one. Raises Refused at what is none."""
    seed = data.get("seed")
    if seed is None:
        return secrets.randbits(62)
    if isinstance(seed, str) and seed.isdecimal() and len(seed) < 20:
        seed = int(seed)
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < SEEDS:
        raise Refused("wrong", f"a seed is a whole number in 0..{SEEDS - 1}; got {seed!r:.40}")
    return seed
