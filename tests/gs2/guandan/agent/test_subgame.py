"""The published agent: what it draws and keeps (C.5 to C.7), and its subgames by whatever gadget."""

from __future__ import annotations

import time

import numpy as np
import pytest

from blueprint.protocol import PlayedMoves
from games.game import TERMINAL
from games.guandan.cards import ACTION, PASS
from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import GuanDan, advance, deal
from games.support.configuration import ConfigError
from gs2.guandan.agent.agent import Gs2Agent
from gs2.guandan.agent.deals.dealing import (
    Dealer,
    DealNetworks,
    supported,
)
from gs2.guandan.agent.deals.determinize import Worlds, sample_worlds
from gs2.guandan.agent.decision import Decision
from gs2.guandan.agent.endgame import solve_endgame
from gs2.guandan.agent.evaluator import evaluator_values
from gs2.guandan.agent.guandan_config import GuanDanConfig, agent_preset
from gs2.guandan.agent.racing import candidate_moves
from gs2.guandan.agent.rollout import Rollouts
from gs2.guandan.agent.solving.deal_source import (
    DealMemory,
    DealProblem,
    Deals,
    best_values,
    branches,
    choose_worlds,
    opponents_of,
    renewed,
    top_up,
    valued,
)
from tests.gs2.guandan.agent.test_sampling import play
from tests.gs2.guandan.blueprints import CountEvaluator, counting, midgame
from tests.gs2.guandan.test_endgame import alone, endgames
from tests.patience import amount

PAPER = agent_preset("paper")
SMALL = PAPER.replace(
    sample=60, k=5, subgame_depth=4, crowd_depth=3, leaf="value", room=300, iterations=60, deadline=600.0
)
TOLERANCE = 1e-6


def weighed(state: np.ndarray, n: int, seed: int, share: float) -> Deals:
    """Return deals of which some weigh nothing, with random alternative values, nan where they do."""
    rng = np.random.default_rng(seed)
    worlds = sample_worlds(state, int(state["player"][0]), n, rng, listed=0)
    weights = (rng.random(n) < share).astype(float)
    values = np.where(weights > 0, rng.normal(size=(2, n)), np.nan)
    return Deals(Worlds(worlds.states, weights, False), values)


def test_the_preset_is_what_the_paper_prints() -> None:
    printed = {"sample": 1000, "k": 10, "belief": 0.0, "reach": 1.0, "greedy": True, "nested": True}
    printed |= {"per_type": 2, "actions_per_type": 2, "subgame_depth": 10, "crowd_depth": 8}
    printed |= {"alternative": "best", "generator": "diverse", "gadget": "auto", "leaf": "rollout"}
    told = PAPER.to_json()
    assert {name: told[name] for name in printed} == printed
    assert told["playing"] == "blueprint"


def test_random_histories_are_the_only_difference_of_gs2_r_and_no_reach_never_counts() -> None:
    diverse, other = PAPER, PAPER.replace(generator="random")
    told, random = diverse.to_json(), other.to_json()
    assert {name for name in told if told[name] != random[name]} == {"generator"}
    state = np.atleast_1d(midgame(1, np.random.default_rng(0), plies=30)[0])
    for seed in range(amount(20, 8)):
        deals = weighed(state, 60, seed, (0.0, 0.1, 0.4, 1.0)[seed % 4])
        live = np.flatnonzero(deals.worlds.weights > 0)
        for config in (diverse, other):
            rows = choose_worlds(deals, config, np.random.default_rng(seed)).tolist()
            assert len(rows) == len(set(rows)) == 10 and rows == sorted(rows)
            assert len(set(live) & set(rows)) == min(10, len(live)), "either takes what has weight first"
            if config is diverse and len(live) >= 10:
                alone = Deals(deals.worlds.take(live), deals.values[:, live])
                assert rows == live[choose_worlds(alone, config, np.random.default_rng(seed))].tolist()


