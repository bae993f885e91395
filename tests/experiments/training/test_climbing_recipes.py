"""Recipes of climbing games in turns, ladders in points, and when a curve passes the rule agent."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from blueprint.checkpoint import read_checkpoint
from experiments.training.equal_time.climbing_course import ClimbingCourse, PairPoints
from experiments.training.equal_time.points_ladder import rate_points
from experiments.training.equal_time.rule_passed import first_above, passing_table, time_until_passed
from experiments.training.equal_time.turns import Plan, shortened
from experiments.training.recipes import recipes

SMALL = ("--set", "rounds=8", "--set", "batch=64", "--set", "state=16", "--set", "action=8")


def told(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "turns.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("game", ["doudizhu", "big2"])
def test_turns_of_a_climbing_game_go_on_and_end_in_tables(game: str, tmp_path: Path) -> None:
    words = ["-o", str(tmp_path), "--game", game, "--recipes", "danzero,odmc", "--rounds", "4", *SMALL]
    first = CliRunner().invoke(recipes, [*words, "--minutes", "0.006", "--first", "0.002", "--turn", "0.003"])
    assert first.exit_code == 0, first.output + str(first.exception)
    rows = told(tmp_path)
    assert {row["game"] for row in rows} == {game}
    for name in ("danzero", "odmc"):
        mine = [row for row in rows if row["recipe"] == name]
        spent = [row["processor_seconds"] for row in mine]
        assert spent[0] == 0 and spent[1] >= 0.12 and spent[-1] >= 0.36 and spent == sorted(spent)
        assert set(mine[0]["rule"]["sides"]) == ({"landlord", "farmers"} if game == "doudizhu" else set())
        _, about = read_checkpoint(tmp_path / name / mine[-1]["file"], prefix="-")
        assert about["config"]["recipe"] == name and about["config"]["rounds"] == 8
    table = (tmp_path / "recipes.md").read_text()
    assert ("landlord WP" in table) == (game == "doudizhu")
    assert "minutes until the rule agent is passed" in table and "`rule agent`" in table
    assert (tmp_path / "ladder.svg").stat().st_size and (tmp_path / "curves.svg").stat().st_size
    other = CliRunner().invoke(recipes, [*words, "--minutes", "0.012", "--set", "epsilon=0.5"])
    assert other.exit_code == 2 and "danzero was begun with epsilon=0.01" in other.output
    again = CliRunner().invoke(recipes, [*words, "--minutes", "0.006"])
    assert again.exit_code == 0 and told(tmp_path) == rows and again.stdout == first.stdout


def test_recipes_that_a_game_has_not_and_fields_that_are_none_are_refused(tmp_path: Path) -> None:
    for words, message in (
        (("--game", "big2", "--recipes", "douzero"), "there is none called"),
        (("--game", "doudizhu", "--set", "replay=3"), "no field 'replay'"),
        (("--game", "doudizhu", "--set", "recipe=ours"), "name them with --recipes"),
        (("--game", "chess"), "guandan"),
    ):
        done = CliRunner().invoke(recipes, ["-o", str(tmp_path / "x"), *words])
        assert done.exit_code == 2 and message in done.output


def test_schedules_shrink_with_the_run_and_what_is_set_stands(tmp_path: Path) -> None:
    assert shortened({"guide": 2e6, "epsilon": 0.1}, 30) == {"guide": 5e5}
    assert shortened({"guide": 2e6, "policy_from": 1.0}, 240) == {"guide": 2e6, "policy_from": 1.0}
    course = ClimbingCourse("big2")
    plan = Plan(tmp_path, ("sdmc",), 12.0, 1.0, 2, {"seed": 3, "state": 8})
    config = course.begin(plan, "sdmc").config
    assert (config.guide, config.state, config.seed, config.recipe) == (2e5, 8, 3, "sdmc")
    course.begin(plan, "sdmc").save(tmp_path / "x.safetensors")
    longer = replace(plan, minutes=60.0)
    found = course.load(tmp_path / "x.safetensors", longer, "sdmc").config
    assert found == course.wanted(longer, "sdmc") == config.replace(guide=1e6)
    assert course.saved(tmp_path / "x.safetensors") == config


def test_turns_double_from_the_first_to_the_longest() -> None:
    plan = Plan(Path(), (), 10.0, 3.0, 2, {}, first=0.5)
    spent, ends = 0.0, []
    while spent < 600:
        spent = plan.next_end(spent)
        ends.append(spent / 60)
    assert ends == [0.5, 1.0, 2.0, 4.0, 7.0, 10.0]
    assert Plan(Path(), (), 10.0, 3.0, 2, {}).next_end(0.0) == 180


def test_a_pair_of_two_teams_is_the_same_from_the_other_side_and_of_more_it_is_played_both_ways(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(0)
    ddz, big2 = ClimbingCourse("doudizhu"), ClimbingCourse("big2")
    points = rng.normal(size=(5, 2))
    met = {("a", "b"): PairPoints(points), ("b", "a"): PairPoints(-points[:, ::-1])}
    assert np.allclose(ddz.nets(["a", "b"], met)[0, 1], points.mean(1))
    one, other = rng.normal(size=(5, 4)), rng.normal(size=(5, 4))
    met = {("a", "b"): PairPoints(one), ("b", "a"): PairPoints(other)}
    assert np.allclose(big2.nets(["a", "b"], met)[0, 1], (one.mean(1) - other.mean(1)) / 2)


def test_a_ladder_in_points_gives_back_strengths_that_add_up() -> None:
    rng = np.random.default_rng(1)
    strengths = np.array([0.5, -0.25, -0.25])
    nets = {
        (i, j): strengths[i] - strengths[j] + rng.normal(0, 0.1, 400)
        for i in range(3)
        for j in range(i + 1, 3)
    }
    ladder = rate_points(["a", "b", "c"], nets, rng)
    for k, rating in enumerate(ladder.ratings):
        assert rating.low < 1.5 * strengths[k] < rating.high and rating.high - rating.low < 0.1
    assert ladder.order[0] == 0 and ladder.cross_table().count("\n") == 4
    del nets[0, 2]
    with pytest.raises(ValueError, match="every pair of 3 agents"):
        rate_points(["a", "b", "c"], nets, rng)


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=8), st.floats(0.1, 10))
def test_a_curve_is_above_zero_after_the_time_it_first_comes_there(values: list[float], step: float) -> None:
    minutes = [step * k for k in range(len(values))]
    found = first_above(minutes, values)
    if found is None:
        assert max(values) <= 0
    else:
        k = next(k for k, value in enumerate(values) if value > 0)
        assert found <= minutes[k] and (k == 0 or found >= minutes[k - 1])
        assert np.interp(found, minutes, values) == pytest.approx(max(0.0, values[0] if k == 0 else 0.0))


def turns(*nets: tuple[float, float, float]) -> list[dict[str, Any]]:
    return [
        {"processor_seconds": 60.0 * k, "rule": {"net": net, "net_interval": [low, high]}}
        for k, (low, net, high) in enumerate(nets)
    ]


def test_passing_is_told_as_a_share_of_the_plain_networks_time_or_as_a_bound() -> None:
    quick = turns((-2, -1, -0.5), (0.5, 1, 1.5))
    slow = turns((-2, -1, -0.5), (-1.5, -0.5, -0.25), (0.25, 0.5, 1))
    never = turns((-2, -1, -0.5), (-1, -0.5, 0.5))
    found = time_until_passed(quick, "rule")
    assert (found.at, found.early, found.late, found.trained) == (0.5, 0.25, 0.8, 1)
    course = ClimbingCourse("big2")
    table = passing_table(course, {"danzero": slow, "odmc": quick})
    assert re.search(r"`odmc` \| 0.50 \| 0.25 to 0.80 \| 1.0 \| 33.3 %", table)
    assert "below 50.0 %" in passing_table(course, {"danzero": never, "odmc": quick})
    assert "| never | 0.50 to never | 1.0 | above 66.7 %" in passing_table(
        course, {"danzero": slow, "odmc": never}
    )
