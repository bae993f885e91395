"""Methods against each other over all cells that both were measured in, and the family of searches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from experiments.markdown import markdown_table
from experiments.refinement.grid import SAME_K
from experiments.refinement.methods import method_config, split_passes, without_field
from experiments.refinement.mixture import split_draws
from experiments.refinement.rows import Row
from experiments.refinement.rows_page import seconds_words
from experiments.refinement.summary import CellSummary, common_seeds, same_blueprints

__all__ = [
    "BLUEPRINT",
    "PAIRS",
    "TOLERANCE",
    "Comparison",
    "compare",
    "comparison_table",
    "family_table",
    "place_in_family",
    "warm_table",
]

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
    TOLERANCE, more so; means over seeds, those that both have where every seed has a
    blueprint of its own. median, worst: quotients of the exploitabilities where the second is
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


def compare(rows: Iterable[Row], first: str, second: str) -> Comparison | None:
    """Return how `first` does beside `second`; None if no cell has both."""
    ours: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    theirs: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        apart = row.mode == "independent"
        cell = (row.game, row.blueprint, apart, row.limit, row.cap, row.sample)
        if row.method == first:
            ours[cell].append(row)
        elif row.method == second:
            theirs[cell].append(row)
    if second == BLUEPRINT:
        theirs = {
            cell: [replace(row, exploitability=row.blueprint_exploitability) for row in mine]
            for cell, mine in ours.items()
        }
    shared = [same_blueprints(mine, theirs[cell]) for cell, mine in ours.items() if cell in theirs]
    pairs = np.array([[_mean(some) for some in both] for both in shared if all(both)])
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


def _mean(rows: Sequence[Row]) -> float:
    return float(np.mean([row.exploitability for row in rows]))


def comparison_table(rows: Sequence[Row]) -> str:
    """Return the pairs that were measured as a Markdown table; empty if there are none."""
    found = [made for first, second in PAIRS if (made := compare(rows, first, second)) is not None]
    if not found:
        return ""
    lines = [
        "## Against each other\n",
        "Cells (game, blueprint, limit) in which both were measured, by means over seeds (those that both "
        "have, where every seed has a blueprint of its own): in how many the "
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


def warm_table(rows: Sequence[Row]) -> str:
    """Return ratios to the blueprint's of methods from uniform play and from the blueprint, by limit.

    Both are means over the seeds that both have. Empty if nothing was measured from the blueprint.
    """
    cells: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        if row.limit is not None and row.mode != "independent" and row.sample is None:
            cells[row.game, row.blueprint, row.method, row.limit].append(row)
    lines: dict[tuple[str, str, str], dict[float, tuple[str, int]]] = defaultdict(dict)
    for (game, blueprint, method, limit), warm in cells.items():
        cold, start = without_field(method, "warm_start")
        both = common_seeds(cells.get((game, blueprint, cold, limit), []), warm)
        if start == ["1"] and all(both):
            words = " → ".join(_ratio_words(some) for some in both)
            lines[game, blueprint, cold][limit] = words, len(both[0])
    if not lines:
        return ""
    limits = sorted({limit for found in lines.values() for limit in found})
    table = []
    for line, found in lines.items():
        seeds = sorted({count for _, count in found.values()})
        shown = (found.get(limit, ("", 0))[0] for limit in limits)
        table.append((*line, *shown, " or ".join(map(str, seeds))))
    heads = ("game", "blueprint", "method", *map(seconds_words, limits), "seeds")
    return "\n".join(
        [
            "## From uniform play, and from the blueprint\n",
            "Exploitability over the blueprint's where CFR starts from uniform play → where it starts from "
            "the blueprint (`warm_start=1`), by the limit for each infoset: means over the seeds that both "
            "have.\n",
            markdown_table(heads, table, "lll" + "r" * (len(limits) + 1)),
            "",
        ]
    )


def _ratio_words(rows: Sequence[Row]) -> str:
    """Return the mean ratio to the blueprint's in words."""
    ratio = float(np.mean([row.exploitability / row.blueprint_exploitability for row in rows]))
    return f"{ratio:.2f}" if ratio < 1 else f"{ratio:.1f}"


END = "to the end"


def place_in_family(method: str) -> tuple[str, str, str] | None:
    """Return (method without these fields, depth, continuations and temperature) of a method, in words.

    None for methods that are no single search, and leaves other than expected values and continuations.
    """
    name, draws = split_draws(method)
    if draws is not None or len(split_passes(name)) > 1:
        return None
    config = method_config(name)
    subgame = config.subgame
    if subgame.depth is not None and subgame.leaf not in ("exact", "multi-valued"):
        return None
    column = "1"
    if subgame.depth is not None and subgame.leaf == "multi-valued":
        column = f"{len(subgame.policies.split('+'))}"
        column += ", everyone" * (subgame.choosers == "everyone")
    if config.solve.solver == "anchored":
        column += f", τ {config.solve.temperature:g}"
    elif config.solve.solver != "cfr":
        return None
    base = config.name if config.generation.k is None else f"{config.name}, k = {config.generation.k}"
    return base, END if subgame.depth is None else str(subgame.depth), column


def family_table(summaries: Sequence[CellSummary]) -> str:
    """Return ratios to the blueprint's exploitability by depth, continuations and temperature, game by game.

    Empty unless some game was measured at several depths.
    """
    cells: dict[tuple[str, str], dict[tuple[str, str], dict[str, CellSummary]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for row in summaries:
        place = place_in_family(row.method)
        if place is not None:
            cells[row.game, row.blueprint][place[:2]][place[2]] = row
    parts = []
    for (game, blueprint), rows in cells.items():
        if len({depth for _, depth in rows}) < 2:
            continue
        columns = list(dict.fromkeys(column for found in rows.values() for column in found))
        columns.sort(key=lambda column: ("τ" in column, "everyone" in column))
        parts.append(
            f"{game}, blueprint {blueprint}: exploitability over the blueprint's, by decisions looked ahead "
            "(down), and by continuations at the limit, chosen by the opponent alone unless it is said, and "
            "the temperature τ of anchored solvers (across)\n"
        )
        table = [
            (*place, *(f"{found[column].ratio:.3f}" if column in found else "" for column in columns))
            for place, found in sorted(rows.items(), key=lambda item: (item[0][0] != "maxmargin", item[0]))
        ]
        parts += [markdown_table(("method", "depth", *columns), table, "ll" + "r" * len(columns)), ""]
    return "\n".join(parts)
