"""Progress on stderr: live on a terminal, an occasional plain line where there is none."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from rich.text import Text

from gs2.commands.common import stderr

FIRST = 2.0
"""Seconds until the first plain line; what takes less prints none."""
EVERY = 10.0
"""Seconds between plain lines."""


@contextmanager
def working(text: str) -> Iterator[Callable[[str], None]]:
    """Show that work is under way in the block; the yielded function changes what is said of it."""
    console = stderr()
    if console.is_terminal:
        with console.status(Text(text)) as status:
            yield lambda words: status.update(Text(words))
        return
    said, began, ended = [text], time.monotonic(), threading.Event()

    def tell() -> None:
        pause = min(FIRST, EVERY)
        while not ended.wait(pause):
            pause = EVERY
            click.echo(f"{said[0]} ({time.monotonic() - began:.0f} s)", err=True)

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield lambda words: said.__setitem__(0, words)
    finally:
        ended.set()
        teller.join()
