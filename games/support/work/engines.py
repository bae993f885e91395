"""Who does pieces of work at a place: this very process, others of this machine, or a cluster."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Any, Generic, TypeVar

from games.support.interruption import Interrupted, Interruption, breaking
from games.support.work.executor import Executor, Stop, Task, available_cores
from games.support.work.local_executor import LocalExecutor
from games.support.work.where import Place

__all__ = ["executor_at"]

State = TypeVar("State")
Piece = TypeVar("Piece")
Found = TypeVar("Found")
UNMADE: Any = object()


def executor_at(
    where: Place, task: Task[State, Piece, Found], *, here: State = UNMADE
) -> Executor[Piece, Found]:
    """Return what does pieces of work at a place.

    here: the state of this process, where it is made already; used if the work stays in it (one local piece
        at a time).
    Raises WorkError if the place cannot be reached.
    """
    if not where.is_local:
        from games.support.work.ray_executor import RayExecutor

        return RayExecutor(task, where)
    count = where.count or available_cores()
    return _Here(task, here) if count == 1 else LocalExecutor(task, count)


class _Here(Generic[State, Piece, Found]):
    """Does the pieces in this very process, one after the other."""

    size = 1

    def __init__(self, task: Task[State, Piece, Found], state: State) -> None:
        self._task, self._state = task, state
        self._pieces: deque[tuple[Hashable, Piece]] = deque()

    @property
    def waiting(self) -> int:
        return len(self._pieces)

    @property
    def room(self) -> int:
        return 1 - len(self._pieces)

    def submit(self, key: Hashable, piece: Piece, names: tuple[str, ...] = ()) -> None:
        self._pieces.append((key, piece))

    def collect(self, stop: Stop) -> list[tuple[Any, Found]]:
        key, piece = self._pieces.popleft()
        try:
            with breaking(stop):
                if self._state is UNMADE:
                    self._state = self._task.prepare(*self._task.arguments)
                return [(key, self._task.work(self._state, piece))]
        except Interrupted:
            self.cancel()
            if not isinstance(stop, Interruption):
                raise  # an outer piece is interrupted, and must not end with a part of its own
            return []

    def cancel(self) -> None:
        self._pieces.clear()

    def close(self) -> None:
        self.cancel()

    def __enter__(self) -> _Here[State, Piece, Found]:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
