"""What solvers call: CFR, average policies and best responses on a `Layout`.

`FormArrays` is a sequence form with the arrays that the kernels take, which trust their callers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cfr.engine.layout import (
    ABOVE,
    ANY_SHAPE,
    BASE,
    BEFORE,
    EVERY_SHAPE,
    FIELDS,
    LANE0,
    MEMBERS,
    ROWS,
    WIDE,
    BoxArrays,
    Side,
    State,
    Ways,
    Work,
    aligned_zeros,
    side_addresses,
)
from cfr.engine.simd import (
    add_fours,
    address,
    four_zeros,
    keep,
    load,
    maximum,
    select_positive,
    splat,
    store,
    total,
    vmax,
    width,
    zeros,
)
from cfr.engine.sweeps import PAID, give, list_marked, sweep_down, sweep_up
from cfr.sequence_form import SequenceForm
from cfr.variants import Variant
from games.support.kernel import kernel

ENTRIES_AT_ONCE = 20_000_000
"""Entries that a kernel goes through before it returns: a tenth of a second, so that Ctrl-C is noticed."""
MOST_AT_ONCE = 100_000
"""Most iterations in one call, which the smallest games reach: each has a cost of its own."""


LEAST_MASS = 1e-300
"""Sums up to this are as none: the inverse of a number near the smallest is infinite."""


def iterations_at_once(entries: int) -> int:
    """Return how many iterations a kernel runs in one call. entries: gone through by each."""
    return max(1, min(ENTRIES_AT_ONCE // max(entries, 1), MOST_AT_ONCE))


@kernel(lazy=True)
def discount_table(n: int, alpha: float, beta: float) -> NDArray[np.float64]:
    """Return [n + 1, 4]: d(t, alpha), d(t, beta) and their summed logarithms, for t = 0 … n.

    d(t, e) = t^e / (t^e + 1); 1 for e = inf, 0 for e = -inf. d(0, e) = 1, for what CFR starts from was not
    an iteration's (see `start_regrets`); from uniform play that is zero anyway.
    """
    table = np.zeros((n + 1, 4))
    for k, exponent in enumerate((alpha, beta)):
        for t in range(n + 1):
            if exponent == np.inf or t == 0:
                table[t, k] = 1.0
            elif exponent > -np.inf:
                power = float(t) ** exponent
                table[t, k] = power / (power + 1.0) if power < np.inf else 1.0
            if t > 0:
                table[t, 2 + k] = table[t - 1, 2 + k] + np.log(max(table[t, k], 1e-300))
    return table


def discounts_until(table: NDArray[np.float64], last: int, row: Variant) -> NDArray[np.float64]:
    """Return a variant's discounts of iterations up to `last` at least: `table`, if it has them."""
    return table if last < len(table) else discount_table(2 * last, float(row.alpha), float(row.beta))


