"""A table's file on disk: its setup on the first line, then every choice since, one line each.

A line is written before its effect is shown, so what a person has seen outlives a kill. Both kinds of tables
(`gs2.web.tables.table_log`, `gs2.web.games.game_log`) keep theirs so and say what their lines are.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import attrs

from games.game import GameError
from games.support.files import read_bytes

__all__ = ["ID", "PERSON", "DamagedTable", "SetupLog", "read_setup_log", "stored_table", "stored_tables"]

PERSON = "person"
"""What a seat is called that is a person's."""
ID = re.compile(r"[A-Za-z0-9_-]{8,40}")
LARGEST = 64 << 20
"""Bytes of the largest log that is read."""
VERSION = 1


class DamagedTable(GameError):
    """A table that cannot be: a damaged log, or a setup that makes no sense."""


class _Setup(attrs.AttrsInstance, Protocol):
    @property
    def id(self) -> str: ...


S = TypeVar("S", bound=_Setup)


class SetupLog:
    """Appends to a table's file; every line is handed to the operating system at once."""

    def __init__(self, path: Path, mark: str, setup: attrs.AttrsInstance, *, new: bool) -> None:
        """Open a table's file, whose first line says `mark`; a new one must not exist yet."""
        self.path = path
        self._file = open(path, "x" if new else "a", encoding="utf-8")  # noqa: SIM115
        if new:
            os.chmod(path, 0o600)  # it tells everybody's cards
            self.append({"gs2": mark, "version": VERSION, **attrs.asdict(setup)})

    def append(self, line: dict[str, Any]) -> None:
        """Write one line."""
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def stored_tables(folder: Path) -> list[Path]:
    """Return the files of a folder that are called as tables are, those first that were played at last."""
    found = [path for path in folder.glob("*.jsonl") if ID.fullmatch(path.stem)]
    return sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)


def stored_table(folder: Path, key: str) -> Path | None:
    """Return the file of the table of an id; None if there is none."""
    path = folder / f"{key}.jsonl"
    return path if ID.fullmatch(key) and path.is_file() else None


def read_setup_log(
    path: Path, mark: str, setup_of: Callable[[dict[str, Any]], S]
) -> tuple[S, list[dict[str, Any]]]:
    """Return a table's setup and the lines that still stand; a last line that was cut off is dropped.

    setup_of: makes the setup of the first line's fields; what it raises of KeyError, TypeError and ValueError
    says that they are none. The file is cut to what was read, so that the next line begins on its own.
    Raises DamagedTable, naming file and line, at anything that is no table.
    """
    if path.stat().st_size > LARGEST:
        raise DamagedTable(f"{path}: a table's file is at most {LARGEST >> 20} MiB; move it away")
    data = read_bytes(path)
    whole = data[: data.rfind(b"\n") + 1]
    lines: list[dict[str, Any]] = []
    for number, text in enumerate(whole.split(b"\n")[:-1], 1):
        try:
            line = json.loads(text)
            if not isinstance(line, dict):
                raise ValueError("a line is an object")
        except (ValueError, RecursionError) as error:
            raise DamagedTable(f"{path}:{number}: no line of a table: {error}; move the file away") from None
        lines.append(line)
    if not lines:
        raise DamagedTable(f"{path}:1: the file is empty; move it away")
    head = lines[0]
    if head.pop("gs2", None) != mark or head.pop("version", None) != VERSION:
        raise DamagedTable(
            f'{path}:1: a table begins with {{"gs2":"{mark}","version":{VERSION},…}}; move it away'
        )
    try:
        setup = setup_of(head)
        if setup.id != path.stem:
            raise ValueError("the id is what the file is called by")
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedTable(f"{path}:1: not the setup of a table: {error}; move the file away") from None
    if len(whole) < len(data):
        os.truncate(path, len(whole))
    return setup, lines[1:]
