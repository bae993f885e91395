"""Generation functions: which k of the histories that a player considers possible go into the subgame.

A generator sees one value per history (the opponent's alternative value there, or a vector of them when
there are several opponents) and says which histories to keep. `diverse` is the one that gives generative
subgame solving its name in print: values evenly spread between the two extremes, found by an exact dynamic
programme over the sorted values. `strata` and `belief` are weighted samples: each history kept also carries
the reach of those left out for it, so that a weighted sum over the kept is that over all without bias.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from games.support.contract import require
from games.support.kernel import kernel


class GenerationError(ValueError):
    """Bad input to a generation function: the rule, the value received and what to do next."""


class Generator(Protocol):
    """Choose which histories enter the subgame."""

    def __call__(
        self, values: NDArray[np.float64], weights: NDArray[np.float64], k: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return the indices of the chosen histories, [min(k, m)] int64, rising and distinct.

        values: [m] or [m, d] float64, alternative values (payoffs to the opponent) at each history.
        weights: [m] float64 >= 0, how likely each history is; only ratios matter.
        k: how many to choose, at least 1; m of them if k >= m.
        """
        ...


def all_histories(
    values: NDArray[np.float64], weights: NDArray[np.float64], k: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return every index, [m] int64; `k` is ignored."""
    return np.arange(len(values), dtype=np.int64)


def random_histories(
    values: NDArray[np.float64], weights: NDArray[np.float64], k: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return k indices drawn uniformly without replacement, [min(k, m)] int64, rising (GS2-R)."""
    if k >= len(values):
        return np.arange(len(values), dtype=np.int64)
    return np.sort(rng.choice(len(values), size=k, replace=False)).astype(np.int64)


def diverse_histories(
    values: NDArray[np.float64], weights: NDArray[np.float64], k: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the k indices whose values are spread best over the range, [min(k, m)] int64, rising (GS2-D).

    Histories of weight zero enter only when there are fewer than k others, as in the GS2 paper's settings of
    its largest game (appendix C.6). Among histories of equal value the choice is drawn from `rng`, so that
    repeated calls do not always favour the first. Raises GenerationError for vector values.
    """
    _one_each("diverse", values, "clusters")
    m = len(values)
    if k >= m:
        return np.arange(m, dtype=np.int64)
    live = np.flatnonzero(weights > 0)
    if len(live) <= k:
        return _with_dead(live, weights, k, rng)[0]
    shuffled = rng.permutation(live)
    return np.sort(shuffled[diverse_subset(values[shuffled], k)]).astype(np.int64)


def cluster_histories(
    values: NDArray[np.float64], weights: NDArray[np.float64], k: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the histories nearest to the centres of k clusters of values, [min(k, m)] int64, rising.

    The generator for vector values: alternative values of two opponents, or any other features.
    Source: scikit-learn KMeans, one start, seeded from `rng`.
    """
    m = len(values)
    if k >= m:
        return np.arange(m, dtype=np.int64)
    points = values.reshape(m, -1)
    scale = float(np.ptp(points)) or 1.0
    # Values that differ by rounding alone are one.
    distinct = points[np.unique(np.round(points / scale, 9), axis=0, return_index=True)[1]]
    if len(distinct) <= k:
        centres = distinct
    else:
        from sklearn.cluster import KMeans  # a heavy import that only this generator needs

        seed = int(rng.integers(2**31 - 1))
        centres = KMeans(n_clusters=k, n_init=1, random_state=seed).fit(points).cluster_centers_
    distance = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
    taken = np.zeros(m, bool)
    for column in distance.T:
        free = np.flatnonzero(~taken)
        taken[free[np.argmin(column[free])]] = True
    missing = k - int(taken.sum())
    if missing:
        taken[rng.choice(np.flatnonzero(~taken), size=missing, replace=False)] = True
    return np.flatnonzero(taken).astype(np.int64)


def strata_sample(
    values: NDArray[np.float64], weights: NDArray[np.float64], k: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return one history of each of k strata of similar values, and the reach that it carries, [min(k, m)].

    The strata are those of `strata_bounds`. A history is drawn from its stratum by its weight and carries
    the weight of the stratum. Histories of weight zero enter only when there are fewer than k others, and
    carry none. Raises GenerationError for vector values. Source: stratified sampling, Cochran 1977, ch. 5.
    """
    _one_each("strata", values, "belief")
    live = rng.permutation(np.flatnonzero(weights > 0))
    if len(live) <= k:
        return _with_dead(live, weights, k, rng)
    ordered = live[np.argsort(values[live], kind="stable")]
    mass = weights[ordered]
    bounds = strata_bounds(values[ordered], mass, k)
    rows, carried = np.empty(k, np.int64), np.empty(k)
    for number, (start, end) in enumerate(pairwise(bounds.tolist())):
        upto = np.cumsum(mass[start:end])
        carried[number] = upto[-1]
        drawn = np.searchsorted(upto, rng.random() * upto[-1], side="right")
        rows[number] = ordered[start + min(int(drawn), end - start - 1)]
    rising = np.argsort(rows)
    return rows[rising], carried[rising]


def belief_sample(
    values: NDArray[np.float64], weights: NDArray[np.float64], k: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return k histories drawn in proportion to their weights, and the reach that each carries, [min(k, m)].

    Histories with more than a k-th of what is left are kept for certain and carry their own; the others carry
    equal parts of the rest. Source: systematic sampling in random order, Madow 1949. `values` are not read.
    """
    live = rng.permutation(np.flatnonzero(weights > 0))
    if len(live) <= k:
        return _with_dead(live, weights, k, rng)
    certain = np.zeros(len(live), bool)
    mass = weights[live]
    while True:
        each = float(mass[~certain].sum()) / (k - int(certain.sum()))
        large = ~certain & (mass >= each)
        if not large.any() or int(certain.sum() + large.sum()) >= k:
            break
        certain |= large
    rest, n = live[~certain], k - int(certain.sum())
    at = np.searchsorted(np.cumsum(weights[rest]), (rng.random() + np.arange(n)) * each, side="right")
    # Two points never fall into one history but by rounding.
    step = np.arange(n)
    at = np.minimum(np.maximum.accumulate(at - step) + step, len(rest) - n + step)
    rows = np.concatenate([live[certain], rest[at]])
    carried = np.concatenate([mass[certain], np.full(n, each)])
    rising = np.argsort(rows)
    return rows[rising].astype(np.int64), carried[rising]


def _with_dead(
    live: NDArray[np.int64], weights: NDArray[np.float64], k: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return all histories of some weight, filled up to k with others, and their own weights."""
    dead = np.flatnonzero(weights <= 0)
    fill = rng.choice(dead, size=min(k - len(live), len(dead)), replace=False)
    rows = np.sort(np.concatenate([live, fill])).astype(np.int64)
    return rows, weights[rows]


GENERATORS: dict[str, Callable[..., Any]] = {
    "all": all_histories,
    "random": random_histories,
    "diverse": diverse_histories,
    "clusters": cluster_histories,
    "strata": strata_sample,
    "belief": belief_sample,
}
"""Each is a `Generator`, or also gives the reach that each history carries. Registered ones are added."""


def generate(
    name: str, values: NDArray[np.float64], weights: NDArray[np.float64], k: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the histories that a generator chooses, and the reach that each carries: its own if unweighted.

    Arguments as of `Generator`; both results are [min(k, m)].
    Raises GenerationError that lists the names if there is none, and for input out of range.
    """
    if name not in GENERATORS:
        raise GenerationError(f"generator must be one of {', '.join(GENERATORS)}; got {name!r}")
    _check(values, weights, k)
    found = GENERATORS[name](values, weights, k, rng)
    return found if isinstance(found, tuple) else (found, weights[found])


def diverse_subset(values: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Return k indices of least squared gaps between neighbours, [min(k, m)] int64, by rising value.

    The smallest and the largest of all values stand at the two ends. Both are kept when k >= 2; with k = 1
    the value nearest to the middle of the range is.
    Ties between equal values go to the lower index.

    values: [m] float64, finite. O(m log m + m k) time, O(m k) memory.
    Raises GenerationError for values that are not a finite vector or k < 1.
    Source: GS2 supplement, algorithm 2 and equation 3, which is O(m^2 k). A step of that programme is the
    lower envelope of parabolas of equal shape, which one pass finds (the convex hull trick).
    """
    values = np.ascontiguousarray(values, np.float64)
    _one_each("diverse_subset", values, "clusters")
    _check(values, np.ones(len(values)), k)
    order = np.argsort(values, kind="stable")
    m = len(values)
    if k >= m:
        return order
    x = values[order]
    if k == 1:
        return order[[int(np.argmin((x - x[0]) ** 2 + (x[-1] - x) ** 2))]]
    picked = np.empty(k, np.int64)
    _spread(x - x[0], k, np.empty((k, m), np.int32), np.empty((2, m)), np.empty(m, np.int32), picked)
    return order[picked]


def strata_bounds(values: NDArray[np.float64], weights: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Return where each of k strata of rising values begins, and the end of the last, [k + 1] int64.

    They minimise the variance of the weighted sum when one value of each stratum, drawn by weight, carries
    the weight of all of it: the sum over strata of (weight of the stratum)² · (variance within).

    values: [m] float64, rising. weights: [m] float64 > 0. k: at most m. O(m² k) time, O(m k) memory.
    """
    m = len(values)
    sums = np.zeros((3, m + 1))
    centred = values - values.mean()
    for row, part in zip(sums, (weights, weights * centred, weights * centred**2), strict=True):
        np.cumsum(part, out=row[1:])
    bounds = np.empty(k + 1, np.int64)
    _partition(sums, k, np.full((2, m + 1), np.inf), np.zeros((k + 1, m + 1), np.int32), bounds)
    return bounds


@kernel
def _partition(
    sums: NDArray[np.float64],
    k: int,
    cost: NDArray[np.float64],
    cut: NDArray[np.int32],
    bounds: NDArray[np.int64],
) -> None:
    """Write into `bounds` the k consecutive strata of least variance.

    sums: [3, m + 1], weight, first and second moment before each position. cost: two rows, used in turn, of
    infinity. cut[j, i]: where the last of j strata before position i begins.
    """
    m = sums.shape[1] - 1
    cost[0, 0] = 0.0
    for j in range(1, k + 1):
        old = cost[(j - 1) & 1]
        new = cost[j & 1]
        new[:] = np.inf
        for i in range(j, m - k + j + 1):
            for start in range(j - 1, i):
                mass = sums[0, i] - sums[0, start]
                first = sums[1, i] - sums[1, start]
                total = old[start] + max(mass * (sums[2, i] - sums[2, start]) - first * first, 0.0)
                if total < new[i]:
                    new[i] = total
                    cut[j, i] = start
    bounds[k] = m
    for j in range(k, 0, -1):
        bounds[j - 1] = cut[j, bounds[j]]


@kernel
def _spread(
    x: NDArray[np.float64],
    k: int,
    best: NDArray[np.int32],
    cost: NDArray[np.float64],
    hull: NDArray[np.int32],
    picked: NDArray[np.int64],
) -> None:
    """Write into `picked` the k positions of least squared gaps between x[0] = 0 and x[-1], x rising.

    best[j, i]: the position before i when i is the j-th chosen one; cost: two rows, used in turn.
    hull: [m], the positions p whose parabola old[p] + (x - x[p])^2 is the lowest somewhere, by rising x:
    less x^2 they are lines of falling slope, and the lowest at x[i] only ever moves on.
    """
    m = len(x)
    for i in range(m):
        cost[1, i] = x[i] * x[i]
        best[1, i] = 0
    for j in range(2, k):
        old = cost[(j - 1) & 1]
        new = cost[j & 1]
        # Position i as the j-th chosen one has j chosen before it and k - 1 - j after it.
        last = m - k + j
        head, size = 0, 0
        for i in range(j, last + 1):
            p = i - 1
            while size > head:
                b = hull[size - 1]
                if x[b] == x[p]:
                    if old[b] <= old[p]:
                        break
                    size -= 1
                    continue
                if size - 1 == head:
                    break
                a = hull[size - 2]
                # b is needed only if c = p overtakes it later than it overtakes a.
                over_b = (old[p] - old[b]) + (x[p] - x[b]) * (x[p] + x[b])
                over_a = (old[b] - old[a]) + (x[b] - x[a]) * (x[b] + x[a])
                if over_b * (x[b] - x[a]) > over_a * (x[p] - x[b]):
                    break
                size -= 1
            if size == head or x[hull[size - 1]] != x[p]:
                hull[size] = p
                size += 1
            if j == k - 1 and i < last:
                continue
            gap = x[i] - x[hull[head]]
            least = old[hull[head]] + gap * gap
            while head + 1 < size:
                gap = x[i] - x[hull[head + 1]]
                total = old[hull[head + 1]] + gap * gap
                if total > least:
                    break
                least = total
                head += 1
            new[i] = least
            best[j, i] = hull[head]
    at = m - 1
    for j in range(k - 1, 0, -1):
        picked[j] = at
        at = best[j, at]
    picked[0] = 0


def _check(values: NDArray[np.float64], weights: NDArray[np.float64], k: int) -> None:
    if values.ndim not in (1, 2) or len(values) == 0 or not np.isfinite(values).all():
        raise GenerationError(
            f"generator: values must be a finite, non-empty [m] or [m, d] array; got shape {values.shape}"
        )
    if weights.shape != (len(values),) or np.any(weights < 0):
        raise GenerationError("generator: weights must be non-negative, one per history")
    if k < 1:
        raise GenerationError(f"generator: k must be at least 1; got {k}")


def _one_each(name: str, values: NDArray[np.float64], instead: str) -> None:
    if values.ndim != 1:
        raise GenerationError(
            f"{name}: needs one value per history; got an array of shape {values.shape}; "
            f"use the generator {instead!r} for vector values"
        )


def check_generator(choose: Callable[..., NDArray[np.int64]], rng: np.random.Generator) -> None:
    """Return None if `choose` keeps the contract of `Generator` on inputs where generators go wrong.

    The inputs hold ties, one history, k >= m, weights of zero, unsorted values and vector values (skipped
    for a generator that raises GenerationError for vectors).
    choose: takes values [m] or [m, d], weights [m], k and a generator, and returns at most k indices, [n].
    Raises ContractError naming the broken rule.
    """
    scalar = [
        np.array([1.5]),
        np.array([2.0, 2.0, 2.0, 2.0]),
        np.array([0.0, 1.0, 0.0, 1.0, 0.5]),
        rng.normal(size=17),
        np.repeat(rng.normal(size=5), 4),
    ]
    inputs = [*scalar, rng.normal(size=(9, 2)), np.zeros((6, 3))]
    for values in inputs:
        m = len(values)
        for weights in (np.ones(m), rng.random(m) * (rng.random(m) < 0.6)):
            for k in (1, 2, 3, max(m - 1, 1), m, m + 3):
                _check_choice(choose, values, weights, k, int(rng.integers(2**31)))


def _check_choice(
    choose: Callable[..., NDArray[np.int64]],
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    k: int,
    seed: int,
) -> None:
    m = len(values)
    before = values.copy(), weights.copy()
    try:
        chosen = np.asarray(choose(values, weights, k, np.random.default_rng(seed)))
    except GenerationError as error:
        _require(values.ndim == 2, "must accept one value per history", repr(str(error)))
        return
    again = np.asarray(choose(values, weights, k, np.random.default_rng(seed)))
    _require(np.issubdtype(chosen.dtype, np.integer), "must choose indices, integers", chosen.dtype)
    _require(chosen.ndim == 1, "must choose a vector of indices", f"shape {chosen.shape}")
    count = len(chosen)
    _require(count in (min(k, m), m), f"must choose min(k, m) = {min(k, m)} of m = {m}, or all", count)
    _require(np.all(np.diff(chosen) > 0), "must choose indices that rise and are distinct", chosen)
    _require(chosen[0] >= 0 and chosen[-1] < m, f"must choose indices in [0, {m})", chosen)
    _require(np.array_equal(chosen, again), "must choose the same with the same rng", f"{chosen}, {again}")
    for name, now, was in (("values", values, before[0]), ("weights", weights, before[1])):
        _require(np.array_equal(now, was), f"must leave its {name} as they were", now)


def _require(holds: object, rule: str, received: object) -> None:
    require(holds, f"generator: {rule}", received, "Generator in gs2/search/generation.py")
