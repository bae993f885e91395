"""Rows of results on disk: a header line that says of what, then one JSON line each, appended whole.

    class Scores(JsonRows):
        FORMAT, SOURCE, ROW, FAULT = "scores-1", "my command", "a score", ScoresError

A process that was killed leaves at most one torn last line; reading drops it, and work goes on behind the
last whole one.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any, ClassVar, Self

from games.support.files import FileProblem, LineFile, read_bytes, unique, write_bytes

Row = dict[str, Any]


class JsonRows(ABC):
    """A file of rows, of which this process is the only writer. Use it in a `with` block.

    FORMAT: the first thing that its header says. SOURCE: the command whose results it holds. ROW: what one
    row is, in words. FAULT: the error that is raised.
    path: created with its header if it does not exist. header: what the rows are results of; an existing
    file must say the same (`differences`). rows: those it holds, each once.
    Raises FAULT if it says something else, or holds no such rows; FileProblem if it cannot be read or
    written; LockHeld if another process writes it.
    """

    FORMAT: ClassVar[str]
    SOURCE: ClassVar[str]
    ROW: ClassVar[str]
    FAULT: ClassVar[type[ValueError]]

    def __init__(self, path: str | Path, header: Row) -> None:
        self.path = Path(path)
        self.header = {"format": self.FORMAT, **header}
        self.rows: list[Row] = []
        self._file = LineFile(path)
        try:
            first = json.dumps(self.header)
            if self._file.lines or not (first + "\n").encode().startswith(self._file.tail):
                self._read(self._file.lines)
            else:
                self._file.append([first])
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def is_row(self, row: Row) -> bool:
        """Return whether an object is a row of this file."""

    @abstractmethod
    def key(self, row: Row) -> Hashable:
        """Return what tells a row from the others."""

    def differences(self, found: Row) -> list[str]:
        """Return the fields in which a file's header says that its results are others than these."""
        return [name for name in {**self.header, **found} if found.get(name) != self.header.get(name)]

    def _read(self, lines: list[bytes]) -> None:
        found = _object(lines[0]) if lines else {}
        if found.get("format") != self.FORMAT:
            raise self.FAULT(
                f"{self.path}: the file must be a result of {self.SOURCE} ({self.FORMAT}); name another file"
            )
        for name in self.differences(found):
            raise self.FAULT(
                f"{self.path}: it holds results with {name} {found.get(name)!r}; got "
                f"{self.header.get(name)!r}; name another file"
            )
        rows = []
        for number, line in enumerate(lines[1:], 2):
            row = _object(line)
            if not self.is_row(row):
                raise self.FAULT(
                    f"{self.path}, line {number}: not {self.ROW}; got {line[:60]!r}; "
                    "delete the line or name another file"
                )
            rows.append(row)
        self.rows = unique(rows, self.key, self.path)

    def append(self, rows: Iterable[Row]) -> None:
        """Add rows and have them on the disk before returning."""
        new = list(rows)
        self._file.append(json.dumps(row) for row in new)
        self.rows.extend(new)

    def close(self) -> None:
        """Let others write the file."""
        self._file.close()

    def __enter__(self) -> Self:
        """Return the file."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Let others write the file."""
        self.close()


def _object(line: bytes) -> Row:
    """Return the object that a line of JSON holds, an empty one if it holds none."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def trim_generations(curve: Path, generation: int) -> None:
    """Keep the lines of a resumed run's curve up to a generation, each once: what a killed run lost goes.

    Raises FileProblem where a line is none of a curve, but for a last one that a kill cut short.
    """
    if not curve.exists():
        return
    data = read_bytes(curve)
    kept: dict[int, bytes] = {}
    lines = data.split(b"\n")
    for place, line in enumerate(lines, 1):
        number = _object(line).get("generation")
        if isinstance(number, int):
            if number <= generation:
                kept.setdefault(number, line)
        elif line and (place < len(lines) or line[:1] != b"{"):
            raise FileProblem(
                f"{curve}, line {place}: the run continues a curve of generations; this line does not "
                "belong to one; move the file away"
            )
    whole = b"".join(line + b"\n" for line in kept.values())
    if whole != data:
        write_bytes(curve, whole)
