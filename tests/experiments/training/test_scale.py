"""What measures training on a cluster: paces in turns, the memory of every process, kept records."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from click.testing import CliRunner

from blueprint.guandan.play.selfplay import Scratch
from blueprint.guandan.train_config import NetworkConfig, TrainConfig
from blueprint.guandan.training.actors.records import unpack_record
from blueprint.guandan.training.trainer import Trainer
from experiments.training.scale.learner_limit import recorded
from experiments.training.scale.overhead import Way, pace_ratio, turns_of
from experiments.training.scale.process_memory import memory, read_samples
from experiments.training.scale.processes import process_rows, processor_seconds, sampled

SMALL = NetworkConfig(state=16, blocks=1, action=16, action_blocks=1, critic=16)
LINUX = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")


def test_a_ratio_of_paces_lies_in_its_interval_and_leaves_the_first_turn_out() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        true = rng.uniform(0.5, 2)
        rows = [
            {"way": way, "turn": turn, "decisions": 1000 * pace * noise, "seconds": 1.0, "processor": 2.0}
            for way, pace in (("a", true), ("b", 1.0))
            for turn, noise in enumerate(rng.uniform(0.8, 1.2, 8))
        ]
        spoilt = [row | {"decisions": 1.0} if row["turn"] == 0 and row["way"] == "a" else row for row in rows]
        ratio, low, high = pace_ratio(rows, "a", "b")
        assert low <= ratio <= high and abs(ratio - true) < 0.2 * true
        assert pace_ratio(spoilt, "a", "b") == (ratio, low, high) == pace_ratio(rows, "a", "b", "processor")


@LINUX
def test_ways_take_turns_in_changing_order_and_end_them_at_rest() -> None:
    calls: list[str] = []

    def way(name: str) -> Way:
        trainer = SimpleNamespace(decisions=0)

        def run_generation() -> dict[str, Any]:
            calls.append(name)
            trainer.decisions += 10
            return {"record_bytes": 7}

        trainer.run_generation = run_generation
        return Way(cast(Trainer, trainer), lambda: calls.append(f"{name} rests"))

    rows = list(turns_of({"a": way("a"), "b": way("b")}, 2, 1e-9))
    assert [row["way"] for row in rows] == ["a", "b", "b", "a"]
    assert calls == ["a", "a rests", "b", "b rests", "b", "b rests", "a", "a rests"]
    assert all(row["decisions"] == 10 and row["record_bytes"] == 7 for row in rows)


@LINUX
def test_the_memory_and_the_time_of_a_child_count() -> None:
    before = processor_seconds()
    burn = "x = b'x' * (64 << 20); [i for i in range(4000000)]; print('there', flush=True); input()"
    child = subprocess.Popen(
        [sys.executable, "-c", burn], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None and child.stdout.readline() == "there\n"
        rows = {row["pid"]: row for row in process_rows()}
        assert rows[os.getpid()]["name"] == "learner" and rows[os.getpid()]["private"] > 10
        assert 64 < rows[child.pid]["private"] < 200
        assert sum(processor_seconds()) > sum(before)
    finally:
        child.kill()
        child.wait()
    assert child.pid not in {row["pid"] for row in process_rows()}


@LINUX
def test_samples_are_named_by_process_and_told_by_the_command(tmp_path: Path) -> None:
    with sampled(tmp_path / "memory.jsonl", 0.02) as beside:
        beside["decisions"] = 5
        time.sleep(0.1)
    lines = [json.loads(line) for line in (tmp_path / "memory.jsonl").read_text().splitlines()]
    assert len(lines) >= 2 and lines[-1]["decisions"] == 5
    actors = [line | {"pid": pid, "name": "actor"} for line in lines for pid in (1, 2)]
    with (tmp_path / "memory.jsonl").open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in actors)
    found = read_samples(tmp_path)
    assert {"learner #1", "actor #1", "actor #2"} <= set(found)
    assert len(found["actor #1"]) == len(lines)
    pytest.importorskip("matplotlib")
    result = CliRunner().invoke(memory, [str(tmp_path), "--plot", str(tmp_path / "memory.png")])
    assert result.exit_code == 0, result.output
    assert "actor #2" in result.output and (tmp_path / "memory.png").read_bytes()[:4] == b"\x89PNG"


def test_records_that_are_kept_can_be_told_again() -> None:
    trainer = Trainer(SMALL, TrainConfig(rounds=8, pieces=2, seed=4), threads=1)
    kept = recorded(trainer, 2)
    assert len(kept.pieces) == len(kept.records) == len(kept.steps) == 4 and kept.pace > 0
    for piece, record, steps in zip(kept.pieces, kept.records, kept.steps, strict=True):
        assert unpack_record(record, piece, Scratch()).steps == steps
