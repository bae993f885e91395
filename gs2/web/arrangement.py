"""The order in which moves are suggested, and a hand laid out as the fewest moves that shed it.

Rule agents count the moves (`blueprint.climbing.rules`). The move that leaves the fewest is taken, the
longest of several, until no card is left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from games.support.array_types import Array

__all__ = ["Leads", "fewest_moves", "suggestion_order"]

Leads = Callable[[Array], tuple[Array, Array, Array, Callable[[int], str]]]
"""Returns the moves that a hand can lead: hands left [n, …], cards [n], moves still needed [n], words."""
OF_A_BOMB = 4
"""Cards of one rank that make a bomb: it costs more to take one apart than a pair."""


def suggestion_order(
    moves: Sequence[tuple[bool, Sequence[str]]], hand: Sequence[str], wild: str = ""
) -> list[int]:
    """Return the places of moves, each a bomb or none and its cards, in the order in which to suggest them.

    Bombs come last; before them what needs a wild card; before that what takes groups of one rank apart, the
    fewer the sooner. Among equals the order is that of `moves`.
    """
    held = Counter(card[1:] for card in hand if card != wild)

    def cost(place: int) -> tuple[bool, bool, int, int]:
        bomb, cards = moves[place]
        used = Counter(card[1:] for card in cards if card != wild)
        apart = sum(1 + (held[rank] >= OF_A_BOMB) for rank, count in used.items() if count < held[rank])
        return bomb, wild in cards, apart, place

    return sorted(range(len(moves)), key=cost)


def fewest_moves(hand: Array, leads: Leads) -> list[str]:
    """Return the moves, in words, that a hand is shed by."""
    found = []
    while hand.any():
        left, sizes, needed, words = leads(hand)
        best = int(np.lexsort((-sizes, needed))[0])
        found.append(words(best))
        hand = left[best]
    return found
