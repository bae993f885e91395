"""The sweep up: from payoffs to regrets and the next policy, or to a best response, in borrowed arrays.

What a sweep down (`downward`) left in `value` and marked is passed up, the lowest bundles first. Side, work
and state are the tuples that the functions of `arrays` return.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.engine.bundles import ABOVE, ACTIONS, BASE, BEFORE, FIELDS, LANE0, MEMBERS, ROWS, WIDE
from cfr.engine.downward import PAID
from cfr.engine.simd import (
    above,
    add_fours,
    extract,
    fma,
    fma_fours,
    four_zeros,
    keep,
    load,
    maximum,
    positive,
    select_positive,
    splat,
    store,
    total,
    vmax,
    width,
)
from games.support.kernel import kernel

__all__ = ["sweep_best", "sweep_up"]

EXPECTANT = 2
"""Mark of a bundle whose policy follows a prediction that may not come true."""


@kernel
def _list_marked(first: int, end: int, work: Any) -> int:
    """List the marked bundles from `first` to before `end` in `queue`, last ones first; return how many."""
    _, _, _, marked, eights, queue, _ = work
    n = 0
    for eight in range((end - 1) >> 3, (first >> 3) - 1, -1):
        if eights[eight] == 0:
            continue
        if 8 * eight >= first and 8 * eight + 8 <= end:
            for k in range(8):
                b = 8 * eight + 7 - k
                queue[n] = b
                n += marked[b] != 0
        else:
            for b in range(min(8 * eight + 7, end - 1), max(8 * eight, first) - 1, -1):
                queue[n] = b
                n += marked[b] != 0
    return n


@kernel
def _learn(
    regret: NDArray[np.float64],
    prediction: NDArray[np.float64],
    policy: NDArray[np.float64],
    at: int,
    gain: Any,
    rule: Any,
) -> Any:
    """Add instantaneous regrets `gain` at `at`; return what the next policy is in proportion to."""
    positive_now, negative_now, positive_next, negative_next, noise, clip, predictive = rule
    old = load(gain, regret, at)
    discount = select_positive(old, positive_now, negative_now)
    new = fma(old, discount, gain)
    if clip:
        new = positive(new)
    store(regret, at, new)
    if predictive:
        store(prediction, at, gain)
        discount = select_positive(new, positive_next, negative_next)
        new = fma(new, discount, gain)
    new = above(new, noise)
    store(policy, at, new)
    return new


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
    t: int, variant: tuple[float, ...], discounts: NDArray[np.float64], side: Any, work: Any, state: Any
) -> None:
    """Update regrets and policy of the marked bundles and those above them, bottom up, for iteration `t`.

    All arrays are borrowed. Bundles are stamped with the iteration in which they were last updated, and
    discounts since then made up for.
    """
    level, n_levels = side[3], side[4]
    for depth in range(n_levels - 1, -1, -1):
        n = _list_marked(level[depth], level[depth + 1], work)
        _update(n, t, variant, discounts, side, work, state)
    work[2][0] = 0.0
    work[3][0] = 0


@kernel
def _update(
    n: int,
    t: int,
    variant: tuple[float, ...],
    discounts: NDArray[np.float64],
    side: Any,
    work: Any,
    state: Any,
) -> None:
    """Update the first `n` bundles in `queue`, and mark those above them."""
    zero, bundle, _, _, _, _, parent, real, _, _ = side
    _, _, value, marked, _, queue, _ = work
    regret, prediction, policy, _, stamp = state
    clip, predictive = variant[3] > 0, variant[4] > 0
    one = splat(zero, 1.0)
    shift = 3 if width(zero) == 8 else 2
    now = 4 * (t - 1)
    usual = splat(zero, discounts[now]), splat(zero, discounts[now + 1])
    later = splat(zero, discounts[now + 4]), splat(zero, discounts[now + 5]), splat(zero, variant[6])
    discounted = discounts[now] + discounts[now + 1] < 2.0
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
        # Skipping is exact: without counterfactual reach the instantaneous regrets are zero.
        discount_now = usual
        if discounted and stamp[b] != t - 1:
            since = 4 * max(stamp[b] - 1, 0)
            positive_now = np.exp(discounts[now + 2] - discounts[since + 2])
            negative_now = np.exp(discounts[now + 3] - discounts[since + 3])
            discount_now = splat(zero, positive_now), splat(zero, negative_now)
        stamp[b] = t
        rule = (*discount_now, *later, clip, predictive)
        uniform = splat(zero, 1.0 / bundle[row + ACTIONS])
        if bundle[row + MEMBERS] > 1:
            for j in range(0, wide, width(zero)):
                first, end = base + j, base + j + rows * wide
                expected = zero
                for at in range(first, end, wide):
                    expected = fma(load(zero, policy, at), load(zero, value, at), expected)
                mass = zero
                for at in range(first, end, wide):
                    gain = load(zero, value, at) - expected
                    store(value, at, zero)
                    mass = mass + _learn(regret, prediction, policy, at, gain, rule)
                equal = keep(uniform, real[(lane0 + j) >> shift], zero)
                scale = one / mass
                for at in range(first, end, wide):
                    store(policy, at, select_positive(mass, load(zero, policy, at) * scale, equal))
                _give(zero, value, parent, before + j if before >= 0 else -1, lane0 + j, expected)
        elif wide == width(zero):
            values = load(zero, value, base)
            mask = real[lane0 >> shift]
            worth = total(fma_fours(load(zero, policy, base), values, four_zeros()))
            value[before] += worth
            store(value, base, zero)
            gain = keep(values - splat(zero, worth), mask, zero)
            new = _learn(regret, prediction, policy, base, gain, rule)
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
                fours = add_fours(_learn(regret, prediction, policy, base + j, gain, rule), fours)
            mass = splat(zero, total(fours))
            scale = one / mass
            for j in range(0, wide, width(zero)):
                equal = keep(uniform, real[(lane0 + j) >> shift], zero)
                new = load(zero, policy, base + j) * scale
                store(policy, base + j, select_positive(mass, new, equal))


@kernel
def sweep_best(side: Any, work: Any) -> float:
    """Return the best-response value of the payoffs in `value`, bottom up over the marked bundles."""
    zero, bundle, _, level, n_levels, _, parent, real, _, _ = side
    _, _, value, marked, _, queue, _ = work
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
    out: float = value[0]
    value[0] = 0.0
    marked[0] = 0
    return out
