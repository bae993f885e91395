"""Rows that differ only in their seed, as one line with an interval; which lines a table shows together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from experiments.refinement.grid import differs_by_seed
from experiments.refinement.rows import Row
from games.support.bootstrap import bootstrap_interval

__all__ = [
    "FEW_BLUEPRINTS",
    "STRENGTH_METHODS",
    "CellSummary",
    "block_of",
    "by_strength",
    "common_seeds",
    "of_equal_blueprints",
    "same_blueprints",
    "summarise_cells",
]

RESAMPLES = 2000


@dataclass(frozen=True)
class CellSummary:
    """Rows that differ only in their seed.

    ratio: mean exploitability over the blueprint's, with a 95 % bootstrap interval over seeds (low = high =
    ratio for one seed). exploitability, blueprint: means. seeds: rows. median_ms: of a search. worst: largest
    ratio of any seed. nodes, anchor: means over searches.
    """

    game: str
    blueprint: str
    method: str
    mode: str
    limit: float | None
    cap: int | None
    sample: int | None
    seeds: int
    blueprint_exploitability: float
    exploitability: float
    ratio: float
    low: float
    high: float
    worst: float
    median_ms: float
    nodes: float
    anchor: float


def summarise_cells(rows: Iterable[Row]) -> list[CellSummary]:
    """Return one summary per cell, in the order of first appearance."""
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        cell = (row.game, row.blueprint, row.method, row.mode, row.limit, row.cap, row.sample)
        groups[cell].append(row)
    out = []
    for cell, members in groups.items():
        before = np.array([row.blueprint_exploitability for row in members])
        after = np.array([row.exploitability for row in members])
        ratios = after / before
        low = high = float(ratios.mean())
        if len(ratios) > 1:
            low, high = bootstrap_interval(ratios, np.random.default_rng(0), resamples=RESAMPLES)

        def mean(name: str, members: Sequence[Row] = tuple(members)) -> float:
            return float(np.mean([getattr(row, name) for row in members]))

        out.append(
            CellSummary(
                *cell,
                seeds=len(members),
                blueprint_exploitability=float(before.mean()),
                exploitability=float(after.mean()),
                ratio=float(ratios.mean()),
                low=low,
                high=high,
                worst=float(ratios.max()),
                median_ms=mean("median_ms"),
                nodes=mean("nodes"),
                anchor=mean("anchor"),
            )
        )
    return out


def common_seeds(ours: Sequence[Row], theirs: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Return those rows of two methods whose seeds both have."""
    seeds = {row.seed for row in ours} & {row.seed for row in theirs}
    return [row for row in ours if row.seed in seeds], [row for row in theirs if row.seed in seeds]


def same_blueprints(ours: Sequence[Row], theirs: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Return those rows of two methods in one cell that started from the same blueprints."""
    if any(differs_by_seed(row.blueprint) for row in ours):
        return common_seeds(ours, theirs)
    return list(ours), list(theirs)


def of_equal_blueprints(rows: Sequence[Row]) -> list[list[Row]]:
    """Return rows of one game and blueprint in parts, in each of which all methods had the same blueprints.

    One part, or, where every seed has a blueprint of its own, one for each set of seeds that a method has:
    the rows with these seeds of all methods that have them.
    """
    if not any(differs_by_seed(row.blueprint) for row in rows):
        return [list(rows)]
    seeds: dict[str, set[int]] = defaultdict(set)
    for row in rows:
        seeds[row.method].add(row.seed)
    wanted = sorted({tuple(sorted(found)) for found in seeds.values()}, key=lambda some: (-len(some), some))
    return [
        [row for row in rows if row.seed in some and seeds[row.method].issuperset(some)] for some in wanted
    ]


def block_of(summary: CellSummary | Row) -> tuple[Any, ...]:
    """Return what one table holds: searches that build on one another stand together."""
    apart = "independent" if summary.mode == "independent" else "nested"
    return summary.game, summary.blueprint, apart, summary.sample


STRENGTH_METHODS = (
    "gs2-d:k=3",
    "gs2-r:k=3",
    "gs2-r:k=3,draws=5",
    "1-klss",
    "gs2+",
    "gs2+path",
    "gs2+>gs2+path",
)
"""Columns of the table by the strength of the blueprint; single draws of GS2-R beside their mixture."""
FEW_BLUEPRINTS = 3
"""Blueprints of one game from which on their strength is worth a table."""


RowT = TypeVar("RowT", Row, CellSummary)


def by_strength(summaries: Sequence[RowT]) -> list[RowT]:
    """Return the rows of nested searches of 300 iterations, methods and games that the table shows."""
    rows = [
        row
        for row in summaries
        if row.method in STRENGTH_METHODS
        and block_of(row)[2] == "nested"
        and (row.limit, row.cap, row.sample) == (None, 300, None)
    ]
    blueprints: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        blueprints[row.game].add(row.blueprint)
    return [row for row in rows if len(blueprints[row.game]) >= FEW_BLUEPRINTS]
