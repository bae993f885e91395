"""Counterfactual regret minimisation as the papers print it: one history at a time, over lists of numbers.

This is the algorithm to read, and to change when you try an idea. `cfr.solve` runs the same iterations a
thousand times faster; the tests hold every one of its iterations to this module.

    >>> from cfr import PlainCfr, exploitability, grow
    >>> from games import load_game
    >>> tree = grow(load_game("kuhn_poker"))
    >>> plain = PlainCfr(tree, "cfr+")
    >>> plain.run(100)
    >>> policy = plain.average_policy()
    >>> round(exploitability(tree, policy), 3)
    0.001
    >>> jack = 0  # infosets are numbered as in the tree; in the first, player 0 holds the jack
    >>> [f"{p:.2f}" for p in plain.table(policy)[jack]]  # check, bet
    ['0.81', '0.19']

The notation is that of Zinkevich et al. 2007. Player i has the policy σ(I, a) at its infoset I. π₋ᵢ(h) is the
probability that chance and everyone but i lead to the history h, and v(h) is what h is worth to i when all
follow σ. In iteration t = 1, 2, … each player in turn

1. measures the instantaneous counterfactual regrets, rᵗ(I, a) = Σ π₋ᵢ(h) (v(h·a) − v(h)) over h in I
   (`measure`; Zinkevich et al. 2007);
2. adds them to the cumulative regrets, R(I, a) ← d·R(I, a) + rᵗ(I, a), where d discounts by the sign of R
   (`accumulate`; Brown and Sandholm 2019), and clips them at zero in the variants that end in + (Tammelin
   2014);
3. plays in proportion to the positive part of R (`match`; Hart and Mas-Colell 2000), or of R plus the
   expectation that rᵗ comes again (Farina, Kroer and Sandholm 2021).

What converges to an equilibrium is the average policy, in which iteration t counts tᵞ times the player's own
probability of coming to I (`average`; Zinkevich et al. 2007 with γ = 0, Tammelin 2014 with γ = 1). The
numbers of each variant are rows of `cfr.variants`.
"""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import NDArray

from cfr.sequence_form import is_two_sided
from cfr.tree import FlatTree, require_tree
from cfr.variants import DEFAULT_VARIANT, Variant, check_whole, variant
from games.game import CHANCE, TERMINAL

Table = list[list[float]]
"""For each infoset of the tree one number for each of its actions."""


def discount(t: int, exponent: float) -> float:
    """Return tᵉ / (tᵉ + 1): 1 for an exponent of inf, which discounts nothing, 0 for -inf, which forgets.

    Source: Brown and Sandholm 2019, discounted CFR.
    """
    if exponent in (inf, -inf):
        return float(exponent > 0)
    try:
        power: float = float(t) ** exponent
    except (OverflowError, ZeroDivisionError):  # too large for a number
        return 1.0
    return power / (power + 1)


