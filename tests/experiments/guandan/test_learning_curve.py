"""The learning curve keeps what was measured and shows it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.guandan.learning_curve import Point, curve_table, learning_curve, read_points
from tests.blueprint.guandan.positions import random_tensors


def small_checkpoint(path: Path, first: bool) -> Path:
    from blueprint.checkpoint import write_checkpoint
    from blueprint.guandan.network.input_layout import FEATURE_HASH
    from tests.blueprint.guandan.positions import SMALL

    described = {"features": FEATURE_HASH, "network": SMALL.to_json(), "decisions": 2_000_000 + first}
    write_checkpoint(path, random_tensors(), described)
    return path


def test_the_curve_keeps_what_was_measured_and_plays_the_rest(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = small_checkpoint(tmp_path / "small.safetensors", False)
    words = [str(path), "--against", "random", "--rounds", "4", "--processes", "1", "-o", str(tmp_path / "c")]
    for _ in range(2):
        result = CliRunner().invoke(learning_curve, words, catch_exceptions=False)
        assert result.exit_code == 0
        points = read_points(tmp_path / "c.json")
        assert [(p.decisions, p.opponent, p.deals) for p in points] == [(2_000_000, "random", 4)]
    assert (tmp_path / "c.svg").stat().st_size > 1000
    assert "| 2.0 M |" in result.stdout


def test_another_network_under_the_opponents_name_is_played_and_told_apart(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path, other = (small_checkpoint(tmp_path / f"{name}.safetensors", name == "x") for name in "xy")
    words = [str(path), "--rounds", "2", "--processes", "1", "-o", str(tmp_path / "c"), "--against"]
    assert CliRunner().invoke(learning_curve, [*words, str(other)]).exit_code == 0
    (first,) = read_points(tmp_path / "c.json")
    other.write_bytes(path.read_bytes())
    for _ in range(2):
        done = CliRunner().invoke(learning_curve, [*words, str(other)], catch_exceptions=False)
        points = read_points(tmp_path / "c.json")
        assert first in points and len(points) == 2
        assert all(f"{other} ({point.fingerprint[:8]})" in done.output for point in points)


def test_points_that_do_not_tell_whom_they_met_are_those_of_rule_agents_of_the_name() -> None:
    old = Point("a", 1, "greedy", (1.0, 0.9, 1.1), (0.6, 0.5, 0.7), 100, 0)
    now = replace(old, decisions=2, checkpoint="b", fingerprint="greedy")
    assert old.met == now.met == "greedy"
    assert curve_table([old, now]).splitlines()[0] == "| decisions trained | against greedy |"
    stored = read_points(Path("docs/measurements/learning_curve.json"))
    assert len(stored) > 20 and {point.met for point in stored} >= {"greedy", "strong"}


def test_the_table_has_a_row_for_each_checkpoint_and_leaves_gaps() -> None:
    made = [
        Point("a", 1_000_000, "greedy", (1.0, 0.9, 1.1), (0.6, 0.5, 0.7), 100, 0),
        Point("b", 2_000_000, "strong", (-0.5, -0.6, -0.4), (0.4, 0.35, 0.45), 100, 0),
    ]
    lines = curve_table(made).splitlines()
    assert lines[0] == "| decisions trained | against greedy | against strong |"
    assert lines[2] == "| 1.0 M | 60.0% [50.0%, 70.0%]; +1.00 [+0.90, +1.10] |  |"
    assert lines[3].startswith("| 2.0 M |  | 40.0%")


def test_no_file_means_no_points_and_one_from_before_is_read(tmp_path: Path) -> None:
    assert read_points(tmp_path / "none.json") == []
    point = {"checkpoint": "a", "decisions": 5, "opponent": "x", "deals": 1, "seed": 0}
    (tmp_path / "one.json").write_text(json.dumps([point | {"net": [0, 0, 0], "won": [0, 0, 0]}]))
    assert read_points(tmp_path / "one.json")[0].net == (0, 0, 0)
