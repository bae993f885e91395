"""The kernels beside their slow twins, for every variant, alternating and simultaneous.

Freely running, two correct implementations of CFR part sooner or later: regret matching jumps where a
regret is zero but for rounding, and discounting forgets the sums that would outweigh it (on Leduc poker the
rounding of DCFR grows tenfold every ten iterations). So there are two comparisons: a free run, and one in
which the twin starts every single iteration from the kernel's state.
"""

from __future__ import annotations

import numpy as np
import pytest

from cfr.plain import PlainCfr
from cfr.solver import Solver
from cfr.tree import FlatTree
from cfr.tree_cfr import TreeSolver
from cfr.variants import VARIANTS, Variant, variant
from tests.cfr.trees import random_tree, tree_of
from tests.patience import amount

TOLERANCE = 1e-9
MODES = pytest.mark.parametrize("alternating", [True, False], ids=["alternating", "simultaneous"])
ROWS = pytest.mark.parametrize("name", VARIANTS)


def assert_close(ours: np.ndarray, theirs: np.ndarray) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=TOLERANCE, atol=TOLERANCE)


def assert_free_runs_agree(tree: FlatTree, row: Variant, iterations: int) -> None:
    solver = Solver(tree, row)
    twin = PlainCfr(tree, row, solver.noise)
    solver.run(iterations)
    for _ in range(iterations):
        twin.iterate()
    state = solver.state_dict()
    scale = iterations**row.gamma
    assert_close(state["policy"], twin.on_slots(twin.policy))
    assert_close(state["strategy_sum"] / scale, twin.on_slots(twin.strategy_sum) / scale)
    assert_close(solver.regrets(), twin.on_slots(twin.regret))


def assert_each_iteration_agrees(solver: Solver | TreeSolver, twin: PlainCfr, iterations: int) -> None:
    """Run the solver; redo each iteration plainly from the state before it."""
    twin.noise = solver.noise
    owner = np.repeat(np.array(twin.owner, np.int64), [len(p) for p in twin.policy])

    def regrets() -> np.ndarray:
        return solver.regrets() if isinstance(solver, Solver) else solver.state_dict()["regret"]

    for t in range(1, iterations + 1):
        before, before_regret = solver.state_dict(), regrets()
        solver.run(1)
        after, after_regret = solver.state_dict(), regrets()
        twin.t = t
        twin.regret = twin.table(before_regret)
        twin.strategy_sum = twin.table(before["strategy_sum"])
        policy = before["policy"].copy()
        twin.policy = twin.table(policy)
        if not twin.variant.alternating:
            twin.average()
            for seat in twin.seats:
                twin.measure(seat)
                twin.accumulate(seat)
        else:
            for k, seat in enumerate(twin.seats):
                twin.measure(seat)
                twin.accumulate(seat)
                # The others answer to the solver's own updated policy.
                policy[owner == seat] = after["policy"][owner == seat]
                twin.policy = twin.table(policy)
                if k == 0:
                    twin.average()
        assert_close(after_regret, twin.on_slots(twin.regret))
        assert_close(
            after["strategy_sum"] / t**twin.variant.gamma,
            twin.on_slots(twin.strategy_sum) / t**twin.variant.gamma,
        )
        # The solver's policy is what its own regrets call for.
        twin.regret, twin.gain = twin.table(after_regret), twin.table(after["prediction"])
        assert_close(after["policy"], twin.on_slots([twin.matched(i) for i in range(len(twin.policy))]))


@ROWS
@MODES
@pytest.mark.parametrize(
    ("game", "iterations"),
    [
        ("kuhn", amount(100, 30)),
        ("dice", amount(40, 10)),
        ("goofspiel", amount(60, 15)),
        ("random order", amount(100, 25)),
        ("leduc", amount(5, 3)),
    ],
)
@pytest.mark.some(20)
def test_kernel_and_twin_agree_while_running_freely(
    name: str, alternating: bool, game: str, iterations: int
) -> None:
    assert_free_runs_agree(tree_of(game), variant(name, alternating=alternating), iterations)


@pytest.mark.long
@MODES
@pytest.mark.parametrize(
    ("game", "iterations"), [("goofspiel", 100), ("liars_dice(sides=4)", 100), ("leduc", 30)]
)
@pytest.mark.parametrize("name", sorted(set(VARIANTS) - {"lcfr"}))
def test_kernel_and_twin_agree_over_long_free_runs(
    name: str, alternating: bool, game: str, iterations: int
) -> None:
    assert_free_runs_agree(tree_of(game), variant(name, alternating=alternating), iterations)


@ROWS
@MODES
@pytest.mark.parametrize(
    ("game", "iterations"), [("kuhn", amount(100, 30)), ("goofspiel", amount(20, 8)), ("leduc", amount(3, 2))]
)
def test_every_iteration_of_the_kernel_is_the_plain_one(
    name: str, alternating: bool, game: str, iterations: int
) -> None:
    row = variant(name, alternating=alternating)
    tree = tree_of(game)
    assert_each_iteration_agrees(Solver(tree, row), PlainCfr(tree, row), iterations)


@pytest.mark.long
@ROWS
@MODES
@pytest.mark.parametrize("game", ["leduc", "liars_dice(sides=4)", "goofspiel(cards=4,turns=3)"])
def test_each_of_a_hundred_iterations_of_the_kernel_is_the_plain_one(
    name: str, alternating: bool, game: str
) -> None:
    row = variant(name, alternating=alternating)
    tree = tree_of(game)
    assert_each_iteration_agrees(Solver(tree, row), PlainCfr(tree, row), 100)


@ROWS
@MODES
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.some(21)
def test_random_forests_are_solved_as_plainly_described(name: str, alternating: bool, seed: int) -> None:
    tree = random_tree(seed)
    row = variant(name, alternating=alternating)
    assert_each_iteration_agrees(Solver(tree, row), PlainCfr(tree, row), amount(20, 8))


@ROWS
@MODES
def test_trees_with_three_deciding_seats_are_solved_as_plainly_described(
    name: str, alternating: bool
) -> None:
    tree = random_tree(1, teams=(0, 1, 1), levels=7)
    assert set(tree.infoset_player) == {0, 1, 2}
    row = variant(name, alternating=alternating)
    assert_each_iteration_agrees(TreeSolver(tree, row), PlainCfr(tree, row), amount(20, 8))


def test_alternating_updates_answer_the_updated_policy() -> None:
    tree = tree_of("kuhn")
    fresh, stale = Solver(tree, variant("cfr+")), Solver(tree, variant("cfr+", alternating=False))
    fresh.run(1)
    stale.run(1)
    first = tree.slot_player == 0
    np.testing.assert_allclose(fresh.current_policy()[first], stale.current_policy()[first], atol=1e-12)
    assert np.abs(fresh.current_policy()[~first] - stale.current_policy()[~first]).max() > 0.1
