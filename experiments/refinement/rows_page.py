"""The rows of refinement experiments as one page with plots to filter and point at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from experiments.refinement.plots import base_and_k
from experiments.refinement.rows import ROWS, Row, read_grid, read_rows
from experiments.refinement.summary import CellSummary, summarise_cells
from games.registry import RESEARCH_GAMES
from games.support.files import create

__all__ = ["limit_words", "pooled_rows", "rows_picture", "seconds_words", "write_rows_page"]

ROWS_FORMAT = "gs2 rows"
VERSION = 1
SCRIPTS = ("vendor/vega.min.js", "vendor/vega-lite.min.js", "vendor/vega-interpreter.min.js")
"""Scripts that draw the plots, in the order in which they run."""


def seconds_words(seconds: float) -> str:
    """Return a limit of time in words."""
    return f"{seconds:g} s" if seconds >= 1 else f"{1000 * seconds:g} ms"


def limit_words(summary: CellSummary) -> str:
    """Return the limit of a cell's searches in words."""
    if summary.limit is not None:
        return seconds_words(summary.limit)
    return "preset's" if summary.cap is None else f"{summary.cap} iter."


def pooled_rows(folders: Sequence[Path]) -> tuple[list[str], list[Row]]:
    """Return (names of the grids, rows of run folders, each cell once, research games first).

    Raises GridError for a folder that is not a run's, FileNotFoundError for one without rows.
    """
    names = list(dict.fromkeys(str(read_grid(folder)["name"]) for folder in folders))
    rows = {row.cell.key: row for folder in folders for row in read_rows(folder / ROWS)}
    order = {game: number for number, game in enumerate(RESEARCH_GAMES)}
    return names, sorted(rows.values(), key=lambda row: order.get(row.game, len(order)))


def rows_picture(names: Sequence[str], rows: Sequence[Row]) -> dict[str, Any]:
    """Return the cells of rows as plain data; those that differ only in their seed are one."""
    cells = []
    for summary in summarise_cells(rows):
        base, k = base_and_k(summary.method)
        told = asdict(summary)
        seconds, sample = told.pop("limit"), told.pop("sample")
        mode = summary.mode + ("" if sample is None else f", {sample} random infosets")
        told |= {"base": base, "k": k, "mode": mode, "limit": limit_words(summary), "seconds": seconds}
        told["before"] = told.pop("blueprint_exploitability")
        cells.append(told)
    return {"format": ROWS_FORMAT, "version": VERSION, "title": ", ".join(names), "rows": cells}


def write_rows_page(folders: Sequence[Path], path: Path) -> None:
    """Write the rows of run folders as one new HTML file that needs no network.

    Raises as `pooled_rows`, FileProblem for a file that is there already.
    """
    from gs2.web.pages import standalone_page

    picture = rows_picture(*pooled_rows(folders))
    page = standalone_page(
        f"{picture['title']} · gs2 experiment report",
        "rows.js",
        picture,
        modules=("rows.js",),
        styles=("rows.css",),
        scripts=SCRIPTS,
    )
    with create(path) as file:
        file.write(page)
