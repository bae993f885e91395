"""CFR makes OpenSpiel's current policies on the way, and averages them as it does but for an iteration.

What a policy is worth in OpenSpiel is compared in `policies/test_policy_words.py`.
"""

from __future__ import annotations

import numpy as np
import pytest

from cfr.best_response import nash_conv
from cfr.policies.policy import Policy, tabular_policy, uniform_policy
from cfr.solver import Solver, solve
from cfr.tree import FlatTree, grow
from cfr.tree_cfr import TreeSolver
from cfr.values import reach, root_values
from games import Game, load_game
from games.openspiel.direct import openspiel_game
from tests.cfr.trees import tree_of
from tests.patience import amount

pyspiel = pytest.importorskip("pyspiel")

AGREEMENT = 1e-9
GAMES = (
    "kuhn_poker",
    "leduc_poker",
    "liars_dice(sides=3)",
    "liars_dice(sides=4,bidding_rule=reset-quantity)",
    "goofspiel(cards=4,turns=2,points_order=descending,returns_type=win_loss)",
)
"""None whose symmetry makes regrets exactly 0: OpenSpiel takes what rounding leaves there for regret."""
SOLVERS = {"cfr": "CFRSolver", "cfr+": "CFRPlusSolver"}


def their_probs(policy, names, game: Game, tree: FlatTree) -> np.ndarray:
    """Return OpenSpiel's policy on our slots. names: its names of the infosets."""
    table = {name: list(policy.action_probabilities(name).items()) for name in names}
    return Policy.from_openspiel(pyspiel.TabularPolicy(table), game).on(tree)


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
@pytest.mark.parametrize("ours", GAMES)
@pytest.mark.some(3)
def test_current_policies_are_openspiels_and_the_first_players_average_is_so_an_iteration_later(
    ours: str, name: str
) -> None:
    tree, game = tree_of(ours), load_game(ours)
    names = tabular_policy(game.name, tree).to_openspiel().policy_table()
    theirs = getattr(pyspiel, SOLVERS[name])(openspiel_game(game))
    solver, iterations = Solver(tree, name), amount(15, 8)
    policies = [uniform_policy(tree)]
    for _ in range(iterations):
        theirs.evaluate_and_update_policy()
        solver.run(1)
        policies.append(their_probs(theirs.current_policy(), names, game, tree))
        np.testing.assert_allclose(solver.current_policy(), policies[-1], atol=AGREEMENT)
    weights = [1] * iterations if name == "cfr" else list(range(1, iterations + 1))
    before, after = average_of(tree, policies[:-1], weights), average_of(tree, policies[1:], weights)
    first = tree.slot_player == 0
    ours_average = solver.average_policy()
    their_average = their_probs(theirs.average_policy(), names, game, tree)
    for mine, wanted, got in (
        (first | ~first, before, their_average),
        (first, after, ours_average),
        (~first, before, ours_average),
    ):
        led = mine & ~np.isnan(wanted)
        np.testing.assert_allclose(got[led], wanted[led], atol=AGREEMENT)
    assert np.abs(ours_average - their_average)[first].max() > 0.01


def test_three_players_are_solved_as_by_openspiel() -> None:
    game = load_game("openspiel:kuhn_poker(players=3)", general_sum=True)
    tree = grow(game)
    names = tabular_policy(game.name, tree).to_openspiel().policy_table()
    assert set(tree.infoset_player) == {0, 1, 2}
    for name, kind in SOLVERS.items():
        theirs, solver = getattr(pyspiel, kind)(openspiel_game(game)), TreeSolver(tree, name)
        for _ in range(amount(30, 10)):
            theirs.evaluate_and_update_policy()
            solver.run(1)
            probs = their_probs(theirs.current_policy(), names, game, tree)
            np.testing.assert_allclose(solver.current_policy(), probs, atol=AGREEMENT)
    solution = solve(tree, variant="cfr", iterations=3000)
    assert nash_conv(tree, uniform_policy(tree)) > 1
    assert solution.exploitability < 5e-3
    # Szafron, Gibson and Sturtevant 2013: in every equilibrium they found the last to act does not lose.
    assert root_values(tree, solution.policy)[2] > 0