@kernel
def average(
    lanes: tuple[float, ...],
    bundles: NDArray[np.int32],
    strategy_sum: NDArray[np.float64],
    policy: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Fill `out` with the average policy of a side, and with `policy` where it is (almost) never reached."""
    zero, bundle, n = zeros(lanes), address(bundles), len(bundles)
    sums, fallback, mean = address(strategy_sum), address(policy), address(out)
    one, least = splat(zero, 1.0), splat(zero, LEAST_MASS)
    for b in range(1, n):
        row = b * FIELDS
        base, rows, wide = bundle[row + BASE], bundle[row + ROWS], bundle[row + WIDE]
        if bundle[row + MEMBERS] > 1:
            for first in range(base, base + wide, width(zero)):
                mass = zero
                for at in range(first, first + rows * wide, wide):
                    mass = mass + load(zero, sums, at)
                scale = one / mass
                for at in range(first, first + rows * wide, wide):
                    mean_here = load(zero, sums, at) * scale
                    store(mean, at, select_positive(mass - least, mean_here, load(zero, fallback, at)))
        else:
            fours = four_zeros()
            for at in range(base, base + wide, width(zero)):
                fours = add_fours(load(zero, sums, at), fours)
            mass = splat(zero, total(fours))
            scale = one / mass
            for at in range(base, base + wide, width(zero)):
                mean_here = load(zero, sums, at) * scale
                store(mean, at, select_positive(mass - least, mean_here, load(zero, fallback, at)))


@kernel
def iterate(
    ways: Ways,
    done: NDArray[np.int64],
    n: int,
    variant: tuple[float, ...],
    discount: NDArray[np.float64],
    sides: tuple[Side, Side],
    boxes: tuple[BoxArrays, BoxArrays],
    states: tuple[State, State],
    works: tuple[Work, Work],
) -> None:
    """Run `n` more iterations than `done`, [1]. With n = 0 only fill both sides' plans, and their values.

    ways: how sweeps are compiled. variant: as `Solver` has it; alternating is 0 if n is, 2 if side 1 leads.
    sides, boxes: `arrays` of the layout; boxes[s] pay side s. states: (regret, prediction, policy,
    strategy_sum, stamp) of each side; works: (plan, reach, value, marked).
    """
    # Each sweep is called at one place, and so compiled once.
    side = side_addresses(sides[0]), side_addresses(sides[1])
    box, state, work = address(boxes), address(states), address(works)
    discounts = address(discount)
    alternating, lead = variant[5] > 0, 1 if variant[5] > 1 else 0
    for t in range(done[0] + 1, done[0] + (n if n > 0 else 1) + 1):
        weight = float(t) ** variant[2] if n > 0 else 0.0
        for s in (lead, 1 - lead):
            # The leader learns from what the other plays; then, where they take turns, that one from its
            # answer. A policy is swept down before the leader learns or, its own in turns, before the other.
            for down in (1 - lead, lead):
                learner = lead if down != lead or not alternating else 1 - lead
                if s == learner:
                    policy, sums = state[down][2], state[down][3]
                    mine, theirs = work[down], work[1 - down]
                    sweep_down(ways, side[down], box[1 - down], policy, mine, theirs, weight, sums)
            if n > 0:
                sweep_up(ways, (t, variant, discounts), side[s], work[s], state[s])
    done[0] += n


@kernel
def respond(side: Side, scratch: Work) -> tuple[float, float]:
    """Return (value of the plan, best-response value) against the payoffs in `value`, which become zero.

    Its arguments are not addresses yet: solvers call it. Bottom up over the marked bundles.
    """
    zero, bundle, _, level, n_levels, _, parent, real, _, _, _ = side_addresses(side)
    work = address(scratch)
    plan, _, value, marked, queue, _ = work
    expected = 0.0
    for p in range(len(scratch[0])):
        expected += plan[p] * value[p]
    lowest = splat(zero, -np.inf)
    shift = 3 if width(zero) == 8 else 2
    for depth in range(n_levels - 1, -1, -1):
        for k in range(list_marked(level[depth], level[depth + 1], work)):
            row = queue[k] * FIELDS
            marked[bundle[row + ABOVE]] |= PAID
            marked[queue[k]] = 0
            base, rows, wide = bundle[row + BASE], bundle[row + ROWS], bundle[row + WIDE]
            lane0, before = bundle[row + LANE0], bundle[row + BEFORE]
            if bundle[row + MEMBERS] > 1:
                for j in range(0, wide, width(zero)):
                    best = lowest
                    for at in range(base + j, base + j + rows * wide, wide):
                        best = maximum(best, load(zero, value, at))
                        store(value, at, zero)
                    give(zero, value, parent, before + j if before >= 0 else -1, lane0 + j, best)
            else:
                best = lowest
                for j in range(0, wide, width(zero)):
                    mask = real[(lane0 + j) >> shift]
                    best = maximum(best, keep(load(zero, value, base + j), mask, lowest))
                    store(value, base + j, zero)
                value[before] += vmax(best)
    best_value: float = value[0]
    value[0] = 0.0
    marked[0] = 0
    return expected, best_value


class Counted:
    """Iterations counted by the kernel that runs them, so that they are right where an interrupt follows."""

    _done: NDArray[np.int64]

    @property
    def iteration(self) -> int:
        """Return the iterations done so far."""
        return int(self._done[0])

    @iteration.setter
    def iteration(self, done: int) -> None:
        self._done[0] = done


Pair = tuple[NDArray[Any], NDArray[Any]]
"""One array for each side."""
SWEPT_ANYHOW = 100_000_000
"""Positions that a process sweeps before it compiles ways of their own for common shapes: half a second's."""
SWEPT_BESIDE = 400
"""Positions that could be swept in the time that an iteration takes beside."""
_swept = 0


class FormArrays:
    """A sequence form with the arrays its kernels take.

    Arrays "by position" hold one number for each position of a side's layout, "on slots" one for each slot
    of the tree.
    """

    def __init__(self, form: SequenceForm) -> None:
        layout = form.layout
        self.form = form
        self.sides = layout.sides[0].arrays, layout.sides[1].arrays
        self.boxes = layout.boxes[0].arrays, layout.boxes[1].arrays
        self._positions = tuple(side.position[1:] for side in layout.sides)
        self._slots = tuple(plex.slot[1:] for plex in form.sides)

    def work(self) -> tuple[Work, Work]:
        """Return fresh scratch for each side: (plan, reach, value, marked, queue, tiles)."""
        a, b = (
            (
                aligned_zeros(side.n_positions),
                aligned_zeros(int(side.bundle[:, WIDE].max())),
                aligned_zeros(side.n_positions),
                np.zeros((len(side.bundle) + 63) // 64 * 64, np.uint8),
                np.zeros(len(side.bundle) + len(side.child) + 8, np.int32),
                np.empty(len(side.tile_bundle) + 1, np.int32),
            )
            for side in self.form.layout.sides
        )
        return a, b

    def ways(self, n: int) -> Ways:
        """Return how `n` iterations, or one evaluation, are to be swept, and count them as run."""
        global _swept
        positions = sum(int(side.n_positions) for side in self.form.layout.sides)
        _swept += max(int(n), 1) * (SWEPT_BESIDE + positions)
        return EVERY_SHAPE if _swept > SWEPT_ANYHOW else ANY_SHAPE

    def zeros(self) -> Pair:
        """Return zeros by position, float64."""
        a, b = (aligned_zeros(side.n_positions) for side in self.form.layout.sides)
        return a, b

    def to_slots(self, arrays: Pair) -> NDArray[np.float64]:
        """Return both sides' numbers on slots, [n_slots] float64; 0 where neither side decides."""
        out = np.zeros(self.form.n_slots)
        for slots, positions, array in zip(self._slots, self._positions, arrays, strict=True):
            out[slots] = array[positions]
        return out

    def from_slots(self, values: ArrayLike, arrays: Pair | None = None) -> Pair:
        """Return numbers on slots as a pair of arrays by position, in `arrays` if given."""
        numbers = np.asarray(values, np.float64)
        a, b = arrays or self.zeros()
        a[self._positions[0]] = numbers[self._slots[0]]
        b[self._positions[1]] = numbers[self._slots[1]]
        return a, b

    def _bundles(self) -> Pair:
        a, b = (
            np.searchsorted(side.bundle[:, BASE], side.position[plex.start[:-1]], "right") - 1
            for side, plex in zip(self.form.layout.sides, self.form.sides, strict=True)
        )
        return a, b

    def to_infosets(self, arrays: Pair) -> NDArray[Any]:
        """Return numbers by bundle as numbers by infoset of the tree, [I]."""
        out = np.zeros(self.form.n_infosets, arrays[0].dtype)
        for plex, at, array in zip(self.form.sides, self._bundles(), arrays, strict=True):
            out[plex.infoset] = array[at]
        return out

    def from_infosets(self, values: ArrayLike, arrays: Pair) -> None:
        """Fill arrays by bundle from numbers by infoset of the tree."""
        for plex, at, array in zip(self.form.sides, self._bundles(), arrays, strict=True):
            array[at] = np.asarray(values)[plex.infoset]

    def evaluate(self, policies: Pair) -> tuple[float, float, float]:
        """Return (value to side 0, best-response value of side 0, of side 1) of policies by position."""
        work = self._pay(policies)
        (value, best_0), (_, best_1) = (respond(self.sides[s], work[s]) for s in range(2))
        return value, best_0, best_1

    def payoffs(self, policy: ArrayLike, side: int) -> NDArray[np.float64]:
        """Return the utility of each position of `side` when the other follows `policy` (on slots)."""
        return self._pay(self.from_slots(policy))[side][2]

    def _pay(self, policies: Pair) -> tuple[Work, Work]:
        """Return scratch with each side's plan, and its payoffs against the other's."""
        work = self.work()
        none = np.zeros(0, np.int32)
        a, b = ((policy, policy, policy, policy, none) for policy in policies)
        rules = (0.0,) * 7, np.zeros((1, 4))
        iterate(self.ways(0), np.zeros(1, np.int64), 0, *rules, self.sides, self.boxes, (a, b), work)
        return work
