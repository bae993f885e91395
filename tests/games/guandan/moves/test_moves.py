"""Legal moves against the slow enumerator and the official generator, and what canonical moves promise."""

from __future__ import annotations

import gzip
import json
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from games.game import GameError
from games.guandan.cards import (
    ACTION,
    CARD_NAMES,
    NO_ACTION,
    NUM_RANKS,
    PASS,
    RANKS,
    TYPE_NAMES,
    as_level,
    make_actions,
    pack,
    parse_cards,
    unpack,
)
from games.guandan.combos import beats, strength
from games.guandan.rounds.playout import legal_moves
from tests.games.guandan.positions import action_ids, cards_of, move_id, names, random_hand
from tests.patience import amount
from tests.reference.guandan import guandan_moves as reference
from tests.reference.guandan.guandan_canonical import least_costs

SAMPLE = Path(__file__).parents[3] / "data" / "guandan_moves_sample.jsonl.gz"
EVERY = 573 // amount(573, 52)
"""The positions of the sample that are looked at: each with --long, otherwise every eleventh."""


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


def test_moves_equal_the_reference_enumerator_on_random_positions() -> None:
    for counts, level, beat in random_positions(amount(100_000, 120), seed=1):
        ours = action_ids(legal_moves(pack(counts), level, beat)[0])
        greater = None
        if beat is not None:
            shown = tuple(names(cards_of(beat[0])))
            greater = (TYPE_NAMES[beat["type"][0]], RANKS[beat["rank"][0]], shown)
        theirs = {move_id(move) for move in reference.legal_moves(names(counts), RANKS[level], greater)}
        where = (names(counts), RANKS[level], greater)
        assert len(ours) == len(set(ours)), where
        assert set(ours) == theirs, where


def test_canonical_moves_are_one_legal_move_of_each_effect_and_cost_least() -> None:
    for counts, level, beat in random_positions(amount(10_000, 45), seed=3):
        hand, name = names(counts), RANKS[level]
        full = legal_moves(pack(counts), level, beat)[0]
        canonical = legal_moves(pack(counts), level, beat, canonical=True)[0]
        assert set(action_ids(canonical)) <= set(action_ids(full))
        least = least_costs([as_move(action) for action in full], hand, name)
        assert len(canonical) == len(least), (hand, name)
        assert least_costs([as_move(action) for action in canonical], hand, name) == least, (hand, name)


def as_move(action: np.ndarray) -> reference.Move:
    """Return an action as the reference's (type name, rank name, sorted card names)."""
    cards = tuple(sorted(names(cards_of(action))))
    kind = int(action["type"])
    return (TYPE_NAMES[kind], RANKS[action["rank"]] if kind else "PASS", cards)


def test_lists_start_with_a_pass_only_when_following_and_rise_within_a_type() -> None:
    for counts, level, beat in random_positions(amount(400, 60), seed=5):
        for canonical in (False, True):
            moves = legal_moves(pack(counts), level, beat, canonical=canonical)[0]
            assert (moves["type"] == PASS).sum() == (beat is not None)
            assert beat is None or moves["type"][0] == PASS
            power = strength(moves, level).astype(int)
            for kind in np.unique(power >> 8):
                assert np.all(np.diff(power[power >> 8 == kind]) >= 0)
            if beat is not None:
                assert np.all(beats(moves[1:], beat, level))
            cards = unpack(np.stack([moves["lo"], moves["hi"]], -1))
            assert np.array_equal(cards.sum(1), moves["size"]) and np.all(cards <= counts)


def test_a_batch_lists_what_its_hands_list_alone() -> None:
    positions = list(random_positions(amount(300, 60), seed=6))
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


@pytest.mark.parametrize(
    ("hand", "level", "message"),
    [
        (np.array([[3, 0]], np.uint64), 0, "three times"),
        (np.array([[0x2AAAAAAAAAAAAA, 0]], np.uint64), 0, "at most 28"),
        (np.array([[1, 0]], np.uint64), 13, "rank code 0..12"),
    ],
)
def test_hands_that_are_none_are_refused(hand: np.ndarray, level: int, message: str) -> None:
    with pytest.raises(GameError, match=message):
        legal_moves(hand, level)


def read(text: str) -> tuple[int, int, int]:
    """Return "Type|rank|cards" as (type, rank code, cards as one integer)."""
    if text.startswith("PASS"):
        return 0, 0, 0
    kind, rank, cards = text.split("|")
    lo, hi = pack(parse_cards(cards)).tolist()
    return TYPE_NAMES.index(kind), RANKS.index(rank), lo | hi << 64


def is_heart_straight(move: tuple[int, int, int], level: str) -> bool:
    """Return whether a move is a plain straight of hearts alone with a wild card among them."""
    kind, _, cards = move
    if TYPE_NAMES[kind] != "Straight":
        return False
    held = [name for c, name in enumerate(CARD_NAMES) if cards >> (2 * c if c < 28 else 2 * c + 8) & 3]
    return all(name[0] == "H" for name in held) and "H" + level in held


def test_official_lists_are_ours_but_for_straights_of_hearts_with_a_wild_card() -> None:
    """The official generator asks whether all cards share a suit before it looks for wild cards, also hearts.

    With spades it lists the same shape under both names, so hearts are no exception in the rules. What it
    lists twice, full houses with two wild cards, counts once.
    """
    omitted, levels, wilds = 0, set(), set()
    with gzip.open(SAMPLE, "rt") as lines:
        for position in map(json.loads, islice(lines, None, None, EVERY)):
            beat = None
            if position["greater"]:
                kind, rank, cards = position["greater"].split("|")
                beat = make_actions([TYPE_NAMES.index(kind)], [RANKS.index(rank)], parse_cards(cards)[None])
            hand, level = parse_cards(position["hand"]), position["level"]
            ids = action_ids(legal_moves(pack(hand), as_level(level), beat)[0])
            ours = set(ids)
            assert len(ids) == len(ours)
            hearts = {move for move in ours if is_heart_straight(move, level)}
            assert {read(text) for text in position["actions"]} == ours - hearts, position["i"]
            omitted += len(hearts)
            levels.add(level)
            wilds.add(int(hand[4 * as_level(level)]))
    assert levels == set(RANKS[:13]) and wilds == {0, 1, 2}
    assert omitted == 237 if EVERY == 1 else omitted > 0
