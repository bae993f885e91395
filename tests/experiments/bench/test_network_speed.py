"""The network's bench measures what it says."""

from __future__ import annotations

import pytest

from blueprint.guandan.train_config import NetworkConfig
from experiments.bench.guandan.network_speed import measure_network, network_tables, operations
from tests.blueprint.guandan.positions import random_tensors


def test_operations_count_every_weight_twice() -> None:
    config = NetworkConfig(state=24, blocks=2, action=16, action_blocks=2, critic=24)
    shared = ("tower.", "context.")
    sizes = {name: value.size for name, value in random_tensors(config).items() if name.endswith("weight")}
    scored = {k: v for k, v in sizes.items() if k.startswith("network.") and "value" not in k}
    once = sum(v for k, v in scored.items() if k.removeprefix("network.").startswith(shared))
    assert operations(config, 0) == 2 * once
    assert operations(config, 5) == 2 * once + 10 * (sum(scored.values()) - once)


@pytest.mark.long
def test_the_benchmark_runs_and_its_parts_agree() -> None:
    result = measure_network(seconds=0.02, threads=1, rounds=8)
    assert result.network.startswith("guandan@")
    assert 0 < result.single_best_ms <= result.single_wall_ms
    rates = [*result.batch.values(), result.selfplay, result.without, result.training]
    assert all(rate.processor > 0 and rate.wall > 0 and rate.threads == 1 for rate in rates)
    assert result.floor_ms("float32") == pytest.approx(1e3 * result.operations / result.matrix["float32"])
    assert [table.row_count for table in network_tables(result)] == [
        3 + len(result.matrix),
        len(result.batch) + 3,
    ]
