"""Pieces of work for the tests of executors; other processes import them from here."""

from __future__ import annotations

import os
import time
from pathlib import Path

from games.support.work.carried import name_here


def factor(by: int) -> int:
    """Prepare a process: the number that its pieces are multiplied by."""
    return by


def times(by: int, piece: int) -> int:
    """Return a product."""
    return by * piece


def slow_times(by: int, piece: int) -> int:
    """Return a product after a moment."""
    time.sleep(0.15)
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
