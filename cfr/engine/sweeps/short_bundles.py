"""Updates of regrets and policy where every bundle is short: the sweep up of most research games.

In Leduc poker and Liar's Dice a row of a bundle is one vector of private cards or dice, and most bundles
have two or three rows, which stay in registers. In Goofspiel a bundle is one infoset, in one vector or two.
What is far away in memory is fetched a few bundles ahead. Results are those of `upward`, to the bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.engine.bundles import ABOVE, ACTIONS, BASE, BEFORE, FIELDS, WIDE
from cfr.engine.simd import (
    add_fours,
    fetch,
    fma,
    fma_fours,
    four_zeros,
    keep,
    load,
    select_positive,
    splat,
    store,
    total,
    width,
)
from cfr.engine.sweeps.downward import EXPECTANT, PAID
from cfr.engine.sweeps.learn_regrets import current_discounts, learn, learning_rule
from games.support.kernel import kernel

__all__ = ["update_rows", "update_singles"]

AHEAD = 4
"""Bundles after which what is fetched now will be needed."""
CLOSE = 1000
"""Bundles whose arrays the second-level cache holds; they need not be fetched."""


@kernel
def update_rows(
    n: int,
    t: int,
    variant: tuple[float, ...],
    discounts: NDArray[np.float64],
    side: Any,
    work: Any,
    state: Any,
) -> None:
    """Do as `upward` does elsewhere, for bundles of one vector of members each."""
    zero, _, n_bundles, _, _, _, _, real, (_, _, fields, _), _, _ = side
    _, _, value, marked, queue, _ = work
    regret, prediction, policy, _, stamp = state
    predictive = variant[4] > 0
    one = splat(zero, 1.0)
    usual, later = learning_rule(zero, t, variant, discounts)
    step = width(zero)
    distant = n_bundles > CLOSE
    for k in range(n, n + AHEAD):
        queue[k] = 0
    for k in range(n):
        b = queue[k]
        if distant:
            ahead = fields[4 * queue[k + AHEAD]]
            for array in (regret, policy, value):
                fetch(array, ahead)
                fetch(array, ahead + step)
        base, rows, before, up = fields[4 * b], fields[4 * b + 1], fields[4 * b + 2], fields[4 * b + 3]
        paid = marked[b] & PAID
        marked[up] |= paid
        if rows == 1:
            # Nothing is regretted where there is no choice.
            marked[b] = 0
            worth = load(zero, value, base)
            store(value, base, zero)
            store(value, before, load(zero, value, before) + worth)
            continue
        marked[b] = EXPECTANT if predictive and paid else 0
        rule = (*current_discounts(t, stamp[b], usual, discounts), *later)
        stamp[b] = t
        mask = real[b - 1]
        first, second, third = base, base + step, base + 2 * step
        value_0, value_1 = load(zero, value, first), load(zero, value, second)
        expected = fma(load(zero, policy, first), value_0, zero)
        expected = fma(load(zero, policy, second), value_1, expected)
        store(value, first, zero)
        store(value, second, zero)
        if rows == 2:
            new_0 = learn(regret, prediction, first, value_0 - expected, rule)
            new_1 = learn(regret, prediction, second, value_1 - expected, rule)
            mass = new_0 + new_1
            scale = one / mass
            equal = keep(splat(zero, 0.5), mask, zero)
            store(policy, first, select_positive(mass, new_0 * scale, equal))
            store(policy, second, select_positive(mass, new_1 * scale, equal))
        elif rows == 3:
            value_2 = load(zero, value, third)
            expected = fma(load(zero, policy, third), value_2, expected)
            store(value, third, zero)
            new_0 = learn(regret, prediction, first, value_0 - expected, rule)
            new_1 = learn(regret, prediction, second, value_1 - expected, rule)
            new_2 = learn(regret, prediction, third, value_2 - expected, rule)
            mass = new_0 + new_1 + new_2
            scale = one / mass
            equal = keep(splat(zero, 1.0 / 3.0), mask, zero)
            store(policy, first, select_positive(mass, new_0 * scale, equal))
            store(policy, second, select_positive(mass, new_1 * scale, equal))
            store(policy, third, select_positive(mass, new_2 * scale, equal))
        else:
            end = base + rows * step
            for at in range(third, end, step):
                expected = fma(load(zero, policy, at), load(zero, value, at), expected)
            new_0 = learn(regret, prediction, first, value_0 - expected, rule)
            new_1 = learn(regret, prediction, second, value_1 - expected, rule)
            store(policy, first, new_0)
            store(policy, second, new_1)
            mass = new_0 + new_1
            for at in range(third, end, step):
                gain = load(zero, value, at) - expected
                store(value, at, zero)
                new = learn(regret, prediction, at, gain, rule)
                store(policy, at, new)
                mass = mass + new
            equal = keep(splat(zero, 1.0 / rows), mask, zero)
            scale = one / mass
            for at in range(first, end, step):
                store(policy, at, select_positive(mass, load(zero, policy, at) * scale, equal))
        store(value, before, load(zero, value, before) + expected)


@kernel
def update_singles(
    n: int,
    t: int,
    variant: tuple[float, ...],
    discounts: NDArray[np.float64],
    side: Any,
    work: Any,
    state: Any,
) -> None:
    """Do as `upward` does elsewhere, for bundles of one infoset each with a choice, in one vector or two."""
    zero, bundle, n_bundles, _, _, _, _, real, _, _, _ = side
    _, _, value, marked, queue, _ = work
    regret, prediction, policy, _, stamp = state
    predictive = variant[4] > 0
    step = width(zero)
    shift = 3 if step == 8 else 2
    usual, later = learning_rule(zero, t, variant, discounts)
    distant = n_bundles > CLOSE
    for k in range(n, n + AHEAD):
        queue[k] = 0
    for k in range(n):
        b = queue[k]
        row = b * FIELDS
        if distant:
            ahead = bundle[queue[k + AHEAD] * FIELDS + BASE]
            for array in (regret, policy, value):
                fetch(array, ahead)
        base, before = bundle[row + BASE], bundle[row + BEFORE]
        paid = marked[b] & PAID
        marked[bundle[row + ABOVE]] |= paid
        marked[b] = EXPECTANT if predictive and paid else 0
        rule = (*current_discounts(t, stamp[b], usual, discounts), *later)
        stamp[b] = t
        mask_0 = real[(base >> shift) - 1]
        value_0 = load(zero, value, base)
        fours = fma_fours(load(zero, policy, base), value_0, four_zeros())
        store(value, base, zero)
        if bundle[row + WIDE] == step:
            worth = total(fours)
            value[before] += worth
            gain = keep(value_0 - splat(zero, worth), mask_0, zero)
            new_0 = learn(regret, prediction, base, gain, rule)
            mass = total(add_fours(new_0, four_zeros()))
            if mass > 0.0:
                store(policy, base, new_0 * splat(zero, 1.0 / mass))
            else:
                uniform = splat(zero, 1.0 / bundle[row + ACTIONS])
                store(policy, base, keep(uniform, mask_0, zero))
        else:
            second = base + step
            mask_1 = real[(second >> shift) - 1]
            value_1 = load(zero, value, second)
            worth = total(fma_fours(load(zero, policy, second), value_1, fours))
            store(value, second, zero)
            value[before] += worth
            expected = splat(zero, worth)
            gain = keep(value_0 - expected, mask_0, zero)
            new_0 = learn(regret, prediction, base, gain, rule)
            gain = keep(value_1 - expected, mask_1, zero)
            new_1 = learn(regret, prediction, second, gain, rule)
            mass = total(add_fours(new_1, add_fours(new_0, four_zeros())))
            if mass > 0.0:
                scale = splat(zero, 1.0 / mass)
                store(policy, base, new_0 * scale)
                store(policy, second, new_1 * scale)
            else:
                uniform = splat(zero, 1.0 / bundle[row + ACTIONS])
                store(policy, base, keep(uniform, mask_0, zero))
                store(policy, second, keep(uniform, mask_1, zero))
