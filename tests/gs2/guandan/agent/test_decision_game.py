"""The game of one decision: closed forms, who knows what, and payoffs of styles."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import advance
from gs2.guandan.agent.deals.determinize import Worlds, sample_worlds
from gs2.guandan.agent.evaluator import evaluator_values
from gs2.guandan.agent.guandan_config import agent_preset
from gs2.guandan.agent.racing import Evidence, MoveComparison, Question, posterior
from gs2.guandan.agent.rollout import Rollouts
from gs2.guandan.agent.solving.decision_game import (
    DecisionGame,
    cluster_rows,
    contested,
    decision_tree,
    solve_contest,
    solve_decision,
    style_payoffs,
)
from tests.gs2.guandan.blueprints import CountEvaluator, midgame
from tests.patience import amount

SEEDS = pytest.mark.parametrize("seed", range(amount(5, 3)))
CLOSE = 0.01


def game_of(seed: int, ours: int = 1, theirs: int = 1, *, buckets: int = 1, free: bool = False):
    """Return a game of random payoffs, weights, buckets and magnet."""
    rng = np.random.default_rng(seed)
    n, a = int(rng.integers(6, 20)), int(rng.integers(2, 5))
    payoffs = rng.normal(size=(n, a, ours, theirs))
    bucket = np.concatenate([np.arange(buckets), rng.integers(0, buckets, n - buckets)])
    return DecisionGame(
        payoffs,
        rng.uniform(0.2, 2, n),
        bucket,
        int(rng.integers(4)),
        rng.uniform(0.1, 1, a),
        float(rng.uniform(0.2, 0.6)),
        0.0 if free else 0.3,
    )


def near_magnet(game: DecisionGame, values: np.ndarray) -> np.ndarray:
    """Return the policy proportional to magnet · exp(value / price)."""
    logs = np.log(game.magnet / game.magnet.sum()) + values / game.price
    soft = np.exp(logs - logs.max())
    return soft / soft.sum()


def policy_of(game: DecisionGame) -> np.ndarray:
    """Return the solution's policy over our moves, after a look at its gap."""
    tree, found = solve_decision(game)
    assert found.gap < 0.02
    return found.policy[tree.slots(0)]


