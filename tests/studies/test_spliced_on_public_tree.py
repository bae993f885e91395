"""Searches spliced into a blueprint on the public tree: rows that go on, and a table of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from cfr.public.tree import grow_public
from games.registry import load_game
from gs2.search.public_source import public_states
from studies import spliced_on_public_tree
from studies.spliced_on_public_tree import (
    SplicedMethod,
    main,
    random_places,
    spliced_methods,
)

GAME = "liars_dice(dice=2,sides=2)"


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> list[SplicedMethod]:
    chosen = [method for method in spliced_methods() if method.k in (None, 3)]
    monkeypatch.setattr(spliced_on_public_tree, "spliced_methods", lambda: chosen)
    return chosen


def run(folder: Path, *more: str) -> Result:
    words = ["--game", GAME, "--infosets", "6", "--iterations", "20", "-o", str(folder), *more]
    return CliRunner().invoke(main, words)


def test_every_method_has_a_row_and_a_run_goes_on(tmp_path: Path, few: list[SplicedMethod]) -> None:
    first = run(tmp_path)
    assert first.exit_code == 0, first.output
    file = tmp_path / "rows.jsonl"
    lines = file.read_text().splitlines()
    rows = [json.loads(line) for line in lines[1:]]
    assert len(rows) == len(few) and (tmp_path / "spliced.png").stat().st_size > 0
    for row in rows:
        assert len(row["rises"]) == len(row["seconds"]) == 6 and row["before"] == rows[0]["before"] > 0
        if row["method"] == "gs2+":
            assert max(row["rises"]) <= 1e-12 and row["after"] <= row["before"] + 1e-12
    file.write_text("\n".join(lines[:-1]) + "\n")
    again = run(tmp_path)
    told = [json.loads(line) for line in file.read_text().splitlines()[1:]]
    assert [row["after"] for row in told] == [row["after"] for row in rows]
    assert (
        again.stdout.count("\n") == first.stdout.count("\n") and "| gs2-d | enumerated | 3 |" in again.stdout
    )
    refused = run(tmp_path, "--seed", "1")
    assert refused.exit_code != 0 and "seed" in str(refused.exception) + refused.output


def test_places_are_different_decisions_below_the_root_and_nobody_holds_a_card_on_the_board() -> None:
    tree = grow_public(load_game("leduc_poker"))
    places = random_places(tree, 100, np.random.default_rng(0))
    assert len({(place.node, place.private) for place in places}) == 100
    for place in places:
        player = int(tree.player[place.node])
        assert place.node > 0 and player >= 0 and 0 <= place.private < tree.n_private[player]
        weights = tree.game.deal_weights(public_states(tree, place.node))[0]
        assert weights.sum(axis=1 - player)[place.private] > 0


def test_a_game_with_too_few_infosets_or_no_factored_form_is_refused_and_leaves_no_folder(
    tmp_path: Path,
) -> None:
    for game, says in (("kuhn_poker", "none beside 9"), ("goofspiel(cards=3,turns=3)", "factored form")):
        found = CliRunner().invoke(main, ["--game", game, "-o", str(tmp_path / "x")])
        assert found.exit_code != 0 and says in str(found.exception) + found.output
        assert not (tmp_path / "x").exists()
