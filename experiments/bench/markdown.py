"""Benchmark tables as Markdown, headed by what regenerates them and where they were measured."""

from __future__ import annotations

import datetime
import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.commit import commit_of_code
from games.support.files import write_text

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["machine_text", "markdown_table", "write_markdown"]

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


def markdown_table(table: Table) -> str:
    """Return a table with its title and caption as Markdown."""
    lines = [f"## {table.title}\n"] if table.title else []
    lines.append("| " + " | ".join(str(column.header) for column in table.columns) + " |")
    rules = (" ---: " if column.justify == "right" else " --- " for column in table.columns)
    lines.append("|" + "|".join(rules) + "|")
    cells = [[str(cell) for cell in column.cells] for column in table.columns]
    lines += ["| " + " | ".join(row) + " |" for row in zip(*cells, strict=True)]
    if table.caption:
        lines.append(f"\n{table.caption}")
    return "\n".join(lines) + "\n"


def write_markdown(
    path: Path, title: str, command: str, about: str, tables: Sequence[Table], result: Any
) -> None:
    """Write tables to `path` as Markdown and the figures behind them, a dataclass, beside it as JSON.

    command: what regenerates the file. about: what was measured, in words.
    """
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    commit = commit_of_code() or "unknown"
    head = f"# {title}\n\n{about}\n\n`{command}`; commit {commit}, {day}; {machine_text()}.\n"
    write_text(path, "\n".join((head, *(markdown_table(table) for table in tables))))
    write_text(path.with_suffix(".json"), json.dumps(asdict(result), indent=1) + "\n")
