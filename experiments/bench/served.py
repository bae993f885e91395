"""A server under load, started as a user starts it: its address, its words, and what it takes."""

from __future__ import annotations

import math
import os
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

__all__ = ["Served", "served"]

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

    def cpu(self) -> float:
        """Return its processor seconds, without its children's; nan where the system does not tell."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return math.nan
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Return its memory in megabytes; nan where the system does not tell."""
        try:
            pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        except OSError:
            return math.nan
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def stop(self) -> str:
        """End it as Ctrl-C does; return all that it said."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        return self.said()


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
