"""The blueprint's reach of what the others played, deals drawn by it, the published agent (C.5 to C.7)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from blueprint.protocol import PlayedMoves
from games.game import TERMINAL, GameError
from games.guandan.cards import ACTION
from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import GuanDan, advance, deal
from games.support.configuration import ConfigError
from gs2.guandan.agent.agent import Gs2Agent
from gs2.guandan.agent.deals.dealing import (
    LEAST,
    Dealer,
    DealNetworks,
    SoftPolicy,
    drawn_worlds,
    likely_worlds,
    log_reach,
    moves_to_weigh,
    replayed,
    supported,
)
from gs2.guandan.agent.deals.determinize import Worlds, sample_worlds
from gs2.guandan.agent.evaluator import evaluator_values
from gs2.guandan.agent.guandan_config import GuanDanConfig, agent_preset
from gs2.guandan.agent.solving.deal_source import Deals, best_values, choose_worlds, opponents_of, renewed
from tests.gs2.guandan.blueprints import CountEvaluator, counting, midgame
from tests.patience import amount

TEMPERATURE = 0.1
SOFT = SoftPolicy(CountEvaluator(), TEMPERATURE)


def play(plies: int, seed: int) -> tuple[np.ndarray, PlayedMoves, np.ndarray]:
    """Return (state with a choice, the moves of its round, the states before them) of greedy self-play."""
    state = deal(1, np.random.default_rng(seed))
    before, seats, moves = [], [], []
    while True:
        table = legal(state, canonical=True)
        if len(moves) >= plies and len(table.values) > 1:
            made = np.concatenate([np.zeros(0, ACTION), *moves])
            return state, PlayedMoves(np.array(seats, np.uint8), made), np.concatenate([state[:0], *before])
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
    for seed in range(amount(4, 2)):
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
    # without moves of the others, deals are as likely as before
    state = deal(1, np.random.default_rng(1))
    nothing = PlayedMoves(np.zeros(0, np.uint8), np.zeros(0, ACTION))
    worlds = sample_worlds(state, int(state["player"][0]), 5, np.random.default_rng(1))
    found = likely_worlds(worlds, state, nothing, SOFT, 5, np.random.default_rng(1))
    assert sorted(map(bytes, found.states["hand"])) == sorted(map(bytes, worlds.states["hand"]))
    assert np.all(found.weights == 1)


def test_an_agent_that_weighs_by_reach_searches_without_a_fault() -> None:
    config = agent_preset("rollout-fast").replace(
        replay=True, pool=12, worlds=6, wave=3, depth=2, gap=1.0, deadline=600.0
    )
    agent = Gs2Agent(counting(), config, np.random.default_rng(0))
    searched = 0
    for seed, plies in enumerate((0, 8, 16, 24, 32, 40)):
        state, moves, _ = play(plies, seed)
        decision = agent.decide(state, moves=moves)
        assert not decision.notes
        searched += decision.stage == "rollout"
    assert searched > 3


PAPER = agent_preset("paper")
SMALL = PAPER.replace(
    sample=40, k=5, subgame_depth=4, crowd_depth=3, leaf="value", room=200, iterations=40, deadline=600.0
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
