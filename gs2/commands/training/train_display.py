"""What a training run shows: a live table or one line a generation, and scalars for TensorBoard."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gs2.commands.common import number_table, stderr

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["row_display", "scalar_writer", "training_table"]

SHOWN = 8
"""Generations in the live table."""


def scalar_writer(output: Path, stack: ExitStack) -> Callable[[dict[str, Any]], None]:
    """Return a function that writes a row's numbers for TensorBoard.

    output: of the training. They go to its folder `tensorboard`, or beside its file, NAME.tensorboard.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise click.UsageError("--tensorboard needs an extra: pip install 'gs2[tensorboard]'") from None
    is_file = output.suffix == ".safetensors"
    folder = output.with_suffix(".tensorboard") if is_file else output / "tensorboard"
    writer = stack.enter_context(SummaryWriter(str(folder)))

    def write(row: dict[str, Any]) -> None:
        for name, value in row.items():
            if isinstance(value, int | float):
                writer.add_scalar(name, value, row["decisions"])
        for decisions, exploitability in row.get("curve", ())[-1:]:
            if decisions == row["decisions"]:
                writer.add_scalar("exploitability", exploitability, decisions)
        for name, share in row.get("won", {}).items():
            writer.add_scalar(f"won/{name}", share, row["decisions"])

    return write


def row_display(stack: ExitStack) -> Callable[[dict[str, Any]], None]:
    """Return a function that shows a row: a table of the last ones in a terminal, else one line each."""
    console = stderr()
    if not console.is_terminal:
        return lambda row: console.print(_line(row), soft_wrap=True)
    from rich.live import Live

    rows: deque[dict[str, Any]] = deque(maxlen=SHOWN)
    live = stack.enter_context(Live(console=console, auto_refresh=False, transient=True))
    won: dict[str, float] = {}

    def show(row: dict[str, Any]) -> None:
        won.update(row.get("won", {}))
        rows.append(row | {"won": dict(won)})
        live.update(training_table(list(rows)), refresh=True)

    return show


def _cells(row: dict[str, Any]) -> dict[str, str]:
    def loss(name: str) -> str:
        return f"{row[name]:.3f}" if name in row else "–"

    cells = {
        "generation": str(row["generation"]),
        "decisions": f"{row['decisions']:,}",
        "hours": f"{row['hours']:.2f}",
        "decisions/s": f"{row['decisions_per_second']:,.0f}",
        "advantage loss": loss("advantage"),
        "value loss": loss("value"),
        "critic loss": loss("critic"),
    }
    if "actors" in row:
        cells |= {"actors": str(row["actors"]), "staleness": f"{row['mean_staleness']:.1f}"}
    return cells | {f"won vs {name}": f"{share:.1%}" for name, share in row.get("won", {}).items()}


def _line(row: dict[str, Any]) -> str:
    return "  ".join(f"{name} {value}" for name, value in _cells(row).items())


def training_table(rows: list[dict[str, Any]]) -> Table:
    """Return generations as a table, one row each."""
    cells = [_cells(row) for row in rows]
    columns = list(dict.fromkeys(name for row in cells for name in row))
    table = number_table(*columns, words=0, lines=True, title="Training")
    for row in cells:
        table.add_row(*(row.get(name, "") for name in columns))
    return table
