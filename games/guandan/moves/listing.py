"""The legal moves of a hand, leading and following, in kernels.

A list is ordered by type (singles, pairs, trips, tubes, full houses, plates, straights, bombs of 4 and 5,
straight flushes, bombs of 6 to 10, joker bomb) and rises in strength within a type; when following, PASS
comes first. When leading there is no PASS.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from games.guandan.moves.canonical import canonical_moves
from games.guandan.moves.full import HALF, full_moves
from games.guandan.moves.packed import OPEN_HAND, open_hand
from games.support.array_types import Int, Ints
from games.support.kernel import kernel

__all__ = ["CANONICAL", "FULL", "RESERVE", "Which", "list_moves", "moves_scratch"]

RESERVE = 1 << 18
"""Rows kept free before a hand is listed: more than any hand of 27 cards has moves (tubes 12 * 15 ** 3, full
houses 390 * 195, straights 10 * 2944, plates 13 * 30 ** 2 and few others, each bound generous)."""


Which: TypeAlias = tuple[float, ...]
"""Which moves a kernel lists: FULL or CANONICAL. Its length is its type: only one of them is compiled in."""
FULL: Which = ()
CANONICAL: Which = (1.0,)
Scratch: TypeAlias = tuple[Ints, Ints, Ints]
"""Working memory of `list_moves`: a hand taken apart, pairs [256, 3], partial moves [2 * HALF, 2]."""


@kernel
def moves_scratch() -> Scratch:
    """Return working memory for `list_moves`: small enough to make once a call."""
    return (
        np.empty(OPEN_HAND, np.int64),
        np.empty((256, 3), np.int64),
        np.empty((2 * HALF, 2), np.int64),
    )


@kernel
def list_moves(
    which: Which, lo: int, hi: int, level: Int, beat: int, out: Ints, m: int, scratch: Scratch
) -> int:
    """Write the moves of one hand to `out` from row m; return the row after the last.

    lo, hi: the packed hand. beat: first word of the action to beat, 0 when leading.
    out: [.., 3] int64, ACTION as words. scratch: of `moves_scratch`.
    """
    hand, pairs, work = scratch
    open_hand(lo, hi, level, hand)
    if len(which) > 0:
        return canonical_moves(hand, beat, out, m)
    return full_moves(hand, beat, out, m, pairs, work)
