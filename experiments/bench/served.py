"""A server under load, started as a user starts it: its address and its words."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

ADDRESS = re.compile(r"(?:http|ws)://[^\s/]+:(\d+)")


class Served:
    """A server that listens at `url`, on `port`. log: the file of what it says on stderr."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        """Wait until it listens. Raises ClickException if it ends before."""
        self.process, self.log = process, log
        while not (found := ADDRESS.search(self.said())):
            if process.poll() is not None:
                raise click.ClickException(f"the server ended: {self.said()}")
            time.sleep(0.02)
        self.url, self.port = found[0], int(found[1])

    def said(self) -> str:
        """Return what it has said so far."""
        return self.log.read_text(encoding="utf-8")

    def stop(self) -> None:
        """End it as Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait()


@contextmanager
def served(*words: object) -> Iterator[Served]:
    """Yield the server that `gs2 WORDS…` starts; in the end it is killed, if it has not ended."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "gs2", *map(str, words)],
                stdout=subprocess.DEVNULL,
                stderr=file,
                start_new_session=True,
            )
        try:
            yield Served(process, log)
        finally:
            process.kill()
            process.wait()
