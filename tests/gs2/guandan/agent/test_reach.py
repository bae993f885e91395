"""The blueprint's reach of what the others played, and deals drawn by it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from blueprint.guandan.chooser import PlayedMoves
from games.game import GameError
from games.guandan.cards import ACTION, PASS
from games.guandan.rounds.round import advance, deal, legal
from gs2.guandan.agent.agent import Gs2Agent
from gs2.guandan.agent.agent_presets import agent_preset
from gs2.guandan.agent.deals.determinize import Worlds, sample_worlds
from gs2.guandan.agent.deals.reach import (
    LEAST,
    SoftPolicy,
    drawn_worlds,
    likely_worlds,
    log_reach,
    moves_to_weigh,
    replayed,
    supported,
)
from gs2.guandan.agent.evaluator import evaluator_values
from tests.gs2.guandan.blueprints import CountEvaluator

TEMPERATURE = 0.1
SOFT = SoftPolicy(CountEvaluator(), TEMPERATURE)


def play(plies: int, seed: int) -> tuple[np.ndarray, PlayedMoves, np.ndarray]:
    """Return (state with a choice, the moves of its round, the states before them) of greedy self-play."""
    state = deal(1, np.random.default_rng(seed))
    before, seats, moves = [], [], []
    while True:
        table = legal(state, canonical=True)
        if len(moves) >= plies and len(table.values) > 1:
            return (
                state,
                PlayedMoves(np.array(seats, np.uint8), np.concatenate(moves)),
                np.concatenate(before),
            )
        q = evaluator_values(CountEvaluator(), state, table)
        move = table.values[[int(np.argmax(q))]]
        before.append(state.copy())
        seats.append(int(state["player"][0]))
        moves.append(move)
        advance(state, move)
        assert state["player"][0] >= 0


def slow_log_reach(held: np.ndarray, seat: int, moves: PlayedMoves, before: np.ndarray) -> float:
    """Return the log probability of the others' moves in one deal, one state at a time."""
    total = 0.0
    for k in range(len(moves)):
        if moves.seats[k] == seat:
            continue
        here = before[k : k + 1].copy()
        here["hand"] = held["hand"] + held["played"] - here["played"]
        table = legal(here, canonical=True)
        q = evaluator_values(CountEvaluator(), here, table) / TEMPERATURE
        soft = np.exp(q - q.max()) / np.exp(q - q.max()).sum()
        done = moves.actions[k]
        like = [
            p
            for p, other in zip(soft, table.values, strict=True)
            if all(other[name] == done[name] for name in ("type", "rank", "size"))
        ]
        total += np.log(max(LEAST, *like, 0.0))
    return total


def test_the_round_is_replayed_from_its_start() -> None:
    for seed in range(3):
        state, moves, before = play(20, seed)
        again = replayed(state, moves)
        assert np.array_equal(again["hash"], before["hash"])
        assert np.array_equal(again["hand"], before["hand"])
        short = PlayedMoves(moves.seats[:-1], moves.actions[:-1])
        with pytest.raises(GameError, match="must lead to the state"):
            replayed(state, short)


def test_reach_is_the_product_of_the_soft_policys_probabilities() -> None:
    for seed in range(3):
        state, moves, before = play(18, seed)
        seat = int(state["player"][0])
        worlds = sample_worlds(state, seat, 12, np.random.default_rng(seed))
        which = moves_to_weigh(moves, seat)
        assert np.all(moves.seats[which] != seat) and np.all(np.diff(which) < 0)
        logs = log_reach(worlds.states, replayed(state, moves), moves, which, SOFT)
        slow = [slow_log_reach(worlds.states[i : i + 1], seat, moves, before) for i in range(12)]
        assert np.allclose(logs, slow, atol=1e-4)
        assert np.ptp(logs) > 0


