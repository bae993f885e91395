"""Diverse generation beside the dynamic programme as the GS2 paper prints it, on the same values.

    gs2 bench generation

The printed one is O(m² k) in time and O(m k) in memory; ours finds a subset of the same cost in
O(m log m + m k).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from experiments.bench.works import Speed, Work, in_turns
from games.support.kernel import kernel
from gs2.search.generation import diverse_subset

__all__ = ["SIZES", "measure_generation", "printed_subset", "subset"]

SIZES = ((100, 10), (1000, 3), (1000, 10), (1000, 100), (4000, 10))


def measure_generation(*, repeats: int, seed: int, progress: Callable[[str], None]) -> list[Speed]:
    """Return the speeds of both programmes for k of m values. seed: of the values, which are normal."""
    works = [
        Work(
            f"{k} of {m} values, {'as printed' if printed else 'ours'}",
            "experiments.bench.generation_speed:subset",
            {"m": m, "k": k, "printed": printed, "seed": seed},
            "subsets",
        )
        for m, k in SIZES
        for printed in (False, True)
    ]
    return in_turns(works, progress, repeats=repeats)


def subset(*, m: int, k: int, printed: bool, seed: int) -> Callable[[], int]:
    """Return the work of as many subsets as make a piece long enough to be timed."""
    values = np.random.default_rng(seed).normal(size=m)
    find, count = (
        (printed_subset, 1 + 10**6 // (m * m)) if printed else (diverse_subset, 1 + 10**6 // (m * k))
    )

    def repeat() -> int:
        for _ in range(count):
            find(values, k)
        return count

    return repeat


@kernel
def _as_printed(
    x: NDArray[np.float64], k: int, cost: NDArray[np.float64], before: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the chosen positions of rising values, by the recurrence of algorithm 2 in the supplement."""
    m = len(x)
    cost[:] = np.inf
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


def printed_subset(values: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Return k indices of least squared gaps as the paper's programme finds them, 2 <= k < m."""
    order = np.argsort(values, kind="stable")
    shape = (len(values), k)
    chosen = _as_printed(values[order], k, np.empty(shape), np.zeros(shape, np.int64))
    subset: NDArray[np.int64] = order[chosen]
    return subset
