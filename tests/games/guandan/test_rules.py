"""Rule switches and presets."""

from __future__ import annotations

import itertools

import pytest

from games.game import GameError
from games.guandan.rules import PRESETS, RULING, Rules, ace_rules, as_rules


def test_presets_differ_from_the_ruling_where_their_source_does() -> None:
    assert PRESETS["ruling"] == RULING == as_rules("ruling")
    changed = {name: set(rules.changes()) for name, rules in PRESETS.items()}
    assert changed["ruling"] == set()
    assert {"first_lead", "tribute_suit", "tribute_compare", "tribute_tie"} <= changed["openguandan"]
    assert changed["njupt"] == {"ace_win", "ace_limit", "max_drops"}
    assert changed["paper"] == {"return_levels", "ace_failure"}


@pytest.mark.parametrize("name", PRESETS)
def test_changes_read_back(name: str) -> None:
    assert as_rules(PRESETS[name].changes()) == PRESETS[name]


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


def test_a_switch_can_be_set_alone() -> None:
    assert as_rules({"max_rounds": 30}) == Rules(max_rounds=30)


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
