"""A policy has the same value and NashConv in OpenSpiel, and CFR the same current policies on the way."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from cfr.best_response import best_response_values, expected_value, nash_conv
from cfr.policies.policy import uniform_policy
from cfr.solver import Solver, solve
from cfr.tree import FlatTree
from cfr.tree_cfr import TreeSolver
from cfr.values import reach, root_values
from tests.cfr.trees import random_policy, tree_of
from tests.patience import amount

pyspiel = pytest.importorskip("pyspiel")

AGREEMENT = 1e-9
GOOFSPIEL = (
    "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards={},num_turns={},"
    "points_order={},returns_type={}))"
)
GAMES = {
    "kuhn_poker": "kuhn_poker",
    "leduc_poker": "leduc_poker",
    "liars_dice(sides=3)": "liars_dice(dice_sides=3)",
    "liars_dice(sides=4,bidding_rule=reset-quantity)": "liars_dice(dice_sides=4,bidding_rule=reset-quantity)",
    "goofspiel(cards=5,turns=3,points_order=ascending)": GOOFSPIEL.format(
        5, 3, "ascending", "point_difference"
    ),
    "goofspiel(cards=4,turns=2,points_order=random)": GOOFSPIEL.format(4, 2, "random", "point_difference"),
    "goofspiel(cards=4,turns=2,points_order=descending,returns_type=win_loss)": GOOFSPIEL.format(
        4, 2, "descending", "win_loss"
    ),
}
LARGE = {
    "liars_dice(sides=6)": "liars_dice(dice_sides=6)",
    "goofspiel(cards=5,turns=3,points_order=random)": GOOFSPIEL.format(5, 3, "random", "point_difference"),
    "goofspiel(cards=5,turns=3,points_order=random,returns_type=win_loss)": GOOFSPIEL.format(
        5, 3, "random", "win_loss"
    ),
}


def actions_of(state) -> list[int]:
    return [a for a, _ in state.chance_outcomes()] if state.is_chance_node() else state.legal_actions()


def tables(tree: FlatTree, game) -> dict[int, str]:
    """Return OpenSpiel's name of each of our infosets, walking both trees in step."""
    names: dict[int, str] = {}
    stack = [(game.new_initial_state(), 0)]
    while stack:
        state, node = stack.pop()
        assert state.is_terminal() == (tree.n_children[node] == 0)
        if state.is_terminal():
            continue
        actions = actions_of(state)
        assert len(actions) == tree.n_children[node]
        if not state.is_chance_node():
            assert state.current_player() == tree.player[node]
            name = state.information_state_string()
            assert names.setdefault(int(tree.infoset[node]), name) == name
        stack += [(state.child(a), int(tree.first_child[node]) + k) for k, a in enumerate(actions)]
    return names


@cache
def side_by_side(ours: str) -> tuple[FlatTree, Any, dict[int, str]]:
    """Return our tree of a game, OpenSpiel's game, and its names of our infosets."""
    tree, game = tree_of(ours), pyspiel.load_game((GAMES | LARGE)[ours])
    return tree, game, tables(tree, game)


