"""Actors of a cluster play the games that threads play here; lost with their machine, they cost nothing."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from blueprint.guandan.train_config import TrainConfig
from blueprint.guandan.training.trainer import Trainer
from blueprint.learning.run import RunLimits, RunManner, train
from blueprint.learning.self_play import Setup
from games.support.work.executor import BEHIND, niceness
from games.support.work.ray_cluster import Cluster, connected
from games.support.work.where import WorkError, where_from
from tests.blueprint.guandan import positions
from tests.blueprint.guandan.positions import TINY as SMALL

# not imported here: each process that collects tests would
pytestmark = pytest.mark.skipif(find_spec("ray") is None, reason="needs ray")

FAST = positions.FAST.replace(rounds=12, pieces=3, focus=2.0)


@pytest.fixture(scope="module")
def machines() -> Iterator[Any]:
    """Give a cluster of two machines with a core each, on this one."""
    from ray.cluster_utils import Cluster as Machines

    folder = tempfile.mkdtemp(prefix="gs2-")  # short: names of sockets have a limit
    # actors give way to nobody, or a busy machine would keep them waiting for minutes
    wanted = {"RAY_TMPDIR": folder, "RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
    kept = {name: os.environ.get(name) for name in wanted}
    os.environ |= wanted
    head = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 80 << 20}
    made = Machines(initialize_head=True, head_node_args=head)
    try:
        yield made
    finally:
        made.shutdown()
        for name, value in kept.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def cluster(machines: Any) -> Iterator[Cluster]:
    with connected(where_from(f"ray:{machines.address}")) as found:
        yield found


def add_machine(machines: Any) -> Any:
    return machines.add_node(num_cpus=1, object_store_memory=80 << 20)


def tensors(trainer: Trainer) -> dict[str, Any]:
    return {name: value.tobytes() for name, value in trainer.checkpoint()[0].items()}


@pytest.mark.long
def test_a_machine_lost_and_one_added_in_mid_run_change_no_game_and_no_weight(
    machines: Any, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a member of the league by a path that actors have nothing under
    Trainer(SMALL, TrainConfig(seed=8), threads=1).save("older.safetensors")
    config = FAST.replace(strangers="greedy,varied,older.safetensors", strangers_share=0.5)
    here = Trainer(SMALL, config, threads=2)
    counted = []
    for _ in range(4):
        here.run_generation()
        counted.append((here.decisions, here.rounds))

    told = str(tmp_path / "niceness")

    def slow(player: Any, piece: Any, weights: Any) -> bytes:
        import os
        import time

        from blueprint.learning.ray_crew import play_piece

        with open(told, "a") as file:
            file.write(f"{os.getpriority(os.PRIO_PROCESS, 0)}\n")
        time.sleep(0.7)  # so that a machine can be lost while it plays
        return play_piece(player, piece, weights)

    behind = min(niceness() + BEHIND, 19)  # actors let the learner go first
    node = add_machine(machines)
    there = Trainer(SMALL, config, threads=1)
    lost = 0
    with there.actors(cluster.where.with_count(2), play=slow) as crew:
        there.crew = crew
        while there.generation < 4:
            if there.generation == 1:
                timer = threading.Timer(0.3, machines.remove_node, (node,), {"allow_graceful": False})
                timer.start()
            if there.generation == 2:
                timer.join()
                add_machine(machines)
            row = there.run_generation()
            lost += int(row["lost_pieces"])
            assert row["staleness"] == 0 and row["actors"] >= 1
            assert (there.decisions, there.rounds) == counted[there.generation - 1]
    assert {int(line) for line in Path(told).read_text().split()} == {behind}
    assert lost >= 1
    assert tensors(there) == tensors(here)
    assert there.checkpoint()[1]["rng"] == here.checkpoint()[1]["rng"]
    assert there.league.to_json() == here.league.to_json()


def test_a_run_on_actors_ends_at_ctrl_c_with_its_last_whole_generation(
    cluster: Cluster, tmp_path: Path
) -> None:
    config = FAST.replace(staleness=2)
    setup = Setup(on=str(cluster.where), actors=1, evaluate_minutes=0.0)
    begin = partial(Trainer.begun, network=SMALL, config=config, setup=setup)
    rows: list[dict[str, Any]] = []

    def progress(row: dict[str, Any]) -> None:
        rows.append(row)
        if len(rows) == 3:
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()

    before = signal.getsignal(signal.SIGINT)
    trainer = train(tmp_path, begin, RunLimits(call_minutes=5), RunManner(progress=progress))
    again = Trainer.begun(tmp_path / "last.safetensors", setup=Setup(threads=1))
    assert len(rows) >= 3 and again.generation == len(rows) == trainer.generation
    assert again.rounds == config.rounds * len(rows)
    assert again.decisions == rows[-1]["decisions"]
    assert 0 < max(row["staleness"] for row in rows) <= 2
    assert all(0 < row["record_bytes"] < 20 * row["decisions"] for row in rows)
    assert all(row["piece_bytes"] > 100 for row in rows)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.long
def test_what_fails_on_an_actor_is_told_with_its_piece_and_place(cluster: Cluster) -> None:
    def fail(player: Any, piece: Any, weights: Any) -> bytes:
        raise ValueError("the cards are wet")

    trainer = Trainer(SMALL, FAST, threads=1)
    with trainer.actors(cluster.where.with_count(1), play=fail) as crew:
        trainer.crew = crew
        with pytest.raises(WorkError, match=r"piece 0 of generation 0 on .*ValueError: the cards are wet"):
            trainer.run_generation()
