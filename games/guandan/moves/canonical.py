"""Canonical moves: of all moves with one effect, the one that leaves the strongest hand behind.

Two moves have one effect if their type and rank agree, and the size of a bomb and the rank of a full house's
pair. Of those we keep the one that

1. spends the fewest wild cards. A wild card can stand for any natural card it is kept instead of, so the hand
   left is at least as good in every combination (a lone card apart). It follows how many natural cards of
   each rank are played, and so which bombs are left;
2. of the suits that could be played, spends those least needed: first the spare copy of a card held twice,
   then cards by the straight flushes that they are part of, each counting 36, 6 or 1 as it lacks none, one or
   two cards (and the wild cards held can fill it); then by suit, H, S, C, D;
3. for a straight, takes the second-best card in the slot where that costs least if five natural cards would
   all be of one suit; failing that, a wild card in the slot of the most needed card;
4. for a straight flush, takes the suit that spends the fewest wild cards, then the one whose cards cost least
   as in 2, a card out of four of a rank counting 216 more and one out of five to eight 36 more.
"""

from __future__ import annotations

import numpy as np

from games.guandan.cards import STRAIGHT, STRAIGHT_FLUSH, THREE_WITH_TWO
from games.guandan.moves.packed import (
    AT_LEVEL,
    BITS5,
    HELD,
    RANK_AT,
    RANK_HI,
    RANK_LO,
    RUNS,
    SEQUENCE,
    SUIT_LANES,
    TAKE,
    VALUE,
    VALUED,
    WILD,
    WINDOWS,
    write_move,
)
from games.support.array_types import Ints
from games.support.kernel import kernel


def _spare_first() -> Ints:
    table = np.zeros((256, 9), np.int64)
    for byte in range(256):
        copies = [byte >> 2 * s & 3 for s in range(4)]
        if max(copies) > 2:
            continue
        cards = [s for s in range(4) if copies[s] == 2] + [s for s in range(4) if copies[s]]
        for size in range(1, 9):
            table[byte, size] = sum(1 << 2 * s for s in cards[:size])
    return table


SPARE_FIRST = _spare_first()
"""[256, 9] int64: byte of k cards of a rank where no suit is worth more than another."""
WINDOW_VALUE = np.array([0, 0, 0, 1, 6, 36], np.int64)
"""Worth of a straight flush that holds 0..5 of its natural cards."""


@kernel
def forget_values(hand: Ints) -> None:
    """Forget what cards of the hand before were worth."""
    if hand[WINDOWS]:
        hand[VALUED] = 0
        for r in range(13):
            hand[TAKE + 9 * r] = -1


@kernel
def _suit_values(hand: Ints) -> None:
    """Write what each card is worth to straight flushes at VALUE + 16 * suit + place, once a hand."""
    if hand[VALUED]:
        return
    hand[VALUED] = 1
    lanes, windows = hand[SUIT_LANES], hand[WINDOWS]
    for suit in range(4):
        base = VALUE + 16 * suit
        for place in range(14):
            hand[base + place] = 0
        if windows >> 16 * suit & 0x3FF == 0:
            continue
        for start in range(10):
            if windows >> 16 * suit + start & 1:
                worth = WINDOW_VALUE[BITS5[lanes >> 16 * suit + start & 31]]
                for j in range(5):
                    hand[base + start + j] += worth
        hand[base + 13] += hand[base]
        hand[base] = hand[base + 13]


@kernel
def _order_rank(r: int, hand: Ints) -> None:
    """Write the k least needed natural cards of rank r, as a byte, at TAKE + 9 * r + k for every k."""
    _suit_values(hand)
    base = TAKE + 9 * r
    hand[base] = 0
    # spares are free; then repeatedly the least valuable suit that is left
    byte = rest = hand[r]
    n = 0
    for s in range(4):
        if byte >> 2 * s & 2:
            rest -= 1 << 2 * s
            n += 1
            hand[base + n] = SPARE_FIRST[byte, n]
    while rest:
        best, least = 0, 1 << 30
        for s in range(4):
            if rest >> 2 * s & 1 and hand[VALUE + 16 * s + r + 1] < least:
                best, least = s, hand[VALUE + 16 * s + r + 1]
        rest -= 1 << 2 * best
        n += 1
        hand[base + n] = byte - rest


@kernel
def least_needed(r: int, k: int, hand: Ints) -> int:
    """Return the k least needed natural cards of rank r, as a byte."""
    if hand[WINDOWS] == 0 or r > 12:
        spared: int = SPARE_FIRST[hand[r], k]
        return spared
    if hand[TAKE + 9 * r] < 0:
        _order_rank(r, hand)
    least: int = hand[TAKE + 9 * r + k]
    return least


@kernel
def canonical_houses(hand: Ints, floor: int, out: Ints, m: int) -> int:
    """Full houses whose trips lie above place `floor` of the level-aware order."""
    level = hand[AT_LEVEL]
    for place in range(floor + 1, 13):
        r = RANK_AT[level, place]
        lack = max(0, 3 - hand[HELD + r])
        if lack > hand[WILD] or hand[HELD + r] == 0:
            continue
        three = least_needed(r, 3 - lack, hand)
        for pair_place in range(15):
            p = RANK_AT[level, pair_place]
            more = max(0, 2 - hand[HELD + p])
            if p == r or lack + more > hand[WILD] or (more > 0 and (p > 12 or (more == 2 and p != level))):
                continue
            two = least_needed(p, 2 - more, hand)
            m = write_move(
                out,
                m,
                THREE_WITH_TWO,
                r,
                5,
                three * RANK_LO[r] + two * RANK_LO[p] + (lack + more) * RANK_LO[level],
                three * RANK_HI[r] + two * RANK_HI[p] + (lack + more) * RANK_HI[level],
            )
    return m