def tree_from(game) -> FlatTree:
    """Return OpenSpiel's own tree as arrays, for any number of players."""
    level = [(game.new_initial_state(), -1, 1.0)]
    parent, n_children, player, infoset, prob, terminal, returns, offsets = [], [], [], [], [], [], [], [0]
    names: dict[str, int] = {}
    owner, sizes = [], []
    while level:
        below = []
        for state, up, chance in level:
            node = len(parent)
            parent.append(up)
            prob.append(chance)
            children = [] if state.is_terminal() else actions_of(state)
            chances = dict(state.chance_outcomes()) if state.is_chance_node() else {}
            below += [(state.child(a), node, chances.get(a, 1.0)) for a in children]
            n_children.append(len(children))
            seat = -2 if state.is_terminal() else -1 if state.is_chance_node() else state.current_player()
            player.append(seat)
            if state.is_terminal():
                terminal.append(node)
                returns.append(state.returns())
            if seat < 0:
                infoset.append(-1)
                continue
            name = state.information_state_string()
            if name not in names:
                names[name] = len(names)
                owner.append(seat)
                sizes.append(len(children))
            infoset.append(names[name])
        offsets.append(len(parent))
        level = below
    counts = np.array(n_children, np.int32)
    return FlatTree(
        parent=np.array(parent, np.int32),
        first_child=(1 + np.concatenate(([0], np.cumsum(counts)[:-1]))).astype(np.int32),
        n_children=counts,
        player=np.array(player, np.int8),
        infoset=np.array(infoset, np.int32),
        chance_prob=np.array(prob),
        level_offsets=np.array(offsets, np.int64),
        terminal=np.array(terminal, np.int32),
        returns=np.array(returns),
        infoset_player=np.array(owner, np.int8),
        infoset_offset=np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        infoset_key=np.arange(len(owner), dtype=np.uint64)[:, None],
        action=np.zeros(len(parent), np.int64),
        states=None,
        teams=(0, *[1] * (game.num_players() - 1)),
    ).validate()


def their_probs(tree: FlatTree, names: dict[int, str], policy) -> np.ndarray:
    """Return OpenSpiel's policy on our slots."""
    rows = [policy.action_probabilities(names[i]) for i in range(tree.n_infosets)]
    return np.concatenate([[row[a] for a in sorted(row)] for row in rows])


def their_policy(tree: FlatTree, game, names: dict[int, str], probs: np.ndarray):
    """Return our probabilities as OpenSpiel's tabular policy."""
    table = {}
    stack = [(game.new_initial_state(), 0)]
    while stack:
        state, node = stack.pop()
        if state.is_terminal():
            continue
        actions = actions_of(state)
        if not state.is_chance_node():
            infoset = int(tree.infoset[node])
            first, last = tree.infoset_offset[infoset : infoset + 2]
            table[names[infoset]] = list(zip(actions, probs[first:last].tolist(), strict=True))
        stack += [(state.child(a), int(tree.first_child[node]) + k) for k, a in enumerate(actions)]
    return pyspiel.TabularPolicy(table)


@pytest.mark.parametrize("ours", [*GAMES, *(pytest.param(ours, marks=pytest.mark.long) for ours in LARGE)])
@pytest.mark.some(4)
def test_values_and_nash_conv_are_openspiels(ours: str) -> None:
    tree, game, names = side_by_side(ours)
    assert len(names) == tree.n_infosets
    assert len(set(zip(tree.infoset_player.tolist(), names.values(), strict=False))) == len(names)
    for probs in (
        uniform_policy(tree),
        random_policy(tree, 0),
        random_policy(tree, 1, zeros=0.4),
        solve(tree, iterations=50).policy,
    ):
        policy = their_policy(tree, game, names, probs)
        values = pyspiel.expected_returns(game.new_initial_state(), policy, -1, True)
        assert expected_value(tree, probs) == pytest.approx(values[0], abs=AGREEMENT)
        assert nash_conv(tree, probs) == pytest.approx(pyspiel.nash_conv(game, policy, True), abs=AGREEMENT)
        for player, best in enumerate(best_response_values(tree, probs)):
            theirs = pyspiel.TabularBestResponse(game, player, policy).value_from_state(
                game.new_initial_state()
            )
            assert best == pytest.approx(theirs, abs=AGREEMENT)


SOLVERS = {"cfr": "CFRSolver", "cfr+": "CFRPlusSolver"}
TIED = {"goofspiel(cards=5,turns=3,points_order=ascending)", "goofspiel(cards=4,turns=2,points_order=random)"}
"""Games whose symmetry makes regrets exactly 0; OpenSpiel takes what rounding leaves there for regret."""


