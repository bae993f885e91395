"""Statistical certificates: what gains nothing is not kept, what gains is, and what cannot be said is not.

Their paired rollouts meet the same luck, and come near what gains are exactly.
"""

from __future__ import annotations

import numpy as np
import pytest

from cfr.tree import grow
from cfr.values import node_values
from games.support.configuration import ConfigError
from gs2.policies.tabulate import tabulate
from gs2.search.certificate import (
    decide,
    strategy_payoffs,
)
from gs2.search.continuation_policies import continuation_blueprints
from tests.cfr.trees import random_policy
from tests.games.random_games import RandomGame
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
MOST = 6.0
"""The largest loss of a sample."""


def keep_rate(draw, n: int, *, columns: int = 1) -> float:
    """Return how often gains of mean 0 in one column, and large ones in the others, are kept."""
    kept = 0
    for run in range(RUNS):
        rng = np.random.default_rng([run, n])
        gains = np.full((n, columns), 1.0)
        gains[:, columns - 1] = draw(rng, n)
        kept += decide(gains, MOST).kept
    return kept / RUNS


@NOTHING
@pytest.mark.parametrize("n", [20, 150])
@pytest.mark.some(3)
def test_what_gains_nothing_is_kept_no_oftener_than_allowed(draw, n: int) -> None:
    assert keep_rate(draw, n) <= LEVEL + SLACK


@NOTHING
@pytest.mark.some(2)
def test_nor_with_several_columns(draw) -> None:
    assert keep_rate(draw, 60, columns=3) <= LEVEL + SLACK


def test_importance_weights_count() -> None:
    # Histories of two kinds: on the oftener drawn one the policy gains, on the heavier one it loses as much.
    kept = wrong = 0
    for run in range(RUNS):
        rng = np.random.default_rng(run)
        kind = rng.random(150) < 0.2
        gains = rng.normal(np.where(kind, -1.0, 1.0), 0.5)[:, None]
        gains = np.clip(gains, -6, 6)
        kept += decide(gains, MOST, importance=np.where(kind, 4.0, 1.0)).kept
        wrong += decide(gains, MOST).kept
    assert kept / RUNS <= LEVEL + SLACK
    assert wrong / RUNS > 0.9
    # Their scale does not count.
    some = np.abs(np.random.default_rng(0).normal(size=150))
    one = decide(gains, MOST, importance=some)
    two = decide(gains, MOST, importance=1e-3 * some)
    np.testing.assert_allclose(one.lower, two.lower, atol=1e-9)


def test_a_real_gain_is_proved_with_enough_samples() -> None:
    rates = []
    for n in (30, 300, 1000):
        draws = (np.random.default_rng([run, n]).normal(0.3, 1.0, (n, 2)) for run in range(40))
        kept = [decide(np.clip(gains, -6, 6), MOST).kept for gains in draws]
        rates.append(np.mean(kept))
    assert rates[0] <= rates[1] <= rates[2] == 1.0
    assert rates[1] > 0.7


@NOTHING
def test_bounds_lie_below_the_mean_and_rise_with_the_samples(draw) -> None:
    gains = np.stack([draw(np.random.default_rng(k), 2000) for k in range(4)], axis=1)
    few, many = decide(gains[:100], MOST).lower, decide(gains, MOST).lower
    assert np.all(few <= gains[:100].mean(axis=0) + 1e-9)
    assert np.all(many <= gains.mean(axis=0) + 1e-9)
    assert many.mean() > few.mean()
    assert np.all(many <= 0.25)
    surer = decide(gains, MOST, 0.999).lower
    assert np.all(surer <= many + 1e-9)


def test_every_column_must_pass() -> None:
    rng = np.random.default_rng(1)
    good = np.clip(rng.normal(1.0, 0.5, 400), -6, 6)
    poor = np.clip(rng.normal(-0.3, 0.5, 400), -6, 6)
    both = np.stack([good, poor], axis=1)
    alone, found = decide(both[:, :1], MOST), decide(both, MOST)
    assert alone.kept and "the refined policy is kept" in alone.text()
    assert not found.kept and "is dropped" in found.text() and "continuation 1" in found.text()


def test_nothing_is_said_of_no_samples() -> None:
    nothing = decide(np.zeros((0, 2)), MOST)
    weightless = decide(np.ones((5, 1)), MOST, importance=np.zeros(5))
    assert not nothing.kept and not weightless.kept and nothing.samples == 0
    assert np.array_equal(nothing.lower, [-6, -6])


def test_what_makes_no_sense_is_refused() -> None:
    none = np.zeros((3, 1))
    for says, ask in (
        ("no gain may be below", lambda: decide(none - 7.0, MOST)),
        ("importance", lambda: decide(none, MOST, importance=np.full(3, -1.0))),
        ("gains must be", lambda: decide(np.zeros((3, 2, 1)), MOST)),
    ):
        with pytest.raises(ConfigError, match=says):
            ask()


SEEDS = pytest.mark.parametrize("seed", range(3))
AGAINST = "blueprint+uniform+last"


def prepared(seed: int, game=None):
    """Return a game, its tree, a random strategy, and that as a blueprint."""
    game = RandomGame(seed, public=bool(seed % 2)) if game is None else game
    tree = grow(game)
    policy = random_policy(tree, seed)
    return game, tree, policy, tabulate(game, tree, policy)


def an_infoset(tree, seed: int) -> tuple[int, int]:
    """Return an infoset with choices, and its player."""
    wide = np.flatnonzero(np.diff(tree.infoset_offset) > 1)
    infoset = int(np.random.default_rng(seed).choice(wide))
    return infoset, int(tree.infoset_player[infoset])


@SEEDS
def test_a_strategy_against_itself_gains_nothing_in_any_game(seed: int) -> None:
    game, tree, policy, base = prepared(seed)
    infoset, player = an_infoset(tree, seed)
    states = tree.states[np.repeat(np.flatnonzero(tree.infoset == infoset), 5)]
    twice = base, tabulate(game, tree, policy)
    against = continuation_blueprints(base, AGAINST)
    found = strategy_payoffs(game, states, player, twice, against, np.random.default_rng(seed))
    assert found.shape == (len(states), 2, 3)
    assert np.array_equal(found[:, 0], found[:, 1])


@SEEDS
def test_gains_of_a_strategy_come_near_what_they_are_exactly(seed: int) -> None:
    game, tree, policy, base = prepared(seed)
    infoset, player = an_infoset(tree, seed)
    other = np.where(tree.slot_player == player, random_policy(tree, seed + 100), policy)
    node = int(np.flatnonzero(tree.infoset == infoset)[0])
    states = np.repeat(tree.states[node : node + 1], 3000, axis=0)
    both = tabulate(game, tree, other), base
    found = strategy_payoffs(game, states, player, both, (base,), np.random.default_rng(seed))
    exact = node_values(tree, other)[node, player] - node_values(tree, policy)[node, player]
    low, high = game.payoff_range
    gain = (found[:, 0] - found[:, 1]).mean()
    assert gain == pytest.approx(exact, abs=4 * (high - low) / np.sqrt(3000))