def test_what_stays_is_what_has_weight_then_the_most_different_new() -> None:
    state = np.atleast_1d(midgame(1, np.random.default_rng(4), plies=30)[0])
    for seed in range(amount(30, 10)):
        rng = np.random.default_rng(seed)
        old, new = weighed(state, 10, seed, rng.random()), weighed(state, 50, seed + 99, rng.random() ** 3)
        for config in (PAPER, PAPER.replace(generator="random")):
            found = renewed(old, new, config, np.random.default_rng(seed))
            assert found.settled and len(found.worlds) == found.values.shape[1] == 10
            there = int((old.worlds.weights > 0).sum())
            offered = int((new.worlds.weights > 0).sum())
            assert (found.worlds.weights > 0).sum() == min(10, there + offered)
            kept = old.worlds.states["hand"][old.worlds.weights > 0]
            assert np.array_equal(found.worlds.states["hand"][:there], kept)
        live = np.flatnonzero(new.worlds.weights > 0)
        found = renewed(old, new, PAPER, np.random.default_rng(seed))
        if 0 < there < 10 and len(live):
            near = [
                np.square(new.values[:, [i]] - old.values[:, old.worlds.weights > 0]).sum(0).min()
                for i in live
            ]
            first = found.values[:, found.worlds.weights > 0][:, there]
            assert np.allclose(first, new.values[:, live[int(np.argmax(near))]])


def test_particles_survive_by_play_as_well_as_by_cards() -> None:
    rng, networks = np.random.default_rng(5), DealNetworks(CountEvaluator())
    seen = 0
    for seed in range(3):
        state, moves, _ = play(9, seed)
        worlds = sample_worlds(state, int(state["player"][0]), 60, rng, listed=0)
        found = Dealer(state, moves, networks, PAPER.deals, rng).weighed(worlds)
        assert np.array_equal(found.weights > 0, supported(worlds.states, state, moves, CountEvaluator()))
        seen += int((found.weights == 0).sum())
        for known, config in ((None, PAPER), (moves, PAPER.replace(reach=0.0))):
            assert np.all(Dealer(state, known, networks, config.deals, rng).weighed(worlds).weights)
    assert seen


def test_an_opponent_declines_for_the_largest_q_of_its_next_decision() -> None:
    evaluator, game, temperature = CountEvaluator(0.05), GuanDan(moves="canonical"), 0.1
    for state in midgame(amount(12, 6), np.random.default_rng(6), plies=50):
        state = np.atleast_1d(state)
        for seat in opponents_of(state):
            at = state.copy()
            while at["player"][0] not in (seat, TERMINAL):
                table = legal(at, canonical=True)
                advance(at, table.values[[int(np.argmax(evaluator_values(evaluator, at, table)))]])
            if at["player"][0] == seat:
                table = legal(at, canonical=True)
                q = evaluator_values(evaluator, at, table).astype(float)
                soft = np.exp((q - q.max()) / temperature)
                value = evaluator.values(at, np.array([0]), np.array([seat]))[0]
                expected = float(np.max(q - soft @ q / soft.sum() + value))
            else:
                expected = float(game.returns(at)[0, seat])
            found = best_values(evaluator, state, seat, temperature)
            assert found == pytest.approx([np.clip(expected, -3, 3)], abs=TOLERANCE)


def test_in_a_round_deals_weigh_what_the_play_of_the_others_says() -> None:
    agent = Gs2Agent(counting(), SMALL, np.random.default_rng(7))
    base = Gs2Agent(counting(), "blueprint", np.random.default_rng(7))
    state, seats, made = deal(1, np.random.default_rng(8)), [], []
    solved = dropped = 0
    while state["player"][0] >= 0 and solved < 4:
        moves = PlayedMoves(np.array(seats, np.uint8), np.concatenate([np.zeros(0, ACTION), *made]))
        seat = int(state["player"][0])
        decision = (agent if seat == 0 else base).decide(state, moves=moves)
        if seat == 0 and decision.solution is not None:
            solved += 1
            assert not decision.notes
            worlds, root = decision.worlds, decision.solution.worlds
            live = supported(worlds.states, state, moves, CountEvaluator())
            assert np.array_equal(worlds.weights > 0, live)
            if len(opponents_of(state)) == 2:
                assert len(root) == (live.sum() or len(worlds))
                share = root.weights / root.weights.sum()
                assert np.allclose(share, 1 / len(root)) or worlds.exact
            dropped += int((~live).sum())
        seats.append(seat)
        made.append(decision.action)
        advance(state, decision.action)
    assert solved == 4 and dropped


