"""Values on the tree and best responses, beside sums over single histories and published numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cfr.best_response import (
    best_response_value,
    best_response_values,
    counterfactual_values,
    expected_value,
    exploitability,
    nash_conv,
)
from cfr.lp import LP_METHODS, solve_lp
from cfr.policies.policy import tabular_policy, uniform_policy
from cfr.sequence_form import sequence_form
from cfr.solver import solve
from cfr.tree import FlatTree, grow
from cfr.tree.flat import ImperfectRecall, infoset_parent_slot
from cfr.tree_cfr import TreeSolver
from cfr.values import node_values, reach, root_values
from games import load_game
from tests.cfr.trees import SMALL, forgetful_tree, random_policy, random_tree, tree_of
from tests.reference.reach import reach_of_terminals

EFG = json.loads((Path(__file__).parent.parent / "data" / "efg.json").read_text())["games"]
EXACT = 1e-12
ORACLE = 1e-9
LARGEST = [name for name in EFG if name.startswith(("liars_dice_7", "goofspiel_10", "goofspiel_12"))]


def but_for(*dear: str) -> list[Any]:
    """Return the games, by their names in efg.json, as cases of a test; these ones run with --long alone."""
    return [pytest.param(name, marks=pytest.mark.long if name in dear else ()) for name in EFG]


@pytest.mark.parametrize("measure", [best_response_values, expected_value, exploitability, nash_conv])
def test_what_are_no_probabilities_is_not_measured(measure: Callable[..., object]) -> None:
    tree = tree_of("leduc")
    policy = random_policy(tree, 0)
    at = int(np.random.default_rng(0).integers(tree.n_slots))
    for form in (tree, sequence_form(tree)):
        measure(form, policy)
        for wrong in (2.0, -1.0, np.nan, np.inf):
            spoilt = policy.copy()
            spoilt[at] = wrong
            with pytest.raises(ValueError, match="must be at least 0 and sum to 1; infoset"):
                measure(form, spoilt)
        with pytest.raises(ValueError, match=r"got Policy; a cfr.Policy has them by policy.on\(tree\)"):
            measure(form, tabular_policy("leduc_poker", tree, policy))


@pytest.mark.parametrize("name", but_for(*LARGEST))
@pytest.mark.some(4)
def test_sizes_uniform_play_and_what_a_long_run_encloses_are_as_published(name: str) -> None:
    tree = tree_of(name)
    form = sequence_form(tree)
    policy = uniform_policy(tree)
    uniform = EFG[name]["uniform_exploitability"]
    assert nash_conv(form, policy) == pytest.approx(EFG[name]["uniform_nash_conv"], abs=ORACLE)
    assert exploitability(form, policy) == pytest.approx(uniform, abs=ORACLE)
    assert form.n_leaves == EFG[name]["terminals"]
    assert form.n_entries == EFG[name]["nonzero_leaves"]
    assert [plex.n_sequences for plex in form.sides] == EFG[name]["sequences"]
    assert [plex.n_infosets for plex in form.sides] == EFG[name]["infosets"]
    solution = solve(form, variant="cfr+", iterations=100)
    low, high = -solution.best_response[1], solution.best_response[0]
    if "value_player0" in EFG[name]:
        assert low - 1e-9 <= EFG[name]["value_player0"] <= high + 1e-9
    assert solution.exploitability == pytest.approx((high - low) / 2, abs=1e-12)
    assert solution.exploitability < uniform / 20
    tree_of.cache_clear()


@pytest.mark.parametrize("game", SMALL)
def test_expected_value_is_a_sum_over_histories(game: str) -> None:
    tree = tree_of(game)
    policy = random_policy(tree, 0, zeros=0.3)
    probs = reach_of_terminals(tree, policy)
    assert sum(probs.values()) == pytest.approx(1.0, abs=EXACT)
    value = sum(probs[z] * row[0] for z, row in zip(tree.terminal.tolist(), tree.returns, strict=True))
    assert expected_value(tree, policy) == pytest.approx(value, abs=EXACT)
    assert root_values(tree, policy) == pytest.approx([value, -value], abs=EXACT)
    total = reach(tree, policy).total[tree.terminal]
    np.testing.assert_allclose(total, [probs[z] for z in tree.terminal.tolist()], atol=EXACT)


def pure_response(tree: FlatTree, policy: np.ndarray, player: int) -> np.ndarray:
    """Return the policy with the player's slots replaced by the best actions, by counterfactual values."""
    slots = counterfactual_values(tree, policy, player, best_response=True).slot
    answer = policy.copy()
    for infoset in np.flatnonzero(tree.infoset_player == player):
        first, last = tree.infoset_offset[infoset : infoset + 2]
        answer[first:last] = np.arange(last - first) == np.argmax(slots[first:last])
    return answer


