"""Which of many moves a page suggests, and in what order: first those that take nothing of the hand apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from games.guandan.cards import PASS, RANKS
from games.guandan.notation import action_list
from games.support.array_types import Rows

__all__ = ["suggested_moves"]

BOMBS = ("Bomb", "StraightFlush", "FourKings")
OF_A_BOMB = 4
"""Cards of one rank that make a bomb: it costs more to take one apart than a pair."""


def suggested_moves(moves: Rows, hand: Sequence[str], level: int) -> list[int]:
    """Return places of moves to suggest: one of each type and rank, none of them a pass.

    hand: the cards held, by name. Bombs come last; before them what needs a wild card; before that what takes
    groups of one rank apart, the fewer the sooner. Among equals the order is that of `moves`.
    """
    kinds = moves["type"].astype(np.int64) << 8 | moves["rank"]
    _, places = np.unique(kinds, return_index=True)
    held = Counter(card[1:] for card in hand if card != f"H{RANKS[level]}")
    order = []
    for place in np.sort(places).tolist():
        if moves[place]["type"] == PASS:
            continue
        kind, _, cards = action_list(moves[place], level)
        wild = sum(card == f"H{RANKS[level]}" for card in cards)
        used = Counter(card[1:] for card in cards if card != f"H{RANKS[level]}")
        apart = sum(1 + (held[rank] >= OF_A_BOMB) for rank, count in used.items() if count < held[rank])
        order.append((kind in BOMBS, min(wild, 1), apart, place))
    return [place for *_, place in sorted(order)]
