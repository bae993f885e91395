"""The commands on Gambit's files, and on games that are not zero-sum or have more than two players."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands.runner import as_json, gs2

EXAMPLES = Path(__file__).parents[3] / "examples"
POKER, SEXES = f"gambit:{EXAMPLES / 'poker.efg'}", f"gambit:{EXAMPLES / 'sexes.nfg'}"


def test_a_file_is_counted_sized_solved_and_measured(tmp_path: Path) -> None:
    row = as_json("games", POKER)
    assert (row["title"], row["player_labels"]) == ("One-card poker", ["Alice", "Bob"])
    assert (row["histories"], row["infosets"]) == (11, [2, 1])
    assert as_json("games", POKER, "--size")["histories"]["mean"] == 11
    assert gs2("infosets", POKER).stdout.splitlines() == ["P0 king", "P0 queen", "P1 raised"]
    policy = str(tmp_path / "poker.npz")
    solved = as_json("blueprint", POKER, "--iterations", "2000", "-o", policy)
    assert solved["value"] == pytest.approx(1 / 3, abs=1e-3)
    measured = as_json("exploitability", POKER, policy)
    assert measured["exploitability"] == pytest.approx(solved["exploitability"], abs=1e-12)


def test_a_general_sum_file_is_solved_without_a_promise_and_refused_for_search() -> None:
    assert "do not sum to zero" in gs2("games", SEXES).stdout
    solved = gs2("blueprint", SEXES, "--iterations", "300", "--json")
    assert "no guarantee: with payoffs that do not sum to zero" in solved.stderr
    found = json.loads(solved.stdout)
    assert found["exploitability"] < 1e-3 and len(found["values"]) == 2
    refused = gs2("solve", SEXES)
    assert refused.exit_code == 2 and refused.exception is not None
    assert "must sum to zero to be searched" in str(refused.exception) + refused.stderr


def test_values_of_a_shifted_game_say_how_to_read_them(tmp_path: Path) -> None:
    path = tmp_path / "constant.nfg"
    path.write_text('NFG 1 R "" { "A" "B" } { 2 1 }\n1 9 6 4\n')
    for words in (("games",), ("blueprint",), ("exploitability", "uniform")):
        shown = gs2(words[0], f"gambit:{path}", *words[1:])
        assert "constant sum, shifted to sum to zero: add 5" in " ".join(shown.stdout.split()), shown.output
    assert as_json("exploitability", f"gambit:{path}", "uniform")["shift"] == 5


def test_three_players_of_openspiel_are_measured() -> None:
    pytest.importorskip("pyspiel")
    found = as_json("exploitability", "openspiel:kuhn_poker(players=3)", "uniform")
    assert len(found["values"]) == 3 and sum(found["values"]) == pytest.approx(0, abs=1e-9)
    assert found["nash_conv"] == pytest.approx(sum(found["gains"]))
