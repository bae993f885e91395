"""How a row of inputs is laid out: blocks of bytes by name, and a hash that a checkpoint names it by."""

from __future__ import annotations

import hashlib
import json

__all__ = ["Blocks", "block_starts", "rows_hash", "rows_width"]

Blocks = tuple[tuple[str, int], ...]
"""(name, width) of each block of a row, in order."""


def block_starts(blocks: Blocks) -> dict[str, int]:
    """Return the place at which each block of a row starts, by name."""
    starts, total = {}, 0
    for name, width in blocks:
        starts[name] = total
        total += width
    return starts


def rows_width(blocks: Blocks) -> int:
    """Return the width of a row, in bytes."""
    return sum(width for _, width in blocks)


def rows_hash(version: int, *layouts: Blocks) -> str:
    """Return what names these layouts: 16 hexadecimal digits. version: of what the bytes mean."""
    return hashlib.sha256(json.dumps([version, *layouts]).encode()).hexdigest()[:16]
