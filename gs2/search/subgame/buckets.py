"""Buckets of hands: what an opponent may hold, in clusters of alike, for `gs2.search.subgame.tying`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint
from games.game import Game
from gs2.search.subgame.multi_valued import known_at

__all__ = ["cluster_rows", "hand_buckets", "hand_features"]

DISTINCT = 9
"""Decimals, in standard deviations, by which features differ that are told apart."""


def cluster_rows(
    features: NDArray[np.float64],
    k: int,
    *,
    weights: NDArray[np.float64] | None = None,
    seed: int = 0,
) -> NDArray[np.int64]:
    """Return the cluster of each row, [n] int64, numbered by first appearance; at most k of them.

    features: [n] or [n, d] float64; every column is brought to mean 0 and deviation 1. Rows with equal
    features share a cluster, whatever their order.
    weights: [n] float64 >= 0, how much each row counts.
    Source: scikit-learn KMeans with one start from `seed`, on the distinct rows.
    Raises ValueError for k below 1 or features that are not finite.
    """
    points = np.asarray(features, np.float64)
    points = points[:, None] if points.ndim == 1 else points
    if k < 1 or not np.all(np.isfinite(points)):
        raise ValueError(f"buckets: k must be at least 1 and features finite; got k = {k}")
    if len(points) == 0:
        return np.zeros(0, np.int64)
    spread = points.std(axis=0)
    points = np.round((points - points.mean(axis=0)) / np.where(spread > 0, spread, 1.0), DISTINCT) + 0.0
    distinct, number = np.unique(points, axis=0, return_inverse=True)
    number = number.reshape(-1)
    if len(distinct) <= k:
        found = number.astype(np.int64)
    elif k == 1:
        found = np.zeros(len(points), np.int64)
    else:
        from sklearn.cluster import KMeans  # a heavy import that only buckets need

        mass = np.bincount(number, weights, minlength=len(distinct)).astype(np.float64)
        if not mass.sum() > 0:
            mass[:] = 1.0
        model = KMeans(n_clusters=k, n_init=1, random_state=seed)
        found = model.fit(distinct, sample_weight=mass).labels_.astype(np.int64)[number]
    first = np.unique(found, return_index=True)[1]
    rank = np.empty(int(found.max()) + 1, np.int64)
    rank[found[np.sort(first)]] = np.arange(len(first))
    return rank[found]


def hand_features(game: Game, states: NDArray[Any], seat: int, blueprint: Blueprint) -> NDArray[np.float64]:
    """Return what a hand is like to a blueprint, history by history, [n, d] float64.

    The value to the seat of what it knows; where it is to act everywhere with as many actions, the
    probability and value of each; and the columns of the game's own, if it has the optional method
    `infoset_features(states, player) -> [n, f]`.
    """
    columns = [np.asarray(blueprint.value(game, states, seat), np.float64).reshape(len(states), 1)]
    if len(states) and np.all(game.player(states) == seat):
        actions = game.actions(states)
        if len(np.unique(actions.counts)) == 1:
            shape = (len(states), -1)
            columns.append(np.asarray(blueprint.policy(game, states, seat, actions)).reshape(shape))
            columns.append(np.asarray(blueprint.q(game, states, seat, actions)).reshape(shape))
    own: Callable[..., Any] | None = getattr(game, "infoset_features", None)
    if own is not None:
        columns.append(np.asarray(own(states, seat), np.float64).reshape(len(states), -1))
    return np.concatenate(columns, axis=1)


def hand_buckets(
    game: Game,
    states: NDArray[Any],
    seat: int,
    features: NDArray[np.float64],
    k: int,
    *,
    seed: int = 0,
) -> NDArray[np.int64]:
    """Return the bucket of what a seat knows at each history, [n] int64; at most k, none parts an infoset.

    features: [n, d] float64; of an infoset's histories the mean counts.
    Raises ValueError as `cluster_rows`.
    """
    known = known_at(game, states, seat)
    points = features[:, None] if features.ndim == 1 else features
    counts = np.bincount(known)
    means = np.stack([np.bincount(known, column) / counts for column in points.T], axis=1)
    buckets: NDArray[np.int64] = cluster_rows(means, k, weights=counts.astype(np.float64), seed=seed)[known]
    return buckets
