"""Starting from a strategy: it is played at first, held on to as told, and left for the equilibrium."""

from __future__ import annotations

import numpy as np
import pytest

from cfr.best_response import exploitability
from cfr.sequence_form import sequence_form
from cfr.solver import Solver, SolverError, Start, solve, start_regrets
from cfr.tree_cfr import TreeSolver
from cfr.values import reach
from cfr.variants import VARIANTS
from tests.cfr.trees import random_tree, tree_of


@pytest.mark.parametrize("kind", [Solver, TreeSolver])
def test_the_first_policy_is_the_start(kind: type) -> None:
    tree = tree_of("leduc")
    start = solve(tree, iterations=20).policy
    solver = kind(tree)
    solver.start_from(start, start_regrets(tree, start, 1.0, 13.0))
    np.testing.assert_allclose(solver.current_policy(), start, atol=1e-15)
    solver.run(1)
    with pytest.raises(ValueError, match="must come first"):
        solver.start_from(start, start)


def test_regrets_are_proportional_to_the_start_and_to_how_often_others_lead_there() -> None:
    tree = tree_of("leduc")
    start = solve(tree, iterations=20).policy
    regrets = start_regrets(tree, start, 2.0, 13.0)
    found = reach(tree, start)
    for infoset in (0, 7, 40, tree.n_infosets - 1):
        slots = slice(*tree.infoset_offset[infoset : infoset + 2])
        nodes = np.flatnonzero((tree.infoset == infoset) & (tree.player >= 0))
        often = found.without(int(tree.infoset_player[infoset]))[nodes].sum()
        np.testing.assert_allclose(regrets[slots], 2.0 * 13.0 * often * start[slots], rtol=1e-12)


def test_the_heavier_a_start_the_longer_it_stays() -> None:
    tree = tree_of("leduc")
    start = solve(tree, iterations=100).policy
    found = [solve(tree, iterations=3, start=Start(start, w)) for w in (0.3, 3, 30, 1e9)]
    moved = [np.abs(solution.current - start).sum() for solution in found]
    assert sorted(moved, reverse=True) == moved
    assert found[-1].exploitability == pytest.approx(exploitability(tree, start), rel=1e-3)


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_leaves_a_bad_start(name: str) -> None:
    tree = tree_of("kuhn")
    start = np.zeros(tree.n_slots)
    start[tree.infoset_offset[:-1]] = 1.0
    assert exploitability(tree, start) > 0.2
    assert solve(tree, variant=name, iterations=3000, start=Start(start)).exploitability < 1e-2


def test_both_solvers_start_alike() -> None:
    tree = random_tree(np.random.default_rng(3))
    start = solve(tree, iterations=3).policy
    regrets = start_regrets(tree, start, 0.5, 1.0)
    a, b = Solver(tree), TreeSolver(tree)
    for solver in (a, b):
        solver.start_from(start, regrets)
        solver.run(5)
    np.testing.assert_allclose(a.average_policy(), b.average_policy(), atol=1e-9)


def test_a_start_that_cannot_be_used_is_refused() -> None:
    tree = tree_of("kuhn")
    start = solve(tree, iterations=3).policy
    with pytest.raises(SolverError, match="start needs a tree"):
        solve(sequence_form(tree), iterations=1, start=Start(start))
    with pytest.raises(SolverError, match=r"positive, finite weight; got FlatTree, 0\.0"):
        solve(tree, iterations=1, start=Start(start, weight=0.0))
    with pytest.raises(SolverError, match=r"got ndarray; begin at a policy with cfr\.Start"):
        solve(tree, iterations=1, start=start)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one probability per slot"):
        solve(tree, iterations=1, start=Start(start[:-1]))