@pytest.mark.parametrize("seed", range(3))
def test_best_responses_on_the_form_and_on_the_tree_agree(seed: int) -> None:
    tree = random_tree(seed, levels=7)
    policy = random_policy(tree, seed, zeros=0.3)
    for player, value in enumerate(best_response_values(tree, policy)):
        assert best_response_value(tree, policy, player) == pytest.approx(value, abs=EXACT)
        answer = pure_response(tree, policy, player)
        assert root_values(tree, answer)[player] == pytest.approx(value, abs=EXACT)


def test_a_seat_of_a_team_responds_alone() -> None:
    tree = random_tree(3, teams=(0, 1, 1), levels=7)
    policy = random_policy(tree, 0)
    values = root_values(tree, policy)
    best = best_response_values(tree, policy)
    assert len(best) == 3
    for seat in range(3):
        assert best[seat] >= values[seat] - EXACT
        answer = pure_response(tree, policy, seat)
        assert root_values(tree, answer)[seat] == pytest.approx(best[seat], abs=EXACT)
    assert nash_conv(tree, policy) == pytest.approx(sum(best) - values.sum(), abs=EXACT)
    assert expected_value(tree, policy) == pytest.approx(values[0], abs=EXACT)


@pytest.mark.parametrize("game", SMALL)
def test_counterfactual_values_are_reach_times_node_values(game: str) -> None:
    tree = tree_of(game)
    policy = random_policy(tree, 5)
    values = node_values(tree, policy)
    for player in (0, 1):
        others = reach(tree, policy).without(player)
        answer = counterfactual_values(tree, policy, player)
        for infoset in np.flatnonzero(tree.infoset_player == player)[::7]:
            nodes = np.flatnonzero(tree.infoset == infoset)
            weighted = (others[nodes] * values[nodes, player]).sum()
            assert answer.infoset[infoset] == pytest.approx(weighted, abs=EXACT)
            assert answer.reach[infoset] == pytest.approx(others[nodes].sum(), abs=EXACT)
            slot = int(tree.infoset_offset[infoset])
            for a in range(int(tree.n_children[nodes[0]])):
                children = tree.first_child[nodes] + a
                weighted = (others[nodes] * values[children, player]).sum()
                assert answer.slot[slot + a] == pytest.approx(weighted, abs=EXACT)
        assert np.isnan(answer.infoset[tree.infoset_player != player]).all()


@pytest.mark.parametrize("game", SMALL)
def test_counterfactual_best_responses_are_best_from_every_infoset_on(game: str) -> None:
    tree = tree_of(game)
    policy = random_policy(tree, 6)
    for player in (0, 1):
        best = counterfactual_values(tree, policy, player, best_response=True)
        values, normal = best.infoset, best.normalised
        attained = counterfactual_values(tree, pure_response(tree, policy, player), player)
        mine = tree.infoset_player == player
        np.testing.assert_allclose(attained.infoset[mine], values[mine], atol=EXACT)
        np.testing.assert_allclose(normal[mine] * attained.reach[mine], values[mine], atol=EXACT)
        first = mine & (infoset_parent_slot(tree, player) < 0)
        assert values[first].sum() == pytest.approx(best_response_values(tree, policy)[player], abs=EXACT)


