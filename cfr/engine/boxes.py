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
    n_units = len(sides[0].unit_bundle), len(sides[1].unit_bundle)
    row = np.repeat(np.arange(len(row_start) - 1), np.diff(row_start))
    place = sides[0].position[row], sides[1].position[column]
    unit = [np.searchsorted(side.unit_position, p, "right") - 1 for side, p in zip(sides, place, strict=True)]
    pair = unit[0] * n_units[1] + unit[1]
    order = np.argsort(pair, kind="stable")
    place = place[0][order], place[1][order]
    first = np.flatnonzero(np.diff(pair[order], prepend=-1))
    low, high = (
        [end.reduceat(p, first) if len(first) else p for p in place] for end in (np.minimum, np.maximum)
    )
    size = [last + 1 - begin for begin, last in zip(low, high, strict=True)]
    # Units, first positions and sizes of both sides.
    box = np.stack([*(of[order[first]] for of in unit), *low, *size], axis=1).astype(np.int64)
    columns = _columns(box, width)
    ends = np.append(first[1:], len(order))
    cells, pool_0, pool_1, n_distinct = _pool(place, payoff[order], box, ends, width, columns)
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
def _grown(array: NDArray[np.float64], used: int, more: int) -> NDArray[np.float64]:
    if used + more <= len(array):
        return array
    larger = np.zeros(max(2 * len(array), used + more))
    for k in range(used):
        larger[k] = array[k]
    return larger


@kernel(lazy=True)
def _pool(
    place: tuple[NDArray[np.int32], NDArray[np.int32]],
    payoff: NDArray[np.float64],
    box: NDArray[np.int64],
    end: NDArray[np.int64],
    width: int,
    columns: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], int]:
    """Return (offsets of each box in both pools, the pools, how many distinct boxes they hold).

    place: both sides' positions of the payoffs, in the order of the boxes. box: [n, 6], see `make_boxes`.
    end: where the payoffs of each box end.
    """
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
            scratch[(place[0][k] - low_0) * cols + place[1][k] - low_1] = payoff[k]
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
