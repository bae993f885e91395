"""The blueprint's benchmark and the learning curve measure what they say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from blueprint.guandan.train_config import NetworkConfig
from experiments.bench.blueprint import bench_tables, operations, run_bench
from experiments.training.learning_curve import Point, curve_table, learning_curve, read_points
from tests.blueprint.guandan.positions import random_tensors


def test_operations_count_every_weight_twice() -> None:
    config = NetworkConfig(state=24, blocks=2, action=16, action_blocks=2, critic=24)
    shared = ("tower.", "context.")
    sizes = {name: value.size for name, value in random_tensors(config).items() if name.endswith("weight")}
    scored = {k: v for k, v in sizes.items() if k.startswith("network.") and "value" not in k}
    once = sum(v for k, v in scored.items() if k.removeprefix("network.").startswith(shared))
    assert operations(config, 0) == 2 * once
    assert operations(config, 5) == 2 * once + 10 * (sum(scored.values()) - once)


def test_the_benchmark_runs_and_its_parts_agree() -> None:
    result = run_bench(seconds=0.02, threads=1, rounds=8)
    assert result.network.startswith("guandan@")
    assert 0 < result.single_best_ms <= result.single_wall_ms
    rates = [*result.batch.values(), result.selfplay, result.without, result.training]
    assert all(rate.processor > 0 and rate.wall > 0 and rate.threads == 1 for rate in rates)
    assert result.floor_ms("float32") == pytest.approx(1e3 * result.operations / result.matrix["float32"])
    assert [table.row_count for table in bench_tables(result)] == [
        3 + len(result.matrix),
        len(result.batch) + 3,
    ]


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
