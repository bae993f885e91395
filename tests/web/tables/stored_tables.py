"""Tables of people as a server leaves them on disk, played without one."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gs2.web.tables.person_table import PersonTable
from gs2.web.tables.table_log import TableSetup, table_log

__all__ = ["PEOPLE", "stored_table_of_people"]

PEOPLE = ("Ann", "Bob", "Cy", "Dee")


def stored_table_of_people(
    folder: Path, until: Callable[[PersonTable], bool], **setup: Any
) -> tuple[PersonTable, list[str]]:
    """Return a table that was played at random until something, and the keys of its seats; it is closed."""
    options = {"id": secrets.token_urlsafe(9), "seed": secrets.randbits(60), **setup}
    made = TableSetup(seats=("person",) * 4, **options)
    folder.mkdir(parents=True, exist_ok=True)
    table = PersonTable(made, table_log(folder / f"{made.id}.jsonl", made, new=True), {})
    keys = [table.sit(name)[1] for name in PEOPLE]
    rng = np.random.default_rng(made.seed)
    while not until(table):
        table.go_on()
        seat, due = next(iter(table.session.pending.items()))
        table.choose(seat, int(rng.integers(len(due.actions))))
    table.close()
    return table, keys
