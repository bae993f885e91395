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
from games.support.kernel import kernel

__all__ = [
    "ABOVE",
    "ACTIONS",
    "BASE",
    "BEFORE",
    "DOOR0",
    "FIELDS",
    "LANE0",
    "MEMBERS",
    "ROWS",
    "UNIT0",
    "WIDE",
    "Groups",
    "Plex",
    "SideLayout",
    "group_side",
    "lay_out_side",
    "positions_needed",
]

BASE, ROWS, WIDE, MEMBERS, ACTIONS, LANE0, UNIT0, DOOR0, BEFORE, ABOVE = range(10)
"""Columns of `SideLayout.bundle`."""
FIELDS = 10

Plex = tuple[NDArray[np.int32], NDArray[np.int32]]
"""(start, parent) of a treeplex."""
Groups = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]
"""Which infosets form bundles: (parent bundle of each; members, one bundle after the other; where those of
each bundle start; where the bundles behind each door start)."""


@dataclass(frozen=True, eq=False)
class SideLayout:
    """Where the sequences of one side lie: P positions, B bundles, L lanes, U units, D doors.

    position: [S] int32, position of each sequence; the empty sequence is at 0.
    bundle: [B, 10] int32. BASE: first position; ROWS, WIDE: its shape in positions, WIDE a multiple of the
        width; MEMBERS: infosets in it; ACTIONS: their actions; LANE0, UNIT0: its first lane and unit; DOOR0:
        its first door; BEFORE: the position of the sequence before lane 0, if
        those before the other lanes follow it (with one member it is the same for all), otherwise -1;
        ABOVE: the parent bundle.
        With one member ROWS is 1 and the lanes are the actions, otherwise ROWS is ACTIONS and the lanes
        are the members; a lane may be left empty so that those below a row stand as in the row. Each action
        is a door.
    level: [D + 1] int32; the bundles below d others are `level[d]:level[d + 1]`, bundle 0 is in none.
    child: [D + 1] int32; the bundles behind door d are `child[d]:child[d + 1]`.
    parent: [L] int32, position of the sequence before each lane; at padding 1, which is never reached.
    real: [L / width] uint8, of each vector of lanes the bits of those that are no padding.
    rows: if every bundle but those behind door 0 is one vector wide and has a BEFORE and several members, so
        that rows, units and doors are the same: ([D + 1] int32, the rows behind door d are `[d]:[d + 1]`;
        [U] int32, position before the first lane of each row; [B, 4] int32, BASE, ROWS, BEFORE and ABOVE of
        each bundle). Otherwise all are empty.
    n_positions: P, padding included.
    unit_position: [U + 1] int32, first position of each unit. unit_bundle: [U] int32, its bundle.
    unit_size: positions of the largest unit, a multiple of the width.
    width: numbers in a vector.
    """

    position: NDArray[np.int32]
    bundle: NDArray[np.int32]
    level: NDArray[np.int32]
    child: NDArray[np.int32]
    parent: NDArray[np.int32]
    real: NDArray[np.uint8]
    rows: tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]
    n_positions: int
    unit_position: NDArray[np.int32]
    unit_bundle: NDArray[np.int32]
    unit_size: int
    width: int

    @property
    def arrays(self) -> Side:
        """Return what the kernels take."""
        lanes = (0.0,) * self.width
        links = self.level, self.child, self.parent
        return lanes, self.bundle, *links, self.real, self.rows, self.unit_size, self.singles

    @property
    def singles(self) -> bool:
        """Whether each bundle is one infoset with a choice, of at most two vectors."""
        found = self.bundle[1:]
        alone = (found[:, MEMBERS] == 1) & (found[:, ACTIONS] > 1)
        return bool((alone & (found[:, WIDE] <= 2 * self.width)).all())


def group_side(
    plex: Plex, entries: tuple[NDArray[np.int64], NDArray[np.int32]], n_columns: int, *, merge: bool
) -> Groups:
    """Return the bundles of one side.

    entries: (start, column) of the payoffs in its rows. n_columns: sequences of the other side. merge: form
    bundles of more than one infoset.
    """
    return _group(*plex, *entries, n_columns, merge)


