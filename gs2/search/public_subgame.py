"""A subgame at a public state, with its gadget, solved by vector-form CFR.

The roots are pairs of private states, some of which may be left out. Above them the opponent chooses as the
gadget lets it: whether to enter with each private state (`resolve`), with which one (`maxmargin`), or not at
all (`unsafe`). The searching player may be held to its old policy with some of its private states.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.engine.kernels import discount_table
from cfr.public.policies.public_policy import learnt_rows
from cfr.public.sweep_kernels import (
    AVERAGE,
    BEST,
    CURRENT,
    LEARN,
    VALUE,
    Rules,
    SideArrays,
    new_side,
)
from cfr.public.sweeper import Sweep, Sweeper
from cfr.public.tree import PublicTree, padded
from cfr.variants import REGRET_NOISE, Variant
from gs2.search.gadget.entry import LIVE

__all__ = ["EntryChoice", "PublicProblem", "PublicSolution", "solve_problem"]


@dataclass(frozen=True, eq=False)
class PublicProblem:
    """What is solved at a public state.

    tree: the public tree below it. player: who searches.
    pairs: [own private states, the opponent's] float64, probability by chance of each pair; 0 if left out.
    reach: [own] float64, the searching player's own part in how it comes there.
    opponent_reach: [opponent's] float64, the opponent's; only `unsafe` reads it.
    alternative: [opponent's] float64, what each of its private states is worth to it outside, in payoffs.
    free: [own] bool, private states with which the player's policy is solved; with others it is `old`.
    old: the player's policy below the state, [rows, wide].
    gadget: resolve, maxmargin or unsafe.
    """

    tree: PublicTree
    player: int
    pairs: NDArray[np.float64]
    reach: NDArray[np.float64]
    opponent_reach: NDArray[np.float64]
    alternative: NDArray[np.float64]
    free: NDArray[np.bool_]
    old: NDArray[np.float64]
    gadget: str

    @property
    def mass(self) -> NDArray[np.float64]:
        """Probability that chance and the searching player lead to each of the opponent's private states."""
        found: NDArray[np.float64] = self.reach @ self.pairs
        return found

    def masked_tree(self, weights: NDArray[np.float64]) -> PublicTree:
        """Return the tree without the payoffs of pairs that are left out. weights: [n0, n1], all pairs."""
        kept = (self.pairs > 0) if self.player == 0 else (self.pairs > 0).T
        paid = self.tree.payoffs.restricted(kept, weights > 0, self.tree.kinds_used)
        return replace(self.tree, payoffs=paid)


@dataclass(frozen=True, eq=False)
class PublicSolution:
    """The solution of a subgame.

    policy: [rows, wide] float64, the searching player's below the public state.
    solved: [opponent's private states] float64, what they are worth to the opponent against it, as the
        subgame sees it; nan where the subgame leaves them out.
    gap: exploitability of the solution within the gadget, in payoffs. iterations: run.
    """

    policy: NDArray[np.float64]
    solved: NDArray[np.float64]
    gap: float
    iterations: int


class EntryChoice:
    """The opponent's choices above the roots, learnt like every other regret.

    mass: how likely each of its private states is; those at most LIVE are out of the game.
    """

    def __init__(self, problem: PublicProblem, v: Variant) -> None:
        self.problem, self.variant = problem, v
        self.mass = problem.mass
        self.live = self.mass > LIVE
        n = len(self.mass)
        width = 2 if problem.gadget == "resolve" else 1
        self._regret, self._expected = np.zeros((n, width)), np.zeros((n, width))
        self._sum = np.zeros((n, width))
        self._t = 0

    def _policy(self) -> NDArray[np.float64]:
        number = self._regret
        if self.variant.predictive and self._t:
            number = number * _factor(self._t, self.variant, number) + self._expected
        number = np.maximum(number, 0.0) * self.live[:, None]
        if self.problem.gadget == "resolve":
            total = number.sum(1, keepdims=True)
            return np.asarray(np.where(total > 0, number / np.where(total > 0, total, 1), 0.5))
        total = float(number.sum())
        return np.asarray(number / total if total > 0 else self.live[:, None] / self.live.sum())

    def reach(self, *, average: bool = False) -> NDArray[np.float64]:
        """Return what the roots are dealt with: [opponent's private states], to multiply the pairs with.

        average: by the average of all choices so far, in place of the next one.
        """
        if self.problem.gadget == "unsafe":
            likely = self.problem.opponent_reach * self.live
            if not (likely @ self.mass) > LIVE:
                likely = self.live.astype(np.float64)
            return np.asarray(likely / (likely @ self.mass))
        policy = self._average() if average else self._policy()
        if self.problem.gadget == "resolve":
            return np.asarray(policy[:, 1] * self.live / self.mass[self.live].sum())
        return np.asarray(np.where(self.live, policy[:, 0] / np.where(self.live, self.mass, 1), 0.0))

    def _average(self) -> NDArray[np.float64]:
        total = self._sum.sum(1, keepdims=True) if self.problem.gadget == "resolve" else self._sum.sum()
        return np.asarray(np.where(total > 0, self._sum / np.where(total > 0, total, 1), self._policy()))

    def worth(self, solved: NDArray[np.float64], theirs: float) -> tuple[float, float]:
        """Return what the opponent gets by the best choices, and what its average choices make sure of.

        solved: [opponent's private states], each one's value against the solution. theirs: what the player
        gets by best-responding, with the roots dealt as the average has it.
        """
        problem, solved = self.problem, np.where(self.live, solved, 0.0)
        if problem.gadget == "unsafe":
            return float((self.reach() * self.mass) @ solved), -theirs
        average, outside = self._average(), np.where(self.live, problem.alternative, 0.0)
        if problem.gadget == "resolve":
            share = np.where(self.live, self.mass, 0.0) / self.mass[self.live].sum()
            best = float(share @ np.maximum(solved, outside))
            return best, float((share * average[:, 0]) @ outside) - theirs
        return float((solved - outside)[self.live].max()), -theirs - float(average[:, 0] @ outside)

    def learn(self, values: NDArray[np.float64], weight: float) -> None:
        """Update the choices from counterfactual values [opponent's private states] of entering.

        weight: of the choices just made in their average.
        """
        if self.problem.gadget == "unsafe":
            return
        policy, problem = self._policy(), self.problem
        self._sum += weight * policy
        self._t += 1
        if problem.gadget == "resolve":
            total = self.mass[self.live].sum()
            inside = np.where(self.live, values, 0.0) / total
            outside = np.where(self.live, problem.alternative * self.mass, 0.0) / total
            worth = np.stack([outside, inside], axis=1)
            gain = worth - (policy * worth).sum(1, keepdims=True)
        else:
            margin = np.where(
                self.live, values / np.where(self.live, self.mass, 1) - problem.alternative, 0.0
            )
            gain = np.where(self.live, margin - policy[:, 0] @ margin, 0.0)[:, None]
        factor = _factor(self._t - 1, self.variant, self._regret)
        self._regret = self._regret * factor + gain
        if self.variant.clip:
            self._regret = np.maximum(self._regret, 0.0)
        self._expected = gain


def _factor(t: int, v: Variant, regrets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what regrets are discounted by before iteration t + 1, of their shape."""
    if t <= 0:
        return np.ones_like(regrets)
    table = discount_table(t, float(v.alpha), float(v.beta))[t]
    return np.asarray(np.where(regrets > 0, table[0], table[1]))


def solve_problem(
    problem: PublicProblem, v: Variant, iterations: int, threads: int, deadline: float | None = None
) -> PublicSolution:
    """Return the solution after some iterations, or when the deadline (of `time.perf_counter()`) is over."""
    tree, me = problem.tree, problem.player
    opponent = 1 - me
    n_mine = tree.n_private[me]
    sweeper = Sweeper(tree, np.float64, threads)
    fresh = [new_side(tree, p, np.float64, predictive=v.predictive, held=False) for p in (0, 1)]
    sides: tuple[SideArrays, SideArrays] = (fresh[0], fresh[1])
    sides[me][5][:n_mine] = problem.free
    held = np.zeros(padded(n_mine))
    held[:n_mine] = ~problem.free
    # What is held to the old policy starts with its probabilities for regrets, and never learns others.
    sides[me][0][:] = (problem.old * held).reshape(-1)
    scale = tree.payoff_scale
    table = discount_table(iterations + 1, float(v.alpha), float(v.beta))
    rules: Rules = (v.clip, v.predictive, REGRET_NOISE * scale * float(problem.pairs.sum()), table)
    choice = EntryChoice(problem, v)
    reach = problem.reach
    done = 0
    for t in range(1, iterations + 1):
        weight = float(t) ** v.gamma
        entry = choice.reach()
        sweeper.sweep(Sweep(me, LEARN, CURRENT, (t - 1, t - 1), t, weight), rules, sides, entry)
        updated = (t, t - 1) if me == 0 else (t - 1, t)
        values = sweeper.sweep(Sweep(opponent, LEARN, CURRENT, updated, t, weight), rules, sides, reach)
        choice.learn(values, weight)
        done = t
        if deadline is not None and time.perf_counter() >= deadline:
            break
    policy = np.zeros((tree.n_rows[me], padded(n_mine)))
    learnt = np.concatenate([*learnt_rows(tree, me, sides[me], rules, done)])
    policy[:, :n_mine] = np.where(problem.free, learnt, problem.old[:, :n_mine])
    gap, solved = _review(sweeper, rules, sides, choice, policy, done)
    sweeper.close()
    return PublicSolution(policy, solved, gap, done)


def _review(
    sweeper: Sweeper,
    rules: Rules,
    sides: tuple[SideArrays, SideArrays],
    choice: EntryChoice,
    policy: NDArray[np.float64],
    done: int,
) -> tuple[float, NDArray[np.float64]]:
    """Return (gap, what each of the opponent's private states is worth against the policy) in the subgame."""
    problem = choice.problem
    me = problem.player
    mine: Any = list(sides[me])
    mine[2] = np.ascontiguousarray(policy).reshape(-1)
    pair = (tuple(mine), sides[1]) if me == 0 else (sides[0], tuple(mine))

    def values(player: int, mode: int, reach: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(sweeper.sweep(Sweep(player, mode, AVERAGE, (done, done)), rules, pair, reach))

    entry = choice.reach(average=True)
    own = np.where(problem.free, values(me, BEST, entry), values(me, VALUE, entry))
    with np.errstate(invalid="ignore", divide="ignore"):
        solved = np.where(choice.live, values(1 - me, BEST, problem.reach) / choice.mass, np.nan)
    best, sure = choice.worth(solved, float(problem.reach @ own))
    return (best - sure) / 2, solved
