"""Says that functions are being compiled, once for a command and all processes that it starts.

    with compiling_is_said():
        ...  # after a second of compiling, stderr reads "compiling, this once …"

Numba reports each function that it compiles, and none that it loads from disk. Worker processes inherit an
environment variable, which names a file: the process that creates the file is the one that speaks.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

VARIABLE = "GS2_COMPILING"
"""Names the file that exists once compiling was said. A command that finds the variable set says nothing."""
PATIENCE = 1.0
"""Seconds of compiling, in all, before it is said."""
EVERY = 10.0
"""Seconds of compiling between further lines."""

Later = Callable[[float, Callable[[], None]], Callable[[], None]]
"""Calls a function after so many seconds; returns what calls that off."""
_reporter: Compiling | None = None


def _later(seconds: float, call: Callable[[], None]) -> Callable[[], None]:
    timer = threading.Timer(seconds, call)
    timer.daemon = True
    timer.start()
    return timer.cancel


def _say(text: str) -> None:
    with suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)


class Compiling:
    """Hears when compiling begins and ends, one function inside another, and speaks when it takes long.

    marker: the file that is created by who speaks first. say, clock and later: by default stderr and the
    clock of this machine.
    """

    def __init__(
        self,
        marker: str,
        say: Callable[[str], None] = _say,
        clock: Callable[[], float] = time.monotonic,
        later: Later = _later,
    ) -> None:
        self._marker, self._say, self._clock, self._later = marker, say, clock, later
        self._depth, self._since, self._before = 0, 0.0, 0.0
        self._due, self._speaks = PATIENCE, False
        self._call_off: Callable[[], None] = lambda: None

    def began(self) -> None:
        """Hear that a function is being compiled."""
        self._depth += 1
        if self._depth == 1:
            self._since = self._clock()
            self._wait()

    def ended(self) -> None:
        """Hear that a function is compiled, or could not be."""
        self._depth -= 1
        if self._depth == 0:
            self._call_off()
            self._before += self._clock() - self._since

    def _wait(self) -> None:
        self._call_off = self._later(max(0.0, self._due - self._seconds()), self._speak)

    def _seconds(self) -> float:
        """Return how long compiling has taken so far."""
        return self._before + (self._clock() - self._since if self._depth else 0.0)

    def _speak(self) -> None:
        """Say it, unless another process has."""
        if not self._depth:
            return
        if not self._speaks:
            try:
                os.close(os.open(self._marker, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            except OSError:
                return
        so_far = f": {self._seconds():.0f} s" if self._speaks else " …"
        self._say(f"compiling, this once{so_far}")
        self._speaks = True
        self._due += EVERY
        self._wait()


@contextmanager
def compiling_is_said() -> Iterator[None]:
    """Say that something is compiled in the block, here or in a process that starts there."""
    global _reporter
    if VARIABLE in os.environ:
        yield
        return
    marker = os.path.join(tempfile.gettempdir(), f"gs2-compiling-{os.getpid()}-{time.monotonic_ns()}")
    os.environ[VARIABLE] = marker
    _reporter = Compiling(marker)
    try:
        yield
    finally:
        _reporter = None
        os.environ.pop(VARIABLE, None)
        with suppress(OSError):
            os.unlink(marker)


def listen() -> None:
    """Hear Numba from now on; in a process that such a command started, its reporter is set up as well."""
    global _reporter
    from numba.core import event

    register: Any = event.register

    class Heard(event.Listener):
        def on_start(self, happened: Any) -> None:
            if _reporter is not None:
                _reporter.began()

        def on_end(self, happened: Any) -> None:
            if _reporter is not None:
                _reporter.ended()

    register("numba:compile", Heard())
    marker = os.environ.get(VARIABLE)
    if marker and _reporter is None:
        _reporter = Compiling(marker)
