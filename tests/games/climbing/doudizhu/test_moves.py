"""Moves and move lists of DouDiZhu: the field's numbers, the slow twin, RLCard and OpenSpiel."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

import games.climbing.doudizhu
from games import GameError
from games.climbing.doudizhu.doudizhu import DouDizhu
from games.climbing.doudizhu.move_table import (
    KIND_NAMES,
    MOST_CARDS,
    NUM_MOVES,
    move_letters,
    move_number,
    move_table,
)
from games.climbing.doudizhu.multiset import read_multiset
from games.climbing.doudizhu.round_state import empty_rounds
from tests.patience import amount
from tests.reference.doudizhu import PASS, RANKS, all_moves, in_order, legal_moves, whole_deck

MOVES_BY_KIND = {
    "pass": 1,
    "solo": 15,
    "pair": 13,
    "trio": 13,
    "trio with a solo": 182,
    "trio with a pair": 156,
    "chain of solos": 36,
    "chain of pairs": 52,
    "chain of trios": 45,
    "plane with solos": 21_822,
    "plane with pairs": 2_939,
    "four with two solos": 1_326,
    "four with two pairs": 858,
    "bomb": 13,
    "rocket": 1,
}
"""Zha et al. 2021 (DouZero), table 1."""


def some_hand(rng: random.Random) -> str:
    """Return a random hand, half the time of a few ranks, so that fours and planes are common."""
    deck = whole_deck()
    if rng.random() < 0.5:
        deck = "".join(rank * 4 for rank in rng.sample(RANKS[:13], 6)) + "BR"
    return in_order("".join(rng.sample(deck, min(rng.randint(1, 20), len(deck)))))


def some_position(rng: random.Random) -> tuple[str, str | None]:
    """Return a hand, and a move of another hand to beat or None; both come from one deck."""
    hand = some_hand(rng)
    if rng.random() < 0.4:
        return hand, None
    rest = list(whole_deck())
    for card in hand:
        rest.remove(card)
    groups = rng.sample(RANKS[:13], 6)
    few = [card for card in rest if card in groups or card in "BR"]
    other = in_order("".join(rng.sample(few, min(rng.randint(1, 20), len(few)))))
    moves = all_moves(other)
    kind = rng.choice(sorted({kind[:2] for kind in moves.values()}))
    return hand, rng.choice(sorted(move for move, of in moves.items() if of[:2] == kind))


def compared(positions: list[tuple[str, str | None]]) -> None:
    hands = np.array([read_multiset(hand) for hand, _ in positions], np.uint64)
    beats = np.array([move_number(move or PASS) for _, move in positions])
    states = empty_rounds(len(hands))
    states["hand"][:, 0], states["beat"] = hands, beats
    states["player"] = states["landlord"] = 0
    lists = DouDizhu().actions(states)
    for row, (hand, beat) in enumerate(positions):
        ours = [move_letters(move) for move in lists[row].tolist()]
        assert len(set(ours)) == len(ours)
        assert set(ours) == legal_moves(hand, beat), (hand, beat)


def test_there_are_as_many_moves_of_each_kind_as_the_field_says() -> None:
    table = move_table()
    numbers = np.bincount(table.heads & 255, minlength=15).tolist()
    assert dict(zip(KIND_NAMES, numbers, strict=True)) == MOVES_BY_KIND
    assert len(table.cards) == NUM_MOVES == len(set(table.cards.tolist()))


def test_move_lists_are_those_of_the_slow_twin() -> None:
    rng = random.Random(0)
    for _ in range(amount(100, 1)):
        compared([some_position(rng) for _ in range(amount(1000, 250))])


def test_hands_of_every_size_that_a_seat_can_hold_are_listed() -> None:
    rng = random.Random(3)
    compared([(in_order("".join(rng.sample(whole_deck(), size))), None) for size in range(1, MOST_CARDS + 1)])


def test_cards_that_make_no_move_are_refused() -> None:
    # five of a rank, no card, no combination, a chain with a 2, both jokers as solos, two bombs
    for cards in ("BB", "33333", "1", "34", "QKA23", "3333BR", "333344445"):
        with pytest.raises(GameError, match="doudizhu"):
            move_number(cards)


def test_a_move_may_be_written_in_any_order_and_case() -> None:
    for text in ("10 j q k a", "AKQJT", "a,k,q,j,10"):
        assert move_letters(move_number(text)) == "TJQKA"
    assert move_letters(move_number("RJ BJ")) == "BR"
    assert move_letters(move_number(" Pass ")) == "pass"
    for move in range(0, NUM_MOVES, 97):
        assert move_number(move_letters(move)) == move


def test_every_ruling_says_whom_it_follows() -> None:
    file = Path(games.climbing.doudizhu.__file__).with_name("rulings.json")
    text = json.loads(file.read_text())
    for ruling in text["rulings"]:
        assert ruling["question"].endswith("?") and ruling["ruling"] and ruling["follows"]
        assert {*ruling["follows"], *ruling["differs"]} <= set(text["sources"])
