"""Pieces of work on a cluster that runs Ray: each a task of one core, done again if its machine is lost."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Hashable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from games.support.work.carried import files_seen, parcel_of
from games.support.work.executor import Task, WorkerLost
from games.support.work.ray_cluster import Cluster, connected, refuse
from games.support.work.remote import ENVIRONMENT, Sent
from games.support.work.where import Place, WorkError

__all__ = ["RayExecutor"]

State = TypeVar("State")
Piece = TypeVar("Piece")
Found = TypeVar("Found")
AHEAD = 2
"""Pieces taken on for each core, so that none waits for the next one."""
TRIES = 5
"""Times that a piece is begun; one whose machine is lost each time may be what ends the machines."""
LOOK = 2.0
"""Seconds between looks at how many cores the cluster has; machines come and go."""


@dataclass
class _Taken:
    """A piece that was taken on, with the files of its names. tries: times that it was begun."""

    key: Hashable
    piece: bytes
    parcels: dict[str, tuple[str, Any]]
    tries: int = 0


class RayExecutor(Generic[State, Piece, Found]):
    """Does pieces on the cores of a cluster; see `Executor`.

    A lost machine or process costs the pieces that it was doing: they are done again. Machines that join get
    pieces too.
    """

    def __init__(self, task: Task[State, Piece, Found], where: Place) -> None:
        """Connect to the cluster and send what is to be done.

        Raises WorkError where that cannot be.
        """
        self._open = ExitStack()
        self._cluster: Cluster = self._open.enter_context(connected(where))
        ray = self._cluster.ray
        self._count = where.count
        self._cores = (time.monotonic(), self._cluster.cores())
        self._run = ray.remote(num_cpus=1, max_retries=0)(_runner(self._cluster.refusal()))
        environment = {name: text for name, text in os.environ.items() if name.startswith(ENVIRONMENT)}
        self._sent = Sent(uuid.uuid4().hex, ray.put(ray.cloudpickle.dumps(task)), environment, {})
        self._parcels: dict[str, tuple[object, tuple[str, Any]]] = {}
        self._busy: dict[Any, _Taken] = {}
        self._keys: set[Hashable] = set()
        self.lost = 0
        """Pieces that were begun again so far."""

    @property
    def size(self) -> int:
        """Return how many pieces are done at a time: as asked for, or one for each core there is today."""
        if self._count is not None:
            return self._count
        looked, cores = self._cores
        if time.monotonic() - looked > LOOK:
            cores = self._cluster.cores()
            self._cores = (time.monotonic(), cores)
        return cores

    @property
    def waiting(self) -> int:
        """Return how many pieces are under way."""
        return len(self._busy)

    @property
    def room(self) -> int:
        """Return how many more pieces keep every core busy, or as many as were asked for."""
        return (1 if self._count is not None else AHEAD) * self.size - len(self._busy)

    def submit(self, key: Hashable, piece: Piece, names: tuple[str, ...] = ()) -> None:
        """Take on a piece; files that its names hold are read now and sent."""
        if key in self._keys:
            raise WorkError(f"a piece of work must have its own key; got {key!r} twice")
        parcels = {name: self._packed(name) for name in names}
        self._begin(_Taken(key, self._cluster.ray.cloudpickle.dumps(piece), parcels))

    def _packed(self, name: str) -> tuple[str, Any]:
        """Return the token and reference of what a name needs; packed anew when one of its files changes."""
        seen = files_seen(name)
        packed = self._parcels.get(name)
        if packed is None or packed[0] != seen:
            ray = self._cluster.ray
            packed = seen, (uuid.uuid4().hex, ray.put(ray.cloudpickle.dumps(parcel_of(name))))
            self._parcels[name] = packed
        return packed[1]

    def _begin(self, taken: _Taken) -> None:
        taken.tries += 1
        sent = Sent(self._sent.token, self._sent.task, self._sent.environment, taken.parcels)
        # as a dictionary: a machine without this module must be able to read it
        self._busy[self._run.remote(vars(sent), taken.piece)] = taken
        self._keys.add(taken.key)

    def collect(self, stop: Callable[[], bool]) -> list[tuple[Any, Found]]:
        """Return what was done since, in the order in which it was taken on."""
        ray = self._cluster.ray
        ready, _ = ray.wait(list(self._busy), num_returns=1, timeout=0.2)
        if not ready:
            return []
        ready, _ = ray.wait(list(self._busy), num_returns=len(self._busy), timeout=0)
        found = []
        for answer in ready:
            taken = self._busy.pop(answer)
            self._keys.discard(taken.key)
            told = self._answer(answer, taken)
            if told is not None:
                found.append((taken.key, told[0]))
        return found

    def _answer(self, answer: Any, taken: _Taken) -> tuple[Found] | None:
        """Return a piece's result; None if its machine was lost and it was begun again."""
        ray = self._cluster.ray
        lost = (
            *(ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError),
            *(ray.exceptions.ObjectLostError, ray.exceptions.OutOfMemoryError),
        )
        try:
            how, what, told = ray.get(answer)
        except lost as error:
            if taken.tries >= TRIES:
                raise WorkerLost(
                    f"a piece of work lost its process or machine {TRIES} times ({type(error).__name__}); "
                    "look at the memory it needs"
                ) from error
            self.lost += 1
            self._begin(taken)
            return None
        except ray.exceptions.RayError as error:
            cause = getattr(error, "cause", None) or error
            raise WorkError(f"--on {self._cluster.where}: {' '.join(str(cause).split())}") from error
        if how == "refused":
            refuse([what])
        if how == "failed":
            if what is None:
                raise WorkError(f"a piece of work failed on another machine:\n{told}")
            what.add_note(f"on another machine:\n{told}")
            raise what
        return (what,)

    def cancel(self) -> None:
        """End the tasks under way, wherever they run."""
        for answer in self._busy:
            self._cluster.ray.cancel(answer, force=True)
        self._busy.clear()
        self._keys.clear()

    def close(self) -> None:
        """End the tasks under way and the connection."""
        if self._cluster.ray.is_initialized():
            self.cancel()
        self._open.close()

    def __enter__(self) -> RayExecutor[State, Piece, Found]:
        """Return the executor."""
        return self

    def __exit__(self, *exception: object) -> None:
        """End the tasks under way and the connection."""
        self.close()


def _runner(
    refused: Callable[[], str | None],
) -> Callable[[dict[str, Any], bytes], tuple[str, Any, str]]:
    """Return the function that a cluster's process calls with a piece; it is sent by value."""

    def run(sent: dict[str, Any], piece: bytes) -> tuple[str, Any, str]:
        wrong = refused()
        if wrong is not None:
            return "refused", wrong, ""
        import ray

        from games.support.work.remote import Sent, do_piece

        return do_piece(ray.get, Sent(**sent), piece)

    run.__name__ = "gs2_piece"
    return run