def means(game: DecisionGame, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
    """Return the weighted sum of payoffs over some deals, as a share of all deals, [a, u, o]."""
    share = game.weights / game.weights.sum()
    return np.einsum("n,nauo->auo", share[rows], game.payoffs[rows])


@SEEDS
def test_with_one_style_for_everybody_the_policy_has_a_closed_form(seed: int) -> None:
    game = game_of(seed)
    assert np.allclose(policy_of(game), near_magnet(game, means(game)[:, 0, 0]), atol=CLOSE)


@pytest.mark.parametrize(("ours", "theirs"), [(1, 1), (2, 1), (1, 3), (2, 3)])
def test_choices_of_one_leave_their_level_out(ours: int, theirs: int) -> None:
    game = game_of(ours + theirs, ours, theirs, buckets=2)
    n, a = game.payoffs.shape[:2]
    tree = decision_tree(game)
    tree.validate()
    assert len(tree.terminal) == n * a * ours * theirs
    widths = [n, n * a] + [n * a * ours] * (ours > 1) + [n * a * ours * theirs] * (theirs > 1)
    assert np.diff(tree.level_offsets).tolist() == widths
    infosets = 1 + a * (ours > 1) + 2 * a * (theirs > 1)
    assert tree.n_infosets == infosets
    mine = game.payoffs.reshape(-1)
    assert np.array_equal(tree.returns[:, game.seat], mine)
    assert np.array_equal(tree.returns[:, (game.seat + 2) % 4], mine)
    assert np.array_equal(tree.returns[:, (game.seat + 1) % 4], -mine)
    policy = policy_of(game)
    assert policy.sum() == pytest.approx(1) and len(policy) == a


@SEEDS
def test_a_dominated_style_of_our_own_changes_nothing(seed: int) -> None:
    game = game_of(seed)
    poor = np.concatenate([game.payoffs, game.payoffs - 6], axis=2)
    with_it = policy_of(replace(game, payoffs=poor))
    assert np.allclose(with_it, policy_of(game), atol=CLOSE)
    rich = np.concatenate(
        [game.payoffs, game.payoffs + np.eye(game.payoffs.shape[1])[0, :, None, None] * 3], 2
    )
    assert policy_of(replace(game, payoffs=rich))[0] > with_it[0]


@SEEDS
@pytest.mark.parametrize("buckets", [1, 3])
def test_free_opponents_pick_the_style_that_is_worst_for_us_in_each_bucket(seed: int, buckets: int) -> None:
    game = game_of(seed, 1, 3, buckets=buckets, free=True)
    worst = sum(means(game, game.bucket == b)[:, 0].min(axis=1) for b in range(buckets))
    assert np.allclose(policy_of(game), near_magnet(game, np.asarray(worst)), atol=0.03)


def question_of(seed: int, moves: int, deals: int) -> tuple[Question, CountEvaluator]:
    rng = np.random.default_rng(seed)
    evaluator = CountEvaluator(noise=0.05)
    state = np.atleast_1d(midgame(1, rng, plies=24, least=moves)[0])
    table = legal(state, canonical=True)
    q = evaluator_values(evaluator, state, table)
    best = np.argsort(-q, kind="stable")[:moves]
    worlds = sample_worlds(state, int(state["player"][0]), deals, rng)
    return Question(state, table.values[best], q[best].astype(float), worlds), evaluator


@pytest.mark.parametrize("depth", [4, None])
def test_the_blueprint_in_a_second_slot_gives_the_known_payoffs(depth: int | None) -> None:
    changed = 0
    for seed in range(3):
        question, evaluator = question_of(seed, 3, 6)
        rollouts = Rollouts(evaluator)
        seat, n = int(question.state["player"][0]), len(question.worlds)
        after = np.repeat(question.worlds.states, 3)
        advance(after, np.tile(question.moves, n))
        known = (1 - 2 * (seat & 1)) * rollouts.payoffs(after, depth).reshape(n, 3)
        same = ("blueprint", "blueprint")
        found = style_payoffs(question, known, (same, same), rollouts, depth)
        assert np.array_equal(found, np.broadcast_to(known[:, :, None, None], (n, 3, 2, 2)))
        leans = ("blueprint", "rush"), ("blueprint", "yield")
        styled = style_payoffs(question, known, leans, rollouts, depth)
        assert np.array_equal(styled[:, :, 0, 0], known)
        changed += int(np.any(styled[:, :, 1, 0] != known)) + int(np.any(styled[:, :, 0, 1] != known))
    assert changed >= 4


def generated_contest(seed: int) -> tuple[Question, MoveComparison, np.ndarray]:
    """Return a question of two moves with generated prior and payoffs, and the racing's posterior."""
    rng = np.random.default_rng(seed)
    question, _ = question_of(seed % 3, 2, 8)
    n = int(rng.integers(8, 60))
    states = np.repeat(question.worlds.states[:1], n)
    worlds = Worlds(states, rng.uniform(0.5, 1.5, n), bool(rng.integers(2)))
    question = replace(question, prior=np.array([0.0, -rng.uniform(0, 0.2)]), worlds=worlds)
    payoffs = rng.normal(size=(n, 2)) + np.array([0, rng.normal(0.3, 0.5)])
    trust = agent_preset("standard").comparison.trust
    missing = 0.0 if worlds.exact else 1.0
    seen = Evidence(payoffs, worlds.weights, question.prior, trust, missing, 0.7)
    mean, error = posterior(seen, 0)
    best = int(np.argmax(mean))
    return question, MoveComparison(payoffs, worlds, worlds.weights, mean, error, best, 2 * n, "worlds"), mean


def test_with_one_style_a_contest_chooses_as_the_posterior_of_the_race() -> None:
    config = agent_preset("standard").replace(theirs="blueprint", leaf_worlds=5)
    chosen = []
    for seed in range(amount(40, 16)):
        question, comparison, mean = generated_contest(seed)
        if abs(mean[1]) < 0.005:
            continue
        solution = solve_contest(question, comparison, Rollouts(CountEvaluator()), config)
        assert len(solution.worlds) == 5
        assert int(np.argmax(solution.policy)) == comparison.best, seed
        chosen.append(comparison.best)
    assert 3 < sum(chosen) < len(chosen) - 3


def test_a_contest_ends_at_its_deadline_and_a_move_that_stood_alone_is_none() -> None:
    config = agent_preset("standard").replace(theirs="blueprint+contest", leaf_worlds=8)
    question, comparison, _ = generated_contest(3)
    rollouts = Rollouts(CountEvaluator())
    solution = solve_contest(question, comparison, rollouts, config, time.perf_counter() - 1)
    assert rollouts.decisions == 0 and solution.policy.sum() == pytest.approx(1)
    solve_contest(question, comparison, rollouts, config, time.perf_counter() + 600)
    assert rollouts.decisions > 0
    payoffs = comparison.payoffs.copy()
    payoffs[-1, 1 - comparison.best] = np.nan
    assert contested(replace(comparison, payoffs=payoffs)).tolist() == [comparison.best]


@pytest.mark.parametrize("seed", range(3))
def test_clusters_are_few_deterministic_and_alike_for_equal_features(seed) -> None:
    rng = np.random.default_rng(seed)
    features = np.round(rng.normal(size=(40, 3)), 1)
    features[::4] = features[0]
    k = int(rng.integers(1, 9))
    found = cluster_rows(features, k)
    assert np.array_equal(found, cluster_rows(features * 7 + 3, k))
    assert len(np.unique(found)) <= k
    assert len(np.unique(found[::4])) == 1
    assert np.array_equal(np.unique(found), np.arange(found.max() + 1))
    first = np.unique(found, return_index=True)[1]
    assert np.all(np.diff(first) > 0)
    far = (np.where(np.arange(40) < 20, 0.0, 100.0) + rng.normal(size=40))[:, None]
    two = cluster_rows(far, 2)
    assert np.array_equal(two, (np.arange(40) >= 20).astype(int))
