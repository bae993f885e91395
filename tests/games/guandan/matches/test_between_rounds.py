"""Levels, tribute and rule switches between rounds, against a plain twin that has each ruling."""

from __future__ import annotations

import itertools
from itertools import permutations

import numpy as np
import pytest

from games.game import GameError
from games.guandan.cards import CARD_NAMES, RANKS, pack, parse_cards
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


@pytest.mark.parametrize("rules", PRESETS.values(), ids=PRESETS)
def test_scores_equal_those_of_the_plain_twin(rules: Rules) -> None:
    rng = np.random.default_rng(1)
    orders = np.array(list(permutations(range(4))))
    n = amount(3000)
    order = orders[rng.integers(0, len(orders), n)]
    levels = np.where(rng.random((n, 2)) < 0.5, 12, rng.integers(0, 13, (n, 2)))
    fails = rng.integers(0, rules.ace_limit, (n, 2))
    owner = rng.choice([0, 1, NOBODY], n)
    drops = rng.integers(23, 27, (n, 2))
    score = score_round(order, owner, levels, fails, drops, rules=rules)
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
        dropped = np.flatnonzero(score.drops[i] != drops[i])
        got = (
            [RANKS[level] for level in score.levels[i]],
            score.fails[i].tolist(),
            None if score.winner[i] == NOBODY else int(score.winner[i]),
            int(dropped[0]) if len(dropped) else None,
        )
        assert got == want
        drawn = rules.max_drops is not None and score.drops[i].sum() >= rules.max_drops
        assert score.drawn[i] == (drawn and got[2] is None)


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
        ({"ace_win": "always"}, "rule ace_win must be one of 'not last', 'double'; got 'always'"),
        ({"return_levels": 1}, "rule return_levels must be one of False, True; got 1"),
        ({"ace_limit": 0}, "rule ace_limit must be an integer of at least 1; got 0"),
        ({"ace_limit": None}, "rule ace_limit must be an integer of at least 1; got None"),
        ({"max_rounds": True}, "rule max_rounds must be an integer"),
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


def test_both_big_jokers_spare_the_tribute_in_one_hand_or_in_the_losers_two() -> None:
    none, one, two = (parse_cards(text) for text in ("S3", "HR", "HR HR"))

    def spared(seats: list[int], *hands: np.ndarray) -> bool:
        return bool(anti_tribute(pack(np.stack(hands))[None], np.array([seats]))[0])

    assert spared([3, NOBODY], none, none, none, two)
    assert not spared([3, NOBODY], none, one, none, one)
    assert spared([3, 1], none, one, none, one)
    assert spared([3, 1], none, two, none, none)
    assert not spared([3, 1], one, one, none, none)
