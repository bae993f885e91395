"""The kernels of CFR and best response on a `Layout`. They trust their callers.

All arrays of a side are by position. `sweep_down` turns one side's policy into its plan (the probability of
each sequence), jumps over all that is never reached, and on the way pays the *other* side: adds the
payoffs against that plan to the other's values and marks the bundles that received any. The sweeps up of
the other side then visit the marked bundles alone, and leave their values zero for the next time.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from cfr.layout import ACTIONS, BASE, END, LANE0, MEMBERS, PARENT, ROWS, UNIT0, WIDE
from cfr.simd import (
    WIDTH,
    any_nonzero,
    extract,
    fma,
    gather,
    keep_first,
    load,
    maximum,
    positive,
    select_positive,
    splat,
    store,
    total,
    vmax,
)

PAID = 1
"""Mark of a bundle whose values are not all zero."""
EXPECTANT = 2
"""Mark of a bundle whose policy follows a prediction that may not come true."""


@njit(cache=True)
def discount_table(n, alpha, beta):
    """Return [n + 1, 4]: d(t, alpha), d(t, beta) and their summed logarithms, for t = 0 … n.

    d(t, e) = t^e / (t^e + 1); 1 for e = inf, 0 for e = -inf.
    """
    table = np.zeros((n + 1, 4))
    for k, exponent in enumerate((alpha, beta)):
        for t in range(n + 1):
            if exponent == np.inf:
                table[t, k] = 1.0
            elif exponent > -np.inf:
                power = float(t) ** exponent
                table[t, k] = power / (power + 1.0)
            if t > 0:
                table[t, 2 + k] = table[t - 1, 2 + k] + np.log(max(table[t, k], 1e-300))
    return table


@njit(cache=True)
def _pay(first, last, box, pool, plan, value, marked):
    """Add the payoffs of boxes `first` … `last - 1` against `plan` to `value`."""
    for b in range(first, last):
        own, chunks, other, n, cell = box[b, 0], box[b, 1], box[b, 2], box[b, 3], box[b, 4]
        marked[box[b, 5]] = PAID
        if chunks == 2:
            sum_0, sum_1 = load(value, own), load(value, own + WIDTH)
            for j in range(other, other + n):
                prob = splat(plan[j])
                sum_0 = fma(prob, load(pool, cell), sum_0)
                sum_1 = fma(prob, load(pool, cell + WIDTH), sum_1)
                cell += 2 * WIDTH
            store(value, own, sum_0)
            store(value, own + WIDTH, sum_1)
        else:
            for chunk in range(chunks):
                at = cell + chunk * WIDTH
                sum_0 = load(value, own + chunk * WIDTH)
                for j in range(other, other + n):
                    sum_0 = fma(splat(plan[j]), load(pool, at), sum_0)
                    at += chunks * WIDTH
                store(value, own + chunk * WIDTH, sum_0)


@njit(cache=True)
def sweep_down(side, boxes, policy, plan, reach, value, marked, weight, strategy_sum):
    """Fill `plan` where it is reached, add `weight` times it to `strategy_sum`, and pay the other side.

    side: (bundle, parent, unit_size). boxes: (start, box, pool), of the payoffs to the other side.
    value, marked: the other side's. reach: scratch for the lanes of the widest bundle.
    """
    bundle, parent, unit_size = side
    start, box, pool = boxes
    plan[0] = 1.0
    _pay(start[0], start[1], box, pool, plan, value, marked)
    weights = splat(weight)
    n = len(bundle)
    b = 1
    while b < n:
        lane0, wide = bundle[b, LANE0], bundle[b, WIDE]
        reached = False
        for j in range(0, wide, WIDTH):
            above = gather(plan, parent, lane0 + j)
            reached |= any_nonzero(above)
            store(reach, j, above)
        if not reached:
            b = bundle[b, END]
            continue
        at = bundle[b, BASE]
        unit = bundle[b, UNIT0]
        for _ in range(bundle[b, ROWS]):
            for piece in range(0, wide, unit_size):
                live = False
                for j in range(piece, min(wide, piece + unit_size), WIDTH):
                    here = load(reach, j) * load(policy, at + j)
                    live |= any_nonzero(here)
                    store(plan, at + j, here)
                    if weight > 0:
                        store(strategy_sum, at + j, fma(weights, here, load(strategy_sum, at + j)))
                if live:
                    _pay(start[unit], start[unit + 1], box, pool, plan, value, marked)
                unit += 1
            at += wide
        b += 1


@njit(cache=True)
def _learn(regret, prediction, policy, at, gain, rule):
    """Add instantaneous regrets `gain` at `at`; return what the next policy is in proportion to."""
    positive_now, negative_now, positive_next, negative_next, clip, predictive = rule
    old = load(regret, at)
    new = fma(old, select_positive(old, splat(positive_now), splat(negative_now)), gain)
    if clip:
        new = positive(new)
    store(regret, at, new)
    if predictive:
        store(prediction, at, gain)
        new = fma(new, select_positive(new, splat(positive_next), splat(negative_next)), gain)
    new = positive(new)
    store(policy, at, new)
    return new


@njit(cache=True)
def sweep_up(t, variant, discounts, side, value, marked, stamp, regret, prediction, policy):
    """Update regrets and policy of the marked bundles, bottom up, for iteration `t`.

    stamp: the last iteration in which each bundle was updated; discounts since then are made up for.
    """
    bundle, parent, _ = side
    clip, predictive = variant[3] > 0, variant[4] > 0
    zero = splat(0.0)
    for b in range(len(bundle) - 1, 0, -1):
        if marked[b] == 0:
            continue
        # Skipping is exact: without counterfactual reach the instantaneous regrets are zero.
        if stamp[b] == t - 1:
            positive_now, negative_now = discounts[t - 1, 0], discounts[t - 1, 1]
        else:
            since = max(stamp[b] - 1, 0)
            positive_now = np.exp(discounts[t - 1, 2] - discounts[since, 2])
            negative_now = np.exp(discounts[t - 1, 3] - discounts[since, 3])
        stamp[b] = t
        rule = (positive_now, negative_now, discounts[t, 0], discounts[t, 1], clip, predictive)
        base, rows, wide, lane0 = bundle[b, BASE], bundle[b, ROWS], bundle[b, WIDE], bundle[b, LANE0]
        actions = bundle[b, ACTIONS]
        if marked[b] == PAID:
            marked[bundle[b, PARENT]] = PAID
            marked[b] = EXPECTANT if predictive else 0
        else:
            marked[b] = 0
        uniform = splat(1.0 / actions)
        if bundle[b, MEMBERS] > 1:
            for j in range(0, wide, WIDTH):
                expected = zero
                for at in range(base + j, base + j + rows * wide, wide):
                    expected = fma(load(policy, at), load(value, at), expected)
                mass = zero
                for at in range(base + j, base + j + rows * wide, wide):
                    gain = load(value, at) - expected
                    store(value, at, zero)
                    mass = mass + _learn(regret, prediction, policy, at, gain, rule)
                scale = splat(1.0) / mass
                for at in range(base + j, base + j + rows * wide, wide):
                    store(policy, at, select_positive(mass, load(policy, at) * scale, uniform))
                for k in range(WIDTH):
                    value[parent[lane0 + j + k]] += extract(expected, k)
        else:
            sums = zero
            for at in range(base, base + wide, WIDTH):
                sums = fma(load(policy, at), load(value, at), sums)
            expected = splat(total(sums))
            value[parent[lane0]] += extract(expected, 0)
            mass = zero
            for at in range(base, base + wide, WIDTH):
                gain = keep_first(load(value, at) - expected, base + actions - at, zero)
                store(value, at, zero)
                mass = mass + _learn(regret, prediction, policy, at, gain, rule)
            mass = splat(total(mass))
            scale = splat(1.0) / mass
            for at in range(base, base + wide, WIDTH):
                equal = keep_first(uniform, base + actions - at, zero)
                store(policy, at, select_positive(mass, load(policy, at) * scale, equal))
    marked[0] = 0
    value[0] = 0.0


@njit(cache=True)
def sweep_best(side, value, marked):
    """Return the best-response value of the payoffs in `value`, bottom up over the marked bundles."""
    bundle, parent, _ = side
    zero = splat(0.0)
    lowest = splat(-np.inf)
    for b in range(len(bundle) - 1, 0, -1):
        if marked[b] == 0:
            continue
        marked[b] = 0
        marked[bundle[b, PARENT]] = PAID
        base, rows, wide, lane0 = bundle[b, BASE], bundle[b, ROWS], bundle[b, WIDE], bundle[b, LANE0]
        best = lowest
        if bundle[b, MEMBERS] > 1:
            for j in range(0, wide, WIDTH):
                best = lowest
                for at in range(base + j, base + j + rows * wide, wide):
                    best = maximum(best, load(value, at))
                    store(value, at, zero)
                for k in range(WIDTH):
                    value[parent[lane0 + j + k]] += extract(best, k)
        else:
            for at in range(base, base + wide, WIDTH):
                best = maximum(best, keep_first(load(value, at), base + bundle[b, ACTIONS] - at, lowest))
                store(value, at, zero)
            value[parent[lane0]] += vmax(best)
    out = value[0]
    marked[0] = 0
    value[0] = 0.0
    return out


@njit(cache=True)
def average(side, strategy_sum, policy, out):
    """Fill `out` with the average policy, and with `policy` where it was never reached."""
    bundle, _, _ = side
    for b in range(1, len(bundle)):
        base, rows, wide = bundle[b, BASE], bundle[b, ROWS], bundle[b, WIDE]
        if bundle[b, MEMBERS] > 1:
            for j in range(0, wide, WIDTH):
                mass = splat(0.0)
                for at in range(base + j, base + j + rows * wide, wide):
                    mass = mass + load(strategy_sum, at)
                scale = splat(1.0) / mass
                for at in range(base + j, base + j + rows * wide, wide):
                    store(out, at, select_positive(mass, load(strategy_sum, at) * scale, load(policy, at)))
        else:
            mass = splat(0.0)
            for at in range(base, base + wide, WIDTH):
                mass = mass + load(strategy_sum, at)
            mass = splat(total(mass))
            scale = splat(1.0) / mass
            for at in range(base, base + wide, WIDTH):
                store(out, at, select_positive(mass, load(strategy_sum, at) * scale, load(policy, at)))


@njit(cache=True)
def iterate(t0, n, variant, discounts, sides, boxes, state0, state1, work0, work1):
    """Run iterations t0 + 1 … t0 + n.

    boxes: of the payoffs to side 0 and side 1. state: (regret, prediction, policy, strategy_sum, stamp);
    work: (plan, reach, value, marked).
    """
    side0, side1 = sides
    boxes0, boxes1 = boxes
    regret0, prediction0, policy0, sum0, stamp0 = state0
    regret1, prediction1, policy1, sum1, stamp1 = state1
    plan0, reach0, value0, marked0 = work0
    plan1, reach1, value1, marked1 = work1
    alternating = variant[5] > 0
    for t in range(t0 + 1, t0 + n + 1):
        weight = float(t) ** variant[2]
        sweep_down(side1, boxes0, policy1, plan1, reach1, value0, marked0, weight, sum1)
        if not alternating:
            sweep_down(side0, boxes1, policy0, plan0, reach0, value1, marked1, weight, sum0)
        sweep_up(t, variant, discounts, side0, value0, marked0, stamp0, regret0, prediction0, policy0)
        if alternating:
            sweep_down(side0, boxes1, policy0, plan0, reach0, value1, marked1, weight, sum0)
        sweep_up(t, variant, discounts, side1, value1, marked1, stamp1, regret1, prediction1, policy1)


@njit(cache=True)
def evaluate(sides, boxes, policy0, policy1, work0, work1):
    """Return (value to side 0 of two policies, best-response value of side 0, of side 1)."""
    side0, side1 = sides
    boxes0, boxes1 = boxes
    plan0, reach0, value0, marked0 = work0
    plan1, reach1, value1, marked1 = work1
    plan0[:] = 0.0
    sweep_down(side1, boxes0, policy1, plan1, reach1, value0, marked0, 0.0, plan1)
    sweep_down(side0, boxes1, policy0, plan0, reach0, value1, marked1, 0.0, plan0)
    value = 0.0
    for p in range(len(plan0)):
        value += plan0[p] * value0[p]
    return value, sweep_best(side0, value0, marked0), sweep_best(side1, value1, marked1)
