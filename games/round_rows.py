"""Rounds of a card game as rows of one fixed size, as kernels see, list and play them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.ragged import Ragged
from games.support.array_types import Array, Bytes, Ints, Row, Rows


def byte_of(state: np.dtype[np.void], name: str) -> int:
    """Return the place in bytes at which a field of a row begins."""
    return int(state.fields[name][1])  # type: ignore[index]


def word_of(state: np.dtype[np.void], name: str) -> int:
    """Return the place in words of 8 bytes at which a field of a row begins."""
    return byte_of(state, name) // 8


def views(states: Rows) -> tuple[Ints, Bytes]:
    """Return contiguous states [n] as (words [n, W] int64, bytes [n, 8 W] uint8), sharing memory."""
    n, size = len(states), states.dtype.itemsize
    return states.view(np.int64).reshape(n, size // 8), states.view(np.uint8).reshape(n, size)


def one_row(records: Array | Row) -> Row:
    """Return a single record, given as a row or a batch of one."""
    row: Row = records if isinstance(records, np.void) else records.ravel()[0]
    return row


def fill_ragged(
    lists: Callable[..., tuple[int, int]], n: int, *arguments: Any, room: tuple[int, int], width: int = 1
) -> Ragged:
    """Return what a listing kernel finds for n rows, with new room whenever it runs out.

    lists: takes the arguments, the row to begin at, room and counts [n]; returns the next row and the room
        used. room: rows that the list of one row never exceeds, and those to make for each row besides.
    width: int64 numbers of an entry; the values are [m], or [m, width] where it is not 1.
    """
    counts = np.zeros(n, np.int64)
    chunks: list[Ints] = []
    done = 0
    while done < n or not chunks:
        length = room[0] + room[1] * (n - done)
        out = np.empty(length if width == 1 else (length, width), np.int64)
        done, used = lists(*arguments, done, out, counts)
        # a view would keep the whole buffer alive; only the touched part was ever real memory
        chunks.append(out[:used] if used > len(out) // 2 else out[:used].copy())
    return Ragged.from_counts(counts, chunks[0] if len(chunks) == 1 else np.concatenate(chunks))


def play_out(
    plays: Callable[[Rows, NDArray[np.uint64], Ints], None], states: Rows, rng: np.random.Generator
) -> tuple[Rows, NDArray[np.int64]]:
    """Return rounds played to their ends at random, and the decisions taken in each, [n] int64.

    plays: takes the rounds, a seed for each and decisions [n], and plays and counts in place.
    states: [n], unchanged. Each round draws from its own stream, seeded from `rng`.
    """
    after = np.array(states, copy=True, ndmin=1)
    decisions = np.zeros(len(after), np.int64)
    plays(after, rng.integers(0, 2**64, len(after), np.uint64), decisions)
    return after, decisions
