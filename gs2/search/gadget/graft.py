"""Nodes put above a forest: `Top` collects them level by level, `graft` joins both into one tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.tree import FlatTree
from games.game import CHANCE, TERMINAL

__all__ = ["Gadget", "Top", "graft", "team_returns"]


@dataclass(frozen=True, eq=False)
class Gadget:
    """A subgame with its gadget on top.

    tree: what to solve. entry_infosets: how many infosets the gadget itself added; they come first.
    slot_origin: [A] int64, slot of the subgame's forest, -1 for the gadget's own.
    infoset_origin: [I] int32, infoset of the subgame's forest, -1 for the gadget's own.
    """

    tree: FlatTree
    entry_infosets: int
    slot_origin: NDArray[np.int64]
    infoset_origin: NDArray[np.int32]

    def to_forest(self, policy: NDArray[np.float64], n_slots: int) -> NDArray[np.float64]:
        """Return a policy of the gadget's tree on the slots of the forest, [n_slots] float64.

        Where a forced copy repeats an infoset of the opponent, the copy entered by choice counts.
        """
        out = np.empty(n_slots)
        own = self.slot_origin >= 0
        out[self.slot_origin[own][::-1]] = policy[own][::-1]
        return out


class Top:
    """Levels of nodes above a forest, added from the roots down.

    Who adds a node of a new infoset also adds that infoset to `infoset_player` and `infoset_size`.
    """

    def __init__(self, forest: FlatTree) -> None:
        self.forest = forest
        self.parent: list[NDArray[np.integer[Any]]] = []
        self.player: list[NDArray[np.int8]] = []
        self.prob: list[NDArray[np.float64]] = []
        self.infoset: list[NDArray[np.int32]] = []
        self.returns: list[NDArray[np.float64]] = []
        self.infoset_player: list[int] = []
        self.infoset_size: list[int] = []
        self.root_at = np.zeros(0, np.int64)

    @classmethod
    def of_one(cls, forest: FlatTree, player: int = CHANCE) -> Top:
        """Return levels that begin with one node, of chance or of a player's first infoset here."""
        top = cls(forest)
        top.infoset_player = [player] * (player >= 0)
        infoset = np.full(1, 0 if player >= 0 else -1, np.int32)
        top.level(np.full(1, -1, np.int64), np.ones(1), np.full(1, player), infoset)
        return top

    def level(
        self,
        parent: NDArray[np.integer[Any]],
        prob: NDArray[np.float64],
        player: NDArray[np.integer[Any]],
        infoset: NDArray[np.int32] | None = None,
        returns: NDArray[np.float64] | None = None,
    ) -> None:
        """Add a level of n nodes.

        parent: [n], rising, counted within the level before; -1 in the first. prob: [n], chance's probability
        of each, 1 below a player's node. player: [n]. infoset: [n], -1 where nobody decides, by default
        everywhere.
        returns: [terminal nodes of the level, P], payoffs.
        """
        before = sum(len(p) for p in self.parent[:-1])
        self.parent.append(parent + before)
        self.prob.append(prob)
        self.player.append(player.astype(np.int8))
        self.infoset.append(np.full(len(parent), -1, np.int32) if infoset is None else infoset)
        if returns is not None:
            self.returns.append(returns)

    def roots(
        self,
        parent: NDArray[np.integer[Any]],
        prob: NDArray[np.float64],
        is_root: NDArray[np.bool_] | None = None,
        returns: NDArray[np.float64] | None = None,
    ) -> None:
        """Add the last level: the forest's roots in order, among terminals where `is_root` is False."""
        is_root = np.ones(len(parent), bool) if is_root is None else is_root
        player = np.full(len(parent), TERMINAL, np.int8)
        player[is_root] = self.forest.player[: self.forest.n_roots]
        infoset = np.full(len(parent), -1, np.int32)
        infoset[is_root] = self.forest.infoset[: self.forest.n_roots]
        own = infoset >= 0
        infoset[own] += len(self.infoset_player)
        self.level(parent, prob, player, infoset, returns)
        self.root_at = np.flatnonzero(is_root) + sum(len(p) for p in self.parent[:-1])


def team_returns(forest: FlatTree, seat: int, value: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return payoffs [n, P] that give `value` [n] to the seat's team."""
    sign = np.where(np.array(forest.teams) == forest.teams[seat], 1.0, -1.0)
    return value[:, None] * sign


def graft(top: Top, forest: FlatTree) -> Gadget:
    """Return the forest below the last level of `top` as one tree."""
    n_top = sum(len(p) for p in top.parent)
    r = forest.n_roots
    shift = n_top - r
    extra = len(top.infoset_player)
    at = top.root_at
    up = forest.parent[r:]
    parent = np.concatenate([*top.parent, np.where(up < r, at[np.minimum(up, r - 1)], up + shift)])
    top_children = np.bincount(np.concatenate(top.parent[1:]), minlength=n_top)
    top_children[at] = forest.n_children[:r]
    n_children = np.concatenate([top_children, forest.n_children[r:]]).astype(np.int32)
    first_child = (len(top.parent[0]) + np.cumsum(n_children) - n_children).astype(np.int32)
    infoset_below = forest.infoset[r:]
    player = np.concatenate([*top.player, forest.player[r:]])
    terminal = np.flatnonzero(player == TERMINAL).astype(np.int32)
    # Roots that are terminal themselves stand among the top's terminals; put each payoff at its node.
    returns = np.empty((len(terminal), forest.n_players))
    moved = np.where(forest.terminal < r, at[np.minimum(forest.terminal, r - 1)], forest.terminal + shift)
    from_forest = np.searchsorted(terminal, moved)
    own = np.ones(len(terminal), bool)
    own[from_forest] = False
    returns[from_forest] = forest.returns
    if top.returns:
        returns[own] = np.concatenate(top.returns)
    levels = np.cumsum([0] + [len(p) for p in top.parent])
    sizes = np.concatenate([top.infoset_size, np.diff(forest.infoset_offset)])
    key_width = forest.infoset_key.shape[1]
    none = np.zeros((n_top, *forest.action.shape[1:]), forest.action.dtype)
    none[at] = forest.action[:r]
    tree = FlatTree(
        parent=parent.astype(np.int32),
        first_child=first_child,
        n_children=n_children,
        player=player,
        infoset=np.concatenate(
            [*top.infoset, np.where(infoset_below >= 0, infoset_below + extra, -1)]
        ).astype(np.int32),
        chance_prob=np.concatenate([*top.prob, forest.chance_prob[r:]]),
        level_offsets=np.concatenate([levels, forest.level_offsets[2:] + shift]).astype(np.int64),
        terminal=terminal,
        returns=returns,
        infoset_player=np.concatenate([top.infoset_player, forest.infoset_player]).astype(np.int8),
        infoset_offset=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        infoset_key=np.concatenate([np.zeros((extra, key_width), np.uint64), forest.infoset_key]),
        action=np.concatenate([none, forest.action[r:]]),
        states=None,
        teams=forest.teams,
        n_truncated=forest.n_truncated,
    )
    entry_slots = int(np.sum(top.infoset_size))
    slot_origin = np.arange(-entry_slots, forest.n_slots)
    slot_origin[:entry_slots] = -1
    infoset_origin = np.concatenate([np.full(extra, -1), np.arange(forest.n_infosets)]).astype(np.int32)
    return Gadget(tree, extra, slot_origin, infoset_origin)
