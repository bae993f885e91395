"""Values on the tree itself, for any number of players: reach, node values and best responses from each node.

Policies are [n_slots] float64 on the tree's slots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cfr.tree import FlatTree, require_tree
from cfr.tree.flat import Nodes
from games.support.kernel import kernel

SUM_TOLERANCE = 1e-6
"""How far from 1 the probabilities of an infoset may sum, as in files of policies."""


@dataclass(frozen=True, eq=False)
class Reach:
    """How likely each node is, factor by factor.

    players: [N, players] float64, the product of each seat's own action probabilities on the way.
    chance: [N] float64, the product of chance's, and the weight of the root.
    """

    players: NDArray[np.float64]
    chance: NDArray[np.float64]

    @property
    def total(self) -> NDArray[np.float64]:
        """Return the product of all factors, [N] float64."""
        return np.asarray(self.chance * self.players.prod(axis=1))

    def without(self, player: int) -> NDArray[np.float64]:
        """Return the counterfactual reach of each node for `player`: all factors but its own, [N] float64."""
        return np.asarray(self.chance * np.delete(self.players, player, axis=1).prod(axis=1))


class _HasSlots(Protocol):
    @property
    def n_slots(self) -> int: ...


def check_policy(tree: _HasSlots, given: ArrayLike) -> NDArray[np.float64]:
    """Return the policy as float64. Raises ValueError unless it has one number per slot of the tree.

    tree: whatever has slots; InvalidTree for what has none.
    """
    if not hasattr(tree, "n_slots"):
        require_tree(tree)
    try:
        policy = np.ascontiguousarray(given, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"policy must be numbers, one per slot of the tree; got {type(given).__name__}; "
            "a cfr.Policy has them by policy.on(tree)"
        ) from error
    if policy.shape != (tree.n_slots,):
        raise ValueError(
            f"policy must have one probability per slot, {tree.n_slots}; got shape {policy.shape}; "
            "is it another game's?"
        )
    return policy


def check_probabilities(policy: NDArray[np.float64], offset: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return a policy whose infosets' probabilities are at least 0 and sum to 1.

    offset: [I + 1] where each infoset's entries begin. Raises ValueError naming the first infoset that breaks
    the rule.
    """
    wrong = first_wrong(policy, offset)
    if wrong >= 0:
        first, last = offset[wrong : wrong + 2]
        raise ValueError(
            "policy: the probabilities of an infoset must be at least 0 and sum to 1; infoset "
            f"{wrong} has {policy[first:last].tolist()}; divide each infoset's by their sum"
        )
    return policy


def first_wrong(policy: NDArray[np.float64], offset: NDArray[np.integer]) -> int:
    """Return the first infoset whose probabilities are below 0, NaN or do not sum to 1; -1 if none is."""
    if len(offset) < 2:
        return -1
    sums, least = (end.reduceat(policy, offset[:-1]) for end in (np.add, np.minimum))
    wrong = ~((np.abs(sums - 1) <= SUM_TOLERANCE) & (least >= 0))
    return int(wrong.argmax()) if wrong.any() else -1


