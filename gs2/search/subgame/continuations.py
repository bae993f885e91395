"""Several continuations per leaf: at the depth limit the opponent chooses how it will play on.

A single value per leaf lets a search believe that the opponent cannot adapt to it. Where the opponent picks,
at each of its infosets there, among several strategies for the rest of the game, the solution must stand up
to all of them. Source: Brown, Sandholm and Amos 2018, "Depth-limited solving" (multi-valued states).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.tree import FlatTree
from cfr.values import node_values
from games.game import TERMINAL
from gs2.search.histories.alternative import best_response_policy
from gs2.search.subgame.cut import Subgame

__all__ = ["BIAS", "continuation_values", "with_continuations"]

BIAS = 5.0
"""How much likelier a biased continuation makes its favoured action (Brown, Sandholm and Amos: 5 to 10)."""


def continuation_values(
    tree: FlatTree, policy: NDArray[np.float64], opponent: int, count: int
) -> NDArray[np.float64]:
    """Return what each node is worth under several continuations of the opponent, [count, N, P] float64.

    The searching player goes on by `policy`. The opponent's continuations are, in order: `policy` itself,
    its best response to it, and `policy` with one action made `BIAS` times likelier wherever it is legal:
    the last, the first, the last but one, …
    """
    mine = tree.slot_player == opponent
    counts = np.diff(tree.infoset_offset)
    within = np.arange(tree.n_slots) - np.repeat(tree.infoset_offset[:-1], counts)
    from_end = np.repeat(counts, counts) - 1 - within
    out = np.empty((count, tree.n_nodes, tree.n_players))
    for k in range(count):
        if k == 0:
            plays = policy
        elif k == 1:
            plays = best_response_policy(tree, policy, opponent)
        else:
            favoured = (from_end if k % 2 == 0 else within) == k // 2 - 1
            weight = np.where(mine & favoured, BIAS, 1.0) * policy
            total = np.add.reduceat(weight, tree.infoset_offset[:-1])
            plays = weight / np.repeat(total, counts)
        out[k] = node_values(tree, plays)
    return out


def with_continuations(
    subgame: Subgame, opponent: int, known: NDArray[np.int64], values: NDArray[np.float64]
) -> Subgame:
    """Return a subgame whose truncated leaves are decisions of the opponent between K payoffs.

    known: [T] int64, the opponent's infoset at each truncated leaf, any numbers that tell them apart.
    values: [T, K, P] float64, payoffs of each continuation.
    The new infosets come after the others; their slots and theirs alone have no origin (-1).
    """
    tree = subgame.tree
    leaves = subgame.truncated
    if len(leaves) == 0:
        return subgame
    k = values.shape[1]
    n, added = tree.n_nodes, len(leaves) * values.shape[1]
    level_of = np.repeat(np.arange(len(tree.level_offsets) - 1), np.diff(tree.level_offsets))
    parent = np.concatenate([tree.parent, np.repeat(leaves, k)])
    level = np.concatenate([level_of, np.repeat(level_of[leaves] + 1, k)])
    # Breadth first again: within a level by the new place of the parent; the sort is stable, so children
    # keep their order.
    order = np.empty(n + added, np.int64)
    place = np.empty(n + added, np.int64)
    offsets = [0]
    for depth in range(int(level.max()) + 1):
        here = np.flatnonzero(level == depth)
        if depth:
            here = here[np.argsort(place[parent[here]], kind="stable")]
        start = offsets[-1]
        order[start : start + len(here)] = here
        place[here] = np.arange(start, start + len(here))
        offsets.append(start + len(here))

    def spread(old: NDArray[Any], fill: NDArray[Any] | int | float) -> NDArray[Any]:
        extra = np.broadcast_to(np.asarray(fill, old.dtype), (added, *old.shape[1:]))
        return np.concatenate([old, extra])[order]

    n_children = tree.n_children.copy()
    n_children[leaves] = k
    player = tree.player.copy()
    player[leaves] = opponent
    groups, number = np.unique(known, return_inverse=True)
    infoset = tree.infoset.copy()
    infoset[leaves] = tree.n_infosets + number.reshape(-1)
    returns = np.zeros((n + added, tree.n_players))
    returns[tree.terminal] = tree.returns
    returns[n:] = values.reshape(added, -1)
    new_player = spread(player, TERMINAL)
    new_children = spread(n_children, 0)
    terminal = np.flatnonzero(new_player == TERMINAL).astype(np.int32)
    moved = np.where(parent[order] < 0, -1, place[parent[order]])
    new = FlatTree(
        parent=moved.astype(np.int32),
        first_child=(tree.n_roots + np.cumsum(new_children) - new_children).astype(np.int32),
        n_children=new_children,
        player=new_player,
        infoset=spread(infoset, -1),
        chance_prob=spread(tree.chance_prob, 1.0),
        level_offsets=np.array(offsets, np.int64),
        terminal=terminal,
        returns=returns[order[terminal]],
        infoset_player=np.append(tree.infoset_player, np.full(len(groups), opponent)).astype(np.int8),
        infoset_offset=np.append(
            tree.infoset_offset, tree.infoset_offset[-1] + k * np.arange(1, len(groups) + 1)
        ),
        infoset_key=np.concatenate(
            [tree.infoset_key, np.zeros((len(groups), tree.infoset_key.shape[1]), np.uint64)]
        ),
        action=spread(tree.action, np.zeros(1, tree.action.dtype)[0]),
        states=None,
        teams=tree.teams,
        n_truncated=tree.n_truncated,
    )
    root_of = np.concatenate([subgame.root_of, np.repeat(subgame.root_of[leaves], k)])[order]
    origin = subgame.origin
    if len(origin):
        origin = np.concatenate([origin, np.repeat(origin[leaves], k)])[order]
    return replace(
        subgame,
        tree=new,
        root_of=root_of,
        origin=origin,
        infoset_origin=np.append(subgame.infoset_origin, np.full(len(groups), -1)).astype(np.int32),
        slot_origin=np.append(subgame.slot_origin, np.full(k * len(groups), -1)),
        truncated=place[leaves].astype(np.int32),
    )
