"""What a set of cards is when it is played, how strong, and what beats what.

A play's head is one number, `size << 16 | value`: plays of one size compare by it. The value of up to three
cards of a rank is the highest of them. Five cards have `kind << 8 | place`: a straight's place is that of
its row in the book and the suit of its last rank, a flush's its highest card, that of a full house or of four
of a kind their rank. Nothing else can be played; 0 is the head of a pass and of nothing to beat.

A hand's plays are listed each once, in an order that the hand alone decides. Kinds of five cards exclude one
another (a straight in one suit is listed as a straight flush, and as nothing else).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from games.climbing.big2.big2_rules import (
    BOMBS,
    BY_SUIT,
    FLUSH,
    FULL_HOUSE,
    MUST_PLAY,
    QUADS,
    STRAIGHT,
    STRAIGHT_FLUSH,
    TRIPLES,
    Book,
)
from games.climbing.big2.card_masks import DEAL, count_cards, lowest_place
from games.support.array_types import Int, Ints
from games.support.kernel import kernel

NO_PLAY = -1
"""Head of cards that cannot be played together."""
PLAY_KINDS = (
    "pass",
    "single",
    "pair",
    "triple",
    "straight",
    "flush",
    "full house",
    "four and one",
    "straight flush",
    "deal",
)
"""Kinds of actions by their code, that of `play_kinds`."""


@kernel
def flush_place(suit: int, rank: int, by_suit: int) -> int:
    """Return the place among flushes of one with this suit and highest rank."""
    return suit << 4 | rank if by_suit else rank << 2 | suit


@kernel
def play_head(mask: int, book: Book) -> int:
    """Return the head of a set of cards, NO_PLAY if it cannot be played."""
    options, straight_of, straights = book
    size = count_cards(mask)
    if size == 0:
        return 0
    if size > 5 or size == 4 or (size == 3 and not options[TRIPLES]):
        return NO_PLAY
    top = ranks = suits = last = held = most = 0
    rest = mask
    while rest:
        top = lowest_place(rest)
        rest &= rest - 1
        ranks |= 1 << (top >> 2)
        suits |= 1 << (top & 3)
        held = held + 1 if top >> 2 == last and held else 1
        last = top >> 2
        most = max(most, held)
    kinds = count_cards(ranks)
    if size < 5:
        return size << 16 | top if kinds == 1 else NO_PLAY
    place = np.int64(straight_of[ranks]) - 1
    flush = suits & suits - 1 == 0
    if place >= 0 and kinds == 5:
        decider = straights[place, 4]
        suit = lowest_place(mask >> 4 * decider & 15)
        kind = STRAIGHT_FLUSH if flush else STRAIGHT
        return size << 16 | kind << 8 | int(place) << 2 | suit
    if flush:
        return size << 16 | FLUSH << 8 | flush_place(top & 3, top >> 2, options[BY_SUIT])
    if kinds > 2:
        return NO_PLAY
    wanted = 4 if most == 4 else 3
    rank = 0
    while count_cards(mask >> 4 * rank & 15) != wanted:
        rank += 1
    return size << 16 | (QUADS if wanted == 4 else FULL_HOUSE) << 8 | rank


@kernel(nogil=True)
def _kinds(masks: Ints, book: Book, out: Ints) -> None:
    for i in range(len(masks)):
        if masks[i] >> DEAL:
            out[i] = 9
            continue
        head = play_head(masks[i], book)
        size = head >> 16
        out[i] = 3 + (head >> 8 & 255) if size == 5 else size


def play_kinds(actions: NDArray[np.uint64], book: Book) -> NDArray[np.int64]:
    """Return the code of each action's kind in PLAY_KINDS, [m] int64; NO_PLAY for cards that make none."""
    out = np.empty(len(actions), np.int64)
    _kinds(np.ascontiguousarray(actions, np.uint64).view(np.int64), book, out)
    return out


