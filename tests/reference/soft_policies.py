"""Magnetic mirror descent on a tree with exact action values: what a network's policy is learned towards."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cfr.best_response import counterfactual_values
from cfr.policies.policy import uniform_policy
from cfr.tree import FlatTree


def action_values(tree: FlatTree, policy: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Q of each slot: the payoff to its player where play comes there and goes on by `policy`."""
    found = np.zeros(tree.n_slots)
    counts = np.diff(tree.infoset_offset)
    for player in range(tree.n_players):
        values = counterfactual_values(tree, policy, player)
        mine = tree.slot_player == player
        found[mine] = values.slot[mine] / np.maximum(np.repeat(values.reach, counts)[mine], 1e-300)
    return found


def mirror_descent(
    tree: FlatTree, price: float, *, step: float, iterations: int, magnet: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the policy after so many steps from the magnet (uniform), `price` a nat, in payoffs.

    Each step takes argmax sum(p Q) - price KL(p, magnet) - KL(p, last) / step at every infoset.
    """
    magnet = uniform_policy(tree) if magnet is None else magnet
    policy = magnet.copy()
    for _ in range(iterations):
        q = action_values(tree, policy)
        scores = (step * q + np.log(policy) + step * price * np.log(magnet)) / (1 + step * price)
        for i in range(tree.n_infosets):
            slots = tree.slots(i)
            weights = np.exp(scores[slots] - scores[slots].max())
            policy[slots] = weights / weights.sum()
    return policy
