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
from numba import njit

from games.guandan.cards import (
    BOMB,
    FOUR_KINGS,
    PAIR,
    PASS,
    SINGLE,
    STRAIGHT,
    STRAIGHT_FLUSH,
    THREE_PAIR,
    THREE_WITH_TWO,
    TRIPS,
    TWO_TRIPS,
)
from games.guandan.combos import _CLASS, BOMB_CLASS, ORDER, _strength
from games.guandan.packed import (
    BITS5,
    COUNT,
    RANK_AT,
    RANK_HI,
    RANK_LO,
    _flush_windows,
    _head,
    _split,
    _suit_lanes,
)


def _spare_first() -> np.ndarray:
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


@njit(cache=True)
def _suit_values(ranks, wild, value):
    """Write what each card is worth to straight flushes into `value` [4 suits, 14 places].

    Returns False, and writes nothing, if no straight flush can be made.
    """
    lanes = _suit_lanes(ranks)
    windows = _flush_windows(lanes, wild)
    if windows == 0:
        return False
    value[:] = 0
    for suit in range(4):
        for start in range(10):
            if windows >> 16 * suit + start & 1:
                worth = WINDOW_VALUE[BITS5[lanes >> 16 * suit + start & 31]]
                for j in range(5):
                    value[suit, start + j] += worth
        value[suit, 13] += value[suit, 0]
        value[suit, 0] = value[suit, 13]
    return True


@njit(cache=True)
def _prepare(ranks, wild, value, take):
    """Write the cheapest k cards of each rank, as bytes, into `take` [15, 9]."""
    alive = _suit_values(ranks, wild, value)
    for r in range(15):
        byte = ranks[r]
        for k in range(COUNT[byte] + 1):
            take[r, k] = SPARE_FIRST[byte, k]
        if not alive or r > 12 or COUNT[byte] < 2:
            continue
        # spares are free; then repeatedly the least valuable suit that is left
        k = 0
        rest = byte
        for s in range(4):
            if byte >> 2 * s & 2:
                k += 1
                rest -= 1 << 2 * s
        taken = byte - rest
        while rest:
            best, least = 0, 1 << 30
            for s in range(4):
                if rest >> 2 * s & 1 and value[s, r + 1] < least:
                    best, least = s, value[s, r + 1]
            rest -= 1 << 2 * best
            taken += 1 << 2 * best
            k += 1
            take[r, k] = taken


@njit(cache=True)
def _emit(kind, r, size, wilds, take, level, out, m):
    """One group of `size` cards of rank r, `wilds` of them wild."""
    byte = take[r, size - wilds]
    out[m, 0] = _head(kind, r, size)
    out[m, 1] = byte * RANK_LO[r] + wilds * RANK_LO[level]
    out[m, 2] = byte * RANK_HI[r] + wilds * RANK_HI[level]
    return m + 1


@njit(cache=True)
def _groups(kind, size, ranks, wild, level, floor, out, m, take):
    for place in range(floor + 1, 15 if size <= 2 else 13):
        r = RANK_AT[level, place]
        held = COUNT[ranks[r]]
        if held >= size:
            m = _emit(kind, r, size, 0, take, level, out, m)
        elif size - held <= wild and (held > 0 or r == level) and r < 13:
            m = _emit(kind, r, size, size - held, take, level, out, m)
    return m


@njit(cache=True)
def _full_houses(ranks, wild, level, floor, out, m, take):
    for place in range(floor + 1, 13):
        r = RANK_AT[level, place]
        held = COUNT[ranks[r]]
        spent = max(0, 3 - held)
        if spent > wild or held == 0:
            continue
        lo = take[r, 3 - spent] * RANK_LO[r]
        hi = take[r, 3 - spent] * RANK_HI[r]
        for pair_place in range(15):
            p = RANK_AT[level, pair_place]
            held = COUNT[ranks[p]]
            more = max(0, 2 - held)
            if p == r or spent + more > wild or (more > 0 and (p > 12 or (held == 0 and p != level))):
                continue
            byte = take[p, 2 - more]
            out[m, 0] = _head(THREE_WITH_TWO, r, 5)
            out[m, 1] = lo + byte * RANK_LO[p] + (spent + more) * RANK_LO[level]
            out[m, 2] = hi + byte * RANK_HI[p] + (spent + more) * RANK_HI[level]
            m += 1
    return m


@njit(cache=True)
def _sequences(kind, slots, group, ranks, wild, level, first, out, m, take):
    """Tubes and plates."""
    for start in range(first, 15 - slots):
        lack = lo = hi = 0
        for j in range(slots):
            r = (start + 12 + j) % 13
            used = min(group, COUNT[ranks[r]])
            lack += group - used
            lo += take[r, used] * RANK_LO[r]
            hi += take[r, used] * RANK_HI[r]
        if lack <= wild:
            out[m, 0] = _head(kind, (start + 12) % 13, slots * group)
            out[m, 1] = lo + lack * RANK_LO[level]
            out[m, 2] = hi + lack * RANK_HI[level]
            m += 1
    return m


@njit(cache=True)
def _cost(byte, suit, worth):
    """What playing one card of a suit of a rank costs: nothing if a second copy stays."""
    return 0 if byte >> 2 * suit & 2 else worth


