"""Legal moves against the slow reference enumerator, and what canonical moves promise."""

from __future__ import annotations

import numpy as np
import pytest

from games.game import GameError
from games.guandan.cards import (
    ACTION,
    BOMB,
    NO_ACTION,
    NUM_RANKS,
    PASS,
    RANKS,
    SINGLE,
    STRAIGHT,
    STRAIGHT_FLUSH,
    TYPE_NAMES,
    as_level,
    pack,
    parse_cards,
    unpack,
)
from games.guandan.combos import beats, strength
from games.guandan.moves.listing import legal_moves
from games.guandan.notation import parse_action
from tests.games.guandan.positions import action_ids, cards_of, move_id, names, random_hand
from tests.patience import amount
from tests.reference.guandan import guandan_moves as reference
from tests.reference.guandan.guandan_canonical import least_costs


def random_beat(rng: np.random.Generator, level: int) -> np.ndarray:
    """Return one action to beat, [1] ACTION, of a type drawn first, so that rare types are common."""
    moves = legal_moves(pack(random_hand(rng, level, int(rng.integers(0, 3)), 20)), level)[0]
    moves = moves[moves["type"] == rng.choice(np.unique(moves["type"]))]
    return moves[rng.integers(len(moves)) :][:1]


def random_positions(n: int, seed: int):
    """Yield n positions (counts, level, beat or None): every level and number of wild cards in turn."""
    rng = np.random.default_rng(seed)
    for k in range(n):
        level, wilds = k % NUM_RANKS, k // NUM_RANKS % 3
        counts = random_hand(rng, level, wilds, max(int(rng.integers(1, 28)), wilds))
        yield counts, level, random_beat(rng, level) if rng.random() < 0.5 else None


def compare_with_reference(n: int, seed: int) -> None:
    for counts, level, beat in random_positions(n, seed):
        ours = action_ids(legal_moves(pack(counts), level, beat)[0])
        greater = None
        if beat is not None:
            shown = tuple(names(cards_of(beat[0])))
            greater = (TYPE_NAMES[beat["type"][0]], RANKS[beat["rank"][0]], shown)
        theirs = {move_id(move) for move in reference.legal_moves(names(counts), RANKS[level], greater)}
        where = (names(counts), RANKS[level], greater)
        assert len(ours) == len(set(ours)), where
        assert set(ours) == theirs, where


def test_moves_equal_the_reference_enumerator_on_random_positions() -> None:
    compare_with_reference(amount(2500, 200), seed=1)


@pytest.mark.long
def test_moves_equal_the_reference_enumerator_on_a_hundred_thousand_positions() -> None:
    compare_with_reference(100_000, seed=2)


def compare_canonical_with_reference(n: int, seed: int) -> None:
    for counts, level, beat in random_positions(n, seed):
        hand, name = names(counts), RANKS[level]
        full = legal_moves(pack(counts), level, beat)[0]
        canonical = legal_moves(pack(counts), level, beat, canonical=True)[0]
        assert set(action_ids(canonical)) <= set(action_ids(full))
        least = least_costs([as_move(action) for action in full], hand, name)
        assert len(canonical) == len(least), (hand, name)
        assert least_costs([as_move(action) for action in canonical], hand, name) == least, (hand, name)


def test_canonical_moves_are_one_legal_move_of_each_effect_and_cost_least() -> None:
    compare_canonical_with_reference(amount(500), seed=3)


@pytest.mark.long
def test_canonical_moves_cost_least_on_ten_thousand_positions() -> None:
    compare_canonical_with_reference(10_000, seed=8)


def as_move(action: np.ndarray) -> reference.Move:
    """Return an action as the reference's (type name, rank name, sorted card names)."""
    cards = tuple(sorted(names(cards_of(action))))
    kind = int(action["type"])
    return (TYPE_NAMES[kind], RANKS[action["rank"]] if kind else "PASS", cards)


def straight_flushes_left(counts: np.ndarray, level: int) -> int:
    """Return what is left of the straight flushes of a hand, each worth 36, 6 or 1 by the cards it lacks."""
    worth = 0
    wilds = int(counts[4 * level])
    natural = counts.copy()
    natural[4 * level] = 0
    for suit in range(4):
        for start in range(10):
            held = sum(natural[4 * ((start + 12 + j) % 13) + suit] > 0 for j in range(5))
            if held + wilds >= 5:
                worth += {5: 36, 4: 6, 3: 1}[held]
    return worth


@pytest.mark.long
def test_canonical_groups_keep_the_most_straight_flushes() -> None:
    """For one rank's cards the rule's sum over cards is exact up to its order, so it must never do worse."""
    compared = 0
    for counts, level, _ in random_positions(1500, seed=4):
        if counts[4 * level]:
            continue
        full = legal_moves(pack(counts), level)[0]
        canonical = legal_moves(pack(counts), level, canonical=True)[0]
        for action in canonical[canonical["type"] == SINGLE]:
            twins = full[(full["type"] == SINGLE) & (full["rank"] == action["rank"])]
            left = [straight_flushes_left(counts - cards_of(twin), level) for twin in twins]
            ours = straight_flushes_left(counts - cards_of(action), level)
            assert ours == max(left), (names(counts), level, action)
            compared += min(left) < max(left)
    assert compared > 50


def test_a_straight_of_one_suit_changes_the_cheapest_slot_or_spends_a_wild_card() -> None:
    hand = parse_cards("S3 S4 S5 S6 S7 D5")
    straights = legal_moves(pack(hand), as_level("2"), canonical=True)[0]
    straights = straights[straights["type"] == STRAIGHT]
    assert [names(cards_of(s)) for s in straights] == [["S3", "S4", "D5", "S6", "S7"]]
    hand = parse_cards("S3 S4 S5 S6 S7 H2")
    straights = legal_moves(pack(hand), as_level("2"), canonical=True)[0]
    straights = straights[(straights["type"] == STRAIGHT) & (straights["rank"] == as_level("3"))]
    assert len(straights) == 1 and cards_of(straights[0])[0] == 1
    hand = parse_cards("S3 S4 S5 S6 S7")
    assert STRAIGHT not in legal_moves(pack(hand), as_level("2"))[0]["type"]


