"""Packed hands taken apart inside kernels (see `games.guandan.cards` for the packing)."""

from __future__ import annotations

import numpy as np

from games.guandan.moves.packed import COUNT
from games.support.array_types import Int, Ints
from games.support.kernel import kernel

__all__ = ["BITS5", "card_counts", "natural_ranks", "rank_byte", "rank_lanes"]

BITS5 = np.array([bin(i).count("1") for i in range(32)], np.int64)
"""[32] int64, number of set bits."""
SUITS_OF = np.array(
    [sum(1 << 16 * s for s in range(4) if byte >> 2 * s & 3) for byte in range(256)], np.int64
)
"""[256] int64, bit 16 * suit for each suit that a rank's byte holds."""


@kernel(nogil=True)
def rank_byte(lo: Int, hi: Int, r: Int) -> Int:
    """The byte of copies by suit of rank code r (jokers included)."""
    if r < 7:
        return lo >> 8 * r & 255
    if r < 13:
        return hi >> 8 * (r - 7) & 255
    return hi >> 48 & 3 if r == 13 else hi >> 50 & 3


@kernel(nogil=True)
def natural_ranks(lo: Int, hi: Int, level: Int, ranks: Ints) -> Int:
    """Write the bytes of the natural cards of each rank code into `ranks` [15]; return the wild cards."""
    for r in range(15):
        ranks[r] = rank_byte(lo, hi, r)
    wild: Int = ranks[level] & 3
    ranks[level] -= wild
    return wild


@kernel(nogil=True)
def card_counts(lo: Int, hi: Int, level: Int, counts: Ints) -> Int:
    """Write the number of natural cards of each rank code into `counts` [15]; return the wild cards."""
    wild = natural_ranks(lo, hi, level, counts)
    for r in range(15):
        counts[r] = COUNT[counts[r]]
    return wild


@kernel(nogil=True)
def rank_lanes(ranks: Ints) -> Int:
    """Four lanes of 16 bits, one a suit: bit p says that the card at sequence place p is held.

    Place 0 is the low ace, 1..13 are 2..A.
    """
    lanes: Int = SUITS_OF[ranks[12]]
    for r in range(13):
        lanes |= SUITS_OF[ranks[r]] << r + 1
    return lanes
