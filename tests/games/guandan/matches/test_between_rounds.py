"""Levels, tribute and rule switches between rounds: against a plain twin, and each ruling."""

from __future__ import annotations

import itertools
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from games.game import GameError
from games.guandan.cards import CARD_NAMES, RANKS, as_level, pack, parse_cards
from games.guandan.matches.tribute import (
    anti_tribute,
    payers,
    return_options,
    score_round,
    settle_tribute,
    tribute_options,
)
from games.guandan.rules import PRESETS, RULING, Rules, ace_rules, as_rules
from tests.patience import amount
from tests.reference.guandan import guandan_match as slow

NOBODY = 255
FIRST_LAST, FIRST_THIRD, DOUBLE = [0, 1, 3, 2], [0, 1, 2, 3], [0, 2, 1, 3]
LOST = [1, 0, 3, 2]


@pytest.mark.parametrize("rules", PRESETS.values(), ids=PRESETS)
def test_scores_equal_those_of_the_plain_twin(rules: Rules) -> None:
    rng = np.random.default_rng(1)
    orders = np.array(list(permutations(range(4))))
    n = amount(3000)
    order = orders[rng.integers(0, len(orders), n)]
    levels = np.where(rng.random((n, 2)) < 0.5, 12, rng.integers(0, 13, (n, 2)))
    fails = rng.integers(0, rules.ace_limit, (n, 2))
    owner = rng.choice([0, 1, NOBODY], n)
    score = score_round(order, owner, levels, fails, np.zeros((n, 2), int), rules=rules)
    for i in range(n):
        want = slow.promote(
            order[i].tolist(),
            None if owner[i] == NOBODY else int(owner[i]),
            [RANKS[level] for level in levels[i]],
            fails[i].tolist(),
            win=rules.ace_win,
            failure=rules.ace_failure,
            limit=rules.ace_limit,
            promotes=rules.ace_promotes,
        )
        dropped = np.flatnonzero(score.drops[i])
        got = (
            [RANKS[level] for level in score.levels[i]],
            score.fails[i].tolist(),
            None if score.winner[i] == NOBODY else int(score.winner[i]),
            int(dropped[0]) if len(dropped) else None,
        )
        assert got == want


@pytest.mark.parametrize(
    ("order", "levels", "given", "after"),
    [
        # the first finisher's team rises by three, two or one
        (DOUBLE, "25", {"owner": 1}, {"levels": "55"}),
        (FIRST_LAST, "25", {"owner": 1}, {"levels": "35"}),
        # nobody skips the ace
        (DOUBLE, "K5", {}, {"levels": "A5", "winner": NOBODY}),
        # a team wins at its own ace unless its other seat comes last
        (FIRST_THIRD, "A5", {}, {"winner": 0}),
        (FIRST_LAST, "A5", {}, {"winner": NOBODY, "levels": "A5", "fails": (1, 0)}),
        # a win counts only in a round played at the winner's own level
        (DOUBLE, "AA", {"owner": 1}, {"winner": NOBODY, "fails": (0, 1)}),
        # the NJUPT platform asks for a double win at the ace
        (FIRST_THIRD, "A5", {"rules": "njupt"}, {"winner": NOBODY, "fails": (1, 0)}),
        (DOUBLE, "A5", {"rules": "njupt"}, {"winner": 0}),
        # the third failure at the ace drops to two
        (LOST, "A5", {"fails": (2, 0)}, {"levels": "27", "fails": (0, 0), "drops": (1, 0)}),
        # rounds at the other team's level are no failures
        (LOST, "A5", {"owner": 1, "fails": (2, 1)}, {"levels": "A7", "fails": (2, 1)}),
        # the official server promotes a team that drops although it came first
        (FIRST_LAST, "A5", {"fails": (2, 0), "rules": "openguandan"}, {"levels": "35"}),
        # two failures drop on the NJUPT platform, and fifty drops draw
        (
            LOST,
            "A5",
            {"fails": (1, 0), "rules": "njupt", "drops": (20, 28)},
            {"levels": "27", "drawn": False},
        ),
        (LOST, "A5", {"fails": (1, 0), "rules": "njupt", "drops": (20, 29)}, {"drawn": True}),
        (LOST, "A5", {"fails": (2, 0), "drops": (20, 29)}, {"drawn": False}),
        # the paper counts a failure only with a seat in last place
        ([1, 0, 2, 3], "A5", {"rules": "paper"}, {"fails": (0, 0)}),
        (LOST, "A5", {"rules": "paper"}, {"fails": (1, 0)}),
        ([1, 0, 2, 3], "A5", {}, {"fails": (1, 0)}),
    ],
)
def test_rulings_on_levels(
    order: list[int], levels: str, given: dict[str, Any], after: dict[str, Any]
) -> None:
    given = {"owner": 0, "fails": (0, 0), "drops": (0, 0), "rules": "ruling", **given}
    score = score_round(
        np.array([order]),
        np.array([given["owner"]]),
        np.array([[RANKS.index(level) for level in levels]]),
        np.array([given["fails"]]),
        np.array([given["drops"]]),
        rules=PRESETS[given["rules"]],
    )
    found = {
        "levels": "".join(RANKS[level] for level in score.levels[0]),
        "winner": score.winner[0],
        "fails": tuple(score.fails[0]),
        "drops": tuple(score.drops[0]),
        "drawn": score.drawn[0],
    }
    assert {name: found[name] for name in after} == after


