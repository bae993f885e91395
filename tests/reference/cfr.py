"""CFR as the papers print it: one history at a time, dictionaries, no skipping, no matrices.

Any number of seats. Sources: Zinkevich et al. 2007 (CFR), Tammelin 2014 (CFR+), Brown and Sandholm 2019
(discounting), Farina, Kroer and Sandholm 2021 (prediction), Xu et al. 2024 (discounted CFR+).
"""

from __future__ import annotations

from math import inf, prod

import numpy as np

from cfr.tree import FlatTree
from cfr.variants import Variant


def discount(t: int, exponent: float) -> float:
    if exponent == inf:
        return 1.0
    if exponent == -inf:
        return 0.0
    return t**exponent / (t**exponent + 1)


class PlainCfr:
    """CFR on histories; `policy`, `regret`, `strategy_sum` map an infoset to a list, action by action."""

    def __init__(self, tree: FlatTree, row: Variant, noise: float = 0.0) -> None:
        self.row = row
        self.noise = noise
        self.t = 0
        self.children = [
            list(range(first, first + n))
            for first, n in zip(tree.first_child.tolist(), tree.n_children.tolist(), strict=True)
        ]
        self.player = tree.player.tolist()
        self.infoset = tree.infoset.tolist()
        self.prob = tree.chance_prob.tolist()
        self.returns = dict(zip(tree.terminal.tolist(), tree.returns.tolist(), strict=True))
        self.roots = range(tree.n_roots)
        self.offset = tree.infoset_offset.tolist()
        self.owner = tree.infoset_player.tolist()
        self.seats = sorted(set(self.owner))
        sizes = np.diff(tree.infoset_offset).tolist()
        self.policy = [[1 / n] * n for n in sizes]
        self.regret = [[0.0] * n for n in sizes]
        self.strategy_sum = [[0.0] * n for n in sizes]
        self.gain = [[0.0] * n for n in sizes]

    def lists(self, slots: np.ndarray) -> list[list[float]]:
        return [slots[a:b].tolist() for a, b in zip(self.offset[:-1], self.offset[1:], strict=True)]

    @staticmethod
    def slots(lists: list[list[float]]) -> np.ndarray:
        return np.array([x for values in lists for x in values])

    def value(self, node: int, seat: int, others: float) -> float:
        """Return the value of a history to `seat`; add its counterfactual regrets to `gain`."""
        player, children = self.player[node], self.children[node]
        if player == -2:
            return self.returns[node][seat]
        if player == -1:
            return sum(self.prob[c] * self.value(c, seat, others * self.prob[c]) for c in children)
        policy = self.policy[self.infoset[node]]
        if player != seat:
            return sum(p * self.value(c, seat, others * p) for p, c in zip(policy, children, strict=True))
        values = [self.value(c, seat, others) for c in children]
        mean = sum(p * v for p, v in zip(policy, values, strict=True))
        gain = self.gain[self.infoset[node]]
        for a, v in enumerate(values):
            gain[a] += others * (v - mean)
        return mean

    def measure(self, seat: int) -> None:
        """Fill `gain` with the seat's instantaneous counterfactual regrets."""
        for infoset, owner in enumerate(self.owner):
            if owner == seat:
                self.gain[infoset] = [0.0] * len(self.gain[infoset])
        for root in self.roots:
            self.value(root, seat, self.prob[root])

    def add(self, seat: int) -> None:
        """Discount the seat's cumulative regrets and add `gain`."""
        row, t = self.row, self.t
        for infoset, owner in enumerate(self.owner):
            if owner != seat:
                continue
            old = self.regret[infoset]
            new = [
                R * discount(t - 1, row.alpha if R > 0 else row.beta) + r
                for R, r in zip(old, self.gain[infoset], strict=True)
            ]
            self.regret[infoset] = [max(R, 0.0) for R in new] if row.clip else new

    def matched(self, infoset: int) -> list[float]:
        """Return the policy that the regrets of an infoset call for."""
        row, t = self.row, self.t
        weights = self.regret[infoset]
        if row.predictive:
            weights = [
                R * discount(t, row.alpha if R > 0 else row.beta) + r
                for R, r in zip(weights, self.gain[infoset], strict=True)
            ]
        weights = [w if w > self.noise else 0.0 for w in weights]
        total = sum(weights)
        return [w / total for w in weights] if total > 0 else [1 / len(weights)] * len(weights)

    def match(self, seat: int) -> None:
        for infoset, owner in enumerate(self.owner):
            if owner == seat:
                self.policy[infoset] = self.matched(infoset)

    def plan(self) -> list[list[float]]:
        """Return everyone's probability of playing to each action."""
        plan = [[0.0] * len(p) for p in self.policy]

        def visit(node: int, own: dict[int, float]) -> None:
            player = self.player[node]
            for a, child in enumerate(self.children[node]):
                reach = own
                if player >= 0:
                    infoset = self.infoset[node]
                    plan[infoset][a] = own[player] * self.policy[infoset][a]
                    reach = {**own, player: plan[infoset][a]}
                visit(child, reach)

        for root in self.roots:
            visit(root, dict.fromkeys(self.seats, 1.0))
        return plan

    def average(self) -> None:
        weight = self.t**self.row.gamma
        for sums, plan in zip(self.strategy_sum, self.plan(), strict=True):
            for a, p in enumerate(plan):
                sums[a] += weight * p

    def iterate(self) -> None:
        self.t += 1
        if not self.row.alternating:
            self.average()
            for seat in self.seats:
                self.measure(seat)
            for seat in self.seats:
                self.add(seat)
                self.match(seat)
            return
        for k, seat in enumerate(self.seats):
            self.measure(seat)
            self.add(seat)
            self.match(seat)
            if k == 0:
                self.average()


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
