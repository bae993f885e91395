"""The one bootstrap: how often its intervals hold the truth, and what it is given and gives."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numpy.typing import NDArray

from games.support.bootstrap import (
    AT_ONCE,
    ENOUGH,
    MANY,
    bootstrap_interval,
    bootstrap_intervals,
    verdict_at_a_look,
)
from tests.patience import amount


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    inside = []
    for draws in rng(3).normal(0.3, 1.0, (300, 100)):
        low, high = bootstrap_interval(draws, rng(4), resamples=500)
        inside.append(low <= 0.3 <= high)
    assert 0.91 <= np.mean(inside) <= 0.98


def test_the_same_seed_draws_the_same_and_more_confidence_is_wider() -> None:
    values = rng(5).normal(size=50)
    low, high = bootstrap_interval(values, rng(6))
    assert bootstrap_interval(values, rng(6)) == (low, high)
    wide = bootstrap_interval(values, rng(6), confidence=0.999)
    assert wide[0] < low < values.mean() < high < wide[1]
    assert bootstrap_interval([2.5], rng()) == (2.5, 2.5)


def test_several_quantities_are_drawn_together() -> None:
    values = rng(7).normal(size=200)

    def ends(samples: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.stack([samples.mean(1), -samples.mean(1), samples.max(1)])

    low, high = bootstrap_intervals(values, ends, rng(8), resamples=400)
    assert low.shape == high.shape == (3,)
    assert low[1] == pytest.approx(-high[0]) and high[1] == pytest.approx(-low[0])
    assert high[2] == values.max()


def decided(batch: int, most: int, runs: int, shift: float = 0.0) -> int:
    """Return in how many of some gates between agents that are `shift` apart somebody is called better."""
    found = 0
    looks = -(-most // batch)
    for seed in range(runs):
        draws = rng(seed).choice([-3.0, -2.5, -1.0, 0.0, 1.0, 2.5, 3.0], most) + shift
        spoken = (verdict_at_a_look(draws[:n], rng(1), looks=looks)[0] for n in range(batch, most + 1, batch))
        found += any(verdict != "undecided" for verdict in spoken)
    return found


@pytest.mark.parametrize(
    ("batch", "most", "runs"), [(1, 40, 60), (100, 300, amount(30, 15)), (5, 300, 120)][: amount(3, 2)]
)
def test_however_often_one_looks_equals_are_seldom_told_apart(batch: int, most: int, runs: int) -> None:
    promised = 0.05 * runs
    assert decided(batch, most, runs) <= promised + 3 * promised**0.5
    assert decided(batch, most, 3, shift=1.5) == (3 if most >= ENOUGH else 0)


@pytest.mark.parametrize("n", [1, 2, ENOUGH - 1])
def test_no_verdict_is_spoken_on_a_few_observations(n: int) -> None:
    verdict, low, high = verdict_at_a_look(np.full(n, 3.0), rng(), looks=1)
    assert verdict == "undecided" and low <= 3 <= high
    assert verdict_at_a_look(np.full(ENOUGH, 3.0), rng(), looks=1)[0] == "better"


def test_the_interval_of_a_look_is_students_or_wider_until_both_are_the_same() -> None:
    from scipy import stats

    for n in (3, 30, 300):
        data = rng(n).normal(0.1, 1.0, n)
        student = stats.t.interval(1 - 0.05 / 8, n - 1, data.mean(), stats.sem(data))
        low, high = verdict_at_a_look(data, rng(), looks=8)[1:]
        assert low <= student[0] + 1e-12 and student[1] - 1e-12 <= high
    data = rng(9).normal(0.1, 1.0, MANY)
    alone = bootstrap_interval(data, rng(), confidence=1 - (1 - 0.95) / 8)
    assert verdict_at_a_look(data, rng(), looks=8)[1:] == alone


@pytest.mark.parametrize(("values", "confidence"), [([], 0.95), ([1.0, 2.0], 0.0), ([1.0, 2.0], 1.0)])
def test_what_has_no_interval_is_refused(values: list[float], confidence: float) -> None:
    with pytest.raises(ValueError, match=r"at least one observation|must lie in"):
        bootstrap_interval(values, rng(), confidence=confidence)


def test_many_observations_are_not_drawn_all_at_once() -> None:
    values = rng(9).normal(size=7000)
    bootstrap_interval(values[:2], rng(), resamples=10)  # imports
    tracemalloc.start()
    bootstrap_interval(values, rng(), resamples=1000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 8 * AT_ONCE < 8 * values.size * 1000
