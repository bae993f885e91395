"""Starting CFR from a strategy instead of the uniform one.

Regret matching plays any strategy whose regrets are proportional to it. How large they are says how long
the start is held on to: here `weight` iterations in each of which a full payoff range was regretted, scaled
by how often the infoset comes up. The idea is that of Brown and Sandholm 2016, "Strategy-based warm starting
for regret minimization in games", who derive the size from the strategy's exploitability; this rule is ours.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cfr.tree import FlatTree
from cfr.values import check_policy

__all__ = ["start_regrets"]


def start_regrets(
    tree: FlatTree, policy: NDArray[np.float64], weight: float, scale: float
) -> NDArray[np.float64]:
    """Return the regrets that CFR starts from so that it plays `policy`, [n_slots] float64, in payoffs.

    weight: iterations' worth of them. scale: payoffs regretted in each, the largest of the tree for example.
    Zero at infosets that the others and chance never lead to under `policy`.
    Raises ValueError for a policy of another size.
    """
    policy = check_policy(tree, policy)
    often = np.zeros(tree.n_infosets)
    _often(
        tree.parent,
        tree.first_child,
        tree.player,
        tree.infoset,
        tree.chance_prob,
        tree.infoset_offset,
        policy,
        np.empty((tree.n_nodes, tree.n_players + 1)),
        often,
    )
    return np.repeat(weight * scale * often, np.diff(tree.infoset_offset)) * policy


@njit(cache=True)
def _often(parent, first_child, player, infoset, chance_prob, infoset_offset, policy, factors, often):
    """Add the reach of each decision but for the decider's own to its infoset; chance is the last factor."""
    n_factors = factors.shape[1]
    for node in range(len(parent)):
        up = parent[node]
        for p in range(n_factors):
            factors[node, p] = factors[up, p] if up >= 0 else 1.0
        factors[node, n_factors - 1] *= chance_prob[node]
        if up >= 0 and player[up] >= 0:
            factors[node, player[up]] *= policy[infoset_offset[infoset[up]] + node - first_child[up]]
        me = player[node]
        if me >= 0:
            others = 1.0
            for p in range(n_factors):
                if p != me:
                    others *= factors[node, p]
            often[infoset[node]] += others
