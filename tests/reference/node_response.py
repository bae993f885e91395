"""Slow, obvious twin of `best_responses`, by recursion over infosets."""

from __future__ import annotations

import numpy as np

from cfr.tree import FlatTree
from games.game import CHANCE


def best_response_node_values_by_recursion(tree: FlatTree, policy: np.ndarray, seat: int) -> np.ndarray:
    """Return the payoff to `seat` from each node when it best-responds infoset by infoset, [N]."""
    payoff = {int(z): float(row[seat]) for z, row in zip(tree.terminal, tree.returns, strict=True)}
    members: dict[int, list[int]] = {}
    for node in range(tree.n_nodes):
        if tree.player[node] == seat:
            members.setdefault(int(tree.infoset[node]), []).append(node)

    def probability(child: int) -> float:
        up = int(tree.parent[child])
        if tree.player[up] == CHANCE:
            return float(tree.chance_prob[child])
        return float(policy[tree.infoset_offset[tree.infoset[up]] + child - tree.first_child[up]])

    def others(node: int) -> float:
        up = int(tree.parent[node])
        if up < 0:
            return float(tree.chance_prob[node])
        return others(up) * (1.0 if tree.player[up] == seat else probability(node))

    choice: dict[int, int] = {}
    memo: dict[int, float] = {}

    def value(node: int) -> float:
        if node in memo:
            return memo[node]
        if node in payoff:
            return payoff[node]
        first, count = int(tree.first_child[node]), int(tree.n_children[node])
        if tree.player[node] == seat:
            infoset = int(tree.infoset[node])
            if infoset not in choice:
                totals = [
                    sum(others(h) * value(int(tree.first_child[h]) + k) for h in members[infoset])
                    for k in range(count)
                ]
                choice[infoset] = int(np.argmax(totals))
            memo[node] = value(first + choice[infoset])
        else:
            memo[node] = sum(probability(first + k) * value(first + k) for k in range(count))
        return memo[node]

    return np.array([value(node) for node in range(tree.n_nodes)])
