"""The full list of legal moves of one hand: every distinct (type, rank, multiset of cards).

A heart of the level's rank is wild wherever it stands, its own rank included, so a hand is its natural cards
plus w = 0..2 wild cards, and a combination is a set of slots, each filled by one natural card of its rank or
by a wild card. The multiset tells which slots the wild cards fill, hence no move is made twice.
"""

from __future__ import annotations

from games.guandan.cards import STRAIGHT_FLUSH, THREE_WITH_TWO
from games.guandan.moves.packed import (
    AT_LEVEL,
    BITS5,
    CARDS,
    HELD,
    RANK_AT,
    RANK_HI,
    RANK_LO,
    RUNS,
    SEQUENCE,
    SUBSET_START,
    SUBSETS,
    SUIT_LANES,
    WILD,
    WINDOWS,
    write_move,
)
from games.support.array_types import Ints
from games.support.kernel import kernel

HALF = 4096
"""Rows of each half of the scratch array; one start of a tube makes at most 15 ** 3 partial moves."""


@kernel
def full_houses(hand: Ints, floor: int, out: Ints, m: int, pairs: Ints) -> int:
    """Full houses whose trips lie above place `floor` of the level-aware order; pairs: scratch."""
    wild, level = hand[WILD], hand[AT_LEVEL]
    wild_lo, wild_hi = RANK_LO[level], RANK_HI[level]
    # pairs of any rank by number of wild cards: rows (rank, lo, hi); two wild cards are a pair of the level
    n = none = one = 0
    for i in range(wild + 1):
        for r in range(15 if i == 0 else 13 if i == 1 else 0):
            byte = hand[r]
            if hand[HELD + r] >= 2 - i:
                for j in range(SUBSET_START[byte, 2 - i], SUBSET_START[byte, 3 - i]):
                    pairs[n, 0] = r
                    pairs[n, 1] = SUBSETS[j] * RANK_LO[r] + i * wild_lo
                    pairs[n, 2] = SUBSETS[j] * RANK_HI[r] + i * wild_hi
                    n += 1
        if i == 2:
            pairs[n, 0] = level
            pairs[n, 1] = 2 * wild_lo
            pairs[n, 2] = 2 * wild_hi
            n += 1
        if i == 0:
            none = n
        elif i == 1:
            one = n
    for place in range(floor + 1, 13):
        r = RANK_AT[level, place]
        byte = hand[r]
        for i in range(wild + 1):
            if hand[HELD + r] < 3 - i:
                continue
            for j in range(SUBSET_START[byte, 3 - i], SUBSET_START[byte, 4 - i]):
                lo = SUBSETS[j] * RANK_LO[r] + i * wild_lo
                hi = SUBSETS[j] * RANK_HI[r] + i * wild_hi
                for p in range(n if wild - i == 2 else one if wild - i == 1 else none):
                    if pairs[p, 0] != r:
                        m = write_move(out, m, THREE_WITH_TWO, r, 5, lo + pairs[p, 1], hi + pairs[p, 2])
    return m


@kernel
def full_sequences(
    kind: int, slots: int, group: int, hand: Ints, first: int, out: Ints, m: int, work: Ints
) -> int:
    """Straights, tubes and plates whose lowest place is `first` or above, built up slot by slot.

    group: cards of each rank.
    A partial move is (lo, hi) in `work`; bits 52..59 of its hi collect the suits, bits 60, 61 the wild cards.
    """
    wild, level = hand[WILD], hand[AT_LEVEL]
    wild_lo = RANK_LO[level]
    wild_hi = RANK_HI[level] + (1 << 60)
    for start in range(first, 15 - slots):
        if group == 1 and hand[RUNS] >> start & 1 == 0:
            continue
        lack = 0
        for j in range(slots):
            lack += max(0, group - hand[HELD + SEQUENCE[start + j]])
        if lack > wild:
            continue
        low = SEQUENCE[start]
        work[0, 0] = 0
        work[0, 1] = 0
        source, n = 0, 1
        for j in range(slots):
            r = SEQUENCE[start + j]
            byte = hand[r]
            least = max(0, group - hand[HELD + r])
            lack -= least
            target = HALF - source
            made = 0
            for t in range(source, source + n):
                lo, hi = work[t, 0], work[t, 1]
                for i in range(least, min(group, wild - (hi >> 60) - lack) + 1):
                    for s in range(SUBSET_START[byte, group - i], SUBSET_START[byte, group - i + 1]):
                        new_lo = lo + SUBSETS[s] * RANK_LO[r] + i * wild_lo
                        new_hi = hi + SUBSETS[s] * RANK_HI[r] + i * wild_hi
                        if group == 1:
                            new_hi |= SUBSETS[s] << 52
                        if j < slots - 1:
                            work[target + made, 0] = new_lo
                            work[target + made, 1] = new_hi
                            made += 1
                        else:
                            suits = new_hi >> 52 & 255
                            # five natural cards of one suit are a straight flush only
                            if group > 1 or new_hi >> 60 or suits & (suits - 1):
                                m = write_move(out, m, kind, low, slots * group, new_lo, new_hi & CARDS)
            source, n = target, made
    return m


@kernel
def full_flushes(hand: Ints, first: int, out: Ints, m: int) -> int:
    """Straight flushes whose lowest place is `first` or above."""
    wild, lanes, windows = hand[WILD], hand[SUIT_LANES], hand[WINDOWS]
    wild_lo, wild_hi = RANK_LO[hand[AT_LEVEL]], RANK_HI[hand[AT_LEVEL]]
    if windows == 0:
        return m
    for start in range(first, 10):
        for suit in range(4):
            if windows >> 16 * suit + start & 1 == 0:
                continue
            have = lanes >> 16 * suit + start & 31
            # every choice of natural cards to keep; the wild cards fill the other slots
            for keep in range(have, 0, -1):
                if keep & have != keep or BITS5[keep] < 5 - wild:
                    continue
                lo = (5 - BITS5[keep]) * wild_lo
                hi = (5 - BITS5[keep]) * wild_hi
                for j in range(5):
                    if keep >> j & 1:
                        r = SEQUENCE[start + j]
                        lo += RANK_LO[r] << 2 * suit
                        hi += RANK_HI[r] << 2 * suit
                m = write_move(out, m, STRAIGHT_FLUSH, SEQUENCE[start], 5, lo, hi)
    return m
