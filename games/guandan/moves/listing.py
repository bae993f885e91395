"""Legal moves of a hand, leading and following.

A list is ordered by type (singles, pairs, trips, tubes, full houses, plates, straights, bombs of 4 and 5,
straight flushes, bombs of 6 to 10, joker bomb) and rises in strength within a type; when following, PASS
comes first. When leading there is no PASS.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from games.guandan.cards import (
    BOMB,
    FOUR_KINGS,
    PASS,
    SINGLE,
    STRAIGHT,
    STRAIGHT_FLUSH,
    THREE_PAIR,
    THREE_WITH_TWO,
    TRIPS,
    TWO_TRIPS,
)
from games.guandan.combos import BOMB_CLASS, COMBO_CLASS, ORDER, combo_strength
from games.guandan.moves.canonical import (
    canonical_flushes,
    canonical_houses,
    canonical_sequences,
    canonical_straights,
    forget_values,
    least_needed,
)
from games.guandan.moves.full import HALF, full_flushes, full_houses, full_sequences
from games.guandan.moves.packed import (
    AT_LEVEL,
    HELD,
    OPEN_HAND,
    RANK_AT,
    RANK_HI,
    RANK_LO,
    SUBSET_START,
    SUBSETS,
    WILD,
    open_hand,
    write_move,
)
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
def _groups(which: Which, kind: int, size: int, hand: Ints, floor: int, out: Ints, m: int) -> int:
    """Singles, pairs, trips and bombs of one size above place `floor` of the level-aware order."""
    level = hand[AT_LEVEL]
    wild_lo, wild_hi = RANK_LO[level], RANK_HI[level]
    for place in range(floor + 1, 15 if size <= 2 else 13):
        r = RANK_AT[level, place]
        most = 0 if r > 12 else min(hand[WILD], size if r == level else size - 1)
        for wild in range(max(0, size - hand[HELD + r]), most + 1):
            lo, hi = wild * wild_lo, wild * wild_hi
            if len(which) > 0:
                byte = least_needed(r, size - wild, hand)
                m = write_move(out, m, kind, r, size, byte * RANK_LO[r] + lo, byte * RANK_HI[r] + hi)
                break
            for j in range(SUBSET_START[hand[r], size - wild], SUBSET_START[hand[r], size - wild + 1]):
                m = write_move(
                    out, m, kind, r, size, SUBSETS[j] * RANK_LO[r] + lo, SUBSETS[j] * RANK_HI[r] + hi
                )
    return m


@kernel
def _bombs(which: Which, hand: Ints, above: int, out: Ints, m: int) -> int:
    """Bombs of every kind whose strength is greater than `above`, in the order of strength."""
    top, place = above >> 8, above & 255
    flush = COMBO_CLASS[STRAIGHT_FLUSH, 5]
    most = 0
    for r in range(13):
        most = max(most, hand[HELD + r])
    most += hand[WILD]
    for size in range(4, max(5, most) + 1):
        rating = COMBO_CLASS[BOMB, size]
        if top <= rating and size <= most:
            m = _groups(which, BOMB, size, hand, place if top == rating else -1, out, m)
        if size == 5 and top <= flush:
            first = place + 1 if top == flush else 0
            if len(which) > 0:
                m = canonical_flushes(hand, first, out, m)
            else:
                m = full_flushes(hand, first, out, m)
    if hand[13] == 2 and hand[14] == 2 and top < COMBO_CLASS[FOUR_KINGS, 4]:
        m = write_move(out, m, FOUR_KINGS, 13, 4, 0, 2 * (RANK_HI[13] + RANK_HI[14]))
    return m


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
        forget_values(hand)
    # to surpass: a place of the level-aware order, the start of a sequence, a bomb's strength
    kind, rank, size = beat & 255, beat >> 8 & 255, beat >> 16 & 255
    place, first, above = -1, 0, 0
    if kind != PASS:
        place, first = ORDER[level, rank], (rank + 1) % 13 + 1
        above = combo_strength(kind, rank, size, level)
        above = above if above >> 8 >= BOMB_CLASS else 0
        m = write_move(out, m, PASS, 0, 0, 0, 0)
    # one call of each kind of listing: compiling takes long enough
    for k in range(SINGLE, STRAIGHT_FLUSH):
        if kind not in (PASS, k):
            continue
        if k <= TRIPS:
            m = _groups(which, k, k, hand, place, out, m)
            continue
        slots, group = (3, 2) if k == THREE_PAIR else (2, 3) if k == TWO_TRIPS else (5, 1)
        if len(which) > 0:
            if k == THREE_WITH_TWO:
                m = canonical_houses(hand, place, out, m)
            elif k == STRAIGHT:
                m = canonical_straights(hand, first, out, m)
            else:
                m = canonical_sequences(k, slots, group, hand, first, out, m)
        elif k == THREE_WITH_TWO:
            m = full_houses(hand, place, out, m, pairs)
        else:
            m = full_sequences(k, slots, group, hand, first, out, m, work)
    return _bombs(which, hand, above, out, m)
