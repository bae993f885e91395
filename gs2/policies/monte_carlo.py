"""Action values by Monte-Carlo self-play on a tree: the tabular form of Deep Monte Carlo."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cfr.tree import FlatTree
from games.support.kernel import kernel

__all__ = ["monte_carlo_q", "soft_policy"]

AT_ONCE = 20_000
"""Games that the kernel plays before it returns: a few hundredths of a second, so that Ctrl-C is heard."""


def monte_carlo_q(
    tree: FlatTree,
    episodes: int,
    rng: np.random.Generator,
    *,
    epsilon: float = 0.1,
    least_step: float = 0.01,
) -> NDArray[np.float64]:
    """Return Q(I, a) of every slot after `episodes` games of ε-greedy self-play, [n_slots] float64.

    tree: one root. Each game moves the value of every action played towards the player's return, in payoffs,
    by the mean of its returns so far, but at least by `least_step`, since the opponents keep changing.
    epsilon: probability of a uniformly random action.
    Raises ValueError for numbers out of range or a forest.
    Source: the update of DouZero and DanZero (Monte-Carlo returns, no bootstrapping), with a table.
    """
    if episodes < 1:
        raise ValueError(f"monte_carlo_q: episodes must be at least 1; got {episodes}")
    if not 0 < epsilon <= 1 or not 0 <= least_step <= 1:
        raise ValueError(
            f"monte_carlo_q: epsilon must be in (0, 1] and least_step in [0, 1]; got {epsilon}, {least_step}"
        )
    if tree.n_roots != 1:
        raise ValueError(f"monte_carlo_q: the tree must have one root; got {tree.n_roots}")
    row = np.full(tree.n_nodes, -1, np.int32)
    row[tree.terminal] = np.arange(len(tree.terminal))
    q = np.zeros(tree.n_slots)
    visits = np.zeros(tree.n_slots, np.int64)
    for start in range(0, episodes, AT_ONCE):
        _self_play(
            tree.first_child,
            tree.n_children,
            tree.player,
            tree.infoset,
            tree.chance_prob,
            tree.infoset_offset,
            row,
            tree.returns,
            min(AT_ONCE, episodes - start),
            epsilon,
            least_step,
            rng,
            len(tree.level_offsets),
            visits,
            q,
        )
    return q


def soft_policy(tree: FlatTree, q: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    """Return probabilities in proportion to exp(Q / temperature) at each infoset, [n_slots] float64.

    temperature: positive, in payoffs; near zero it chooses a best action.
    """
    if not temperature > 0:
        raise ValueError(f"soft_policy: temperature must be positive, in payoffs; got {temperature}")
    starts, sizes = tree.infoset_offset[:-1], np.diff(tree.infoset_offset)
    weights = np.exp((q - np.repeat(np.maximum.reduceat(q, starts), sizes)) / temperature)
    policy: NDArray[np.float64] = weights / np.repeat(np.add.reduceat(weights, starts), sizes)
    return policy


@kernel
def _self_play(
    first_child: NDArray[np.int32],
    n_children: NDArray[np.int32],
    player: NDArray[np.int8],
    infoset: NDArray[np.int32],
    chance_prob: NDArray[np.float64],
    offset: NDArray[np.int64],
    terminal_row: NDArray[np.int32],
    returns: NDArray[np.float64],
    episodes: int,
    epsilon: float,
    least_step: float,
    rng: np.random.Generator,
    depth: int,
    visits: NDArray[np.int64],
    q: NDArray[np.float64],
) -> None:
    """Play games and move the values in place, all games from node 0."""
    slots = np.empty(depth, np.int64)
    seats = np.empty(depth, np.int64)
    for _ in range(episodes):
        node = 0
        length = 0
        while n_children[node] > 0:
            n = n_children[node]
            if player[node] < 0:
                left = rng.random()
                k = 0
                while k < n - 1 and left >= chance_prob[first_child[node] + k]:
                    left -= chance_prob[first_child[node] + k]
                    k += 1
            else:
                start = offset[infoset[node]]
                if rng.random() < epsilon:
                    k = int(rng.random() * n)
                else:
                    k = 0
                    for a in range(1, n):
                        if q[start + a] > q[start + k]:
                            k = a
                slots[length] = start + k
                seats[length] = player[node]
                length += 1
            node = first_child[node] + k
        gain = returns[terminal_row[node]]
        for i in range(length):
            s = slots[i]
            visits[s] += 1
            q[s] += max(1.0 / visits[s], least_step) * (gain[seats[i]] - q[s])
