"""How a sequence form lies in memory, so that CFR runs over short dense vectors and skips what is unreached.

*Bundles.* Infosets that hang below the same action of one bundle, have equally many actions and share
payoff columns (private cards under the same public play) form a bundle: action by action, its members
stand side by side, as lanes. An infoset on its own is a bundle whose actions stand side by side. Bundles
are in breadth-first order, those below one action of a bundle (its door) next to each other. Bundle 0 is
the empty sequence.

*Units.* A row of a bundle, cut into pieces of at most 16 positions. The payoff matrix is stored as the
dense bounding box of each pair of units that meet, equal boxes only once: in Liar's Dice a few dozen
small boxes serve all leaves and stay in the first-level cache.

Nothing here knows any game; both structures are read off the sparse matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cfr.simd import WIDTH

__all__ = [
    "ACTIONS",
    "BASE",
    "BOX_FIELDS",
    "DOOR0",
    "FIELDS",
    "LANE0",
    "MEMBERS",
    "ROWS",
    "UNIT0",
    "WIDE",
    "Boxes",
    "Layout",
    "SideLayout",
    "make_layout",
]

BASE, ROWS, WIDE, MEMBERS, ACTIONS, LANE0, UNIT0, DOOR0 = range(8)
"""Columns of `SideLayout.bundle`."""
FIELDS = 8
BOX_FIELDS = 6

UNIT_SIZE = 16
MAX_FILL = 4.0
"""Cells that boxes may hold per payoff before bundles, then large units, are given up."""


@dataclass(frozen=True, eq=False)
class SideLayout:
    """Where the sequences of one side lie: P positions, B bundles, L lanes, U units, D doors.

    position: [S] int32, position of each sequence; the empty sequence is at 0.
    bundle: [B, 8] int32. BASE: first position; ROWS, WIDE: its shape in positions, WIDE a multiple of 4;
        MEMBERS: infosets in it; ACTIONS: their actions; LANE0, UNIT0, DOOR0: its first lane, unit, door.
        With one member ROWS is 1 and the lanes are the actions, otherwise ROWS is ACTIONS and the lanes
        are the members. Each action is a door.
    above: [B] int32, the parent bundle.
    child: [D + 1] int32; the bundles behind door d are `child[d]:child[d + 1]`.
    parent: [L] int32, position of the sequence before each lane; at padding 1, which is never reached.
    n_positions: P, padding included.
    unit_position: [U + 1] int32, first position of each unit. unit_bundle: [U] int32, its bundle.
    unit_size: positions of the largest unit, a multiple of 4.
    """

    position: NDArray[np.int32]
    bundle: NDArray[np.int32]
    above: NDArray[np.int32]
    child: NDArray[np.int32]
    parent: NDArray[np.int32]
    n_positions: int
    unit_position: NDArray[np.int32]
    unit_bundle: NDArray[np.int32]
    unit_size: int

    @property
    def arrays(self) -> tuple:
        """Return what the kernels take: (bundle, above, child, parent, unit_size)."""
        return self.bundle, self.above, self.child, self.parent, self.unit_size


@dataclass(frozen=True, eq=False)
class Boxes:
    """The payoffs to one side, as met from the units of the other.

    start: [U + 1] int32; the boxes of the other side's unit u are `start[u]:start[u + 1]`.
    box: [n, 6] int32: first own position, own positions in chunks of 4, first position of the other, its
        positions, offset into `pool`, own bundle.
    pool: float64; for each position of the other in a box, the payoffs of the own ones, padded with 0.
    """

    start: NDArray[np.int32]
    box: NDArray[np.int32]
    pool: NDArray[np.float64]

    @property
    def arrays(self) -> tuple:
        """Return what the kernels take: (start, box, pool)."""
        return self.start, self.box, self.pool


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
    plexes: tuple[tuple[NDArray, NDArray], ...],
    rows: tuple[NDArray, NDArray, NDArray],
    columns: tuple[NDArray, NDArray, NDArray],
) -> Layout:
    """Return the layout of a sequence form.

    plexes: (start, parent) of each side's treeplex. rows: (row_start, column, payoff to side 0); columns:
    the same matrix as (column_start, row, payoff to side 0).
    """
    best: Layout | None = None
    (start_0, parent_0), (start_1, parent_1) = plexes
    for merge, unit_size in ((True, UNIT_SIZE), (False, UNIT_SIZE), (False, WIDTH)):
        a = SideLayout(*_lay_out(start_0, parent_0, rows[0], rows[1], start_1[-1], merge, unit_size))
        b = SideLayout(*_lay_out(start_1, parent_1, columns[0], columns[1], start_0[-1], merge, unit_size))
        *boxes, n_cells, n_distinct = _make_boxes(
            *rows, a.position, b.position, a.unit_position, b.unit_position, a.unit_bundle, b.unit_bundle
        )
        if best is None or n_cells < best.n_cells:
            best = Layout((a, b), (Boxes(*boxes[:3]), Boxes(*boxes[3:])), n_cells, n_distinct)
        if n_cells <= MAX_FILL * len(rows[1]):
            break
    assert best is not None
    return best


@njit(cache=True)
def _group(start, parent, entry_start, entry_column, n_columns, merge):
    """Return (bundle, lane of each infoset; parent, members of each bundle; bundles behind each door)."""
    n = len(parent)
    n_sequences = start[n]
    owner = np.full(n_sequences, -1, np.int32)
    for i in range(n):
        owner[start[i] : start[i + 1]] = i
    child_start = np.zeros(n_sequences + 1, np.int32)
    size = np.ones(n, np.int32)
    for i in range(n - 1, -1, -1):
        child_start[parent[i] + 1] += 1
        if owner[parent[i]] >= 0:
            size[owner[parent[i]]] += size[i]
    for s in range(n_sequences):
        child_start[s + 1] += child_start[s]
    child = np.empty(n, np.int32)
    cursor = child_start[:-1].copy()
    # Depth-first order: the subtree of an infoset is the range order[rank : rank + size].
    order = np.empty(n, np.int32)
    rank = np.empty(n, np.int32)
    free = np.empty(n, np.int32)
    top = 0
    for i in range(n):
        child[cursor[parent[i]]] = i
        cursor[parent[i]] += 1
        up = owner[parent[i]]
        if up < 0:
            rank[i] = top
            top += size[i]
        else:
            rank[i] = free[up]
            free[up] += size[i]
        free[i] = rank[i] + 1
        order[rank[i]] = i

    bundle_of = np.zeros(n, np.int32)
    lane_of = np.zeros(n, np.int32)
    above = np.zeros(n + 1, np.int32)
    members = np.empty(n, np.int32)
    member_start = np.zeros(n + 2, np.int32)
    n_bundles = 1
    n_placed = 0
    stamp = np.full(n_columns, -1, np.int32)
    who = np.empty(n_columns, np.int32)
    leader = np.arange(n).astype(np.int32)
    group = np.empty(n, np.int32)
    stamp_now = 0
    child_bundle = np.zeros(n_sequences + 1, np.int32)
    n_doors = 0
    b = 0
    while b < n_bundles:
        first = members[member_start[b]] if b > 0 else -1
        n_actions = start[first + 1] - start[first] if b > 0 else 1
        for a in range(n_actions):
            child_bundle[n_doors] = n_bundles
            n_doors += 1
            m = 0
            if b == 0:
                for k in range(child_start[0], child_start[1]):
                    group[m] = child[k]
                    m += 1
            else:
                for j in range(member_start[b], member_start[b + 1]):
                    s = start[members[j]] + a
                    for k in range(child_start[s], child_start[s + 1]):
                        group[m] = child[k]
                        m += 1
            if merge and m > 1:
                for g in range(m):
                    i = group[g]
                    actions = start[i + 1] - start[i]
                    for q in range(rank[i], rank[i] + size[i]):
                        below = order[q]
                        for e in range(entry_start[start[below]], entry_start[start[below + 1]]):
                            c = entry_column[e]
                            if stamp[c] != stamp_now:
                                stamp[c] = stamp_now
                                who[c] = i
                                continue
                            j = who[c]
                            if start[j + 1] - start[j] != actions:
                                continue
                            x = i
                            while leader[x] != x:
                                x = leader[x]
                            y = j
                            while leader[y] != y:
                                y = leader[y]
                            # The earliest member leads, so that lanes keep their order.
                            if x < y:
                                leader[y] = x
                            elif y < x:
                                leader[x] = y
                            who[c] = min(x, y)
                stamp_now += 1
            for g in range(m):
                x = group[g]
                while leader[x] != x:
                    x = leader[x]
                leader[group[g]] = x
            for g in range(m):
                if leader[group[g]] != group[g]:
                    continue
                lane = 0
                for h in range(m):
                    if leader[group[h]] == group[g]:
                        members[n_placed] = group[h]
                        n_placed += 1
                        bundle_of[group[h]] = n_bundles
                        lane_of[group[h]] = lane
                        lane += 1
                above[n_bundles] = b
                member_start[n_bundles + 1] = n_placed
                n_bundles += 1
        if b == 0:
            member_start[1] = 0
        b += 1
    child_bundle[n_doors] = n_bundles
    above, member_start, child = above[:n_bundles], member_start[: n_bundles + 1], child_bundle[: n_doors + 1]
    return bundle_of, lane_of, above, members, member_start, child


@njit(cache=True)
def _lay_out(start, parent, entry_start, entry_column, n_columns, merge, unit_size):
    """Return the fields of a SideLayout."""
    n = len(parent)
    bundle_of, lane_of, above, members, member_start, child = _group(
        start, parent, entry_start, entry_column, n_columns, merge
    )
    n_bundles = len(above)
    bundle = np.zeros((n_bundles, FIELDS), np.int32)
    bundle[0, ACTIONS] = 1
    base = WIDTH
    lanes = 0
    units = 1
    doors = 1
    for b in range(1, n_bundles):
        m = member_start[b + 1] - member_start[b]
        first = members[member_start[b]]
        actions = start[first + 1] - start[first]
        wide = ((m if m > 1 else actions) + WIDTH - 1) // WIDTH * WIDTH
        rows = actions if m > 1 else 1
        row = bundle[b]
        row[BASE], row[ROWS], row[WIDE], row[MEMBERS], row[ACTIONS] = base, rows, wide, m, actions
        row[LANE0], row[UNIT0], row[DOOR0] = lanes, units, doors
        base += rows * wide
        lanes += wide
        units += rows * ((wide + unit_size - 1) // unit_size)
        doors += actions

    position = np.zeros(start[n], np.int32)
    lane_parent = np.ones(lanes, np.int32)
    for i in range(n):
        row = bundle[bundle_of[i]]
        first = position[parent[i]]
        if row[MEMBERS] > 1:
            lane_parent[row[LANE0] + lane_of[i]] = first
            for a in range(row[ACTIONS]):
                position[start[i] + a] = row[BASE] + a * row[WIDE] + lane_of[i]
        else:
            lane_parent[row[LANE0] : row[LANE0] + row[ACTIONS]] = first
            for a in range(row[ACTIONS]):
                position[start[i] + a] = row[BASE] + a

    unit_position = np.zeros(units + 1, np.int32)
    unit_bundle = np.zeros(units, np.int32)
    unit_position[units] = base
    u = 1
    for b in range(1, n_bundles):
        row = bundle[b]
        for a in range(row[ROWS]):
            for piece in range(0, row[WIDE], unit_size):
                unit_position[u] = row[BASE] + a * row[WIDE] + piece
                unit_bundle[u] = b
                u += 1
    # Boxes may read and write a little beyond the last position.
    return position, bundle, above, child, lane_parent, base + 16, unit_position, unit_bundle, unit_size


@njit(cache=True)
def _unit_of_sequences(position, unit_position):
    unit_of = np.empty(unit_position[-1], np.int32)
    for u in range(len(unit_position) - 1):
        unit_of[unit_position[u] : unit_position[u + 1]] = u
    out = np.empty(len(position), np.int32)
    for s in range(len(position)):
        out[s] = unit_of[position[s]]
    return out


@njit(cache=True)
def _sorted_by_units(row_start, column, row_unit, column_unit, n_row_units, n_column_units):
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


@njit(cache=True)
def _grown(array, used, more):
    if used + more <= len(array):
        return array
    larger = np.zeros(max(2 * len(array), used + more), array.dtype)
    larger[:used] = array[:used]
    return larger


@njit(cache=True)
def _fill(box, position, chunks, other, n_other, offset, bundle):
    box[0], box[1], box[2], box[3], box[4], box[5] = position, chunks, other, n_other, offset, bundle


@njit(cache=True)
def _make_boxes(row_start, column, payoff, position_0, position_1, units_0, units_1, bundles_0, bundles_1):
    """Return (start, box, pool) of the payoffs to side 0 and to side 1, the cells and the distinct boxes."""
    n_0, n_1 = len(bundles_0), len(bundles_1)
    row_unit = _unit_of_sequences(position_0, units_0)
    column_unit = _unit_of_sequences(position_1, units_1)
    row, order = _sorted_by_units(row_start, column, row_unit, column_unit, n_0, n_1)
    n = len(order)
    n_boxes = 0
    for k in range(n):
        e = order[k]
        if (
            k == 0
            or row_unit[row[e]] != row_unit[row[order[k - 1]]]
            or (column_unit[column[e]] != column_unit[column[order[k - 1]]])
        ):
            n_boxes += 1
    start_0, start_1 = np.zeros(n_1 + 1, np.int32), np.zeros(n_0 + 1, np.int32)
    by_row = np.zeros((n_boxes, 6), np.int32)
    box_1 = np.zeros((n_boxes, 6), np.int32)
    unit_1 = np.zeros(n_boxes, np.int32)
    pool_0, pool_1 = np.zeros(256), np.zeros(256)
    used_0 = used_1 = 0
    table = np.full(1 << int(np.ceil(np.log2(2 * n_boxes + 2))), -1, np.int32)
    # Distinct boxes: rows, columns, offsets of their cells in both pools.
    known = np.empty((n_boxes, 4), np.int32)
    n_known = 0
    scratch = np.zeros(0)
    n_cells = 0
    k = 0
    for box in range(n_boxes):
        first = k
        u, v = row_unit[row[order[k]]], column_unit[column[order[k]]]
        low_0, high_0 = position_0[row[order[k]]], 0
        low_1, high_1 = position_1[column[order[k]]], 0
        while k < n and row_unit[row[order[k]]] == u and column_unit[column[order[k]]] == v:
            p, q = position_0[row[order[k]]], position_1[column[order[k]]]
            low_0, high_0 = min(low_0, p), max(high_0, p)
            low_1, high_1 = min(low_1, q), max(high_1, q)
            k += 1
        rows, cols = high_0 - low_0 + 1, high_1 - low_1 + 1
        chunks_0, chunks_1 = (rows + WIDTH - 1) // WIDTH, (cols + WIDTH - 1) // WIDTH
        cells = rows * cols
        n_cells += cells
        if len(scratch) < cells:
            scratch = np.zeros(cells)
        scratch[:cells] = 0.0
        for j in range(first, k):
            e = order[j]
            scratch[(position_0[row[e]] - low_0) * cols + position_1[column[e]] - low_1] = payoff[e]
        bits = scratch.view(np.uint64)
        mix = np.uint64(rows * 64 + cols)
        for j in range(cells):
            mix = (mix ^ bits[j]) * np.uint64(0x9E3779B97F4A7C15)
            mix ^= mix >> np.uint64(29)
        at = np.int64(mix & np.uint64(len(table) - 1))
        found = -1
        while table[at] >= 0:
            other = table[at]
            if known[other, 0] == rows and known[other, 1] == cols:
                same = True
                o = known[other, 2]
                for j in range(rows):
                    for c in range(cols):
                        if pool_0[o + c * chunks_0 * WIDTH + j] != scratch[j * cols + c]:
                            same = False
                if same:
                    found = other
                    break
            at = (at + 1) & (len(table) - 1)
        if found < 0:
            found = n_known
            table[at] = found
            known[found, 0], known[found, 1] = rows, cols
            known[found, 2], known[found, 3] = used_0, used_1
            more_0, more_1 = cols * chunks_0 * WIDTH, rows * chunks_1 * WIDTH
            pool_0, pool_1 = _grown(pool_0, used_0, more_0), _grown(pool_1, used_1, more_1)
            for j in range(rows):
                for c in range(cols):
                    pool_0[used_0 + c * chunks_0 * WIDTH + j] = scratch[j * cols + c]
                    pool_1[used_1 + j * chunks_1 * WIDTH + c] = -scratch[j * cols + c]
            used_0 += more_0
            used_1 += more_1
            n_known += 1
        _fill(by_row[box], low_0, chunks_0, low_1, cols, known[found, 2], bundles_0[u])
        _fill(box_1[box], low_1, chunks_1, low_0, rows, known[found, 3], bundles_1[v])
        unit_1[box] = v
        start_0[v + 1] += 1
        start_1[u + 1] += 1
    for v in range(n_1):
        start_0[v + 1] += start_0[v]
    for u in range(n_0):
        start_1[u + 1] += start_1[u]
    box_0 = np.empty((n_boxes, 6), np.int32)
    cursor = start_0[:-1].copy()
    for box in range(n_boxes):
        v = unit_1[box]
        box_0[cursor[v]] = by_row[box]
        cursor[v] += 1
    return start_0, box_0, pool_0[:used_0], start_1, box_1, pool_1[:used_1], n_cells, n_known
