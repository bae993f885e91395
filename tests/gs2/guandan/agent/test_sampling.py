"""Worlds: consistent with what a seat knows, complete when few, stirred as beliefs say."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from games.game import GameError
from games.guandan.cards import DECK, pack, parse_cards, unpack
from games.guandan.combos import ORDER
from games.guandan.rounds.belief import determinise
from games.guandan.rounds.round import GuanDan, Shown, deal, from_hands, legal
from gs2.guandan.agent.deals.determinize import CardOdds, count_bound, list_worlds, sample_worlds
from gs2.guandan.beliefs.belief_network import BeliefNetwork, load_beliefs, save_beliefs, steer
from tests.gs2.guandan.blueprints import midgame
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

    for row in midgame(8, rng):
        state = np.atleast_1d(row)
        seat = int(state["player"][0])
        worlds = sample_worlds(
            state, seat, 50, rng, odds=CardOdds(Opinion()).of(state, seat) if belief else None
        )
        assert len(worlds) == 50 or worlds.exact
        assert_consistent(worlds.states, state, seat)


def test_few_deals_are_listed_with_their_probabilities() -> None:
    state = few_cards("S4 D4", "SA S3 SK", "HQ DK DA", "SB HQ")
    listed = list_worlds(state[0], 0, 1000)
    assert listed is not None and listed.exact
    assert_consistent(listed.states, state, 0)
    assert len(set(keys(listed.states))) == len(listed)
    n = 40_000
    rng = np.random.default_rng(3)
    seen = Counter(keys(determinise(np.repeat(state, n), 0, rng)))
    assert set(seen) == set(keys(listed.states))
    share = listed.weights / listed.weights.sum()
    for key, p in zip(keys(listed.states), share, strict=True):
        assert abs(seen[key] / n - p) < 5 * np.sqrt(p / n)
    assert count_bound(state[0], 0) >= len(listed)


def test_listing_respects_tribute_cards_and_caps() -> None:
    known = ["", "SA", "", ""]
    cap = [14, 14, 10, 14]
    state = few_cards("S4 D4", "SA S3 SK", "HQ D3 D9", "SB HQ", known=known, cap=cap)
    listed = list_worlds(state[0], 0, 1000)
    assert listed is not None
    assert_consistent(listed.states, state, 0)
    hands = unpack(listed.states["hand"])[:, 2]
    ranks = np.minimum(np.arange(54) // 4, 12) + (np.arange(54) >= 52) + (np.arange(54) == 53)
    high = ORDER[0, ranks] > 10
    high[0] = False  # the wild card may always be held
    assert not hands[:, high].any()
    rng = np.random.default_rng(0)
    seen = set(keys(determinise(np.repeat(state, 3000), 0, rng)))
    assert seen == set(keys(listed.states))


def test_too_many_deals_are_not_listed() -> None:
    state = deal(1, np.random.default_rng(0))
    assert list_worlds(state[0], 0, 100) is None
    assert count_bound(state[0], 0) > 1e30
    worlds = sample_worlds(state, 0, 30, np.random.default_rng(0))
    assert len(worlds) == 30 and not worlds.exact


def test_no_consistent_deal_is_an_error() -> None:
    state = deal(1, np.random.default_rng(0))
    state["left"][0, 1] = 3
    state["left"][0, 2] = 60
    with pytest.raises(GameError, match="no deal agrees"):
        sample_worlds(state, 0, 4, np.random.default_rng(0))


def test_stirring_without_odds_keeps_deals_uniform() -> None:
    state = few_cards("S4 D4", "SA S3 SK", "HQ DK DA", "SB HQ")
    listed = list_worlds(state[0], 0, 1000)
    assert listed is not None
    rng = np.random.default_rng(5)
    n = 40_000
    stirred = steer(determinise(np.repeat(state, n), 0, rng), 0, np.zeros((3, 54)), rng)
    seen = Counter(keys(stirred))
    share = listed.weights / listed.weights.sum()
    for key, p in zip(keys(listed.states), share, strict=True):
        assert abs(seen[key] / n - p) < 5 * np.sqrt(p / n)


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


def test_stirring_respects_known_cards_and_caps() -> None:
    known = ["", "SA", "", ""]
    cap = [14, 14, 10, 14]
    state = few_cards("S4 D4", "SA S3 SK", "HQ D3 D9", "SB HQ", known=known, cap=cap)
    rng = np.random.default_rng(7)
    deals = determinise(np.repeat(state, 500), 0, rng)
    allowed = set(keys(determinise(np.repeat(state, 3000), 0, rng)))
    stirred = steer(deals, 0, rng.normal(size=(3, 54)) * 3, rng)
    assert set(keys(stirred)) <= allowed
    assert np.any(stirred["hand"] != deals["hand"])


def test_listed_deals_are_weighed_by_beliefs() -> None:
    state = few_cards("S4 D4", "SA", "DK", "SB")

    class Joker:
        def log_odds(self, states, seats):
            odds = np.zeros((len(states), 3, 54))
            odds[:, 1, 52] = np.log(4.0)
            return odds

    worlds = sample_worlds(state, 0, 64, np.random.default_rng(0), odds=CardOdds(Joker()).of(state, 0))
    assert worlds.exact and len(worlds) == 6
    share = worlds.weights / worlds.weights.sum()
    opposite = unpack(worlds.states["hand"])[:, 2, 52] > 0
    assert share[opposite].sum() == pytest.approx(4 / 6)


def test_a_belief_of_wrong_shape_is_refused() -> None:
    class Wrong:
        def log_odds(self, states, seats):
            return np.zeros((len(states), 4, 54))

    with pytest.raises(ValueError, match=r"\[3, 54\]"):
        CardOdds(Wrong()).of(deal(1, np.random.default_rng(0)), 0)


def test_a_belief_network_survives_saving(tmp_path) -> None:
    from blueprint.guandan.network.input_layout import STATE_WIDTH

    rng = np.random.default_rng(0)
    layers = [
        (rng.normal(size=(16, STATE_WIDTH)).astype(np.float16).astype(np.float32), np.zeros(16, np.float32)),
        (rng.normal(size=(162, 16)).astype(np.float16).astype(np.float32), np.ones(162, np.float32)),
    ]
    network = BeliefNetwork(layers)
    save_beliefs(tmp_path / "b.safetensors", network, {"note": "test"})
    again = load_beliefs(tmp_path / "b.safetensors")
    states = deal(3, rng)
    seats = np.array([0, 1, 3])
    assert np.allclose(network.log_odds(states, seats), again.log_odds(states, seats))
    assert network.log_odds(states, seats).shape == (3, 3, 54)
    with pytest.raises(ValueError, match="162"):
        BeliefNetwork([(np.zeros((10, STATE_WIDTH), np.float32), np.zeros(10, np.float32))])


def test_the_mover_has_the_same_moves_in_every_world() -> None:
    rng = np.random.default_rng(9)
    state = np.atleast_1d(midgame(1, rng)[0])
    worlds = sample_worlds(state, int(state["player"][0]), 20, rng)
    lists = legal(worlds.states, canonical=True)
    assert all(np.array_equal(lists[i], lists[0]) for i in range(20))


def test_the_shipped_beliefs_are_small_and_beat_uniform_deals() -> None:
    from gs2.guandan.beliefs.train_beliefs import collect_positions

    from blueprint.guandan.network.inputs import hidden_hands
    from gs2.guandan.agent.evaluator import load_evaluator
    from gs2.guandan.beliefs.belief_network import DEFAULT, load_beliefs

    assert DEFAULT.stat().st_size <= 4_000_000
    network = load_beliefs()
    assert network.remembers
    positions = collect_positions(load_evaluator(critic=False), 24, np.random.default_rng(5))
    states = positions
    seats = states["player"].astype(np.int64)
    odds = network.log_odds(states, seats).astype(np.float64)
    held = hidden_hands(states, seats).astype(np.float64)
    ours = odds - np.log(np.exp(odds).sum(1, keepdims=True))
    left = held.sum(2, keepdims=True)
    even = np.log(np.maximum(left / left.sum(1, keepdims=True), 1e-9))
    cards = np.maximum(held.sum((1, 2)), 1)
    gain = ((ours - even) * held).sum((1, 2)) / cards
    assert gain.mean() > 0.05