def test_infosets_out_of_reach_have_no_normalised_value() -> None:
    tree = tree_of("kuhn")
    policy = uniform_policy(tree)
    # Player 0 always passes, so player 1 never faces a bet.
    for infoset in np.flatnonzero(tree.infoset_player == 0):
        policy[tree.infoset_offset[infoset] : tree.infoset_offset[infoset + 1]] = (1.0, 0.0)
    answer = counterfactual_values(tree, policy, 1)
    unreached = (tree.infoset_player == 1) & (answer.reach == 0)
    assert unreached.sum() == 3
    assert np.isnan(answer.normalised[unreached]).all()
    assert (answer.infoset[unreached] == 0).all()


@pytest.mark.parametrize("name", but_for(*set(EFG) - {"leduc_poker", "liars_dice_5"}))
def test_lp_values_are_the_published_ones(name: str) -> None:
    form = sequence_form(tree_of(name))
    method = "highs-ipm" if name in LARGEST and "goofspiel" in name else "highs-ds"
    solution = solve_lp(form, method=method)
    if "value_player0" in EFG[name]:
        assert solution.value == pytest.approx(EFG[name]["value_player0"], abs=1e-6)
    assert solution.exploitability == pytest.approx(0.0, abs=1e-6)
    assert exploitability(form, solution.policy) == pytest.approx(solution.exploitability, abs=EXACT)
    tree_of.cache_clear()


@pytest.mark.parametrize("method", LP_METHODS)
@pytest.mark.parametrize("weight", [1e-300, 1e-12, 1e-9, 1e-6, 1e-5, 0.3, 1e6, 1e200])
@pytest.mark.some(6)
def test_lp_is_as_exact_in_proportion_for_every_weight_of_a_root(weight: float, method: str) -> None:
    for name, value in (("kuhn_poker", -1 / 18), ("leduc_poker", -0.085606424)):
        solution = solve_lp(grow(load_game(name), weights=np.array([weight])), method=method)
        assert solution.value / weight == pytest.approx(value, abs=1e-6)
        assert solution.exploitability / weight == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_lp_solves_random_forests(seed: int) -> None:
    tree = random_tree(seed, levels=7)
    solution = solve_lp(tree)
    assert nash_conv(tree, solution.policy) == pytest.approx(0.0, abs=1e-8)
    assert expected_value(tree, solution.policy) == pytest.approx(solution.value, abs=1e-8)
    sums = np.add.reduceat(solution.policy, tree.infoset_offset[:-1])
    np.testing.assert_allclose(sums, 1.0, atol=EXACT)


@pytest.mark.parametrize("seats", [3, 4])
def test_where_somebody_forgets_nothing_exact_is_claimed(seats: int) -> None:
    tree = forgetful_tree(seats)
    uniform = uniform_policy(tree)
    for claim in (
        lambda: solve(tree, iterations=5),
        lambda: exploitability(tree, uniform),
        lambda: best_response_value(tree, uniform, 0),
        lambda: counterfactual_values(tree, uniform, 0),
        lambda: TreeSolver(tree),
    ):
        with pytest.raises(ImperfectRecall, match=r"same own actions; got infoset 1 .* of player 0"):
            claim()
    assert best_response_value(tree, uniform, 1) == pytest.approx(root_values(tree, uniform)[1])
    solver = TreeSolver(tree, recall=False)
    solver.run(50)
    np.testing.assert_allclose(np.add.reduceat(solver.average_policy(), tree.infoset_offset[:-1]), 1.0)
    with pytest.raises(ImperfectRecall):
        solver.exploitability()


def test_policies_of_another_size_and_seats_that_do_not_decide_are_refused() -> None:
    tree = tree_of("kuhn")
    for ask in (exploitability, expected_value, node_values, reach):
        with pytest.raises(ValueError, match=r"one probability per slot, 24; got shape \(23,\)"):
            ask(tree, np.ones(23))
    with pytest.raises(ValueError, match=r"player must be in \[0, 2\); got 2"):
        counterfactual_values(tree, uniform_policy(tree), 2, best_response=True)
    with pytest.raises(ValueError, match="method must be one of highs-ds, highs-ipm; got 'simplex'"):
        solve_lp(tree, method="simplex")
