"""Deals as chance has them, and hidden hands drawn again: as a seat knows them, and as likely as dealt."""

from __future__ import annotations

import json
from collections import Counter
from itertools import permutations
from math import factorial, lgamma, log, prod

import numpy as np
import pytest

from games.check import chi_square_bound
from games.game import CHANCE, GameError, Infoset
from games.guandan.cards import CARD_NAMES, NUM_CARDS, RANKS, as_level, level_order, pack, parse_cards, unpack
from games.guandan.notation import parse_action
from games.guandan.rounds.belief import determinise
from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import GuanDan, Shown, advance, deal, deal_actions, from_hands, initial_hands
from games.infosets.trail import Trail, walk
from games.ragged import Ragged
from games.support.array_types import Array
from tests.games.guandan.positions import names
from tests.games.guandan.rounds.test_round import random_choice
from tests.games.trees import watched
from tests.patience import amount

GAME = GuanDan()
SHUFFLES = lgamma(109) - 4 * lgamma(28)
"""Logarithm of the ways to deal 108 different cards."""


def drawn(infoset: Infoset, n: int, rng: np.random.Generator) -> Ragged:
    assert GAME.sample_histories is not None
    return GAME.sample_histories(infoset, n, rng)


def met(rng: np.random.Generator, hidden: int) -> tuple[Trail, Array]:
    """Return what the seat to act has seen, and the state, once it is to act and so few cards are hidden."""
    return watched(GAME, rng, lambda state, seat: state["left"].sum() - state["left"][0, seat] <= hidden)


def test_chance_deals_every_round_as_often_as_a_shuffle_does() -> None:
    rounds = GAME.sample_deals(40, np.random.default_rng(0))
    lines = deal_actions(initial_hands(rounds), rounds["first"])
    steps = Ragged.from_counts(np.full(40, lines.shape[1]), lines.ravel())
    found = np.zeros(40)
    for rows, states, place, taken in walk(GAME, steps):
        if (place < 0).all():
            assert states.tobytes() == rounds.tobytes()
            break
        actions = GAME.actions(states)
        probs = GAME.chance_probs(states, actions)
        assert np.allclose(np.bincount(actions.rows, probs), 1)
        same = actions.values == taken[actions.rows]
        assert np.array_equal(np.bincount(actions.rows, same), np.ones(len(rows)))
        found += np.log(probs[same])
    counts = unpack(initial_hands(rounds)).astype(int)
    for row, hands in enumerate(counts):
        ways = sum(log(2 / prod(map(factorial, copies))) for copies in hands.T.tolist())
        assert found[row] == pytest.approx(ways - SHUFFLES - log(4))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.some(1)
def test_drawn_histories_come_as_often_as_chance_deals_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    trail, state = met(rng, 5)
    seat, draws = trail.player, amount(2000, 1000)
    lines = drawn(trail.infoset, draws, rng)
    dealt = lines.values.reshape(draws, -1)[:, : NUM_CARDS + 1]
    chance = Ragged.from_counts(np.full(draws, NUM_CARDS + 1), dealt.ravel())
    *_, (_, rounds, _, _) = walk(GAME, chance)
    seen = Counter(hands.tobytes() for hands in initial_hands(rounds))
    hidden = np.repeat(np.tile(np.arange(NUM_CARDS), 4), unpack(state["hand"])[0].ravel().astype(int))
    owner = np.repeat(np.arange(4), unpack(state["hand"])[0].sum(1).astype(int))
    cards, places = hidden[owner != seat], owner[owner != seat]
    weights: dict[bytes, float] = {}
    for order in set(permutations(places.tolist())):
        hands = unpack(state["played"])[0].astype(int)
        hands[seat] = unpack(initial_hands(state))[0, seat]
        np.add.at(hands, (list(order), cards), 1)
        weights[pack(hands).tobytes()] = 1 / prod(map(factorial, hands.ravel().tolist()))
    assert set(seen) <= set(weights)
    total = sum(weights.values())
    cells = [(seen[name] - draws * w / total) ** 2 / (draws * w / total) for name, w in weights.items()]
    assert sum(cells) <= chi_square_bound(len(cells) - 1)


def test_drawn_histories_are_of_the_infoset_under_the_deal_and_after_it() -> None:
    rng = np.random.default_rng(4)
    for hidden in (81, 60):
        trail, _ = met(rng, hidden)
        *_, (_, states, _, _) = walk(GAME, drawn(trail.infoset, 20, rng))
        assert (GAME.infoset_key(states, trail.player) == trail.keys[-1]).all()
        assert (GAME.player(states) == trail.acting).all()
    early = Infoset(trail.player, tuple(map(int, trail.keys[30])), "", trail.keys[:31])
    *_, (_, states, _, _) = walk(GAME, drawn(early, 20, rng))
    assert (states["player"] == CHANCE).all()
    assert (GAME.infoset_key(states, trail.player) == trail.keys[30]).all()


def test_an_infoset_named_by_its_record_can_be_drawn_and_one_by_its_key_cannot() -> None:
    rng = np.random.default_rng(5)
    rounds = deal(1, rng, first=0)
    told = json.loads(GAME.infoset_text(rounds, 0))
    line = {"seat": 0, "level": told["level"], "first": 0, "hand": told["hand"]}
    move = json.loads(GAME.action_text(rounds, GAME.actions(rounds).values[0]))
    named = GAME.parse_infoset(json.dumps(line | {"record": [move]}))
    *_, (_, states, _, _) = walk(GAME, drawn(named, 10, rng))
    assert (GAME.infoset_key(states, 0) == np.array(named.key, np.uint64)).all()
    with pytest.raises(GameError, match="its key alone"):
        drawn(GAME.parse_infoset(GAME.infoset_text(states[0], 0)), 1, rng)
    assert GuanDan("canonical").sample_histories is None


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"dealt": 55, "seat": 0}, "dealt"),
        ({"dealt": 3, "hand": "H2"}, "seat"),
        ({"dealt": 3, "seat": 0, "hand": ["H2"]}, "hand"),
        ({"dealt": 3, "seat": 0, "level": "2"}, "under the deal"),
        ({"dealt": 1, "seat": 0, "hand": "HR"}, "first 1 kinds"),
        ({"dealt": 54, "seat": 0, "hand": ""}, "fit four hands"),
    ],
)
def test_infosets_under_the_deal_that_cannot_be_are_refused(fields: dict, says: str) -> None:
    with pytest.raises(GameError, match=says):
        GAME.parse_infoset(json.dumps({"game": "guandan"} | fields))


def test_hidden_hands_change_and_everything_seen_stays() -> None:
    rng = np.random.default_rng(0)
    game = GuanDan()
    states = deal(60, rng, level=rng.integers(0, 13, 60))
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
    seats = rng.integers(0, 4, 60)
    mixed = determinise(states, seats, rng)
    rows = np.arange(60)
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
    each = amount(60, 8)
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
