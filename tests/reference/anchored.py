"""Magnetic mirror descent, one history and one infoset at a time."""

from __future__ import annotations

import numpy as np

from cfr.anchored import COOLING, FLOOR, RATE, Anchor
from cfr.tree import FlatTree


class PlainAnchored:
    """What `AnchoredSolver` does, plainly; policies are dictionaries by infoset."""

    def __init__(self, tree: FlatTree, anchor: Anchor) -> None:
        """Start at the magnet."""
        self.tree = tree
        self.scale = float(tree.returns.max() - tree.returns.min())
        self.rate = RATE / self.scale
        self.seats = sorted(set(tree.infoset_player.tolist()))
        self.tau = dict(enumerate(anchor.temperatures(tree.n_players).tolist()))
        self.payoff = {int(z): tree.returns[row] for row, z in enumerate(tree.terminal)}
        self.magnet, self.free = {}, set()
        for i in range(tree.n_infosets):
            given = anchor.magnet[tree.slots(i)]
            uniform = np.full(len(given), 1 / len(given))
            if np.isnan(given).any():
                self.free.add(i)
                given = uniform
            self.magnet[i] = (1 - anchor.smoothing) * given + anchor.smoothing * uniform
        self.policy = {i: probs.copy() for i, probs in self.magnet.items()}
        often, anyhow = self._reach(self.magnet), self._reach(None)
        self.weight = {i: (1 - FLOOR) * often[i] + FLOOR * anyhow[i] for i in often}
        self.last: dict[int, dict[int, np.ndarray]] = {}
        self.t = 0

    def _way(self, node: int) -> list[tuple[int, int]]:
        """Return the histories above a node, each with the action taken there, from the root on."""
        way = []
        while self.tree.parent[node] >= 0:
            up = int(self.tree.parent[node])
            way.append((up, node - int(self.tree.first_child[up])))
            node = up
        return way[::-1]

    def _others(self, node: int, seat: int, policy: dict[int, np.ndarray] | None) -> float:
        """Return how likely chance and all seats but one lead to a node; others as they like without one."""
        tree, likely = self.tree, 1.0
        for up, action in self._way(node):
            child = int(tree.first_child[up]) + action
            if tree.player[up] < 0:
                likely *= tree.chance_prob[child]
            elif tree.player[up] != seat and policy is not None:
                likely *= policy[int(tree.infoset[up])][action]
        root = self._way(node)[0][0] if self._way(node) else node
        return float(likely * tree.chance_prob[root])

    def _reach(self, policy: dict[int, np.ndarray] | None) -> dict[int, float]:
        found = dict.fromkeys(range(self.tree.n_infosets), 0.0)
        for node in np.flatnonzero(self.tree.player >= 0).tolist():
            found[int(self.tree.infoset[node])] += self._others(node, int(self.tree.player[node]), policy)
        return found

    def own(self, node: int, seat: int) -> tuple[int, int] | None:
        """Return the seat's last infoset and action above a node, or None."""
        mine = [(int(self.tree.infoset[up]), a) for up, a in self._way(node) if self.tree.player[up] == seat]
        return mine[-1] if mine else None

    def gradient(self, seat: int) -> dict[int, np.ndarray]:
        """Return what ends right after each action of the seat is worth, by the others' reach."""
        found = {i: np.zeros(len(self.policy[i])) for i in self.infosets(seat)}
        for z, payoff in self.payoff.items():
            last = self.own(z, seat)
            if last is not None:
                found[last[0]][last[1]] += self._others(z, seat, self.policy) * payoff[seat]
        return found

    def infosets(self, seat: int) -> list[int]:
        """Return the seat's infosets, ancestors first."""
        return np.flatnonzero(self.tree.infoset_player == seat).tolist()

    def before(self, infoset: int) -> tuple[int, int] | None:
        """Return the own infoset and action before an infoset, or None."""
        node = int(np.flatnonzero(self.tree.infoset == infoset)[0])
        return self.own(node, int(self.tree.infoset_player[infoset]))

    def price(self, infoset: int) -> float:
        """Return what a nat of distance from the magnet costs at an infoset."""
        tau = self.tau[int(self.tree.infoset_player[infoset])]
        return 0.0 if infoset in self.free else tau * self.weight[infoset]

    def iterate(self) -> None:
        """Make one iteration."""
        self.t += 1
        for seat in self.seats:
            now = self.gradient(seat)
            gain = {i: 2 * g - self.last[seat][i] if self.t > 1 else g.copy() for i, g in now.items()}
            self.last[seat] = now
            often = self._reach(self.policy)
            for i in reversed(self.infosets(seat)):
                cost = max(self.price(i), COOLING * self.scale * self.weight[i] / self.t)
                hold = max(often[i], self.weight[i]) / self.rate
                if cost + hold == 0:
                    continue
                logits = gain[i] + cost * np.log(self.magnet[i]) + hold * np.log(self.policy[i])
                weights = np.exp((logits - logits.max()) / (cost + hold))
                value = logits.max() + (cost + hold) * np.log(weights.sum())
                self.policy[i] = weights / weights.sum()
                above = self.before(i)
                if above is not None:
                    gain[above[0]][above[1]] += value

    def on_slots(self) -> np.ndarray:
        """Return the policy, [n_slots]."""
        return np.concatenate([self.policy[i] for i in range(self.tree.n_infosets)])

    def wanted(self, seat: int) -> dict[int, np.ndarray]:
        """Return the policy in proportion to magnet · exp(q / price), q net of what is paid below."""
        gain, found = self.gradient(seat), {}
        for i in reversed(self.infosets(seat)):
            price, policy = self.price(i), self.policy[i]
            net = policy @ (gain[i] - price * np.log(policy / self.magnet[i]))
            weights = self.magnet[i] * np.exp((gain[i] - gain[i].max()) / price)
            found[i] = weights / weights.sum()
            above = self.before(i)
            if above is not None:
                gain[above[0]][above[1]] += net
        return found
