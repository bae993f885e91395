"""Equilibria near a given policy: the kernel beside its slow twin, and what must hold of its solutions."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from cfr.anchored import Anchor, AnchoredSolver, solve_anchored
from cfr.best_response import exploitability
from cfr.engine.resume import StateError
from cfr.policies.policy import uniform_policy
from cfr.solver import SolverError, Stop, solve
from cfr.tree import FlatTree
from cfr.tree.flat import ImperfectRecall
from tests.cfr.trees import random_policy, random_tree, tree_of
from tests.patience import amount
from tests.reference.anchored import PlainAnchored

TOLERANCE = 1e-9
SEEDS = pytest.mark.parametrize("seed", range(amount(6, 2)))
TEAMS = pytest.mark.parametrize("teams", [(0, 1), (0, 1, 0, 1)], ids=["two seats", "four seats"])


def magnet_of(tree: FlatTree, seed: int, *, free: bool = False) -> np.ndarray:
    """Return a random magnet with zeros, and perhaps some infosets without one."""
    magnet = random_policy(tree, seed, zeros=0.2)
    if free:
        chosen = np.random.default_rng(seed).random(tree.n_infosets) < 0.2
        magnet[chosen[tree.slot_infoset]] = np.nan
    return magnet


@SEEDS
@TEAMS
def test_every_iteration_is_that_of_the_slow_twin(seed: int, teams: tuple[int, ...]) -> None:
    tree = random_tree(seed, teams=teams, levels=4)
    temperature = tuple(np.random.default_rng(seed).choice([0.0, 0.1, 1.0], len(teams)).tolist())
    anchor = Anchor(magnet_of(tree, seed, free=True), temperature)
    solver, twin = AnchoredSolver(tree, anchor), PlainAnchored(tree, anchor)
    for _ in range(8):
        solver.run(1)
        twin.iterate()
        np.testing.assert_allclose(solver.current_policy(), twin.on_slots(), rtol=TOLERANCE, atol=TOLERANCE)


@SEEDS
def test_at_the_equilibrium_policies_are_the_magnet_times_the_exponential_of_values(seed: int) -> None:
    tree = random_tree(seed, levels=4)
    anchor = Anchor(magnet_of(tree, seed), 0.3)
    found = solve_anchored(tree, anchor, iterations=3000, target=1e-14)
    assert found.gap < 1e-10
    twin = PlainAnchored(tree, anchor)
    twin.policy = {i: found.policy[tree.slots(i)] for i in range(tree.n_infosets)}
    for seat in twin.seats:
        for infoset, wanted in twin.wanted(seat).items():
            if twin.weight[infoset] > 0:
                np.testing.assert_allclose(twin.policy[infoset], wanted, atol=1e-4)


@pytest.mark.parametrize("name", ["kuhn", "random order"])
def test_a_low_temperature_comes_as_near_to_an_equilibrium_as_cfr(name: str) -> None:
    tree = tree_of(name)
    low, high = tree.returns.min(), tree.returns.max()
    magnet = random_policy(tree, 1)
    solved = solve(tree, variant="pcfr+", iterations=300).exploitability
    left = []
    for temperature in (0.1, 0.01, 0.001):
        price = float(temperature * (high - low))
        left.append(exploitability(tree, solve_anchored(tree, Anchor(magnet, price), iterations=2000).policy))
    assert left[0] > left[1] > left[2]
    assert left[2] < solved + 1e-3 * (high - low)


@SEEDS
@TEAMS
def test_the_gap_is_never_negative_and_vanishes_at_the_equilibrium(seed: int, teams: tuple[int, ...]) -> None:
    tree = random_tree(seed, teams=teams)
    solver = AnchoredSolver(tree, Anchor(magnet_of(tree, seed), 1.0))
    first = solver.exploitability()
    assert first > -1e-12
    solver.run(1000)
    assert -1e-12 < solver.exploitability() < 1e-9


def test_without_a_price_the_gap_is_the_exploitability() -> None:
    for name in ("kuhn", "leduc"):
        tree = tree_of(name)
        solver = AnchoredSolver(tree, Anchor(random_policy(tree, 0), 0.0))
        solver.run(3)
        assert solver.exploitability() == pytest.approx(
            exploitability(tree, solver.current_policy()), abs=1e-9
        )


def test_a_run_goes_on_and_starts_where_it_is_told() -> None:
    tree = random_tree(0)
    anchor = Anchor(magnet_of(tree, 0), 0.1)
    once, first = AnchoredSolver(tree, anchor), AnchoredSolver(tree, anchor)
    once.run(30)
    first.run(13)
    state = first.state_dict()
    first.run(5)
    resumed = solve_anchored(tree, anchor, iterations=17, start=state)
    assert np.array_equal(resumed.policy, once.current_policy()) and resumed.iteration == 30
    for other in (Anchor(magnet_of(tree, 0), 0.2), Anchor(random_policy(tree, 3), 0.1)):
        with pytest.raises(SolverError, match="the anchor must be that of the saved run"):
            solve_anchored(tree, other, iterations=1, start=state)
    start = random_policy(tree, 1)
    begun = solve_anchored(tree, anchor, iterations=0, start=start)
    np.testing.assert_allclose(begun.policy, start, atol=2e-3)


def test_a_deadline_and_a_target_end_a_run() -> None:
    tree = tree_of("leduc")
    anchor = Anchor(random_policy(tree, 0), 1.0)
    late = solve_anchored(tree, anchor, iterations=10**9, stop=Stop(time.perf_counter() + 0.05))
    assert late.stopped == "deadline"
    near = solve_anchored(tree, anchor, target=1e-3)
    assert near.stopped == "target"
    assert near.gap <= 1e-3


def test_what_cannot_be_solved_is_refused() -> None:
    tree, leduc = tree_of("kuhn"), tree_of("leduc")
    magnet, anchor = random_policy(tree, 0), Anchor(uniform_policy(tree), 1.0)
    for temperature in (-1.0, float("nan"), (1.0,) * 3):
        with pytest.raises(SolverError, match="temperature"):
            AnchoredSolver(tree, Anchor(magnet, temperature))
    with pytest.raises(SolverError, match="smoothing"):
        AnchoredSolver(tree, Anchor(magnet, 1.0, smoothing=0.0))
    with pytest.raises(ValueError, match="one probability per slot"):
        AnchoredSolver(tree, Anchor(magnet[1:], 1.0))
    with pytest.raises(SolverError, match="give iterations"):
        solve_anchored(tree, anchor)
    with pytest.raises(SolverError, match="target must be positive"):
        solve_anchored(tree, anchor, target=0.0)
    state = AnchoredSolver(tree, anchor).state_dict()
    with pytest.raises(StateError):
        solve_anchored(tree, anchor, iterations=1, start={**state, "policy": magnet * np.nan})
    with pytest.raises(SolverError, match=r"policy must have 2184 entries; got shape \(24,\)"):
        solve_anchored(leduc, Anchor(uniform_policy(leduc), 1.0), iterations=1, start=state)
    for number in (2.5, np.nan, np.inf, -1, "3"):  # some ran for ever
        with pytest.raises(SolverError, match="solve_anchored: iterations must be at least 0"):
            solve_anchored(tree, anchor, iterations=number)  # type: ignore[arg-type]
        with pytest.raises(SolverError, match="iterations must be at least 0"):
            AnchoredSolver(tree, anchor).run(number)  # type: ignore[arg-type]
    # Everybody's infosets with two actions become one.
    two = np.diff(leduc.infoset_offset) == 2
    mine = np.flatnonzero(two & (leduc.infoset_player == 0))
    infoset = leduc.infoset.copy()
    infoset[np.isin(infoset, mine)] = mine[0]
    with pytest.raises(ImperfectRecall, match="same own actions"):
        AnchoredSolver(replace(leduc, infoset=infoset), Anchor(uniform_policy(leduc), 1.0))


@pytest.mark.parametrize("fill", [0.0, 7.0, -1.0, np.nan])
def test_magnets_and_starts_that_are_no_probabilities_are_refused(fill: float) -> None:
    tree = tree_of("kuhn")
    filled = np.full(tree.n_slots, fill)
    with pytest.raises(ValueError, match="at least 0 and sum to 1"):
        solve_anchored(tree, Anchor(uniform_policy(tree), 1.0), target=1e-3, start=filled)
    half = uniform_policy(tree)
    half[:2] = fill, 1 - fill
    if np.isnan(fill):  # an infoset with nan has no magnet
        assert solve_anchored(tree, Anchor(filled, 1.0), iterations=1).iteration == 1
        assert solve_anchored(tree, Anchor(half, 1.0), iterations=1).iteration == 1
        return
    with pytest.raises(ValueError, match="at least 0 and sum to 1"):
        AnchoredSolver(tree, Anchor(filled, 1.0))
    if not 0 <= fill <= 1:
        with pytest.raises(ValueError, match="infoset 0 has"):
            AnchoredSolver(tree, Anchor(half, 1.0))