MOST_PLAYS = 19_900
"""More than the whole deck holds: 52 singles, 78 pairs, 52 triples, 10,200 straights, 5,108 flushes, 3,744
full houses, 624 times four and one, 40 straight flushes and the pass (Tan et al. 2024, table 13)."""


@kernel
def _small(hand: int, size: int, above: Int, out: Ints, m: int) -> int:
    """Write singles, pairs or triples whose highest card is above one; return the row after the last."""
    if size == 1:
        rest = hand & ~((2 << above) - 1) if above >= 0 else hand
        while rest:
            out[m] = rest & -rest
            m += 1
            rest &= rest - 1
        return m
    skipped = 4 * (int(above) >> 2)  # ranks below that of the card to beat
    rest = hand >> skipped << skipped if above >= 0 else hand
    while rest:
        rank = lowest_place(rest) >> 2
        held = rest >> 4 * rank & 15
        rest &= ~(15 << 4 * rank)
        for top in range(size - 1, 4):
            if not held >> top & 1 or 4 * rank + top <= above:
                continue
            for second in range(size - 2, top):
                if not held >> second & 1:
                    continue
                if size == 2:
                    out[m] = (1 << top | 1 << second) << 4 * rank
                    m += 1
                    continue
                for third in range(second):
                    if held >> third & 1:
                        out[m] = (1 << top | 1 << second | 1 << third) << 4 * rank
                        m += 1
    return m


@kernel
def _straights(hand: int, book: Book, above: int, out: Ints, m: int) -> int:
    """Write the straights of more than one suit whose place is above one; return the row after the last."""
    rows = book[2]
    for place in range(max(above, 0) >> 2, len(rows)):
        a, b, c, d, e = rows[place, 0], rows[place, 1], rows[place, 2], rows[place, 3], rows[place, 4]
        in_a, in_b, in_c = hand >> 4 * a & 15, hand >> 4 * b & 15, hand >> 4 * c & 15
        in_d, in_e = hand >> 4 * d & 15, hand >> 4 * e & 15
        if in_a == 0 or in_b == 0 or in_c == 0 or in_d == 0 or in_e == 0:
            continue
        for last in range(4):
            if not in_e >> last & 1 or place << 2 | last <= above:
                continue
            for i in range(4):
                if not in_a >> i & 1:
                    continue
                for j in range(4):
                    if not in_b >> j & 1:
                        continue
                    for k in range(4):
                        if not in_c >> k & 1:
                            continue
                        three = 1 << 4 * a + i | 1 << 4 * b + j | 1 << 4 * c + k | 1 << 4 * e + last
                        one_suit = i == last and j == last and k == last
                        for n in range(4):
                            if in_d >> n & 1 and not (one_suit and n == last):
                                out[m] = three | 1 << 4 * d + n
                                m += 1
    return m


@kernel
def _flushes(hand: int, book: Book, above: int, out: Ints, m: int) -> int:
    """Write the flushes, straights left out, whose place is above one; return the row after the last."""
    options, straight_of, _ = book
    for suit in range(4):
        own = hand >> suit & 0x1_1111_1111_1111
        fifth = own
        for _ in range(4):  # what is left has four lower cards of its suit
            fifth &= fifth - 1
        while fifth:
            e = lowest_place(fifth) >> 2
            fifth &= fifth - 1
            if flush_place(suit, e, options[BY_SUIT]) <= above:
                continue
            fourth = own & (1 << 4 * e) - 1
            while fourth:
                d = lowest_place(fourth) >> 2
                fourth &= fourth - 1
                third = own & (1 << 4 * d) - 1
                while third:
                    c = lowest_place(third) >> 2
                    third &= third - 1
                    second = own & (1 << 4 * c) - 1
                    while second:
                        b = lowest_place(second) >> 2
                        second &= second - 1
                        first = own & (1 << 4 * b) - 1
                        while first:
                            a = lowest_place(first) >> 2
                            first &= first - 1
                            if straight_of[1 << a | 1 << b | 1 << c | 1 << d | 1 << e] == 0:
                                four = 1 << 4 * a | 1 << 4 * b | 1 << 4 * c | 1 << 4 * d
                                out[m] = (four | 1 << 4 * e) << suit
                                m += 1
    return m


