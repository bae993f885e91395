"""A hand laid out as the fewest moves that shed it, nobody else playing.

Rule agents count the moves (`blueprint.climbing.rules`). The move that leaves the fewest is taken, the
longest of several, until no card is left.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from blueprint.climbing.rules.big2_turns import big2_turns_to_shed
from blueprint.climbing.rules.doudizhu_turns import turns_to_shed
from games.climbing.big2.big2 import Big2
from games.climbing.big2.combinations import NO_PLAY, play_kinds
from games.climbing.doudizhu.move_table import move_table
from games.climbing.doudizhu.multiset import cards_text
from games.support.array_types import Array

__all__ = ["Leads", "big2_moves", "doudizhu_moves", "fewest_moves"]

Leads = Callable[[Array], tuple[Array, Array, Array, Callable[[int], str]]]
"""Returns the moves that a hand can lead: hands left [n, …], cards [n], moves still needed [n], words."""
GUARDS = 0x0888_8888_8888_8888
"""A free bit above each rank's number in a packed hand of DouDiZhu."""


def fewest_moves(hand: Array, leads: Leads) -> list[str]:
    """Return the moves, in words, that a hand is shed by."""
    found = []
    while hand.any():
        left, sizes, needed, words = leads(hand)
        best = int(np.lexsort((-sizes, needed))[0])
        found.append(words(best))
        hand = left[best]
    return found


def doudizhu_moves(packed: int) -> list[str]:
    """Return about the fewest moves of a packed hand of DouDiZhu, each in letters: `33344`."""
    cards = move_table().cards
    sizes = (cards[:, None] >> 4 * np.arange(15) & 15).sum(axis=1)

    def leads(hand: Array) -> tuple[Array, Array, Array, Callable[[int], str]]:
        left = (hand | GUARDS) - cards
        fits = ((left & GUARDS) == GUARDS) & (cards > 0)
        rests: NDArray[np.int64] = left[fits] & ~GUARDS
        needed = np.array([turns_to_shed(rest) for rest in rests])
        return rests, sizes[fits], needed, lambda i: cards_text(int(cards[fits][i]))

    return fewest_moves(np.array(packed, np.int64), leads)


def big2_moves(game: Big2, mask: int) -> list[str]:
    """Return about the fewest moves of a hand of Big2, a mask of cards, each in words: `S3 D3`."""

    def leads(hand: Array) -> tuple[Array, Array, Array, Callable[[int], str]]:
        held = [1 << place for place in range(52) if int(hand) >> place & 1]
        sets = [sum(some) for size in (1, 2, 3, 5) for some in combinations(held, size)]
        plays = np.array(sets, np.uint64)
        plays = plays[play_kinds(plays, game.rules.book()) != NO_PLAY]
        rests = hand & ~plays
        needed = np.array([big2_turns_to_shed(game, int(rest)) for rest in rests])
        sizes = np.array([int(play).bit_count() for play in plays])
        return rests, sizes, needed, lambda i: game.words.cards(int(plays[i]))

    return fewest_moves(np.array(mask, np.uint64), leads)