def test_same_cards_can_be_several_moves() -> None:
    moves = legal_moves(pack(parse_cards("S3 D3 S4 D4 H9 H9")), as_level("9"))[0]
    six = {(TYPE_NAMES[a["type"]], RANKS[a["rank"]]) for a in moves if a["size"] == 6}
    assert six == {("ThreePair", "2"), ("ThreePair", "3"), ("TwoTrips", "3")}
    moves = legal_moves(pack(parse_cards("SA DA CA H9 H9")), as_level("9"))[0]
    five = {(TYPE_NAMES[a["type"]], RANKS[a["rank"]]) for a in moves if a["size"] == 5}
    assert five == {("Bomb", "A"), ("ThreeWithTwo", "A")}


def test_lists_start_with_a_pass_only_when_following_and_rise_within_a_type() -> None:
    for counts, level, beat in random_positions(amount(400, 150), seed=5):
        for canonical in (False, True):
            moves = legal_moves(pack(counts), level, beat, canonical=canonical)[0]
            assert (moves["type"] == PASS).sum() == (beat is not None)
            assert beat is None or moves["type"][0] == PASS
            power = strength(moves, level).astype(int)
            for kind in np.unique(power >> 8):
                assert np.all(np.diff(power[power >> 8 == kind]) >= 0)
            if beat is not None:
                assert np.all(beats(moves[1:], beat, level))
            again = legal_moves(pack(counts), level, beat, canonical=canonical)[0]
            assert action_ids(again) == action_ids(moves)


def test_a_batch_lists_what_its_hands_list_alone() -> None:
    positions = list(random_positions(300, seed=6))
    hands = pack(np.array([counts for counts, _, _ in positions]))
    levels = np.array([level for _, level, _ in positions])
    beat = np.zeros(len(positions), ACTION)
    for i, (_, _, to_beat) in enumerate(positions):
        if to_beat is not None:
            beat[i] = to_beat[0]
        elif i % 2:
            beat["type"][i] = NO_ACTION
    batch = legal_moves(hands, levels, beat)
    assert len(batch) == len(positions)
    for i, (_, level, to_beat) in enumerate(positions):
        assert action_ids(batch[i]) == action_ids(legal_moves(hands[i], level, to_beat)[0])


def test_unpacking_the_moves_gives_their_sizes() -> None:
    for counts, level, _ in random_positions(100, seed=7):
        moves = legal_moves(pack(counts), level)[0]
        cards = unpack(np.stack([moves["lo"], moves["hi"]], -1))
        assert np.array_equal(cards.sum(1), moves["size"])
        assert np.all(cards <= counts)


@pytest.mark.parametrize(
    ("hand", "level", "message"),
    [
        (np.array([[3, 0]], np.uint64), 0, "three times"),
        (np.array([[0x2AAAAAAAAAAAAA, 0]], np.uint64), 0, "at most 27"),
        (np.array([[1, 0]], np.uint64), 13, "rank code 0..12"),
    ],
)
def test_hands_that_are_none_are_refused(hand: np.ndarray, level: int, message: str) -> None:
    with pytest.raises(GameError, match=message):
        legal_moves(hand, level)


def test_a_joker_bomb_beats_every_bomb_and_nothing_beats_it() -> None:
    hand = pack(parse_cards("SB SB HR HR " + "S4 C4 D4 S4 C4 D4 H4 H4 H9 H9"))
    level = as_level("9")
    ten = parse_action(["Bomb", "4", ["S4", "C4", "D4", "S4", "C4", "D4", "H4", "H4", "H9", "H9"]], level)
    assert [TYPE_NAMES[t] for t in legal_moves(hand, level, ten)[0]["type"]] == ["PASS", "FourKings"]
    kings = parse_action(["FourKings", "B", "SB SB HR HR"], level)
    assert [TYPE_NAMES[t] for t in legal_moves(hand, level, kings)[0]["type"]] == ["PASS"]


def test_a_straight_flush_stands_between_bombs_of_five_and_six() -> None:
    level = as_level("2")
    hand = pack(parse_cards("S5 S6 S7 S8 S9 C3 D3 H3 C3 D3 H3"))
    five = parse_action(["Bomb", "A", "SA SA CA CA DA"], level)
    kinds = legal_moves(hand, level, five)[0]
    assert {(int(a["type"]), int(a["size"])) for a in kinds} == {(PASS, 0), (STRAIGHT_FLUSH, 5), (BOMB, 6)}


def test_moves_of_a_whole_hand_are_the_same_in_both_lists() -> None:
    rng = np.random.default_rng(1)
    deck = np.repeat(np.arange(54), 2)
    for _ in range(amount(600, 60)):
        level = int(rng.integers(13))
        held = pack(np.bincount(rng.permutation(deck)[: rng.integers(5, 20)], minlength=54))
        moves = legal_moves(held[None], level)[0]
        some = moves[rng.permutation(len(moves))[:30]]
        hands = np.stack([some["lo"], some["hi"]], 1).astype(np.uint64)
        sizes = unpack(hands).sum(1)
        full, canonical = legal_moves(hands, level), legal_moves(hands, level, canonical=True)
        for i, size in enumerate(sizes):
            played = [
                sorted(move.tobytes() for move in found if move["size"] == size)
                for found in (full[i], canonical[i])
            ]
            assert played[0] == played[1]
