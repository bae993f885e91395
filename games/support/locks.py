"""One writer at a time: locks on outputs that say who holds them and end with their process.

The lock of `DIR/name` is the hidden file `DIR/.name.lock`, that of a folder `DIR/.lock`. The operating system
releases it when its process ends, however that happens; a file left by a killed process means nothing.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path

TRIES, PAUSE = 3, 0.05
"""Attempts to take a lock, and the seconds between them: its holder may be releasing it at this moment."""
SHOWN = 160
"""Characters of a holder's command that a message shows."""


class LockHeld(ValueError):
    """An output that another process is writing: which one, who, and since when."""


def lock_path(path: str | os.PathLike[str], *, folder: bool = False) -> Path:
    """Return the file whose lock is that of an output. folder: `path` is one."""
    target = Path(os.path.realpath(path))
    if folder:
        return target / ".lock"
    name = target.name
    while len(os.fsencode(f".{name}.lock")) > 255:
        name = name[1:]
    return target.parent / f".{name}.lock"


def hold(path: str | os.PathLike[str], *, folder: bool = False) -> ExitStack:
    """Return the lock of an output, which nobody else can hold until it is closed. folder: `path` is one.

    Raises LockHeld, saying who, if another process (or another part of this one) holds it; OSError if the
    lock's file cannot be made.
    """
    from filelock import FileLock, Timeout

    where = lock_path(path, folder=folder)
    lock = FileLock(where, timeout=TRIES * PAUSE, poll_interval=PAUSE, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        raise LockHeld(
            f"{path}: only one process at a time may write it; {_holder(where)}; wait for it to end, or name "
            "another output"
        ) from None
    words = [Path(sys.argv[0]).name, *sys.argv[1:]] if sys.argv else []
    about = {
        "process": os.getpid(),
        "machine": platform.node(),
        "command": shlex.join(words),
        "since": time.strftime("%Y-%m-%d %H:%M:%S %z"),
    }
    with suppress(OSError):  # a full disk: the lock holds without its words
        where.write_text(json.dumps(about) + "\n")

    def release() -> None:
        if os.name == "posix":  # who opened it before this finds it gone once it has the lock, and asks anew
            with suppress(OSError):
                where.unlink()
        lock.release()

    held = ExitStack()
    held.callback(release)
    return held


def _holder(where: Path) -> str:
    """Return who holds a lock, in words."""
    try:
        told = json.loads(where.read_text())
        command = str(told["command"])
        command = command if len(command) <= SHOWN else command[:SHOWN] + "…"
        there = "" if told["machine"] == platform.node() else f" on {told['machine']}"
        return f"process {int(told['process'])}{there} ({command}) holds it since {told['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process holds it"
