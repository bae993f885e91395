"""Ctrl-C and the terminate signal: answered at once, with no work left half done.

with Interruption() as asked:
    while not asked.stop:       # between pieces of work that must end whole
        piece()
        with asked.at_once():   # within work that may be dropped anywhere
            long_piece()
if asked.stop:
    raise SystemExit(asked.exit_code)
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from multiprocessing.connection import wait
from types import FrameType
from typing import Any, ClassVar, TypeVar

INTERRUPTED = 130
"""Exit code of a command that Ctrl-C ended: 128 and the number of the signal, as shells have it."""
Result = TypeVar("Result")
PATIENCE = 3
"""Signals after which a process ends on the spot, whatever it holds."""


class Interrupted(KeyboardInterrupt):
    """Raised within `Interruption.at_once` when a signal came."""


class Noticed:
    """Within the block, remembers whether a signal came; at Ctrl-C raises KeyboardInterrupt as Python does.

    Foreign code that is interrupted between two of its steps may raise anything later; this object tells the
    reason. An `Interruption` within the block tells it as well.
    """

    _open: ClassVar[list[Noticed]] = []

    def __init__(self) -> None:
        self.came = False
        self._before: object = None

    def __enter__(self) -> Noticed:
        """Return the object, which from now on is told of signals."""
        Noticed._open.append(self)
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._signalled)
        return self

    def __exit__(self, *exception: object) -> None:
        """Give signals back to whoever handled them before."""
        Noticed._open.remove(self)
        if self._before is not None:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    @staticmethod
    def _signalled(number: int, frame: FrameType | None) -> None:
        Noticed.tell()
        signal.default_int_handler(number, frame)

    @staticmethod
    def tell() -> None:
        """Tell every open block that a signal came."""
        for one in Noticed._open:
            one.came = True


class Interruption:
    """Within the block, Ctrl-C and a terminate signal set `stop`; a third one ends the process on the spot.

    stop: whether a signal came. exit_code: 130 after Ctrl-C, 143 after a terminate signal.
    Outside of the main thread, where Python sets no handlers, nothing changes.
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.stop = False
        self.exit_code = INTERRUPTED
        self._count = 0
        self._raising = 0
        self._before: list[Any] = []

    def __enter__(self) -> Interruption:
        """Return the interruption, from now on in charge of signals."""
        if threading.current_thread() is threading.main_thread():
            self._before = [signal.signal(name, self._signalled) for name in self.SIGNALS]
        return self

    def __exit__(self, *exception: object) -> None:
        """Give signals back to whoever handled them before."""
        for name, handler in zip(self.SIGNALS, self._before, strict=False):
            signal.signal(name, handler)
        self._before = []

    def __call__(self) -> bool:
        """Return whether a signal came."""
        return self.stop

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        self._count += 1
        Noticed.tell()
        if not self.stop:
            self.exit_code = 128 + number
        self.stop = True
        if self._count >= PATIENCE:
            os._exit(self.exit_code)
        if self._raising:
            raise Interrupted

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Within the block a signal also raises Interrupted; one that came before does so now."""
        self._raising += 1
        try:
            if self.stop:
                raise Interrupted
            yield
        finally:
            self._raising -= 1

    @contextmanager
    def held(self) -> Iterator[None]:
        """Within the block, inside of `at_once`, a signal only sets `stop`; Interrupted comes at its end."""
        raising, self._raising = self._raising, 0
        try:
            yield
        finally:
            self._raising = raising
        if raising and self.stop:
            raise Interrupted


def breaking(stop: object) -> AbstractContextManager[None]:
    """Return `stop.at_once()` if it is an Interruption, else a block that nothing breaks into.

    For work that takes "should I stop?" from its caller and may be dropped anywhere.
    """
    return stop.at_once() if isinstance(stop, Interruption) else nullcontext()


def end_with_parent() -> None:
    """End this process as soon as the one that started it is gone, killed or not.

    A worker that waits for work would wait for ever: the pipe's other end is its own as well.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def deaf_children() -> Iterator[None]:
    """Within the block, start processes that never hear Ctrl-C.

    It reaches every process of a terminal, and the first one decides. It waits meanwhile to be heard here.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def heard(work: Callable[[], Result]) -> Result:
    """Return what `work` returns, from a thread of its own, so that Ctrl-C is heard while foreign code runs.

    For long calls that let other threads run meanwhile but never look at signals. After Ctrl-C the thread is
    left to itself.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    done: list[Result] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
    if failed:
        raise failed[0]
    return done[0]
