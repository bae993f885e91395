"""How a sequence form lies in memory, so that CFR runs over short dense vectors and skips what is unreached.

Sequences lie in bundles (`bundles`), payoffs in boxes (`boxes`). Nothing here knows any game.
"""

from __future__ import annotations

from dataclasses import dataclass

from cfr.engine.boxes import Boxes, Entries, make_boxes
from cfr.engine.bundles import Groups, Plex, SideLayout, group_side, lay_out_side, positions_needed
from cfr.engine.simd import WIDTHS

__all__ = ["Layout", "make_layout"]

UNIT_SIZE = 16
FEW_POSITIONS = 8192
"""Positions, padding included, up to which vectors are as wide as they can be."""
MAX_FILL = 4.0
"""Cells that boxes may hold per payoff before bundles, then large units, are given up."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Both sides' positions, and the payoffs to each side as boxes.

    n_cells: cells of all boxes before equal ones are merged; n_distinct: boxes after.
    """

    sides: tuple[SideLayout, SideLayout]
    boxes: tuple[Boxes, Boxes]
    n_cells: int
    n_distinct: int


def make_layout(
    plexes: tuple[Plex, ...],
    rows: Entries,
    columns: Entries,
) -> Layout:
    """Return the layout of a sequence form.

    plexes: (start, parent) of each side's treeplex. rows: (row_start, column, payoff to side 0); columns:
    the same matrix as (column_start, row, payoff to side 0).
    """
    best: Layout | None = None
    n_sequences = plexes[0][0][-1], plexes[1][0][-1]
    for merge, unit_size in ((True, UNIT_SIZE), (False, UNIT_SIZE), (False, 0)):
        groups = (
            group_side(plexes[0], rows[:2], n_sequences[1], merge=merge),
            group_side(plexes[1], columns[:2], n_sequences[0], merge=merge),
        )
        width = _width(plexes, groups)
        sides = (
            lay_out_side(plexes[0], groups[0], width, max(unit_size, width)),
            lay_out_side(plexes[1], groups[1], width, max(unit_size, width)),
        )
        boxes, n_cells, n_distinct = make_boxes(rows, sides)
        if best is None or n_cells < best.n_cells:
            best = Layout(sides, boxes, n_cells, n_distinct)
        if n_cells <= MAX_FILL * len(rows[1]):
            break
    assert best is not None
    return best


def _width(plexes: tuple[Plex, ...], groups: tuple[Groups, ...]) -> int:
    """Return the width of vectors: the larger one, unless it would make most of many positions padding.

    Small forms take the larger one anyway: padding costs them nothing that shows, while kernels for another
    width take seconds to compile.
    """
    n_sequences = sum(int(start[-1]) for start, _ in plexes)
    n_positions = sum(
        positions_needed(plex, group, WIDTHS[1]) for plex, group in zip(plexes, groups, strict=True)
    )
    return WIDTHS[1] if n_positions <= max(2 * n_sequences, FEW_POSITIONS) else WIDTHS[0]
