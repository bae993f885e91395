"""The payoffs of a sequence form as small dense boxes.

For each pair of units that meet, the bounding box of their payoffs is stored densely, equal boxes only once:
in Liar's Dice a few dozen small boxes serve all leaves and stay in the first-level cache.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cfr.engine.arrays import BoxArrays, aligned_zeros
from cfr.engine.bundles import SideLayout
from games.support.kernel import kernel

__all__ = ["BOX_FIELDS", "Boxes", "Entries", "make_boxes"]

Entries = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]
"""The payoff matrix in compressed rows or columns: (start, column or row, payoff to side 0)."""
BOX_FIELDS = 4
"""Columns of `Boxes.box`."""
COLUMNS = 4, 6, 8
"""Positions of the other side for which kernels have loops of that length, unrolled."""
MOST_PADDING = 1.7
"""Times by which the cells may grow when all boxes are given the same shape."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """The payoffs to one side, as seen from the units of the other.

    start: [U + 1] int32; the boxes of the other side's unit u are `start[u]:start[u + 1]`.
    box: [n, 4] int32: first own position, first position of the other, offset into `pool`, own bundle.
    shape: [n, 2] int32: own positions in fours, positions of the other.
    columns: positions of the other in every box, one of `COLUMNS`, if all are one vector wide and there is
        little to pad; otherwise 0.
    pool: float64; for each position of the other in a box, the payoffs of the own ones, padded with 0.
    """

    start: NDArray[np.int32]
    box: NDArray[np.int32]
    shape: NDArray[np.int32]
    columns: int
    pool: NDArray[np.float64]

    @property
    def arrays(self) -> BoxArrays:
        """Return what the kernels take."""
        return self.start, self.box, self.shape, self.columns, self.pool


def make_boxes(rows: Entries, sides: tuple[SideLayout, SideLayout]) -> tuple[tuple[Boxes, Boxes], int, int]:
    """Return the payoffs to each side as boxes, the cells of all boxes, and how many distinct boxes.

    rows: (row_start, column, payoff to side 0) of the payoff matrix.
    """
    row_start, column, payoff = rows
    width = sides[0].width
    unit_0, unit_1 = (_unit_of_sequences(side.position, side.unit_position) for side in sides)
    n_units = len(sides[0].unit_bundle), len(sides[1].unit_bundle)
    row, order = _sorted_by_units(row_start, column, unit_0, unit_1, *n_units)
    box, end = _bounds(row, column, order, sides[0].position, sides[1].position, unit_0, unit_1)
    columns = _columns(box, width)
    cells, pool_0, pool_1, n_distinct = _pool(
        row, column, payoff, order, sides[0].position, sides[1].position, box, end, width, columns
    )
    fours = np.array([_fours(n, width) for n in range(int(box[:, 4:].max(initial=0)) + 1)], np.int32)
    out = []
    for own, found in ((0, pool_0), (1, pool_1)):
        pool = aligned_zeros(len(found))
        pool[:] = found
        other = 1 - own
        fields = np.empty((len(box), BOX_FIELDS), np.int32)
        fields[:, 0] = box[:, 2 + own]
        fields[:, 1] = box[:, 2 + other]
        fields[:, 2] = cells[:, own]
        fields[:, 3] = sides[own].unit_bundle[box[:, own]]
        shape = np.empty((len(box), 2), np.int32)
        shape[:, 0] = fours[box[:, 4 + own]]
        shape[:, 1] = columns or box[:, 4 + other]
        start = np.zeros(n_units[other] + 1, np.int32)
        np.cumsum(np.bincount(box[:, other], minlength=n_units[other]), out=start[1:])
        if other == 1:
            by_other = np.argsort(box[:, other], kind="stable")
            fields, shape = fields[by_other], shape[by_other]
        out.append(Boxes(start, fields, shape, columns, pool))
    return (out[0], out[1]), int((box[:, 4] * box[:, 5]).sum()), n_distinct


@kernel(lazy=True)
def _fours(n: int, width: int) -> int:
    """Return in how many fours `n` payoffs are stored: whole vectors, or one of eight and half of another."""
    return 3 if width == 8 and 8 < n <= 12 else (n + width - 1) // width * (width // 4)


def _columns(box: NDArray[np.int64], width: int) -> int:
    """Return the positions of the other side that all boxes are given, or 0 if they keep their own."""
    largest = int(box[:, 4:].max(initial=1))
    columns = min((n for n in COLUMNS if n >= largest), default=0)
    wide = (box[:, 4:] + width - 1) // width * width
    cells = (wide * box[:, :3:-1]).sum()
    return columns if largest <= width and columns * width * 2 * len(box) <= MOST_PADDING * cells else 0


@kernel(lazy=True)
def _unit_of_sequences(position: NDArray[np.int32], unit_position: NDArray[np.int32]) -> NDArray[np.int32]:
    unit_of = np.empty(unit_position[-1], np.int32)
    for u in range(len(unit_position) - 1):
        for p in range(unit_position[u], unit_position[u + 1]):
            unit_of[p] = u
    out = np.empty(len(position), np.int32)
    for s in range(len(position)):
        out[s] = unit_of[position[s]]
    return out


@kernel(lazy=True)
def _sorted_by_units(
    row_start: NDArray[np.int64],
    column: NDArray[np.int32],
    row_unit: NDArray[np.int32],
    column_unit: NDArray[np.int32],
    n_row_units: int,
    n_column_units: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return (row, entry) of all entries, sorted by row unit, then column unit."""
    n = len(column)
    row = np.empty(n, np.int32)
    column_end = np.zeros(n_column_units + 1, np.int32)
    row_end = np.zeros(n_row_units + 1, np.int32)
    for r in range(len(row_start) - 1):
        row_end[row_unit[r] + 1] += row_start[r + 1] - row_start[r]
        for e in range(row_start[r], row_start[r + 1]):
            row[e] = r
            column_end[column_unit[column[e]] + 1] += 1
    for u in range(n_row_units):
        row_end[u + 1] += row_end[u]
    for u in range(n_column_units):
        column_end[u + 1] += column_end[u]
    by_column = np.empty(n, np.int32)
    for e in range(n):
        u = column_unit[column[e]]
        by_column[column_end[u]] = e
        column_end[u] += 1
    order = np.empty(n, np.int32)
    for k in range(n):
        e = by_column[k]
        u = row_unit[row[e]]
        order[row_end[u]] = e
        row_end[u] += 1
    return row, order