def positions_needed(plex: Plex, groups: Groups, width: int) -> int:
    """Return how many positions the bundles take with vectors of `width`, the empty sequence's included."""
    members, member_start = groups[1:3]
    m = np.diff(member_start)[1:]
    actions = np.diff(plex[0])[members[member_start[1:-1]]]
    lanes, rows = np.where(m > 1, m, actions), np.where(m > 1, actions, 1)
    return width + int(((lanes + width - 1) // width * width * rows).sum())


def lay_out_side(plex: Plex, groups: Groups, width: int, unit_size: int) -> SideLayout:
    """Return the layout of one side."""
    above, members, member_start, child = groups
    fields = _lay_out(*plex, above, members, member_start, child, width, unit_size)
    position, bundle, parent, real, n_positions, unit_position, unit_bundle = fields
    units = unit_position, unit_bundle, unit_size
    level = [1]
    while level[-1] < len(bundle):
        level.append(int(np.searchsorted(above, level[-1])))
    rows = _rows(bundle, child, unit_bundle, width)
    links = np.array(level, np.int32), child, parent, real, rows
    return SideLayout(position, bundle, *links, n_positions, *units, width)


def _rows(
    bundle: NDArray[np.int32], child: NDArray[np.int32], unit_bundle: NDArray[np.int32], width: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return `SideLayout.rows`."""
    below = bundle[child[1] :]
    if np.any(bundle[1:, WIDE] != width) or np.any(bundle[1:, MEMBERS] == 1) or np.any(below[:, BEFORE] < 0):
        return np.empty(0, np.int32), np.empty(0, np.int32), np.empty((0, 4), np.int32)
    first_row = np.append(bundle[:, UNIT0], len(unit_bundle))
    fields = np.ascontiguousarray(bundle[:, [BASE, ROWS, BEFORE, ABOVE]])
    return first_row[child].astype(np.int32), bundle[unit_bundle, BEFORE], fields


@kernel(lazy=True)
def _group(
    start: NDArray[np.int32],
    parent: NDArray[np.int32],
    entry_start: NDArray[np.int64],
    entry_column: NDArray[np.int32],
    n_columns: int,
    merge: bool,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return the groups."""
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
                for h in range(m):
                    if leader[group[h]] == group[g]:
                        members[n_placed] = group[h]
                        n_placed += 1
                above[n_bundles] = b
                member_start[n_bundles + 1] = n_placed
                n_bundles += 1
        if b == 0:
            member_start[1] = 0
        b += 1
    child_bundle[n_doors] = n_bundles
    return above[:n_bundles], members, member_start[: n_bundles + 1], child_bundle[: n_doors + 1]


@kernel(lazy=True)
def _lay_out(
    start: NDArray[np.int32],
    parent: NDArray[np.int32],
    above: NDArray[np.int32],
    members: NDArray[np.int32],
    member_start: NDArray[np.int32],
    child: NDArray[np.int32],
    width: int,
    unit_size: int,
) -> tuple[
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.uint8],
    int,
    NDArray[np.int32],
    NDArray[np.int32],
]:
    """Return (position, bundle, parent, real, n_positions, unit_position, unit_bundle) of a SideLayout."""
    n_bundles = len(member_start) - 1
    bundle = np.zeros((n_bundles, FIELDS), np.int32)
    bundle[0, ACTIONS] = 1
    base = width
    lanes = 0
    units = 1
    doors = 1
    for b in range(1, n_bundles):
        m = member_start[b + 1] - member_start[b]
        first = members[member_start[b]]
        actions = start[first + 1] - start[first]
        wide = ((m if m > 1 else actions) + width - 1) // width * width
        rows = actions if m > 1 else 1
        row = bundle[b]
        row[BASE], row[ROWS], row[WIDE], row[MEMBERS], row[ACTIONS] = base, rows, wide, m, actions
        row[LANE0], row[UNIT0], row[ABOVE] = lanes, units, above[b]
        row[DOOR0] = doors
        base += rows * wide
        lanes += wide
        units += rows * ((wide + unit_size - 1) // unit_size)
        doors += actions

    position = np.zeros(start[len(parent)], np.int32)
    lane_parent = np.ones(lanes, np.int32)
    real = np.zeros(lanes // width, np.uint8)
    for b in range(1, n_bundles):
        row = bundle[b]
        base, rows, wide, lane0 = row[BASE], row[ROWS], row[WIDE], row[LANE0]
        own = members[member_start[b] : member_start[b + 1]]
        before = position[parent[own[0]]]
        if len(own) == 1:
            row[BEFORE] = before
            for a in range(row[ACTIONS]):
                lane_parent[lane0 + a] = before
                real[(lane0 + a) // width] |= 1 << (lane0 + a) % width
                position[start[own[0]] + a] = base + a
            continue
        rising = position[parent[own[-1]]] - before < wide
        for k in range(1, len(own)):
            rising &= position[parent[own[k]]] > position[parent[own[k - 1]]]
        row[BEFORE] = before if rising else -1
        for k in range(len(own)):
            place = position[parent[own[k]]]
            lane = lane0 + (place - before if rising else k)
            lane_parent[lane] = place
            real[lane // width] |= 1 << lane % width
            for a in range(rows):
                position[start[own[k]] + a] = base + a * wide + lane - lane0

    unit_position = np.zeros(units + 1, np.int32)
    unit_bundle = np.zeros(units, np.int32)
    n_positions = bundle[-1, BASE] + bundle[-1, ROWS] * bundle[-1, WIDE] if n_bundles > 1 else width
    unit_position[units] = n_positions
    u = 1
    for b in range(1, n_bundles):
        row = bundle[b]
        for a in range(row[ROWS]):
            for piece in range(0, row[WIDE], unit_size):
                unit_position[u] = row[BASE] + a * row[WIDE] + piece
                unit_bundle[u] = b
                u += 1
    # Boxes may read and write a little beyond the last position.
    return position, bundle, lane_parent, real, n_positions + 16, unit_position, unit_bundle
