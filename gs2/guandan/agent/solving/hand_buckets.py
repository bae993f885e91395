"""Buckets of the opponents' hands: what they may know of a deal when they choose how to play on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from games.guandan.cards import unpack
from games.guandan.combos import ORDER
from games.support.array_types import Array
from gs2.search.subgame.buckets import cluster_rows

__all__ = ["opponent_buckets", "strength_features"]


def strength_features(states: Array, seat: int) -> NDArray[np.float64]:
    """Return features of the hand of a seat in some deals, [n, 4] float64.

    Bombs of four and more, high cards (aces, level cards, jokers), pairs, cards of one kind alone.
    """
    hands = unpack(states["hand"][:, seat]).astype(np.int64)
    level = int(states["level"][0])
    ranks = np.concatenate([hands[:, :52].reshape(-1, 13, 4).sum(2), hands[:, 52:]], axis=1)
    high = ORDER[level] >= 11
    return np.stack(
        [
            np.count_nonzero(ranks >= 4, axis=1),
            ranks[:, high].sum(1),
            np.count_nonzero(ranks == 2, axis=1),
            np.count_nonzero(ranks == 1, axis=1),
        ],
        axis=1,
    ).astype(np.float64)


def opponent_buckets(states: Array, seat: int, count: int) -> NDArray[np.int64]:
    """Return the bucket that both opponents' hands are in, [n] int64 from 0, at most `count` of them.

    states: [n] STATE, deals of one infoset of `seat`.
    """
    if count == 1:
        return np.zeros(len(states), np.int64)
    both = [strength_features(states, (seat + j) & 3) for j in (1, 3)]
    return cluster_rows(np.concatenate(both, axis=1), count)
