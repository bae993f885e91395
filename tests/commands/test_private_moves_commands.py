"""`gs2 blueprint`, `exploitability`, `exploit` and `solve` on the form of private moves."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.commands.runner import as_json, gs2, refused

GAME = "dark_hex(size=2,abrupt=true)"


def test_a_run_goes_on_to_the_bit_and_its_file_is_measured(tmp_path: Path) -> None:
    whole, parts = str(tmp_path / "whole.run"), str(tmp_path / "parts.run")
    words = ("blueprint", GAME, "--form", "private", "--variant", "pdcfr+", "--json")
    one = json.loads(gs2(*words, "--iterations", "30", "-o", whole).stdout)
    gs2(*words, "--iterations", "11", "-o", parts)
    two = json.loads(gs2(*words, "--iterations", "30", "-o", parts).stdout)
    assert two["form"] == "private"
    assert one["exploitability"] == two["exploitability"]
    assert Path(whole).read_bytes() == Path(parts).read_bytes()
    measured = as_json("exploitability", GAME, parts)
    assert measured["exploitability"] == one["exploitability"]
    listed = as_json("exploitability", GAME, "pdcfr+:30")
    assert measured["exploitability"] == pytest.approx(listed["exploitability"], abs=1e-9)


def test_another_game_variant_or_form_or_a_damaged_file_is_a_usage_error(tmp_path: Path) -> None:
    file = tmp_path / "a.run"
    gs2("blueprint", GAME, "--form", "private", "--iterations", "2", "-o", file)
    for words, says in (
        (("exploitability", "dark_hex(size=2)", file), "game must be"),
        (("blueprint", GAME, "--variant", "cfr+", "-o", file), "variant must be this run's"),
        (("blueprint", GAME, "--form", "listed", "-o", file), "use --form private"),
        (("blueprint", "kuhn_poker", "--form", "private"), "no `placements`"),
        (("blueprint", GAME, "--form", "private", "--bits", "16"), "--precision and --bits"),
    ):
        assert says in refused(*words)
    whole = file.read_bytes()
    for at in np.random.default_rng(0).integers(len(whole), size=3):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 0x5A]) + whole[at + 1 :])
        refused("blueprint", GAME, "--iterations", "4", "-o", file, "--form", "private")


@pytest.mark.parametrize("game", [GAME, "dark_hex(size=2)"])
def test_responders_answer_a_stored_policy_which_is_measured_exactly(game: str, tmp_path: Path) -> None:
    file = str(tmp_path / "a.run")
    gs2("blueprint", game, "--form", "private", "--iterations", "5", "-o", file)
    exact = as_json("exploitability", game, file)
    lbr = as_json("exploit", game, file, "--method", "lbr", "--exact")
    assert lbr["exploitability"] == pytest.approx(exact["exploitability"], abs=1e-9)
    assert "game must be" in refused("exploitability", "phantom_ttt", file)


@pytest.mark.parametrize("game", [GAME, "dark_hex(size=2)"])
def test_a_stored_policy_is_searched_as_that_of_the_tree(game: str, tmp_path: Path) -> None:
    file = str(tmp_path / "a.run")
    gs2("blueprint", game, "--form", "private", "--iterations", "9", "--variant", "cfr", "-o", file)
    words = ("solve", game, "--infoset", "P1 a1-taken" if game == GAME else "P0 a1 b1-taken", "--json")
    ours, theirs = (json.loads(gs2(*words, "--blueprint", blueprint).stdout) for blueprint in (file, "cfr:9"))
    for mine, other in zip(ours["actions"], theirs["actions"], strict=True):
        assert mine["blueprint"] == pytest.approx(other["blueprint"], abs=1e-9)
        assert mine["refined"] == pytest.approx(other["refined"], abs=1e-6)
    for preset in ("gs2", "rollout"):
        found = json.loads(gs2(*words, "--blueprint", file, "--method", preset).stdout)
        assert found["actions"][0]["blueprint"] == pytest.approx(ours["actions"][0]["blueprint"], abs=1e-9)
    assert "game must be" in refused(*words, "--blueprint", other_game(tmp_path, game))


def other_game(folder: Path, game: str) -> str:
    """Return a file of the other of the two games."""
    file = str(folder / "other.run")
    other = "dark_hex(size=2)" if game == GAME else GAME
    gs2("blueprint", other, "--form", "private", "--iterations", "1", "-o", file)
    return file


@pytest.mark.long
def test_a_named_blueprint_is_computed_on_private_moves_where_no_tree_fits(tmp_path: Path) -> None:
    file = str(tmp_path / "a.run")
    gs2("blueprint", "phantom_ttt", "--variant", "cfr", "--iterations", "1", "-o", file)
    words = ("solve", "phantom_ttt", "--infoset", "P0 b2 a1-taken", "--method", "rollout", "--json")
    named, stored = (json.loads(gs2(*words, "--blueprint", one).stdout) for one in ("cfr:1", file))
    assert named["actions"] == stored["actions"]
    exact, kept = (as_json("exploitability", "phantom_ttt", one) for one in ("cfr:1", file))
    assert exact["exploitability"] == kept["exploitability"]
