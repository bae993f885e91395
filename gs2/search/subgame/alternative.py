"""Alternative values: what the opponent can get without the subgame, infoset by infoset.

The exact one is the counterfactual best response against the searching player's strategy. Two cheaper
stand-ins: what both strategies together give, and whatever the blueprint says a history is worth.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cfr.tree import FlatTree
from cfr.values import check_policy
from games.support.kernel import kernel

__all__ = [
    "best_response_policy",
    "best_responses",
    "group_values",
]


def group_values(
    values: NDArray[np.float64], weights: NDArray[np.float64], group: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Return the weighted mean of `values` in each group, [g] float64; a plain mean where weights are 0.

    values, weights: [n] float64. group: [n] int32, numbers 0 … g - 1, all present.
    """
    mass = np.bincount(group, weights)
    total = np.bincount(group, weights * values)
    dead = mass <= 0
    if dead.any():
        mass[dead] = np.bincount(group)[dead]
        total[dead] = np.bincount(group, values)[dead]
    return total / mass


def best_response_policy(tree: FlatTree, policy: NDArray[np.float64], seat: int) -> NDArray[np.float64]:
    """Return `policy` with the part of `seat` replaced by its pure counterfactual best response, [slots]."""
    answer = policy.copy()
    mine = tree.slot_player == seat
    answer[mine] = best_responses(tree, policy, seat)[2][mine]
    return answer


def best_responses(
    tree: FlatTree, policy: NDArray[np.float64], seat: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return a seat's best response to `policy`: values and others' reach of the nodes, and what it plays.

    The first is the payoff to `seat` from each node, [N] float64. The response is counterfactually best at
    every infoset, reached or not: it maximises the value weighted by the second array, [N], the probability
    that chance (weights of the roots included) and the others lead to the node. Where that is zero in the
    whole infoset the first action stands in for the best. The third, [slots], is 1 at the slots it plays and
    0 elsewhere, at others' slots too.
    Raises ValueError for a policy of another size.
    """
    policy = check_policy(tree, policy)
    values = np.zeros(tree.n_nodes)
    values[tree.terminal] = tree.returns[:, seat]
    others = np.empty(tree.n_nodes)
    pure = np.zeros(tree.n_slots)
    _respond(
        tree.parent,
        tree.first_child,
        tree.n_children,
        tree.player,
        tree.infoset,
        tree.chance_prob,
        tree.infoset_offset,
        policy,
        seat,
        np.zeros(tree.n_slots),
        others,
        values,
        pure,
    )
    return values, others, pure


@kernel(lazy=True)
def _respond(
    parent: NDArray[np.int32],
    first_child: NDArray[np.int32],
    n_children: NDArray[np.int32],
    player: NDArray[np.int8],
    infoset: NDArray[np.int32],
    chance_prob: NDArray[np.float64],
    offset: NDArray[np.int64],
    policy: NDArray[np.float64],
    seat: int,
    q: NDArray[np.float64],
    others: NDArray[np.float64],
    values: NDArray[np.float64],
    pure: NDArray[np.float64],
) -> None:
    """Fill `others`, `values` and `pure`; `q` and `pure` come as zeros.

    Nodes are taken by how many own decisions lie above them, deepest first: by perfect recall all histories
    of an infoset share that number, so the infoset's choice is ready before anything above it needs it, even
    if its histories stand at different depths of the tree.
    """
    n = len(parent)
    depth = np.empty(n, np.int32)
    deepest = 0
    for node in range(n):
        up = parent[node]
        if up < 0:
            depth[node] = 0
            others[node] = chance_prob[node]
            continue
        depth[node] = depth[up]
        others[node] = others[up]
        if player[up] == seat:
            depth[node] += 1
            deepest = max(deepest, depth[node])
        elif player[up] >= 0:
            others[node] *= policy[offset[infoset[up]] + node - first_child[up]]
        else:
            others[node] *= chance_prob[node]
    bucket = np.zeros(deepest + 2, np.int64)
    for node in range(n):
        bucket[depth[node] + 1] += 1
    for d in range(deepest + 1):
        bucket[d + 1] += bucket[d]
    fill = bucket[:-1].copy()
    order = np.empty(n, np.int32)
    for node in range(n):
        order[fill[depth[node]]] = node
        fill[depth[node]] += 1
    for d in range(deepest, -1, -1):
        for at in range(bucket[d], bucket[d + 1]):
            node = order[at]
            if player[node] == seat:
                slot = offset[infoset[node]]
                for k in range(n_children[node]):
                    q[slot + k] += others[node] * values[first_child[node] + k]
        for at in range(bucket[d], bucket[d + 1]):
            node = order[at]
            if player[node] == seat:
                slot = offset[infoset[node]]
                best = 0
                for k in range(1, n_children[node]):
                    if q[slot + k] > q[slot + best]:
                        best = k
                values[node] = values[first_child[node] + best]
                pure[slot + best] = 1.0
        for at in range(bucket[d + 1] - 1, bucket[d] - 1, -1):
            node = order[at]
            if player[node] == seat or n_children[node] == 0:
                continue
            total = 0.0
            slot = offset[infoset[node]] if player[node] >= 0 else 0
            for k in range(n_children[node]):
                child = first_child[node] + k
                share = policy[slot + k] if player[node] >= 0 else chance_prob[child]
                total += share * values[child]
            values[node] = total
