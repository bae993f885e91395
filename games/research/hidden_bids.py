"""Bids that nobody showed, drawn from all that explain who won: the hidden part of Goofspiel's histories."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["OPEN", "explaining_bids"]

OPEN = 2
"""Of a bid that is made and not resolved yet, where others are compared: lower -1, equal 0, higher 1."""
MOST_DRAWS = 2_000
"""Batches drawn before a sample is given up."""


def explaining_bids(
    cards: int, own: Sequence[int], results: Sequence[int], n: int, rng: np.random.Generator
) -> NDArray[np.int64] | None:
    """Return n rows of different cards that explain the results of our bids, [n, turns] int64, all alike.

    cards: of the hand, numbered from 1. own: our bid of each turn. results: of each turn, how the card asked
    for compares with it: -1 lower, 0 equal, 1 higher, or OPEN for one card left over.
    None if no draw explains them.

    Cards below ours are drawn lowest limit first, cards above ours highest first, which leaves every choice
    as many cards whatever was drawn before; draws in which the two meet are thrown away.
    """
    below = [turn for turn, result in enumerate(results) if result == -1]
    above = [turn for turn, result in enumerate(results) if result == 1]
    order = [(turn, False) for turn in sorted(below, key=lambda turn: own[turn])]
    order += [(turn, True) for turn in sorted(above, key=lambda turn: -own[turn])]
    tied = np.array([own[turn] for turn, result in enumerate(results) if result == 0], np.int64)
    face = np.arange(1, cards + 1)
    found = np.zeros((0, len(results)), np.int64)
    for _ in range(MOST_DRAWS):
        bids = np.zeros((n, len(results)), np.int64)
        bids[:, np.array(results, np.int64) == 0] = tied
        free = np.ones((2, n, cards), bool)
        free[:, :, tied - 1] = False
        whole = np.ones(n, bool)
        for turn, higher in order:
            allowed = free[int(higher)] & (face > own[turn] if higher else face < own[turn])
            pick = np.argmax(rng.random(allowed.shape) * allowed, axis=1)
            whole &= allowed[np.arange(n), pick]
            free[int(higher), np.arange(n), pick] = False
            bids[:, turn] = pick + 1
        left = free[0] & free[1]
        # A card that both kinds took is in neither's rest.
        whole &= (free[0] | free[1]).sum(axis=1) == cards - len(tied)
        for at in np.flatnonzero(np.array(results, np.int64) == OPEN).tolist():
            bids[:, at] = np.argmax(rng.random(left.shape) * left, axis=1) + 1
        found = np.concatenate([found, bids[whole]])[:n]
        if len(found) == n:
            return found
    return None