def test_with_many_cards_out_the_blueprint_plays() -> None:
    state = np.atleast_1d(midgame(1, np.random.default_rng(9), plies=12, least=4)[0])
    others = int(np.delete(state["left"][0], int(state["player"][0])).sum())
    for most, stage in ((others - 1, "blueprint"), (others, "subgame")):
        agent = Gs2Agent(counting(), SMALL.replace(most_cards=most), np.random.default_rng(1))
        assert agent.decide(state).stage == stage


def test_the_greedy_reach_needs_several_plies_and_a_reach() -> None:
    for fields, needs in (
        ({"method": "rollout", "greedy": True}, "method = subgame"),
        ({"method": "subgame", "leaf": "value", "greedy": True, "reach": 0.0}, "a reach above 0"),
        ({"method": "subgame", "leaf": "value", "greedy": True, "pool": 9}, "greedy = false"),
    ):
        with pytest.raises(ConfigError, match=needs):
            GuanDanConfig.of(**fields)


def solved(state: np.ndarray, config=SMALL, seed: int = 0):
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
    return DealProblem(decision, time.perf_counter() + 60, Rollouts(evaluator), config).solve(draw, rng)


@pytest.mark.parametrize("gadget", ["auto", "resolve", "maxmargin", "unsafe"])
def test_every_gadget_gives_a_policy_over_the_candidates(gadget: str) -> None:
    rng = np.random.default_rng(1)
    for row in midgame(2, rng, plies=70, least=3):
        state = np.atleast_1d(row)
        result = solved(state, SMALL.replace(gadget=gadget))
        assert result.policy.sum() == pytest.approx(1.0)
        assert len(result.policy) == len(result.moves) == len(set(result.moves.tolist()))
        assert result.alternative.shape == result.solved.shape == (len(result.opponents), len(result.worlds))
        assert np.all(np.abs(result.solved) <= 3)


def test_with_one_opponent_left_the_margin_is_maximised() -> None:
    states = midgame(amount(600, 120), np.random.default_rng(2), plies=95, least=2)
    alone = [state for state in map(np.atleast_1d, states) if len(opponents_of(state)) == 1]
    for state in alone[: amount(3, 2)]:
        auto, named = solved(state), solved(state, SMALL.replace(gadget="maxmargin"))
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
    config = SMALL.replace(
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
    particles = DealMemory()
    particles.remember(worlds.states, seat)
    assert len(particles.survivors(state, seat)) == 200
    # the truth is among them: it survives everything
    particles.remember(np.concatenate([worlds.states[:199], state]), seat)
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
    assert len(particles.survivors(other, seat)) == 0, "nor do they pass into another round"


def test_topping_up_takes_the_most_different() -> None:
    kept = np.array([[0.0, 1.0]])
    offered = np.array([[0.1, 5.0, 4.9, -3.0, 0.9]])
    assert top_up(kept, offered, 2).tolist() == [1, 3]
    assert len(top_up(np.zeros((1, 0)), offered, 9)) == 5
    assert len(top_up(kept, offered, 0)) == 0


def test_nested_search_keeps_deals_from_one_decision_to_the_next() -> None:
    rng = np.random.default_rng(10)
    agent = Gs2Agent(counting(noise=0.05), SMALL.replace(k=8), rng)
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
