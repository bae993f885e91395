"""The blueprint's reach of what the others played."""

from __future__ import annotations

import numpy as np

from games.guandan.cards import PASS
from games.guandan.rounds.round import advance, deal, legal
from gs2.guandan.agent.agent import Gs2Agent
from gs2.guandan.agent.agent_presets import agent_preset
from gs2.guandan.agent.determinize import Worlds, sample_worlds
from gs2.guandan.agent.evaluator import evaluator_values
from gs2.guandan.agent.reach import LEAST, log_reach, weigh
from tests.gs2.guandan.blueprints import CountEvaluator

TEMPERATURE = 0.1


def play(decisions: int, seed: int) -> tuple[np.ndarray, int, list, list]:
    """Return (state, seat to act, its trail, every state with the move played there) of greedy self-play."""
    evaluator, rng = CountEvaluator(), np.random.default_rng(seed)
    state = deal(1, rng)
    seat = int(state["player"][0])
    trail, record = [], []
    while len(trail) < decisions or state["player"][0] != seat:
        table = legal(state, canonical=True)
        q = evaluator_values(evaluator, state, table)
        move = table.values[[int(np.argmax(q))]]
        record.append((state.copy(), move))
        if state["player"][0] == seat:
            trail.append((state.copy(), move))
        advance(state, move)
        assert state["player"][0] >= 0
    return state, seat, trail, record


def slow_log_reach(deal_: np.ndarray, seat: int, since: list) -> float:
    """Return the log probability of the others' recorded moves in one deal, one state at a time."""
    evaluator = CountEvaluator()
    total = 0.0
    for state, move in since:
        if state["player"][0] == seat:
            continue
        here = state.copy()
        here["hand"] = deal_["hand"] + deal_["played"] - state["played"]
        table = legal(here, canonical=True)
        q = evaluator_values(evaluator, here, table) / TEMPERATURE
        soft = np.exp(q - q.max()) / np.exp(q - q.max()).sum()
        like = [
            p
            for p, other in zip(soft, table.values, strict=True)
            if all(other[name] == move[0][name] for name in ("type", "rank", "size"))
        ]
        total += np.log(max(like, default=0.0)) if max(like, default=0.0) > LEAST else np.log(LEAST)
    return total


def test_reach_is_the_product_of_the_soft_policys_probabilities() -> None:
    for seed in range(3):
        state, seat, trail, record = play(4, seed)
        worlds = sample_worlds(state, seat, 12, np.random.default_rng(seed))
        logs = log_reach(worlds.states, seat, trail, CountEvaluator(), TEMPERATURE, laps=2)
        plays = trail[-2][0]["plays"][0]
        since = next(i for i, (before, _) in enumerate(record) if before["plays"][0] == plays)
        slow = [slow_log_reach(worlds.states[i : i + 1], seat, record[since:]) for i in range(12)]
        assert np.allclose(logs, slow)
        assert np.ptp(logs) > 0


def test_the_true_deal_is_likelier_than_others_on_average() -> None:
    gains = []
    for seed in range(12):
        state, seat, trail, _ = play(3, seed)
        worlds = sample_worlds(state, seat, 30, np.random.default_rng(seed))
        logs = log_reach(np.concatenate([state, worlds.states]), seat, trail, CountEvaluator(), TEMPERATURE)
        gains.append(logs[0] - np.log(np.exp(logs[1:]).mean()))
    assert np.mean(gains) > 0


def test_a_trail_with_a_gap_says_nothing() -> None:
    state, seat, trail, _ = play(4, 1)
    worlds = sample_worlds(state, seat, 5, np.random.default_rng(0))
    gap = log_reach(worlds.states, seat, trail[:-1], CountEvaluator(), TEMPERATURE)
    assert np.all(gap == 0)
    assert np.all(log_reach(worlds.states, seat, [], CountEvaluator(), TEMPERATURE) == 0)


def test_deals_are_drawn_in_proportion_and_listed_ones_weighed() -> None:
    states = deal(3, np.random.default_rng(0))
    logs = np.log([0.5, 0.25, 0.25])
    drawn = weigh(Worlds(states, np.ones(3), False), logs, 400, np.random.default_rng(1))
    shares = [np.mean(np.all(drawn.states["hand"] == one["hand"], axis=(1, 2))) for one in states]
    assert np.allclose(shares, [0.5, 0.25, 0.25], atol=0.005)
    listed = weigh(Worlds(states, np.array([1.0, 2.0, 1.0]), True), logs, 9, np.random.default_rng(1))
    assert np.allclose(listed.weights / listed.weights.sum(), [0.4, 0.4, 0.2])


def test_an_agent_that_weighs_by_reach_plays_whole_rounds() -> None:
    config = agent_preset("fast").replace(reach=1.0, worlds=6, wave=3, depth=2, gap=1.0, deadline=30.0)
    agent = Gs2Agent(CountEvaluator(), config, np.random.default_rng(0))
    state = deal(1, np.random.default_rng(2))
    searched = passes = 0
    while state["player"][0] >= 0:
        decision = agent.decide(state)
        assert not decision.notes
        searched += decision.stage == "rollout"
        passes += int(decision.action["type"][0] == PASS)
        advance(state, decision.action)
    assert searched > 10 and passes > 5
