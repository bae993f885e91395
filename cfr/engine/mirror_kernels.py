"""Kernels of magnetic mirror descent on a tree: `cfr.anchored` says what they compute."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from games.support.kernel import kernel

__all__ = [
    "COOLING",
    "RATE",
    "Ends",
    "Infosets",
    "Nodes",
    "Prices",
    "State",
    "iterate_mirror",
    "regularised",
]

RATE = 2.0
"""Step size of mirror descent, in inverse payoffs times the tree's payoff range. Of 1, 2, 4 and 8 the largest
that converged on Kuhn and Leduc poker, Liar's Dice, Goofspiel and random forests at every temperature tried.
Temperatures under half a percent of the payoff range take more than 300 iterations."""
COOLING = 0.3
"""Iteration t is made at a temperature of at least COOLING / t payoff ranges, of every seat: at low
temperatures policies spiral for long, and this leads them in. Free infosets are drawn to uniform play."""
LEAST = -700.0
"""Logarithm of the smallest probability that is told from 0."""

Nodes = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int8], NDArray[np.int32], NDArray[np.float64]]
"""Fields of a tree: (parent, first_child, player, infoset, chance_prob)."""
Infosets = tuple[NDArray[np.int8], NDArray[np.int64], NDArray[np.int64]]
"""(player, first slot, own slot before) of each infoset."""
Ends = tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.float64]]
"""(terminals [Z], each deciding seat's last own slot there [seats, Z], its payoff there [seats, Z])."""
Prices = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
"""(price of leaving the magnet at each infoset, w of each infoset, logarithm of the magnet)."""
State = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
"""(policy, its logarithm, the gradient of the last iteration), on slots."""


@kernel(lazy=True)
def iterate_mirror(
    done: int,
    n: int,
    rate: float,
    seats: NDArray[np.int64],
    nodes: Nodes,
    infosets: Infosets,
    ends: Ends,
    prices: Prices,
    state: State,
) -> None:
    """Run iterations done + 1 … done + n."""
    policy, log_policy, gradient = state
    price, weight, log_magnet = prices
    infoset_player, offset, before = infosets
    others = np.empty(len(nodes[0]))
    gain = np.empty(len(policy))
    often = np.empty(len(infoset_player))
    for t in range(done, done + n):
        for k in range(len(seats)):
            seat = seats[k]
            _gradient(k, seat, nodes, infosets, ends, policy, others, gain, often)
            for i in range(len(infoset_player)):
                if infoset_player[i] != seat:
                    continue
                for s in range(offset[i], offset[i + 1]):
                    now = gain[s]
                    if t > 0:
                        gain[s] = 2.0 * now - gradient[s]
                    gradient[s] = now
            # Bottom up: what the best step below an action is worth is added to the action's gain.
            for i in range(len(infoset_player) - 1, -1, -1):
                if infoset_player[i] != seat:
                    continue
                first, end = offset[i], offset[i + 1]
                cost = max(price[i], COOLING * RATE / rate * weight[i] / (t + 1))
                hold = max(often[i], weight[i]) / rate
                total = cost + hold
                if total <= 0.0:
                    continue
                top = -np.inf
                for s in range(first, end):
                    policy[s] = (gain[s] + cost * log_magnet[s] + hold * log_policy[s]) / total
                    top = max(top, policy[s])
                mass = 0.0
                for s in range(first, end):
                    mass += math.exp(policy[s] - top)
                log_mass = top + math.log(mass)
                for s in range(first, end):
                    log_policy[s] = max(policy[s] - log_mass, LEAST)
                    policy[s] = math.exp(log_policy[s])
                if before[i] >= 0:
                    gain[before[i]] += total * log_mass


@kernel(lazy=True)
def _gradient(
    k: int,
    seat: int,
    nodes: Nodes,
    infosets: Infosets,
    ends: Ends,
    policy: NDArray[np.float64],
    others: NDArray[np.float64],
    gain: NDArray[np.float64],
    often: NDArray[np.float64],
) -> None:
    """Fill `gain`, at the seat's slots, with what ends right after them is worth, by the others' reach.

    And `often`, at its infosets, with that reach.
    """
    parent, first_child, player, infoset, chance_prob = nodes
    infoset_player, offset, _ = infosets
    terminal, last, payoff = ends
    for i in range(len(infoset_player)):
        if infoset_player[i] == seat:
            often[i] = 0.0
            gain[offset[i] : offset[i + 1]] = 0.0
    for node in range(len(parent)):
        up = parent[node]
        others[node] = chance_prob[node]
        if up >= 0:
            others[node] *= others[up]
            if player[up] >= 0 and player[up] != seat:
                others[node] *= policy[offset[infoset[up]] + node - first_child[up]]
        if player[node] == seat:
            often[infoset[node]] += others[node]
    for z in range(len(terminal)):
        if last[k, z] >= 0:
            gain[last[k, z]] += others[terminal[z]] * payoff[k, z]


@kernel(lazy=True)
def regularised(
    k: int, seat: int, nodes: Nodes, infosets: Infosets, ends: Ends, prices: Prices, state: State
) -> tuple[float, float]:
    """Return (what the seat could get alone, what it gets), less what it pays for leaving its magnet."""
    policy, log_policy, _ = state
    price, _, log_magnet = prices
    infoset_player, offset, before = infosets
    gain = np.zeros(len(policy))
    often = np.zeros(len(infoset_player))
    _gradient(k, seat, nodes, infosets, ends, policy, np.empty(len(nodes[0])), gain, often)
    best, now = gain.copy(), gain
    value_best, value_now = 0.0, 0.0
    for i in range(len(infoset_player) - 1, -1, -1):
        if infoset_player[i] != seat:
            continue
        first, end = offset[i], offset[i + 1]
        most, got = -np.inf, 0.0
        for s in range(first, end):
            most = max(most, best[s] + price[i] * log_magnet[s])
            got += policy[s] * (now[s] - price[i] * (log_policy[s] - log_magnet[s]))
        if price[i] > 0.0:
            mass = 0.0
            for s in range(first, end):
                mass += math.exp((best[s] + price[i] * log_magnet[s] - most) / price[i])
            most += price[i] * math.log(mass)
        if before[i] >= 0:
            best[before[i]] += most
            now[before[i]] += got
        else:
            value_best += most
            value_now += got
    return value_best, value_now
