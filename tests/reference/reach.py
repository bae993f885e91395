"""Reach, one history at a time."""

from __future__ import annotations

from math import prod

import numpy as np

from cfr.tree import FlatTree


def reach_of_terminals(tree: FlatTree, policy: np.ndarray) -> dict[int, float]:
    """Return the probability of each terminal, following one history at a time."""
    out = {}
    for z in tree.terminal.tolist():
        factors, node = [], z
        while tree.parent[node] >= 0:
            up = tree.parent[node]
            if tree.player[up] >= 0:
                slot = tree.infoset_offset[tree.infoset[up]] + node - tree.first_child[up]
                factors.append(policy[slot])
            else:
                factors.append(tree.chance_prob[node])
            node = up
        out[z] = prod(factors) * tree.chance_prob[node]
    return out
