"""Intervals by the bootstrap: one way to draw them for deals, seeds and ladders alike (`scipy.stats`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 10_000
"""Resamples: the ends of a 95 % interval then repeat to about 2 % of its width."""
MOST_RESAMPLES = 20_000
"""Resamples at one look at most: enough for the tails of 25 looks at 95 %."""
IN_TAILS = 40
"""Resamples that lie outside of an interval for its ends to be known."""
ENOUGH = 100
"""Observations below which nobody is said to be better: a few that fall alike look like certainty."""
MANY = 1000
"""Observations from which the bootstrap's interval is as wide as Student's, to a part in a thousand."""
AT_ONCE = 1 << 17
"""Numbers drawn at once; a resample of as many is fastest, and the memory stays at a few megabytes."""

Statistic = Callable[[NDArray[Any]], NDArray[np.float64]]
"""Answers m samples, [m, n], with a number for each, [m], or for each of q quantities, [q, m]."""


def bootstrap_interval(
    values: ArrayLike, rng: np.random.Generator, *, confidence: float = 0.95, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """Return the percentile-bootstrap interval of the mean of independent observations.

    values: [n], n >= 1; of one observation the interval is the observation.
    Raises ValueError for no observations or a confidence outside (0, 1).
    Source: Efron & Tibshirani 1993, section 13.3.
    """
    data = np.asarray(values, np.float64)
    low, high = bootstrap_intervals(data, _mean, rng, confidence=confidence, resamples=resamples)
    return float(low), float(high)


@dataclass(frozen=True)
class Estimate:
    """A mean and its interval. n: independent observations (deals, or seeds of whole games)."""

    mean: float
    low: float
    high: float
    n: int


def estimate(values: ArrayLike, rng: np.random.Generator) -> Estimate:
    """Return the mean of independent observations, [n], with its interval (`bootstrap_interval`)."""
    data = np.asarray(values, np.float64)
    low, high = bootstrap_interval(data, rng)
    return Estimate(float(data.mean()), low, high, len(data))


def verdict_at_a_look(
    values: ArrayLike, rng: np.random.Generator, *, looks: int, confidence: float = 0.95
) -> tuple[str, float, float]:
    """Return whether a mean is above zero beyond doubt, and its interval, at one of several looks.

    values: [n], net results so far. looks: how often one looks at most. The interval has confidence
    1 - (1 - confidence) / looks, so that all looks together are wrong in either direction with probability at
    most 1 - confidence (Bonferroni), as far as an interval keeps its confidence.
    It is the bootstrap's, below `MANY` observations no narrower than Student's. Where `MOST_RESAMPLES` cannot
    hold the tails of so many looks it is Student's. The verdict is "better", "worse" or "undecided"; below
    `ENOUGH` observations always "undecided".
    """
    data = np.asarray(values, np.float64)
    each = 1 - (1 - confidence) / looks
    resamples = max(RESAMPLES, math.ceil(IN_TAILS * looks / (1 - confidence)))
    ends = []
    if resamples <= MOST_RESAMPLES:
        ends.append(bootstrap_interval(data, rng, confidence=each, resamples=resamples))
    if len(data) < MANY or not ends:
        ends.append(_student_interval(data, each))
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    if len(data) < ENOUGH:
        return "undecided", low, high
    return "better" if low > 0 else "worse" if high < 0 else "undecided", low, high


def _student_interval(data: NDArray[np.float64], confidence: float) -> tuple[float, float]:
    """Return Student's interval of the mean of [n] observations; of one it has no ends."""
    n = len(data)
    if n < 2:
        return -math.inf, math.inf
    from scipy.special import stdtrit

    reach = float(stdtrit(n - 1, (1 + confidence) / 2)) * float(data.std(ddof=1)) / math.sqrt(n)
    return float(data.mean()) - reach, float(data.mean()) + reach


def _mean(samples: NDArray[Any]) -> NDArray[np.float64]:
    return cast(NDArray[np.float64], samples.mean(axis=1))


def bootstrap_intervals(
    values: NDArray[Any],
    statistic: Statistic,
    rng: np.random.Generator,
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the low and the high ends of percentile-bootstrap intervals of a statistic, an array each.

    values: [n], independent observations, n >= 1. The ends have the shape of the statistic's answer to one
    sample: [] or [q]. The same `rng` draws the same resamples.
    Raises ValueError for no observations or a confidence outside (0, 1).
    """
    n = len(values)
    if n == 0:
        raise ValueError("bootstrap_interval: there must be at least one observation; got none")
    if not 0 < confidence < 1:
        raise ValueError(f"bootstrap_interval: confidence must lie in (0, 1); got {confidence}")
    if n == 1:  # every resample is the same
        only = np.asarray(statistic(values[None]), np.float64)[..., 0]
        return only, only
    from scipy.stats import bootstrap

    found = bootstrap(
        (values,),
        lambda samples, axis: statistic(np.moveaxis(samples, axis, -1)),
        n_resamples=resamples,
        batch=max(1, AT_ONCE // n),
        vectorized=True,
        confidence_level=confidence,
        method="percentile",
        rng=rng,
    ).confidence_interval
    return np.asarray(found.low, np.float64), np.asarray(found.high, np.float64)
