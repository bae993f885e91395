"""The sweep up: from payoffs to regrets and the next policy, or to a best response, in borrowed arrays.

What a sweep down (`downward`) left in `value` and marked is passed up, the lowest bundles first. Side, work
and state are the tuples that the functions of `arrays` return.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.engine.arrays import Side, Ways, Work, borrow_side, borrow_work
from cfr.engine.bundles import ABOVE, ACTIONS, BASE, BEFORE, FIELDS, LANE0, MEMBERS, ROWS, WIDE
from cfr.engine.simd import (
    add_fours,
    extract,
    fma,
    fma_fours,
    four_zeros,
    highest,
    keep,
    load,
    maximum,
    nonzero_bits,
    select_positive,
    splat,
    store,
    total,
    vmax,
    width,
)
from cfr.engine.sweeps.downward import EXPECTANT, PAID
from cfr.engine.sweeps.learn_regrets import current_discounts, learn, learning_rule
from cfr.engine.sweeps.short_bundles import update_rows, update_singles
from games.support.kernel import kernel

__all__ = ["respond", "sweep_up"]

EVERY = np.uint64(2**64 - 1)
"""All bits."""


@kernel
def _list_marked(first: int, end: int, work: Any) -> int:
    """List the marked bundles from `first` to before `end` in `queue`, last ones first; return how many."""
    _, _, _, marked, queue, _ = work
    n = 0
    last_block, first_block = (end - 1) >> 6, first >> 6
    for block in range(last_block, first_block - 1, -1):
        bits = nonzero_bits(marked, 64 * block)
        if block == last_block:
            bits &= EVERY >> np.uint64(64 * block + 64 - end)
        if block == first_block:
            bits &= EVERY << np.uint64(first - 64 * block)
        while bits != 0:
            k = highest(bits)
            queue[n] = 64 * block + k
            n += 1
            bits ^= np.uint64(1) << np.uint64(k)
    return n


@kernel
def _give(
    zero: Any, value: NDArray[np.float64], parent: NDArray[np.int32], before: int, lane: int, worth: Any
) -> None:
    """Add what the infosets in a vector of lanes are worth to the sequences before them."""
    if before >= 0:
        store(value, before, load(zero, value, before) + worth)
    else:
        for k in range(width(zero)):
            value[parent[lane + k]] += extract(worth, k)


@kernel
def sweep_up(
    ways: Ways,
    t: int,
    variant: tuple[float, ...],
    discounts: NDArray[np.float64],
    side: Any,
    work: Any,
    state: Any,
) -> None:
    """Update regrets and policy of the marked bundles and those above them, bottom up, for iteration `t`.

    All arrays are borrowed. Bundles are stamped with the iteration in which they were last updated, and
    discounts since then made up for.
    """
    level, n_levels = side[3], side[4]
    for depth in range(n_levels - 1, -1, -1):
        n = _list_marked(level[depth], level[depth + 1], work)
        if len(ways) > 0 and depth > 0 and side[8][3]:
            update_rows(n, t, variant, discounts, side, work, state)
        elif len(ways) > 0 and side[10]:
            update_singles(n, t, variant, discounts, side, work, state)
        else:
            _update(ways, n, t, variant, discounts, side, work, state)
    work[2][0] = 0.0
    work[3][0] = 0


@kernel
def _update(
    ways: Ways,
    n: int,
    t: int,
    variant: tuple[float, ...],
    discounts: NDArray[np.float64],
    side: Any,
    work: Any,
    state: Any,
) -> None:
    """Update the first `n` bundles in `queue`, and mark those above them."""
    zero, bundle, _, _, _, _, parent, real, _, _, _ = side
    _, _, value, marked, queue, _ = work
    regret, prediction, policy, _, stamp = state
    predictive = variant[4] > 0
    one = splat(zero, 1.0)
    shift = 3 if width(zero) == 8 else 2
    usual, later = learning_rule(zero, t, variant, discounts)
    for k in range(n):
        b = queue[k]
        row = b * FIELDS
        base, rows, wide = bundle[row + BASE], bundle[row + ROWS], bundle[row + WIDE]
        lane0, before = bundle[row + LANE0], bundle[row + BEFORE]
        paid = marked[b] & PAID
        marked[bundle[row + ABOVE]] |= paid
        if bundle[row + ACTIONS] == 1:
            # Nothing is regretted where there is no choice.
            marked[b] = 0
            for j in range(0, wide, width(zero)):
                worth = load(zero, value, base + j)
                store(value, base + j, zero)
                _give(zero, value, parent, before + j if before >= 0 else -1, lane0 + j, worth)
            continue
        marked[b] = EXPECTANT if predictive and paid else 0
        rule = (*current_discounts(t, stamp[b], usual, discounts), *later)
        stamp[b] = t
        uniform = splat(zero, 1.0 / bundle[row + ACTIONS])
        if bundle[row + MEMBERS] > 1:
            for j in range(0, wide, width(zero)):
                first, end = base + j, base + j + rows * wide
                expected = zero
                for at in range(first, end, wide):
                    expected = fma(load(zero, policy, at), load(zero, value, at), expected)
                mass = zero
                for at in range(first, end, wide):
                    new = learn(regret, prediction, at, load(zero, value, at) - expected, rule)
                    store(value, at, zero)
                    store(policy, at, new)
                    mass = mass + new
                equal = keep(uniform, real[(lane0 + j) >> shift], zero)
                scale = one / mass
                for at in range(first, end, wide):
                    store(policy, at, select_positive(mass, load(zero, policy, at) * scale, equal))
                _give(zero, value, parent, before + j if before >= 0 else -1, lane0 + j, expected)
        elif len(ways) > 0 and wide == width(zero):
            values = load(zero, value, base)
            mask = real[lane0 >> shift]
            worth = total(fma_fours(load(zero, policy, base), values, four_zeros()))
            value[before] += worth
            store(value, base, zero)
            gain = keep(values - splat(zero, worth), mask, zero)
            new = learn(regret, prediction, base, gain, rule)
            mass = splat(zero, total(add_fours(new, four_zeros())))
            store(policy, base, select_positive(mass, new * (one / mass), keep(uniform, mask, zero)))
        else:
            fours = four_zeros()
            for at in range(base, base + wide, width(zero)):
                fours = fma_fours(load(zero, policy, at), load(zero, value, at), fours)
            worth = total(fours)
            value[before] += worth
            fours = four_zeros()
            for j in range(0, wide, width(zero)):
                mask = real[(lane0 + j) >> shift]
                gain = keep(load(zero, value, base + j) - splat(zero, worth), mask, zero)
                store(value, base + j, zero)
                new = learn(regret, prediction, base + j, gain, rule)
                store(policy, base + j, new)
                fours = add_fours(new, fours)
            mass = splat(zero, total(fours))
            scale = one / mass
            for j in range(0, wide, width(zero)):
                equal = keep(uniform, real[(lane0 + j) >> shift], zero)
                new = load(zero, policy, base + j) * scale
                store(policy, base + j, select_positive(mass, new, equal))


@kernel
def respond(side: Side, scratch: Work) -> tuple[float, float]:
    """Return (value of the plan, best-response value) against the payoffs in `value`, which become zero.

    Its arguments are not borrowed yet: solvers call it. Bottom up over the marked bundles.
    """
    zero, bundle, _, level, n_levels, _, parent, real, _, _, _ = borrow_side(side)
    work = borrow_work(scratch)
    plan, _, value, marked, queue, _ = work
    expected = 0.0
    for p in range(len(scratch[0])):
        expected += plan[p] * value[p]
    lowest = splat(zero, -np.inf)
    shift = 3 if width(zero) == 8 else 2
    for depth in range(n_levels - 1, -1, -1):
        for k in range(_list_marked(level[depth], level[depth + 1], work)):
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
                    _give(zero, value, parent, before + j if before >= 0 else -1, lane0 + j, best)
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
