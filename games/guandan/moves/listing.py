"""Legal moves of a hand, leading and following: the full list, and the canonical one.

A list is ordered by type (singles, pairs, trips, tubes, full houses, plates, straights, bombs of 4 and 5,
straight flushes, bombs of 6 to 10, joker bomb) and rises in strength within a type; when following, PASS
comes first. When leading there is no PASS.

The full list has every distinct (type, rank, multiset of cards). A heart of the level's rank is wild
wherever it stands, its own rank included, so a hand is its natural cards plus w = 0..2 wild cards, and a
combination is a set of slots, each filled by one natural card of its rank or by a wild card. The multiset
tells which slots the wild cards fill, hence no move is made twice.

The canonical list has of all moves with one effect the one that leaves the strongest hand behind. Two moves
have one effect if their type and rank agree, and the size of a bomb and the rank of a full house's pair. Of
those we keep the one that

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
from games.guandan.moves.packed import (
    AT_LEVEL,
    BITS5,
    CARDS,
    HELD,
    OPEN_HAND,
    RANK_AT,
    RANK_HI,
    RANK_LO,
    RUNS,
    SEQUENCE,
    SUBSET_START,
    SUBSETS,
    SUIT_LANES,
    TAKE,
    VALUE,
    VALUED,
    WILD,
    WINDOWS,
    open_hand,
    write_move,
)
from games.support.array_types import Int, Ints
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


RESERVE = 1 << 18
"""Rows kept free before a hand is listed: more than any hand of 28 cards has moves (tubes 12 * 15 ** 3, full
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
