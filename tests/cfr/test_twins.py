"""The kernels beside their slow twins, for every variant, alternating and simultaneous.

Freely running, two correct implementations of CFR part sooner or later: regret matching jumps where a
regret is zero but for rounding, and discounting forgets the sums that would outweigh it (on Leduc poker the
rounding of DCFR grows tenfold every ten iterations). So there are two comparisons: a free run, and one in
which the twin starts every single iteration from the kernel's state. The last tests hold the twin to the
papers.
"""

from __future__ import annotations

import doctest
from math import inf

import numpy as np
import pytest

import cfr
import cfr.plain
from cfr.plain import PlainCfr, discount
from cfr.solver import Solver
from cfr.tree import FlatTree
from cfr.tree_cfr import TreeSolver
from cfr.variants import VARIANTS, UnknownVariant, Variant, variant
from tests.cfr.trees import random_tree, tree_of
from tests.patience import amount

TOLERANCE = 1e-9
MODES = pytest.mark.parametrize("alternating", [True, False], ids=["alternating", "simultaneous"])
ROWS = pytest.mark.parametrize("name", VARIANTS)
LENGTHY = (("goofspiel", 100), ("liars_dice(sides=4)", 100), ("leduc", 30))


def assert_close(ours: np.ndarray, theirs: np.ndarray) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=TOLERANCE, atol=TOLERANCE)


def assert_free_runs_agree(tree: FlatTree, row: Variant, iterations: int) -> None:
    solver = Solver(tree, row)
    twin = PlainCfr(tree, row, solver.noise)
    solver.run(iterations)
    twin.run(iterations)
    state = solver.state_dict()
    scale = iterations**row.gamma
    assert_close(state["policy"], twin.on_slots(twin.policy))
    assert_close(state["strategy_sum"] / scale, twin.on_slots(twin.strategy_sum) / scale)
    assert_close(solver.regrets(), twin.on_slots(twin.regret))
    assert_close(solver.average_policy(), twin.average_policy())
    assert_close(solver.current_policy(), twin.current_policy())


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
        *(pytest.param(*case, marks=pytest.mark.long) for case in LENGTHY),
    ],
)
@pytest.mark.some(12)
def test_kernel_and_twin_agree_while_running_freely(
    name: str, alternating: bool, game: str, iterations: int
) -> None:
    if name == "lcfr" and (game, iterations) in LENGTHY:
        pytest.skip("rounding parts them")
    assert_free_runs_agree(tree_of(game), variant(name, alternating=alternating), iterations)


@ROWS
@MODES
@pytest.mark.parametrize(
    ("source", "iterations"),
    [
        ("kuhn", amount(100, 20)),
        ("goofspiel", amount(20, 8)),
        ("leduc", amount(3, 2)),
        *((seed, amount(20, 8)) for seed in range(3)),
        *(
            pytest.param(game, 100, marks=pytest.mark.long)
            for game in ("leduc", "liars_dice(sides=4)", "goofspiel(cards=4,turns=3)")
        ),
    ],
)
@pytest.mark.some(28)
def test_every_iteration_of_the_kernel_is_the_plain_one(
    name: str, alternating: bool, source: str | int, iterations: int
) -> None:
    row = variant(name, alternating=alternating)
    tree = random_tree(source) if isinstance(source, int) else tree_of(source)
    assert_each_iteration_agrees(Solver(tree, row), PlainCfr(tree, row), iterations)


@pytest.mark.parametrize("exponent", [60.0, 400.0])
@pytest.mark.parametrize("seed", range(6))
def test_steep_discounts_are_numbers_and_made_up_for(exponent: float, seed: int) -> None:
    # Powers went beyond all numbers, and discounts that round to 1 hid those missed before them.
    assert_free_runs_agree(random_tree(seed), Variant("steep", exponent, exponent, gamma=1), 12)


@pytest.mark.parametrize("name", ["cfr", "pdcfr+"])
def test_team_0_is_updated_first_whichever_its_seat(name: str) -> None:
    assert_free_runs_agree(random_tree(2, teams=(1, 0)), variant(name), 6)


@ROWS
@MODES
@pytest.mark.parametrize("teams", [(0, 1), (1, 0)], ids=["side 0", "side 1"])
def test_a_seat_that_decides_alone_learns_as_plainly_described(
    name: str, alternating: bool, teams: tuple[int, int]
) -> None:
    tree = random_tree(2, teams=teams, deciding=1)
    assert set(tree.infoset_player) == {0}
    assert_each_iteration_agrees(
        Solver(tree, row := variant(name, alternating=alternating)), PlainCfr(tree, row), amount(20, 8)
    )


@ROWS
@MODES
def test_trees_with_three_deciding_seats_are_solved_as_plainly_described(
    name: str, alternating: bool
) -> None:
    tree = random_tree(1, teams=(0, 1, 1), levels=7)
    assert set(tree.infoset_player) == {0, 1, 2}
    row = variant(name, alternating=alternating)
    assert_each_iteration_agrees(TreeSolver(tree, row), PlainCfr(tree, row), amount(20, 8))


def test_its_printed_use_runs_as_printed() -> None:
    found = doctest.testmod(cfr.plain)
    assert found.attempted >= 6 and not found.failed
    assert cfr.PlainCfr is PlainCfr


@pytest.mark.parametrize(("t", "exponent", "wanted"), [(0, 1.5, 0), (0, -1, 1), (1, 9, 0.5), (4, 0.5, 2 / 3)])
def test_a_discount_is_the_papers(t: int, exponent: float, wanted: float) -> None:
    assert discount(t, exponent) == pytest.approx(wanted)
    assert discount(t, inf) == 1 and discount(t, -inf) == 0


def test_the_first_regrets_of_kuhn_poker_are_those_worked_out_by_hand() -> None:
    plain = PlainCfr(tree_of("kuhn"), "cfr")
    plain.measure(0)
    # With the jack, everyone uniform, a bet wins 1 if player 1 folds and loses 2 if it calls. A check loses 1
    # if player 1 checks; if it bets, player 0 loses 1 by folding or 2 by calling.
    bet = (1 - 2) / 2
    check = (-1 + (-1 - 2) / 2) / 2
    mean = (bet + check) / 2
    assert plain.gain[0] == pytest.approx([(check - mean) / 3, (bet - mean) / 3])


def test_regrets_below_zero_leave_uniform_play_and_others_play_in_proportion() -> None:
    plain = PlainCfr(tree_of("kuhn"), "cfr")
    plain.regret[0], plain.regret[1] = [-1.0, -2.0], [3.0, 1.0]
    assert plain.matched(0) == [0.5, 0.5] and plain.matched(1) == [0.75, 0.25]
    with pytest.raises(UnknownVariant, match="variant must be one of"):
        PlainCfr(tree_of("kuhn"), "fcr")
