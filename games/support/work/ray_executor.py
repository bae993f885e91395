"""Pieces of work on a cluster that runs Ray: each a task of one core, done again if its machine is lost."""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import tempfile
import time
import traceback
import uuid
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from games.support.work.carried import Parcel, files_seen, parcel_of, unpack_parcels
from games.support.work.executor import Executor, Stop, Task, WorkerLost
from games.support.work.ray_cluster import Cluster, connected, refuse
from games.support.work.where import Place, WorkError

State = TypeVar("State")
Piece = TypeVar("Piece")
Found = TypeVar("Found")
TRIES = 5
"""Times that a piece is begun; one whose machine is lost each time may be what ends the machines."""
LOOK = 2.0
"""Seconds between looks at how many cores the cluster has; machines come and go."""
ENVIRONMENT = "GS2_"
"""Environment variables that begin like this come along: how much memory a tree may take, and so on."""


@dataclass(frozen=True)
class Sent:
    """What a process needs before its first piece.

    token: of the executor. task: where to fetch a pickled Task. environment: variables to set. parcels: by
    name, a token that changes with its files and where to fetch the pickled Parcel.
    """

    token: str
    task: Any
    environment: dict[str, str]
    parcels: dict[str, tuple[str, Any]]


@dataclass
class _Taken:
    """A piece that was taken on, with the files of its names, and references to what is shared.

    answer: Ray's reference to its result. tries: times that it was begun.
    """

    piece: bytes
    parcels: dict[str, tuple[str, Any]]
    shared: tuple[Any, ...]
    answer: Any = None
    tries: int = 0


class RayExecutor(Executor[Piece, Found]):
    """Does pieces on the cores of a cluster.

    A lost machine or process costs the pieces that it was doing: they are done again. Machines that join get
    pieces too.
    """

    def __init__(self, task: Task[State, Piece, Found], where: Place) -> None:
        """Connect to the cluster and send what is to be done.

        Raises WorkError where that cannot be.
        """
        super().__init__()
        self._open = contextlib.ExitStack()
        self._cluster: Cluster = self._open.enter_context(connected(where))
        ray = self._cluster.ray
        self._count = where.count
        self._cores = (time.monotonic(), self._cluster.cores())
        self._run = ray.remote(num_cpus=1, max_retries=0)(_runner(self._cluster.refusal()))
        environment = {name: text for name, text in os.environ.items() if name.startswith(ENVIRONMENT)}
        self._sent = Sent(uuid.uuid4().hex, ray.put(ray.cloudpickle.dumps(task)), environment, {})
        self._parcels: dict[str, tuple[object, tuple[str, Any]]] = {}
        self._shared: tuple[Any, ...] = ()
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
    def room(self) -> int:
        """Return how many more pieces keep every core busy, or as many as were asked for."""
        return super().room if self._count is None else self._count - len(self._busy)

    def _begun(self, key: Hashable, piece: Piece, names: tuple[str, ...]) -> _Taken:
        parcels = {name: self._packed(name) for name in names}
        return self._begin(_Taken(self._cluster.ray.cloudpickle.dumps(piece), parcels, self._shared))

    def share(self, value: Any) -> None:
        """Give a value to the work of each piece from now on, after the piece; it is sent once a machine."""
        self._shared = (self._cluster.ray.put(value),)

    def _packed(self, name: str) -> tuple[str, Any]:
        """Return the token and reference of what a name needs; packed anew when one of its files changes."""
        seen = files_seen(name)
        packed = self._parcels.get(name)
        if packed is None or packed[0] != seen:
            ray = self._cluster.ray
            packed = seen, (uuid.uuid4().hex, ray.put(ray.cloudpickle.dumps(parcel_of(name))))
            self._parcels[name] = packed
        return packed[1]

    def _begin(self, taken: _Taken) -> _Taken:
        taken.tries += 1
        # as a dictionary: a machine without this module must be able to read it
        sent = vars(replace(self._sent, parcels=taken.parcels))
        taken.answer = self._run.remote(sent, taken.piece, *taken.shared)
        return taken

    def collect(self, stop: Stop) -> list[tuple[Any, Found]]:
        """Return what was done since, in the order in which it was taken on."""
        ray, answers = self._cluster.ray, [taken.answer for taken in self._busy.values()]
        if not ray.wait(answers, num_returns=1, timeout=0.2)[0]:
            return []
        ready = set(ray.wait(answers, num_returns=len(answers), timeout=0)[0])
        found = []
        for key, taken in [(key, taken) for key, taken in self._busy.items() if taken.answer in ready]:
            del self._busy[key]
            told = self._answer(taken)
            if told is None:
                self._busy[key] = self._begin(taken)
            else:
                found.append((key, told[0]))
        return found

    def _answer(self, taken: _Taken) -> tuple[Found] | None:
        """Return a piece's result; None if its machine was lost and it is to be begun again."""
        ray = self._cluster.ray
        lost = (
            *(ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError),
            *(ray.exceptions.ObjectLostError, ray.exceptions.OutOfMemoryError),
        )
        try:
            how, what, told = ray.get(taken.answer)
        except lost as error:
            if taken.tries >= TRIES:
                raise WorkerLost(
                    f"a piece of work lost its process or machine {TRIES} times ({type(error).__name__}); "
                    "look at the memory it needs"
                ) from error
            self.lost += 1
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
        for taken in self._busy.values():
            self._cluster.ray.cancel(taken.answer, force=True)
        self._busy.clear()

    def close(self) -> None:
        """End the tasks under way and the connection."""
        if self._cluster.ray.is_initialized():
            self.cancel()
        self._open.close()


