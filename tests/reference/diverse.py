"""Slow, obvious twins of `gs2.search.generation.diverse_subset`."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numba import njit


def diverse_subset_by_brute_force(values: np.ndarray, k: int) -> float:
    """Return the least sum of squared gaps over all subsets of k values that hold both extremes."""
    x = np.sort(values)
    best = np.inf
    for inner in combinations(range(1, len(x) - 1), k - 2):
        chosen = x[[0, *inner, len(x) - 1]]
        best = min(best, float(np.sum(np.diff(chosen) ** 2)))
    return best


@njit(cache=True)
def diverse_subset_as_printed(values, k):
    """Return the chosen positions among the sorted values, rising, by the O(m^2 k) recurrence of algorithm 2.

    cost[i, j]: least sum of squared gaps with sorted value i as the j-th chosen one (from 0).
    """
    x = np.sort(values)
    m = len(x)
    cost = np.full((m, k), np.inf)
    before = np.full((m, k), -1, np.int64)
    cost[0, 0] = 0.0
    for i in range(1, m):
        for j in range(1, min(i + 1, k)):
            for p in range(j - 1, i):
                total = cost[p, j - 1] + (x[p] - x[i]) ** 2
                if total < cost[i, j]:
                    cost[i, j] = total
                    before[i, j] = p
    chosen = np.empty(k, np.int64)
    at = m - 1
    for j in range(k - 1, -1, -1):
        chosen[j] = at
        at = before[at, j]
    return chosen