@kernel(lazy=True)
def _bounds(
    row: NDArray[np.int32],
    column: NDArray[np.int32],
    order: NDArray[np.int32],
    position_0: NDArray[np.int32],
    position_1: NDArray[np.int32],
    row_unit: NDArray[np.int32],
    column_unit: NDArray[np.int32],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (box, end): [n, 6] int64 units, first positions and sizes of both sides; the end in `order`."""
    n = len(order)
    box = np.empty((n, 6), np.int64)
    end = np.empty(n, np.int64)
    b = -1
    for k in range(n):
        r, c = row[order[k]], column[order[k]]
        p, q = position_0[r], position_1[c]
        if b < 0 or row_unit[r] != box[b, 0] or column_unit[c] != box[b, 1]:
            b += 1
            box[b, 0], box[b, 1], box[b, 2], box[b, 3] = row_unit[r], column_unit[c], p, q
            box[b, 4], box[b, 5] = p, q
        box[b, 2], box[b, 4] = min(box[b, 2], p), max(box[b, 4], p)
        box[b, 3], box[b, 5] = min(box[b, 3], q), max(box[b, 5], q)
        end[b] = k + 1
    for k in range(b + 1):
        box[k, 4] += 1 - box[k, 2]
        box[k, 5] += 1 - box[k, 3]
    return box[: b + 1].copy(), end[: b + 1].copy()


@kernel(lazy=True)
def _grown(array: NDArray[np.float64], used: int, more: int) -> NDArray[np.float64]:
    if used + more <= len(array):
        return array
    larger = np.zeros(max(2 * len(array), used + more))
    for k in range(used):
        larger[k] = array[k]
    return larger


@kernel(lazy=True)
def _pool(
    row: NDArray[np.int32],
    column: NDArray[np.int32],
    payoff: NDArray[np.float64],
    order: NDArray[np.int32],
    position_0: NDArray[np.int32],
    position_1: NDArray[np.int32],
    box: NDArray[np.int64],
    end: NDArray[np.int64],
    width: int,
    columns: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], int]:
    """Return (offsets of each box in both pools, the pools, how many distinct boxes they hold)."""
    n = len(box)
    offset = np.empty((n, 2), np.int64)
    pool_0, pool_1 = np.zeros(256), np.zeros(256)
    used_0 = used_1 = n_distinct = 0
    # A hash table of the first box with each content; -1 is empty.
    size = 1
    while size < 2 * n + 2:
        size *= 2
    table = np.full(size, -1, np.int64)
    scratch = np.zeros(1)
    k = 0
    for b in range(n):
        low_0, low_1, rows, cols = box[b, 2], box[b, 3], box[b, 4], box[b, 5]
        wide_0, wide_1 = _fours(rows, width) * 4, _fours(cols, width) * 4
        if len(scratch) < rows * cols:
            scratch = np.zeros(rows * cols)
        for j in range(rows * cols):
            scratch[j] = 0.0
        while k < end[b]:
            e = order[k]
            scratch[(position_0[row[e]] - low_0) * cols + position_1[column[e]] - low_1] = payoff[e]
            k += 1
        bits = scratch.view(np.uint64)
        mix = np.uint64(rows * 64 + cols)
        for j in range(rows * cols):
            mix ^= bits[j]
            mix = ((mix ^ mix >> np.uint64(32)) & np.uint64(0xFFFFFFFF)) * np.uint64(0x9E3779B1)
            mix ^= mix >> np.uint64(29)
        at = np.int64(mix & np.uint64(size - 1))
        while table[at] >= 0:
            other = table[at]
            same = box[other, 4] == rows and box[other, 5] == cols
            first = offset[other, 1]
            j = 0
            while same and j < rows * cols:
                same = pool_1[first + j // cols * wide_1 + j % cols] == -scratch[j]
                j += 1
            if same:
                break
            at = (at + 1) & (size - 1)
        if table[at] >= 0:
            offset[b, 0], offset[b, 1] = offset[table[at], 0], offset[table[at], 1]
            continue
        table[at] = b
        n_distinct += 1
        offset[b, 0], offset[b, 1] = used_0, used_1
        # Columns of zeros make all boxes as large as the largest.
        size_0, size_1 = max(cols, columns) * wide_0, max(rows, columns) * wide_1
        pool_0, pool_1 = _grown(pool_0, used_0, size_0), _grown(pool_1, used_1, size_1)
        for j in range(rows):
            for c in range(cols):
                pool_0[used_0 + c * wide_0 + j] = scratch[j * cols + c]
                pool_1[used_1 + j * wide_1 + c] = -scratch[j * cols + c]
        used_0 += size_0
        used_1 += size_1
    return offset, pool_0[:used_0], pool_1[:used_1], n_distinct
