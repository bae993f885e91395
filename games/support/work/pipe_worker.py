"""A process that does one piece of work after the other, named and sent through a pipe.

There are no locks and queues between the two, which the system would have to clear away behind a process that
was killed: whichever of both ends, the other hears of it, and nothing is left.
"""

from __future__ import annotations

import asyncio
import atexit
import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pkgutil import resolve_name
from typing import Any

from games.support.interruption import deaf_children, end_with_parent

Heard = tuple[Any, ...]


class PipeWorker:
    """One process, and what it says to a program with an event loop."""

    def __init__(self, hear: Callable[[PipeWorker, Heard], None], *, behind: bool = False) -> None:
        """Start the process.

        hear: called on the event loop with the worker and ("progress", done, of), ("done", answer) or
            ("failed", words) for each piece in its order, and ("gone",) when the process has ended.
        behind: whether it works behind others, on one thread.
        """
        context = multiprocessing.get_context("spawn")  # a forked copy of a process with threads may hang
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, behind))
        atexit.register(self.end)  # else this process would wait for it at its end
        with deaf_children():
            self._process.start()
        theirs.close()
        self._calls: queue.SimpleQueue[Any] = queue.SimpleQueue()
        loop = asyncio.get_running_loop()

        def listen() -> None:
            said: Heard = ()
            while said != ("gone",):
                try:
                    said = self._pipe.recv()
                except (EOFError, OSError):
                    said = ("gone",)
                with suppress(RuntimeError):  # the loop is closed
                    loop.call_soon_threadsafe(hear, self, said)
            self._calls.put(None)

        def talk() -> None:
            # beside the event loop: a pipe takes 64 kB, then waits for the other side to read
            while (call := self._calls.get()) is not None:
                with suppress(OSError):  # it is gone, which the listener says
                    self._pipe.send(call)

        for work in (listen, talk):
            threading.Thread(target=work, daemon=True).start()

    def ask(self, function: str, *arguments: Any) -> None:
        """Have MODULE:FUNCTION called with the arguments and `progress`, a function (done, of)."""
        self._calls.put((function, arguments))

    def end(self) -> None:
        """End the process, whatever it is doing."""
        atexit.unregister(self.end)
        self._process.terminate()


def _serve(pipe: Connection, behind: bool) -> None:
    """Run in a worker: do what comes through the pipe until it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    if behind:
        # a network's small products are slower on several threads, many times so beside other programs
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        with suppress(OSError):
            os.nice(5)  # clicks go before analysis
    while True:
        try:
            name, arguments = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            answer = resolve_name(name)(
                *arguments, progress=lambda done, of: pipe.send(("progress", done, of))
            )
        except ValueError as error:
            pipe.send(("failed", str(error)))
        except Exception as error:
            pipe.send(("failed", f"{type(error).__name__}: {error}"))
        else:
            pipe.send(("done", answer))
