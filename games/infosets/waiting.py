"""What a player knows while it waits, derived from what it knows where it acts.

An extensive-form game only says what a player knows where it acts. A search asks more: which histories can
the opponent not tell apart where *we* act? Perfect recall bounds the answer from both sides. A player
remembers, so histories after different infosets or actions of its own are told apart. And what it knows later
it can only have learned on the way, so histories that lead to one later infoset, at the same moment before
it, are not.

Between these bounds we take the finest: two histories are one if later infosets of the player force them to
be, and are told apart otherwise. No infoset of the player then reaches across two of its knowledge sets,
which is what a safe subgame needs, and no set is larger than that asks for. Where the player never acts
again, nothing forces anything, and the finest choice would show it every hidden card; there it knows what it
knew when it last could still hope to act, and no more.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def own_sequences(
    parent: NDArray[np.int64],
    acting: NDArray[np.int8],
    infoset: NDArray[np.int64],
    action: NDArray[np.int64],
    seat: int,
) -> NDArray[np.int64]:
    """Return the last infoset and action of `seat` above each node, [N] int64 numbers from 1; 0 for none.

    parent: [N] int64, -1 at the root; parents come before their children. acting: [N] int8, who acts.
    infoset: [N] int64, numbers where `seat` acts. action: [N] int64, what led to the node.
    """
    own = np.zeros(len(parent), bool)
    own[1:] = acting[parent[1:]] == seat
    pairs = np.stack([infoset[parent[own]], action[own]], axis=1)
    number = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1) + 1 if own.any() else pairs[:, 0]
    sequence = np.zeros(len(parent), np.int64)
    sequence[own] = number
    for nodes in _levels(parent)[1:]:
        passed = nodes[~own[nodes]]
        sequence[passed] = sequence[parent[passed]]
    return sequence


def waiting_knowledge(
    parent: NDArray[np.int64],
    acting: NDArray[np.int8],
    infoset: NDArray[np.int64],
    sequence: NDArray[np.int64],
    seat: int,
) -> NDArray[np.int64]:
    """Return what `seat` can tell apart where it does not act, [N] int64 numbers from 0; -1 where it acts.

    Equal numbers for two histories mean that the player cannot tell them apart; see the head of this file.
    parent, acting, infoset: as of `own_sequences`, which gives `sequence`.

    On the way from one decision of the player to the next, every history of an infoset passes through the
    same sets in the same order; how long it stays in each may differ, since a player need not notice that
    another one moved. Where histories of one infoset lie at different depths there may be several finest
    choices; the one taken lines them up from the infoset backwards.
    """
    n = len(parent)
    levels = _levels(parent)
    waits = acting != seat
    below = np.zeros(n, bool)  # whether the player acts again without having acted in between
    for nodes in levels[:0:-1]:
        below[parent[nodes[~waits[nodes] | below[nodes]]]] = True
    live = waits & below
    starts = np.ones(n, bool)  # the first history after an action of the player's own, or the root
    starts[1:] = ~waits[parent[1:]]
    label = np.full(n, -1, np.int64)
    label[live] = _merged(parent, infoset, live, starts, ~waits)

    # Where the player acts no more it learns no more: one set for each set it was in when it last might have.
    known = np.where(live, label, -1)
    for nodes in levels[1:]:
        late = nodes[waits[nodes] & ~live[nodes] & ~starts[nodes]]
        known[late] = known[parent[late]]
    late = waits & ~live
    ended = np.stack([sequence[late], known[late]], axis=1)
    if late.any():
        label[late] = label.max(initial=-1) + 1 + np.unique(ended, axis=0, return_inverse=True)[1].reshape(-1)
    return label


def told_on_the_way(
    parent: NDArray[np.int64],
    acting: NDArray[np.int8],
    infoset: NDArray[np.int64],
    sequence: NDArray[np.int64],
    said: NDArray[np.int64],
    seat: int,
) -> tuple[NDArray[np.int64], tuple[int, int] | None]:
    """Return what `seat` knows by a game's own words where it waits, and two histories that refute them.

    said: [N] int64, number of what the game tells the player at each node; ignored where it acts.
    The first result, [N] int64 numbers from 0, -1 where the player acts, stands for its own sequence and all
    that it was told since, in order and without repetitions. The second is None if every infoset of the
    player is reached along one such line; else it is two histories of one infoset, before which the player
    was told different things.
    """
    waits = acting != seat
    head = np.full(len(parent), -1, np.int64)  # where the player was first told what it is told here
    length = np.zeros(len(parent), np.int64)
    for nodes in _levels(parent):
        now = nodes[waits[nodes]]
        above = parent[now]
        first = (above < 0) | ~waits[above]
        new = first | (said[above] != said[now])
        head[now] = np.where(new, now, head[above])
        length[now] = np.where(first, 0, length[above]) + new
    heads = np.flatnonzero(waits & (head == np.arange(len(parent))))
    told = np.full(len(parent), -1, np.int64)
    total = 0
    for step in range(1, int(length.max(initial=0)) + 1):
        now = heads[length[heads] == step]
        before = sequence[now] if step == 1 else told[head[parent[now]]]
        number = np.unique(np.stack([before, said[now]], axis=1), axis=0, return_inverse=True)[1].reshape(-1)
        told[now] = total + number
        total += int(number.max()) + 1
    told[waits] = told[head[waits]]

    acts = np.flatnonzero(~waits)
    above = parent[acts]
    # A history with nothing before it agrees with all that were told one thing only: the player was not
    # asked to wait there, which it need not notice.
    directly = (above < 0) | ~waits[above]
    order = np.lexsort((directly, infoset[acts]))
    acts, above, directly = acts[order], above[order], directly[order]
    begins = np.flatnonzero(np.diff(infoset[acts], prepend=-1))
    first = np.repeat(begins, np.diff(np.append(begins, len(acts))))
    wrong = np.where(
        directly, ~directly[first] & (length[above[first]] > 1), told[above] != told[above[first]]
    )
    if wrong.any():
        at = int(np.argmax(wrong))
        return told, (int(acts[first[at]]), int(acts[at]))
    return told, None


def _levels(parent: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the nodes of each depth, shallow ones first."""
    jump, depth = parent.copy(), (parent >= 0).astype(np.int64)
    while (jump >= 0).any():  # each round doubles how far up a node has looked
        far = np.flatnonzero(jump >= 0)
        depth[far], jump[far] = depth[far] + depth[jump[far]], jump[jump[far]]
    order = np.argsort(depth, kind="stable")
    return np.split(order, np.cumsum(np.bincount(depth))[:-1])


