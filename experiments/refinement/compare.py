"""Methods against each other over all cells that both were measured in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.markdown import markdown_table
from experiments.refinement.grid import SAME_K
from experiments.refinement.summary import CellSummary

__all__ = ["BLUEPRINT", "PAIRS", "TOLERANCE", "Comparison", "compare", "comparison_table"]

TOLERANCE = 1e-6
"""Exploitabilities that differ by no more, in payoffs, are level."""
BLUEPRINT = "blueprint"

PAIRS = (
    ("gs2+", BLUEPRINT),
    ("gs2+path", BLUEPRINT),
    ("gs2+path", "gs2+"),
    *((SAME_K, other) for other in (BLUEPRINT, "gs2-r:k=3", "gs2-d:k=3")),
    *((f"gs2-d:k={k}", f"gs2-r:k={k}") for k in (2, 3, 5, 10)),
    ("gs2-d:k=3", "gs2-r:k=3,draws=5"),
    ("gs2-r:k=3,draws=5", "gs2-r:k=3"),
    *((f"gs2-d:k={k}", "1-klss") for k in (3, 5, 10)),
    *((f"gs2-d:k={k},warm_start=1", f"gs2-r:k={k},warm_start=1") for k in (3, 5)),
    *((f"gs2-d:k={k},warm_start=1", "1-klss:warm_start=1") for k in (3, 5)),
)
"""Which methods the report sets against which."""


@dataclass(frozen=True)
class Comparison:
    """How one method does beside another.

    cells: game, blueprint, mode and limit in which both were measured (searches that build on one another
    count as one mode). below, level, above: in how many the first is less exploitable, as exploitable within
    TOLERANCE, more so; means over seeds. median, worst: quotients of the exploitabilities where the second is
    not zero.
    """

    first: str
    second: str
    cells: int
    below: int
    level: int
    above: int
    median: float
    worst: float


def compare(summaries: Iterable[CellSummary], first: str, second: str) -> Comparison | None:
    """Return how `first` does beside `second`; None if no cell has both."""
    ours: dict[tuple[Any, ...], CellSummary] = {}
    theirs: dict[tuple[Any, ...], float] = {}
    for row in summaries:
        apart = row.mode == "independent"
        cell = (row.game, row.blueprint, apart, row.limit, row.cap, row.sample)
        if row.method == first:
            ours[cell] = row
            if second == BLUEPRINT:
                theirs[cell] = row.blueprint_exploitability
        elif row.method == second:
            theirs[cell] = row.exploitability
    pairs = np.array([(row.exploitability, theirs[cell]) for cell, row in ours.items() if cell in theirs])
    if len(pairs) == 0:
        return None
    difference = pairs[:, 0] - pairs[:, 1]
    some = pairs[:, 1] > TOLERANCE
    quotient = pairs[some, 0] / pairs[some, 1]
    return Comparison(
        first,
        second,
        cells=len(pairs),
        below=int(np.sum(difference < -TOLERANCE)),
        level=int(np.sum(np.abs(difference) <= TOLERANCE)),
        above=int(np.sum(difference > TOLERANCE)),
        median=float(np.median(quotient)) if some.any() else float("nan"),
        worst=float(quotient.max()) if some.any() else float("nan"),
    )


def comparison_table(summaries: Sequence[CellSummary]) -> str:
    """Return the pairs that were measured as a Markdown table; empty if there are none."""
    found = [made for first, second in PAIRS if (made := compare(summaries, first, second)) is not None]
    if not found:
        return ""
    lines = [
        "## Against each other\n",
        "Cells (game, blueprint, limit) in which both were measured, by means over seeds: in how many the "
        f"first is less exploitable, level within {TOLERANCE:g}, more exploitable; and the quotient of the "
        "two.\n",
    ]
    table = [
        (c.first, c.second, c.cells, c.below, c.level, c.above, f"{c.median:.3g}", f"{c.worst:.4g}")
        for c in found
    ]
    heads = ("first", "second", "cells", "below", "level", "above", "median quotient", "worst")
    lines.append(markdown_table(heads, table, "llrrrrrr"))
    return "\n".join([*lines, ""])
