"""Slow, obvious twin of `gs2.search.generation.diverse_subset`."""

from __future__ import annotations

from itertools import combinations

import numpy as np


def gap_cost(values: np.ndarray, chosen: np.ndarray) -> float:
    """Return the sum of squared gaps between neighbours chosen, and to the extremes of all values."""
    ends = np.concatenate([[values.min()], np.sort(values[chosen]), [values.max()]])
    return float(np.sum(np.diff(ends) ** 2))


def diverse_subset_by_brute_force(values: np.ndarray, k: int) -> float:
    """Return the least sum of squared gaps over all subsets of k values that hold both extremes."""
    x = np.sort(values)
    best = np.inf
    for inner in combinations(range(1, len(x) - 1), k - 2):
        chosen = x[[0, *inner, len(x) - 1]]
        best = min(best, float(np.sum(np.diff(chosen) ** 2)))
    return best
