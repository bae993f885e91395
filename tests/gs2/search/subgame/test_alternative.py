"""Alternative values and best responses on trees and subgames against the whole game."""

from __future__ import annotations

import numpy as np
import pytest

from cfr.best_response import best_response_values, counterfactual_values
from cfr.values import best_responses, group_values
from gs2.search.config.search import SearchConfig
from gs2.search.context import Search, Strategy
from gs2.search.gadget.path import opponent_path
from gs2.search.histories.enumerated import OpponentResponse, consider_histories
from gs2.search.subgame.continuations import best_response_policy
from tests.gs2.search.setting import GAMES, KUHN, LEDUC, context, form, random_policy

ROUNDING = 1e-10


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("seat", [0, 1])
def test_the_pure_response_earns_what_it_promises_everywhere_and_no_infoset_gets_more(name, seat):
    tree = context(name).tree
    policy = random_policy(name, np.random.default_rng(seat), sharpness=2)
    values, others, _ = best_responses(tree, policy, seat)
    live = others > 0
    earned = Strategy(tree, best_response_policy(tree, policy, seat)).values[:, seat]
    assert np.allclose(values[live], earned[live], atol=ROUNDING)
    assert values[0] == pytest.approx(best_response_values(form(name), policy)[seat], abs=ROUNDING)
    mine = np.flatnonzero(tree.player == seat)
    rooted = np.bincount(tree.infoset[mine], (others * values)[mine], tree.n_infosets)
    best = counterfactual_values(tree, policy, seat, best_response=True).infoset
    own = tree.infoset_player == seat
    assert np.allclose(rooted[own], best[own], atol=ROUNDING)


def test_group_values_are_weighted_means_and_plain_ones_where_nobody_comes():
    values = np.array([1.0, 3.0, 5.0, 7.0])
    means = group_values(values, np.array([1.0, 3.0, 0.0, 0.0]), np.array([0, 0, 1, 1], np.int32))
    assert means.tolist() == [2.5, 6.0]


@pytest.mark.parametrize("name", GAMES)
def test_values_from_the_subgame_are_those_from_the_whole_tree(name):
    prepared = context(name)
    rng = np.random.default_rng(3)
    strategy = Strategy(prepared.tree, random_policy(name, rng))
    for infoset in rng.choice(prepared.tree.n_infosets, 5, replace=False).tolist():
        config = SearchConfig.of(order=None)
        alone = consider_histories(Search(prepared, strategy, config), infoset)
        known = strategy.with_best_response(alone.opponent)
        shared = consider_histories(Search(prepared, known, config), infoset)
        assert np.allclose(alone.alternative, shared.alternative, atol=ROUNDING)
        rows = np.arange(len(alone.nodes))
        response = OpponentResponse(Search(prepared, strategy, config), alone, rows)
        values, _ = response.respond(np.zeros(0, np.int64), np.zeros(0))
        assert np.allclose(values, alone.alternative, atol=ROUNDING)


@pytest.mark.parametrize("name", [KUHN, LEDUC])
def test_the_opponents_path_folds_to_its_best_response_value_of_the_game(name):
    prepared, draw = context(name), np.random.default_rng(4)
    policy = random_policy(name, draw)
    strategy = Strategy(prepared.tree, policy)
    for infoset in draw.choice(prepared.tree.n_infosets, 6, replace=False).tolist():
        found = consider_histories(Search(prepared, strategy, SearchConfig.of(order=None)), infoset)
        arrivals = found.nodes, found.group, found.reach, found.alternative
        path = opponent_path(prepared, strategy, found.opponent, *arrivals)
        whole = best_response_values(form(name), policy)[found.opponent]
        assert path.root_value(found.alternative) == pytest.approx(whole, abs=ROUNDING)
        assert path.root_value(found.alternative + 1.0) >= whole - ROUNDING


@pytest.mark.parametrize("kind, exact", [("best-response", True), ("profile", False), ("value", False)])
def test_alternative_values_by_kind(kind, exact):
    prepared = context(LEDUC)
    strategy = Strategy(prepared.tree, random_policy(LEDUC, np.random.default_rng(5)))
    config = SearchConfig.of(order=None, alternative=kind)
    usual = config.replace(alternative="best-response")
    best = consider_histories(Search(prepared, strategy, usual), 0)
    found = consider_histories(Search(prepared, strategy, config), 0)
    assert np.all(found.alternative <= best.alternative + ROUNDING)
    assert np.allclose(found.alternative, best.alternative) == exact
