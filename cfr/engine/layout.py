"""How a sequence form lies in memory, so that CFR runs over short dense vectors and skips what is unreached.

Nothing here knows any game. The sequences of a side lie in bundles, read off the sparse payoff matrix:
infosets that hang below the same action of one bundle, have equally many actions and share payoff columns
(private cards under the same public play) form a bundle. Action by action, its members stand side by side,
as lanes. An infoset on its own is a bundle whose actions stand side by side. Bundles are in breadth-first
order, those below one action of a bundle (its branch) next to each other. Bundle 0 is the empty sequence.
A tile is a row of a bundle, cut into pieces of at most 16 positions.

The payoffs lie in small dense boxes: for each pair of tiles that meet, the bounding box of their payoffs is
stored densely, equal boxes only once. In Liar's Dice a few dozen small boxes serve all leaves and stay in the
first-level cache.

A tuple of arrays that kernels take is `Any` to a type checker once its entries are addresses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.engine.simd import WIDTHS, address, zeros
from games.support.kernel import kernel

_Ints = NDArray[np.int32]
_Floats = NDArray[np.float64]

LINE = 64
"""Bytes in a cache line."""

Side = tuple[
    tuple[float, ...], _Ints, _Ints, _Ints, _Ints, NDArray[np.uint8], tuple[_Ints, _Ints, _Ints], int, bool
]
"""(lanes, bundle, level, child, parent, real, rows, tile_size, singles) of a `SideLayout`.

lanes: as many zeros as a vector holds, which makes the width part of the type. Addressed, they are the vector
of zeros, and the numbers of bundles and levels come after these, whether there are rows after the rows.
"""
BoxArrays = tuple[_Ints, _Ints, _Ints, int, _Floats]
"""(start, box, shape, columns, pool) of `Boxes`."""
Work = tuple[_Floats, _Floats, _Floats, NDArray[np.uint8], _Ints, _Ints]
"""Scratch of one side: (plan, reach, value, marked, queue, tiles); the marks fill whole lines of 64."""
State = tuple[_Floats, _Floats, _Floats, _Floats, _Ints]
"""What CFR keeps of one side: (regret, prediction, policy, strategy_sum, stamp)."""
Ways = tuple[float, ...]
"""Which ways through a layout sweeps are compiled with, by the tuple's length: `ANY_SHAPE`, `EVERY_SHAPE`."""
ANY_SHAPE: Ways = ()
"""One way, for bundles and boxes of whatever shape: compiled in a third of the time."""
EVERY_SHAPE: Ways = (0.0,)
"""Ways of their own for the common shapes as well. The results are the same, to the bit."""


@kernel
def side_addresses(side: Side) -> Any:
    lanes, bundle, level, child, parent, real, rows, tile_size, singles = side
    bundles = address(bundle), len(bundle), address(level), len(level) - 1
    lent = *address(rows), len(rows[0]) > 0
    return zeros(lanes), *bundles, address(child), address(parent), address(real), lent, tile_size, singles


def aligned_zeros(n: int) -> NDArray[np.float64]:
    """Return n zeros that begin at a cache line, so that no vector of a row lies across two."""
    room = np.zeros(n + LINE // 8)
    skipped = -room.ctypes.data % LINE // 8
    return room[skipped : skipped + n]


BASE, ROWS, WIDE, MEMBERS, ACTIONS, LANE0, TILE0, BRANCH0, BEFORE, ABOVE = range(10)
"""Columns of `SideLayout.bundle`."""
FIELDS = 10

Plex = tuple[NDArray[np.int32], NDArray[np.int32]]
"""(start, parent) of a treeplex."""
Groups = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]
"""Which infosets form bundles: (parent bundle of each; members, one bundle after the other; where those of
each bundle start; where the bundles behind each branch start)."""


