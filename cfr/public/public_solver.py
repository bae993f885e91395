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
from numpy.typing import NDArray

from cfr.engine.kernels import discounts_until
from cfr.engine.simd import LANES
from cfr.public.sweeper import (
    AVERAGE,
    CURRENT,
    LEARN,
    Evaluation,
    Rules,
    SideArrays,
    Sweep,
    Sweeper,
    new_side,
    release_side,
    set_round,
    swept_dtype,
    usable_cores,
)
from cfr.public.swept_payoffs import swept_bytes
from cfr.public.tree import PublicTree, PublicView, grow_public, padded, past_forced
from cfr.tree.memory import ALLOW_MORE, TooLarge, memory_limit, words_of_bytes
from cfr.variants import DEFAULT_VARIANT, REGRET_NOISE, Variant, check_whole, variant
from games.infosets.factored import FactoredGame
from games.size import Count, estimate_size

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
        """Run `n` more iterations. Raises PublicSolverError unless `n` is whole, at least 0 and in range."""
        last = self.iteration + check_whole("iterations", n, PublicSolverError)
        gamma, at = self.variant.gamma, self.dtype
        if last > (most := int(float(np.finfo(swept_dtype(at)).max) ** (1 / (gamma + 1)))):
            raise PublicSolverError(
                f"iterations must be at most {most} with gamma={gamma:g} in {at}; got {last}; use float64"
            )
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


NODE_BYTES, EDGE_BYTES = 21 + 2 * 4, 4
"""Of the tree, and of both players' stamps."""


@dataclass(frozen=True)
class PublicSize:
    """Sizes of a public tree; counted if it is small, else estimated.

    nodes: public states at which somebody has a choice. private: private states of each player.
    slots: probabilities in a policy. cfr_bytes: of CFR without predictions in float64; float32_bytes: in
    float32.
    """

    nodes: Count
    private: tuple[int, int]
    slots: Count
    cfr_bytes: Count
    float32_bytes: Count


def estimate_public_size(game: FactoredGame, *, seed: int = 0) -> PublicSize:
    """Return how large a game's public tree is, and what CFR on it takes; from a sample if it is large.

    seed: of the sample (`games.size`). In an estimate all actions count as players'.
    """
    seen: Any = PublicView(game)
    size = estimate_size(seen, past_forced(game, game.public_root()), seed=seed, infosets=False)
    private = game.private_states()
    if size.exact:
        tree = grow_public(game)
        bytes_of = [float(solver_bytes(tree, DEFAULT_VARIANT, dtype)) for dtype in (np.float64, np.float32)]
        found = [float(len(tree)), float(tree.n_slots), *bytes_of]
    else:
        inner, edges = size.histories.mean - size.terminals.mean, size.histories.mean - 1.0
        tree_bytes, row = inner * NODE_BYTES + edges * EDGE_BYTES, padded(max(private)) * 2
        found = [inner, edges * max(private), *(tree_bytes + edges * row * b for b in (8, 4))]
    low, high = (end / size.histories.mean for end in (size.histories.low, size.histories.high))
    nodes, slots, full, half = (Count(float(n), float(n * low), float(n * high), size.exact) for n in found)
    return PublicSize(nodes, private, slots, full, half)


def solver_bytes(tree: PublicTree, variant_name: str | Variant, dtype: Any) -> int:
    """Return the bytes that a solver on a public tree takes, the tree's included.

    dtype: of what it keeps, as of `PublicSolver`.
    """
    row = variant(variant_name)
    numbers = 0
    for player in (0, 1):
        arrays = 2 + row.predictive + (player == 0 and not row.alternating)
        numbers += tree.n_rows[player] * padded(tree.n_private[player]) * arrays
    payoffs = swept_bytes(tree.payoffs, tree.kinds_used, swept_dtype(dtype))
    exponents = numbers // LANES if np.dtype(dtype) == np.int16 else 0
    return int(tree.nbytes + payoffs + 2 * 4 * len(tree) + numbers * np.dtype(dtype).itemsize + exponents)


def require_memory(
    tree: PublicTree, variant_name: str | Variant, dtype: Any, smaller: str | None = None
) -> None:
    """Raise TooLarge if a solver would take more memory than it may.

    smaller: what the error tells a user to choose for smaller numbers; default the next `--precision`.
    """
    taken, limit = solver_bytes(tree, variant_name, dtype), memory_limit()
    if taken > limit:
        if smaller is None:
            smaller = {8: "--precision 32, ", 4: "--precision 16, "}.get(np.dtype(dtype).itemsize, "")
        plainer = "a variant without predictions, " if variant(variant_name).predictive else ""
        raise TooLarge(
            f"{tree.game.name}: CFR on its public tree must fit into {words_of_bytes(limit)} of memory; it "
            f"takes {words_of_bytes(taken)} in {np.dtype(dtype).name}",
            f"choose {smaller}{plainer}a smaller game, or {ALLOW_MORE}",
        )
