"""The kernels of CFR and best response on a `Layout`. They trust their callers.

All arrays of a side are by position. `_sweep_down` turns one side's policy into its plan (the probability of
each sequence), jumps over all that is never reached, and on the way pays the *other* side: adds the
payoffs against that plan to the other's values and marks the bundles that received any. The sweeps up of
the other side then visit the marked bundles alone, and leave their values zero for the next time.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from cfr.layout import (
    ACTIONS,
    BASE,
    BOX_FIELDS,
    END,
    FIELDS,
    LANE0,
    MEMBERS,
    PARENT,
    ROWS,
    UNIT0,
    WIDE,
)
from cfr.simd import (
    WIDTH,
    any_nonzero,
    borrow,
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
def _borrow_side(side):
    bundle, parent, unit_size = side
    return borrow(bundle), len(bundle), borrow(parent), unit_size


@njit(cache=True)
def _borrow_boxes(boxes):
    start, box, pool = boxes
    return borrow(start), borrow(box), borrow(pool)


@njit(cache=True)
def _borrow_work(work):
    plan, reach, value, marked = work
    return borrow(plan), borrow(reach), borrow(value), borrow(marked)


@njit(cache=True)
def _borrow_state(state):
    regret, prediction, policy, strategy_sum, stamp = state
    return borrow(regret), borrow(prediction), borrow(policy), borrow(strategy_sum), borrow(stamp)


@njit(cache=True)
def _pay(unit, boxes, plan, value, marked):
    """Add the payoffs of a unit's boxes against `plan` to `value`."""
    start, box, pool = boxes
    for b in range(start[unit] * BOX_FIELDS, start[unit + 1] * BOX_FIELDS, BOX_FIELDS):
        own, chunks, other, n, cell = box[b], box[b + 1], box[b + 2], box[b + 3], box[b + 4]
        marked[box[b + 5]] = PAID
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
def _sweep_down(side, boxes, policy, plan, reach, value, marked, weight, strategy_sum):
    """Fill `plan` where it is reached, add `weight` times it to `strategy_sum`, and pay the other side.

    All arrays are borrowed. boxes: of the payoffs to the other side. value, marked: the other side's.
    reach: scratch for the lanes of the widest bundle.
    """
    bundle, n, parent, unit_size = side
    plan[0] = 1.0
    _pay(0, boxes, plan, value, marked)
    weights = splat(weight)
    b = 1
    while b < n:
        row = b * FIELDS
        lane0, wide = bundle[row + LANE0], bundle[row + WIDE]
        reached = False
        for j in range(0, wide, WIDTH):
            above = gather(plan, parent, lane0 + j)
            reached |= any_nonzero(above)
            store(reach, j, above)
        if not reached:
            b = bundle[row + END]
            continue
        at = bundle[row + BASE]
        unit = bundle[row + UNIT0]
        for _ in range(bundle[row + ROWS]):
            for piece in range(0, wide, unit_size):
                live = False
                for j in range(piece, min(wide, piece + unit_size), WIDTH):
                    here = load(reach, j) * load(policy, at + j)
                    live |= any_nonzero(here)
                    store(plan, at + j, here)
                    if weight > 0:
                        store(strategy_sum, at + j, fma(weights, here, load(strategy_sum, at + j)))
                if live:
                    _pay(unit, boxes, plan, value, marked)
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
def _sweep_up(t, variant, discounts, side, value, marked, state):
    """Update regrets and policy of the marked bundles, bottom up, for iteration `t`.

    All arrays are borrowed. Bundles are stamped with the iteration in which they were last updated, and
    discounts since then made up for.
    """
    bundle, n, parent, _ = side
    regret, prediction, policy, _, stamp = state
    clip, predictive = variant[3] > 0, variant[4] > 0
    zero = splat(0.0)
    now = 4 * (t - 1)
    for b in range(n - 1, 0, -1):
        if marked[b] == 0:
            continue
        row = b * FIELDS
        # Skipping is exact: without counterfactual reach the instantaneous regrets are zero.
        positive_now, negative_now = discounts[now], discounts[now + 1]
        if stamp[b] != t - 1 and positive_now + negative_now < 2.0:
            since = 4 * max(stamp[b] - 1, 0)
            positive_now = np.exp(discounts[now + 2] - discounts[since + 2])
            negative_now = np.exp(discounts[now + 3] - discounts[since + 3])
        stamp[b] = t
        rule = (positive_now, negative_now, discounts[now + 4], discounts[now + 5], clip, predictive)
        base, rows, wide = bundle[row + BASE], bundle[row + ROWS], bundle[row + WIDE]
        lane0, actions = bundle[row + LANE0], bundle[row + ACTIONS]
        if marked[b] == PAID:
            marked[bundle[row + PARENT]] = PAID
            marked[b] = EXPECTANT if predictive else 0
        else:
            marked[b] = 0
        uniform = splat(1.0 / actions)
        if bundle[row + MEMBERS] > 1:
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
def _sweep_best(side, value, marked):
    """Return the best-response value of the payoffs in `value`, bottom up over the marked bundles."""
    bundle, n, parent, _ = side
    zero = splat(0.0)
    lowest = splat(-np.inf)
    for b in range(n - 1, 0, -1):
        if marked[b] == 0:
            continue
        row = b * FIELDS
        marked[b] = 0
        marked[bundle[row + PARENT]] = PAID
        base, rows, wide, lane0 = (
            bundle[row + BASE],
            bundle[row + ROWS],
            bundle[row + WIDE],
            bundle[row + LANE0],
        )
        if bundle[row + MEMBERS] > 1:
            for j in range(0, wide, WIDTH):
                best = lowest
                for at in range(base + j, base + j + rows * wide, wide):
                    best = maximum(best, load(value, at))
                    store(value, at, zero)
                for k in range(WIDTH):
                    value[parent[lane0 + j + k]] += extract(best, k)
        else:
            best = lowest
            for at in range(base, base + wide, WIDTH):
                inside = base + bundle[row + ACTIONS] - at
                best = maximum(best, keep_first(load(value, at), inside, lowest))
                store(value, at, zero)
            value[parent[lane0]] += vmax(best)
    out = value[0]
    marked[0] = 0
    value[0] = 0.0
    return out


