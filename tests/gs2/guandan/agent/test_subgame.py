"""Generative subgame solving at GuanDan: which deals, which moves, who decides, and what comes out."""

from __future__ import annotations

import time

import numpy as np
import pytest

from games.guandan.cards import PASS
from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import GuanDan, advance
from gs2.guandan.agent.agent import Gs2Agent
from gs2.guandan.agent.deals.determinize import sample_worlds
from gs2.guandan.agent.deals.particles import Memories, top_up
from gs2.guandan.agent.decision import Decision
from gs2.guandan.agent.endgame import solve_endgame
from gs2.guandan.agent.evaluator import evaluator_values
from gs2.guandan.agent.guandan_config import agent_preset
from gs2.guandan.agent.racing import candidate_moves
from gs2.guandan.agent.rollout import Rollouts
from gs2.guandan.agent.solving.deal_source import (
    Deals,
    DealSource,
    branches,
    opponents_of,
    solve_deals,
    valued,
)
from tests.gs2.guandan.blueprints import CountEvaluator, counting, midgame
from tests.gs2.guandan.test_endgame import alone, endgames
from tests.patience import amount

PAPER = agent_preset("paper").replace(
    sample=60, k=5, subgame_depth=4, crowd_depth=3, leaf="value", room=300, iterations=60, deadline=600.0
)


def solved(state: np.ndarray, config=PAPER, seed: int = 0):
    """Return the solution at one state, as the agent finds it."""
    rng = np.random.default_rng(seed)
    evaluator = CountEvaluator(noise=0.05)
    moves = legal(state, canonical=True)
    q = evaluator_values(evaluator, state, moves)

    def draw() -> Deals:
        worlds = sample_worlds(state, int(state["player"][0]), config.deals.sample, rng)
        return valued(worlds, evaluator, config)

    decision = Decision(state, moves.values)
    decision.candidates = candidate_moves(q, moves.values["type"], config)
    return solve_deals(DealSource(decision, time.perf_counter() + 60, draw, Rollouts(evaluator), config), rng)


@pytest.mark.parametrize("gadget", ["auto", "resolve", "maxmargin", "unsafe"])
def test_every_gadget_gives_a_policy_over_the_candidates(gadget: str) -> None:
    rng = np.random.default_rng(1)
    for row in midgame(2, rng, plies=70, least=3):
        state = np.atleast_1d(row)
        result = solved(state, PAPER.replace(gadget=gadget))
        assert result.policy.sum() == pytest.approx(1.0)
        assert len(result.policy) == len(result.moves) == len(set(result.moves.tolist()))
        assert result.alternative.shape == result.solved.shape == (len(result.opponents), len(result.worlds))
        assert np.all(np.abs(result.solved) <= 3)


def test_with_one_opponent_left_the_margin_is_maximised() -> None:
    states = midgame(amount(600, 120), np.random.default_rng(2), plies=95, least=2)
    alone = [state for state in map(np.atleast_1d, states) if len(opponents_of(state)) == 1]
    for state in alone[: amount(3, 2)]:
        auto, named = solved(state), solved(state, PAPER.replace(gadget="maxmargin"))
        assert np.allclose(auto.policy, named.policy)
    assert len(alone) >= 2


def test_moves_are_kept_by_type_and_the_pass_always() -> None:
    rng = np.random.default_rng(5)
    evaluator = CountEvaluator(noise=0.05)
    states = midgame(20, rng, plies=30)
    moves = legal(states, canonical=True)
    keep = branches(evaluator, states, moves, 2, 10_000)
    q = evaluator_values(evaluator, states, moves)
    for i in range(len(moves)):
        rows = slice(moves.offsets[i], moves.offsets[i + 1])
        for kind in np.unique(moves[i]["type"]):
            of_kind = np.flatnonzero(moves[i]["type"] == kind)
            best = of_kind[np.argsort(-q[rows][of_kind], kind="stable")[:2]]
            assert set(np.flatnonzero(keep[rows] & (moves[i]["type"] == kind))) == set(best.tolist())
    fewer = branches(evaluator, states, moves, 2, 40)
    assert np.count_nonzero(fewer) < np.count_nonzero(keep)
    assert np.all(np.add.reduceat(fewer.astype(int), moves.offsets[:-1]) >= 1)
    assert np.all(keep[moves.values["type"] == PASS])


def test_an_endgame_solved_as_a_subgame_wins_what_can_be_won() -> None:
    rng = np.random.default_rng(6)
    config = PAPER.replace(
        actions_per_type=99, subgame_depth=40, crowd_depth=40, room=100_000, candidates=99, iterations=400
    )
    tested = 0
    for state in endgames(amount(30, 12), rng, most=7):
        moves = legal(state, canonical=True).values
        won = solve_endgame(alone(state), moves, 100_000).values[0]
        if won.max() == won.min():
            continue
        result = solved(state, config.replace(per_type=None))
        assert won[result.moves[np.argmax(result.policy)]] == won.max()
        tested += 1
    assert tested >= 2


def test_particles_survive_exactly_while_they_agree() -> None:
    rng = np.random.default_rng(8)
    state = np.atleast_1d(midgame(1, rng, plies=24)[0])
    seat = int(state["player"][0])
    worlds = sample_worlds(state, seat, 200, rng)
    memories = Memories()
    particles = memories.of(state, seat)
    particles.remember(worlds.states)
    assert len(particles.survivors(state, seat)) == 200
    # the truth is among them: it survives everything
    particles.remember(np.concatenate([worlds.states[:199], state]))
    later = state.copy()
    counts = []
    for _ in range(6):
        if later["player"][0] < 0:
            break
        moves = legal(later, canonical=True).values
        advance(later, moves[-1:])
        alive = particles.survivors(later, seat)
        counts.append(len(alive))
        assert len(alive) >= 1
        game = GuanDan()
        assert np.all(game.infoset_key(alive, seat) == game.infoset_key(later, seat))
        assert np.array_equal(np.sort(alive["left"], 0), np.sort(np.repeat(later["left"], len(alive), 0), 0))
    assert counts == sorted(counts, reverse=True) and counts[-1] < 200
    other = np.atleast_1d(midgame(1, rng, plies=20)[0])
    assert memories.of(later, seat) is particles
    assert len(memories.of(other, seat).survivors(other, seat)) == 0, "nor do they pass into another round"


def test_topping_up_takes_the_most_different() -> None:
    kept = np.array([[0.0, 1.0]])
    offered = np.array([[0.1, 5.0, 4.9, -3.0, 0.9]])
    assert top_up(kept, offered, 2).tolist() == [1, 3]
    assert len(top_up(np.zeros((1, 0)), offered, 9)) == 5
    assert len(top_up(kept, offered, 0)) == 0


def test_nested_search_keeps_deals_from_one_decision_to_the_next() -> None:
    rng = np.random.default_rng(10)
    agent = Gs2Agent(counting(noise=0.05), PAPER.replace(k=8), rng)
    base = Gs2Agent(counting(noise=0.05), "blueprint", rng)
    state = np.atleast_1d(midgame(1, rng, plies=30)[0])
    shared = 0
    before: set[bytes] = set()
    seat = int(state["player"][0])
    while state["player"][0] >= 0:
        if state["player"][0] == seat:
            decision = agent.decide(state)
            if decision.worlds is not None and not decision.worlds.exact:
                initial = decision.worlds.states["hand"] + decision.worlds.states["played"]
                now = {row.tobytes() for row in initial}
                shared += bool(now & before)
                before = now
                assert len(decision.worlds) == 8
            advance(state, decision.action)
        else:
            advance(state, base.decide(state).action)
    assert shared >= 1
