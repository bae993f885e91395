"""A table on disk: its setup on the first line, then everything chosen since. It is rebuilt from them.

{"gs2":"web table","version":2,"id":"k3v9…","game":"…","seats":["person","rules","rules"],…}
{"sit":[0,"Ann","sha256 of her key"]}
{"round":[0,1,2]}            a new round is dealt; who sits on each seat, by the place in `seats`
{"choose":[2,14]}            seat 2 takes its choice 14
{"choose":[0,3,["S3","D3"]]} and plays these of its equal cards
{"undo":41}                  only the first 41 choices still stand
{"next":1}                   the people continue after the result of a round

A line is written before its effect is shown, so a kill loses nothing that a person has seen. Chance is drawn
from the seed and has no lines.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import attrs

from games.game import GameError
from games.support.files import read_bytes
from gs2.wings import FIRST

PERSON = "person"
"""Label of a seat that is a person's."""
ID = re.compile(r"[A-Za-z0-9_-]{8,40}")
LARGEST = 64 << 20
"""Bytes of the largest log that is read."""
MARK = "web table"
VERSION = 2

Line = tuple[int, dict[str, Any]]
"""A line's number in its file, and what it holds."""


class DamagedTable(GameError):
    """A table that cannot be opened: its log is damaged, or its setup is invalid."""


@attrs.frozen(kw_only=True)
class TableSetup:
    """How a table was set up.

    game: its canonical name. seats: an agent's label each, or "person"; `rotate` moves everybody on by a seat
    after each round. games, rules: of matches: how many, and the name of a preset. seed: of all deals. pace:
    seconds between the moves of agents. created: seconds since 1970.
    """

    id: str
    game: str = FIRST
    seats: tuple[str, ...]
    games: int = 1
    rules: str = "ruling"
    rotate: bool = False
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
            self.append({"gs2": MARK, "version": VERSION, **attrs.asdict(setup)})

    def append(self, line: dict[str, Any]) -> None:
        """Write one line."""
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def stored_tables(folder: Path) -> list[Path]:
    """Return the files of a folder that are named as tables are, the one played last first."""
    found = [path for path in folder.glob("*.jsonl") if ID.fullmatch(path.stem)]
    return sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)


def stored_table(folder: Path, key: str) -> Path | None:
    """Return the file of the table of an id; None if there is none."""
    path = folder / f"{key}.jsonl"
    return path if ID.fullmatch(key) and path.is_file() else None


def read_table(path: Path) -> tuple[TableSetup, list[Line]]:
    """Return a table's setup and the lines after it; a last line that was cut off is dropped.

    The file is cut to what was read, so that the next line begins on its own.
    Raises DamagedTable, naming file and line, at anything that is no table.
    """
    if path.stat().st_size > LARGEST:
        raise DamagedTable(f"{path}: a table's file is at most {LARGEST >> 20} MiB; move it away")
    data = read_bytes(path)
    whole = data[: data.rfind(b"\n") + 1]
    lines: list[Line] = []
    for number, text in enumerate(whole.split(b"\n")[:-1], 1):
        try:
            line = json.loads(text)
            if not isinstance(line, dict):
                raise ValueError("a line is an object")
        except (ValueError, RecursionError) as error:
            raise DamagedTable(f"{path}:{number}: no line of a table: {error}; move the file away") from None
        lines.append((number, line))
    if not lines:
        raise DamagedTable(f"{path}:1: the file is empty; move it away")
    head = lines.pop(0)[1]
    if (head.pop("gs2", None), head.pop("version", None)) != (MARK, VERSION):
        raise DamagedTable(
            f'{path}:1: a table begins with {{"gs2":"{MARK}","version":{VERSION},…}}; move it away'
        )
    try:
        setup = _checked_setup(head, path.stem)
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedTable(f"{path}:1: not the setup of a table: {error}; move the file away") from None
    if len(whole) < len(data):
        os.truncate(path, len(whole))
    return setup, lines


def _checked_setup(head: dict[str, Any], name: str) -> TableSetup:
    setup = TableSetup(**{**head, "seats": tuple(head["seats"])})
    if not all(isinstance(text, str) for text in (setup.game, setup.rules, *setup.seats)):
        raise ValueError("game, rules and seats are texts")
    if not (isinstance(setup.games, int) and isinstance(setup.seed, int)):
        raise ValueError("games and seed are whole numbers")
    if setup.id != name:
        raise ValueError("the id is what the file is called by")
    return setup
