"""A crew of actors on a cluster that runs Ray: they come and go, and every piece is played once.

One thread here hands pieces to actors that are free, with the newest weights, and takes in their records; one
plays the records again to have the states (`records`); the trainer learns meanwhile. What is out is bounded:
`staleness + 1` generations, a piece an actor, one copy of the weights for each version that is still played
by. A piece whose actor is lost is given to another one, with its seed.
"""

from __future__ import annotations

import json
import pickle
import platform
import queue
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from blueprint.guandan.play.selfplay import Scratch
from blueprint.guandan.train_config import NetworkConfig, TrainConfig
from blueprint.guandan.training.actors import piece_actor
from blueprint.guandan.training.actors.pieces import Piece, PlayedPiece
from blueprint.guandan.training.actors.records import unpack_record
from blueprint.guandan.training.dmc import Learner
from blueprint.guandan.training.opponents import league_of
from games.support.work.carried import parcel_of
from games.support.work.priority import niceness
from games.support.work.ray_cluster import Cluster
from games.support.work.where import WorkError

__all__ = ["RayCrew"]

LOSSES = 5
"""Actors that may be lost with one piece, or one after the other before any has begun."""
PATIENCE = 300.0
"""Seconds that a generation waits without any actor at all."""
ENDING = 10.0
"""Seconds that the thread beside has for the step that it is in."""
AGAIN = 1.0
"""Seconds before an actor that did not begin is replaced."""


@dataclass(eq=False)
class _Task:
    """A piece that is out. version: of the weights that it is played by. losses: actors lost with it."""

    piece: Piece
    version: int = -1
    losses: int = 0


@dataclass(eq=False)
class _Actor:
    """An actor. place: its machine and process, once it has begun."""

    handle: Any
    place: str = ""


@dataclass
class Tally:
    """What passed since the last row: pieces by the age of their weights, bytes, decisions, pieces lost."""

    ages: list[int] = field(default_factory=list)
    record_bytes: int = 0
    piece_bytes: int = 0
    weight_bytes: int = 0
    steps: int = 0
    lost: int = 0


