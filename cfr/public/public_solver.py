"""Vector-form CFR: every variant of `cfr.variants` on a public tree, exactly as on the listed one.

    solver = PublicSolver(grow_public(load_game("liars_dice(dice=2,sides=4)")), "dcfr")
    solver.run(100)
    solver.evaluate().exploitability

Source: Johanson et al. 2011 (best response on the public tree), Zinkevich et al. 2007 and the variants' own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cfr.engine.kernels import discount_table
from cfr.engine.resume import check_whole
from cfr.public.sweep_arrays import Rules, SideArrays, new_side, release_side, set_round, swept_dtype
from cfr.public.sweep_kernels import AVERAGE, BEST, CURRENT, LEARN, VALUE
from cfr.public.sweeper import Sweep, Sweeper, usable_cores
from cfr.public.tree import PublicTree
from cfr.variants import DEFAULT_VARIANT, REGRET_NOISE, Variant, variant

__all__ = ["Evaluation", "PublicSolver", "PublicSolverError"]


class PublicSolverError(ValueError):
    """Bad input to a solver of public trees: the rule, the value received and the next step."""


@dataclass(frozen=True)
class Evaluation:
    """What a pair of policies is worth, in payoffs.

    value: expected payoff to player 0. best_response: what each player gets by best-responding alone.
    """

    value: float
    best_response: tuple[float, float]

    @property
    def exploitability(self) -> float:
        """NashConv / 2."""
        return sum(self.best_response) / 2


class PublicSolver:
    """CFR on a public tree, resumable exactly.

    tree: from `grow_public`. variant_name: a row of `cfr.variants.VARIANTS`, or one of your own.
    dtype: float64, or float32 for half the memory and nearly twice the speed; regrets then carry 7 digits.
        With int16 they take a quarter, in `cfr.engine.simd`, and sweeps count in float32.
    threads: how many sweep at once, by default as many as this process has cores; results do not depend on
    it.
    iteration: iterations done so far.
    """

    def __init__(
        self,
        tree: PublicTree,
        variant_name: str | Variant = DEFAULT_VARIANT,
        *,
        dtype: Any = np.float64,
        threads: int | None = None,
    ) -> None:
        if np.dtype(dtype) not in (np.int16, np.float32, np.float64):
            raise PublicSolverError(f"dtype must be float32, float64 or int16; got {dtype}")
        if threads is not None and threads < 1:
            raise PublicSolverError(f"threads must be at least 1; got {threads}")
        self.tree, self.variant = tree, variant(variant_name)
        self.dtype = np.dtype(dtype)
        self.iteration = 0
        self.sweeper = Sweeper(tree, swept_dtype(self.dtype), threads or usable_cores())
        self._noise = REGRET_NOISE * tree.payoff_scale
        v = self.variant
        self.sides: tuple[SideArrays, SideArrays] = (
            new_side(tree, 0, self.dtype, predictive=v.predictive, held=not v.alternating),
            new_side(tree, 1, self.dtype, predictive=v.predictive, held=False),
        )
        self._discounts = discount_table(0, float(self.variant.alpha), float(self.variant.beta))

    def rules(self) -> Rules:
        """Return what a sweep is told of the variant."""
        return self.variant.clip, self.variant.predictive, self._noise, self._discounts

    def run(self, n: int) -> None:
        """Run `n` more iterations. Raises PublicSolverError unless that is a whole number of at least 0."""
        last = self.iteration + check_whole("iterations", n, PublicSolverError)
        if last >= len(self._discounts):
            self._discounts = discount_table(2 * last, float(self.variant.alpha), float(self.variant.beta))
        while self.iteration < last:
            self._iterate(self.iteration + 1)
            self.iteration += 1

    def _iterate(self, t: int) -> None:
        v, rules = self.variant, self.rules()
        weight = float(t) ** v.gamma
        set_round(self.sides, t)
        first = Sweep(0, LEARN, CURRENT, (t - 1, t - 1), t, weight, not v.alternating)
        self.sweeper.sweep(first, rules, self.sides)
        updated = (t, t - 1) if v.alternating else (t - 1, t - 1)
        self.sweeper.sweep(Sweep(1, LEARN, CURRENT, updated, t, weight), rules, self.sides)
        if not v.alternating:
            release_side(0, t, rules, self.sweeper.arrays, self.sides[0])

    def evaluate(self, *, current: bool = False) -> Evaluation:
        """Return what the average policies are worth, or with `current` those of the last iteration."""
        which = CURRENT if current else AVERAGE
        done = (self.iteration, self.iteration)

        def value(player: int, mode: int) -> float:
            sweep = Sweep(player, mode, which, done)
            return float(self.sweeper.sweep(sweep, self.rules(), self.sides).sum(dtype=np.float64))

        return Evaluation(value(0, VALUE), (value(0, BEST), value(1, BEST)))

    def resume_at(self, iteration: int) -> None:
        """Take the arrays of `sides` for those after so many iterations (`cfr.public.saved_run`)."""
        self.iteration = iteration
        if iteration >= len(self._discounts):
            v = self.variant
            self._discounts = discount_table(2 * iteration, float(v.alpha), float(v.beta))

    def exploitability(self) -> float:
        """Return the average policies' NashConv / 2, in payoffs."""
        return self.evaluate().exploitability
