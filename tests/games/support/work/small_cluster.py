"""A cluster of some nodes on this machine, on its loopback address alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

NODE = {"num_cpus": 1, "object_store_memory": 80 << 20}
"""A node of the cluster."""


@contextmanager
def small_cluster(nodes: int) -> Iterator[Any]:
    """Start a cluster of nodes with a core each; yield it, `ray.cluster_utils.Cluster`. Skip without Ray."""
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    pytest.importorskip("ray")
    from ray._private import ray_constants
    from ray.cluster_utils import Cluster

    # what the first variable says, for this process, which may have imported ray before: Ray listens on
    # 127.0.0.1, not on the machine's own address
    ray_constants.ENABLE_RAY_CLUSTER = False

    # a node that is gone is noticed within seconds; one that is merely slow, on a loaded machine, is not
    quick = {
        "health_check_initial_delay_ms": 1000,
        "health_check_period_ms": 1000,
        "health_check_timeout_ms": 5000,
        "health_check_failure_threshold": 5,
    }
    cluster = Cluster(
        initialize_head=True, head_node_args={**NODE, "include_dashboard": False, "_system_config": quick}
    )
    try:
        for _ in range(nodes - 1):
            cluster.add_node(**NODE)
        assert cluster.address.startswith("127.0.0.1:")
        yield cluster
    finally:
        cluster.shutdown()
