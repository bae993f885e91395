"""Tables as a server leaves them on disk, played without one."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gs2.web.games.game_table import GameTable
from gs2.web.games.offers import game_titled
from gs2.web.tables.person_table import PersonTable
from gs2.web.tables.table_log import TableLog, TableSetup

__all__ = ["PEOPLE", "game_table", "stored_table_of_people"]

PEOPLE = ("Ann", "Bob", "Cy", "Dee")


def stored_table_of_people(
    folder: Path, until: Callable[[PersonTable], bool], **setup: Any
) -> tuple[PersonTable, list[str]]:
    """Return a table that was played at random until something, and the keys of its seats; it is closed."""
    options = {"id": secrets.token_urlsafe(9), "seed": secrets.randbits(60), **setup}
    made = TableSetup(seats=("person",) * 4, **options)
    folder.mkdir(parents=True, exist_ok=True)
    table = PersonTable(made, TableLog(folder / f"{made.id}.jsonl", made, new=True), {})
    keys = [table.sit(name)[1] for name in PEOPLE]
    rng = np.random.default_rng(made.seed)
    while not until(table):
        table.go_on()
        seat, due = next(iter(table.session.pending.items()))
        table.choose(seat, int(rng.integers(len(due.actions))))
    table.close()
    return table, keys


def game_table(folder: Path, game: str, seats: tuple[str, ...], **setup: Any) -> GameTable:
    """Return a table of a game at which nobody looks, before its first round."""

    async def nobody(*asked: object) -> int:
        raise AssertionError("nobody looks at the table")

    made = TableSetup(**{"id": "abcdefgh", "game": game, "seats": seats, "seed": 3, **setup})
    folder.mkdir(parents=True, exist_ok=True)
    return GameTable(made, game_titled(game), TableLog(folder / f"{made.id}.jsonl", made, new=True), nobody)
