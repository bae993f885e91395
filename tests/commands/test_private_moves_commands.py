"""`gs2 blueprint` and `gs2 exploitability` on the form of private moves."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.commands.runner import gs2, refused

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
    measured = json.loads(gs2("exploitability", GAME, parts, "--json").stdout)
    assert measured["exploitability"] == one["exploitability"]
    listed = json.loads(gs2("exploitability", GAME, "pdcfr+:30", "--json").stdout)
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
