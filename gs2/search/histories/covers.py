"""Covers: the histories at which a search starts, such that the opponent cannot reach outside them.

A certificate compares what the opponent can get below some histories, before a change of the player's
strategy and after it, and takes everything else for fixed.

Lemma. Let a set of histories, none below another, be divided into groups, and let the player's strategy
change at infosets all of whose histories lie at or below them. Suppose that *every opponent infoset with a
history at or below one of a group has all its histories at or below that same group*. Then what the opponent
does below a group affects nothing else, its counterfactual best-response value of the whole game is a
non-decreasing function of the groups' values, and it does not rise if none of these rises.
Proof: by perfect recall each infoset below a group has its own predecessor there or none; so the infosets
below a group form branches of the opponent's treeplex that hang on the sequence before the group, and their
values and those of the terminal histories below enter the value of that sequence as one sum.

Where the opponent notices every move of the player, its infosets at the player's decisions are such groups.
Where it may not (somebody has moved or not, and the opponent acts at both kinds of history without knowing),
an infoset of the opponent can reach from below a group to outside of it: the condition fails, and a
certificate that forgets it certifies a loss. Then the cover is extended: histories of such infosets that lie
elsewhere become roots as well, and groups that share one are merged, until the condition holds. At worst the
cover is the whole game, so a search stays possible everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cfr.tree import FlatTree
from cfr.tree.flat import Nodes
from games.ragged import Ragged
from games.support.kernel import kernel


@dataclass(frozen=True, eq=False)
class Cover:
    """Roots of a search, group by group; n roots, none below another.

    nodes: [n] int32, nodes of the tree. group: [n] int32, rising names of the groups, with holes.
    own_infoset: [n] int32, the searching player's infoset at each root; where it does not act there, the
        infoset searched if that lies below the root, else -1.
    in_set: [n] bool, whether the knowledge set asked for has a history at or below the root.
    """

    nodes: NDArray[np.int32]
    group: NDArray[np.int32]
    own_infoset: NDArray[np.int32]
    in_set: NDArray[np.bool_]


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


class Extension:
    """Extends the covers of one player's searches where the opponent need not notice its turns."""

    def __init__(self, tree: FlatTree, player: int) -> None:
        """Take a tree and the searching player."""
        self._tree, self._player = tree, player

    @cached_property
    def _members(self) -> Ragged:
        """The nodes of each infoset of the tree."""
        deciding = np.flatnonzero(self._tree.infoset >= 0)
        order = deciding[np.argsort(self._tree.infoset[deciding], kind="stable")]
        counts = np.bincount(self._tree.infoset[deciding], minlength=self._tree.n_infosets)
        return Ragged.from_counts(counts, order.astype(np.int32))

    @cached_property
    def _marks(self) -> tuple[NDArray[np.int8], NDArray[np.int32], NDArray[np.int8]]:
        """Room that `_extended` leaves as it came."""
        n = self._tree.n_nodes
        return np.zeros(n, np.int8), np.full(n, -1, np.int32), np.zeros(self._tree.n_infosets, np.int8)

    def extended(
        self,
        infoset: int,
        asked: NDArray[np.int32],
        start: NDArray[np.int32],
        group: NDArray[np.int32],
        *,
        whole: bool,
    ) -> tuple[Cover, NDArray[np.int32]]:
        """Return a cover that reaches nowhere else, and the root above each history asked for, [k] int32.

        infoset: the one searched. asked: [k], nodes of its knowledge set. start: [m], these and all others of
        the opponent infosets that they touch; group: [m], which those are. whole: as of `CoverMaker.make`.
        """
        tree, members = self._tree, (self._members.offsets, self._members.values)
        shape = tree.nodes, tree.n_children, *members
        roots, component, root_of_asked = _extended(
            *shape, start, group, self._player, whole, asked, *self._marks
        )
        own = np.where(tree.player[roots] == self._player, tree.infoset[roots], -1)
        searched = tree.infoset[asked] == infoset
        inside = root_of_asked[searched]
        own[inside[roots[inside] != asked[searched]]] = infoset
        in_set = np.zeros(len(roots), bool)
        in_set[root_of_asked] = True
        order = np.argsort(component, kind="stable")
        cover = Cover(roots[order], component[order], own[order].astype(np.int32), in_set[order])
        return cover, roots[root_of_asked]


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
def _extended(
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
