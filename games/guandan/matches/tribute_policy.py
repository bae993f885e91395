"""Which card to pay and which to return: chance, and the rule that DanZero plays by.

Both take the decisions of `Matches.card_decisions` and give the card of each for `Matches.give`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from games.guandan.cards import unpack
from games.guandan.matches.lockstep import CardDecisions, Matches
from games.guandan.matches.tribute import CARD_RANK

__all__ = ["danzero_cards", "exchange_all", "random_cards"]

_TEN = 8
_NEVER = 1 << 20


def random_cards(decisions: CardDecisions, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a card for each decision, [k] int64, uniformly among its options."""
    cards: NDArray[np.int64] = np.where(decisions.options, rng.random(decisions.options.shape), -1.0).argmax(
        1
    )
    return cards


def danzero_cards(decisions: CardDecisions) -> NDArray[np.int64]:
    """Return a card for each decision, [k] int64, by DanZero's rule.

    Bombs and straight flushes (wild cards helping) are kept together. To return, in this order: a card below
    10 that makes nothing but a single; one out of a pair or trips below 10; then, where the source is silent,
    one out of a straight; a 10; a card out of a bomb; one out of a straight flush. The lowest first, then by
    suit. To pay, of equal cards, one that no straight flush needs.
    Source: Zhao et al. 2023 (DanZero+), section IV-E.
    """
    counts = unpack(decisions.hands).astype(np.int64)
    k = len(counts)
    rows = np.arange(k)
    wild_card = 4 * decisions.levels.astype(np.int64)
    wild = counts[rows, wild_card]
    plain = counts.copy()
    plain[rows, wild_card] = 0
    suited = plain[:, :52].reshape(k, 13, 4)
    held = suited.sum(2)
    flush = _in_window(suited > 0, wild[:, None, None]) & (suited == 1)
    straight = _in_window(held[:, :, None] > 0, np.zeros((k, 1, 1), np.int64))[:, :, 0]
    rank = CARD_RANK[:52].astype(np.int64)
    size = held[:, rank]
    group = np.select(
        [flush.reshape(k, 52), size >= 4, rank == _TEN, size >= 2, straight[:, rank]],
        [5, 4, 3, 1, 2],
        0,
    )
    group[rows, wild_card] = 6
    cost = np.full((k, 54), _NEVER - 54)
    cost[:, :52] = np.where(
        decisions.back[:, None], 64 * group + np.arange(52), 64 * flush.reshape(k, 52) + np.arange(52)
    )
    cost[:, 52:] += np.arange(2)
    cards: NDArray[np.int64] = np.where(decisions.options, cost, _NEVER).argmin(1)
    return cards


def _in_window(held: NDArray[np.bool_], wild: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which cards lie in five in a row of which at most `wild` are lacking, [k, 13, suits] bool.

    held: [k, 13, suits] bool, ranks 2..A.
    """
    line = np.concatenate([held[:, 12:], held], 1).astype(np.int64)
    whole = sum(line[:, j : j + 10] for j in range(5)) + wild >= 5
    inside = np.zeros(line.shape, bool)
    for j in range(5):
        inside[:, j : j + 10] |= whole
    within = inside[:, 1:].copy()
    within[:, 12] |= inside[:, 0]
    return within & held


def exchange_all(matches: Matches, rng: np.random.Generator | None = None) -> int:
    """Return how many tribute decisions were due, after making them all.

    They follow DanZero's rule or, given `rng`, chance. Afterwards every match is in play, or over.
    """
    made = 0
    while len(decisions := matches.card_decisions()):
        matches.give(decisions, danzero_cards(decisions) if rng is None else random_cards(decisions, rng))
        made += len(decisions)
    return made