def uniform(offset: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return equal probabilities at every infoset, [n] float64. offset: [I + 1], where the entries begin."""
    sizes = np.diff(offset)
    return np.repeat(1.0 / sizes, sizes)


def normalised(
    mass: NDArray[np.float64],
    offset: NDArray[np.integer],
    otherwise: NDArray[np.float64],
    *,
    least: float = 0.0,
) -> NDArray[np.float64]:
    """Return probabilities in proportion to `mass` at every infoset, [n] float64.

    offset: [I + 1], where the infosets' entries begin, from 0. otherwise: [n], the probabilities where the
    masses of an infoset sum to at most `least`.
    """
    out = otherwise.copy()
    if len(offset) > 1:
        total = np.repeat(np.add.reduceat(mass, offset[:-1]), np.diff(offset))
        np.divide(mass, total, out=out, where=total > least)
    return out


def reach(tree: FlatTree, policy: NDArray[np.float64]) -> Reach:
    """Return the reach of each node under `policy`. Raises ValueError for a policy of another size."""
    policy = check_policy(tree, policy)
    players = np.empty((tree.n_nodes, tree.n_players))
    chance = np.empty(tree.n_nodes)
    _reach(tree.nodes, tree.infoset_offset, policy, players, chance)
    return Reach(players, chance)


def node_values(
    tree: FlatTree, policy: NDArray[np.float64], payoffs: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return each player's expected payoff from each node on, given that it is reached, [N, players].

    payoffs: [terminals, players] float64, in place of the game's returns.
    Raises ValueError for a policy of another size.
    """
    policy = check_policy(tree, policy)
    out = np.zeros((tree.n_nodes, tree.n_players))
    out[tree.terminal] = tree.returns if payoffs is None else payoffs
    _back_up(tree.nodes, tree.infoset_offset, policy, out)
    return out


def root_values(tree: FlatTree, policy: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each player's expected payoff, summed over weighted roots, [players] float64."""
    roots = slice(0, tree.n_roots)
    return tree.chance_prob[roots] @ node_values(tree, policy)[roots]


def group_values(
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    group: NDArray[np.integer],
    spare: NDArray[np.float64] | float = 1.0,
    n: int = 0,
) -> NDArray[np.float64]:
    """Return the weighted mean of `values` in each group, [g] float64; 0 in one without any.

    values, weights: [n]. group: [n], numbers from 0; n: how many there are at least. spare: the weights, [n]
    or all alike, where the first are all zero.
    """
    mass, total = (np.bincount(group, each, minlength=n) for each in (weights, weights * values))
    if (dead := mass <= 0).any():
        spare = np.broadcast_to(spare, values.shape)
        mass[dead] = np.bincount(group, spare, minlength=n)[dead]
        total[dead] = np.bincount(group, spare * values, minlength=n)[dead]
    return np.divide(total, mass, out=np.zeros(len(mass)), where=mass > 0)


@kernel(lazy=True)
def _reach(
    nodes: Nodes,
    infoset_offset: NDArray[np.int64],
    policy: NDArray[np.float64],
    players: NDArray[np.float64],
    chance: NDArray[np.float64],
) -> None:
    parent, first_child, player, infoset, chance_prob = nodes
    for node in range(len(parent)):
        up = parent[node]
        chance[node] = chance_prob[node]
        # Number by number: assigning a row to a row takes numba two seconds longer to compile.
        for p in range(players.shape[1]):
            players[node, p] = players[up, p] if up >= 0 else 1.0
        if up < 0:
            continue
        chance[node] *= chance[up]
        if player[up] >= 0:
            slot = infoset_offset[infoset[up]] + node - first_child[up]
            players[node, player[up]] *= policy[slot]


@kernel(lazy=True)
def _back_up(
    nodes: Nodes,
    infoset_offset: NDArray[np.int64],
    policy: NDArray[np.float64],
    value: NDArray[np.float64],
) -> None:
    parent, first_child, player, infoset, chance_prob = nodes
    for node in range(len(parent) - 1, -1, -1):
        up = parent[node]
        if up < 0:
            continue
        prob = chance_prob[node]
        if player[up] >= 0:
            prob = policy[infoset_offset[infoset[up]] + node - first_child[up]]
        for p in range(value.shape[1]):
            value[up, p] += prob * value[node, p]


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
    _respond(tree.nodes, tree.n_children, tree.infoset_offset, policy, seat, others, values, pure)
    return values, others, pure


@kernel(lazy=True)
def _respond(
    nodes: Nodes,
    n_children: NDArray[np.int32],
    offset: NDArray[np.int64],
    policy: NDArray[np.float64],
    seat: int,
    others: NDArray[np.float64],
    values: NDArray[np.float64],
    pure: NDArray[np.float64],
) -> None:
    """Fill `others`, `values` and `pure`, which comes as zeros.

    Nodes are taken by how many own decisions lie above them, deepest first: by perfect recall all histories
    of an infoset share that number, so the infoset's choice is ready before anything above it needs it, even
    if its histories stand at different depths of the tree.
    """
    parent, first_child, player, infoset, chance_prob = nodes
    n, q = len(parent), np.zeros(len(policy))
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