@njit(cache=True)
def _straights(ranks, wild, level, first, out, m, take, value):
    for start in range(first, 10):
        lack = lo = hi = suits = 0
        for j in range(5):
            r = (start + 12 + j) % 13
            if ranks[r] == 0:
                lack += 1
            else:
                suits |= take[r, 1]
                lo += take[r, 1] * RANK_LO[r]
                hi += take[r, 1] * RANK_HI[r]
        if lack > wild:
            continue
        if lack == 0 and suits & (suits - 1) == 0:
            # five cards of one suit: change the slot where another suit, or else a wild card, costs least
            suit = 0
            while suits >> 2 * suit != 1:
                suit += 1
            least = 1 << 30
            best_lo = best_hi = 0
            for j in range(5):
                r = (start + 12 + j) % 13
                own = _cost(ranks[r], suit, value[suit, start + j])
                for s in range(4):
                    if s != suit and ranks[r] >> 2 * s & 3:
                        change = _cost(ranks[r], s, value[s, start + j]) - own
                        if change < least:
                            least = change
                            best_lo = ((1 << 2 * s) - suits) * RANK_LO[r]
                            best_hi = ((1 << 2 * s) - suits) * RANK_HI[r]
            if least == 1 << 30:
                if wild == 0:
                    continue
                for j in range(5):
                    r = (start + 12 + j) % 13
                    own = _cost(ranks[r], suit, value[suit, start + j])
                    if -own < least:
                        least = -own
                        best_lo = RANK_LO[level] - suits * RANK_LO[r]
                        best_hi = RANK_HI[level] - suits * RANK_HI[r]
            lo += best_lo
            hi += best_hi
        out[m, 0] = _head(STRAIGHT, (start + 12) % 13, 5)
        out[m, 1] = lo + lack * RANK_LO[level]
        out[m, 2] = hi + lack * RANK_HI[level]
        m += 1
    return m


@njit(cache=True)
def _straight_flushes(ranks, wild, level, first, out, m, value):
    lanes = _suit_lanes(ranks)
    windows = _flush_windows(lanes, wild)
    if windows == 0:
        return m
    for start in range(first, 10):
        best, least = -1, 1 << 30
        for suit in range(4):
            if windows >> 16 * suit + start & 1 == 0:
                continue
            held = lanes >> 16 * suit + start & 31
            lack = 5 - BITS5[held]
            cost = lack << 20
            for j in range(5):
                if held >> j & 1:
                    byte = ranks[(start + 12 + j) % 13]
                    cost += _cost(byte, suit, value[suit, start + j])
                    if COUNT[byte] >= 4:
                        cost += 216 if COUNT[byte] == 4 else 36
            if cost < least:
                best, least = suit, cost
        if best < 0:
            continue
        lack = least >> 20
        lo = lack * RANK_LO[level]
        hi = lack * RANK_HI[level]
        for j in range(5):
            if lanes >> 16 * best + start + j & 1:
                r = (start + 12 + j) % 13
                lo += RANK_LO[r] << 2 * best
                hi += RANK_HI[r] << 2 * best
        out[m, 0] = _head(STRAIGHT_FLUSH, (start + 12) % 13, 5)
        out[m, 1] = lo
        out[m, 2] = hi
        m += 1
    return m


@njit(cache=True)
def _bombs(ranks, wild, level, above, out, m, take, value):
    """Bombs of every kind whose strength is greater than `above`."""
    top, place = above >> 8, above & 255
    flush = _CLASS[STRAIGHT_FLUSH, 5]
    most = 0
    for r in range(13):
        most = max(most, COUNT[ranks[r]])
    for size in range(4, max(5, most + wild) + 1):
        rating = _CLASS[BOMB, size]
        if top <= rating and size <= most + wild:
            m = _groups(BOMB, size, ranks, wild, level, place if top == rating else -1, out, m, take)
        if size == 5 and top <= flush:
            m = _straight_flushes(ranks, wild, level, place + 1 if top == flush else 0, out, m, value)
    if ranks[13] == 2 and ranks[14] == 2 and top < _CLASS[FOUR_KINGS, 4]:
        out[m, 0] = _head(FOUR_KINGS, 13, 4)
        out[m, 1] = 0
        out[m, 2] = 2 * (RANK_HI[13] + RANK_HI[14])
        m += 1
    return m


@njit(cache=True)
def _canonical_moves(lo, hi, level, beat, out, m, ranks, value, take):
    """Write the canonical moves of a hand to `out` from row m; return the row after the last.

    As `_full_moves`, with scratch value [4, 14] and take [15, 9], int64.
    """
    wild = _split(lo, hi, level, ranks)
    kind, rank, size = beat & 255, beat >> 8 & 255, beat >> 16 & 255
    lead = kind == PASS
    above = _strength(kind, rank, size, level)
    place = -1 if lead else ORDER[level, rank]
    first = 0 if lead else (rank + 1) % 13 + 1
    if not lead:
        out[m, 0] = _head(PASS, 0, 0)
        out[m, 1] = 0
        out[m, 2] = 0
        m += 1
    _prepare(ranks, wild, value, take)
    if lead or kind == SINGLE:
        m = _groups(SINGLE, 1, ranks, wild, level, place, out, m, take)
    if lead or kind == PAIR:
        m = _groups(PAIR, 2, ranks, wild, level, place, out, m, take)
    if lead or kind == TRIPS:
        m = _groups(TRIPS, 3, ranks, wild, level, place, out, m, take)
    if lead or kind == THREE_PAIR:
        m = _sequences(THREE_PAIR, 3, 2, ranks, wild, level, first, out, m, take)
    if lead or kind == THREE_WITH_TWO:
        m = _full_houses(ranks, wild, level, place, out, m, take)
    if lead or kind == TWO_TRIPS:
        m = _sequences(TWO_TRIPS, 2, 3, ranks, wild, level, first, out, m, take)
    if lead or kind == STRAIGHT:
        m = _straights(ranks, wild, level, first, out, m, take, value)
    return _bombs(ranks, wild, level, above if above >> 8 >= BOMB_CLASS else 0, out, m, take, value)
