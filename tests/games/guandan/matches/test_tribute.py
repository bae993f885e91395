"""Tribute against a plain twin, and each ruling on it."""

from __future__ import annotations

import numpy as np
import pytest

from games.guandan.cards import CARD_NAMES, RANKS, as_level, pack, parse_cards
from games.guandan.matches.tribute import (
    anti_tribute,
    payers,
    return_options,
    settle_tribute,
    tribute_options,
)
from games.guandan.rules import PRESETS, Rules
from tests.patience import amount
from tests.reference.guandan import guandan_match as slow

CARD = {name: c for c, name in enumerate(CARD_NAMES)}
NOBODY = 255


def hand(text: str) -> np.ndarray:
    return pack(parse_cards(text))[None]


def names(options: np.ndarray) -> list[str]:
    return [CARD_NAMES[c] for c in np.flatnonzero(options[0])]


def random_hands(rng: np.random.Generator, n: int, size: int = 27) -> list[list[str]]:
    deck = [name for name in CARD_NAMES for _ in range(2)]
    return [[deck[i] for i in rng.choice(108, size, replace=False)] for _ in range(n)]


def packed(hands: list[list[str]]) -> np.ndarray:
    return pack(np.stack([parse_cards(cards, limit=28) for cards in hands]))


@pytest.mark.parametrize("rules", PRESETS.values(), ids=PRESETS)
def test_options_equal_those_of_the_plain_twin(rules: Rules) -> None:
    rng = np.random.default_rng(1)
    for size in (3, 8, 28):
        hands = random_hands(rng, amount(400), size)
        levels = rng.integers(0, 13, len(hands))
        received = [cards[rng.integers(size)] for cards in hands]
        pay = tribute_options(packed(hands), levels, rules=rules)
        back = return_options(packed(hands), levels, np.array([CARD[c] for c in received]), rules=rules)
        for i, cards in enumerate(hands):
            level = RANKS[levels[i]]
            assert names(pay[i : i + 1]) == slow.tribute_choices(cards, level, suit=rules.tribute_suit)
            assert names(back[i : i + 1]) == slow.return_choices(
                cards,
                level,
                received[i],
                levels=rules.return_levels,
                may_return=rules.return_received,
            )


@pytest.mark.parametrize("rules", PRESETS.values(), ids=PRESETS)
def test_receivers_and_lead_equal_those_of_the_plain_twin(rules: Rules) -> None:
    rng = np.random.default_rng(2)
    high = [CARD[name] for name in ("HQ", "SQ", "HA", "CA", "S7", "D7", "S3", "SB", "HR")]
    for _ in range(amount(600)):
        banker, swap = int(rng.integers(4)), int(rng.integers(2))
        losers = [(banker + 1) % 4, (banker + 3) % 4][:: 1 - 2 * swap]
        order = [banker, (banker + 2) % 4, *losers]
        level = int(rng.choice([1, 5, 10, 12]))
        cards = rng.choice(high, 2)
        slots = payers(np.array([order]))[0]
        assert list(slots) == [order[3], order[2]]
        first = int(rng.integers(2))
        to, lead = settle_tribute(np.array([order]), [level], cards[None], first, rules=rules)
        paid = {int(slots[s]): CARD_NAMES[cards[s]] for s in range(2)}
        receivers, leader = slow.double_tribute(
            order,
            paid,
            RANKS[level],
            compare=rules.tribute_compare,
            tie=rules.tribute_tie,
            first=int(slots[first]),
        )
        assert {int(slots[s]): int(to[0, s]) for s in range(2)} == receivers
        assert lead[0] == leader


@pytest.mark.parametrize(
    ("cards", "level", "rules", "paid"),
    [
        # the highest by the level's order, never a wild card
        ("H5 S5 SA DA", "5", "ruling", "S5"),
        ("H5 H5 SA DA", "5", "ruling", "SA DA"),
        ("H5 S5 SB HR HR", "5", "ruling", "HR"),
        # of any suit, but the official server lists one
        ("SK CK DK D9", "5", "ruling", "SK CK DK"),
        ("SK CK DK D9", "5", "openguandan", "SK"),
    ],
)
def test_rulings_on_what_is_paid(cards: str, level: str, rules: str, paid: str) -> None:
    options = tribute_options(hand(cards), [as_level(level)], rules=PRESETS[rules])
    assert names(options) == paid.split()


@pytest.mark.parametrize(
    ("cards", "level", "received", "rules", "returned"),
    [
        # no higher than ten and no level card
        ("H5 S5 S2 DT CJ SA", "5", "SA", "ruling", "S2 DT"),
        ("H5 S5 S2 DT CJ SA", "5", "SA", "paper", "S2 H5 S5 DT"),
        # without a low card the lowest
        ("SJ DJ SQ SA S5", "5", "SA", "ruling", "SJ DJ"),
        ("SA HR S5 D5", "5", "SA", "ruling", "SA"),
        # the tribute card itself may come back except on the official server
        ("S4 D6 SA", "2", "S4", "ruling", "S4 D6"),
        ("S4 D6 SA", "2", "S4", "openguandan", "D6"),
    ],
)
def test_rulings_on_what_is_returned(
    cards: str, level: str, received: str, rules: str, returned: str
) -> None:
    options = return_options(hand(cards), [as_level(level)], np.array([CARD[received]]), rules=PRESETS[rules])
    assert names(options) == returned.split()


@pytest.mark.parametrize(
    ("order", "level", "cards", "first", "rules", "to", "leader"),
    [
        # the last pays the first and leads, even if they are partners
        ([0, 1, 3, 2], "2", "HA H2", 0, "ruling", [0, NOBODY], 2),
        ([1, 2, 3, 0], "2", "HA H2", 0, "ruling", [1, NOBODY], 0),
        # the higher tribute goes to the first by the level's order; on the official server by natural rank,
        # which does not decide who leads
        ([0, 2, 1, 3], "7", "D7 SA", 0, "ruling", [0, 2], 3),
        ([0, 2, 1, 3], "7", "D7 SA", 0, "openguandan", [2, 0], 3),
        # of equal ones the next seat's goes to the first, and it leads
        ([0, 2, 1, 3], "2", "SA DA", 0, "ruling", [2, 0], 1),
        ([3, 1, 2, 0], "2", "SA DA", 0, "ruling", [3, 1], 0),
        # on the official server the first answer decides, and with level cards the other leads
        ([0, 2, 1, 3], "5", "SA DA", 1, "openguandan", [2, 0], 1),
        ([0, 2, 1, 3], "5", "S5 D5", 1, "openguandan", [2, 0], 3),
    ],
)
def test_rulings_on_who_receives_and_who_leads(
    order: list[int], level: str, cards: str, first: int, rules: str, to: list[int], leader: int
) -> None:
    paid = np.array([[CARD[card] for card in cards.split()]])
    found, leads = settle_tribute(np.array([order]), [as_level(level)], paid, first, rules=PRESETS[rules])
    assert found.tolist() == [to] and leads[0] == leader


def test_both_big_jokers_spare_the_tribute_in_one_hand_or_in_the_losers_two() -> None:
    none, one, two = (parse_cards(text) for text in ("S3", "HR", "HR HR"))

    def spared(seats: list[int], *hands: np.ndarray) -> bool:
        return bool(anti_tribute(pack(np.stack(hands))[None], np.array([seats]))[0])

    assert spared([3, NOBODY], none, none, none, two)
    assert not spared([3, NOBODY], none, one, none, one)
    assert spared([3, 1], none, one, none, one)
    assert spared([3, 1], none, two, none, none)
    assert not spared([3, 1], one, one, none, none)
