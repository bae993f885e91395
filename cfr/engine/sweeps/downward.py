"""The sweep down: from a policy of one side to what its plan pays the other, in borrowed arrays.

All arrays of a side are by position. A sweep down turns one side's policy into its plan (the probability of
each sequence), never entering what is not reached, and then pays the *other* side: it adds the payoffs
against that plan to the other's values and marks the bundles that received any. A sweep up of the other
side (`upward`) then visits the marked bundles alone, and leaves their values zero for the next time.

Side, boxes, work and state are the tuples that the functions of `arrays` return. `zero` is the vector of
zeros that tells kernels their width.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.engine.arrays import EVERY_SHAPE, Ways
from cfr.engine.boxes import BOX_FIELDS
from cfr.engine.bundles import ACTIONS, BASE, BEFORE, DOOR0, FIELDS, LANE0, MEMBERS, ROWS, UNIT0, WIDE
from cfr.engine.simd import (
    any_nonzero,
    fma,
    four_zeros,
    gather,
    load,
    splat,
    store,
    width,
)
from games.support.kernel import kernel

__all__ = ["EXPECTANT", "PAID", "sweep_down"]

PAID = 1
"""Mark of a bundle whose values are not all zero."""
EXPECTANT = 2
"""Mark of a bundle whose policy follows a prediction that may not come true."""
TEN = (0.0,) * 10
"""As long as the most common box of twelve positions is wide."""


@kernel
def _reach_before(zero: Any, plan: NDArray[np.float64], parent: NDArray[np.int32], row: Any, j: int) -> Any:
    """Return the plan before lanes j, j + 1, … of a bundle. row: its (MEMBERS, BEFORE, LANE0)."""
    members, before, lane0 = row
    if members == 1:
        return splat(zero, plan[before])
    if before >= 0:
        return load(zero, plan, before + j)
    return gather(zero, plan, parent, lane0 + j)


@kernel
def _realize(
    side: Any, policy: NDArray[np.float64], work: Any, weight: float, strategy_sum: NDArray[np.float64]
) -> int:
    """Fill the plan of a policy where it is reached; add `weight` times it to `strategy_sum`.

    Returns how many units are reached; `units` lists them.
    """
    zero, _, _, _, _, _, _, _, (row_child, row_before, _, has_rows), _, _ = side
    plan, _, _, _, queue, units = work
    most_doors = 1 if has_rows else 1 << 31
    n_units, tail = _realize_bundles(EVERY_SHAPE, most_doors, side, policy, work, weight, strategy_sum)
    weights = splat(zero, weight)
    head = 1
    while has_rows and head < tail:
        door = queue[head]
        head += 1
        for row in range(row_child[door], row_child[door + 1]):
            at = row * width(zero)
            here = load(zero, plan, row_before[row]) * load(zero, policy, at)
            live = any_nonzero(here)
            store(plan, at, here)
            if weight > 0:
                store(strategy_sum, at, fma(weights, here, load(zero, strategy_sum, at)))
            units[n_units] = row
            n_units += live
            queue[tail] = row
            tail += live & (row_child[row + 1] > row_child[row])
    return n_units


@kernel
def _realize_bundles(
    ways: Ways,
    most_doors: int,
    side: Any,
    policy: NDArray[np.float64],
    work: Any,
    weight: float,
    strategy_sum: NDArray[np.float64],
) -> tuple[int, int]:
    """Fill the plan behind the first `most_doors` doors in the queue, which grows, bundle by bundle.

    Returns how many units and doors are listed then.
    """
    zero, bundle, _, _, _, child, parent, _, _, unit_size, _ = side
    plan, reach, _, _, queue, units = work
    weights = splat(zero, weight)
    # The queue is of doors. What is reached changes all the time: lists are filled without branches on it.
    plan[0] = 1.0
    queue[0] = 0
    units[0] = 0
    n_units, tail, head = 1, 1, 0
    while head < tail and head < most_doors:
        first, end = child[queue[head]], child[queue[head] + 1]
        head += 1
        for b in range(first, end):
            row = b * FIELDS
            base, rows, wide = bundle[row + BASE], bundle[row + ROWS], bundle[row + WIDE]
            unit, door, members = bundle[row + UNIT0], bundle[row + DOOR0], bundle[row + MEMBERS]
            fields = members, bundle[row + BEFORE], bundle[row + LANE0]
            if len(ways) > 0 and wide == width(zero):
                before = _reach_before(zero, plan, parent, fields, 0)
                for a in range(rows):
                    at = base + a * wide
                    here = before * load(zero, policy, at)
                    live = any_nonzero(here)
                    store(plan, at, here)
                    if weight > 0:
                        store(strategy_sum, at, fma(weights, here, load(zero, strategy_sum, at)))
                    units[n_units] = unit + a
                    n_units += live
                    queue[tail] = door + a
                    tail += live & (members > 1) & (child[door + a + 1] > child[door + a])
            else:
                for j in range(0, wide, width(zero)):
                    store(reach, j, _reach_before(zero, plan, parent, fields, j))
                for a in range(rows):
                    at = base + a * wide
                    row_live = False
                    j = 0
                    while j < wide:
                        live = False
                        stop = min(wide, j + unit_size)
                        while j < stop:
                            here = load(zero, reach, j) * load(zero, policy, at + j)
                            live |= any_nonzero(here)
                            store(plan, at + j, here)
                            if weight > 0:
                                sums = fma(weights, here, load(zero, strategy_sum, at + j))
                                store(strategy_sum, at + j, sums)
                            j += width(zero)
                        units[n_units] = unit
                        n_units += live
                        unit += 1
                        row_live |= live
                    queue[tail] = door + a
                    tail += row_live & (members > 1) & (child[door + a + 1] > child[door + a])
            actions = bundle[row + ACTIONS]
            if members == 1 and child[door + actions] > child[door]:
                for a in range(actions):
                    queue[tail] = door + a
                    tail += (plan[base + a] != 0.0) & (child[door + a + 1] > child[door + a])
    return n_units, tail


@kernel
def _realize_singles(
    side: Any, policy: NDArray[np.float64], work: Any, weight: float, strategy_sum: NDArray[np.float64]
) -> int:
    """As `_realize`, for bundles of one infoset each, in one vector or two."""
    zero, bundle, _, _, _, child, _, _, _, _, _ = side
    plan, _, _, _, queue, units = work
    weights = splat(zero, weight)
    plan[0] = 1.0
    queue[0] = 0
    units[0] = 0
    n_units, tail, head = 1, 1, 0
    while head < tail:
        first, end = child[queue[head]], child[queue[head] + 1]
        head += 1
        before = splat(zero, plan[bundle[first * FIELDS + BEFORE]])
        for b in range(first, end):
            row = b * FIELDS
            base, door, actions = bundle[row + BASE], bundle[row + DOOR0], bundle[row + ACTIONS]
            for at in range(base, base + bundle[row + WIDE], width(zero)):
                here = before * load(zero, policy, at)
                store(plan, at, here)
                if weight > 0:
                    store(strategy_sum, at, fma(weights, here, load(zero, strategy_sum, at)))
            units[n_units] = b
            n_units += 1
            if child[door + actions] > child[door]:
                for a in range(actions):
                    queue[tail] = door + a
                    tail += (plan[base + a] != 0.0) & (child[door + a + 1] > child[door + a])
    return n_units


@kernel
def _pay_alike(
    columns: tuple[float, ...],
    zero: Any,
    units: Any,
    n_units: int,
    boxes: Any,
    plan: NDArray[np.float64],
    value: NDArray[np.float64],
    marked: NDArray[np.uint8],
) -> None:
    """As `_pay`, where all boxes are one vector wide and have as many columns as the tuple is long.

    The length is part of its type: the loop is unrolled.
    """
    start, box, _, _, pool = boxes
    for k in range(n_units):
        unit = units[k]
        for index in range(start[unit], start[unit + 1]):
            b = index * BOX_FIELDS
            own, other, cell = box[b], box[b + 1], box[b + 2]
            marked[box[b + 3]] |= PAID
            sums = load(zero, value, own)
            for j in range(len(columns)):
                sums = fma(splat(zero, plan[other + j]), load(zero, pool, cell + j * width(zero)), sums)
            store(value, own, sums)


@kernel
def _pay_twelve(
    columns: tuple[float, ...],
    zero: Any,
    box: tuple[int, int, int],
    pool: NDArray[np.float64],
    plan: NDArray[np.float64],
    value: NDArray[np.float64],
) -> None:
    """Pay twelve positions of one box, with as many columns as the tuple is long."""
    own, other, cell = box
    sums, last_four = load(zero, value, own), load(four_zeros(), value, own + 8)
    for j in range(len(columns)):
        prob, at = plan[other + j], cell + 12 * j
        sums = fma(splat(zero, prob), load(zero, pool, at), sums)
        last_four = fma(splat(last_four, prob), load(last_four, pool, at + 8), last_four)
    store(value, own, sums)
    store(value, own + 8, last_four)


@kernel
def _pay(
    ways: Ways,
    zero: Any,
    units: NDArray[np.int32],
    n_units: int,
    boxes: Any,
    plan: NDArray[np.float64],
    value: NDArray[np.float64],
    marked: NDArray[np.uint8],
) -> None:
    """Add the payoffs of the listed units against `plan` to the other side's `value`."""
    start, box, shape, columns, pool = boxes
    if len(ways) > 0 and columns == 4:
        _pay_alike((0.0, 0.0, 0.0, 0.0), zero, units, n_units, boxes, plan, value, marked)
    elif len(ways) > 0 and columns == 6:
        _pay_alike((0.0, 0.0, 0.0, 0.0, 0.0, 0.0), zero, units, n_units, boxes, plan, value, marked)
    elif len(ways) > 0 and columns == 8:
        _pay_alike((0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0), zero, units, n_units, boxes, plan, value, marked)
    else:
        for k in range(n_units):
            unit = units[k]
            for index in range(start[unit], start[unit + 1]):
                b = index * BOX_FIELDS
                own, other, cell = box[b], box[b + 1], box[b + 2]
                marked[box[b + 3]] |= PAID
                fours, n = shape[2 * index], shape[2 * index + 1]
                if len(ways) > 0 and fours == 3 and n == 10 and width(zero) == 8:
                    _pay_twelve(TEN, zero, (own, other, cell), pool, plan, value)
                elif fours == 3 and width(zero) == 8:
                    sums, last_four = load(zero, value, own), load(four_zeros(), value, own + 8)
                    for j in range(n):
                        prob, at = plan[other + j], cell + 12 * j
                        sums = fma(splat(zero, prob), load(zero, pool, at), sums)
                        last_four = fma(splat(last_four, prob), load(last_four, pool, at + 8), last_four)
                    store(value, own, sums)
                    store(value, own + 8, last_four)
                else:
                    for chunk in range(0, 4 * fours, width(zero)):
                        at = cell + chunk
                        sums = load(zero, value, own + chunk)
                        for j in range(n):
                            sums = fma(splat(zero, plan[other + j]), load(zero, pool, at), sums)
                            at += 4 * fours
                        store(value, own + chunk, sums)


@kernel
def sweep_down(
    ways: Ways,
    side: Any,
    boxes: Any,
    policy: NDArray[np.float64],
    work: Any,
    other_work: Any,
    weight: float,
    strategy_sum: NDArray[np.float64],
) -> None:
    """Realize a policy and pay the other side. boxes: of the payoffs to the other side."""
    if len(ways) == 0:
        n_units, _ = _realize_bundles(ways, 1 << 31, side, policy, work, weight, strategy_sum)
    elif side[10]:
        n_units = _realize_singles(side, policy, work, weight, strategy_sum)
    else:
        n_units = _realize(side, policy, work, weight, strategy_sum)
    _pay(ways, side[0], work[5], n_units, boxes, work[0], other_work[2], other_work[3])
