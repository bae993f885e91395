"""Pieces of work for the tests of executors; other processes import them from here."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from games.support.work.carried import name_here
from games.support.work.engines import executor_at
from games.support.work.executor import Executor, Task, results
from games.support.work.where import where_of


def in_order(executor: Executor[Any, Any], pieces: Iterable[Any]) -> list[Any]:
    """Return the results of pieces in the order of the pieces."""
    return [found for _, found in sorted(results(executor, enumerate(pieces)))]


def factor(by: int) -> int:
    """Prepare a process: the number that its pieces are multiplied by."""
    return by


def times(by: int, piece: int) -> int:
    """Return a product."""
    return by * piece


def refuses_seven(by: int, piece: int) -> int:
    """Return a product, but raise ValueError at 7."""
    if piece == 7:
        raise ValueError("seven is not served")
    return by * piece


def dies_once(mark: str, piece: int) -> int:
    """Return a piece; the process that meets piece 3 first ends on the spot."""
    if piece == 3 and not Path(mark).exists():
        Path(mark).touch()
        os._exit(1)
    return piece


def always_dies(by: int, piece: int) -> int:
    """End the process."""
    os._exit(1)


def reads(by: int, name: str) -> str:
    """Return the text of the file that a name holds after a colon, here."""
    return Path(name_here(name).partition(":")[2]).read_text()


def remembers(by: int, name: str) -> str:
    """Return a variable of the environment."""
    return os.environ.get(name, "")


def in_parts(state: int, piece: int) -> list[int]:
    """Return three parts, done by an executor within the piece; piece 2 meets Ctrl-C midway."""

    def part(_: int, number: int) -> int:
        if (piece, number) == (2, 1):
            signal.raise_signal(signal.SIGINT)
        return number

    with executor_at(where_of(1), Task(factor, (1,), part)) as inner:
        return in_order(inner, range(3))