def _runner(
    refused: Callable[[], str | None],
) -> Callable[..., tuple[str, Any, str]]:
    """Return the function that a cluster's process calls with a piece and what is shared; sent by value."""

    def run(sent: dict[str, Any], piece: bytes, *shared: Any) -> tuple[str, Any, str]:
        wrong = refused()
        if wrong is not None:
            return "refused", wrong, ""
        import ray

        from games.support.work.ray_executor import Sent, do_piece

        return do_piece(ray.get, Sent(**sent), piece, *shared)

    run.__name__ = "gs2_piece"
    return run


_token = ""
_state: Any = None
_work: Callable[..., Any] | None = None
_known: dict[str, str] = {}


def do_piece(fetch: Callable[[Any], bytes], sent: Sent, piece: bytes, *shared: Any) -> tuple[str, Any, str]:
    """Return ("done", result, ""), or ("failed", exception, where it came from).

    fetch: returns the bytes behind a reference. shared: given to the work after the piece. What is
    printed goes to the standard error output of the machine that sent the piece.
    """
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return "done", _done(fetch, sent, piece, *shared), ""
    except Exception as error:
        told = traceback.format_exc()
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            return "failed", None, told
        return "failed", error, told


def _done(fetch: Callable[[Any], bytes], sent: Sent, piece: bytes, *shared: Any) -> Any:
    global _token, _state, _work
    if sent.token != _token:
        _begin_anew(sent.environment)
    new = {name: packed for name, packed in sent.parcels.items() if _known.get(name) != packed[0]}
    parcels: list[Parcel] = [pickle.loads(fetch(where)) for _, where in new.values()]
    unpack_parcels(parcels)
    _known.update({name: token for name, (token, _) in new.items()})
    if sent.token != _token:
        task = pickle.loads(fetch(sent.task))
        _state, _work = task.prepare(*task.arguments), task.work
        _token = sent.token
    assert _work is not None
    return _work(_state, pickle.loads(piece), *shared)


def _begin_anew(environment: dict[str, str]) -> None:
    """Forget the work of before; stand in an empty folder, so that no relative path finds a file."""
    global _token, _state, _work
    _token, _state, _work = "", None, None
    _known.clear()
    for name in [name for name in os.environ if name.startswith(ENVIRONMENT)]:
        del os.environ[name]
    os.environ.update(environment)
    folder = os.path.join(
        tempfile.gettempdir(), f"gs2-nothing-{os.getuid() if hasattr(os, 'getuid') else ''}"
    )
    os.makedirs(folder, mode=0o700, exist_ok=True)
    os.chdir(folder)