def test_greedy_reach_is_one_exactly_where_every_move_of_the_others_is_the_blueprints_best() -> None:
    found = []
    for seed in range(4):
        state, moves, before = play(9, seed)
        seat = int(state["player"][0])
        worlds = sample_worlds(state, seat, 40, np.random.default_rng(seed))
        deals = np.concatenate([state, worlds.states])
        slow = np.ones(len(deals), bool)
        for i, k in itertools.product(range(len(deals)), np.flatnonzero(moves.seats != seat)):
            here = before[k : k + 1].copy()
            here["hand"] = deals["hand"][i] + deals["played"][i] - here["played"]
            table = legal(here, canonical=True)
            best = table.values[int(np.argmax(evaluator_values(CountEvaluator(), here, table)))]
            slow[i] &= all(best[name] == moves.actions[k][name] for name in ("type", "rank", "size"))
        assert supported(deals, state, moves, CountEvaluator()).tolist() == slow.tolist()
        assert slow[0], "greedy play led to the true deal"
        found += slow[1:].tolist()
    assert 0 < np.mean(found) < 1


def test_the_true_deal_is_likelier_than_others_on_average() -> None:
    gains = []
    for seed in range(12):
        state, moves, _ = play(12, seed)
        seat = int(state["player"][0])
        worlds = sample_worlds(state, seat, 30, np.random.default_rng(seed))
        deals = np.concatenate([state, worlds.states])
        logs = log_reach(deals, replayed(state, moves), moves, moves_to_weigh(moves, seat), SOFT)
        gains.append(logs[0] - np.log(np.exp(logs[1:]).mean()))
    assert np.mean(gains) > 0


def test_thinned_deals_are_likelier_than_those_they_come_from() -> None:
    gains = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        state, moves, _ = play(24, seed)
        seat = int(state["player"][0])
        worlds = sample_worlds(state, seat, 64, rng)
        found = likely_worlds(worlds, state, moves, SOFT, 8, rng)
        assert 1 <= len(found) <= 8
        before, which = replayed(state, moves), moves_to_weigh(moves, seat)
        all_, kept = (log_reach(w.states, before, moves, which, SOFT) for w in (worlds, found))
        gains.append(np.average(kept, weights=found.weights) - all_.mean())
    assert min(gains) > 0


def test_without_moves_of_others_deals_are_as_likely_as_before() -> None:
    rng = np.random.default_rng(1)
    state = deal(1, rng)
    seat = int(state["player"][0])
    worlds = sample_worlds(state, seat, 5, rng)
    nothing = PlayedMoves(np.zeros(0, np.uint8), np.zeros(0, ACTION))
    found = likely_worlds(worlds, state, nothing, SOFT, 5, rng)
    assert sorted(map(bytes, found.states["hand"])) == sorted(map(bytes, worlds.states["hand"]))
    assert np.all(found.weights == 1)


def test_deals_are_drawn_in_proportion_and_listed_ones_weighed() -> None:
    states = np.repeat(deal(3, np.random.default_rng(0)), 200)
    logs = np.repeat(np.log([0.5, 0.25, 0.25]), 200)
    drawn = drawn_worlds(Worlds(states, np.ones(600), False), logs, 400, np.random.default_rng(1))
    same = [np.all(drawn.states["hand"] == one["hand"], axis=(1, 2)) for one in states[::200]]
    shares = [drawn.weights[rows].sum() / drawn.weights.sum() for rows in same]
    assert np.allclose(shares, [0.5, 0.25, 0.25], atol=0.005)
    listed = Worlds(states[::200], np.array([1.0, 2.0, 1.0]), True)
    weighed = drawn_worlds(listed, logs[::200], 2, np.random.default_rng(1))
    assert weighed.exact and np.allclose(weighed.weights / weighed.weights.sum(), [0.4, 0.4, 0.2])


def test_an_agent_that_weighs_by_reach_plays_whole_rounds() -> None:
    config = agent_preset("rollout-fast").replace(
        replay=True, pool=12, worlds=6, wave=3, depth=2, gap=1.0, deadline=600.0
    )
    agent = Gs2Agent(CountEvaluator(), config, np.random.default_rng(0))
    state = deal(1, np.random.default_rng(2))
    seats: list[int] = []
    made: list[np.ndarray] = []
    searched = passes = 0
    while state["player"][0] >= 0:
        moves = PlayedMoves(np.array(seats, np.uint8), np.concatenate([np.zeros(0, ACTION), *made]))
        decision = agent.decide(state, moves=moves)
        assert not decision.notes
        searched += decision.stage == "rollout"
        passes += int(decision.action["type"][0] == PASS)
        seats.append(int(state["player"][0]))
        made.append(decision.action)
        advance(state, decision.action)
    assert searched > 10 and passes > 5
