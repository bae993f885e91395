"""One sweep over the sequences of a side, down or up, in borrowed arrays.

All arrays of a side are by position. A sweep down turns one side's policy into its plan (the probability of
each sequence), never entering what is not reached, and then pays the *other* side: it adds the payoffs
against that plan to the other's values and marks the bundles that received any. A sweep up of the other
side then visits the marked bundles alone, and leaves their values zero for the next time.

Side, boxes, work and state are the tuples that the functions of `arrays` return.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.engine.boxes import BOX_FIELDS
from cfr.engine.bundles import ACTIONS, BASE, DOOR0, FIELDS, LANE0, MEMBERS, ROWS, UNIT0, WIDE
from cfr.engine.simd import (
    WIDTH,
    above,
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
from games.support.kernel import kernel

__all__ = ["sweep_best", "sweep_down", "sweep_up"]

PAID = 1
"""Mark of a bundle whose values are not all zero."""
EXPECTANT = 2
"""Mark of a bundle whose policy follows a prediction that may not come true."""


@kernel
def _realize(
    side: Any, policy: NDArray[np.float64], work: Any, weight: float, strategy_sum: NDArray[np.float64]
) -> int:
    """Fill the plan of a policy where it is reached; add `weight` times it to `strategy_sum`.

    Returns how many units are reached; `units` lists them.
    """
    bundle, _, _, child, parent, unit_size = side
    plan, reach, _, _, _, queue, units, doors = work
    plan[0] = 1.0
    units[0] = 0
    n_units = 1
    tail = 0
    for b in range(child[0], child[1]):
        queue[tail] = b
        tail += 1
    weights = splat(weight)
    head = 0
    # What is reached changes all the time: the lists are filled without branches on it.
    while head < tail:
        row = queue[head] * FIELDS
        head += 1
        base, rows, wide = bundle[row + BASE], bundle[row + ROWS], bundle[row + WIDE]
        lane0, unit, door = bundle[row + LANE0], bundle[row + UNIT0], bundle[row + DOOR0]
        j = 0
        while j < wide:
            store(reach, j, gather(plan, parent, lane0 + j))
            j += WIDTH
        n_doors = 0
        at = base
        for _ in range(rows):
            row_live = False
            j = 0
            while j < wide:
                live = False
                stop = min(wide, j + unit_size)
                while j < stop:
                    here = load(reach, j) * load(policy, at + j)
                    live |= any_nonzero(here)
                    store(plan, at + j, here)
                    if weight > 0:
                        store(strategy_sum, at + j, fma(weights, here, load(strategy_sum, at + j)))
                    j += WIDTH
                units[n_units] = unit
                n_units += live
                unit += 1
                row_live |= live
            doors[n_doors] = door
            n_doors += row_live
            door += 1
            at += wide
        if bundle[row + MEMBERS] == 1:
            n_doors = 0
            door = bundle[row + DOOR0]
            for at in range(base, base + bundle[row + ACTIONS]):
                doors[n_doors] = door
                n_doors += plan[at] != 0.0
                door += 1
        for k in range(n_doors):
            for b in range(child[doors[k]], child[doors[k] + 1]):
                queue[tail] = b
                tail += 1
    return n_units


@kernel
def _pay(
    units: NDArray[np.int32],
    n_units: int,
    boxes: Any,
    plan: NDArray[np.float64],
    value: NDArray[np.float64],
    marked: NDArray[np.uint8],
) -> None:
    """Add the payoffs of the listed units against `plan` to the other side's `value`."""
    start, box, pool = boxes
    for k in range(n_units):
        unit = units[k]
        for index in range(start[unit], start[unit + 1]):
            b = index * BOX_FIELDS
            own, chunks, other, n, cell = box[b], box[b + 1], box[b + 2], box[b + 3], box[b + 4]
            marked[box[b + 5]] |= PAID
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


@kernel
def sweep_down(
    side: Any,
    boxes: Any,
    policy: NDArray[np.float64],
    work: Any,
    other_work: Any,
    weight: float,
    strategy_sum: NDArray[np.float64],
) -> None:
    """Realize a policy and pay the other side. boxes: of the payoffs to the other side."""
    plan, units = work[0], work[6]
    n_units = _realize(side, policy, work, weight, strategy_sum)
    _pay(units, n_units, boxes, plan, other_work[2], other_work[3])