@dataclass(frozen=True, eq=False)
class SideLayout:
    """Where the sequences of one side lie: P positions, B bundles, L lanes, U tiles, D branches.

    position: [S] int32, position of each sequence; the empty sequence is at 0.
    bundle: [B, 10] int32. BASE: first position; ROWS, WIDE: its shape in positions, WIDE a multiple of the
        width; MEMBERS: infosets in it; ACTIONS: their actions; LANE0, TILE0, BRANCH0: its first lane, tile
        and branch; BEFORE: the position of the sequence before lane 0, if
        those before the other lanes follow it (with one member it is the same for all), otherwise -1;
        ABOVE: the parent bundle.
        With one member ROWS is 1 and the lanes are the actions, otherwise ROWS is ACTIONS and the lanes
        are the members; a lane may be left empty so that those below a row stand as in the row. Each action
        is a branch.
    level: [D + 1] int32; the bundles below d others are `level[d]:level[d + 1]`, bundle 0 is in none.
    child: [D + 1] int32; the bundles behind branch d are `child[d]:child[d + 1]`.
    parent: [L] int32, position of the sequence before each lane; at padding 1, which is never reached.
    real: [L / width] uint8, of each vector of lanes the bits of those that are no padding.
    rows: if every bundle but those behind branch 0 is one vector wide and has a BEFORE and several
        members, so that rows, tiles and branches are the same: ([D + 1] int32, the rows behind branch d are
        `[d]:[d + 1]`; [U] int32, position before the first lane of each row; [B, 4] int32, BASE, ROWS,
        BEFORE and ABOVE of each bundle). Otherwise all are empty.
    n_positions: P, padding included.
    tile_position: [U + 1] int32, first position of each tile. tile_bundle: [U] int32, its bundle.
    tile_size: positions of the largest tile, a multiple of the width.
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
    tile_position: NDArray[np.int32]
    tile_bundle: NDArray[np.int32]
    tile_size: int
    width: int

    @property
    def arrays(self) -> Side:
        """Return what the kernels take."""
        lanes = (0.0,) * self.width
        links = self.level, self.child, self.parent
        return lanes, self.bundle, *links, self.real, self.rows, self.tile_size, self.singles

    @property
    def singles(self) -> bool:
        """Whether each bundle is one infoset with a choice, of at most two vectors."""
        found = self.bundle[1:]
        alone = (found[:, MEMBERS] == 1) & (found[:, ACTIONS] > 1)
        return bool((alone & (found[:, WIDE] <= 2 * self.width)).all())


def positions_needed(plex: Plex, groups: Groups, width: int) -> int:
    """Return how many positions the bundles take with vectors of `width`, the empty sequence's included."""
    members, member_start = groups[1:3]
    m = np.diff(member_start)[1:]
    actions = np.diff(plex[0])[members[member_start[1:-1]]]
    lanes, rows = np.where(m > 1, m, actions), np.where(m > 1, actions, 1)
    return width + int(((lanes + width - 1) // width * width * rows).sum())


def lay_out_side(plex: Plex, groups: Groups, width: int, tile_size: int) -> SideLayout:
    """Return the layout of one side."""
    above, members, member_start, child = groups
    fields = _lay_out(*plex, above, members, member_start, child, width, tile_size)
    position, bundle, parent, real, n_positions, tile_position, tile_bundle = fields
    tiles = tile_position, tile_bundle, tile_size
    level = [1]
    while level[-1] < len(bundle):
        level.append(int(np.searchsorted(above, level[-1])))
    rows = _rows(bundle, child, tile_bundle, width)
    links = np.array(level, np.int32), child, parent, real, rows
    return SideLayout(position, bundle, *links, n_positions, *tiles, width)


def _rows(
    bundle: NDArray[np.int32], child: NDArray[np.int32], tile_bundle: NDArray[np.int32], width: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return `SideLayout.rows`."""
    below = bundle[child[1] :]
    if np.any(bundle[1:, WIDE] != width) or np.any(bundle[1:, MEMBERS] == 1) or np.any(below[:, BEFORE] < 0):
        return np.empty(0, np.int32), np.empty(0, np.int32), np.empty((0, 4), np.int32)
    first_row = np.append(bundle[:, TILE0], len(tile_bundle))
    fields = np.ascontiguousarray(bundle[:, [BASE, ROWS, BEFORE, ABOVE]])
    return first_row[child].astype(np.int32), bundle[tile_bundle, BEFORE], fields


@kernel(lazy=True)
def _group(
    start: NDArray[np.int32],
    parent: NDArray[np.int32],
    entry_start: NDArray[np.int64],
    entry_column: NDArray[np.int32],
    n_columns: int,
    merge: bool,
) -> Groups:
    """Return the bundles of one side.

    entry_start, entry_column: of the payoffs in its rows. n_columns: sequences of the other side. merge: form
    bundles of more than one infoset.
    """
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
    n_branches = 0
    b = 0
    while b < n_bundles:
        first = members[member_start[b]] if b > 0 else -1
        n_actions = start[first + 1] - start[first] if b > 0 else 1
        for a in range(n_actions):
            child_bundle[n_branches] = n_bundles
            n_branches += 1
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
    child_bundle[n_branches] = n_bundles
    return above[:n_bundles], members, member_start[: n_bundles + 1], child_bundle[: n_branches + 1]


@kernel(lazy=True)
def _lay_out(
    start: NDArray[np.int32],
    parent: NDArray[np.int32],
    above: NDArray[np.int32],
    members: NDArray[np.int32],
    member_start: NDArray[np.int32],
    child: NDArray[np.int32],
    width: int,
    tile_size: int,
) -> tuple[
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.uint8],
    int,
    NDArray[np.int32],
    NDArray[np.int32],
]:
    """Return (position, bundle, parent, real, n_positions, tile_position, tile_bundle) of a SideLayout."""
    n_bundles = len(member_start) - 1
    bundle = np.zeros((n_bundles, FIELDS), np.int32)
    bundle[0, ACTIONS] = 1
    base = width
    lanes = 0
    tiles = 1
    branches = 1
    for b in range(1, n_bundles):
        m = member_start[b + 1] - member_start[b]
        first = members[member_start[b]]
        actions = start[first + 1] - start[first]
        wide = ((m if m > 1 else actions) + width - 1) // width * width
        rows = actions if m > 1 else 1
        row = bundle[b]
        row[BASE], row[ROWS], row[WIDE], row[MEMBERS], row[ACTIONS] = base, rows, wide, m, actions
        row[LANE0], row[TILE0], row[ABOVE] = lanes, tiles, above[b]
        row[BRANCH0] = branches
        base += rows * wide
        lanes += wide
        tiles += rows * ((wide + tile_size - 1) // tile_size)
        branches += actions

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

    tile_position = np.zeros(tiles + 1, np.int32)
    tile_bundle = np.zeros(tiles, np.int32)
    n_positions = bundle[-1, BASE] + bundle[-1, ROWS] * bundle[-1, WIDE] if n_bundles > 1 else width
    tile_position[tiles] = n_positions
    u = 1
    for b in range(1, n_bundles):
        row = bundle[b]
        for a in range(row[ROWS]):
            for piece in range(0, row[WIDE], tile_size):
                tile_position[u] = row[BASE] + a * row[WIDE] + piece
                tile_bundle[u] = b
                u += 1
    # Boxes may read and write a little beyond the last position.
    return position, bundle, lane_parent, real, n_positions + 16, tile_position, tile_bundle


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
    """The payoffs to one side, as seen from the tiles of the other.

    start: [U + 1] int32; the boxes of the other side's tile u are `start[u]:start[u + 1]`.
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


@kernel(lazy=True)
def counted_order(key: NDArray[np.signedinteger], n_keys: int) -> NDArray[np.int32]:
    """Return the order of keys below `n_keys`, equal ones by place: a counting sort."""
    end = np.zeros(n_keys + 1, np.int64)
    for i in range(len(key)):
        end[key[i] + 1] += 1
    for k in range(n_keys):
        end[k + 1] += end[k]
    order = np.empty(len(key), np.int32)
    for i in range(len(key)):
        at = end[key[i]]
        order[at] = i
        end[key[i]] = at + 1
    return order


def sorted_pairs(
    row: NDArray[np.signedinteger], column: NDArray[np.signedinteger], shape: tuple[int, int]
) -> NDArray[np.int32]:
    """Return the order of pairs by row, then column, then place. shape: rows and columns that there are."""
    by_column = counted_order(column, shape[1])
    return by_column[counted_order(row[by_column], shape[0])]


def make_boxes(rows: Entries, sides: tuple[SideLayout, SideLayout]) -> tuple[tuple[Boxes, Boxes], int, int]:
    """Return the payoffs to each side as boxes, the cells of all boxes, and how many distinct boxes.

    rows: (row_start, column, payoff to side 0) of the payoff matrix.
    """
    row_start, column, payoff = rows
    width = sides[0].width
    n_tiles = len(sides[0].tile_bundle), len(sides[1].tile_bundle)
    row = np.repeat(np.arange(len(row_start) - 1), np.diff(row_start))
    place = sides[0].position[row], sides[1].position[column]
    tile = [
        np.repeat(np.arange(n), np.diff(side.tile_position))[p]
        for side, n, p in zip(sides, n_tiles, place, strict=True)
    ]
    order = sorted_pairs(tile[0], tile[1], n_tiles)
    place = place[0][order], place[1][order]
    first = np.flatnonzero(np.diff((tile[0] * n_tiles[1] + tile[1])[order], prepend=-1))
    low, high = (
        [end.reduceat(p, first) if len(first) else p for p in place] for end in (np.minimum, np.maximum)
    )
    size = [last + 1 - begin for begin, last in zip(low, high, strict=True)]
    # Tiles, first positions and sizes of both sides.
    box = np.stack([*(of[order[first]] for of in tile), *low, *size], axis=1).astype(np.int64)
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
        fields[:, 3] = sides[own].tile_bundle[box[:, own]]
        shape = np.empty((len(box), 2), np.int32)
        shape[:, 0] = fours[box[:, 4 + own]]
        shape[:, 1] = columns or box[:, 4 + other]
        start = np.zeros(n_tiles[other] + 1, np.int32)
        np.cumsum(np.bincount(box[:, other], minlength=n_tiles[other]), out=start[1:])
        if other == 1:
            by_other = counted_order(box[:, other], n_tiles[other])
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


TILE_SIZE = 16
FEW_POSITIONS = 8192
"""Positions, padding included, up to which vectors are as wide as they can be."""
MAX_FILL = 4.0
"""Cells that boxes may hold per payoff before bundles, then large tiles, are given up."""


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
    for merge, tile_size in ((True, TILE_SIZE), (False, TILE_SIZE), (False, 0)):
        groups = (
            _group(*plexes[0], *rows[:2], n_sequences[1], merge),
            _group(*plexes[1], *columns[:2], n_sequences[0], merge),
        )
        width = _width(plexes, groups)
        sides = (
            lay_out_side(plexes[0], groups[0], width, max(tile_size, width)),
            lay_out_side(plexes[1], groups[1], width, max(tile_size, width)),
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
