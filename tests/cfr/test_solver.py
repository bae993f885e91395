"""Solving: convergence, limits, progress, exact resumption, errors; starting from a strategy."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest

from cfr.best_response import best_response_values, expected_value, exploitability
from cfr.engine.resume import start_regrets
from cfr.lp import solve_lp
from cfr.mccfr import MonteCarloSolver
from cfr.plain import PlainCfr
from cfr.policies.policy import tabular_policy, uniform_policy
from cfr.sequence_form import sequence_form
from cfr.solver import Progress, Solver, SolverError, Start, Stop, solve
from cfr.tree import grow
from cfr.tree_cfr import TreeSolver
from cfr.values import first_wrong, node_values, reach
from cfr.variants import DEFAULT_VARIANT, VARIANTS, UnknownVariant, Variant, variant
from games import load_game
from tests.cfr.trees import SMALL, LongWay, random_tree, tree_of
from tests.reference.reach import reach_of_terminals

KUHN_VALUE = -1 / 18
"""Of the first player; Kuhn 1950."""


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("alternating", [True, False])
def test_every_variant_converges_on_kuhn_poker(name: str, alternating: bool) -> None:
    solution = solve(tree_of("kuhn"), variant=variant(name, alternating=alternating), iterations=2000)
    assert solution.exploitability < 1e-2
    assert abs(solution.value - KUHN_VALUE) <= 2 * solution.exploitability
    assert solution.variant.name == name


def test_a_solution_says_what_its_policy_is_worth() -> None:
    tree = tree_of("leduc")
    solution = solve(tree, iterations=100)
    assert solution.stopped == "iterations"
    assert solution.iteration == 100
    assert solution.variant.name == DEFAULT_VARIANT
    assert expected_value(tree, solution.policy) == pytest.approx(solution.value, abs=1e-12)
    assert best_response_values(tree, solution.policy) == pytest.approx(solution.best_response, abs=1e-12)
    assert exploitability(tree, solution.policy) == pytest.approx(solution.exploitability, abs=1e-12)
    for policy in (solution.policy, solution.current):
        np.testing.assert_allclose(np.add.reduceat(policy, tree.infoset_offset[:-1]), 1.0, atol=1e-12)
        assert (policy >= 0).all()
    np.testing.assert_array_equal(solve(sequence_form(tree), iterations=100).policy, solution.policy)


@pytest.mark.parametrize("name", ("cfr", "dcfr+"))
def test_where_hundreds_of_moves_make_play_unlikely_averages_are_probabilities(name: str) -> None:
    tree = grow(LongWay())
    solution = solve(tree, variant=name, iterations=3)
    np.testing.assert_allclose(np.add.reduceat(solution.policy, tree.infoset_offset[:-1]), 1.0, atol=1e-12)
    assert solution.value == pytest.approx(expected_value(tree, solution.policy), abs=1e-12)


def test_before_the_first_iteration_the_policy_is_uniform() -> None:
    tree = tree_of("dice")
    solution = solve(tree, iterations=0)
    np.testing.assert_array_equal(solution.policy, uniform_policy(tree))
    np.testing.assert_array_equal(solution.current, uniform_policy(tree))
    assert not Solver(tree).regrets().any()


def test_a_run_stops_at_its_target() -> None:
    solution = solve(tree_of("leduc"), target=0.01)
    assert solution.stopped == "target"
    assert solution.exploitability <= 0.01
    earlier = solve(tree_of("leduc"), iterations=solution.iteration // 2)
    assert earlier.exploitability > 0.01


@pytest.mark.parametrize("limit", [0.5, 7.5, 1000.5])
@pytest.mark.parametrize("checked", [False, True])
def test_a_deadline_is_passed_by_one_iteration_at_most(
    limit: float, checked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(now=0.0, perf_counter=lambda: clock.now)
    looks = []

    class Slow(Solver):
        """Takes a second for each iteration."""

        def run(self, n: int) -> None:
            super().run(n)
            clock.now += n
            looks.append(n)

    monkeypatch.setattr("cfr.solver.time", clock)
    monkeypatch.setattr("cfr.solver.Solver", Slow)
    solution = solve(tree_of("kuhn"), stop=Stop(limit, (lambda p: None) if checked else None))
    assert solution.stopped == "deadline"
    assert limit <= clock.now < limit + 1
    assert solution.iteration == clock.now
    if not checked:
        assert len(looks) <= 1 + 3 * np.log2(1 + clock.now)


def test_callbacks_see_progress_at_their_distance_and_may_stop_the_run() -> None:
    for deadline in (None, time.perf_counter() + 60):
        seen: list[Progress] = []

        def watch(progress: Progress) -> bool:
            seen.append(progress)  # noqa: B023
            return len(seen) == 4  # noqa: B023

        stop = Stop(deadline, watch, check_every=7)
        solution = solve(tree_of("leduc"), iterations=1000, stop=stop)
        assert [p.iteration for p in seen] == [7, 14, 21, 28]
        assert (solution.stopped, solution.iteration) == ("callback", 28)
        assert seen[-1].exploitability == pytest.approx(solution.exploitability, abs=1e-12)
        assert seen == sorted(seen, key=lambda p: p.seconds)
    ended = solve(tree_of("kuhn"), iterations=20, stop=Stop(callback=lambda progress: None, check_every=10))
    assert ended.stopped == "iterations"


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("game", SMALL)
@pytest.mark.some(9)
def test_an_interrupted_run_resumes_bit_by_bit(name: str, game: str) -> None:
    tree = tree_of(game)
    straight = Solver(tree, name)
    straight.run(37)
    first, second = Solver(tree, name), Solver(tree, name)
    first.run(5)
    first.run(11)
    state, regrets = first.state_dict(), first.regrets()
    first.run(3)  # a state is a copy
    second.load_state_dict(state)
    np.testing.assert_array_equal(second.regrets(), regrets)
    second.run(21)
    mine, theirs = straight.state_dict(), second.state_dict()
    assert mine.keys() == theirs.keys()
    for key, value in mine.items():
        np.testing.assert_array_equal(theirs[key], value, err_msg=key)
    resumed = solve(tree, variant=name, iterations=21, start=state)
    assert resumed.iteration == 37
    np.testing.assert_array_equal(resumed.policy, straight.average_policy())


def test_states_of_other_runs_are_refused() -> None:
    state = Solver(tree_of("kuhn"), "cfr+").state_dict()
    with pytest.raises(
        SolverError, match=r"must stay that of the saved run, cfr\+; got dcfr\+; use that one"
    ):
        Solver(tree_of("kuhn"), "dcfr+").load_state_dict(state)
    with pytest.raises(SolverError, match=r"regret must have 2184 entries; got shape \(24,\)"):
        Solver(tree_of("leduc"), "cfr+").load_state_dict(state)
    with pytest.raises(SolverError, match="format must be 1; got None"):
        Solver(tree_of("kuhn"), "cfr+").load_state_dict({})


def test_limits_out_of_range_are_refused() -> None:
    tree = tree_of("kuhn")
    with pytest.raises(SolverError, match="give iterations, target or a deadline"):
        solve(tree)
    with pytest.raises(SolverError, match="target must be positive, in payoffs; got 0"):
        solve(tree, target=0)
    with pytest.raises(SolverError, match="deadline must be an instant"):
        Stop(deadline=float("nan"))
    solvers = Solver(tree), TreeSolver(tree), MonteCarloSolver(tree, np.random.default_rng(0))
    refused = r"{} must be at least {}; got .*; give a whole number"
    for number in (-1, 2.5, np.nan, np.inf, "3"):  # fractions ran for ever
        with pytest.raises(SolverError, match=refused.format("iterations", 0)):
            solve(tree, iterations=number)  # type: ignore[arg-type]
        with pytest.raises(SolverError, match=refused.format("check_every", 1)):
            Stop(check_every=number)  # type: ignore[arg-type]
        for solver in (PlainCfr(tree), *solvers):
            with pytest.raises(ValueError, match=refused.format("iterations", 0)):
                solver.run(number)  # type: ignore[arg-type]
    for solver in solvers:
        solver.run(np.uint8(200))  # type: ignore[arg-type]
        solver.run(np.uint8(100))  # type: ignore[arg-type]
        assert solver.iteration == 300


def test_an_endless_deadline_never_comes_and_one_that_is_over_leaves_an_iteration() -> None:
    solution = solve(tree_of("kuhn"), iterations=25, stop=Stop(deadline=float("inf")))
    assert (solution.stopped, solution.iteration) == ("iterations", 25)
    assert solve(tree_of("kuhn"), target=0.05, stop=Stop(deadline=float("inf"))).stopped == "target"
    for deadline in (-float("inf"), time.perf_counter() - 1.0):
        late = solve(tree_of("kuhn"), iterations=9, stop=Stop(deadline))
        assert late.stopped == "deadline" and late.iteration >= 1 and late.exploitability > 0


@pytest.mark.parametrize("teams", [(0, 1), (0, 1, 2)], ids=["two seats", "three seats"])
def test_starts_that_are_no_probabilities_are_refused(teams: tuple[int, ...]) -> None:
    tree = random_tree(1, teams=teams)
    for fill in (0.0, 7.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="at least 0 and sum to 1"):
            solve(tree, iterations=0, start=Start(np.full(tree.n_slots, fill)))
    half = uniform_policy(tree)
    half[0] += 0.1
    with pytest.raises(ValueError, match="infoset 0 has"):
        solve(tree, iterations=0, start=Start(half))
    with pytest.raises(SolverError, match="positive, finite weight"):
        solve(tree, iterations=0, start=Start(uniform_policy(tree), np.inf))


def test_variants_are_rows_that_can_be_changed() -> None:
    assert variant("CFR+") == VARIANTS["cfr+"]
    assert variant("cfr+", gamma=2).gamma == 2
    assert variant(Variant("mine", alpha=1.0)).alpha == 1.0
    with pytest.raises(UnknownVariant, match=r"variant must be one of cfr, cfr\+, .*; got 'cfr\+\+'"):
        variant("cfr++")
    with pytest.raises(UnknownVariant, match=r"gamma must be in \[0, 30\]; got -1"):
        variant("cfr", gamma=-1)
    with pytest.raises(UnknownVariant, match=r"gamma must be in \[0, 30\]; got 31"):
        variant("cfr", gamma=31)  # t^gamma was infinite soon, and the average no number
    with pytest.raises(UnknownVariant, match="alpha and beta must be numbers"):
        variant("cfr", alpha=float("nan"))


def test_more_than_two_deciding_seats_are_solved_on_the_tree() -> None:
    tree = random_tree(1, teams=(0, 1, 1), levels=7)
    solution = solve(tree, iterations=300)
    straight = TreeSolver(tree)
    straight.run(300)
    np.testing.assert_array_equal(solution.policy, straight.average_policy())
    assert len(solution.best_response) == 3
    assert exploitability(tree, solution.policy) == pytest.approx(solution.exploitability, abs=1e-9)
    assert solution.exploitability < solve(tree, iterations=0).exploitability / 10
    with pytest.raises(ValueError, match="the state must be of variant cfr"):
        TreeSolver(tree, "cfr").load_state_dict(straight.state_dict())


def test_a_game_without_decisions_has_its_value_only() -> None:
    lottery = random_tree(5, deciding=0)
    likely = reach_of_terminals(lottery, np.zeros(0))
    value = np.array([likely[z] for z in lottery.terminal.tolist()]) @ lottery.returns[:, 0]
    solution = solve(lottery, iterations=5)
    assert solution.value == pytest.approx(value) and solution.policy.shape == (0,)
    assert solution.best_response == pytest.approx((value, -value))
    assert solution.exploitability == pytest.approx(0.0)
    assert solve_lp(lottery).value == pytest.approx(value)
    roots = slice(lottery.n_roots)
    assert node_values(lottery, solution.policy)[roots, 0] @ lottery.chance_prob[roots] == pytest.approx(
        value
    )


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
    tree = random_tree(3)
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
    lock = tabular_policy("kuhn_poker", tree, start).only(np.arange(tree.n_infosets) < 2)
    for size in (3, 23, 100):
        for locked in (None, lock):
            with pytest.raises(ValueError, match="one probability per slot"):
                solve(tree, iterations=1, start=Start(np.full(size, 0.5)), lock=locked)


def test_roots_of_whatever_weight_are_solved_and_weights_that_are_none_are_refused() -> None:
    game = load_game("kuhn_poker")
    for weight in (1e-310, 1e-290, 1e290):
        solution = solve(grow(game, weights=np.array([weight])), iterations=50)
        assert first_wrong(solution.policy, tree_of("kuhn").infoset_offset) == -1
        assert solution.exploitability < max(0.02 * weight, 1e-300)
    for weights in ([-1.0], [np.nan], [np.inf]):
        with pytest.raises(ValueError, match=f"finite and at least 0; got {weights[0]}"):
            grow(game, weights=np.array(weights))
    for limit in (-1.0, np.nan):
        with pytest.raises(ValueError, match="time_limit must be at least 0, in seconds; got"):
            solve_lp(tree_of("kuhn"), time_limit=limit)
