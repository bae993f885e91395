"""Tribute against a plain twin, and each ruling on it."""

from __future__ import annotations

import numpy as np
import pytest

from games.guandan.cards import CARD_NAMES, RANKS, as_level, pack, parse_cards
from games.guandan.matches.lockstep import CardDecisions
from games.guandan.matches.tribute import (
    anti_tribute,
    card_place,
    payers,
    return_options,
    settle_tribute,
    tribute_options,
)
from games.guandan.matches.tribute_policy import danzero_cards, random_cards
from games.guandan.rules import PRESETS, Rules
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
        hands = random_hands(rng, 400, size)
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
    for _ in range(600):
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


def test_the_highest_card_is_paid_by_the_levels_order_and_never_a_wild_card() -> None:
    assert names(tribute_options(hand("H5 S5 SA DA"), [as_level("5")])) == ["S5"]
    assert names(tribute_options(hand("H5 H5 SA DA"), [as_level("5")])) == ["SA", "DA"]
    assert names(tribute_options(hand("H5 S5 SB HR HR"), [as_level("5")])) == ["HR"]


def test_the_payer_chooses_among_suits_but_the_official_server_lists_one() -> None:
    cards, level = hand("SK CK DK D9"), [as_level("5")]
    assert names(tribute_options(cards, level)) == ["SK", "CK", "DK"]
    assert names(tribute_options(cards, level, rules=PRESETS["openguandan"])) == ["SK"]


def test_a_return_is_no_higher_than_ten_and_no_level_card() -> None:
    cards, level = hand("H5 S5 S2 DT CJ SA"), [as_level("5")]
    paid = np.array([CARD["SA"]])
    assert names(return_options(cards, level, paid)) == ["S2", "DT"]
    assert names(return_options(cards, level, paid, rules=PRESETS["paper"])) == ["S2", "H5", "S5", "DT"]


def test_without_a_low_card_the_lowest_is_returned() -> None:
    paid = np.array([CARD["SA"]])
    assert names(return_options(hand("SJ DJ SQ SA S5"), [as_level("5")], paid)) == ["SJ", "DJ"]
    assert names(return_options(hand("SA HR S5 D5"), [as_level("5")], paid)) == ["SA"]


def test_the_tribute_card_itself_may_come_back_except_on_the_official_server() -> None:
    cards, paid = hand("S4 D6 SA"), np.array([CARD["S4"]])
    assert names(return_options(cards, [0], paid)) == ["S4", "D6"]
    assert names(return_options(cards, [0], paid, rules=PRESETS["openguandan"])) == ["D6"]


def test_one_pays_after_a_single_win_and_two_after_a_double_win() -> None:
    assert payers(np.array([[0, 1, 2, 3], [0, 1, 3, 2], [2, 0, 1, 3]])).tolist() == [
        [3, NOBODY],
        [2, NOBODY],
        [3, 1],
    ]


def test_the_last_pays_the_first_and_leads_even_if_they_are_partners() -> None:
    order = np.array([[0, 1, 3, 2], [1, 2, 3, 0]])
    to, leader = settle_tribute(order, [0, 0], np.array([[51, 0], [51, 0]]))
    assert to.tolist() == [[0, NOBODY], [1, NOBODY]]
    assert leader.tolist() == [2, 0]


def test_the_higher_tribute_goes_to_the_first_finisher_by_the_levels_order() -> None:
    order, level = np.array([[0, 2, 1, 3]]), [as_level("7")]
    cards = np.array([[CARD["D7"], CARD["SA"]]])
    to, leader = settle_tribute(order, level, cards)
    assert to.tolist() == [[0, 2]] and leader[0] == 3
    to, leader = settle_tribute(order, level, cards, rules=PRESETS["openguandan"])
    assert to.tolist() == [[2, 0]] and leader[0] == 3, "natural rank decides who receives, not who leads"


def test_of_equal_tributes_the_next_seats_goes_to_the_first_finisher_and_it_leads() -> None:
    cards = np.array([[CARD["SA"], CARD["DA"]]])
    for banker in range(4):
        for order in ([banker, (banker + 2) % 4, (banker + k) % 4, (banker - k) % 4] for k in (1, 3)):
            to, leader = settle_tribute(np.array([order]), [0], cards)
            seats = payers(np.array([order]))[0]
            assert leader[0] == (banker + 1) % 4
            assert seats[to[0].tolist().index(banker)] == (banker + 1) % 4


