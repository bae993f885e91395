"""Stored rows of the refinement experiment at 300 iterations, computed again."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments.refinement.grid import Cell
from experiments.refinement.run import run_cell

STORED = Path("experiments/results/rows")
FIELDS = (
    "blueprint_exploitability",
    "exploitability",
    "searches",
    "skipped",
    "nodes",
    "kept",
    "iterations",
    "anchor",
)
"""What a row says besides the cell's name and times."""
COUNTS = ("searches", "skipped")
"""Fields of a row that rounding cannot touch."""
VALUES = ("blueprint_exploitability", "exploitability")
"""Fields of a row that rounding moves in the last digits alone."""
NAME = ("game", "blueprint", "method", "mode", "sample", "seed")
SECONDS = {
    "leduc_poker": 3.0,
    "liars_dice(sides=4)": 1.4,
    "liars_dice(sides=5)": 5.0,
    "liars_dice_6": 4.7,
    "liars_dice_7": 21.4,
    "goofspiel_5_random_3": 6.2,
    "goofspiel_10_ascending_3": 2.0,
    "goofspiel_12_ascending_3": 5.7,
}
"""Longest search, in stored seconds, of a cell that is computed again."""
SLOWER = (("liars_dice(sides=4)", "gs2+>gs2+path"), ("liars_dice(sides=4)", "gs2-r:k=2,draws=5"))
"""Methods of two passes and mixtures, one cell of each."""
QUICK = ("resolve:entry_floor=0.05",)


def stored_rows(root: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield (folder, row as text) of every stored row at 300 iterations that no clock limits."""
    for path in sorted((root / STORED).glob("*/rows.csv")):
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                if row.get("cap") == "300" and not row["limit"]:
                    yield path.parent.name, row


def choose_rows(root: Path) -> list[dict[str, Any]]:
    """Return the cells computed again: of each game and method the quickest stored one, if quick enough."""
    best: dict[tuple[str, str], tuple[float, str, dict[str, str]]] = {}
    for folder, row in stored_rows(root):
        key, seconds = (row["game"], row["method"]), float(row["seconds"])
        bound = 13.0 if key in SLOWER else SECONDS.get(row["game"], 0.0)
        if seconds <= bound and (key not in best or seconds < best[key][0]):
            best[key] = seconds, folder, row
    chosen = [
        {"folder": folder, **{name: row[name] for name in NAME}, "quick": _is_quick(row)}
        for _, folder, row in best.values()
    ]
    return sorted(chosen, key=lambda cell: (cell["game"], cell["blueprint"], cell["method"]))


def _is_quick(row: dict[str, str]) -> bool:
    return row["game"] == "leduc_poker" and row["method"] in QUICK


def compute_row(cell: dict[str, Any]) -> dict[str, str]:
    """Return the fields of one cell's row as the experiment writes them."""
    row = run_cell(
        Cell(
            cell["game"],
            cell["blueprint"],
            cell["method"],
            cell["mode"],
            None,
            300,
            int(cell["sample"]) if cell["sample"] else None,
            int(cell["seed"]),
        )
    )
    return {name: str(getattr(row, name)) for name in FIELDS}
