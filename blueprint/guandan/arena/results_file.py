"""The result file of two agents: a header line, then one JSON line per deal or game, appended whole.

A process that was killed leaves at most one torn last line; reading drops it, and play goes on behind the
last whole one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from games.support.files import LineFile, unique

__all__ = ["FORMAT", "ResultsFile", "ResultsFileError"]

FORMAT = "gs2-match-1"
Row = dict[str, Any]


class ResultsFileError(ValueError):
    """A file that holds the results of something else."""


class ResultsFile:
    """Rows of results on disk, of which this process is the only writer. Use it in a `with` block.

    path: created with its header if it does not exist. header: who plays on which cards; an existing file
    must say the same. rows: those it holds, each deal and game once.
    Raises ResultsFileError if it says something else, or is no result file; FileProblem if it cannot be read
    or written; LockHeld if another process writes it.
    """

    def __init__(self, path: str | Path, header: Row) -> None:
        self.path = Path(path)
        self.header = {"format": FORMAT, **header}
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

    def _read(self, lines: list[bytes]) -> None:
        found = _object(lines[0]) if lines else {}
        if found.get("format") != FORMAT:
            raise ResultsFileError(
                f"{self.path}: the file must be a result of gs2 match ({FORMAT}); name another file"
            )
        for key in self.header.keys() | found.keys():
            if found.get(key) != self.header.get(key):
                raise ResultsFileError(
                    f"{self.path}: it holds results with {key} {found.get(key)!r}, these have "
                    f"{self.header.get(key)!r}; name another file"
                )
        rows = []
        for number, line in enumerate(lines[1:], 2):
            row = _object(line)
            if not _is_row(row):
                raise ResultsFileError(
                    f"{self.path}, line {number}: not the result of a deal or game; got {line[:60]!r}; "
                    "delete the line or name another file"
                )
            rows.append(row)
        self.rows = unique(rows, _key, self.path)

    def append(self, rows: Iterable[Row]) -> None:
        """Add rows and have them on the disk before returning."""
        new = list(rows)
        self._file.append(json.dumps(row) for row in new)
        self.rows.extend(new)

    def close(self) -> None:
        """Let others write the file."""
        self._file.close()

    def __enter__(self) -> ResultsFile:
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


def _is_row(row: Row) -> bool:
    """Return whether a row is the result of a deal or of a whole game."""
    if "deal" in row:
        return _numbers([row["deal"]], 1) and _numbers(row.get("payoffs"), 2, -3, 3)
    rest = _numbers(row.get("rounds"), 2) and _numbers(row.get("score"), 2, 0, 1, whole=False)
    return rest and _numbers([row.get("game")], 1)


def _numbers(values: Any, count: int, low: float = 0, high: float = 1 << 53, *, whole: bool = True) -> bool:
    kinds = int if whole else int | float
    return (
        isinstance(values, list)
        and len(values) == count
        and all(isinstance(v, kinds) and not isinstance(v, bool) and low <= v <= high for v in values)
    )


def _key(row: Row) -> tuple[str, int]:
    return ("deal", row["deal"]) if "deal" in row else ("game", row["game"])