class RayCrew:
    """Actors of a cluster. A context: at its end the actors end as well."""

    def __init__(
        self,
        cluster: Cluster,
        actors: int,
        network: NetworkConfig,
        config: TrainConfig,
        actor: type | None = None,
    ) -> None:
        """Ask for so many actors, one core each; they play as soon as the cluster has room for them.

        actor: its class, in place of `PieceActor`.
        """
        self.size = actors
        self._cluster, self._ray = cluster, cluster.ray
        self._ray.cloudpickle.register_pickle_by_value(piece_actor)
        made = self._ray.remote(actor or piece_actor.PieceActor)
        self._made = made.options(num_cpus=1, max_restarts=0, max_task_retries=0)
        told = (json.dumps(network.to_json()), json.dumps(config.to_json()))
        league = [parcel_of(name) for name in league_of(config).names]
        mine = platform.node(), niceness()
        self._begin = (cluster.refusal(), *told, self._ray.put(pickle.dumps(league)), mine)
        self._actors: set[_Actor] = set()
        self._free: deque[_Actor] = deque()
        self._tasks: deque[_Task] = deque()
        self._weights: tuple[int, Any] = (-1, None)
        self._failed = 0
        self._due: deque[tuple[int, int]] = deque()
        self._done: dict[tuple[int, int], PlayedPiece] = {}
        self._error: BaseException | None = None
        self._changed = threading.Condition()
        self._tally, self._row = Tally(), Tally()
        self._closed = False
        self._scratch = Scratch()
        self._unpacker = ThreadPoolExecutor(1, "records")
        self._events: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="actors", daemon=True)
        self._thread.start()
        self._events.put(self._staff)

    def __enter__(self) -> RayCrew:
        """Return the crew."""
        return self

    def __exit__(self, *exception: object) -> None:
        """End the actors."""
        self.abandon()

    # what the trainer asks for

    def waited(self, actors: int, seconds: float = PATIENCE) -> bool:
        """Return whether so many actors are ready to play, after waiting for them as long."""
        with self._changed:
            return self._changed.wait_for(lambda: self._ready() >= actors or self._error is not None, seconds)

    def rest(self) -> None:
        """Wait until all that was handed out is played and can be collected at once."""
        wanted = [(generation, part) for generation, count in self._due for part in range(count)]
        with self._changed:
            self._changed.wait_for(
                lambda: self._error is not None or all(place in self._done for place in wanted)
            )

    def _ready(self) -> int:
        return sum(bool(actor.place) for actor in tuple(self._actors))

    def hand_out(self, pieces: list[Piece], learner: Learner, version: int) -> None:
        """Have a generation played by the learner's weights of now, or by newer ones handed out later."""
        reference = self._weights[1]
        if version != self._weights[0]:
            weights = learner.weights()
            reference = self._ray.put(weights)
            self._tally.weight_bytes += sum(value.nbytes for value in weights.values())
        self._due.append((pieces[0].generation, len(pieces)))
        self._events.put(partial(self._take_in, [_Task(piece) for piece in pieces], (version, reference)))

    def collect(self) -> list[PlayedPiece]:
        """Return what the oldest generation handed out came to, in the order of its pieces.

        Raises WorkError where an actor failed, or none could be had.
        """
        generation, count = self._due.popleft()
        wanted = [(generation, part) for part in range(count)]
        with self._changed:
            while not all(place in self._done for place in wanted):
                if self._error is not None:
                    raise self._error
                came = self._changed.wait(PATIENCE)
                if not came and not self._ready():
                    raise WorkError(
                        f"--on {self._cluster.where}: {self.size} actors must find a core each; none has "
                        f"begun in {PATIENCE:g} s on a cluster of {self._cluster.cores()} cores; add "
                        "machines, or free some"
                    )
            self._row, self._tally = self._tally, Tally()
            return [self._done.pop(place) for place in wanted]

    def notes(self) -> dict[str, float]:
        """Return what a row of the curve tells of the generation collected last."""
        row = self._row
        return {
            "actors": self._ready(),
            "staleness": max(row.ages, default=0),
            "mean_staleness": sum(row.ages) / max(len(row.ages), 1),
            "record_bytes": row.record_bytes,
            "piece_bytes": row.piece_bytes,
            "weight_bytes": row.weight_bytes,
            "lost_pieces": row.lost,
        }

    def abandon(self) -> None:
        """End the actors at once; nothing more is handed out or collected."""
        if self._closed:
            return
        self._closed = True
        self._events.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join(ENDING)
        for actor in self._actors:
            self._ray.kill(actor.handle)
        self._actors.clear()
        self._weights = (-1, None)
        self._unpacker.shutdown(wait=False, cancel_futures=True)

    # what happens in the thread beside

    def _serve(self) -> None:
        try:
            while (event := self._events.get()) is not None:
                event()
        except BaseException as error:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        """Let the trainer have an error."""
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()

    def _when(self, reference: Any, then: Callable[[Future[Any]], None]) -> None:
        """Have `then` called in the thread beside, once something remote is done or lost."""
        reference.future().add_done_callback(lambda future: self._events.put(partial(then, future)))

    def _staff(self) -> None:
        """Ask for actors until there are as many as wanted."""
        while len(self._actors) < self.size:
            actor = _Actor(self._made.remote())
            self._actors.add(actor)
            self._when(actor.handle.begin.remote(*self._begin), partial(self._began, actor))

    def _began(self, actor: _Actor, future: Future[Any]) -> None:
        error = future.exception()
        if error is None and future.result()["refused"] is None:
            self._failed = 0
            with self._changed:
                actor.place = future.result()["place"]
                self._changed.notify_all()
            self._free.append(actor)
            self._assign()
        elif error is None:
            raise WorkError(
                f"--on {self._cluster.where}: every machine must run the same gs2; "
                f"{future.result()['refused']}; install the same version there, or here"
            )
        elif self._is_loss(error) and self._failed < LOSSES * self.size:
            self._failed += 1
            self._actors.discard(actor)
            timer = threading.Timer(AGAIN, self._events.put, [self._staff])
            timer.daemon = True
            timer.start()
        else:
            raise self._told(error, "an actor could not begin") from error

    def _take_in(self, tasks: list[_Task], weights: tuple[int, Any]) -> None:
        self._weights = weights
        self._tasks.extend(tasks)
        self._assign()

    def _assign(self) -> None:
        """Give pieces to those that are free."""
        while self._tasks and self._free:
            task, actor = self._tasks.popleft(), self._free.popleft()
            task.version, reference = self._weights
            self._tally.piece_bytes += len(task.piece.dealt)
            self._when(
                actor.handle.play.remote(task.piece, task.version, reference),
                partial(self._played, actor, task),
            )

    def _played(self, actor: _Actor, task: _Task, future: Future[Any]) -> None:
        error = future.exception()
        if error is None:
            self._free.append(actor)
            self._assign()
            self._unpacker.submit(self._unpack, task, future.result())
            return
        where = f"piece {task.piece.part} of generation {task.piece.generation} on {actor.place}"
        if not self._is_loss(error):
            raise self._told(error, where) from error
        task.losses += 1
        if task.losses >= LOSSES:
            raise self._told(error, f"{task.losses} actors were lost, the last with {where}") from error
        self._tally.lost += 1
        self._actors.discard(actor)
        self._ray.kill(actor.handle)
        self._tasks.appendleft(task)
        self._staff()
        self._assign()

    def _unpack(self, task: _Task, record: bytes) -> None:
        try:
            played = unpack_record(record, task.piece, self._scratch)
        except BaseException as error:
            self._fail(error)
            return
        with self._changed:
            piece, tally = task.piece, self._tally
            self._done[piece.generation, piece.part] = played
            tally.ages.append(piece.generation - task.version)
            tally.record_bytes += len(record)
            tally.steps += played.steps
            self._changed.notify_all()

    def _is_loss(self, error: BaseException) -> bool:
        """Return whether an actor, or its answer, was lost with its machine or process."""
        known = self._ray.exceptions
        kinds = (known.RayActorError, known.ObjectLostError, known.NodeDiedError)
        return isinstance(error, (*kinds, known.OutOfMemoryError, known.WorkerCrashedError))

    def _told(self, error: BaseException, where: str) -> WorkError:
        cause = getattr(error, "cause", None) or error
        return WorkError(f"--on {self._cluster.where}: {where}: {type(cause).__name__}: {cause}")
