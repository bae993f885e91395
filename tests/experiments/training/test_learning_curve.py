"""The learning curve keeps what was measured and shows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.training.learning_curve import Point, curve_table, learning_curve, read_points
from tests.blueprint.guandan.positions import random_tensors


def test_the_curve_keeps_what_was_measured_and_plays_the_rest(tmp_path: Path) -> None:
    from blueprint.checkpoint import write_checkpoint
    from blueprint.guandan.network.layout import FEATURE_HASH
    from tests.blueprint.guandan.positions import SMALL

    pytest.importorskip("matplotlib")
    path = tmp_path / "small.safetensors"
    described = {"features": FEATURE_HASH, "network": SMALL.to_json(), "decisions": 2_000_000}
    write_checkpoint(path, random_tensors(), described)
    words = [str(path), "--against", "random", "--rounds", "4", "--processes", "1", "-o", str(tmp_path / "c")]
    for _ in range(2):
        result = CliRunner().invoke(learning_curve, words, catch_exceptions=False)
        assert result.exit_code == 0
        points = read_points(tmp_path / "c.json")
        assert [(p.decisions, p.opponent, p.deals) for p in points] == [(2_000_000, "random", 4)]
    assert (tmp_path / "c.svg").stat().st_size > 1000
    assert "| 2.0 M |" in result.stdout


def test_the_table_has_a_row_for_each_checkpoint_and_leaves_gaps() -> None:
    made = [
        Point("a", 1_000_000, "greedy", (1.0, 0.9, 1.1), (0.6, 0.5, 0.7), 100, 0),
        Point("b", 2_000_000, "strong", (-0.5, -0.6, -0.4), (0.4, 0.35, 0.45), 100, 0),
    ]
    lines = curve_table(made).splitlines()
    assert lines[0] == "| decisions trained | against greedy | against strong |"
    assert lines[2] == "| 1.0 M | 60.0% [50.0%, 70.0%]; +1.00 [+0.90, +1.10] |  |"
    assert lines[3].startswith("| 2.0 M |  | 40.0%")


def test_no_file_means_no_points(tmp_path: Path) -> None:
    assert read_points(tmp_path / "none.json") == []
    (tmp_path / "one.json").write_text(
        json.dumps(
            [
                {
                    "checkpoint": "a",
                    "decisions": 5,
                    "opponent": "x",
                    "net": [0, 0, 0],
                    "won": [0, 0, 0],
                    "deals": 1,
                    "seed": 0,
                }
            ]
        )
    )
    assert read_points(tmp_path / "one.json")[0].net == (0, 0, 0)