@kernel
def canonical_sequences(kind: int, slots: int, group: int, hand: Ints, first: int, out: Ints, m: int) -> int:
    """Tubes and plates whose lowest place is `first` or above; `group`: cards of each rank."""
    level = hand[AT_LEVEL]
    for start in range(first, 15 - slots):
        lack = lo = hi = 0
        for j in range(slots):
            lack += max(0, group - hand[HELD + SEQUENCE[start + j]])
        if lack > hand[WILD]:
            continue
        for j in range(slots):
            r = SEQUENCE[start + j]
            byte = least_needed(r, min(group, hand[HELD + r]), hand)
            lo += byte * RANK_LO[r]
            hi += byte * RANK_HI[r]
        m = write_move(
            out,
            m,
            kind,
            SEQUENCE[start],
            slots * group,
            lo + lack * RANK_LO[level],
            hi + lack * RANK_HI[level],
        )
    return m


@kernel
def _cost(byte: int, suit: int, worth: int) -> int:
    """Return what playing one card of a suit of a rank costs: nothing if a second copy stays."""
    return 0 if byte >> 2 * suit & 2 else worth


@kernel
def _other_suit(start: int, suits: int, hand: Ints) -> tuple[int, int]:
    """Return what to add to (lo, hi) of a straight all of whose cards are `suits`; (0, 0) if nothing will do.

    Another suit where it costs least, else a wild card for the most needed card.
    """
    suit = 0
    while suits >> 2 * suit != 1:
        suit += 1
    best_lo = best_hi = 0
    least = 1 << 30
    for j in range(5):
        r = SEQUENCE[start + j]
        byte = hand[r]
        own = _cost(byte, suit, hand[VALUE + 16 * suit + start + j])
        for s in range(4):
            if s != suit and byte >> 2 * s & 3:
                change = _cost(byte, s, hand[VALUE + 16 * s + start + j]) - own
                if change < least:
                    least = change
                    best_lo = ((1 << 2 * s) - suits) * RANK_LO[r]
                    best_hi = ((1 << 2 * s) - suits) * RANK_HI[r]
    if least == 1 << 30 and hand[WILD] > 0:
        for j in range(5):
            r = SEQUENCE[start + j]
            own = _cost(hand[r], suit, hand[VALUE + 16 * suit + start + j])
            if -own < least:
                least = -own
                best_lo = RANK_LO[hand[AT_LEVEL]] - suits * RANK_LO[r]
                best_hi = RANK_HI[hand[AT_LEVEL]] - suits * RANK_HI[r]
    return best_lo, best_hi


@kernel
def canonical_straights(hand: Ints, first: int, out: Ints, m: int) -> int:
    """Straights whose lowest place is `first` or above."""
    level = hand[AT_LEVEL]
    for start in range(first, 10):
        if hand[RUNS] >> start & 1 == 0:
            continue
        lack = lo = hi = suits = 0
        for j in range(5):
            r = SEQUENCE[start + j]
            if hand[r] == 0:
                lack += 1
            else:
                byte = least_needed(r, 1, hand)
                suits |= byte
                lo += byte * RANK_LO[r]
                hi += byte * RANK_HI[r]
        if lack == 0 and suits & (suits - 1) == 0:
            more_lo, more_hi = _other_suit(start, suits, hand)
            if more_lo == 0 and more_hi == 0:
                continue
            lo += more_lo
            hi += more_hi
        m = write_move(
            out, m, STRAIGHT, SEQUENCE[start], 5, lo + lack * RANK_LO[level], hi + lack * RANK_HI[level]
        )
    return m


@kernel
def canonical_flushes(hand: Ints, first: int, out: Ints, m: int) -> int:
    """Straight flushes whose lowest place is `first` or above."""
    windows, lanes, level = hand[WINDOWS], hand[SUIT_LANES], hand[AT_LEVEL]
    if windows == 0:
        return m
    _suit_values(hand)
    for start in range(first, 10):
        best, least = -1, 1 << 30
        for suit in range(4):
            if windows >> 16 * suit + start & 1 == 0:
                continue
            cards = lanes >> 16 * suit + start & 31
            cost = (5 - BITS5[cards]) << 20
            for j in range(5):
                if cards >> j & 1:
                    r = SEQUENCE[start + j]
                    cost += _cost(hand[r], suit, hand[VALUE + 16 * suit + start + j])
                    if hand[HELD + r] >= 4:
                        cost += 216 if hand[HELD + r] == 4 else 36
            if cost < least:
                best, least = suit, cost
        if best < 0:
            continue
        lack = least >> 20
        lo = lack * RANK_LO[level]
        hi = lack * RANK_HI[level]
        for j in range(5):
            if lanes >> 16 * best + start + j & 1:
                r = SEQUENCE[start + j]
                lo += RANK_LO[r] << 2 * best
                hi += RANK_HI[r] << 2 * best
        m = write_move(out, m, STRAIGHT_FLUSH, SEQUENCE[start], 5, lo, hi)
    return m
