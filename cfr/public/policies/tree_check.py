"""Whether the arrays of a public tree are one: kernels that sweep it trust every number in them.

A tree that was grown is sound. One from a file is what the file says, and is checked before its first sweep.
"""

from __future__ import annotations

import numpy as np

from cfr.public.tree import PublicTree, depth_of
from games.game import CHANCE

__all__ = ["PublicTreeError", "require_tree"]

PIECE = 1 << 20
"""Nodes that are looked at at once."""


class PublicTreeError(ValueError):
    """Arrays that are no public tree: the rule that they break."""


def require_tree(tree: PublicTree) -> None:
    """Raise PublicTreeError unless a tree is in preorder with its rows in order, as `PublicTree` says.

    What holds then: every edge leads to a later node of its own subtree or to a kind of terminal that has
    payoffs, every row lies in its player's, and no path is longer than `depth`.
    """
    n, edges, rows = len(tree), 0, [0, 0]
    _require(n > 0 and tree.first_edge[0] == 0, "first_edge must begin with 0")
    _require(tree.size[0] == n, "the first node's subtree must be the whole tree")
    for start in range(0, n, PIECE):
        edges = _require_nodes(tree, start, min(start + PIECE, n), edges, rows)
    _require(edges == len(tree.child), "first_edge must end with the number of edges")
    _require(tuple(rows) == tree.n_rows, f"rows must be {tree.n_rows}; there are {tuple(rows)}")
    depth = depth_of(tree.size)
    _require(tree.depth == depth, f"depth must be that of the longest path, {depth}; it is {tree.depth}")


def _require_nodes(tree: PublicTree, start: int, end: int, edges: int, rows: list[int]) -> int:
    """Check the nodes from `start` to `end`, and return where the edges of the next begin.

    edges: where those of the first begin. rows: of each player, where its next begins; brought forward.
    """
    nodes, first = np.arange(start, end), np.asarray(tree.first_edge[start : end + 1])
    rising = first[0] == edges and (first[1:] > first[:-1]).all() and first[-1] <= len(tree.child)
    _require(bool(rising), "first_edge must rise from node to node")
    counts, size = np.diff(first), tree.size[start:end].astype(np.int64)
    _require(bool(((size >= 1) & (nodes + size <= len(tree))).all()), "size must be of a subtree")
    child = tree.child[edges : int(first[-1])]
    within = child.min() >= -len(tree.payoffs) and child.max() < len(tree)
    _require(bool(within), "child must be a node or a kind of terminal")
    # Children lie one behind the other, the first right after its parent, the last to the subtree's end.
    inner = np.flatnonzero(child >= 0)
    to, parent = child[inner].astype(np.int64), np.repeat(nodes, counts)[inner]
    ends, last = to + tree.size[to], np.diff(parent, append=end) > 0
    due = parent + 1
    due[1:][~last[:-1]] = ends[:-1][~last[:-1]]
    closed = nodes + 1
    closed[parent[last] - start] = ends[last]
    _require(np.array_equal(to, due) and np.array_equal(closed, nodes + size), "nodes must lie in preorder")
    player, row = tree.player[start:end], tree.row[start:end]
    _require(bool(player.min() >= CHANCE and player.max() <= 1), "player must be 0, 1 or chance")
    for seat in (0, 1):
        own = player == seat
        taken = np.cumsum(counts[own])
        _require(np.array_equal(row[own], rows[seat] + taken - counts[own]), "rows must follow the nodes")
        rows[seat] += int(taken[-1]) if len(taken) else 0
    return int(first[-1])


def _require(sound: bool, rule: str) -> None:
    if not sound:
        raise PublicTreeError(rule)
