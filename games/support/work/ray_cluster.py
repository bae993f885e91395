"""A connection to a cluster that runs Ray: opened by address, checked for the same gs2, closed again.

    with connected(where_from("ray:10.0.0.5:6379")) as cluster:
        cluster.ray, cluster.cores(), cluster.refusal()

Ray is imported here alone, and only when it is asked for.
"""

from __future__ import annotations

import importlib
import logging
import os
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from games.support.work import gs2_build
from games.support.work.where import INSTALL, Place, WorkError

PATIENCE = 5.0
"""Seconds in which a cluster's address must answer at all."""


@dataclass(frozen=True)
class Cluster:
    """A cluster that this process is connected to.

    ray: the module. where: how it was named. build: what this machine runs (`gs2_build.this_build`).
    """

    ray: Any
    where: Place
    build: dict[str, str]

    def cores(self) -> int:
        """Return how many cores the cluster's machines offer at present, at least 1."""
        return max(1, int(self.ray.cluster_resources().get("CPU", 1)))

    def nodes(self) -> int:
        """Return how many machines (nodes of Ray) the cluster has at present."""
        return sum(bool(node["Alive"]) for node in self.ray.nodes())

    def refusal(self) -> Callable[[], str | None]:
        """Return a function for a process of the cluster: why it must not work for us, or None.

        It is sent by value, so that it answers also where gs2 is old or missing; call it before anything of
        gs2 is unpickled there. It looks once a process.
        """
        here = dict(self.build)

        def refused() -> str | None:
            import platform
            import sys

            told: dict[str, str] | None = getattr(sys, "_gs2_build", None)
            if told is None:
                told = gs2_build.this_build()
                sys._gs2_build = told  # type: ignore[attr-defined]  # one look a process
            wrong = gs2_build.build_differences(here, told)
            return f"{platform.node()}: {'; '.join(wrong)}" if wrong else None

        return refused

    def check_nodes(self) -> None:
        """Ask every node whether it runs the same gs2.

        Raises WorkError naming the nodes that do not, and what differs.
        """
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        asked = self.ray.remote(self.refusal())
        answers = [
            asked.options(
                num_cpus=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            ).remote()
            for node in self.ray.nodes()
            if node["Alive"]
        ]
        wrong = []
        for answer in answers:
            try:
                wrong.append(self.ray.get(answer, timeout=60))
            except self.ray.exceptions.RayTaskError as error:
                wrong.append(f"a node cannot say what it runs ({error.cause!r})")
            except self.ray.exceptions.RayError:
                continue  # a node that left, or that is too busy: its processes are asked again
        refuse([line for line in wrong if line])


def refuse(wrong: list[str]) -> None:
    """Raise WorkError if there are machines that differ."""
    if wrong:
        raise WorkError(
            f"--on: every machine must run the same gs2; {' | '.join(sorted(set(wrong)))}; install the same "
            "version there, or here"
        )


@contextmanager
def connected(where: Place) -> Iterator[Cluster]:
    """Connect to a cluster for as long as the block lasts; a connection that is there already is used.

    Raises WorkError without Ray, where nobody answers, and where Ray or gs2 differ from those here.
    """
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError as error:
        raise WorkError(f"--on ray needs Ray, which is not installed here ({error}); {INSTALL}") from error
    if where.is_local:
        raise WorkError(f"a connection must be to a cluster; got --on {where}")
    ours = not ray.is_initialized()
    if ours:
        _connect(ray, where)
    elif where.address is not None and not where.client:
        there = ray.get_runtime_context().gcs_address
        if _resolved(there) != _resolved(where.address):
            raise WorkError(f"--on {where}: this process is connected to the cluster at {there} already")
    try:
        cluster = Cluster(ray, where, gs2_build.this_build())
        # pickled as a whole, so that a machine without this module can run it
        ray.cloudpickle.register_pickle_by_value(gs2_build)
        cluster.check_nodes()
        yield cluster
    finally:
        if ours:
            ray.shutdown()


def _connect(ray: Any, where: Place) -> None:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a cluster that we start reports to nobody
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # silences a warning about its future
    options: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": True}
    if where.client:
        try:
            importlib.import_module("grpc")
        except ImportError as error:
            raise WorkError(
                f"--on {where} needs Ray's client ({error}); pip install 'ray[client]', or work on a machine "
                "of the cluster with --on ray"
            ) from error
        _answers(where, where.address or "")
        options["address"] = f"ray://{where.address}"
    elif where.address is not None:
        _answers(where, where.address)
        options["address"] = where.address
    elif not _at_hand():
        options |= {"address": "local", "include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM) if main else None
    try:
        ray.init(**options)
    except Exception as error:  # Ray has no one class for what may go wrong here
        told = " ".join(str(error).split()) or type(error).__name__
        raise WorkError(f"--on {where}: cannot join the cluster: {told}") from error
    finally:
        if main and before is not None:  # Ray takes the terminate signal for itself
            signal.signal(signal.SIGTERM, before)


def _at_hand() -> bool:
    """Return whether this machine belongs to a cluster already, as Ray itself tells it."""
    if os.environ.get("RAY_ADDRESS"):
        return True
    folder = Path(os.environ.get("RAY_TMPDIR") or ("/tmp" if os.name == "posix" else tempfile.gettempdir()))
    try:
        address = (folder / "ray" / "ray_current_cluster").read_text().strip()
    except OSError:
        return False
    return _reach(address) is None


def _answers(where: Place, address: str) -> None:
    problem = _reach(address)
    if problem is not None:
        raise WorkError(
            f"--on {where}: a cluster must answer at {address} ({problem}); start one there with "
            "`ray start --head`, or correct the address"
        )


def _resolved(address: str) -> tuple[str, str]:
    """Return HOST:PORT with the host's number."""
    host, _, port = address.rpartition(":")
    try:
        return str(socket.getaddrinfo(host.strip("[]"), int(port))[0][4][0]), port
    except (OSError, ValueError):
        return host, port


def _reach(address: str) -> str | None:
    """Return why nobody answers at HOST:PORT, None if somebody does."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE):
            return None
    except (OSError, ValueError) as error:
        return str(error)
