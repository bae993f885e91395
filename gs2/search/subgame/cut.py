"""Subgames: everything below a few weighted histories, cut out of a full tree.

Cutting copies indices and is fast; it serves games small enough to enumerate. Growing (`forest.grow_subgame`)
asks the game and serves all of them. Both give the same tree: depth limits and frozen decisions (a player's
decisions that follow a fixed policy and so belong to chance) are honoured alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cfr.tree import FlatTree
from cfr.tree.flat import Nodes
from games.game import TERMINAL
from games.ragged import ranges
from games.support.kernel import kernel

NO_LIMIT = 2**30


@dataclass(frozen=True, eq=False)
class Subgame:
    """A forest below r weighted histories, and where its parts come from; N nodes.

    tree: the forest; its roots are the histories, in the given order.
    root_of: [N] int32, index of the root above each node.
    origin: [N] int32, the same history in the full tree; empty if the subgame was grown from the game.
    infoset_origin: [I] int32, infoset of the full tree; -1 if there is none (grown, or a gadget's own).
    slot_origin: [A] int64, slot of the full tree; -1 likewise.
    truncated: [T] int32, rising leaves at the depth limit.
    grafted: [I] bool, infosets that are no decisions of the game but choices of continuations or plans; None
        for none.
    """

    tree: FlatTree
    root_of: NDArray[np.int32]
    origin: NDArray[np.int32]
    infoset_origin: NDArray[np.int32]
    slot_origin: NDArray[np.int64]
    truncated: NDArray[np.int32]
    grafted: NDArray[np.bool_] | None = None

    @property
    def chosen(self) -> NDArray[np.bool_]:
        """Return which infosets are choices of continuations or plans, [I] bool."""
        return np.zeros(self.tree.n_infosets, bool) if self.grafted is None else self.grafted

    def slots_of(self, player: int) -> NDArray[np.int64]:
        """Return the slots of a player's decisions in the game, choices of continuations left out, [s]."""
        return np.flatnonzero((self.tree.slot_player == player) & (self.slot_origin >= 0))


@dataclass(frozen=True, eq=False)
class Roots:
    """The histories that a forest stands on, and what of it belongs to chance; r of them.

    nodes: [r] int32, of the full tree, none below another; one may come more than once. reach: [r] float64,
        their weights.
    policy: [slots] float64 over the full tree, which frozen decisions follow; None where there are none.
    frozen: [r, P] bool, seats whose decisions below that root belong to chance; branches of probability zero
        are left out there.
    plans: [n, slots] float64, other policies; frozen decisions below a root with `plan` [r] int32 at least 0
        follow that one of them instead of `policy`.
    group: [r] int32, where the opponent chooses whether to enter; None if it does not.
    """

    nodes: NDArray[np.int32]
    reach: NDArray[np.float64]
    policy: NDArray[np.float64] | None = None
    frozen: NDArray[np.bool_] | None = None
    plans: NDArray[np.float64] | None = None
    plan: NDArray[np.int32] | None = None
    group: NDArray[np.int32] | None = None


NodeLeaf = Callable[[NDArray[np.int32]], NDArray[np.float64]]
"""What values the nodes of a full tree at a depth limit: [n] to payoffs, [n, P]."""


class TreeCutter:
    """Cuts subgames out of one full tree; holds what can be computed once for all of them."""

    def __init__(self, tree: FlatTree) -> None:
        self.tree = tree
        self.sizes = subtree_sizes(tree)
        self._terminal_row = np.full(tree.n_nodes, -1, np.int32)
        self._terminal_row[tree.terminal] = np.arange(len(tree.terminal))
        # Numbers of infosets within the subgame being cut; -1 marks those without one yet.
        self._local = np.full(tree.n_infosets, -1, np.int32)

    def cut(
        self, roots: Roots, depth: int = NO_LIMIT, *, leaf: NodeLeaf | None = None, play_on: int | None = None
    ) -> Subgame:
        """Return the subgame below some histories.

        depth: player decisions below a root, frozen ones included, before a history is at the limit. There
            `leaf` values it; or the decisions of the seat `play_on` belong to chance from the limit on, by
            the policy of the roots, while the others go on deciding to the end of the game.
        Raises ValueError for a seat that plays on without a policy to follow.
        """
        tree = self.tree
        if play_on is not None and roots.policy is None:
            raise ValueError("cut: frozen decisions need a policy to follow; pass Roots(policy=…)")
        nodes = np.ascontiguousarray(roots.nodes, np.int32)
        plans, plan = np.empty((0, 0)), np.full(len(nodes), -1, np.int32)
        if roots.plans is not None and roots.plan is not None:
            plans, plan = roots.plans, roots.plan
        parts = _cut(
            tree.nodes,
            tree.n_children,
            tree.infoset_offset,
            np.empty(0) if roots.policy is None else roots.policy,
            nodes,
            np.ascontiguousarray(roots.reach, np.float64),
            np.zeros((0, tree.n_players), bool) if roots.frozen is None else roots.frozen,
            depth,
            -1 if play_on is None else play_on,
            plans,
            plan,
            int(self.sizes[nodes].sum()),
            self._local,
        )
        origin, parent, player, infoset, prob, root_of, levels, infosets, truncated = parts
        terminal = np.flatnonzero(player == TERMINAL)
        returns = tree.returns[self._terminal_row[origin[terminal]]]
        if len(truncated) and leaf is not None:
            returns[np.searchsorted(terminal, truncated)] = leaf(origin[truncated])
        first, sizes = tree.infoset_offset[infosets], np.diff(tree.infoset_offset)[infosets]
        cut = FlatTree.of_levels(
            parent,
            player,
            levels,
            sizes,
            infoset=infoset,
            chance_prob=prob,
            returns=returns,
            infoset_player=tree.infoset_player[infosets],
            infoset_key=tree.infoset_key[infosets],
            action=tree.action[origin],
            teams=tree.teams,
            n_truncated=len(truncated),
        )
        return Subgame(cut, root_of, origin, infosets, ranges(first, sizes), truncated)


@kernel(lazy=True)
def _cut(
    nodes: Nodes,
    n_children: NDArray[np.int32],
    offset: NDArray[np.int64],
    policy: NDArray[np.float64],
    roots: NDArray[np.int32],
    weights: NDArray[np.float64],
    frozen: NDArray[np.bool_],
    depth_limit: int,
    play_on: int,
    plans: NDArray[np.float64],
    plan: NDArray[np.int32],
    bound: int,
    local: NDArray[np.int32],
) -> tuple[
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.int8],
    NDArray[np.int32],
    NDArray[np.float64],
    NDArray[np.int32],
    NDArray[np.int64],
    NDArray[np.int32],
    NDArray[np.int32],
]:
    """Return origin, parent, player, infoset, chance_prob and root of a subgame's nodes, breadth first; where
    its levels start, its infosets' numbers in the full tree, and its truncated leaves.

    frozen: [r, P], or [0, P] for none. `local` is left as it came, all -1.
    """
    _, first_child, player, infoset, chance_prob = nodes
    origin = np.empty(bound, np.int32)
    parent = np.empty(bound, np.int32)
    who = np.empty(bound, np.int8)
    info = np.full(bound, -1, np.int32)
    prob = np.empty(bound, np.float64)
    root_of = np.empty(bound, np.int32)
    depth = np.zeros(bound, np.int32)
    levels = [0]
    found = [0]
    found.pop()
    truncated = [np.int32(0)]
    truncated.pop()
    any_frozen = len(frozen) == len(roots)
    end = len(roots)
    for r in range(end):
        origin[r] = roots[r]
        parent[r] = -1
        prob[r] = weights[r]
        root_of[r] = r
    levels.append(end)
    start = 0
    while start < end:
        write = end
        for at in range(start, end):
            node = origin[at]
            p = player[node]
            root = root_of[at]
            deep = p >= 0 and depth[at] >= depth_limit
            if n_children[node] == 0 or (deep and play_on < 0):
                who[at] = -2
                if n_children[node] > 0:
                    truncated.append(np.int32(at))
                continue
            low = first_child[node]
            below = depth[at] + (1 if p >= 0 else 0)
            is_frozen = (p >= 0 and any_frozen and frozen[root, p]) or (deep and p == play_on)
            who[at] = -1 if is_frozen else p
            name = infoset[node]
            if who[at] >= 0:
                if local[name] < 0:
                    local[name] = len(found)
                    found.append(name)
                info[at] = local[name]
            slot = offset[name] - low if p >= 0 else 0
            for child in range(low, low + n_children[node]):
                chance = 1.0
                if is_frozen:
                    chance = plans[plan[root], slot + child] if plan[root] >= 0 else policy[slot + child]
                    if not chance > 0:
                        continue
                elif p < 0:
                    chance = chance_prob[child]
                origin[write] = child
                prob[write] = chance
                parent[write] = at
                root_of[write] = root
                depth[write] = below
                write += 1
        start = end
        end = write
        if end > start:
            levels.append(end)

    n = end
    for name in found:
        local[name] = -1
    return (
        origin[:n],
        parent[:n],
        who[:n],
        info[:n],
        prob[:n],
        root_of[:n],
        np.array(levels, np.int64),
        np.array(found, np.int32),
        np.array(truncated, np.int32),
    )


def subtree_sizes(tree: FlatTree) -> NDArray[np.int64]:
    """Return the number of nodes at and below each node, [N] int64."""
    size = np.ones(tree.n_nodes, np.int64)
    for start, end in zip(tree.level_offsets[-2:0:-1], tree.level_offsets[:1:-1], strict=True):
        np.add.at(size, tree.parent[start:end], size[start:end])
    return size


def root_numbers(tree: FlatTree) -> NDArray[np.int32]:
    """Return the index of the root above each node, [N] int32."""
    root_of = np.empty(tree.n_nodes, np.int32)
    root_of[: tree.n_roots] = np.arange(tree.n_roots)
    for start, end in zip(tree.level_offsets[1:-1], tree.level_offsets[2:], strict=True):
        root_of[start:end] = root_of[tree.parent[start:end]]
    return root_of
