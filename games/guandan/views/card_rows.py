"""What the encodings of a position share: cards as counts, cards unseen, and room for the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from games.game import GameError
from games.guandan.rounds.state import HAND, PLAYED, views
from games.support.array_types import Array, Bytes, Int, Ints, Rows
from games.support.kernel import kernel

__all__ = ["Writer", "encoded", "filled", "room_for", "write_cards", "write_unseen"]

_LO, _HI = 0xAAAAAAAAAAAAAA, 0xAAAAAAAAAAAAA
"""Two of every card, packed."""

Writer: TypeAlias = Callable[[Ints, Bytes, Ints, Array], Any]
"""A kernel that writes one row for each state, given as words and bytes, and each seat."""


@kernel
def write_cards(lo: int, hi: int, row: Array, at: Int) -> None:
    """Write packed cards as 54 counts."""
    for c in range(28):
        row[at + c] = lo >> 2 * c & 3
    for c in range(26):
        row[at + 28 + c] = hi >> 2 * c & 3


@kernel
def write_unseen(words: Ints, i: int, seat: Int, row: Array, at: Int) -> None:
    """Write the cards of state i that a seat neither holds nor has seen played, as 54 counts."""
    lo = -words[i, HAND + 2 * seat]
    hi = -words[i, HAND + 2 * seat + 1]
    for s in range(4):
        lo -= words[i, PLAYED + 2 * s]
        hi -= words[i, PLAYED + 2 * s + 1]
    write_cards(lo + _LO, hi + _HI, row, at)


def room_for(n: int, width: int, dtype: DTypeLike, out: Array | None) -> Array:
    """Return `out`, checked, or new room, [n, width].

    dtype: int8 or float32. Raises GameError at another, or an `out` that does not fit.
    """
    kind = np.dtype(dtype)
    if kind not in (np.dtype(np.int8), np.dtype(np.float32)):
        raise GameError(f"guandan: features are int8 or float32; got {kind}")
    if out is None:
        return np.empty((n, width), kind)
    if out.shape != (n, width) or out.dtype not in (np.int8, np.float32) or out.strides[1] != out.itemsize:
        raise GameError(
            f"guandan: out must have shape {(n, width)}, int8 or float32, rows in one piece; "
            f"got {out.shape} {out.dtype}"
        )
    return out


def filled(room: Array, write: Callable[[Array], Any]) -> Array:
    """Return `room`, into which `write` has written; it writes into int8 rows without gaps.

    One kind of rows is one kernel to compile, and converting them takes less time than writing float32.
    """
    if room.dtype == np.int8 and room.flags.c_contiguous:
        write(room)
    else:
        rows = np.empty(room.shape, np.int8)
        write(rows)
        room[...] = rows
    return room


def encoded(
    write: Writer, width: int, states: Rows, seats: ArrayLike | None, dtype: DTypeLike, out: Array | None
) -> Array:
    """Return each position as `write` has it, [n, width]; int8 or float32.

    states: [n] STATE. seats: in whose eyes, one for all or [n]; whoever is to act if None. dtype, out: as of
    `room_for`. Raises GameError if a seat is missing: the round is over and no seats are given.
    """
    states = np.ascontiguousarray(np.atleast_1d(states))
    looking = np.asarray(states["player"] if seats is None else seats)
    if looking.size and not 0 <= looking.min() <= looking.max() <= 3:
        raise GameError(f"guandan: a seat is 0..3; got {looking.min()}..{looking.max()} (a finished round?)")
    looking = np.broadcast_to(looking.astype(np.int64), len(states))
    room = room_for(len(states), width, dtype, out)
    return filled(room, lambda rows: write(*views(states), looking, rows))