def _merged(
    parent: NDArray[np.int64],
    infoset: NDArray[np.int64],
    live: NDArray[np.bool_],
    starts: NDArray[np.bool_],
    acts: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Return the finest sets of live nodes that every infoset is reached through in one order, [live]."""
    nodes = np.flatnonzero(live)
    position = np.full(len(parent), -1, np.int64)
    position[nodes] = np.arange(len(nodes))
    if len(nodes) == 0:
        return np.zeros(0, np.int64)
    inner = nodes[~starts[nodes]]  # their parents are live too
    child, above = position[inner], position[parent[inner]]
    first = starts[nodes]

    # The nodes just before the histories of one infoset are one set.
    ends = np.flatnonzero(acts & ~starts)
    by_infoset, last = infoset[ends], position[parent[ends]]
    representative = np.full(int(infoset.max(initial=-1)) + 1, -1, np.int64)
    representative[by_infoset] = last
    label = _joined(np.arange(len(nodes)), last, representative[by_infoset])
    # Where an infoset is also reached with nothing before it, all before its other histories is one set.
    at_once = np.unique(infoset[acts & starts])
    begins = np.zeros(len(nodes), bool)
    reached = representative[at_once]
    begins[reached[reached >= 0]] = True
    begins |= first

    while True:
        lower, upper = label[child], label[above]
        moved = lower != upper
        lower, upper = lower[moved], upper[moved]
        # A set that is left and entered again holds all that lies between.
        around = _components(lower, upper, len(nodes), strong=True)[label]
        if len(np.unique(around)) < len(np.unique(label)):
            label = _canonical(around)
            continue
        # The sets before one set are one; where it may come first there is none before it.
        some_upper = np.full(len(nodes), -1, np.int64)
        some_upper[lower] = upper
        may_begin = np.zeros(len(nodes), bool)
        may_begin[label[begins]] = True
        other = np.where(may_begin[lower], lower, some_upper[lower])
        wider = _joined(label, upper, other)
        if np.array_equal(wider, label):
            return label
        label = wider


def _joined(label: NDArray[np.int64], one: NDArray[np.int64], two: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the labels after the sets `one[i]` and `two[i]` were made one, for each i."""
    return _canonical(_components(one, two, len(label))[label])


def _canonical(label: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the same sets, each named by its first member."""
    first, number = np.unique(label, return_index=True, return_inverse=True)[1:]
    return first[number.reshape(-1)]


def _components(
    one: NDArray[np.int64], two: NDArray[np.int64], n: int, *, strong: bool = False
) -> NDArray[np.int64]:
    """Return the number of the (strongly) connected component of each of n vertices, [n] int64."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    edges = coo_array((np.ones(len(one)), (one, two)), shape=(n, n))
    _, label = connected_components(edges, directed=strong, connection="strong")
    return np.asarray(label, np.int64)
