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
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cfr.tree import FlatTree
from games.game import GameError
from gs2.search.histories.extension import Extension
from gs2.search.histories.knowledge import KnowledgeGraph

__all__ = ["Cover", "CoverMaker"]


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


class CoverMaker:
    """Makes covers for one searching player; says once whether they ever need extending."""

    def __init__(
        self,
        tree: FlatTree,
        graph: KnowledgeGraph,
        own_slot: NDArray[np.int64],
        opponent_slot: NDArray[np.int64],
    ) -> None:
        """Take a tree, who can tell its histories apart, and each seat's last own slot at each node.

        own_slot, opponent_slot: [N] int64, of the searching player and of its opponent; -1 where they have
            not acted yet.
        Raises GameError if the opponent, while the player acts, confuses histories at which its own past
        differs: an infoset key of imperfect recall.
        """
        self._tree = tree
        self._graph = graph
        self._opponent = 1 - graph.player
        group = graph.group[self._opponent]
        last = opponent_slot[graph.nodes]
        first = np.zeros(len(graph.members[self._opponent]), np.int64)
        first[group] = np.arange(len(group))
        wrong = np.flatnonzero(last != last[first[group]])
        if len(wrong):
            a, b = graph.nodes[wrong[0]], graph.nodes[first[group[wrong[0]]]]
            raise GameError(
                f"infoset_key: what player {self._opponent} knows while player {graph.player} acts must tell "
                f"its own past apart; nodes {a} and {b} of the tree have one key and different actions of "
                "its own before them; run games.check_game on the game"
            )
        self.turns_are_noticed = self._notices() and self._level()
        """Whether the opponent always knows how often the player has acted, and histories that anyone
        confuses are equally long: no cover needs extending then, and a search at one depth never changes the
        player's reach of another search of the same depth."""
        self._extension = Extension(tree, graph, own_slot)

    def _notices(self) -> bool:
        """Return whether each opponent infoset has one and the same sequence of groups above all of it."""
        tree, graph = self._tree, self._graph
        node_group = np.full(tree.n_nodes, -1, np.int64)
        node_group[graph.nodes] = graph.group[self._opponent]
        # A group names the whole sequence of groups up to it if all its histories have the same one before.
        label = np.zeros(tree.n_nodes, np.int64)
        for start, end in pairwise(tree.level_offsets[1:]):
            above = tree.parent[start:end]
            label[start:end] = np.where(node_group[above] >= 0, node_group[above] + 1, label[above])
        theirs = np.flatnonzero(tree.player == self._opponent)
        for nodes, names in ((graph.nodes, node_group[graph.nodes]), (theirs, tree.infoset[theirs])):
            some = np.zeros(int(names.max(initial=-1)) + 1, np.int64)
            some[names] = label[nodes]
            if np.any(some[names] != label[nodes]):
                return False
        return True

    def _level(self) -> bool:
        """Return whether histories that either player confuses, where the searching one acts, are as long."""
        graph = self._graph
        for names in graph.group:
            some = np.zeros(int(names.max(initial=-1)) + 1, np.int64)
            some[names] = graph.level
            if np.any(some[names] != graph.level):
                return False
        return True

    def make(
        self, infoset: int, top: NDArray[np.int64], every: NDArray[np.int64], *, whole: bool = False
    ) -> Cover:
        """Return the cover of some histories of the player's.

        top: [k] int64, positions in the knowledge graph, rising: the knowledge set.
        every: [m] int64, positions of these and of all others in the opponent infosets they touch.
        whole: extend until the player's own infosets below lie inside as well: all of them may change.
            Done anyway where the player decides between a root and a history asked for: a subgame in which
            some histories of an infoset follow that decision and others start below it has no perfect recall.
        """
        tree, graph = self._tree, self._graph
        if self.turns_are_noticed:
            every = every[np.argsort(graph.group[self._opponent, every], kind="stable")]
            nodes = graph.nodes[every]
            own = tree.infoset[nodes]
            group = graph.group[self._opponent, every]
            return Cover(nodes, group, own, np.isin(every, top, assume_unique=True))
        found = None if whole else self._extension.roots(infoset, top, every, False)
        found = self._extension.roots(infoset, top, every, True) if found is None else found
        assert found is not None
        return Cover(*found)
