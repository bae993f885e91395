"""What solvers call: CFR, average policies and best responses on a `Layout`. Kernels trust their callers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cfr.engine.arrays import (
    BoxArrays,
    Side,
    State,
    Ways,
    Work,
    borrow_boxes,
    borrow_side,
    borrow_state,
    borrow_work,
)
from cfr.engine.borrowed import borrow
from cfr.engine.bundles import BASE, FIELDS, MEMBERS, ROWS, WIDE
from cfr.engine.simd import add_fours, four_zeros, load, select_positive, splat, store, total, width, zeros
from cfr.engine.sweeps.downward import sweep_down
from cfr.engine.sweeps.upward import respond, sweep_up
from games.support.kernel import kernel

__all__ = ["average", "discount_table", "iterate", "respond"]


@kernel(lazy=True)
def discount_table(n: int, alpha: float, beta: float) -> NDArray[np.float64]:
    """Return [n + 1, 4]: d(t, alpha), d(t, beta) and their summed logarithms, for t = 0 … n.

    d(t, e) = t^e / (t^e + 1); 1 for e = inf, 0 for e = -inf. d(0, e) = 1, for what CFR starts from was not
    an iteration's (see `warm_start`); from uniform play that is zero anyway.
    """
    table = np.zeros((n + 1, 4))
    for k, exponent in enumerate((alpha, beta)):
        for t in range(n + 1):
            if exponent == np.inf or t == 0:
                table[t, k] = 1.0
            elif exponent > -np.inf:
                power = float(t) ** exponent
                table[t, k] = power / (power + 1.0)
            if t > 0:
                table[t, 2 + k] = table[t - 1, 2 + k] + np.log(max(table[t, k], 1e-300))
    return table


@kernel
def average(
    lanes: tuple[float, ...],
    bundles: NDArray[np.int32],
    strategy_sum: NDArray[np.float64],
    policy: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Fill `out` with the average policy of a side, and with `policy` where it was never reached."""
    zero, bundle, n = zeros(lanes), borrow(bundles), len(bundles)
    sums, fallback, mean = borrow(strategy_sum), borrow(policy), borrow(out)
    one = splat(zero, 1.0)
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
                    store(mean, at, select_positive(mass, mean_here, load(zero, fallback, at)))
        else:
            fours = four_zeros()
            for at in range(base, base + wide, width(zero)):
                fours = add_fours(load(zero, sums, at), fours)
            mass = splat(zero, total(fours))
            scale = one / mass
            for at in range(base, base + wide, width(zero)):
                mean_here = load(zero, sums, at) * scale
                store(mean, at, select_positive(mass, mean_here, load(zero, fallback, at)))


@kernel
def iterate(
    ways: Ways,
    t0: int,
    n: int,
    variant: tuple[float, ...],
    discount: NDArray[np.float64],
    sides: tuple[Side, Side],
    boxes: tuple[BoxArrays, BoxArrays],
    states: tuple[State, State],
    works: tuple[Work, Work],
) -> None:
    """Run iterations t0 + 1 … t0 + n. With n = 0 only fill both sides' plans, and their values against them.

    ways: how sweeps are compiled. variant: as `Solver` has it; alternating must be 0 if n is.
    sides, boxes: `arrays` of the layout; boxes[s] pay side s. states: (regret, prediction, policy,
    strategy_sum, stamp) of each side; works: (plan, reach, value, marked).
    """
    # Each sweep is called at one place, and so compiled once.
    side = borrow_side(sides[0]), borrow_side(sides[1])
    box = borrow_boxes(boxes[0]), borrow_boxes(boxes[1])
    state = borrow_state(states[0]), borrow_state(states[1])
    work = borrow_work(works[0]), borrow_work(works[1])
    discounts = borrow(discount)
    alternating = variant[5] > 0
    for t in range(t0 + 1, t0 + (n if n > 0 else 1) + 1):
        weight = float(t) ** variant[2] if n > 0 else 0.0
        for s in range(2):
            # Side 0 learns from what side 1 plays; then, where they take turns, side 1 from its answer. A
            # side's policy is swept down before side 0 learns or, side 0's in turns, before side 1 does.
            for down in range(1, -1, -1):
                learner = 0 if down == 1 or not alternating else 1
                if s == learner:
                    policy, sums = state[down][2], state[down][3]
                    mine, theirs = work[down], work[1 - down]
                    sweep_down(ways, side[down], box[1 - down], policy, mine, theirs, weight, sums)
            if n > 0:
                sweep_up(ways, t, variant, discounts, side[s], work[s], state[s])
