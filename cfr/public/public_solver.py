"""Vector-form CFR: every variant of `cfr.variants` on a public tree, exactly as on the listed one.

    solver = PublicSolver(grow_public(load_game("liars_dice(dice=2,sides=4)")), "dcfr")
    solver.run(100)
    solver.evaluate().exploitability

Source: Johanson et al. 2011 (best response on the public tree), Zinkevich et al. 2007 and the variants' own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.engine.kernels import discounts_until
from cfr.public.sweep_kernels import (
    AVERAGE,
    CURRENT,
    LEARN,
    Rules,
    SideArrays,
    new_side,
    release_side,
    set_round,
    swept_dtype,
)
from cfr.public.sweeper import Evaluation, Sweep, Sweeper, usable_cores
from cfr.public.tree import PublicTree
from cfr.variants import DEFAULT_VARIANT, REGRET_NOISE, Variant, variant
from games.support.counts import check_whole

__all__ = ["PublicSolver", "PublicSolverError"]

CHECKPOINT = "gs2-public-cfr"
"""What the file of a saved run says that it is."""
FORMAT = 2
KEPT = ("regret", "prediction", "sums", "stamp", "free")
"""Names in such a file, each behind it the number of a player; and of packed numbers what follows that."""
SCALES = "_exponents"


class PublicSolverError(ValueError):
    """Bad input to a solver of public trees: the rule, the value received and the next step."""


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
        self._discounts = discounts_until(np.zeros((0, 4)), 0, v)

    def rules(self) -> Rules:
        """Return what a sweep is told of the variant."""
        return bool(self.variant.clip), bool(self.variant.predictive), self._noise, self._discounts

    def run(self, n: int) -> None:
        """Run `n` more iterations. Raises PublicSolverError unless that is a whole number of at least 0."""
        last = self.iteration + check_whole("iterations", n, PublicSolverError)
        self._discounts = discounts_until(self._discounts, last, self.variant)
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
        return self.sweeper.evaluate(which, (self.iteration, self.iteration), self.rules(), self.sides)

    def resume_at(self, iteration: int) -> None:
        """Take the arrays of `sides` for those after so many iterations (`cfr.public.saved_run`)."""
        self.iteration = iteration
        self._discounts = discounts_until(self._discounts, iteration, self.variant)

    def restart(self) -> None:
        """Begin anew."""
        for name, array in self.kept().items():
            array[:] = name.startswith("free")
        self.resume_at(0)

    def describe(self) -> dict[str, Any]:
        """Return what must be the same for a run to go on (`cfr.public.saved_run`)."""
        tree, variant = self.tree, self.variant
        numbers = {
            **{name: repr(float(getattr(variant, name))) for name in ("alpha", "beta", "gamma")},
            **{name: repr(bool(getattr(variant, name))) for name in ("clip", "predictive", "alternating")},
        }
        return {
            "magic": CHECKPOINT,
            "format": FORMAT,
            "game": tree.game.name,
            "variant": {"name": variant.name, **numbers},
            "dtype": self.dtype.name,
            "nodes": len(tree),
            "private states": list(tree.n_private),
            "tree": tree.digest(),
        }

    def kept(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that a run goes on from, by their names in a file."""
        found: dict[str, NDArray[Any]] = {}
        for player, (regret, prediction, sums, stamp, _, free, *_) in enumerate(self.sides):
            for name, array in zip(KEPT, (regret, prediction, sums, stamp, free), strict=True):
                if isinstance(array, tuple):
                    array, found[f"{name}{player}{SCALES}"], _ = array
                found[f"{name}{player}"] = array
        return found

    def exploitability(self) -> float:
        """Return the average policies' NashConv / 2, in payoffs."""
        return self.evaluate().exploitability
