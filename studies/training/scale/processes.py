"""The memory of this process and of all that it started, as Linux tells it, sampled while something runs."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from games.support.files import LineFile

__all__ = ["process_rows", "processor_seconds", "sampled"]

FIELDS = {"RssAnon": "private", "RssShmem": "shared", "RssFile": "mapped"}
"""What a process's status calls the pages of its own, of shared memory (Ray's object store), and of files."""
NAMES = (
    (r"ray::\w+Actor", "actor"),
    (r"ray::IDLE", "idle worker"),
    (r"gcs_server", "Ray: cluster state"),
    (r"raylet/raylet", "Ray: node"),
    (r"ray/.*(agent|monitor|dashboard|log_monitor)", "Ray: agents"),
)


def _stats() -> dict[int, list[str]]:
    """Return the fields of /proc/PID/stat, from the state on, of this process and each below it."""
    fields: dict[int, list[str]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            fields[int(entry.name)] = stat.rpartition(")")[2].split()
    mine = {os.getpid()}
    while more := {pid for pid, stat in fields.items() if int(stat[1]) in mine} - mine:
        mine |= more
    return {pid: fields[pid] for pid in sorted(mine) if pid in fields}


def processor_seconds() -> tuple[float, float]:
    """Return the processor time that the processes from here down have had: ours, and Ray's own.

    Ours are this process and the workers that it has; Ray's keep house, also where nothing is done.
    """
    ours, theirs = 0, 0
    for pid, stat in _stats().items():
        ticks = int(stat[11]) + int(stat[12])
        if pid == os.getpid() or "actor" in (name := _name(_words(pid))) or name == "idle worker":
            ours += ticks
        else:
            theirs += ticks
    second = os.sysconf("SC_CLK_TCK")
    return ours / second, theirs / second


def process_rows() -> list[dict[str, Any]]:
    """Return a row for this process and each below it: pid, name, and megabytes by kind of page."""
    found = []
    for pid in _stats():
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue
        sizes = {name: int(kib) / 1024 for name, kib in re.findall(r"^(\w+):\s+(\d+) kB", status, re.M)}
        name = "learner" if pid == os.getpid() else _name(_words(pid))
        found.append(
            {"pid": pid, "name": name} | {to: round(sizes.get(k, 0.0), 1) for k, to in FIELDS.items()}
        )
    return found


def _words(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def _name(words: str) -> str:
    return next((name for pattern, name in NAMES if re.search(pattern, words)), words.split(" ")[0][-40:])


@contextmanager
def sampled(path: Path, seconds: float) -> Iterator[dict[str, Any]]:
    """Within the block, append a line for every process every so many seconds, and at the end.

    Yields what is written into each line beside: whatever the block puts there.
    """
    beside: dict[str, Any] = {}
    over = threading.Event()
    begin = time.monotonic()

    def watch() -> None:
        with LineFile(path) as lines:
            last = False
            while not last:
                last = over.is_set()
                at = {"minutes": round((time.monotonic() - begin) / 60, 3)}
                lines.append([json.dumps(at | beside | row) for row in process_rows()])
                over.wait(seconds)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield beside
    finally:
        over.set()
        thread.join()
