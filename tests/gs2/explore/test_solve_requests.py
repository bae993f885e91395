"""Requests of a page: good ones are searched, bad ones are refused in words, games are kept within limits."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfr.tree.memory import TooLarge
from gs2.explore import prepared_games
from gs2.explore.requests import explorable_games, infoset_names, solve_request
from tests.patience import amount

KUHN = {"game": "kuhn_poker", "infoset": "P1 holds Q | bet"}


def ignore(done: int, of: int) -> None:
    """Do nothing with progress."""


def test_a_request_with_nothing_in_it_is_the_example_of_the_command() -> None:
    told: list[tuple[int, int]] = []
    made = solve_request({}, lambda done, of: told.append((done, of)))
    assert made["infoset"] == "P1 holds Ks | raise" and made["method"] == "gs2+"
    assert told == [(n, 4) for n in range(5)]
    again = solve_request(made["request"], ignore)
    for field in ("actions", "histories", "opponents", "trees", "whole_game"):
        assert again[field] == made[field], "the request that comes back asks for the same"


BAD = {
    "no object": ([], "an object"),
    "an unknown field": ({**KUHN, "itterations": 3}, "no field itterations"),
    "an unknown game": ({"game": "leduc"}, "leduc_poker"),
    "a file": ({"game": "games.py:Game"}, "comes with gs2"),
    "a module": ({"game": "os:system"}, "comes with gs2"),
    "another package": ({"game": "openspiel:tic_tac_toe"}, "comes with gs2"),
    "GuanDan": ({"game": "guandan"}, "tree is listed"),
    "a parameter out of range": ({"game": "liars_dice(sides=0)"}, "sides"),
    "an unknown infoset": ({**KUHN, "infoset": "P1 holds 7"}, "did you mean"),
    "another player's infoset": ({**KUHN, "player": 0}, "who decides"),
    "an unknown method": ({**KUHN, "method": "gs3"}, "no preset"),
    "an unknown gadget": ({**KUHN, "gadget": "x.py:gadget"}, "gadget must be one of"),
    "a field that is never read": ({**KUHN, "method": "unsafe", "k": 3}, "k"),
    "k of nothing": ({**KUHN, "k": 0}, "k must be an integer"),
    "too many iterations": ({**KUHN, "iterations": 10**9}, "iterations must be"),
    "too much time": ({**KUHN, "seconds": 61}, "seconds must be"),
    "no time": ({**KUHN, "seconds": 0}, "seconds must be"),
    "nan": ({**KUHN, "seconds": float("nan")}, "seconds must be"),
    "a blueprint by name": ({**KUHN, "blueprint": "/etc/passwd"}, "object"),
    "a blueprint from a file": ({**KUHN, "blueprint": {"variant": "/etc/passwd"}}, "variant must be"),
    "a blueprint that takes hours": (
        {"game": "liars_dice_6", "infoset": "P0 holds 1", "blueprint": {"iterations": 10**6}},
        "iterations must be",
    ),
    "an endless name": ({**KUHN, "infoset": "P" * 10_000}, "at most|1 to"),
}


@pytest.mark.parametrize("why", BAD)
def test_a_request_that_cannot_be_is_refused_in_words(why: str) -> None:
    request, words = BAD[why]
    with pytest.raises(ValueError, match=words) as refused:
        solve_request(request, ignore)  # type: ignore[arg-type]
    assert type(refused.value) is not ValueError, "an error of ours, which the server shows"
    assert len(str(refused.value)) < 1500


ANY = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=30), st.lists(st.integers())
)
FIELDS = (
    "game",
    "infoset",
    "player",
    "blueprint",
    "method",
    "k",
    "gadget",
    "depth",
    "seconds",
    "iterations",
    "seed",
)


@settings(max_examples=amount(80), deadline=None)
@given(st.dictionaries(st.one_of(st.sampled_from(FIELDS), st.text(max_size=8)), ANY, max_size=4))
def test_any_request_is_answered_or_refused(changes: dict[str, Any]) -> None:
    request: dict[str, Any] = {**KUHN, **changes}
    try:
        made = solve_request(request, ignore)
    except ValueError as refused:
        assert str(refused)
        return
    json.dumps(made, allow_nan=False)
    assert sum(row["refined"] for row in made["actions"]) == pytest.approx(1)


def test_a_game_that_is_too_large_is_refused_before_it_is_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared_games, "MOST_HISTORIES", 5000)
    with pytest.raises(TooLarge, match="at most 5,000 histories"):
        solve_request({"game": "liars_dice(sides=5)"}, ignore)


def test_games_and_blueprints_are_kept_and_the_oldest_go(monkeypatch: pytest.MonkeyPatch) -> None:
    kuhn = prepared_games.prepared_game("kuhn_poker")
    assert prepared_games.prepared_game(" KUHN_poker ".strip()) is kuhn
    assert kuhn.strategy("cfr:7") is kuhn.strategy("cfr:7")
    for iterations in range(1, 10):
        kuhn.strategy(f"cfr:{iterations}")
    assert kuhn.knows("cfr:9") and not kuhn.knows("cfr:1")
    monkeypatch.setattr(prepared_games, "KEPT_HISTORIES", 100)
    prepared_games.prepared_game("liars_dice(sides=3)")
    assert prepared_games.prepared_game("kuhn_poker") is not kuhn


def test_every_game_that_is_offered_can_be_named_and_fits() -> None:
    games = explorable_games()["games"]
    assert {"kuhn_poker", "leduc_poker", "liars_dice_6"} <= {row["name"] for row in games}
    assert "guandan" not in {row["name"] for row in games}
    for row in games:
        assert prepared_games.explorable_game(row["name"]).num_players == 2
        assert row["summary"] and (row["histories"] or 0) <= prepared_games.MOST_HISTORIES
    json.dumps(games)


def test_infosets_are_found_by_words_in_any_case_and_order() -> None:
    found = infoset_names("leduc_poker", "KS raise p1", 5)["infosets"]
    assert len(found) == 5
    for row in found:
        assert row["player"] == 1 and row["histories"] >= 1
        assert {"p1", "ks", "raise"} <= set(row["infoset"].lower().split())
        assert (
            solve_request({"infoset": row["infoset"], "method": "gs2-d"}, ignore)["infoset"] == row["infoset"]
        )
    assert infoset_names("leduc_poker", "no such words", 5) == {"infosets": []}
    assert len(infoset_names("kuhn_poker", "", 1000)["infosets"]) == 12


@pytest.mark.parametrize(
    "words", [("kuhn_poker", "", 0), ("kuhn_poker", "", True), ("kuhn_poker", "x" * 500, 5)]
)
def test_a_search_for_infosets_that_cannot_be_is_refused(words: tuple[str, str, int]) -> None:
    with pytest.raises(ValueError, match="must be"):
        infoset_names(*words)
