"""A table on disk: how it was set up, and every choice since, one line each. It is rebuilt from them.

{"gs2":"web table","version":1,"id":"k3v9…","created":…,"seats":["person","gs2-fast",…],"games":1,…}
{"sit":[0,"Ann","sha256 of her key"]}
{"choose":[0,12]}
{"undo":41}        only the first 41 choices still stand
{"next":1}         the people went on after the result of a round
A line is written before its effect is shown, so what a person has seen outlives a kill.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from games.game import GameError
from games.support.files import read_bytes

__all__ = ["PERSON", "DamagedTable", "TableLog", "TableSetup", "read_table", "stored_tables"]

PERSON = "person"
"""What a seat is called that is a person's."""
ID = re.compile(r"[A-Za-z0-9_-]{8,40}")
LARGEST = 64 << 20
"""Bytes of the largest log that is read."""


class DamagedTable(GameError):
    """A table that cannot be: a damaged log, or a setup that makes no sense."""


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


class TableLog:
    """Appends to a table's file; every line is handed to the operating system at once."""

    def __init__(self, path: Path, setup: TableSetup, *, new: bool) -> None:
        """Open a table's file; a new one must not exist yet."""
        self.path = path
        self._file = open(path, "x" if new else "a", encoding="utf-8")  # noqa: SIM115
        if new:
            os.chmod(path, 0o600)  # it holds everybody's cards
            self.append({"gs2": "web table", "version": 1, **attrs.asdict(setup)})

    def append(self, line: dict[str, Any]) -> None:
        """Write one line."""
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def stored_tables(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder that are called as tables are."""
    for path in sorted(folder.glob("*.jsonl")):
        if ID.fullmatch(path.stem):
            yield path


def read_table(path: Path) -> tuple[TableSetup, list[dict[str, Any]]]:
    """Return a table's setup and the lines that still stand; a last line that was cut off is dropped.

    The file is cut to what was read, so that the next line begins on its own.
    Raises DamagedTable, naming file and line, at anything that is no table.
    """
    if path.stat().st_size > LARGEST:
        raise DamagedTable(f"{path}: a table's file is at most {LARGEST >> 20} MiB; move it away")
    data = read_bytes(path)
    whole = data[: data.rfind(b"\n") + 1]
    lines = []
    for number, text in enumerate(whole.split(b"\n")[:-1], 1):
        try:
            line = json.loads(text)
            if not isinstance(line, dict):
                raise ValueError("a line is an object")
        except ValueError as error:
            raise DamagedTable(f"{path}:{number}: no line of a table: {error}; move the file away") from None
        lines.append(line)
    if not lines:
        raise DamagedTable(f"{path}:1: the file is empty; move it away")
    setup = _setup(path, lines[0])
    if len(whole) < len(data):
        os.truncate(path, len(whole))
    return setup, lines[1:]


def _setup(path: Path, head: dict[str, Any]) -> TableSetup:
    if head.pop("gs2", None) != "web table" or head.pop("version", None) != 1:
        raise DamagedTable(f'{path}:1: a table begins with {{"gs2":"web table","version":1,…}}; move it away')
    try:
        setup = TableSetup(**{**head, "seats": tuple(head["seats"])})
        if len(setup.seats) != 4 or setup.id != path.stem or not all(isinstance(s, str) for s in setup.seats):
            raise ValueError("four seats, and the id that the file is called by")
        if not (isinstance(setup.games, int) and isinstance(setup.seed, int)):
            raise ValueError("games and seed are whole numbers")
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedTable(f"{path}:1: not the setup of a table: {error}; move the file away") from None
    return setup
