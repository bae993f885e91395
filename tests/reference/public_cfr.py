"""Vector-form CFR on a public tree, by its definition: a plain recursion that touches every regret."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cfr.public.tree import PublicTree
from cfr.variants import REGRET_NOISE, Variant, variant

Floats = NDArray[np.float64]


def discount(t: int, exponent: float) -> float:
    """Return d(t, e) = t^e / (t^e + 1); 1 where nothing has been learned yet."""
    if exponent == np.inf or t == 0:
        return 1.0
    return 0.0 if exponent == -np.inf else float(t) ** exponent / (float(t) ** exponent + 1)


class SlowPublicCfr:
    """Regrets, predictions and sums by node, [private states, actions] each."""

    def __init__(self, tree: PublicTree, name: str | Variant) -> None:
        self.tree, self.variant, self.t = tree, variant(name), 0
        shapes = {
            node: (tree.n_private[int(tree.player[node])], len(self.edges(node)))
            for node in range(len(tree))
            if tree.player[node] >= 0
        }
        self.regret = {node: np.zeros(shape) for node, shape in shapes.items()}
        self.prediction = {node: np.zeros(shape) for node, shape in shapes.items()}
        self.sums = {node: np.zeros(shape) for node, shape in shapes.items()}

    def edges(self, node: int) -> list[int]:
        """Return where the edges of a node lead."""
        return self.tree.child[self.tree.first_edge[node] : self.tree.first_edge[node + 1]].tolist()

    def matched(self, node: int) -> Floats:
        """Return the policy that a node's regrets stand for."""
        number = self.regret[node]
        if self.variant.predictive and self.t:
            now = [discount(self.t, exponent) for exponent in (self.variant.alpha, self.variant.beta)]
            number = number * np.where(number > 0, *now) + self.prediction[node]
        number = np.where(number > REGRET_NOISE * self.tree.payoff_scale, number, 0.0)
        mass = number.sum(axis=1, keepdims=True)
        return np.where(mass > 0, number / np.where(mass > 0, mass, 1), 1 / number.shape[1])

    def average(self, node: int) -> Floats:
        """Return the average policy of a node, and the current one where it never came there."""
        mass = self.sums[node].sum(axis=1, keepdims=True)
        return np.where(mass > 0, self.sums[node] / np.where(mass > 0, mass, 1), self.matched(node))

    def run(self, n: int) -> None:
        """Run `n` more iterations."""
        for _ in range(n):
            before = {node: self.matched(node) for node in self.regret}
            t = self.t + 1
            for seat in (0, 1):
                gains: dict[int, Floats] = {}
                policy = before
                if seat == 1 and self.variant.alternating:
                    # Player 1 responds to player 0's updated policy, which counts iteration t as its last.
                    self.t = t
                    policy = {
                        node: self.matched(node) if self.tree.player[node] == 0 else before[node]
                        for node in before
                    }
                    self.t = t - 1
                other = np.ones(self.tree.n_private[1 - seat])
                self._sweep(0, seat, other, policy, gains, float(t) ** self.variant.gamma)
                self._learn(seat, t, gains)
            self.t = t

    def _sweep(
        self,
        node: int,
        seat: int,
        other: Floats,
        policy: dict[int, Floats],
        gains: dict[int, Floats],
        w: float,
    ) -> Floats:
        """Return the seat's counterfactual values; add the other's part of the average."""
        if node < 0:
            paid = self.tree.payoffs.dense(-1 - node)
            return paid @ other if seat == 0 else -(other @ paid)
        who = int(self.tree.player[node])
        if who == seat:
            q = np.stack([self._sweep(to, seat, other, policy, gains, w) for to in self.edges(node)], axis=1)
            value = (policy[node] * q).sum(axis=1)
            gains[node] = q - value[:, None]
            return value
        total = np.zeros(self.tree.n_private[seat])
        for k, to in enumerate(self.edges(node)):
            reach = other if who < 0 else other * policy[node][:, k]
            total += self._sweep(to, seat, reach, policy, gains, w)
        if who >= 0:
            self.sums[node] += w * other[:, None] * policy[node]
        return total

    def _learn(self, seat: int, t: int, gains: dict[int, Floats]) -> None:
        now = [discount(t - 1, exponent) for exponent in (self.variant.alpha, self.variant.beta)]
        for node, gain in gains.items():
            old = self.regret[node]
            new = old * np.where(old > 0, *now) + gain
            self.regret[node] = np.maximum(new, 0) if self.variant.clip else new
            self.prediction[node] = gain
