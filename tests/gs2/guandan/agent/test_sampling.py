"""Deals: consistent with what a seat knows, stirred as beliefs say, drawn in parts, listed where few.

And the blueprint's reach of what the others played, by which they are drawn.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter

import numpy as np
import pytest

from blueprint.guandan.network.inference import load_inference
from blueprint.guandan.network.inputs import hidden_hands
from blueprint.protocol import Decisions, PlayedMoves
from games.game import GameError
from games.guandan.cards import ACTION, DECK, pack, parse_cards, unpack
from games.guandan.combos import ORDER
from games.guandan.rounds.belief import determinise
from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import GuanDan, Shown, advance, deal, from_hands
from gs2.guandan.agent.agent import AT_FIRST, Gs2Agent
from gs2.guandan.agent.deals.dealing import (
    Dealer,
    DealNetworks,
    drawn_worlds,
    replayed,
    supported,
)
from gs2.guandan.agent.deals.determinize import Worlds, card_odds, count_bound, list_worlds, sample_worlds
from gs2.guandan.agent.evaluator import evaluator_values
from gs2.guandan.agent.guandan_config import DealsConfig, GuanDanConfig
from gs2.guandan.beliefs.belief_network import DEFAULT, BeliefNetwork, load_network, steer
from gs2.guandan.beliefs.train_beliefs import collect_positions
from tests.gs2.guandan.agent.test_agent import PLIES
from tests.gs2.guandan.blueprints import CountEvaluator, counting, midgame
from tests.patience import amount


def few_cards(*hands: str, level: int = 0, known: list[str] | None = None, cap: list[int] | None = None):
    """Return a state with these hands, every other card played by seat 0."""
    counts = np.array([parse_cards(hand) for hand in hands])
    shown = None if known is None else np.array([[parse_cards(cards) for cards in known]])
    state = from_hands(counts, level=level, shown=Shown(shown, cap))
    state["played"][0, 0] = pack(DECK - counts.sum(0))
    return state


def keys(states: np.ndarray) -> list[bytes]:
    return [row.tobytes() for row in states["hand"]]


def assert_consistent(worlds: np.ndarray, state: np.ndarray, seat: int) -> None:
    hands = unpack(worlds["hand"]).astype(int)
    assert np.array_equal(worlds["hand"][:, seat], np.repeat(state["hand"][:, seat], len(worlds), 0))
    assert np.all(hands.sum(2) == state["left"])
    assert np.all((hands + unpack(worlds["played"])).sum(1) == 2)
    game = GuanDan()
    assert np.all(game.infoset_key(worlds, seat) == game.infoset_key(state, seat))
    for name in state.dtype.names:
        if name != "hand":
            assert np.all(worlds[name] == state[name])
    for other in range(4):
        known = np.maximum(
            unpack(state["known"]).astype(int)[0, other] - unpack(state["played"])[0, other], 0
        )
        assert np.all(hands[:, other] >= known)


@pytest.mark.parametrize("belief", [False, True])
def test_sampled_deals_keep_everything_the_seat_knows(belief: bool) -> None:
    rng = np.random.default_rng(1)

    class Opinion:
        def log_odds(self, states, seats):
            return np.random.default_rng(0).normal(size=(len(states), 3, 54)) * 2

    for row in midgame(amount(8, 4), rng):
        state = np.atleast_1d(row)
        seat = int(state["player"][0])
        worlds = sample_worlds(
            state, seat, 50, rng, odds=card_odds(Opinion(), state, seat) if belief else None
        )
        assert len(worlds) == 50 or worlds.exact
        assert_consistent(worlds.states, state, seat)


def test_listing_and_stirring_respect_tribute_cards_and_caps() -> None:
    known = ["", "SA", "", ""]
    cap = [14, 14, 10, 14]
    state = few_cards("S4 D4", "SA S3 SK", "HQ D3 D9", "SB HQ", known=known, cap=cap)
    listed = list_worlds(state[0], 0, 1000)
    assert listed is not None and listed.exact
    assert_consistent(listed.states, state, 0)
    assert len(set(keys(listed.states))) == len(listed) <= count_bound(state[0], 0)
    hands = unpack(listed.states["hand"])[:, 2]
    ranks = np.minimum(np.arange(54) // 4, 12) + (np.arange(54) >= 52) + (np.arange(54) == 53)
    high = ORDER[0, ranks] > 10
    high[0] = False  # the wild card may always be held
    assert not hands[:, high].any()
    rng = np.random.default_rng(0)
    deals = determinise(np.repeat(state, 3000), 0, rng)
    assert set(keys(deals)) == set(keys(listed.states))
    stirred = steer(deals[:500], 0, rng.normal(size=(3, 54)) * 3, rng)
    assert set(keys(stirred)) <= set(keys(listed.states))
    assert np.any(stirred["hand"] != deals["hand"][:500])


def test_too_many_deals_are_not_listed_and_no_consistent_deal_is_an_error() -> None:
    state = deal(1, np.random.default_rng(0))
    assert list_worlds(state[0], 0, 100) is None
    assert count_bound(state[0], 0) > 1e30
    worlds = sample_worlds(state, 0, 30, np.random.default_rng(0))
    assert len(worlds) == 30 and not worlds.exact
    state["left"][0, 1] = 3
    state["left"][0, 2] = 60
    with pytest.raises(GameError, match="no deal agrees"):
        sample_worlds(state, 0, 4, np.random.default_rng(0))


def test_stirred_deals_follow_the_odds() -> None:
    state = few_cards("S4 D4", "SA S3", "HQ DK", "SB HQ")
    listed = list_worlds(state[0], 0, 1000)
    assert listed is not None
    rng = np.random.default_rng(6)
    odds = rng.normal(size=(3, 54))
    n = amount(60_000, 20_000)
    stirred = steer(determinise(np.repeat(state, n), 0, rng), 0, odds, rng, sweeps=12)
    assert_consistent(stirred[:100], state, 0)
    seen = Counter(keys(stirred))
    score = np.einsum("nsc,sc->n", unpack(listed.states["hand"])[:, 1:].astype(float), odds)
    share = listed.weights * np.exp(score)
    share = share / share.sum()
    for key, p in zip(keys(listed.states), share, strict=True):
        assert abs(seen[key] / n - p) < 6 * np.sqrt(p / n) + 0.002


def test_listed_deals_are_weighed_by_beliefs() -> None:
    state = few_cards("S4 D4", "SA", "DK", "SB")

    class Joker:
        def log_odds(self, states, seats):
            odds = np.zeros((len(states), 3, 54))
            odds[:, 1, 52] = np.log(4.0)
            return odds

    class Wrong:
        def log_odds(self, states, seats):
            return np.zeros((len(states), 4, 54))

    with pytest.raises(ValueError, match=r"\[3, 54\]"):
        card_odds(Wrong(), state, 0)
    worlds = sample_worlds(state, 0, 64, np.random.default_rng(0), odds=card_odds(Joker(), state, 0))
    assert worlds.exact and len(worlds) == 6
    share = worlds.weights / worlds.weights.sum()
    opposite = unpack(worlds.states["hand"])[:, 2, 52] > 0
    assert share[opposite].sum() == pytest.approx(4 / 6)


def test_the_shipped_beliefs_are_small_and_beat_uniform_deals() -> None:
    assert DEFAULT.stat().st_size <= 4_000_000
    network = load_network(BeliefNetwork)
    assert network.remembers
    states = collect_positions(load_inference(critic=False), amount(24, 6), np.random.default_rng(5))
    seats = states["player"].astype(np.int64)
    odds = network.log_odds(states, seats).astype(np.float64)
    held = hidden_hands(states, seats).astype(np.float64)
    ours = odds - np.log(np.exp(odds).sum(1, keepdims=True))
    left = held.sum(2, keepdims=True)
    even = np.log(np.maximum(left / left.sum(1, keepdims=True), 1e-9))
    cards = np.maximum(held.sum((1, 2)), 1)
    gain = ((ours - even) * held).sum((1, 2)) / cards
    assert gain.mean() > 0.05


WAVE, WORLDS = 4, 40
SEEDS = amount(60, 30)


def agent_that(confidence: float) -> Gs2Agent:
    config = GuanDanConfig.of(
        method="rollout",
        deadline=600,
        worlds=WORLDS,
        wave=WAVE,
        candidates=3,
        gap=100.0,
        depth=2,
        pool=60,
        confidence=confidence,
        endgame=0,
    )
    return Gs2Agent(counting(noise=0.1), config, np.random.default_rng(0))


@pytest.mark.parametrize(("confidence", "patient"), [(0.0, False), (100.0, True)])
def test_more_deals_are_drawn_only_where_the_first_do_not_settle_it(confidence: float, patient: bool) -> None:
    agent, seen = agent_that(confidence), 0
    for row in midgame(10, np.random.default_rng(1), plies=20, least=4):
        decision = agent.decide(np.atleast_1d(row))
        comparison = decision.comparison
        if comparison is None or comparison.worlds.exact:
            continue
        seen += 1
        assert decision.worlds is comparison.worlds
        assert len(comparison.payoffs) == len(comparison.weights) <= len(comparison.worlds)
        if patient:
            assert comparison.stopped == "worlds" and len(comparison.payoffs) == WORLDS
        elif len(comparison.payoffs) < AT_FIRST * WAVE:
            assert len(comparison.worlds) == AT_FIRST * WAVE
    assert seen > 4


class Likes:
    """A deal network that finds deals likelier where the next seat holds many low cards."""

    def log_ratios(self, states, seat):
        return 1.5 * self.share(states, seat)

    @staticmethod
    def share(states, seat):
        low = states["hand"][:, (seat + 1) % 4, 0]
        return np.array([bin(int(x)).count("1") for x in low]) / 8.0


def test_deals_drawn_in_two_parts_are_as_likely_as_those_drawn_at_once() -> None:
    state = np.atleast_1d(midgame(1, np.random.default_rng(2), plies=10, least=10)[0])
    seat = int(state["player"][0])
    networks = DealNetworks(CountEvaluator(), None, Likes())
    means: dict[str, list[float]] = {"at once": [], "in two parts": [], "unweighed": []}
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        weighed = Dealer(state, None, networks, DealsConfig(worlds=40, pool=120), rng)
        plain = Dealer(state, None, networks, DealsConfig(worlds=40, reach=0.0), rng)
        whole = weighed.draw(40, 40)
        parts = weighed.draw(10, 40).joined(weighed.draw(30, 40, listing=False))
        for name, worlds in (("at once", whole), ("in two parts", parts), ("unweighed", plain.draw(40, 40))):
            assert not worlds.exact and worlds.weights.sum() == pytest.approx(40)
            means[name].append(float(np.average(Likes.share(worlds.states, seat), weights=worlds.weights)))
    once, twice, without = (np.array(means[name]) for name in means)
    error = np.hypot(once.std(), twice.std()) / np.sqrt(SEEDS)
    assert abs(once.mean() - twice.mean()) < 4 * error
    assert min(once.mean(), twice.mean()) > without.mean() + 4 * error


def test_few_deals_are_listed_once_and_never_drawn() -> None:
    rows = midgame(amount(200, 50), np.random.default_rng(3), plies=110, least=1)
    listed = 0
    for row in rows:
        state = np.atleast_1d(row)
        networks = DealNetworks(CountEvaluator())
        dealer = Dealer(state, None, networks, DealsConfig(), np.random.default_rng(0))
        worlds = dealer.draw(12, 400)
        if worlds.exact:
            listed += 1
            hands = worlds.states["hand"].reshape(len(worlds), -1)
            assert len(np.unique(hands, axis=0)) == len(worlds) <= 400
            assert not dealer.draw(12, 400, listing=False).exact
        else:
            assert len(worlds) == 12
    assert listed > 3


@pytest.mark.parametrize("config", [agent_that(1.0).config, PLIES], ids=("comparison", "plies"))
def test_with_draws_of_the_infoset_agents_that_differ_see_the_same_deals(config: GuanDanConfig) -> None:
    states = midgame(8, np.random.default_rng(3), plies=24, least=5)
    config = config.replace(draws=5)

    def deals(config: GuanDanConfig, order: slice = slice(None)) -> list[bytes]:
        agent = Gs2Agent(counting(noise=0.1), config, np.random.default_rng())
        found = [agent.decide(np.atleast_1d(row)).worlds for row in states[order]][order]
        return [b"" if worlds is None else worlds.states["hand"].tobytes() for worlds in found]

    usual = deals(config)
    assert sum(map(bool, usual)) > 3
    assert deals(config, slice(None, None, -1)) == usual, "whatever was decided before"
    assert deals(config.replace(objective="levels")) == usual
    assert deals(config.replace(draws=6)) != usual
    states["fails"] = 0  # as in a match
    assert deals(config) == usual


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


def test_the_round_is_replayed_from_its_start() -> None:
    for seed in range(3):
        state, moves, before = play(20, seed)
        again = replayed(state, moves)
        assert np.array_equal(again["hash"], before["hash"])
        assert np.array_equal(again["hand"], before["hand"])
        short = PlayedMoves(moves.seats[:-1], moves.actions[:-1])
        with pytest.raises(GameError, match="must lead to the state"):
            replayed(state, short)


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


def test_deals_are_valued_no_longer_than_a_decision_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    class Slow(CountEvaluator):
        def advantages(self, decisions: Decisions) -> np.ndarray:
            now[0] += 1.0
            return super().advantages(decisions)

    state, moves, _ = play(12, 1)
    config = PLIES.replace(sample=2000, deadline=10.0, gap=100.0)
    decision = Gs2Agent(DealNetworks(Slow()), config, np.random.default_rng(0)).decide(state, moves=moves)
    assert now[0] < 12 and decision.choice == decision.blueprint
    assert "was up before the deals were valued: the blueprint's move is played" in decision.notes[0]
    assert len(decision.notes) == 1
