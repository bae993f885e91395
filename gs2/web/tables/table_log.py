"""A GuanDan table on disk: how it was set up, and every choice since. It is rebuilt from them.

{"gs2":"web table","version":1,"id":"k3v9…","created":…,"seats":["person","gs2-fast",…],"games":1,…}
{"sit":[0,"Ann","sha256 of her key"]}
{"choose":[0,12]}
{"undo":41}        only the first 41 choices still stand
{"next":1}         the people went on after the result of a round
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs

from gs2.web.setup_log import SetupLog, read_setup_log

__all__ = ["TableSetup", "read_table", "table_log"]

MARK = "web table"


@attrs.frozen(kw_only=True)
class TableSetup:
    """How a table was set up.

    seats: an agent's name each, or "person". games: how many are played. rules: a preset's name. seed: of all
    deals. pace: seconds between the moves of agents. created: seconds since 1970.
    """

    id: str
    seats: tuple[str, ...]
    games: int = 1
    rules: str = "ruling"
    seed: int = 0
    pace: float = 0.7
    created: float = 0.0


def table_log(path: Path, setup: TableSetup, *, new: bool) -> SetupLog:
    """Return what appends to a table's file; a new one must not exist yet."""
    return SetupLog(path, MARK, setup, new=new)


def read_table(path: Path) -> tuple[TableSetup, list[dict[str, Any]]]:
    """Return a table's setup and the lines that still stand (`read_setup_log`)."""
    return read_setup_log(path, MARK, _setup)


def _setup(head: dict[str, Any]) -> TableSetup:
    setup = TableSetup(**{**head, "seats": tuple(head["seats"])})
    if len(setup.seats) != 4 or not all(isinstance(seat, str) for seat in setup.seats):
        raise ValueError("four seats, each a name")
    if not (isinstance(setup.games, int) and isinstance(setup.seed, int)):
        raise ValueError("games and seed are whole numbers")
    return setup
