"""The file of results that a server leaves, read back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def read_results(path: Path) -> tuple[list[dict[str, Any]], int]:
    """Return the rows of a results file, and the number of unreadable lines, left by killed servers."""
    rows, damaged = [], 0
    for line in path.read_bytes().splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if isinstance(row, dict):
            rows.append(row)
        else:
            damaged += bool(line.strip())
    return rows, damaged
