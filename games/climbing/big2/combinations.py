"""What a set of cards is when it is played, how strong, and what beats what.

A play's head is one number, `size << 16 | value`: plays of one size compare by it. The value of up to three
cards of a rank is the highest of them. Five cards have `kind << 8 | place`: a straight's place is that of
its row in the book and the suit of its last rank, a flush's its highest card, that of a full house or of four
of a kind their rank. Nothing else can be played; 0 is the head of a pass and of nothing to beat.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from games.climbing.big2.big2_rules import (
    BY_SUIT,
    FLUSH,
    FULL_HOUSE,
    QUADS,
    STRAIGHT,
    STRAIGHT_FLUSH,
    TRIPLES,
    Book,
)
from games.climbing.big2.card_masks import DEAL, count_cards, lowest_place
from games.support.array_types import Ints
from games.support.kernel import kernel

__all__ = ["NO_PLAY", "PLAY_KINDS", "flush_place", "play_head", "play_kinds"]

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
