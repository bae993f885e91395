"""Who does pieces of work at a place: this very process, others of this machine, or a cluster."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Hashable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from games.support.interruption import Interrupted, Interruption, breaking, deaf_children, end_with_parent
from games.support.work.executor import Executor, Stop, Task, WorkerLost, available_cores
from games.support.work.where import Place

State = TypeVar("State")
Piece = TypeVar("Piece")
Found = TypeVar("Found")
UNMADE: Any = object()
REAPED = 5.0
"""Seconds at most until an ended process is known as ended."""


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
    return _Here(task, here) if count == 1 else _Processes(task, count)


class _Here(Executor[Piece, Found]):
    """Does the pieces in this very process, one after the other."""

    size = 1

    def __init__(self, task: Task[State, Piece, Found], state: State) -> None:
        super().__init__()
        self._task, self._state = task, state

    @property
    def room(self) -> int:
        return 1 - len(self._busy)

    def _begun(self, key: Hashable, piece: Piece, names: tuple[str, ...]) -> Piece:
        return piece

    def collect(self, stop: Stop) -> list[tuple[Any, Found]]:
        key = next(iter(self._busy))
        piece = self._busy.pop(key)
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
        self._busy.clear()


_state: Any = None
_work: Callable[[Any, Any], Any] | None = None


def _begin(task: Task[Any, Any, Any]) -> None:
    """Prepare a process."""
    global _state, _work
    end_with_parent()
    _state, _work = task.prepare(*task.arguments), task.work


def _do(piece: Any) -> Any:
    assert _work is not None
    return _work(_state, piece)


class _Processes(Executor[Piece, Found]):
    """Does pieces in fresh processes of this machine.

    The processes start with the first piece and end with `close`, or as this one is killed. They never hear
    Ctrl-C: whoever started them decides. A process that dies ends the work with WorkerLost.
    """

    size = 0

    def __init__(self, task: Task[State, Piece, Found], count: int) -> None:
        super().__init__()
        self.size = count
        self._task = task
        self._pool: ProcessPoolExecutor | None = None
        self._others: set[Any] = set()

    def _begun(self, key: Hashable, piece: Piece, names: tuple[str, ...]) -> Future[Found]:
        if self._pool is None:
            self._others = set(multiprocessing.active_children())
            self._pool = ProcessPoolExecutor(
                self.size,
                mp_context=multiprocessing.get_context("spawn"),  # a forked copy of threads may hang
                initializer=_begin,
                initargs=(self._task,),
            )
        try:
            with deaf_children():
                return self._pool.submit(_do, piece)
        except BrokenProcessPool as error:
            raise self._lost() from error

    def collect(self, stop: Stop) -> list[tuple[Any, Found]]:
        """Return what was done since, in the order in which it was taken on."""
        ready, _ = wait(self._busy.values(), timeout=0.2, return_when=FIRST_COMPLETED)
        done = [(key, future) for key, future in self._busy.items() if future in ready]
        try:
            return [(key, future.result()) for key, future in done]
        except BrokenProcessPool as error:
            raise self._lost() from error
        finally:
            for key, _ in done:
                self._busy.pop(key, None)

    def _lost(self) -> WorkerLost:
        self.close()
        return WorkerLost("a process ended without an answer (killed, or out of memory)")

    def cancel(self) -> None:
        """Drop every piece under way; processes in the midst of one are ended."""
        if self._busy:
            self.close()

    def close(self) -> None:
        """End the processes."""
        self._busy.clear()
        if self._pool is None:
            return
        pool, self._pool = self._pool, None
        ours = set(multiprocessing.active_children()) - self._others
        pool.shutdown(wait=False, cancel_futures=True)
        for process in ours:
            process.terminate()
        for process in ours:
            process.join()
        # the pool's own thread may have reaped a process whose end it has not written down yet
        until = time.monotonic() + REAPED
        while any(process.is_alive() for process in ours) and time.monotonic() < until:
            time.sleep(0.001)
