"""What a bench found, on the terminal, as JSON and as a document headed by how and where it was measured."""

from __future__ import annotations

import datetime
import json
import os
import platform
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.bench.bench import Bench
from experiments.commit import commit_of_code
from experiments.markdown import markdown_table
from games.support.files import write_text
from gs2.commands.common import print_json, stdout

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["as_markdown", "machine_text", "show_result", "write_result"]

_PACKAGES = ("numpy", "numba", "open_spiel")


def machine_text() -> str:
    """Return the machine and the software that matters for speed, in words."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    busy = f", load average {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    versions = []
    for name in _PACKAGES:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    software = ", ".join((f"Python {platform.python_version()}", *versions))
    return f"{_processor()}, {cores} cores{busy}; {platform.system()}; {software}"


def _processor() -> str:
    names = Path("/proc/cpuinfo")
    if names.exists():
        for line in names.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def plain(result: Any) -> Any:
    """Return a bench's record, a dataclass or a list of them, as plain values."""
    return [asdict(row) for row in result] if isinstance(result, list) else asdict(result)


def as_markdown(table: Table) -> str:
    """Return a table for terminals, with its title and caption, as Markdown."""
    sides = "".join("r" if column.justify == "right" else "l" for column in table.columns)
    headers = [str(column.header) for column in table.columns]
    cells = [[str(cell) for cell in column.cells] for column in table.columns]
    text = f"## {table.title}\n\n" if table.title else ""
    text += markdown_table(headers, list(zip(*cells, strict=True)), sides) + "\n"
    return text + (f"\n{table.caption}\n" if table.caption else "")


def write_result(bench: Bench[Any], result: Any, path: Path, command: str) -> None:
    """Write a record's tables to `path` as Markdown and its figures beside it as JSON.

    command: what regenerates the file.
    """
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    commit = commit_of_code() or "unknown"
    head = f"# {bench.title}\n\n{bench.about}\n\n`{command}`; commit {commit}, {day}; {machine_text()}.\n"
    write_text(path, "\n".join((head, *(as_markdown(table) for table in bench.tables(result)))))
    write_text(path.with_suffix(".json"), json.dumps(plain(result), indent=1) + "\n")


def show_result(bench: Bench[Any], result: Any, as_json: bool) -> None:
    """Print a record's tables, or its figures as JSON."""
    if as_json:
        print_json(plain(result))
        return
    for table in bench.tables(result):
        stdout().print(table)
