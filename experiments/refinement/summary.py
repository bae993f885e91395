"""Rows that differ only in their seed, as one line with an interval."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.refinement.run import Row

__all__ = ["CellSummary", "summarise_cells"]

BOOTSTRAPS = 2000


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
    groups: dict[tuple, list[Row]] = defaultdict(list)
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
            draws = np.random.default_rng(0).integers(len(ratios), size=(BOOTSTRAPS, len(ratios)))
            low, high = (float(x) for x in np.quantile(ratios[draws].mean(axis=1), (0.025, 0.975)))

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
