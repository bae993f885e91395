"""How fast diverse generation is, beside the dynamic programme as the GS2 paper prints it.

    gs2 bench generation

Both are compiled and timed in turn on the same values. The printed one is O(m² k) in time and O(m k) in
memory; ours finds a subset of the same cost in O(m log m + m k).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from experiments.bench.bench import figures
from games.support.kernel import kernel
from gs2.search.generation import diverse_subset, gap_cost

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["SIZES", "GenerationRecord", "Size", "generation_tables", "measure_generation"]

SIZES = ((100, 10), (1000, 3), (1000, 10), (1000, 100), (4000, 10))


@dataclass(frozen=True)
class Size:
    """One size of the problem: k of m values.

    ours_us, printed_us: median microseconds. ratio: printed over ours.
    excess: largest relative difference between the two costs; rounding alone.
    """

    m: int
    k: int
    ours_us: float
    printed_us: float
    ratio: float
    excess: float


@dataclass(frozen=True)
class GenerationRecord:
    """All sizes; seed: of the values, which are normal. repeats: timings behind each median."""

    seed: int
    repeats: int
    sizes: tuple[Size, ...]


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


def _microseconds(work: Callable[[], object], least: float = 0.002) -> float:
    """Return the processor time of one call, from as many as take `least` seconds."""
    calls = 0
    began = time.process_time()
    while calls == 0 or time.process_time() - began < least:
        work()
        calls += 1
    return (time.process_time() - began) / calls * 1e6


def measure_generation(
    *,
    repeats: int = 9,
    seed: int = 0,
    sizes: tuple[tuple[int, int], ...] = SIZES,
    progress: Callable[[str], None] = lambda what: None,
) -> GenerationRecord:
    """Return the times of both programmes; sizes: (m, k), 2 <= k < m."""
    rng = np.random.default_rng(seed)
    printed_subset(rng.normal(size=8), 3), diverse_subset(rng.normal(size=8), 3)  # compiles
    found = []
    for m, k in sizes:
        progress(f"{k} of {m}")
        ours, printed, excess = [], [], 0.0
        for _ in range(repeats):
            values = rng.normal(size=m)
            ours.append(_microseconds(partial(diverse_subset, values, k)))
            printed.append(_microseconds(partial(printed_subset, values, k)))
            costs = gap_cost(values, diverse_subset(values, k)), gap_cost(values, printed_subset(values, k))
            excess = max(excess, abs(costs[0] / costs[1] - 1))
        a, b = float(np.median(ours)), float(np.median(printed))
        found.append(Size(m, k, a, b, b / a, excess))
    return GenerationRecord(seed, repeats, tuple(found))


def generation_tables(result: GenerationRecord) -> list[Table]:
    """Return the figures as tables to print."""
    title = f"Diverse generation: medians of {result.repeats}, seed {result.seed}"
    heads = "m | k | ours, µs | as printed, µs | ratio | cost differs by"
    cells = "{0.m} | {0.k} | {0.ours_us:.1f} | {0.printed_us:.1f} | {0.ratio:.0f}× | {0.excess:.0e}"
    return [figures(title, heads, cells, result.sizes, words=0)]
