"""What a server told our seats, kept as a transcript that `gs2 review` reads.

A line for each message: the seat that got it, and the message as it came, but for a request's list of moves,
which follows from the rules and can have thousands of entries: its first alone is kept.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any, TextIO

from games.support.files import create
from gs2.guandan.table.server.recording import RecordFolder

__all__ = ["Transcript"]


class Transcript:
    """A new file `{run}-heard.jsonl` in a folder of records, whole after every message.

    path: the file; None until there is something to keep. Raises RecordFolderError if nothing can be written
    in the folder.
    """

    def __init__(self, folder: Path) -> None:
        self._records = RecordFolder(folder)
        self.path: Path | None = None
        self._file: TextIO | None = None

    def _open(self) -> TextIO:
        run, folder = self._records.run, self._records.path
        names = (f"{run}-heard{'' if k == 1 else f'-{k}'}.jsonl" for k in itertools.count(1))
        self.path = next(path for path in map(folder.joinpath, names) if not path.exists())
        return create(self.path)

    def hear(self, seat: int, text: str | bytes) -> None:
        """Add a message that came for a seat; one without a seat yet has -1. What is no JSON is left out."""
        try:
            message: Any = json.loads(text)
        except (ValueError, RecursionError):
            return
        inside = message.get("data") if isinstance(message, dict) else None
        for part in (message, inside):
            if isinstance(part, dict) and isinstance(part.get("actionList"), list):
                part["actionList"] = part["actionList"][:1]
        at = {} if seat < 0 else {"seat": seat}
        line = json.dumps({**at, "dir": "s2c", "message": message}, separators=(",", ":"), ensure_ascii=False)
        self._file = self._file or self._open()
        self._file.write(line + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
