"""Pieces of work in processes of this machine."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Hashable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Generic, TypeVar

from games.support.interruption import deaf_children
from games.support.work.executor import Task, WorkerLost
from games.support.work.where import WorkError

__all__ = ["LocalExecutor"]

State = TypeVar("State")
Piece = TypeVar("Piece")
Found = TypeVar("Found")
AHEAD = 2
"""Pieces taken on for each process, so that none waits for the next one."""
REAPED = 5.0
"""Seconds at most until an ended process is known as ended."""

_state: Any = None
_work: Callable[[Any, Any], Any] | None = None


def _begin(task: Task[Any, Any, Any]) -> None:
    """Prepare a process."""
    global _state, _work
    _state, _work = task.prepare(*task.arguments), task.work


def _do(piece: Any) -> Any:
    assert _work is not None
    return _work(_state, piece)


class LocalExecutor(Generic[State, Piece, Found]):
    """Does pieces in fresh processes of this machine; see `Executor`.

    The processes start with the first piece and end with `close`. They never hear Ctrl-C: whoever started
    them decides. A process that dies ends the work with WorkerLost.
    """

    def __init__(self, task: Task[State, Piece, Found], count: int) -> None:
        """Take what is to be done, by how many processes."""
        self.size = count
        self._task = task
        self._pool: ProcessPoolExecutor | None = None
        self._others: set[Any] = set()
        self._busy: dict[Future[Found], Hashable] = {}

    @property
    def waiting(self) -> int:
        """Return how many pieces are under way."""
        return len(self._busy)

    @property
    def room(self) -> int:
        """Return how many more pieces keep every process busy."""
        return AHEAD * self.size - len(self._busy)

    def submit(self, key: Hashable, piece: Piece, names: tuple[str, ...] = ()) -> None:
        """Take on a piece; files that its names hold are read where they are."""
        if key in self._busy.values():
            raise WorkError(f"a piece of work must have its own key; got {key!r} twice")
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
                self._busy[self._pool.submit(_do, piece)] = key
        except BrokenProcessPool as error:
            raise self._lost() from error

    def collect(self, stop: Callable[[], bool]) -> list[tuple[Any, Found]]:
        """Return what was done since, in the order in which it was taken on."""
        done, _ = wait(self._busy, timeout=0.2, return_when=FIRST_COMPLETED)
        try:
            return [(self._busy[future], future.result()) for future in list(self._busy) if future in done]
        except BrokenProcessPool as error:
            raise self._lost() from error
        finally:
            for future in done:
                self._busy.pop(future, None)

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

    def __enter__(self) -> LocalExecutor[State, Piece, Found]:
        """Return the executor."""
        return self

    def __exit__(self, *exception: object) -> None:
        """End the processes."""
        self.close()
