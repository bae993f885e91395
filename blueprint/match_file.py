"""The result file of a match: a header line, then one JSON line per deal or game, appended whole.

A match that was killed leaves at most one torn last line; reading drops it, and the match goes on behind
the last whole one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = ["FORMAT", "MatchFile", "MatchFileError"]

FORMAT = "gs2-match-1"
Row = dict[str, Any]


class MatchFileError(ValueError):
    """A result file that belongs to another match, or to something else."""


class MatchFile:
    """Rows of a match on disk. path: created with its header if it does not exist.

    header: what the match is; an existing file must say the same.
    Raises MatchFileError if it says something else, or is no result file.
    """

    def __init__(self, path: str | Path, header: Row) -> None:
        self.path = Path(path)
        self.header = {"format": FORMAT, **header}
        self.rows: list[Row] = []
        first = json.dumps(self.header) + "\n"
        if self.path.exists() and not first.encode().startswith(self.path.read_bytes()):
            self._read()
            return
        if not self.path.parent.is_dir():
            raise MatchFileError(f"{self.path}: its folder must exist; create {self.path.parent}")
        self._write(first, "wb")

    def _read(self) -> None:
        data = self.path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        try:
            lines = [json.loads(line) for line in whole.splitlines()]
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise MatchFileError(f"{self.path}: not the results of a match ({error})") from error
        found = lines[0] if lines and isinstance(lines[0], dict) else {}
        if found.get("format") != FORMAT:
            raise MatchFileError(
                f"{self.path}: the file must be the result of a match ({FORMAT}); name another file"
            )
        for key in self.header.keys() | found.keys():
            if found.get(key) != self.header.get(key):
                raise MatchFileError(
                    f"{self.path}: it holds a match with {key} {found.get(key)!r}, this one has "
                    f"{self.header.get(key)!r}; name another file"
                )
        if len(whole) < len(data):
            with open(self.path, "rb+") as file:
                file.truncate(len(whole))
        self.rows = lines[1:]

    def _write(self, text: str, mode: str) -> None:
        with open(self.path, mode) as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())

    def append(self, rows: Iterable[Row]) -> None:
        """Add rows and write them out before returning."""
        new = list(rows)
        self._write("".join(json.dumps(row) + "\n" for row in new), "ab")
        self.rows.extend(new)
