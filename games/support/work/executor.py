"""Many independent pieces of work: handed to whoever does them, their results taken as they come.

    task = Task(prepare, (seed,), work)               # prepare(seed) -> state; work(state, piece) -> result
    with executor_at(where_of(4), task) as executor:  # or where_from("ray:10.0.0.5:6379")
        for key, found in results(executor, enumerate(pieces), stop=asked): ...

A piece has a key of its own. It may be done twice, where a machine was lost, but its result is handed out
once. `results` hands out what is done first; `in_order` keeps to the order of the pieces.
"""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

from games.support.work.where import WorkError

State = TypeVar("State")
Piece = TypeVar("Piece")
Found = TypeVar("Found")
Key = TypeVar("Key", bound=Hashable)
Stop = Callable[[], bool]
BEHIND = 5
"""Steps of niceness: two threads that are so far behind a third get a core of two between them."""
AHEAD = 2
"""Pieces taken on for each process or core, so that none waits for the next one."""


class WorkerLost(WorkError):
    """A process or machine ended without an answer, more often than is put up with."""


@dataclass(frozen=True)
class Task(Generic[State, Piece, Found]):
    """What is done with every piece.

    prepare: called with `arguments` once in each process; makes the state that is kept there.
    work: called with the state and a piece. Both stand at the top of a module, and arguments, pieces and
    results can be pickled.
    """

    prepare: Callable[..., State]
    arguments: tuple[Any, ...]
    work: Callable[[State, Piece], Found]


class Executor(ABC, Generic[Piece, Found]):
    """Does pieces of work, several at a time; use it in a `with` block."""

    def __init__(self) -> None:
        self._busy: dict[Any, Any] = {}
        """By its key, what was handed out for each piece whose result was not collected yet."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Return how many pieces are done at a time."""

    @property
    def waiting(self) -> int:
        """Return how many pieces were submitted whose results were not collected yet."""
        return len(self._busy)

    @property
    def room(self) -> int:
        """Return how many more pieces keep everybody busy; 0 or less where there are enough."""
        return AHEAD * self.size - len(self._busy)

    def submit(self, key: Hashable, piece: Piece, names: tuple[str, ...] = ()) -> None:
        """Take on a piece under a key that no other piece has.

        names: those of agents, games and policies that the piece loads; a file in one of them (a checkpoint,
        FILE.py:NAME) is read now and sent along where the piece is done on another machine.
        """
        if key in self._busy:
            raise WorkError(f"a piece of work must have its own key; got {key!r} twice")
        self._busy[key] = self._begun(key, piece, names)

    @abstractmethod
    def _begun(self, key: Hashable, piece: Piece, names: tuple[str, ...]) -> Any:
        """Begin a piece; return what is kept of it until it is collected."""

    @abstractmethod
    def collect(self, stop: Stop) -> list[tuple[Any, Found]]:
        """Return what was done since, with its keys; wait a moment for the first one.

        stop: work in this very process is dropped when it is an Interruption and a signal comes.
        Raises what a piece raised, and WorkerLost.
        """

    @abstractmethod
    def cancel(self) -> None:
        """Drop every piece that was not collected yet, whatever it is doing."""

    def close(self) -> None:
        """End the work, whatever it is doing, and what was started for it."""
        self.cancel()

    def __enter__(self) -> Self:
        """Return the executor."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close it."""
        self.close()


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def niceness() -> int:
    """Return how far this thread lets others go first, from -20 to 19; 0 where there is no such thing."""
    return os.nice(0) if hasattr(os, "nice") else 0


def step_behind(first: int, *, whole_process: bool = True) -> None:
    """Let whoever has the niceness `first` go before this thread, and before the threads that it starts.

    whole_process: False where other threads of this process are to stay as they are; only Linux can tell them
    apart, elsewhere nothing happens then. What is behind already stays where it is.
    """
    if hasattr(os, "nice") and (whole_process or sys.platform == "linux"):
        os.nice(max(0, first + BEHIND - niceness()))


@contextmanager
def on_one_core() -> Iterator[None]:
    """Let torch, where it is loaded, and NumPy's products use one thread: a piece of work has one core.

    Their threads wait for each other by spinning; where others keep the cores busy, two are many times slower
    than one.
    """
    from threadpoolctl import threadpool_limits

    torch: Any = sys.modules.get("torch")
    before = 1 if torch is None else torch.get_num_threads()
    if before > 1:
        torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        if before > 1:
            torch.set_num_threads(before)


def results(
    executor: Executor[Piece, Found],
    pieces: Iterable[tuple[Key, Piece]],
    *,
    names: tuple[str, ...] = (),
    stop: Stop = lambda: False,
) -> Iterator[tuple[Key, Found]]:
    """Yield keys and results of pieces as they are done; no more pieces are taken than keep everybody busy.

    stop: asked several times a second, with one local process between pieces; once it says so, what is under
    way is dropped. Raises what a piece raises, and WorkerLost.
    """
    left = iter(pieces)
    try:
        while True:
            while executor.room > 0:
                following = next(left, None)
                if following is None:
                    break
                executor.submit(*following, names)
            if not executor.waiting or stop():
                return
            yield from executor.collect(stop)
    finally:
        executor.cancel()