def average_of(tree: FlatTree, policies: list[np.ndarray], weights: list[int]) -> np.ndarray:
    """Return the average of realization plans as a policy, nan where none of them leads."""
    _, first = np.unique(tree.infoset, return_index=True)
    nodes = first[1:]  # the first of all is -1, of histories at which nobody acts
    sizes = np.diff(tree.infoset_offset)
    total = np.zeros(tree.n_slots)
    for policy, weight in zip(policies, weights, strict=True):
        own = reach(tree, policy).players[nodes, tree.infoset_player]
        total += weight * np.repeat(own, sizes) * policy
    with np.errstate(invalid="ignore"):
        return total / np.repeat(np.add.reduceat(total, tree.infoset_offset[:-1]), sizes)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("ours", sorted(set(GAMES) - TIED))
@pytest.mark.some(2)
def test_the_first_players_average_is_openspiels_an_iteration_later_the_seconds_is_openspiels(
    ours: str, name: str
) -> None:
    tree, game, names = side_by_side(ours)
    theirs = getattr(pyspiel, SOLVERS[name])(game)
    solver, iterations = Solver(tree, name), amount(15, 8)
    policies = [their_probs(tree, names, theirs.current_policy())]
    for _ in range(iterations):
        theirs.evaluate_and_update_policy()
        solver.run(1)
        policies.append(their_probs(tree, names, theirs.current_policy()))
    weights = [1] * iterations if name == "cfr" else list(range(1, iterations + 1))
    before, after = average_of(tree, policies[:-1], weights), average_of(tree, policies[1:], weights)
    first = tree.slot_player == 0
    ours_average = solver.average_policy()
    their_average = their_probs(tree, names, theirs.average_policy())
    for mine, wanted, got in (
        (first | ~first, before, their_average),
        (first, after, ours_average),
        (~first, before, ours_average),
    ):
        led = mine & ~np.isnan(wanted)
        np.testing.assert_allclose(got[led], wanted[led], atol=AGREEMENT)
    assert np.abs(ours_average - their_average)[first].max() > 0.01


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("ours", sorted(set(GAMES) - TIED))
@pytest.mark.some(2)
def test_every_current_policy_on_the_way_is_that_of_openspiels_solver(ours: str, name: str) -> None:
    tree, game, names = side_by_side(ours)
    theirs = getattr(pyspiel, SOLVERS[name])(game)
    solver, iterations = Solver(tree, name), amount(15, 8)
    for _ in range(iterations):
        theirs.evaluate_and_update_policy()
        solver.run(1)
        probs = their_probs(tree, names, theirs.current_policy())
        np.testing.assert_allclose(solver.current_policy(), probs, atol=AGREEMENT)


def test_three_players_are_valued_and_solved_as_by_openspiel() -> None:
    game = pyspiel.load_game("kuhn_poker(players=3)")
    tree = tree_from(game)
    names = tables(tree, game)
    assert set(tree.infoset_player) == {0, 1, 2}
    for probs in (uniform_policy(tree), random_policy(tree, 0), random_policy(tree, 1, zeros=0.4)):
        policy = their_policy(tree, game, names, probs)
        values = pyspiel.expected_returns(game.new_initial_state(), policy, -1, True)
        assert root_values(tree, probs) == pytest.approx(values, abs=AGREEMENT)
        assert nash_conv(tree, probs) == pytest.approx(pyspiel.nash_conv(game, policy, True), abs=AGREEMENT)
    for name, kind in SOLVERS.items():
        theirs = getattr(pyspiel, kind)(game)
        solver = TreeSolver(tree, name)
        for _ in range(30):
            theirs.evaluate_and_update_policy()
            solver.run(1)
            probs = their_probs(tree, names, theirs.current_policy())
            np.testing.assert_allclose(solver.current_policy(), probs, atol=AGREEMENT)


def test_cfr_reaches_an_equilibrium_of_three_player_kuhn_poker() -> None:
    tree = tree_from(pyspiel.load_game("kuhn_poker(players=3)"))
    solution = solve(tree, variant="cfr", iterations=3000)
    assert nash_conv(tree, uniform_policy(tree)) > 1
    assert solution.exploitability < 5e-3
    # Szafron, Gibson and Sturtevant 2013: in every equilibrium they found the last to act does not lose.
    assert root_values(tree, solution.policy)[2] > 0
