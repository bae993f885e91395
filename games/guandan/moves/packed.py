"""Small tables and helpers for kernels on packed hands (see `cards`).

Kernels see packed words as int64: the two top bits are never set, and signed arithmetic mixes with indices.
A rank is one byte of two bits a suit; each joker counts as a rank (13, 14) of a single suit.
"""

from __future__ import annotations

import numpy as np

from games.guandan.cards import NUM_RANKS, level_order
from games.support.array_types import Int, Ints
from games.support.kernel import kernel

RANK_LO = np.array([1 << 8 * r if r < 7 else 0 for r in range(15)], np.int64)
"""[15] int64: a rank's byte times this is its place in `lo`."""
RANK_HI = np.array([0] * 7 + [1 << 8 * (r - 7) for r in range(7, 13)] + [1 << 48, 1 << 50], np.int64)
"""[15] int64: a rank's byte times this is its place in `hi`."""
CARDS = (1 << 52) - 1
"""Mask of the bits of `hi` that hold cards."""


def _tables() -> tuple[Ints, Ints, Ints, Ints]:
    count = np.zeros(256, np.int64)
    lanes = np.zeros(256, np.int64)
    start = np.zeros((256, 10), np.int64)
    subsets: list[int] = []
    for byte in range(256):
        copies = [byte >> 2 * s & 3 for s in range(4)]
        if max(copies) > 2:
            continue
        count[byte] = sum(copies)
        lanes[byte] = sum(1 << 16 * s for s in range(4) if copies[s])
        by_size: list[list[int]] = [[] for _ in range(9)]
        for i in range(81):
            take = [i // 3**s % 3 for s in range(4)]
            if all(t <= c for t, c in zip(take, copies, strict=True)):
                by_size[sum(take)].append(sum(t << 2 * s for s, t in enumerate(take)))
        for size in range(9):
            start[byte, size] = len(subsets)
            subsets += by_size[size]
        start[byte, 9] = len(subsets)
    return count, lanes, start, np.array(subsets, np.int64)


COUNT, LANES, SUBSET_START, SUBSETS = _tables()
"""COUNT [256]: cards in a rank's byte. LANES [256]: bit 16 * suit for each suit present in it.
SUBSETS[SUBSET_START[byte, k]:SUBSET_START[byte, k + 1]]: bytes of its sub-multisets of k cards."""

_ORDERS = np.stack([level_order(level) for level in range(NUM_RANKS)])
RANK_AT = np.argsort(_ORDERS, axis=1).astype(np.int64)
"""[13 levels, 15 places] int64: the rank code at each place of the level-aware order."""
SEQUENCE = np.array([12, *range(13)], np.int64)
"""[14] int64: the rank at each place of a sequence, the low ace first."""
STARTS = 0x03FF_03FF_03FF_03FF
"""Places 0..9 of four suit lanes."""
BITS5 = np.array([bin(i).count("1") for i in range(32)], np.int64)
"""[32] int64: number of set bits."""


@kernel
def write_move(out: Ints, m: int, kind: int, rank: int, size: int, lo: int, hi: int) -> int:
    """Write an ACTION as words at row m of `out` [.., 3]; return the next row."""
    out[m, 0] = kind | rank << 8 | size << 16
    out[m, 1] = lo
    out[m, 2] = hi
    return m + 1


@kernel
def _flush_windows(lanes: int, wild: int) -> int:
    """Return the places of each lane where five in a row are held, or enough of them with the wild cards."""
    a, b, c, d, e = lanes, lanes >> 1, lanes >> 2, lanes >> 3, lanes >> 4
    # bitwise adders: held = ones + 2 twos + 4 fours at every place at once
    carry = a & b | c & (a ^ b)
    half = a ^ b ^ c
    more = half & d | e & (half ^ d)
    ones = half ^ d ^ e
    twos = carry ^ more
    fours = carry & more
    if wild == 0:
        enough = fours & ones
    elif wild == 1:
        enough = fours
    else:
        enough = fours | ones & twos
    return enough & STARTS


HELD, WILD, AT_LEVEL, SUIT_LANES, WINDOWS, RUNS = 16, 32, 33, 34, 35, 36
"""Places of a hand taken apart (see `open_hand`); 0..14 are the ranks' bytes."""
VALUED, VALUE, TAKE = 37, 40, 104
"""Places where `canonical` notes what cards are worth: one flag, [4, 16] and [13, 9]."""
OPEN_HAND = TAKE + 13 * 9
"""Length of a hand taken apart."""


@kernel
def open_hand(lo: int, hi: int, level: Int, hand: Ints) -> None:
    """Take a hand apart for the kernels that list its moves: fill `hand` [OPEN_HAND].

    r: byte of the natural cards of rank r; HELD + r: their number. WILD: number of wild cards.
    AT_LEVEL: rank code of the level.
    SUIT_LANES: four lanes of 16 bits, one a suit: bit p is set if the suit's natural card is held at place
        p of a sequence; place 0 is the low ace, 1..13 are 2..A. WINDOWS: `_flush_windows` of them.
    RUNS: bit p is set if a straight of any suits can start at place p.
    """
    for r in range(7):
        hand[r] = lo >> 8 * r & 255
    for r in range(6):
        hand[r + 7] = hi >> 8 * r & 255
    hand[13] = hi >> 48 & 3
    hand[14] = hi >> 50 & 3
    hand[WILD] = hand[level] & 3
    hand[level] -= hand[WILD]
    hand[AT_LEVEL] = level
    lanes = LANES[hand[12]]
    for r in range(13):
        hand[HELD + r] = COUNT[hand[r]]
        lanes |= LANES[hand[r]] << r + 1
    hand[HELD + 13] = hand[13]
    hand[HELD + 14] = hand[14]
    hand[SUIT_LANES] = lanes
    hand[WINDOWS] = _flush_windows(lanes, hand[WILD])
    hand[RUNS] = _flush_windows((lanes | lanes >> 16 | lanes >> 32 | lanes >> 48) & 0x3FFF, hand[WILD])