@kernel
def _full_houses(hand: int, above: int, out: Ints, m: int) -> int:
    """Write the full houses of a rank above one; return the row after the last."""
    for rank in range(above + 1, 13):
        held = hand >> 4 * rank & 15
        for left_out in range(4):
            three = held & ~(1 << left_out)
            # three cards: all four less one of them, or the three that there are
            if three != 15 & ~(1 << left_out):
                continue
            for other in range(13):
                pair = hand >> 4 * other & 15
                if other == rank or pair & pair - 1 == 0:
                    continue
                for high in range(1, 4):
                    if not pair >> high & 1:
                        continue
                    for low in range(high):
                        if pair >> low & 1:
                            out[m] = three << 4 * rank | (1 << high | 1 << low) << 4 * other
                            m += 1
    return m


@kernel
def _fours(hand: int, above: Int, out: Ints, m: int) -> int:
    """Write every four of a kind of a rank above one with every fifth card; return the row after the last."""
    for rank in range(above + 1, 13):
        if hand >> 4 * rank & 15 != 15:
            continue
        four = 15 << 4 * rank
        rest = hand & ~four
        while rest:
            out[m] = four | rest & -rest
            m += 1
            rest &= rest - 1
    return m


@kernel
def _straight_flushes(hand: int, book: Book, above: Int, out: Ints, m: int) -> int:
    """Write the straight flushes whose place is above one; return the row after the last."""
    rows = book[2]
    for place in range(len(rows)):
        mask = 0
        for k in range(5):
            mask |= 1 << 4 * rows[place, k]
        for suit in range(4):
            if hand >> suit & mask == mask and place << 2 | suit > above:
                out[m] = mask << suit
                m += 1
    return m


@kernel
def _fives(hand: int, book: Book, above: int, out: Ints, m: int) -> int:
    """Write the plays of five cards whose value is above one; return the row after the last."""
    kind, place = above >> 8, above & 255
    if kind <= STRAIGHT:
        m = _straights(hand, book, place if kind == STRAIGHT else -1, out, m)
    if kind <= FLUSH:
        m = _flushes(hand, book, place if kind == FLUSH else -1, out, m)
    if kind <= FULL_HOUSE:
        m = _full_houses(hand, place if kind == FULL_HOUSE else -1, out, m)
    if kind <= QUADS:
        m = _fours(hand, place if kind == QUADS else -1, out, m)
    return _straight_flushes(hand, book, place if kind == STRAIGHT_FLUSH else -1, out, m)


@kernel
def list_plays(hand: int, head: int, within: int, book: Book, out: Ints, begin: Int) -> int:
    """Write the actions of a hand from row `begin` on; return the row after the last.

    head: of the play to beat, 0 when leading. within: cards that the play must hold, 0 if any will do.
    out: [MOST_PLAYS or more from `begin` on] int64, masks; a pass, 0, comes first.
    """
    options = book[0]
    size, value = head >> 16, head & 0xFFFF
    m = int(begin)
    if head and not options[MUST_PLAY]:
        out[m] = 0
        m += 1
    lowest = np.int64(-1)  # a variable, since a constant argument would make numba compile once more
    for few in range(1, 4 if options[TRIPLES] else 3):
        if size == few:
            m = _small(hand, few, value, out, m)
        elif size == 0:
            m = _small(hand, few, lowest, out, m)
    if size == 0 or size == 5:
        m = _fives(hand, book, value if size else 0, out, m)
    else:
        if options[BOMBS] >> QUADS & 1:
            m = _fours(hand, lowest, out, m)
        if options[BOMBS] >> STRAIGHT_FLUSH & 1:
            m = _straight_flushes(hand, book, lowest, out, m)
    if within:
        kept = int(begin)
        for row in range(begin, m):
            if out[row] & within == within:
                out[kept] = out[row]
                kept += 1
        return kept
    if m == begin:
        out[m] = 0
        m += 1
    return m
