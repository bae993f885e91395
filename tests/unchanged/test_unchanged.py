"""Results are what they were before the move; the comparison itself notices what differs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unchanged.compare import PARTS, check, check_group, compare_row, read_recorded
from tests.unchanged.decisions import GROUPS
from tests.unchanged.machine import machine

GROUP = next(group for group in GROUPS if group.name == "quick mincomb and balanced")
CELL: dict[str, Any] = {
    "folder": "f",
    "game": "g",
    "blueprint": "b",
    "method": "m",
    "mode": "nested",
    "sample": "",
    "seed": "0",
    "values": {"blueprint_exploitability": "0.5", "exploitability": "0.25", "searches": "3", "anchor": "1.0"},
    "as_stored": ["exploitability", "searches"],
}


def test_quick_results_are_what_they_were() -> None:
    found = list(check(quick=True))
    assert {finding.part for finding in found} == {"decisions", "matches", "rows"}
    assert [finding for finding in found if finding.status == "differs"] == []


@pytest.mark.long
@pytest.mark.parametrize("part", PARTS)
def test_results_are_what_they_were(part: str) -> None:
    found = list(check((part,)))
    assert found
    assert [finding for finding in found if finding.status == "differs"] == []


def test_ten_thousand_decisions_by_every_kind_of_agent_are_recorded() -> None:
    expected, choices = read_recorded()
    assert sum(map(len, choices.values())) >= 10_000
    counted: dict[str, int] = {}
    for group in expected["decisions"].values():
        for name, number in group["agents"].items():
            kind = name.partition(":")[0]
            counted[kind] = counted.get(kind, 0) + number
    assert counted["blueprint"] >= 6000 and counted["strong"] >= 1500 and counted["mincomb"] >= 900
    assert counted["rollout"] >= 1250 and counted["gs2-paper"] >= 150
    games = {cell["game"] for cell in expected["rows"]}
    assert len(expected["rows"]) >= 40 and len(games) == 8


def test_the_first_decision_that_differs_is_named_and_one_of_130_is_too_many_on_any_machine() -> None:
    expected, choices = read_recorded()
    wanted = expected["decisions"][GROUP.name]
    own = list(choices[GROUP.name])
    own[-1] = 1 - min(own[-1], 1)  # the last one, so that the rounds stay those recorded
    for exact in (True, False):
        found = check_group(GROUP, wanted, tuple(own), exact)
        assert found.status == "differs"
        assert f"decision {len(own) - 1}" in found.text and "recorded" in found.text
    assert check_group(GROUP, wanted, tuple(own[:5]), exact=True).status == "differs"


def test_a_row_is_held_to_the_bit_where_the_machine_is_the_same() -> None:
    stored = dict(CELL["values"])
    values = {**stored, "exploitability": "0.25000000000000006"}
    assert compare_row(CELL, stored, stored, True).status == "same"
    assert compare_row(CELL, values, stored, True).status == "differs"
    assert compare_row(CELL, values, stored, False).status == "close"
    assert compare_row(CELL, {**stored, "searches": "4"}, stored, False).status == "differs"
    assert compare_row(CELL, {**stored, "exploitability": "0.26"}, stored, False).status == "differs"
    assert compare_row(CELL, stored, {**stored, "searches": "4"}, True).status == "differs"
    other = {**stored, "anchor": "0.5"}
    assert compare_row(CELL, stored, other, True).text == "as recorded; stored with other kernels: anchor"
    assert compare_row(CELL, other, other, True).text == "as stored"
    assert compare_row(CELL, {**stored, "anchor": "0.7"}, other, True).status == "differs"
    assert compare_row(CELL, stored, None, True).status == "differs"


def test_the_machine_is_told_by_its_processor_and_libraries() -> None:
    assert {"cpu", "features", "half", "numpy", "torch"} <= machine().keys()