@njit(cache=True)
def average(side, strategy_sum, policy, out):
    """Fill `out` with the average policy, and with `policy` where it was never reached."""
    bundle, n, _, _ = _borrow_side(side)
    sums, fallback, mean = borrow(strategy_sum), borrow(policy), borrow(out)
    for b in range(1, n):
        row = b * FIELDS
        base, rows, wide = bundle[row + BASE], bundle[row + ROWS], bundle[row + WIDE]
        if bundle[row + MEMBERS] > 1:
            for first in range(base, base + wide, WIDTH):
                mass = splat(0.0)
                for at in range(first, first + rows * wide, wide):
                    mass = mass + load(sums, at)
                scale = splat(1.0) / mass
                for at in range(first, first + rows * wide, wide):
                    store(mean, at, select_positive(mass, load(sums, at) * scale, load(fallback, at)))
        else:
            mass = splat(0.0)
            for at in range(base, base + wide, WIDTH):
                mass = mass + load(sums, at)
            mass = splat(total(mass))
            scale = splat(1.0) / mass
            for at in range(base, base + wide, WIDTH):
                store(mean, at, select_positive(mass, load(sums, at) * scale, load(fallback, at)))


@njit(cache=True)
def iterate(t0, n, variant, discount, sides, boxes, states, works):
    """Run iterations t0 + 1 … t0 + n.

    sides, boxes: `arrays` of the layout; boxes[s] pay side s. states: (regret, prediction, policy,
    strategy_sum, stamp) of each side; works: (plan, reach, value, marked).
    """
    side0, side1 = _borrow_side(sides[0]), _borrow_side(sides[1])
    boxes0, boxes1 = _borrow_boxes(boxes[0]), _borrow_boxes(boxes[1])
    state0, state1 = _borrow_state(states[0]), _borrow_state(states[1])
    plan0, reach0, value0, marked0 = _borrow_work(works[0])
    plan1, reach1, value1, marked1 = _borrow_work(works[1])
    discounts = borrow(discount)
    alternating = variant[5] > 0
    for t in range(t0 + 1, t0 + n + 1):
        weight = float(t) ** variant[2]
        _sweep_down(side1, boxes0, state1[2], plan1, reach1, value0, marked0, weight, state1[3])
        if not alternating:
            _sweep_down(side0, boxes1, state0[2], plan0, reach0, value1, marked1, weight, state0[3])
        _sweep_up(t, variant, discounts, side0, value0, marked0, state0)
        if alternating:
            _sweep_down(side0, boxes1, state0[2], plan0, reach0, value1, marked1, weight, state0[3])
        _sweep_up(t, variant, discounts, side1, value1, marked1, state1)


@njit(cache=True)
def pay(side, boxes, policy, work, other_work):
    """Fill the other side's values with the payoffs against `policy`, and `work`'s plan."""
    plan, reach, _, _ = _borrow_work(work)
    _, _, value, marked = _borrow_work(other_work)
    _sweep_down(
        _borrow_side(side), _borrow_boxes(boxes), borrow(policy), plan, reach, value, marked, 0.0, plan
    )


@njit(cache=True)
def evaluate(sides, boxes, policies, works):
    """Return (value to side 0 of two policies, best-response value of side 0, of side 1).

    The plans in `works` must be zero.
    """
    pay(sides[1], boxes[0], policies[1], works[1], works[0])
    pay(sides[0], boxes[1], policies[0], works[0], works[1])
    plan, value = works[0][0], works[0][2]
    expected = 0.0
    for p in range(len(plan)):
        expected += plan[p] * value[p]
    best_0 = _sweep_best(_borrow_side(sides[0]), borrow(value), borrow(works[0][3]))
    best_1 = _sweep_best(_borrow_side(sides[1]), borrow(works[1][2]), borrow(works[1][3]))
    return expected, best_0, best_1
