"""Covers where turns go unnoticed: histories added until the opponent cannot reach outside of them.

An infoset of the opponent may lie below a history of the search and elsewhere. Histories of it that lie
elsewhere become roots, and groups that share one are merged, until none reaches outside
(`gs2.search.context` says why).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cfr.tree import FlatTree
from cfr.tree.flat import Nodes
from games.support.kernel import kernel


def turns_are_noticed(
    tree: FlatTree,
    opponent: int,
    nodes: NDArray[np.int32],
    group: NDArray[np.int32],
    level: NDArray[np.int32],
) -> bool:
    """Return whether no cover of a player's searches ever needs extending.

    That is so where the opponent always knows how often the player has acted, each of its infosets having the
    same sequence of groups above all of it, and histories that anyone confuses are equally long.
    nodes: [n], where the player acts. group: [P, n], each seat's infosets there. level: [n], their depths.
    """
    node_group = np.full(tree.n_nodes, -1, np.int64)
    node_group[nodes] = group[opponent]
    # A group names the whole sequence of groups up to it if all its histories have the same one before.
    label = np.zeros(tree.n_nodes, np.int64)
    for start, end in pairwise(tree.level_offsets[1:]):
        above = tree.parent[start:end]
        label[start:end] = np.where(node_group[above] >= 0, node_group[above] + 1, label[above])
    theirs = np.flatnonzero(tree.player == opponent)
    noticed = _alike(group[opponent], label[nodes]) and _alike(tree.infoset[theirs], label[theirs])
    return noticed and all(_alike(names, level) for names in group)


def _alike(names: NDArray[np.integer], numbers: NDArray[np.integer]) -> bool:
    """Return whether numbers are equal wherever the names are, both [n]."""
    some = np.zeros(int(names.max(initial=-1)) + 1, np.int64)
    some[names] = numbers
    return np.array_equal(some[names], numbers)


@kernel
def _find(above: NDArray[np.int64], i: int) -> int:
    while above[i] != i:
        above[i] = above[above[i]]
        i = above[i]
    return i


@kernel
def _join(above: NDArray[np.int64], i: int, j: int) -> None:
    i, j = _find(above, i), _find(above, j)
    if i < j:
        above[j] = i
    else:
        above[i] = j


@kernel
def extended(
    nodes: Nodes,
    n_children: NDArray[np.int32],
    member_start: NDArray[np.int64],
    members: NDArray[np.int32],
    start_nodes: NDArray[np.int32],
    start_group: NDArray[np.int32],
    seat: int,
    whole: bool,
    asked: NDArray[np.int32],
    covered: NDArray[np.int8],
    root_of: NDArray[np.int32],
    seen: NDArray[np.int8],
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return the roots of a cover that reaches nowhere else, [n] rising, the group of each, and `asked`'s.

    members: nodes of each infoset, from `member_start` on. start_nodes, start_group: the histories of a
    search, and the opponent's infoset at each. seat, whole: who searches, and as of `CoverMaker.make`.
    `covered`, `root_of` and `seen` (by infoset) are left as they came: all 0, all -1, all 0.
    """
    parent, first_child, player, infoset, _ = nodes
    stack = [np.int32(0)]
    stack.pop()
    tops = [np.int32(0)]
    tops.pop()
    visited = [np.int32(0)]
    visited.pop()
    touched = [np.int32(0)]
    touched.pop()
    for node in start_nodes:
        if not covered[node]:
            covered[node] = 1
            stack.append(node)
            tops.append(node)
    while len(stack):
        node = stack.pop()
        visited.append(node)
        for child in range(first_child[node], first_child[node] + n_children[node]):
            if not covered[child]:
                covered[child] = 1
                stack.append(np.int32(child))
        who = player[node]
        if who < 0 or (who == seat and not whole):
            continue
        name = infoset[node]
        if seen[name]:
            continue
        seen[name] = 1
        touched.append(name)
        for at in range(member_start[name], member_start[name + 1]):
            other = members[at]
            if not covered[other]:
                covered[other] = 1
                stack.append(other)
                tops.append(other)
    # What is covered is covered to the end of the game: a root is what has nothing covered above it.
    n = 0
    for node in tops:
        if parent[node] < 0 or not covered[parent[node]]:
            n += 1
    roots = np.empty(n, np.int32)
    n = 0
    for node in tops:
        if parent[node] < 0 or not covered[parent[node]]:
            roots[n] = node
            n += 1
    roots.sort()
    for i in range(n):
        stack.append(roots[i])
        root_of[roots[i]] = i
        while len(stack):
            node = stack.pop()
            for child in range(first_child[node], first_child[node] + n_children[node]):
                root_of[child] = i
                stack.append(np.int32(child))
    above = np.arange(n)
    first_of_group = np.full(start_group.max() + 1, -1)
    for at in range(len(start_nodes)):
        # A history that came to lie below another root follows that one.
        root = root_of[start_nodes[at]]
        if roots[root] != start_nodes[at]:
            continue
        if first_of_group[start_group[at]] >= 0:
            _join(above, root, first_of_group[start_group[at]])
        else:
            first_of_group[start_group[at]] = root
    for name in touched:
        seen[name] = 0
        if player[members[member_start[name]]] == seat:
            continue
        one = root_of[members[member_start[name]]]
        for at in range(member_start[name] + 1, member_start[name + 1]):
            _join(above, one, root_of[members[at]])
    component = np.empty(n, np.int32)
    for i in range(n):
        component[i] = _find(above, i)
    of_asked = np.empty(len(asked), np.int32)
    for i in range(len(asked)):
        of_asked[i] = root_of[asked[i]]
    for node in visited:
        covered[node] = 0
        root_of[node] = -1
    return roots, component, of_asked
