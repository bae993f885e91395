"""How a row of inputs is laid out: blocks of bytes by name, and a hash that a checkpoint names it by."""

from __future__ import annotations

import hashlib
import json
from collections import namedtuple
from typing import Any

from games.support.array_types import Bytes, Int
from games.support.kernel import kernel

Blocks = tuple[tuple[str, int], ...]
"""(name, width) of each block of a row, in order."""


def block_starts(blocks: Blocks) -> Any:
    """Return the place at which each block of a row starts, as fields by name, which kernels can read."""
    starts: list[int] = []
    total = 0
    for _, width in blocks:
        starts.append(total)
        total += width
    kind: Any = namedtuple("kind", [name for name, _ in blocks])  # type: ignore[misc]  # names are data
    return kind(*starts)


def rows_width(blocks: Blocks) -> int:
    """Return the width of a row, in bytes."""
    return sum(width for _, width in blocks)


def rows_hash(version: object, *layouts: object) -> str:
    """Return what names layouts, as JSON has them: 16 hexadecimal digits. version: of what the bytes mean."""
    return hashlib.sha256(json.dumps([version, *layouts]).encode()).hexdigest()[:16]


@kernel(nogil=True)
def at_least(row: Bytes, at: Int, count: Int, width: Int) -> None:
    """Write a number in unary from a place of a row on: the first `count` of `width` bits."""
    for k in range(min(count, width)):
        row[at + k] = 1
