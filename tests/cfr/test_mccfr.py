"""Monte-Carlo CFR: unbiased regrets, convergence, replay, errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cfr.best_response import best_response_value
from cfr.mccfr import SAMPLING, MonteCarloError, MonteCarloSolver
from cfr.plain import PlainCfr
from cfr.policies.policy import uniform_policy
from cfr.values import root_values
from cfr.variants import variant
from tests.cfr.trees import random_policy, random_tree, tree_of
from tests.patience import amount

BOTH = pytest.mark.parametrize("sampling", SAMPLING)


@BOTH
@pytest.mark.parametrize("teams", [(0, 1), (0, 1, 1)])
@pytest.mark.some(2)
def test_sampled_regrets_are_unbiased(sampling: str, teams: tuple[int, ...]) -> None:
    tree = random_tree(2, teams=teams, levels=4)
    total = tree.chance_prob[: tree.n_roots].sum()
    # Seats learn one after the other: in the first traversal all play uniformly.
    plain = PlainCfr(tree, variant("cfr"))
    seat = plain.seats[0]
    plain.measure(seat)
    exact = plain.on_slots(plain.gain)
    rng = np.random.default_rng(0)
    samples = np.empty((amount(4000, 2000), tree.n_slots))
    for k in range(len(samples)):
        solver = MonteCarloSolver(tree, rng, sampling=sampling)
        solver.run(1)
        samples[k] = solver.state_dict()["regret"]
    if sampling == "external":
        samples *= total
    mine = tree.slot_player == seat
    # Infosets that were hardly met say nothing: their spread is unknown too.
    often = mine & ((samples != 0).sum(axis=0) >= len(samples) // 40)
    assert often.sum() >= 6
    error = np.abs(samples.mean(axis=0) - exact)[often]
    sigma = samples.std(axis=0)[often] / np.sqrt(len(samples))
    assert (error <= 4.5 * sigma).all()


@pytest.mark.parametrize(
    ("sampling", "iterations", "bound"), [("external", 20_000, 0.01), ("outcome", 200_000, 0.02)]
)
def test_both_kinds_converge_on_kuhn_poker(sampling: str, iterations: int, bound: float) -> None:
    solver = MonteCarloSolver(tree_of("kuhn"), np.random.default_rng(0), sampling=sampling)
    solver.run(200)
    early = solver.exploitability()
    solver.run(iterations - 200)
    assert solver.iteration == iterations
    assert solver.exploitability() < min(bound, early / 3)


@BOTH
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.some(2)
def test_averages_converge_where_some_actions_are_never_played(sampling: str, seed: int) -> None:
    # Small goofspiel: regret matching plays zeros, so that whether an infoset is met follows from the others.
    tree = tree_of("goofspiel(cards=3)")
    solver = MonteCarloSolver(tree, np.random.default_rng(seed), sampling=sampling)
    solver.run(100_000)
    assert solver.exploitability() < 0.005


@BOTH
@pytest.mark.parametrize("teams", [(0, 1), (0, 1, 1), (0, 1, 0, 1)])
@pytest.mark.parametrize("seed", [2, 6])
@pytest.mark.some(2)
def test_averages_weigh_iterations_by_the_seats_own_play_alone(
    sampling: str, teams: tuple[int, ...], seed: int
) -> None:
    tree = random_tree(seed, teams=teams, levels=4)
    mine = tree.slot_player == 0
    n = 60_000
    noted = []
    for others in (0, 1):
        # Regrets so large that nothing learned here changes any policy; those of the others differ.
        regret = np.where(mine, random_policy(tree, 5, zeros=0.3), random_policy(tree, others, zeros=0.6))
        solver = MonteCarloSolver(tree, np.random.default_rng(others), sampling=sampling)
        solver.load_state_dict(solver.state_dict() | {"regret": 1e12 * regret})
        solver.run(n)
        noted.append(np.asarray(solver.state_dict()["strategy_sum"])[mine] / n)
    met = noted[0] > 0.02
    assert met.sum() >= 4
    np.testing.assert_allclose(noted[1][met], noted[0][met], rtol=0.15)


@BOTH
def test_a_single_seat_learns_a_best_response(sampling: str) -> None:
    tree = random_tree(2, levels=4)
    solver = MonteCarloSolver(tree, np.random.default_rng(0), sampling=sampling)
    uniform = solver.average_policy()
    solver.seats = (0,)  # the other one is left to its first, uniform policy
    solver.run(20_000)
    learned = solver.average_policy()
    assert np.array_equal(learned[tree.slot_player == 1], uniform[tree.slot_player == 1])
    best, before, after = (
        best_response_value(tree, uniform, 0),
        float(root_values(tree, uniform)[0]),
        float(root_values(tree, learned)[0]),
    )
    assert before < best and after > best - 0.05 * (best - before)


@BOTH
def test_an_interrupted_run_resumes_bit_by_bit_with_the_random_numbers_of_its_seed(sampling: str) -> None:
    tree = tree_of("dice")
    straight, half, resumed, other = (
        MonteCarloSolver(tree, np.random.default_rng(seed), sampling=sampling) for seed in (0, 0, 9, 9)
    )
    for policy in (straight.average_policy(), straight.current_policy()):
        np.testing.assert_allclose(policy, uniform_policy(tree))
    straight.run(90)
    half.run(40)
    resumed.load_state_dict(half.state_dict())
    resumed.run(50)
    assert resumed.iteration == 90
    np.testing.assert_array_equal(resumed.average_policy(), straight.average_policy())
    np.testing.assert_array_equal(resumed.current_policy(), straight.current_policy())
    other.run(90)
    assert (other.average_policy() != straight.average_policy()).any()


def test_options_out_of_range_are_refused() -> None:
    tree, rng = tree_of("kuhn"), np.random.default_rng(0)
    with pytest.raises(MonteCarloError, match="sampling must be one of external, outcome; got 'chance'"):
        MonteCarloSolver(tree, rng, sampling="chance")
    with pytest.raises(MonteCarloError, match=r"exploration must be in \(0, 1\]; got 0"):
        MonteCarloSolver(tree, rng, sampling="outcome", exploration=0)
    with pytest.raises(MonteCarloError, match="iterations must be at least 0; got -1"):
        MonteCarloSolver(tree, rng).run(-1)
    with pytest.raises(MonteCarloError, match="weights of at least 0"):
        MonteCarloSolver(replace(tree, chance_prob=-tree.chance_prob), rng)
    state = MonteCarloSolver(tree, rng).state_dict()
    with pytest.raises(MonteCarloError, match="format, sampling and exploration must be"):
        MonteCarloSolver(tree, rng, sampling="outcome").load_state_dict(state)
    with pytest.raises(MonteCarloError, match=r"regret must have .* got shape \(24,\)"):
        MonteCarloSolver(tree_of("dice"), rng).load_state_dict(state)
