"""A step from a few weighted histories, on random games: unbiased, careful, and exact where all are kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings

from cfr.best_response import exploitability
from cfr.values import node_values, reach
from games.game import payoff_span
from gs2.policies.policy_spec import policy_from_spec
from gs2.search.config.presets import preset
from gs2.search.config.stages import WEIGHTED_GENERATORS
from gs2.search.context import Search, Strategy
from gs2.search.gadget.path import LIVE
from gs2.search.histories.enumerated import action_values, consider_histories
from gs2.search.mirror_descent import (
    LEAST_PROBABILITY,
    PARTS,
    SLIP,
    TIED,
    KeptValues,
    keep_few,
    mirror_descent_step,
    step_from,
    step_size,
)
from gs2.search.pipeline import refine_infoset
from gs2.search.refine.whole import refine_both
from tests.gs2.search.setting import LEDUC, context, random_policy, rng, searched
from tests.gs2.search.test_random_games import blueprint, prepared, random_searches
from tests.patience import amount

ALL = 10_000
"""More histories than any infoset here has."""
DRAWS = 300


@settings(max_examples=amount(20, 5), deadline=None)
@random_searches
def test_a_step_from_all_histories_is_the_exact_one_whatever_the_caution(seed, public, kind):
    game, form = prepared(seed, public)
    strategy = Strategy(game.tree, blueprint(game, form, kind, seed))
    for infoset in rng(seed).choice(game.tree.n_infosets, 2).tolist():
        exact = refine_infoset(game, strategy, infoset, preset("gs2-s", generator="all"), rng(seed)).probs
        for name in WEIGHTED_GENERATORS:
            config = preset("gs2-s", generator=name, k=ALL, caution=1e6)
            found = refine_infoset(game, strategy, infoset, config, rng(seed))
            assert found.probs == pytest.approx(exact, abs=1e-9)
            few = refine_infoset(game, strategy, infoset, config.replace(k=1), rng(seed))
            assert len(few.kept.rows) == 1 and few.probs.sum() == pytest.approx(1.0)


def plainly(**changes):
    """Return a step from all histories, by default the plain one."""
    return preset("gs2-s", **{"generator": "all", "extragradient": False, "robust": False, **changes})


def stepped(game, strategy):
    """Return the strategy of both after the plain step at each infoset."""
    policy = strategy.probs.copy()
    for infoset in range(game.tree.n_infosets):
        policy[game.tree.slots(infoset)] = refine_infoset(game, strategy, infoset, plainly(), rng(0)).probs
    return policy


def share(weight):
    """Return weights that sum to 1, even ones where nobody comes."""
    return weight / weight.sum() if weight.sum() > LIVE else np.full(len(weight), 1 / len(weight))


@settings(max_examples=amount(20, 5), deadline=None)
@random_searches
def test_an_extragradient_step_is_taken_against_the_opponents_own_plain_step(seed, public, kind):
    game, form = prepared(seed, public)
    tree, probs = game.tree, blueprint(game, form, kind, seed)
    strategy, careful = Strategy(tree, probs), plainly(extragradient=True)
    theirs = stepped(game, strategy)
    for infoset in rng(seed).choice(tree.n_infosets, 2).tolist():
        player = int(tree.infoset_player[infoset])
        met = np.where(tree.slot_player == player, probs, theirs)
        nodes = np.flatnonzero(tree.infoset == infoset)
        weight = share(reach(tree, probs).without(player)[nodes])
        children = tree.first_child[nodes][:, None] + np.arange(tree.n_children[nodes[0]])
        values, squares = (
            node_values(tree, met, payoffs)[:, player] for payoffs in (tree.returns, tree.returns**2)
        )
        seen = KeptValues(values[children], squares[nodes], weight, np.zeros(len(nodes)))
        expected = step_from(seen, probs[tree.slots(infoset)], careful.solve, payoff_span(game.game))
        found = refine_infoset(game, strategy, infoset, careful, rng(seed)).probs
        assert found == pytest.approx(expected, abs=1e-9)


@settings(max_examples=amount(15, 5), deadline=None)
@random_searches
def test_a_robust_step_is_the_best_against_the_worst_of_three_answers(seed, public, kind):
    game, form = prepared(seed, public)
    tree, probs = game.tree, blueprint(game, form, kind, seed)
    strategy, span = Strategy(tree, probs), payoff_span(game.game)
    robust = preset("gs2-s", generator="all")
    first, best = stepped(game, strategy), probs.copy()
    for infoset in range(tree.n_infosets):
        value = action_values(game, strategy, infoset)
        most = value >= value.max() - TIED * span
        best[tree.slots(infoset)] = most / most.sum()
    for infoset in rng(seed).choice(tree.n_infosets, 2).tolist():
        player = int(tree.infoset_player[infoset])
        old = probs[tree.slots(infoset)]
        nodes = np.flatnonzero(tree.infoset == infoset)
        children = tree.first_child[nodes][:, None] + np.arange(tree.n_children[nodes[0]])
        known = reach(tree, probs).without(player)[nodes]
        plays = [np.where(tree.slot_player == player, probs, theirs) for theirs in (first, best)]
        plays.append(np.where(tree.slot_player == player, probs, (probs + best) / 2))
        weights = [known, known, (1 - SLIP) * reach(tree, plays[2]).without(player)[nodes] + SLIP * known]
        shares = [share(one) for one in weights]
        met = [node_values(tree, play)[:, player][children] for play in plays]
        squares = node_values(tree, plays[0], tree.returns**2)[nodes, player]
        seen = KeptValues(met[0], squares, shares[0], np.zeros(len(nodes)))
        gains = np.array([one @ values for one, values in zip(shares, met, strict=True)])
        gains -= (gains @ old)[:, None]
        step = step_size(seen, old, robust.solve, span)

        def worth(policy, gains=gains, step=step, old=old):
            """Return the least gain of a policy, less what its distance costs."""
            start = np.maximum(old, LEAST_PROBABILITY)
            return (gains @ policy).min() - policy @ np.log(np.maximum(policy, 1e-300) / start) / step

        found = refine_infoset(game, strategy, infoset, robust, rng(seed)).probs
        # No step against a mixture of the answers does better by more than the grid is coarse.
        mixed = rng(seed).dirichlet(np.ones(3) / 2, 200) @ gains
        others = [mirror_descent_step(old, one, step=step) for one in mixed]
        assert worth(found) >= max(worth(one) for one in others) - np.abs(gains).max() / PARTS
        upper = min(np.log(np.maximum(old, LEAST_PROBABILITY) @ np.exp(step * one)) / step for one in mixed)
        assert worth(found) <= upper + 1e-9


def test_answers_are_the_same_for_all_searches_of_a_strategy_and_keep_as_few_histories():
    config = preset("gs2-s", k=1)
    strategy = Strategy(context(LEDUC).tree, random_policy(LEDUC, rng(6)))
    first, again = (searched(LEDUC, strategy, 1, config, 3) for _ in range(2))
    fresh = searched(LEDUC, strategy.raw, 1, config, 3)
    assert np.array_equal(first.probs, again.probs) and np.array_equal(first.probs, fresh.probs)
    assert not np.allclose(first.probs, searched(LEDUC, strategy, 1, config.replace(k=ALL), 3).probs)


@pytest.mark.parametrize("name", WEIGHTED_GENERATORS)
def test_action_values_of_a_few_histories_are_right_in_the_mean(name):
    game = context(LEDUC)
    strategy = Strategy(game.tree, random_policy(LEDUC, rng(4)))
    config = preset("gs2-s", generator=name, k=2, extragradient=False, robust=False)
    some = rng(1).choice(game.tree.n_infosets, amount(6, 3), replace=False)
    for infoset in some.tolist():
        search = Search(game, strategy, config)
        considered = consider_histories(search, infoset)
        draw = rng(infoset)
        drawn = [keep_few(search, considered, draw)[1] for _ in range(DRAWS)]
        values = np.array([one.mean for one in drawn])
        error = values.std(axis=0) / np.sqrt(DRAWS)
        assert np.all(
            np.abs(values.mean(axis=0) - action_values(game, strategy, infoset)) <= 5 * error + 1e-9
        )
        assert all(one.carried.sum() == pytest.approx(1.0) for one in drawn)
        policy = strategy.probs[game.tree.slots(infoset)]
        assert min(one.noise_share(policy, one.deviation(policy)) for one in drawn) > 0


def test_caution_moves_the_strategy_less_and_less():
    policy, moved = random_policy(LEDUC, rng(0)), []
    for caution in (0.0, 1.0, 100.0, 1e9):
        found = searched(LEDUC, policy, 400, preset("gs2-s", k=2, caution=caution), 2)
        moved.append(np.abs(found.probs - policy[found.slots]).sum())
    assert moved == sorted(moved, reverse=True) and moved[0] > 0.01 > moved[-1]


def test_histories_that_agree_by_luck_are_doubted_as_well():
    same = KeptValues(np.array([[1.0, 0.0]] * 2), np.ones(2), np.full(2, 0.5), np.full(2, 0.5))
    policy = np.array([0.5, 0.5])
    assert same.noise_share(policy, 1.0) > 0.0
    kept = KeptValues(same.values, same.squares, same.carried, np.zeros(2))
    assert kept.noise_share(policy, 1.0) == 0.0


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 2])
def test_the_preset_repairs_what_one_answer_makes_of_a_network(seed):
    game = context("liars_dice(sides=5)")
    old = policy_from_spec("network:50000", game.game, game.tree, seed=seed)
    before = exploitability(game.tree, old)
    one, three = (
        exploitability(game.tree, refine_both(game, old, preset("gs2-s", robust=robust)).policy)
        for robust in (False, True)
    )
    assert three < 0.97 * before and three < one
