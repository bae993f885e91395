"""Rows of a refinement experiment, one for each cell, and the files that they stand in."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from experiments.refinement.grid import Cell, GridError
from games.support.files import read_bytes, read_text, unique

__all__ = ["ROWS", "Row", "csv_line", "read_grid", "read_rows"]

ROWS = "rows.csv"
"""A run folder's file of rows."""


@dataclass(frozen=True)
class Row:
    """One cell's result.

    The first fields name the cell (`experiments.refinement.grid.Cell`). exploitability: NashConv / 2 of the
    spliced policy of both players; blueprint_exploitability: before. searches, skipped: infosets of both
    players searched, and left alone. late: searches that their limit cut short; where there are none, the
    same cell with a longer limit is the same run, and its row is a copy. ran_at: limit of the run. nodes,
    kept, iterations, anchor: means over searches. median_ms, p99_ms: time of a search. seconds: of all of
    them. commit: of the code, "+" if it was changed since.
    """

    game: str
    blueprint: str
    method: str
    mode: str
    limit: float | None
    cap: int | None
    sample: int | None
    seed: int
    blueprint_exploitability: float
    exploitability: float
    searches: int
    skipped: int
    late: int
    ran_at: float | None
    nodes: float
    kept: float
    iterations: float
    anchor: float
    median_ms: float
    p99_ms: float
    seconds: float
    commit: str

    @property
    def cell(self) -> Cell:
        """The cell that this is the result of."""
        return Cell(
            self.game, self.blueprint, self.method, self.mode, self.limit, self.cap, self.sample, self.seed
        )


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a file, one per cell; a last line cut short by a kill is left out.

    Raises GridError if the file has other columns or a damaged row, FileProblem if it cannot be read.
    Warns with DoubleRows where a cell comes again.
    """
    names = [field.name for field in fields(Row)]
    text = read_text(path)
    whole = text[: text.rfind("\n") + 1]
    try:
        lines = list(csv.reader(io.StringIO(whole, newline="")))
    except csv.Error as error:
        raise GridError(f"{path}: not a file of comma-separated values ({error}); run it afresh") from error
    if not lines or lines[0] != names:
        raise GridError(f"{path}: its columns must be {','.join(names)}; run the experiment afresh")
    rows = []
    for number, values in enumerate(lines[1:], 2):
        try:
            rows.append(_parse(dict(zip(names, values, strict=True))))
        except ValueError as error:
            raise GridError(
                f"{path}, row {number}: {len(names)} values are wanted, most of them numbers ({error}); "
                "delete the row, and run the experiment again"
            ) from error
    return unique(rows, lambda row: row.cell.key, path)


def read_grid(folder: Path) -> dict[str, Any]:
    """Return the fields of the grid that a folder of rows belongs to.

    Raises GridError if its `grid.json` is missing or damaged.
    """
    path = folder / "grid.json"
    try:
        told = json.loads(read_bytes(path))
        if not isinstance(told, dict) or not isinstance(told.get("name"), str):
            raise ValueError("it must be an object with a name")
    except FileNotFoundError:
        raise GridError(f"{folder}: it must hold a grid.json; name the folder of a run") from None
    except (ValueError, RecursionError) as error:
        raise GridError(f"{path}: not the grid of an experiment ({error}); run it in a new folder") from error
    return told


def _parse(values: dict[str, str]) -> Row:
    made: dict[str, Any] = {}
    for field in fields(Row):
        kind, text = str(field.type), values[field.name]
        if text == "" and "None" in kind:
            made[field.name] = None
        elif kind.startswith("str"):
            made[field.name] = text
        else:
            made[field.name] = int(text) if kind.startswith("int") else float(text)
    return Row(**made)


def csv_line(values: list[Any]) -> str:
    """Return a line of a file of comma-separated values, without its end."""
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(values)
    return out.getvalue()
