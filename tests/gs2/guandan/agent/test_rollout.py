"""Rollouts against a slow twin, and moves compared by them: the estimate, and which move is picked."""

from __future__ import annotations

import time

import numpy as np
import pytest

from blueprint.protocol import Decisions
from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import GuanDan, advance
from games.support.configuration import ConfigError
from gs2.guandan.agent.deals.determinize import sample_worlds
from gs2.guandan.agent.evaluator import BATCH, evaluator_values
from gs2.guandan.agent.guandan_config import PRESETS, GuanDanConfig, agent_preset
from gs2.guandan.agent.racing import Evidence, Question, candidate_moves, compare_moves, posterior
from gs2.guandan.agent.rollout import Rollouts
from tests.gs2.guandan.blueprints import CountEvaluator, midgame
from tests.patience import amount

GAME = GuanDan(moves="canonical")


def slow_payoff(evaluator, state: np.ndarray, depth: int | None, player=None) -> float:
    """Return the payoff to team 0 of playing one state on, the obvious way."""
    state = state.copy()
    taken = 0
    while state["player"][0] >= 0:
        moves = legal(state, canonical=True)
        seat = state["player"].astype(np.int64)
        if len(moves.values) > 1:
            if depth is not None and taken >= depth:
                value = evaluator.values(state, np.zeros(1, np.int64), seat)[0]
                return value if seat[0] % 2 == 0 else -value
            q = (player or evaluator).advantages(Decisions.of(state, moves))
            best = int(np.argmax(q))
            taken += 1
        else:
            best = 0
        advance(state, moves.values[best : best + 1])
    return float(GAME.returns(state)[0, 0])


@pytest.mark.parametrize("depth", [0, 1, 5, None])
def test_lockstep_rollouts_equal_one_state_at_a_time_whoever_moves(depth: int | None) -> None:
    evaluator, player = (CountEvaluator(noise=noise) for noise in (0.1, 3.0))
    states = midgame(amount(40, 10), np.random.default_rng(7), plies=50)
    found = []
    for other in (None, player):
        wanted = [slow_payoff(evaluator, states[i : i + 1], depth, other) for i in range(len(states))]
        found.append(Rollouts(evaluator, other).payoffs(states.copy(), depth))
        assert np.allclose(found[-1], wanted)
    assert np.allclose(*found) == (depth == 0)


def test_a_deadline_in_the_past_values_states_where_they_stand() -> None:
    evaluator = CountEvaluator()
    states = midgame(10, np.random.default_rng(1))
    rollouts = Rollouts(evaluator)
    got = rollouts.payoffs(states.copy(), None, time.perf_counter() - 1)
    assert rollouts.decisions == 0
    assert np.allclose(got, Rollouts(evaluator).payoffs(states.copy(), 0))


def test_batches_do_not_change_the_answer() -> None:
    evaluator = CountEvaluator(noise=0.1)
    states = midgame(BATCH + 50, np.random.default_rng(2), plies=40)
    rollouts = Rollouts(evaluator)
    together = rollouts.payoffs(states.copy(), 4)
    apart = [rollouts.payoffs(part.copy(), 4) for part in np.array_split(states, 20)]
    assert np.allclose(together, np.concatenate(apart))


