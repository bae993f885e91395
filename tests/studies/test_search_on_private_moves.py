"""Searches over a blueprint in phantom games: where they are asked, and the mixture of their draws."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from cfr.private_moves.form import Both, PrivateMovesForm, list_private_moves
from games.registry import load_game
from gs2.play.agent_names import load_searched
from gs2.play.search_agent import SearchAgent, named_search
from studies.search_on_private_moves import PrivateRows, main, mixture, searched

GAME = "dark_hex(size=2,abrupt=true)"


@pytest.fixture(scope="module")
def form() -> PrivateMovesForm:
    return list_private_moves(load_game(GAME))


def random_policy(form: PrivateMovesForm, rng: np.random.Generator) -> Both:
    found = []
    for side in form.sides:
        weight = rng.exponential(size=side.n_slots)
        total = np.add.reduceat(weight, side.first[:-1])
        policy = weight / np.repeat(np.concatenate([weight[:1], total]), np.diff(side.first, prepend=0))
        found.append(policy)
    return found[0], found[1]


def test_a_mixture_is_worth_the_mean_of_its_draws_against_any_opponent(form: PrivateMovesForm) -> None:
    rng = np.random.default_rng(0)
    drawn = [random_policy(form, rng) for _ in range(3)]
    mixed, other = mixture(form, drawn), random_policy(form, rng)
    for ours in (0, 1):
        sides = [(one[0], other[1]) if ours == 0 else (other[0], one[1]) for one in (*drawn, mixed)]
        values = [form.evaluate(pair).value for pair in sides]
        assert values[-1] == pytest.approx(np.mean(values[:-1]), abs=1e-12)
    same = mixture(form, [drawn[0], drawn[0]])
    for player in (0, 1):
        np.testing.assert_allclose(same[player], drawn[0][player], atol=1e-12)


def test_the_search_is_asked_before_a_try_alone(form: PrivateMovesForm) -> None:
    blueprint = form.uniform()
    agent = SearchAgent(
        form.game, load_searched(form.game, "uniform"), named_search("gs2"), name="gs2", seed=0
    )
    none, few = searched(form, blueprint, agent, 0), searched(form, blueprint, agent, 2)
    assert none[1] == (0, 0) and few[1] == (1 + 4, 1 + 4 * 2)  # a first stone never fails
    for player, side in enumerate(form.sides):
        np.testing.assert_array_equal(none[0][player], blueprint[player])
        changed = np.flatnonzero(few[0][player] != blueprint[player])
        at = np.searchsorted(side.first, changed, side="right") - 1
        assert len(changed) and all(len(side.tries(int(i))) < 2 for i in at)
    form.check(few[0])


def test_the_study_measures_each_method_once(tmp_path: Path) -> None:
    words = ["--game", GAME, "--method", "gs2", "--tries", "1", "--draws", "2", "-o", str(tmp_path / "rows")]
    ran = CliRunner().invoke(main, words, catch_exceptions=False)
    assert ran.exit_code == 0 and "uniform gs2, before try 1, 2 infosets" in ran.output
    assert CliRunner().invoke(main, words).output == ""
    with PrivateRows(tmp_path / "rows" / "rows.jsonl", {"game": load_game(GAME).name, "draws": 2}) as rows:
        (row,) = rows.rows
    assert len(row["single"]) == 2 and row["mixture"] <= np.mean(row["single"]) + 1e-12
