"""Where the sequences of one player lie in memory: bundles of infosets, read off the sparse payoff matrix.

Infosets that hang below the same action of one bundle, have equally many actions and share payoff columns
(private cards under the same public play) form a bundle: action by action, its members stand side by side,
as lanes. An infoset on its own is a bundle whose actions stand side by side. Bundles are in breadth-first
order, those below one action of a bundle (its door) next to each other. Bundle 0 is the empty sequence.

A unit is a row of a bundle, cut into pieces of at most 16 positions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cfr.engine.arrays import Side
from cfr.engine.simd import WIDTH
from games.support.kernel import kernel

__all__ = [
    "ACTIONS",
    "BASE",
    "DOOR0",
    "FIELDS",
    "LANE0",
    "MEMBERS",
    "ROWS",
    "UNIT0",
    "WIDE",
    "SideLayout",
    "lay_out_side",
]

BASE, ROWS, WIDE, MEMBERS, ACTIONS, LANE0, UNIT0, DOOR0 = range(8)
"""Columns of `SideLayout.bundle`."""
FIELDS = 8


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
    def arrays(self) -> Side:
        """Return what the kernels take: (bundle, above, child, parent, unit_size)."""
        return self.bundle, self.above, self.child, self.parent, self.unit_size


def lay_out_side(
    plex: tuple[NDArray[np.int32], NDArray[np.int32]],
    entries: tuple[NDArray[np.int64], NDArray[np.int32]],
    n_columns: int,
    *,
    merge: bool,
    unit_size: int,
) -> SideLayout:
    """Return the layout of one side.

    plex: (start, parent) of its treeplex. entries: (start, column) of the payoffs in its rows.
    n_columns: sequences of the other side. merge: form bundles of more than one infoset.
    """
    return SideLayout(*_lay_out(*plex, *entries, n_columns, merge, unit_size))


@kernel
def _group(
    start: NDArray[np.int32],
    parent: NDArray[np.int32],
    entry_start: NDArray[np.int64],
    entry_column: NDArray[np.int32],
    n_columns: int,
    merge: bool,
) -> tuple[
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.int32],
]:
    """Return (bundle, lane of each infoset; parent, members of each bundle; bundles behind each door)."""
    n = len(parent)
    n_sequences = start[n]
    owner = np.full(n_sequences, -1, np.int32)
    for i in range(n):
        for s in range(start[i], start[i + 1]):
            owner[s] = i
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


@kernel
def _lay_out(
    start: NDArray[np.int32],
    parent: NDArray[np.int32],
    entry_start: NDArray[np.int64],
    entry_column: NDArray[np.int32],
    n_columns: int,
    merge: bool,
    unit_size: int,
) -> tuple[
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.int32],
    int,
    NDArray[np.int32],
    NDArray[np.int32],
    int,
]:
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
            for a in range(row[ACTIONS]):
                lane_parent[row[LANE0] + a] = first
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
