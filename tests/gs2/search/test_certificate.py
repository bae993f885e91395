"""Statistical certificates: what gains nothing is not kept, what gains is, and what cannot be said is not."""

from __future__ import annotations

import numpy as np
import pytest

from games.support.configuration import ConfigError
from gs2.search.certificate import GainRule, decide, mixture_gains
from tests.patience import amount

RUNS = amount(200, 80)
"""Data sets; a rate of 5 % is met within 3.3 standard deviations, of 1.5 % or 2.4 %."""
LEVEL = 0.05
SLACK = 3.3 * np.sqrt(LEVEL * (1 - LEVEL) / RUNS)


def normal(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return gains of mean 0 that are about normal."""
    return np.clip(rng.normal(0.0, 1.0, n), -6, 6)


def rare_loss(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return gains of mean 0 that are a little nearly always and a large loss once in a hundred times."""
    return np.where(rng.random(n) < 0.01, -4.0, 4.0 / 99)


def sparse(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return gains of mean 0 that are 0 nine times in ten."""
    return rng.choice([0.0, 3.0, -3.0], n, p=[0.9, 0.05, 0.05])


def lottery(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return gains of mean 0 that are a small loss nearly always."""
    return np.where(rng.random(n) < 0.02, 4.9, -0.1)


NOTHING = pytest.mark.parametrize("draw", [normal, rare_loss, sparse, lottery])
RULE = GainRule(6.0)


def keep_rate(draw, n: int, rule: GainRule, *, weights: int = 1, columns: int = 1) -> float:
    """Return how often gains of mean 0 in one column, and large ones in the others, are kept."""
    tried = np.linspace(1, 0.25, weights)
    kept = 0
    for run in range(RUNS):
        rng = np.random.default_rng([run, n])
        gains = np.full((n, columns), 1.0)
        gains[:, columns - 1] = draw(rng, n)
        kept += decide(tried[:, None] * gains[:, None], tried, rule).weight > 0
    return kept / RUNS


@NOTHING
@pytest.mark.parametrize("n", [20, 150])
@pytest.mark.some(3)
def test_what_gains_nothing_is_kept_no_oftener_than_allowed(draw, n: int) -> None:
    assert keep_rate(draw, n, RULE) <= LEVEL + SLACK


@NOTHING
@pytest.mark.some(2)
def test_nor_with_several_columns_and_mixing_weights(draw) -> None:
    assert keep_rate(draw, 60, RULE, weights=4, columns=3) <= LEVEL + SLACK


def test_a_t_interval_keeps_what_loses_rarely_and_betting_does_not() -> None:
    assert keep_rate(rare_loss, 50, GainRule(6.0, method="t")) > 0.4
    assert keep_rate(rare_loss, 50, RULE) <= LEVEL
    assert keep_rate(normal, 50, GainRule(6.0, method="t")) <= LEVEL + SLACK


@pytest.mark.parametrize("method", ["betting", "t"])
def test_importance_weights_count(method: str) -> None:
    # Histories of two kinds: on the oftener drawn one the policy gains, on the heavier one it loses as much.
    rule = GainRule(6.0, method=method)
    kept = wrong = 0
    for run in range(RUNS):
        rng = np.random.default_rng(run)
        kind = rng.random(150) < 0.2
        gains = rng.normal(np.where(kind, -1.0, 1.0), 0.5)[:, None, None]
        gains = np.clip(gains, -6, 6)
        kept += decide(gains, np.ones(1), rule, importance=np.where(kind, 4.0, 1.0)).weight > 0
        wrong += decide(gains, np.ones(1), rule).weight > 0
    assert kept / RUNS <= LEVEL + SLACK
    assert wrong / RUNS > 0.9
    # Their scale does not count.
    some = np.abs(np.random.default_rng(0).normal(size=150))
    one = decide(gains, np.ones(1), rule, importance=some)
    two = decide(gains, np.ones(1), rule, importance=1e-3 * some)
    np.testing.assert_allclose(one.lower, two.lower, atol=1e-9)


@pytest.mark.parametrize("method", ["betting", "t"])
def test_a_real_gain_is_proved_with_enough_samples(method: str) -> None:
    rule, rates = GainRule(6.0, method=method), []
    for n in (30, 300, 1000):
        draws = (np.random.default_rng([run, n]).normal(0.3, 1.0, (n, 1, 2)) for run in range(40))
        kept = [decide(np.clip(gains, -6, 6), np.ones(1), rule).decision == "kept" for gains in draws]
        rates.append(np.mean(kept))
    assert rates[0] <= rates[1] <= rates[2] == 1.0
    assert rates[1] > 0.7


def lower_bounds(gains: np.ndarray, rule: GainRule) -> np.ndarray:
    """Return the lower bound of each column's mean."""
    return decide(gains[:, None], np.ones(1), rule).lower[0]


@NOTHING
@pytest.mark.parametrize("method", ["betting", "t"])
def test_bounds_lie_below_the_mean_and_rise_with_the_samples(draw, method: str) -> None:
    rule = GainRule(6.0, method=method)
    gains = np.stack([draw(np.random.default_rng(k), 2000) for k in range(4)], axis=1)
    few, many = lower_bounds(gains[:100], rule), lower_bounds(gains, rule)
    assert np.all(few <= gains[:100].mean(axis=0) + 1e-9)
    assert np.all(many <= gains.mean(axis=0) + 1e-9)
    assert many.mean() > few.mean()
    if method == "betting":
        assert np.all(many <= 0.25)
    surer = lower_bounds(gains, GainRule(6.0, 0.999, method=method))
    assert np.all(surer <= many + 1e-9)


def test_every_column_must_pass_and_continuations_have_a_tolerance() -> None:
    rng = np.random.default_rng(1)
    good = np.clip(rng.normal(1.0, 0.5, 400), -6, 6)
    poor = np.clip(rng.normal(-0.3, 0.5, 400), -6, 6)
    both = np.stack([good, poor], axis=1)[:, None]
    one = np.ones(1)
    assert decide(both[:, :, :1], one, RULE).decision == "kept"
    assert decide(both, one, RULE).decision == "dropped"
    assert decide(both, one, GainRule(6.0, tolerance=0.5)).decision == "kept"
    # The tolerance is for continuations, not for the blueprint.
    assert decide(both[:, :, ::-1], one, GainRule(6.0, tolerance=0.5)).decision == "dropped"
    # A smaller share of a loss may be let pass where the whole is not.
    weights = np.array([1.0, 0.5, 0.25])
    shared = weights[:, None] * both
    found = decide(shared, weights, GainRule(6.0, tolerance=0.25))
    assert found.decision == "mixed"
    assert found.weight == 0.5
    assert "mixed in with weight 0.5" in found.text()
    assert "continuation 1" in decide(both, one, RULE).text()


def test_a_mixture_may_be_safe_where_neither_policy_is() -> None:
    # The blueprint loses to the first continuation and the refined policy to the second.
    luck = np.random.default_rng(2).normal(0, 0.3, (1200, 1))
    old, new = (np.clip(np.array([sign, -sign]) + luck, -3, 3) for sign in (-1.0, 1.0))
    weights = np.array([1.0, 0.5, 0.25])
    found = decide(mixture_gains(old, new, weights, pilot=200), weights, GainRule(6.0))
    assert found.weight == 0.5
    assert found.samples == 1000
    assert not found.passed[0]
    plain = mixture_gains(old, new, weights)
    np.testing.assert_allclose(plain, weights[:, None] * (new - old)[:, None])
    assert decide(plain, weights, GainRule(6.0)).weight == 0


def test_nothing_is_said_of_no_samples() -> None:
    nothing = decide(np.zeros((0, 1, 2)), np.ones(1), RULE)
    weightless = decide(np.ones((5, 1, 1)), np.ones(1), RULE, importance=np.zeros(5))
    assert nothing.decision == weightless.decision == "dropped" and nothing.samples == 0
    assert np.array_equal(lower_bounds(np.zeros((0, 2)), RULE), [-6, -6])


def test_what_makes_no_sense_is_refused() -> None:
    one, none = np.ones(1), np.zeros((3, 1, 1))
    for says, ask in (
        ("confidence", lambda: GainRule(6.0, 1.0)),
        ("most_lost", lambda: GainRule(0.0)),
        ("method", lambda: GainRule(6.0, method="hope")),
        ("no gain may be below", lambda: decide(none - 7.0, one, RULE)),
        ("importance", lambda: decide(none, one, RULE, importance=np.full(3, -1.0))),
        ("gains must be", lambda: decide(np.zeros((3, 2, 1)), one, RULE)),
        ("more samples than the pilot", lambda: mixture_gains(none[:, 0], none[:, 0], one, pilot=3)),
    ):
        with pytest.raises(ConfigError, match=says):
            ask()
