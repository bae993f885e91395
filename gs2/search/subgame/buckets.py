"""Buckets of hands: what an opponent may hold, in clusters of alike hands."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["cluster_rows"]

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