def test_presets_differ_from_the_ruling_where_their_source_does() -> None:
    assert PRESETS["ruling"] == RULING == as_rules("ruling")
    changed = {name: set(rules.changes()) for name, rules in PRESETS.items()}
    assert changed["ruling"] == set()
    assert {"first_lead", "tribute_suit", "tribute_compare", "tribute_tie"} <= changed["openguandan"]
    assert changed["njupt"] == {"ace_win", "ace_limit", "max_drops"}
    assert changed["paper"] == {"return_levels", "ace_failure"}
    assert all(as_rules(rules.changes()) == rules for rules in PRESETS.values())
    assert as_rules({"max_rounds": 30}) == Rules(max_rounds=30)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("house", "rules are one of ruling, openguandan, njupt, paper; got 'house'"),
        ({"jokers": 3}, "unknown rules jokers"),
        ({"ace_win": "always"}, "rule ace_win is one of 'not last', 'double'; got 'always'"),
        ({"return_levels": 1}, "rule return_levels is one of False, True; got 1"),
        ({"ace_limit": 0}, "rule ace_limit is an integer of at least 1; got 0"),
        ({"ace_limit": None}, "rule ace_limit is an integer of at least 1; got None"),
        ({"max_rounds": True}, "rule max_rounds is an integer"),
        (7, "rules are a preset's name or a dictionary"),
    ],
)
def test_rules_that_do_not_exist_are_refused(rules: object, message: str) -> None:
    with pytest.raises(GameError, match=message):
        as_rules(rules)  # type: ignore[arg-type]


def test_what_rules_say_of_ace_reads_back_from_a_byte() -> None:
    for preset in PRESETS.values():
        assert ace_rules(preset.ace).ace == preset.ace
    assert RULING.ace == 0 and ace_rules(0) == RULING
    told = set()
    for win, failure, promotes, limit in itertools.product(
        ("not last", "double"), ("not won", "dweller"), (False, True), range(1, 17)
    ):
        rules = Rules(ace_win=win, ace_failure=failure, ace_promotes=promotes, ace_limit=limit)
        assert 0 <= rules.ace < 256 and ace_rules(rules.ace) == rules
        told.add(rules.ace)
    assert len(told) == 128
    assert Rules(ace_limit=99).ace == Rules(ace_limit=16).ace


CARD = {name: c for c, name in enumerate(CARD_NAMES)}


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
