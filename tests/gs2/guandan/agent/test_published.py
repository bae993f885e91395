"""The published agent of GuanDan (GS2 supplement, C.5 to C.7): chance weights, support, particles and u*."""

from __future__ import annotations

import numpy as np
import pytest

from blueprint.guandan.chooser import PlayedMoves
from games.game import TERMINAL
from games.guandan.cards import ACTION
from games.guandan.rounds.round import GuanDan, advance, deal, legal
from games.support.configuration import ConfigError
from gs2.guandan.agent.agent import Gs2Agent
from gs2.guandan.agent.agent_presets import agent_preset
from gs2.guandan.agent.deals.dealing import Dealer, DealNetworks
from gs2.guandan.agent.deals.determinize import Worlds, sample_worlds
from gs2.guandan.agent.deals.reach import supported
from gs2.guandan.agent.evaluator import BlueprintEvaluator, evaluator_values
from gs2.guandan.agent.guandan_config import GuanDanConfig
from gs2.guandan.agent.solving.deal_source import Deals, best_values, choose_worlds, opponents_of, renewed
from tests.gs2.guandan.agent.test_reach import play
from tests.gs2.guandan.blueprints import CountBlueprint, CountEvaluator, midgame

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
    printed = {
        "sample": 1000,
        "k": 10,
        "belief": 0.0,
        "reach": 1.0,
        "greedy": True,
        "nested": True,
        "per_type": 2,
        "actions_per_type": 2,
        "subgame_depth": 10,
        "crowd_depth": 8,
        "alternative": "best",
        "generator": "diverse",
        "gadget": "auto",
        "leaf": "rollout",
        "playing": "blueprint",
    }
    told = PAPER.to_json()
    assert {name: told[name] for name in printed} == printed


def test_random_histories_are_the_only_difference_of_gs2_r() -> None:
    diverse, other = PAPER.to_json(), PAPER.replace(generator="random").to_json()
    assert {name for name in diverse if diverse[name] != other[name]} == {"generator"}
    state = np.atleast_1d(midgame(1, np.random.default_rng(0), plies=30)[0])
    for share in (0.0, 0.1, 1.0):
        deals = weighed(state, 60, 1, share)
        live = set(np.flatnonzero(deals.worlds.weights > 0))
        for config in (PAPER, PAPER.replace(generator="random")):
            rows = choose_worlds(deals, config, np.random.default_rng(2)).tolist()
            assert len(rows) == len(set(rows)) == 10 and rows == sorted(rows)
            assert len(live & set(rows)) == min(10, len(live)), "either takes what has weight first"


def test_deals_of_no_reach_never_count_for_diversity() -> None:
    state = np.atleast_1d(midgame(1, np.random.default_rng(3), plies=30)[0])
    for seed in range(20):
        deals = weighed(state, 80, seed, 0.4)
        live = np.flatnonzero(deals.worlds.weights > 0)
        alone = Deals(deals.worlds.take(live), deals.values[:, live])
        rows = choose_worlds(deals, PAPER, np.random.default_rng(seed))
        same = choose_worlds(alone, PAPER, np.random.default_rng(seed))
        assert rows.tolist() == live[same].tolist()


def test_what_stays_is_what_has_weight_then_the_most_different_new() -> None:
    state = np.atleast_1d(midgame(1, np.random.default_rng(4), plies=30)[0])
    for seed in range(30):
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
    rng = np.random.default_rng(5)
    seen = 0
    for seed in range(3):
        state, moves, _ = play(9, seed)
        seat = int(state["player"][0])
        dealer = Dealer(state, moves, DealNetworks(CountEvaluator()), PAPER.deals, rng)
        worlds = sample_worlds(state, seat, 60, rng, listed=0)
        found = dealer.weighed(worlds)
        assert np.array_equal(found.weights > 0, supported(worlds.states, state, moves, CountEvaluator()))
        seen += int((found.weights == 0).sum())
        assert np.all(
            Dealer(state, None, DealNetworks(CountEvaluator()), PAPER.deals, rng).weighed(worlds).weights
        )
        without = PAPER.replace(reach=0.0).deals
        assert np.all(
            Dealer(state, moves, DealNetworks(CountEvaluator()), without, rng).weighed(worlds).weights
        )
    assert seen


@pytest.mark.parametrize("evaluator", [CountEvaluator(0.05), BlueprintEvaluator(CountBlueprint(0.05))])
def test_an_opponent_declines_for_the_largest_q_of_its_next_decision(evaluator) -> None:
    game, temperature = GuanDan(moves="canonical"), 0.1
    for state in midgame(12, np.random.default_rng(6), plies=50):
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
                value = evaluator.views(at, np.array([0]), np.array([seat]))[0]
                expected = float(np.max(q - soft @ q / soft.sum() + value))
            else:
                expected = float(game.returns(at)[0, seat])
            found = best_values(evaluator, state, seat, temperature)
            assert found == pytest.approx([np.clip(expected, -3, 3)], abs=TOLERANCE)


def test_in_a_round_deals_weigh_what_the_play_of_the_others_says() -> None:
    agent = Gs2Agent(CountEvaluator(), SMALL, np.random.default_rng(7))
    base = Gs2Agent(CountEvaluator(), "blueprint", np.random.default_rng(7))
    state, seats, made = deal(1, np.random.default_rng(8)), [], []
    solved = dropped = 0
    while state["player"][0] >= 0 and solved < 8:
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
    assert solved == 8 and dropped


def test_with_many_cards_out_the_blueprint_plays() -> None:
    state = np.atleast_1d(midgame(1, np.random.default_rng(9), plies=12, least=4)[0])
    others = int(np.delete(state["left"][0], int(state["player"][0])).sum())
    for most, stage in ((others - 1, "blueprint"), (others, "subgame")):
        agent = Gs2Agent(CountEvaluator(), SMALL.replace(most_cards=most), np.random.default_rng(1))
        assert agent.decide(state).stage == stage


def test_the_greedy_reach_needs_several_plies_and_a_reach() -> None:
    for fields, needs in (
        ({"method": "rollout", "greedy": True}, "method = subgame"),
        ({"method": "subgame", "leaf": "value", "greedy": True, "reach": 0.0}, "a reach above 0"),
        ({"method": "subgame", "leaf": "value", "greedy": True, "pool": 9}, "greedy = false"),
    ):
        with pytest.raises(ConfigError, match=needs):
            GuanDanConfig.of(**fields)