class PlainCfr:
    """CFR on a tree or forest, for any number of deciding seats, step by step.

    variant: the row of `cfr.variants` that runs. t: iterations done.
    seats: the seats that decide, in the order of their updates: as they are numbered, but for team 0's first
        where one of each of two teams decides. owner: the seat of each infoset.
    policy: σ of the last iteration. regret: R. gain: r, as last measured. strategy_sum: the sums of the
        average policy.
    noise: regrets up to this are matched as if they were 0, so that rounding breaks no tie.
    Raises UnknownVariant for a name that is not in the table.
    """

    def __init__(
        self, tree: FlatTree, variant_name: str | Variant = DEFAULT_VARIANT, noise: float = 0.0
    ) -> None:
        require_tree(tree)
        self.variant = variant(variant_name)
        self.noise = noise
        self.t = 0
        self._children = [
            range(first, first + n)
            for first, n in zip(tree.first_child.tolist(), tree.n_children.tolist(), strict=True)
        ]
        self._player: list[int] = tree.player.tolist()
        self._infoset: list[int] = tree.infoset.tolist()
        self._prob: list[float] = tree.chance_prob.tolist()
        self._returns = dict(zip(tree.terminal.tolist(), tree.returns.tolist(), strict=True))
        self._roots = range(tree.n_roots)
        self._offset: list[int] = tree.infoset_offset.tolist()
        self.owner: list[int] = tree.infoset_player.tolist()
        self.seats = sorted(set(self.owner), key=tree.teams.__getitem__ if is_two_sided(tree) else None)
        sizes = np.diff(tree.infoset_offset).tolist()
        self.policy: Table = [[1 / n] * n for n in sizes]
        self.regret: Table = [[0.0] * n for n in sizes]
        self.gain: Table = [[0.0] * n for n in sizes]
        self.strategy_sum: Table = [[0.0] * n for n in sizes]

    def run(self, n: int) -> None:
        """Run `n` more iterations. Raises ValueError unless that is a whole number of at least 0."""
        for _ in range(check_whole("iterations", n, ValueError)):
            self.iterate()

    def iterate(self) -> None:
        """Run one iteration.

        Alternating, each seat answers the policies that the seats before it have just updated. Otherwise all
        regrets are measured first.
        """
        self.t += 1
        if not self.variant.alternating:
            self.average()
            for seat in self.seats:
                self.measure(seat)
            for seat in self.seats:
                self.accumulate(seat)
                self.match(seat)
            return
        for k, seat in enumerate(self.seats):
            self.measure(seat)
            self.accumulate(seat)
            self.match(seat)
            if k == 0:
                self.average()

    def measure(self, seat: int) -> None:
        """Fill `gain` with the seat's instantaneous counterfactual regrets, rᵗ."""
        for infoset in self._of(seat):
            self.gain[infoset] = [0.0] * len(self.gain[infoset])
        for root in self._roots:
            self._value(root, seat, self._prob[root])

    def _value(self, node: int, seat: int, others: float) -> float:
        """Return v of a history for `seat`; add π₋ᵢ (v(h·a) − v(h)) to `gain` on the way.

        others: π₋ᵢ of the history, the weight of its root included.
        """
        player, children = self._player[node], self._children[node]
        if player == TERMINAL:
            payoff: float = self._returns[node][seat]
            return payoff
        if player == CHANCE:
            return sum(self._prob[c] * self._value(c, seat, others * self._prob[c]) for c in children)
        policy = self.policy[self._infoset[node]]
        if player != seat:
            return sum(p * self._value(c, seat, others * p) for p, c in zip(policy, children, strict=True))
        values = [self._value(c, seat, others) for c in children]
        mean = sum(p * v for p, v in zip(policy, values, strict=True))
        gain = self.gain[self._infoset[node]]
        for a, v in enumerate(values):
            gain[a] += others * (v - mean)
        return mean

    def accumulate(self, seat: int) -> None:
        """Discount the seat's cumulative regrets R, add r, and clip them if the variant does."""
        for infoset in self._of(seat):
            new = [
                R * self._discount(self.t - 1, R) + r
                for R, r in zip(self.regret[infoset], self.gain[infoset], strict=True)
            ]
            self.regret[infoset] = [max(R, 0.0) for R in new] if self.variant.clip else new

    def match(self, seat: int) -> None:
        """Let the seat play what its regrets call for."""
        for infoset in self._of(seat):
            self.policy[infoset] = self.matched(infoset)

    def matched(self, infoset: int) -> list[float]:
        """Return the policy that the regrets of an infoset call for; uniform where none is positive."""
        weights = self.regret[infoset]
        if self.variant.predictive:
            weights = [
                R * self._discount(self.t, R) + r for R, r in zip(weights, self.gain[infoset], strict=True)
            ]
        weights = [w if w > self.noise else 0.0 for w in weights]
        total = sum(weights)
        return [w / total for w in weights] if total > 0 else [1 / len(weights)] * len(weights)

    def _discount(self, t: int, regret: float) -> float:
        return discount(t, self.variant.alpha if regret > 0 else self.variant.beta)

    def average(self) -> None:
        """Add tᵞ times everyone's own probability of playing to each action to the sums of the average."""
        weight = self.t**self.variant.gamma
        for sums, plan in zip(self.strategy_sum, self._plan(), strict=True):
            for a, p in enumerate(plan):
                sums[a] += weight * p

    def _plan(self) -> Table:
        """Return for each infoset and action its player's own probability of playing to it."""
        plan = [[0.0] * len(p) for p in self.policy]

        def visit(node: int, own: dict[int, float]) -> None:
            player = self._player[node]
            for a, child in enumerate(self._children[node]):
                reach = own
                if player >= 0:
                    infoset = self._infoset[node]
                    plan[infoset][a] = own[player] * self.policy[infoset][a]
                    reach = {**own, player: plan[infoset][a]}
                visit(child, reach)

        for root in self._roots:
            visit(root, dict.fromkeys(self.seats, 1.0))
        return plan

    def average_policy(self) -> NDArray[np.float64]:
        """Return the average policy, [n_slots] float64; where it never plays, the current policy."""
        return self.on_slots(
            [
                [s / sum(sums) for s in sums] if sum(sums) > 0 else policy
                for sums, policy in zip(self.strategy_sum, self.policy, strict=True)
            ]
        )

    def current_policy(self) -> NDArray[np.float64]:
        """Return the policy that the next iteration starts from, [n_slots] float64."""
        return self.on_slots(self.policy)

    @staticmethod
    def on_slots(table: Table) -> NDArray[np.float64]:
        """Return the numbers of a table on the slots of the tree, [n_slots] float64."""
        return np.array([x for numbers in table for x in numbers], np.float64)

    def table(self, slots: NDArray[np.float64]) -> Table:
        """Return numbers on the slots of the tree, [n_slots] float64, as a table."""
        ends = zip(self._offset[:-1], self._offset[1:], strict=True)
        return [slots[first:last].tolist() for first, last in ends]

    def _of(self, seat: int) -> list[int]:
        """Return the seat's infosets."""
        return [infoset for infoset, owner in enumerate(self.owner) if owner == seat]