def test_on_the_official_server_the_first_answer_decides_a_tie_and_with_level_cards_the_other_leads() -> None:
    order, rules = np.array([[0, 2, 1, 3]]), PRESETS["openguandan"]
    plain, level_cards = np.array([[CARD["SA"], CARD["DA"]]]), np.array([[CARD["S5"], CARD["D5"]]])
    to, leader = settle_tribute(order, [as_level("5")], plain, 1, rules=rules)
    assert to.tolist() == [[2, 0]] and leader[0] == 1
    to, leader = settle_tribute(order, [as_level("5")], level_cards, 1, rules=rules)
    assert to.tolist() == [[2, 0]] and leader[0] == 3


def test_both_big_jokers_spare_the_tribute_in_one_hand_or_in_the_losers_two() -> None:
    none, one, two = (parse_cards(text) for text in ("S3", "HR", "HR HR"))

    def spared(seats: list[int], *hands: np.ndarray) -> bool:
        return bool(anti_tribute(pack(np.stack(hands))[None], np.array([seats]))[0])

    assert spared([3, NOBODY], none, none, none, two)
    assert not spared([3, NOBODY], none, one, none, one)
    assert spared([3, 1], none, one, none, one)
    assert spared([3, 1], none, two, none, none)
    assert not spared([3, 1], one, one, none, none)


def test_danzeros_rule_equals_the_plain_twin() -> None:
    rng = np.random.default_rng(3)
    hands = random_hands(rng, 800, 28)
    levels = rng.integers(0, 13, len(hands))
    cards = packed(hands)
    options = return_options(cards, levels, np.zeros(len(hands), int))
    zeros = np.zeros(len(hands), np.uint8)
    due = CardDecisions(
        np.arange(len(hands)),
        zeros,
        zeros,
        np.ones(len(hands), bool),
        levels.astype(np.uint8),
        cards,
        options,
    )
    chosen = danzero_cards(due)
    for i, held in enumerate(hands):
        level = RANKS[levels[i]]
        assert CARD_NAMES[chosen[i]] == slow.danzero_return(held, level, names(options[i : i + 1]))


@pytest.mark.parametrize(
    ("cards", "returned"),
    [
        ("S3 D3 S5 H5 C9 DT DJ", "C9"),  # a card that makes only a single
        ("S3 D3 C3 S5 H5 DT DJ", "S3"),  # none: out of a pair or trips
        ("S3 D3 C3 H3 ST DJ", "ST"),  # a ten rather than a bomb
        ("S3 D3 C3 H3 SJ DJ", "H3"),  # only a bomb
        ("S3 S4 S5 S6 S7 C9", "C9"),  # the straight flush is kept
        ("S3 S4 S5 S7 H2 C9 D9", "C9"),  # so is one that the wild card completes
        ("S3 D4 S5 C6 S7 S9 D9", "S9"),  # a straight is kept before a pair
    ],
)
def test_danzeros_rule_breaks_what_is_worth_least(cards: str, returned: str) -> None:
    held = hand(cards)
    options = return_options(held, [0], np.array([53]))
    one = np.zeros(1, np.uint8)
    due = CardDecisions(np.zeros(1, np.int64), one, one, np.ones(1, bool), one, held, options)
    assert CARD_NAMES[danzero_cards(due)[0]] == returned


def test_danzeros_rule_pays_the_suit_that_no_straight_flush_needs() -> None:
    held = hand("ST SJ SQ SK SA DA")
    options = tribute_options(held, [0])
    one = np.zeros(1, np.uint8)
    due = CardDecisions(np.zeros(1, np.int64), one, one, np.zeros(1, bool), one, held, options)
    assert CARD_NAMES[danzero_cards(due)[0]] == "DA"


def test_random_cards_are_uniform_among_the_options() -> None:
    n = 6000
    options = np.zeros((n, 54), bool)
    options[:, [3, 17, 40]] = True
    zeros = np.zeros(n, np.uint8)
    due = CardDecisions(np.arange(n), zeros, zeros, zeros > 0, zeros, np.zeros((n, 2), np.uint64), options)
    counts = np.bincount(random_cards(due, np.random.default_rng(4)), minlength=54)
    assert counts.sum() == counts[[3, 17, 40]].sum() == n
    # five standard deviations of a binomial
    assert np.all(np.abs(counts[[3, 17, 40]] - n / 3) < 5 * np.sqrt(n * 2 / 9))


def test_a_card_place_runs_from_the_lowest_rank_to_the_big_joker() -> None:
    level = as_level("5")
    assert card_place([CARD[c] for c in ("S2", "S6", "SA", "S5", "SB", "HR")], level).tolist() == [
        0,
        3,
        11,
        12,
        13,
        14,
    ]