@pytest.mark.parametrize("seed", range(16))
def test_the_estimate_is_the_normal_posterior_of_the_deals_that_were_played(seed: int) -> None:
    """Without any the blueprint is believed; of weights ratios count; of all deals rollouts alone decide."""
    rng = np.random.default_rng(seed)
    n, trust, missing = int(rng.integers(1, 50)), float(rng.uniform(0.05, 0.5)), seed % 3 / 2
    payoffs, prior = rng.normal(size=(n, 4)), rng.normal(size=4) * 0.3
    payoffs[rng.random(n) < 0.4, 2] = payoffs[:, 3] = np.nan
    weights = rng.uniform(0.5, 9, n) if seed % 2 else np.eye(n)[n // 2] * 7
    mean, error = posterior(Evidence(payoffs, weights, prior, trust, missing), 0)
    assert mean[0] == error[0] == 0
    for j in (1, 2, 3):
        there = ~np.isnan(payoffs[:, j]) & (weights > 0)
        precision, found = trust**-2, (prior[j] - prior[0]) / trust**2
        if there.any():
            share, difference = weights[there] / weights[there].sum(), (payoffs[:, j] - payoffs[:, 0])[there]
            count, centre = 1 / (share**2).sum(), share @ difference
            variance = (count * (share @ (difference - centre) ** 2) + 6 * 1.5**2) / (count + 6)
            noise = max(missing * variance / count, 0.02**2)
            precision, found = precision + 1 / noise, found + centre / noise
        elif missing == 0:
            continue  # every deal was played, and this move in none of them
        assert mean[j] == pytest.approx(found / precision, abs=1e-6)
        assert error[j] == pytest.approx(precision**-0.5, rel=1e-6)


def test_candidates_are_those_near_the_best_and_few_of_a_type() -> None:
    config = GuanDanConfig.of(gap=0.5, candidates=4)
    q = np.array([0.0, 0.9, 1.0, 0.6, 0.7, 0.8, 0.4])
    kinds = np.array([0, 1, 1, 1, 2, 1, 2])
    assert candidate_moves(q, kinds, config).tolist() == [2, 1, 5, 4]
    assert candidate_moves(q, kinds, config.replace(per_type=2)).tolist() == [2, 1, 4]
    assert candidate_moves(q, kinds, config.replace(per_type=1, gap=9.0, candidates=9)).tolist() == [2, 4, 0]


def test_a_move_that_wins_the_round_is_found_against_the_blueprint() -> None:
    evaluator = CountEvaluator()
    rng = np.random.default_rng(4)
    tested = 0
    for row in midgame(amount(1500, 500), rng, plies=110):
        state = np.atleast_1d(row)
        seat = int(state["player"][0])
        moves = legal(state, canonical=True).values
        done = np.repeat(state, len(moves))
        advance(done, moves)
        payoff = GuanDan().returns(done)[:, seat] * (done["player"] < 0)
        if payoff.max() < 2 or len(moves) > 12:
            continue
        # a blueprint's opinion that would leave the winning move out on noise alone
        prior = np.where(payoff == payoff.max(), -0.2, 0.0)
        order = np.argsort(-prior)
        worlds = sample_worlds(state, seat, 64, rng)
        [result] = compare_moves(
            [Question(state, moves[order], prior[order], worlds)],
            Rollouts(evaluator),
            agent_preset("standard").replace(depth=None),
            time.perf_counter() + 60,
        )
        chosen = order[result.best]
        mean = np.nanmean(result.payoffs, 0)
        assert mean[result.best] >= payoff.max() - 0.5
        assert payoff[chosen] == payoff.max() or mean[result.best] > payoff.max() - 0.5
        tested += 1
    assert tested >= 3


def test_comparison_stops_at_the_deadline_with_what_it_has() -> None:
    evaluator = CountEvaluator()
    rng = np.random.default_rng(5)
    state = np.atleast_1d(midgame(1, rng, plies=20, least=4)[0])
    moves = legal(state, canonical=True)
    q = evaluator_values(evaluator, state, moves)
    order = np.argsort(-q)[:3]
    worlds = sample_worlds(state, int(state["player"][0]), 40, rng)
    [result] = compare_moves(
        [Question(state, moves.values[order], q[order], worlds)],
        Rollouts(evaluator),
        agent_preset("standard"),
        time.perf_counter() - 1,
    )
    assert result.stopped == "deadline" and result.rollouts == 0 and result.best == 0


def test_a_field_out_of_range_or_unknown_names_itself() -> None:
    assert all(agent_preset(name).name == name for name in PRESETS)
    with pytest.raises(ConfigError, match="paper"):
        agent_preset("slow")
    wrong = {"worlds": 0, "method": "magic", "deadline": -1.0, "depth": -1, "anchor": 0.0, "k": True}
    for field, value in (wrong | {"colour": 1}).items():
        with pytest.raises(ConfigError, match=field):
            GuanDanConfig().replace(**{field: value})
