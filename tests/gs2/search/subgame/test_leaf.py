"""Leaf evaluators, depth limits and continuations."""

from __future__ import annotations

import numpy as np
import pytest

from cfr.best_response import best_response_values
from cfr.lp import solve_lp
from games.support.configuration import ConfigError
from games.support.contract import ContractError
from gs2.policies.tabulate import tabulate
from gs2.search.config.presets import preset
from gs2.search.context import SearchOptions, Strategy
from gs2.search.continuation_policies import usual_continuations
from gs2.search.explain import solve_infoset
from gs2.search.pipeline import refine_infoset
from gs2.search.refine.at import refine_at
from gs2.search.refine.policy_only import PlayedStrategy
from gs2.search.refine.whole import RefineOptions, refine_policy
from gs2.search.subgame.continuations import exact_continuation_payoffs
from gs2.search.subgame.leaf import check_leaf_value, rollout_leaf, value_leaf
from tests.gs2.search.setting import (
    GAMES,
    GOOFSPIEL,
    KUHN,
    LEDUC,
    LIARS_DICE,
    blueprint,
    context,
    form,
    random_policy,
)

NEAR_ZERO = 2e-3


@pytest.mark.parametrize("name", GAMES)
def test_our_evaluators_keep_the_contract(name):
    prepared = context(name)
    made = tabulate(prepared.game, prepared.tree, blueprint(name))
    rng = np.random.default_rng(1)
    check_leaf_value(value_leaf(made), prepared.game, rng)
    check_leaf_value(rollout_leaf(made, rng, rollouts=3), prepared.game, rng)


BROKEN = [
    (lambda game, states: np.full((len(states), 2), 100.0), "payoff range"),
    (lambda game, states: np.tile([100.0, -100.0], (len(states), 1)), "payoff range"),
    (lambda game, states: np.ones((len(states), 2)), "sum to zero"),
    (lambda game, states: np.zeros(len(states)), r"\[n, players\]"),
    (lambda game, states: np.full((len(states), 2), np.nan), "finite"),
    (lambda game, states: np.zeros((len(states), 2), np.int64), "finite floats"),
    (lambda game, states: None, r"\[n, players\]"),
]


@pytest.mark.parametrize("broken, rule", BROKEN)
def test_a_search_and_the_contract_check_refuse_a_leaf_that_breaks_the_contract(broken, rule):
    prepared, rng = context(LEDUC), np.random.default_rng(0)
    with pytest.raises(ContractError, match=rule):
        check_leaf_value(broken, context(KUHN).game, rng)
    for source in ("enumerated", "sampled"):
        config = preset("maxmargin", depth=1, leaf="value", iterations=5, source=source)
        with pytest.raises(ContractError, match=rule):
            solve_infoset(prepared, blueprint(LEDUC), 0, config, rng, SearchOptions(leaf=broken))


@pytest.mark.parametrize("name", [KUHN, LEDUC, LIARS_DICE, GOOFSPIEL])
@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.some(3)
def test_with_an_oracle_below_the_depth_limit_the_strategy_above_it_becomes_unexploitable(name, player):
    # Below the first decision stands an equilibrium, at it a random strategy: search there alone, one
    # decision deep, where the searching player plays on by the equilibrium and the opponent as it likes.
    prepared, exact = context(name), solve_lp(form(name))
    mine = np.flatnonzero(prepared.tree.infoset_player == player)
    first = mine[prepared.parent_slot(player)[mine] < 0]
    rough = random_policy(name, np.random.default_rng(3))
    policy = np.where(np.isin(prepared.tree.slot_infoset, first), rough, exact.policy)
    value = exact.value if player == 0 else -exact.value

    def loss(now: np.ndarray) -> float:
        return best_response_values(form(name), now)[1 - player] + value

    config = preset("gs2+path", depth=1, leaf="play-on", iterations=2000)
    low, high = prepared.game.payoff_range
    assert loss(policy) > 10 * NEAR_ZERO * (high - low) / 2
    for _ in range(2 if player else 1):
        policy = refine_policy(prepared, policy, player, config, RefineOptions(infosets=first)).policy
    assert loss(policy) < NEAR_ZERO * (high - low)


def test_a_depth_limit_makes_the_subgame_smaller_and_says_so():
    prepared = context(LEDUC)
    policy = blueprint(LEDUC)
    rng = np.random.default_rng(0)
    deep = solve_infoset(prepared, policy, 0, preset("maxmargin", iterations=50), rng)
    for leaf in ("exact", "value", "rollout", "continuations", "play-on"):
        config = preset("maxmargin", depth=1, leaf=leaf, iterations=50)
        found = solve_infoset(prepared, policy, 0, config, rng)
        assert found.decisions < deep.decisions
        assert leaf == "play-on" or any("depth 1" in note for note in found.cut_off)


@pytest.mark.parametrize("method", ["maxmargin", "gs2-d", "mirror-descent"])
def test_a_leaf_of_ones_own_is_refused_where_nothing_would_ask_it(method):
    prepared, rng = context(LEDUC), np.random.default_rng(0)
    options = SearchOptions(leaf=lambda game, states: np.zeros((len(states), 2)))
    strategy = Strategy(prepared.tree, blueprint(LEDUC))
    trail = prepared.trail_to(0)
    played = PlayedStrategy(prepared, strategy)
    listed, drawn = (preset(method, source=source) for source in ("enumerated", "sampled"))
    for search in (
        lambda: solve_infoset(prepared, strategy, 0, listed, rng, options),
        lambda: solve_infoset(prepared, strategy, 0, drawn, rng, options),
        lambda: refine_infoset(prepared, strategy, 0, listed, rng, options),
        lambda: refine_at(prepared.game, played, trail, drawn, rng, options),
    ):
        with pytest.raises(ConfigError, match="this search has none"):
            search()


@pytest.mark.parametrize("source, leaf", [("enumerated", "value"), ("sampled", "rollout")])
def test_a_leaf_of_ones_own_takes_the_place_of_any_other(source, leaf):
    prepared, asked = context(LEDUC), []

    def mine(game, states):
        asked.append(len(states))
        return np.zeros((len(states), 2))

    config = preset("gs2-d", depth=1, leaf=leaf, source=source)
    policy, options = blueprint(LEDUC), SearchOptions(leaf=mine)
    found = solve_infoset(prepared, policy, 0, config, np.random.default_rng(0), options)
    assert asked and found.kept_refined


@pytest.mark.parametrize("name", GAMES)
def test_continuations_start_with_the_blueprint_and_its_best_response(name):
    prepared = context(name)
    policy = random_policy(name, np.random.default_rng(6))
    sets = usual_continuations(1), usual_continuations(4)
    values = exact_continuation_payoffs(prepared.game, prepared.tree, policy, sets)[0]
    assert values.shape == (4, prepared.tree.n_nodes, 2)
    assert np.allclose(values[0], Strategy(prepared.tree, policy).values)
    best = best_response_values(form(name), policy)[1]
    assert values[1, 0, 1] == pytest.approx(best)
    assert np.all(values[:, 0, 1] <= best + 1e-9)
