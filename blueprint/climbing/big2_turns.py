"""The minimum combination of a hand of Big2: about how few turns shed it, nobody else playing.

Up to two straights are taken out by their ranks, or a flush and up to one straight; the rest is taken by
rank, a pair going with a triple and a single with a four. Source of the idea: Luo & Tan 2024, section 4.1 and
algorithm 2; flushes and the count are ours.
"""

from __future__ import annotations

import numpy as np

from games.climbing.big2.big2 import Big2
from games.climbing.big2.big2_rules import TRIPLES, Book
from games.climbing.big2.card_masks import count_cards
from games.support.array_types import Ints
from games.support.kernel import kernel


@kernel
def _by_rank(counts: Ints, triples: int) -> int:
    """Return the turns of what is held of each rank, [13], without straights and flushes."""
    ones = twos = threes = fours = 0
    for rank in range(13):
        count = counts[rank]
        ones += count == 1
        twos += count == 2
        threes += count == 3
        fours += count == 4
    together = min(threes, twos)
    with_fifth = min(fours, ones)  # a four goes with a fifth card, or as two pairs
    turns = ones + twos + threes - together + 2 * fours - 2 * with_fifth
    return turns if triples else turns + threes - together


@kernel
def _take(counts: Ints, rows: Ints, place: int, sign: int) -> bool:
    """Take a straight out of the counts, or put it back; return whether all of it was there."""
    whole = True
    for k in range(5):
        counts[rows[place, k]] -= sign
        whole = whole and counts[rows[place, k]] >= 0
    return whole


@kernel
def _with_straights(counts: Ints, rows: Ints, triples: int, most: int) -> int:
    """Return the fewest turns with up to `most` straights, taken out; counts stay as they are."""
    best = _by_rank(counts, triples)
    if most == 0:
        return best
    for a in range(len(rows)):
        if _take(counts, rows, a, 1):
            best = min(best, 1 + _by_rank(counts, triples))
            if most > 1:
                for b in range(a, len(rows)):
                    if _take(counts, rows, b, 1):
                        best = min(best, 2 + _by_rank(counts, triples))
                    _take(counts, rows, b, -1)
        _take(counts, rows, a, -1)
    return best


@kernel(nogil=True)
def big2_turns(hand: int, book: Book, counts: Ints) -> int:
    """Return about how many turns a hand takes. counts: [26] to work in."""
    held, left = counts[:13], counts[13:26]
    for rank in range(13):
        held[rank] = count_cards(hand >> 4 * rank & 15)
    triples, rows = int(book[0][TRIPLES]), book[2]
    best = _with_straights(held, rows, triples, 2)
    for suit in range(4):
        if count_cards(hand >> suit & 0x1_1111_1111_1111) < 5:
            continue
        # cards that are alone in their rank go first, then those of triples, pairs, fours
        left[:] = held
        wanted = 5
        for group in (1, 3, 2, 4):
            for rank in range(13):
                if wanted and held[rank] == group and hand >> 4 * rank + suit & 1:
                    left[rank] -= 1
                    wanted -= 1
        best = min(best, 1 + _with_straights(left, rows, triples, 1))
    return best


def big2_turns_to_shed(game: Big2, hand: int) -> int:
    """Return about how many turns a hand, as a mask, takes to shed, nobody else playing."""
    return int(big2_turns(int(hand), game.rules.book(), np.empty(26, np.int64)))
