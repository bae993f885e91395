"""Starting CFR from a strategy instead of the uniform one.

Regret matching plays any strategy to which the regrets are proportional. Their size says how long the start
is held on to: here `weight` iterations in each of which a full payoff range was regretted, scaled
by how often the infoset comes up. The idea is that of Brown and Sandholm 2016, "Strategy-based warm starting
for regret minimization in games", who derive the size from the strategy's exploitability; this rule is ours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cfr.tree import FlatTree
from cfr.values import reach
from games.support.kernel import kernel

__all__ = ["start_regrets"]


def start_regrets(
    tree: FlatTree, policy: NDArray[np.float64], weight: float, scale: float
) -> NDArray[np.float64]:
    """Return the regrets that CFR starts from so that it plays `policy`, [n_slots] float64, in payoffs.

    weight: iterations' worth of them. scale: payoffs regretted in each, the largest of the tree for example.
    Zero at infosets that the others and chance never lead to under `policy`.
    Raises ValueError for a policy of another size.
    """
    found = reach(tree, policy)
    often = np.zeros(tree.n_infosets)
    _often(tree.player, tree.infoset, found.players, found.chance, often)
    return np.repeat(weight * scale * often, np.diff(tree.infoset_offset)) * policy


@kernel
def _often(
    player: NDArray[np.int8],
    infoset: NDArray[np.int32],
    players: NDArray[np.float64],
    chance: NDArray[np.float64],
    often: NDArray[np.float64],
) -> None:
    """Add the reach of each decision, but for the decider's own factor, to its infoset."""
    for node in range(len(player)):
        me = player[node]
        if me >= 0:
            others = chance[node]
            for p in range(players.shape[1]):
                if p != me:
                    others *= players[node, p]
            often[infoset[node]] += others