@kernel
def _list_marked(side: Any, work: Any) -> int:
    """List the marked bundles and all above them in `queue`, children first; return how many there are."""
    last, above = side[1] - 1, side[2]
    _, _, _, marked, eights, queue, _, _ = work
    n = 0
    for eight in range(last >> 3, -1, -1):
        if eights[eight] == 0:
            continue
        for b in range(min(8 * eight + 7, last), 8 * eight - 1, -1):
            mark = marked[b]
            queue[n] = b
            n += mark != 0
            marked[above[b]] |= mark & PAID
    if marked[0]:
        n -= 1
        marked[0] = 0
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
    positive_now, negative_now, positive_next, negative_next, clip, predictive, noise = rule
    old = load(regret, at)
    new = fma(old, select_positive(old, splat(positive_now), splat(negative_now)), gain)
    if clip:
        new = positive(new)
    store(regret, at, new)
    if predictive:
        store(prediction, at, gain)
        new = fma(new, select_positive(new, splat(positive_next), splat(negative_next)), gain)
    new = above(new, splat(noise))
    store(policy, at, new)
    return new


@kernel
def sweep_up(
    t: int, variant: tuple[float, ...], discounts: NDArray[np.float64], side: Any, work: Any, state: Any
) -> None:
    """Update regrets and policy of the marked bundles, bottom up, for iteration `t`.

    All arrays are borrowed. Bundles are stamped with the iteration in which they were last updated, and
    discounts since then made up for.
    """
    bundle, _, _, _, parent, _ = side
    _, _, value, marked, _, queue, _, _ = work
    regret, prediction, policy, _, stamp = state
    clip, predictive, noise = variant[3] > 0, variant[4] > 0, variant[6]
    zero = splat(0.0)
    now = 4 * (t - 1)
    for k in range(_list_marked(side, work)):
        b = queue[k]
        row = b * FIELDS
        # Skipping is exact: without counterfactual reach the instantaneous regrets are zero.
        positive_now, negative_now = discounts[now], discounts[now + 1]
        if stamp[b] != t - 1 and positive_now + negative_now < 2.0:
            since = 4 * max(stamp[b] - 1, 0)
            positive_now = np.exp(discounts[now + 2] - discounts[since + 2])
            negative_now = np.exp(discounts[now + 3] - discounts[since + 3])
        stamp[b] = t
        rule = (positive_now, negative_now, discounts[now + 4], discounts[now + 5], clip, predictive, noise)
        base, rows, wide = bundle[row + BASE], bundle[row + ROWS], bundle[row + WIDE]
        lane0, actions = bundle[row + LANE0], bundle[row + ACTIONS]
        marked[b] = EXPECTANT if predictive and marked[b] & PAID else 0
        uniform = splat(1.0 / actions)
        if bundle[row + MEMBERS] > 1:
            j = 0
            while j < wide:
                expected = zero
                at = base + j
                for _ in range(rows):
                    expected = fma(load(policy, at), load(value, at), expected)
                    at += wide
                mass = zero
                at = base + j
                for _ in range(rows):
                    gain = load(value, at) - expected
                    store(value, at, zero)
                    mass = mass + _learn(regret, prediction, policy, at, gain, rule)
                    at += wide
                scale = splat(1.0) / mass
                at = base + j
                for _ in range(rows):
                    store(policy, at, select_positive(mass, load(policy, at) * scale, uniform))
                    at += wide
                for k in range(WIDTH):
                    value[parent[lane0 + j + k]] += extract(expected, k)
                j += WIDTH
        else:
            sums = zero
            j = 0
            while j < wide:
                sums = fma(load(policy, base + j), load(value, base + j), sums)
                j += WIDTH
            expected = splat(total(sums))
            value[parent[lane0]] += extract(expected, 0)
            mass = zero
            j = 0
            while j < wide:
                gain = keep_first(load(value, base + j) - expected, actions - j, zero)
                store(value, base + j, zero)
                mass = mass + _learn(regret, prediction, policy, base + j, gain, rule)
                j += WIDTH
            mass = splat(total(mass))
            scale = splat(1.0) / mass
            j = 0
            while j < wide:
                equal = keep_first(uniform, actions - j, zero)
                store(policy, base + j, select_positive(mass, load(policy, base + j) * scale, equal))
                j += WIDTH
    value[0] = 0.0


@kernel
def sweep_best(side: Any, work: Any) -> float:
    """Return the best-response value of the payoffs in `value`, bottom up over the marked bundles."""
    bundle, _, _, _, parent, _ = side
    _, _, value, marked, _, queue, _, _ = work
    zero = splat(0.0)
    lowest = splat(-np.inf)
    for k in range(_list_marked(side, work)):
        row = queue[k] * FIELDS
        marked[queue[k]] = 0
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
    out: float = value[0]
    value[0] = 0.0
    return out
