"""Moves and move lists of DouDiZhu: the field's numbers, the slow twin, RLCard and OpenSpiel."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import numpy as np
import pytest

import games.climbing.doudizhu
from games import GameError
from games.climbing.doudizhu.move_lists import moves_of_hands
from games.climbing.doudizhu.move_table import (
    KIND_NAMES,
    MOST_CARDS,
    NUM_MOVES,
    move_letters,
    move_number,
    move_table,
)
from games.climbing.doudizhu.multiset import pack_ranks, read_multiset
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
    lists = moves_of_hands(hands, beats)
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
    compared([some_position(rng) for _ in range(amount(2000, 500))])


def test_hands_of_every_size_that_a_seat_can_hold_are_listed_and_larger_ones_refused() -> None:
    rng = random.Random(3)
    compared([(in_order("".join(rng.sample(whole_deck(), size))), None) for size in range(1, MOST_CARDS + 1)])
    for size in range(MOST_CARDS + 1, len(whole_deck()) + 1):
        hand = read_multiset(in_order("".join(rng.sample(whole_deck(), size))))
        with pytest.raises(GameError, match=f"at most 20 cards; got {size}"):
            moves_of_hands(np.array([hand], np.uint64))


@pytest.mark.long
def test_a_hundred_thousand_move_lists_are_those_of_the_slow_twin() -> None:
    rng = random.Random(1)
    for _ in range(100):
        compared([some_position(rng) for _ in range(1000)])


def test_a_kind_and_its_links_decide_what_can_be_beaten() -> None:
    hand = np.array([read_multiset("4445556667778899BR")], np.uint64)
    for beat, answers in (
        ("33344458", {"44455588", "55566699", "6667778R"}),
        ("33344455", {"44455588", "55566699"}),
        ("3334445566", {"4445558899", "6667778899"}),
        ("33344", {"44455", "44488", "77799"}),
        ("3333", {"BR"}),
        ("BR", set()),
    ):
        list_ = moves_of_hands(hand, np.array([move_number(beat)]))[0]
        ours = {move_letters(move) for move in list_.tolist()}
        assert answers <= ours and "pass" in ours
        assert ours == legal_moves("4445556667778899BR", beat)


@pytest.mark.parametrize(
    ("cards", "what"),
    [
        ("BB", "one more of a joker"),
        ("33333", "five of a rank"),
        ("1", "no card"),
        ("34", "no combination"),
        ("QKA23", "a chain with a 2"),
        ("3333BR", "both jokers as solos"),
        ("333344445", "two bombs"),
    ],
)
def test_cards_that_make_no_move_are_refused(cards: str, what: str) -> None:
    with pytest.raises(GameError, match="doudizhu"):
        move_number(cards)


def test_a_move_may_be_written_in_any_order_and_case() -> None:
    for text in ("10 j q k a", "AKQJT", "a,k,q,j,10"):
        assert move_letters(move_number(text)) == "TJQKA"
    assert move_letters(move_number("RJ BJ")) == "BR"
    assert move_letters(move_number(" Pass ")) == "pass"


def test_every_move_is_read_back() -> None:
    for move in range(0, NUM_MOVES, 41):
        assert move_number(move_letters(move)) == move


def test_hands_that_are_none_are_refused() -> None:
    with pytest.raises(GameError, match="four of a rank"):
        moves_of_hands(np.array([5], np.uint64))
    with pytest.raises(GameError, match="at most 20 cards; got 54"):
        moves_of_hands(np.array([read_multiset("3"), read_multiset(whole_deck())], np.uint64))
    with pytest.raises(GameError, match="a move is 0"):
        moves_of_hands(np.array([1], np.uint64), NUM_MOVES)
    with pytest.raises(GameError, match=r"0\.\.4 times"):
        pack_ranks([5] + [0] * 14)
    with pytest.raises(GameError, match="15 entries"):
        pack_ranks([1])


def test_every_ruling_says_whom_it_follows() -> None:
    file = Path(games.climbing.doudizhu.__file__).with_name("rulings.json")
    text = json.loads(file.read_text())
    for ruling in text["rulings"]:
        assert ruling["question"].endswith("?") and ruling["ruling"] and ruling["follows"]
        assert {*ruling["follows"], *ruling["differs"]} <= set(text["sources"])


def test_rlcard_knows_the_same_moves_and_lists_them_alike() -> None:
    pytest.importorskip("rlcard")
    from rlcard.games.doudizhu.judger import DoudizhuJudger
    from rlcard.games.doudizhu.utils import ID_2_ACTION

    assert {move_letters(move) for move in range(NUM_MOVES)} == set(ID_2_ACTION)
    rng = random.Random(2)
    hands = [some_hand(rng) for _ in range(amount(1000, 300))]
    lists = moves_of_hands(np.array([read_multiset(hand) for hand in hands], np.uint64))
    for row, hand in enumerate(hands):
        theirs = DoudizhuJudger.playable_cards_from_hand(hand)
        assert {move_letters(move) for move in lists[row].tolist()} == theirs, hand


def openspiel_cards(text: str) -> str:
    """Return a move of OpenSpiel's in our letters."""
    if text == "Pass":
        return PASS
    return in_order(text.replace("(BWJ)", "B").replace("(CJ)", "R").replace("-", ""))


def differs_by_ruling(move: str, hand: str, beat: str | None, *, ours: bool) -> bool:
    """Return whether a listed ruling explains that one side alone lists a move."""
    kind, _, rank = all_moves(move)[move]
    if not ours:
        return kind == "bomb" and beat == "BR"
    if kind in ("four_solo", "four_pair"):
        return True
    return kind in ("solo", "pair", "trio") and len(move) > 3 and hand.count(rank) == 4


def test_openspiel_lists_the_same_moves_but_for_the_rulings() -> None:
    pyspiel = pytest.importorskip("pyspiel")
    rng = random.Random(3)
    game = pyspiel.load_game("dou_dizhu")
    seen = 0
    while seen < amount(1500, 400):
        state = game.new_initial_state()
        beat, passes = None, 0
        while not state.is_terminal():
            actions = state.legal_actions()
            if state.is_chance_node():
                state.apply_action(rng.choice(actions))
                continue
            words = [state.action_to_string(action) for action in actions]
            if any(word.startswith("Bid") for word in words):
                state.apply_action(actions[-1])
                continue
            player = state.current_player()
            hand = re.search(r"My hand (\S*)", state.observation_string(player))
            assert hand is not None
            cards = openspiel_cards(hand[1])
            theirs, ours = {openspiel_cards(word) for word in words}, legal_moves(cards, beat)
            for move in theirs ^ ours:
                assert differs_by_ruling(move, cards, beat, ours=move in ours), (move, cards, beat)
            seen += 1
            at = rng.randrange(len(actions))
            state.apply_action(actions[at])
            move = openspiel_cards(words[at])
            passes = passes + 1 if move == PASS else 0
            beat = None if passes == 2 else beat if move == PASS else move
