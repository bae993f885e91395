"""Minimum combination search against exhaustion and on hands with a known answer."""

from __future__ import annotations

import numpy as np
import pytest

from blueprint.guandan.rules.min_combination import (
    COST_ROWS,
    min_combinations,
    split_hand,
    split_room,
)
from games.guandan.cards import BOMB, NUM_CARDS, STRAIGHT, THREE_WITH_TWO, TWO_TRIPS, pack, parse_cards
from tests.patience import amount
from tests.reference.min_combination import cheapest_split, fewest_moves


def random_hand(rng: np.random.Generator, level: int, pool: str) -> np.ndarray:
    if pool == "any":
        cards = np.arange(NUM_CARDS)
    elif pool == "window":
        start = 4 * rng.integers(0, 9)
        cards = np.union1d(np.arange(start, start + 20), 4 * level)
    else:
        ranks = rng.choice(13, 3, replace=False)
        cards = np.union1d((4 * ranks[:, None] + np.arange(4)).ravel(), [4 * level, 52, 53])
    deck = np.repeat(cards, 2)
    counts = np.zeros(NUM_CARDS, np.uint8)
    np.add.at(counts, rng.permutation(deck)[: rng.integers(1, 12)], 1)
    return counts


@pytest.mark.parametrize("pool", ["any", "window", "few ranks"])
def test_search_agrees_with_exhaustion_on_small_hands_with_every_number_of_wild_cards(pool: str) -> None:
    rng = np.random.default_rng(1)
    for k in range(amount(120, 24)):
        level = int(rng.integers(13))
        hand = random_hand(rng, level, pool)
        if k % 4 < 3:
            hand[4 * level] = k % 4
        packed = pack(hand)
        expected = fewest_moves(int(packed[0]), int(packed[1]), level, {})
        cost, groups = cheapest_split(packed, level)
        assert min_combinations(packed, level)[0] == cost == len(groups) == expected
        assert sum(size for _, _, size in groups) == hand.sum()


def test_known_hands_split_into_the_expected_groups() -> None:
    for cards, kind, rank in (
        ("S3 H3 D3 S4 C4", THREE_WITH_TWO, 1),
        ("S3 H3 D3 S4 C4 H4", TWO_TRIPS, 1),
        ("SA H3 D4 S5 H2", STRAIGHT, 12),
        ("ST HT DT CT", BOMB, 8),
    ):
        _, ((found, its, size),) = cheapest_split(pack(parse_cards(cards)), 11)
        assert (found, its, size) == (kind, rank, len(cards.split()))
    for cards, moves in (
        ("S3 S4 S5 S6 S7", 1),  # a straight flush goes out as one move under either name
        ("S3 S4 S5 S6 HK SB", 2),
        ("S3 S4 S5 S6 S7 HK", 2),
        ("S3 HK", 1),  # a leftover wild card joins a group unless every group is full
        ("S3 H3 D3 S9 C9 HK", 2),
        ("S3 H3 D3 S9 C9 SJ HK HK", 2),
        ("SB HK HK", 2),
        ("S3 H3 D3 SB SB HR HR HK", 2),
        ("HK HK", 1),
    ):
        assert min_combinations(pack(parse_cards(cards)), 11)[0] == moves, cards
    with pytest.raises(ValueError, match=r"0\.\.12"):
        min_combinations(np.zeros((1, 2), np.uint64), 13)


def test_what_is_remembered_of_a_split_is_what_a_search_finds() -> None:
    rng = np.random.default_rng(6)
    costs = rng.integers(1, 2000, (COST_ROWS, 15))
    # so little room that many hands share a place
    remembers, forgets = split_room(16), split_room(1)
    hands = [pack(random_hand(rng, 3, "any")) for _ in range(60)]
    again = 0
    for at in rng.integers(len(hands), size=400):
        lo, hi = hands[at].view(np.int64)
        for level in (3, 9):
            found, expected = np.zeros((32, 3), np.int64), np.zeros((32, 3), np.int64)
            before = remembers[3][:, 0].copy()
            cost, m = split_hand(lo, hi, level, costs, remembers, found)
            again += np.array_equal(before, remembers[3][:, 0])
            forgets[3][:] = -1
            assert (cost, m) == split_hand(lo, hi, level, costs, forgets, expected)
            assert np.array_equal(found[:m], expected[:m])
    assert 0 < again < 800
