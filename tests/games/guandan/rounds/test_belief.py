"""Determinisation: consistent with what the seat knows, and uniform over the deals that are."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest

from games.game import GameError
from games.guandan.cards import CARD_NAMES, RANKS, as_level, level_order, pack, parse_cards, unpack
from games.guandan.notation import parse_action
from games.guandan.rounds.belief import determinise
from games.guandan.rounds.round import GuanDan, Shown, advance, deal, from_hands, legal
from tests.games.guandan.positions import names
from tests.games.guandan.rounds.test_round import random_choice
from tests.patience import amount


def test_hidden_hands_change_and_everything_seen_stays() -> None:
    rng = np.random.default_rng(0)
    game = GuanDan()
    states = deal(200, rng, level=rng.integers(0, 13, 200))
    for _ in range(30):
        advance(states, random_choice(states, rng))
    before = states.tobytes()
    for seat in range(4):
        sampled = determinise(states, seat, rng)
        assert states.tobytes() == before
        assert np.array_equal(sampled["hand"][:, seat], states["hand"][:, seat])
        held = unpack(sampled["hand"]).astype(int)
        assert np.array_equal(held.sum(2), states["left"])
        assert np.all((held + unpack(sampled["played"])).sum(1) == 2)
        assert np.array_equal(game.infoset_key(sampled, seat), game.infoset_key(states, seat))
        assert np.mean(np.any(sampled["hand"] != states["hand"], (1, 2))) > 0.9
        for name in states.dtype.names:
            if name != "hand":
                assert np.array_equal(sampled[name], states[name])
        live = sampled["player"] == seat
        assert np.array_equal(legal(sampled[live]).offsets, legal(states[live]).offsets)
    seats = rng.integers(0, 4, 200)
    mixed = determinise(states, seats, rng)
    rows = np.arange(200)
    assert np.array_equal(mixed["hand"][rows, seats], states["hand"][rows, seats])


def small_position() -> tuple[np.ndarray, list[str]]:
    """Return a state where seat 0 has to place eight named cards, and those cards."""
    hidden = ["SB", "SA", "DA", "SK", "DK", "HQ", "S3", "H2"]
    used = parse_cards(hidden, limit=54)
    rest = 2 - used.astype(int)
    mine = parse_cards("S4 D4")
    # every other card is out of play: played by seat 0 as far as counting goes
    hands = np.array([mine, parse_cards("SA S3 SK"), parse_cards("DA DK HQ"), parse_cards("SB H2")])
    states = from_hands(hands, level=as_level("2"))
    out = rest - mine
    states["played"][0, 0] = pack(out)
    return states, hidden


def consistent_deals(hidden: list[str], sizes: tuple[int, ...], keep) -> Counter:
    """Count the ways to deal physical cards to seats 1, 2, 3, by the hands that come out."""
    ways: Counter = Counter()
    for order in permutations(hidden):
        hands, at = [], 0
        for size in sizes:
            hands.append(tuple(sorted(order[at : at + size])))
            at += size
        if keep(hands):
            ways[tuple(hands)] += 1
    return ways


@pytest.mark.parametrize(
    ("cap", "known"),
    [
        ({}, {}),
        ({1: "K"}, {}),
        ({1: "K", 2: "A"}, {}),
        ({1: "A", 3: "K"}, {2: "SB"}),
        ({1: "Q"}, {1: "SA"}),
    ],
)
@pytest.mark.some(2)
def test_every_consistent_deal_is_equally_likely(cap: dict[int, str], known: dict[int, str]) -> None:
    states, hidden = small_position()
    order = level_order(as_level("2"))
    places = {name: 13 if name == "SB" else int(order[CARD_NAMES.index(name) // 4]) for name in hidden}
    shown = [parse_cards(known.get(seat, "")) for seat in range(4)]
    states["known"][0] = pack(np.array(shown))
    for seat, rank in cap.items():
        states["cap"][0, seat] = order[RANKS.index(rank)]

    def keep(hands: list[tuple[str, ...]]) -> bool:
        for seat, hand in enumerate(hands, 1):
            limit = states["cap"][0, seat]
            free = [card for card in hand if card not in known.get(seat, "")]
            if any(card != "H2" and places[card] > limit for card in free):
                return False
            if seat in known and known[seat] not in hand:
                return False
        return True

    expected = consistent_deals(hidden, (3, 3, 2), keep)
    each = amount(60, 20)
    draws = each * len(expected)
    sampled = determinise(np.repeat(states, draws), 0, np.random.default_rng(1))
    drawn = Counter(tuple(tuple(sorted(names(hand))) for hand in row[1:]) for row in unpack(sampled["hand"]))
    assert set(drawn) == set(expected) and len(set(expected.values())) == 1
    statistic = sum((drawn[deal_] - each) ** 2 / each for deal_ in expected)
    freedom = len(expected) - 1
    assert abs(statistic - freedom) < 5 * np.sqrt(2 * freedom)


def test_a_known_card_that_was_played_binds_no_longer() -> None:
    known = np.array([parse_cards(cards) for cards in ("", "S9", "", "")])
    states = from_hands(
        np.array([parse_cards(cards) for cards in ("S3 S4", "S9 D9", "S5 S6", "S7 S8")]),
        first=1,
        shown=Shown(known),
    )
    sampled = determinise(np.repeat(states, 300), 0, np.random.default_rng(0))
    assert np.all(unpack(sampled["hand"])[:, 1, CARD_NAMES.index("S9")] >= 1)
    advance(states, parse_action("Single 9 S9", 0))
    sampled = determinise(np.repeat(states, 300), 0, np.random.default_rng(0))
    assert not np.all(unpack(sampled["hand"])[:, 1, CARD_NAMES.index("S9")])


def test_samples_replay_from_their_seed_and_impossible_positions_are_refused() -> None:
    states = deal(10, np.random.default_rng(0))
    one, two = (determinise(states, 2, np.random.default_rng(5)).tobytes() for _ in range(2))
    assert one == two
    states["cap"][:, 1] = 0
    with pytest.raises(GameError, match="no deal agrees with what seat 0 knows"):
        determinise(states, 0, np.random.default_rng(0))
    with pytest.raises(GameError, match="a seat is"):
        determinise(states, 4, np.random.default_rng(0))
