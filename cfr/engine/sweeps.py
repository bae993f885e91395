"""The sweeps of CFR over a layout: down with a policy, up with payoffs, in addressed arrays.

All arrays of a side are by position. A sweep down turns one side's policy into its plan (the probability of
each sequence), never entering what is not reached, and then pays the *other* side: it adds the payoffs
against that plan to the other's values and marks the bundles that received any. A sweep up of the other
side then visits the marked bundles alone, passes what they are worth up, the lowest bundles first, and turns
it into regrets and the next policy, or into a best response. It leaves their values zero for the next time.

Most bundles of research games are short, and are swept by kernels of their own, with the same results to the
bit. In Leduc poker and Liar's Dice a row of a bundle is one vector of private cards or dice, and most bundles
have two or three rows, which stay in registers. In Goofspiel a bundle is one infoset, in one vector or two.
What is far away in memory is fetched a few bundles ahead.

Side, boxes, work and state are the tuples that the functions of `arrays` return. `zero` is the vector of
zeros that tells kernels their width.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.engine.layout import (
    ABOVE,
    ACTIONS,
    BASE,
    BEFORE,
    BOX_FIELDS,
    BRANCH0,
    EVERY_SHAPE,
    FIELDS,
    LANE0,
    MEMBERS,
    ROWS,
    TILE0,
    WIDE,
    Ways,
)
from cfr.engine.simd import (
    above,
    add_fours,
    any_nonzero,
    extract,
    fetch,
    fma,
    fma_fours,
    four_zeros,
    gather,
    highest,
    keep,
    load,
    maximum,
    nonzero_bits,
    select_positive,
    splat,
    store,
    total,
    width,
)
from games.support.kernel import kernel

PAID = 1
"""Mark of a bundle whose values are not all zero."""
EXPECTANT = 2
"""Mark of a bundle whose policy follows a prediction that may not come true."""
TEN = (0.0,) * 10
"""As long as the most common box of twelve positions is wide."""
Run = tuple[int, tuple[float, ...], NDArray[np.float64]]
"""(iteration t, variant, discounts) of an update; the last two as of `kernels.iterate`, addressed."""


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
def _step(
    plan: NDArray[np.float64],
    at: int,
    here: Any,
    weight: float,
    strategy_sum: NDArray[np.float64],
) -> bool:
    """Write a vector of a plan, and `weight` times it to `strategy_sum`; return whether it is not all 0."""
    store(plan, at, here)
    if weight > 0:
        store(strategy_sum, at, fma(splat(here, weight), here, load(here, strategy_sum, at)))
    live: bool = any_nonzero(here)
    return live


@kernel
def _realize(
    side: Any, policy: NDArray[np.float64], work: Any, weight: float, strategy_sum: NDArray[np.float64]
) -> int:
    """Fill the plan of a policy where it is reached; add `weight` times it to `strategy_sum`.

    Returns how many tiles are reached; `tiles` lists them.
    """
    zero, _, _, _, _, _, _, _, (row_child, row_before, _, has_rows), _, _ = side
    plan, _, _, _, queue, tiles = work
    most_branches = 1 if has_rows else 1 << 31
    n_tiles, tail = _realize_bundles(EVERY_SHAPE, most_branches, side, policy, work, weight, strategy_sum)
    head = 1
    while has_rows and head < tail:
        branch = queue[head]
        head += 1
        for row in range(row_child[branch], row_child[branch + 1]):
            at = row * width(zero)
            here = load(zero, plan, row_before[row]) * load(zero, policy, at)
            live = _step(plan, at, here, weight, strategy_sum)
            tiles[n_tiles] = row
            n_tiles += live
            queue[tail] = row
            tail += live & (row_child[row + 1] > row_child[row])
    return n_tiles


@kernel
def _realize_bundles(
    ways: Ways,
    most_branches: int,
    side: Any,
    policy: NDArray[np.float64],
    work: Any,
    weight: float,
    strategy_sum: NDArray[np.float64],
) -> tuple[int, int]:
    """Fill the plan behind the first `most_branches` branches in the queue, which grows, bundle by bundle.

    Returns how many tiles and branches are listed then.
    """
    zero, bundle, _, _, _, child, parent, _, _, tile_size, _ = side
    plan, reach, _, _, queue, tiles = work
    # The queue is of branches. What is reached changes all the time: lists are filled without branches on it.
    plan[0] = 1.0
    queue[0] = 0
    tiles[0] = 0
    n_tiles, tail, head = 1, 1, 0
    while head < tail and head < most_branches:
        first, end = child[queue[head]], child[queue[head] + 1]
        head += 1
        for b in range(first, end):
            row = b * FIELDS
            base, rows, wide = bundle[row + BASE], bundle[row + ROWS], bundle[row + WIDE]
            tile, branch, members = bundle[row + TILE0], bundle[row + BRANCH0], bundle[row + MEMBERS]
            fields = members, bundle[row + BEFORE], bundle[row + LANE0]
            if len(ways) > 0 and wide == width(zero):
                before = _reach_before(zero, plan, parent, fields, 0)
                for a in range(rows):
                    at = base + a * wide
                    live = _step(plan, at, before * load(zero, policy, at), weight, strategy_sum)
                    tiles[n_tiles] = tile + a
                    n_tiles += live
                    queue[tail] = branch + a
                    tail += live & (members > 1) & (child[branch + a + 1] > child[branch + a])
            else:
                for j in range(0, wide, width(zero)):
                    store(reach, j, _reach_before(zero, plan, parent, fields, j))
                for a in range(rows):
                    at = base + a * wide
                    row_live = False
                    j = 0
                    while j < wide:
                        live = False
                        stop = min(wide, j + tile_size)
                        while j < stop:
                            here = load(zero, reach, j) * load(zero, policy, at + j)
                            live |= _step(plan, at + j, here, weight, strategy_sum)
                            j += width(zero)
                        tiles[n_tiles] = tile
                        n_tiles += live
                        tile += 1
                        row_live |= live
                    queue[tail] = branch + a
                    tail += row_live & (members > 1) & (child[branch + a + 1] > child[branch + a])
            actions = bundle[row + ACTIONS]
            if members == 1 and child[branch + actions] > child[branch]:
                for a in range(actions):
                    queue[tail] = branch + a
                    tail += (plan[base + a] != 0.0) & (child[branch + a + 1] > child[branch + a])
    return n_tiles, tail


@kernel
def _realize_singles(
    side: Any, policy: NDArray[np.float64], work: Any, weight: float, strategy_sum: NDArray[np.float64]
) -> int:
    """As `_realize`, for bundles of one infoset each, in one vector or two."""
    zero, bundle, _, _, _, child, _, _, _, _, _ = side
    plan, _, _, _, queue, tiles = work
    plan[0] = 1.0
    queue[0] = 0
    tiles[0] = 0
    n_tiles, tail, head = 1, 1, 0
    while head < tail:
        first, end = child[queue[head]], child[queue[head] + 1]
        head += 1
        before = splat(zero, plan[bundle[first * FIELDS + BEFORE]])
        for b in range(first, end):
            row = b * FIELDS
            base, branch, actions = bundle[row + BASE], bundle[row + BRANCH0], bundle[row + ACTIONS]
            for at in range(base, base + bundle[row + WIDE], width(zero)):
                _step(plan, at, before * load(zero, policy, at), weight, strategy_sum)
            tiles[n_tiles] = b
            n_tiles += 1
            if child[branch + actions] > child[branch]:
                for a in range(actions):
                    queue[tail] = branch + a
                    tail += (plan[base + a] != 0.0) & (child[branch + a + 1] > child[branch + a])
    return n_tiles


@kernel
def _pay_alike(
    columns: tuple[float, ...],
    zero: Any,
    tiles: Any,
    n_tiles: int,
    boxes: Any,
    plan: NDArray[np.float64],
    value: NDArray[np.float64],
    marked: NDArray[np.uint8],
) -> None:
    """As `_pay`, where all boxes are one vector wide and have as many columns as the tuple is long.

    The length is part of its type: the loop is unrolled.
    """
    start, box, _, _, pool = boxes
    for k in range(n_tiles):
        tile = tiles[k]
        for index in range(start[tile], start[tile + 1]):
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
    tiles: NDArray[np.int32],
    n_tiles: int,
    boxes: Any,
    plan: NDArray[np.float64],
    value: NDArray[np.float64],
    marked: NDArray[np.uint8],
) -> None:
    """Add the payoffs of the listed tiles against `plan` to the other side's `value`."""
    start, box, shape, columns, pool = boxes
    if len(ways) > 0 and columns == 4:
        _pay_alike((0.0, 0.0, 0.0, 0.0), zero, tiles, n_tiles, boxes, plan, value, marked)
    elif len(ways) > 0 and columns == 6:
        _pay_alike((0.0, 0.0, 0.0, 0.0, 0.0, 0.0), zero, tiles, n_tiles, boxes, plan, value, marked)
    elif len(ways) > 0 and columns == 8:
        _pay_alike((0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0), zero, tiles, n_tiles, boxes, plan, value, marked)
    else:
        for k in range(n_tiles):
            tile = tiles[k]
            for index in range(start[tile], start[tile + 1]):
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
        n_tiles, _ = _realize_bundles(ways, 1 << 31, side, policy, work, weight, strategy_sum)
    elif side[10]:
        n_tiles = _realize_singles(side, policy, work, weight, strategy_sum)
    else:
        n_tiles = _realize(side, policy, work, weight, strategy_sum)
    _pay(ways, side[0], work[5], n_tiles, boxes, work[0], other_work[2], other_work[3])


@kernel
def learning_rule(zero: Any, t: int, variant: tuple[float, ...], discounts: NDArray[np.float64]) -> Any:
    """Return what `learn` is told in iteration t: the usual discounts of regrets, and all the rest.

    The discounts are vectors, of positive and of negative regrets; `current_discounts` puts others in their
    place where an iteration was missed. The others as of `Run`.
    """
    now = 4 * (t - 1)
    usual = splat(zero, discounts[now]), splat(zero, discounts[now + 1])
    later = splat(zero, discounts[now + 4]), splat(zero, discounts[now + 5])
    lowest = splat(zero, 0.0 if variant[3] > 0 else -np.inf)
    return usual, (*later, splat(zero, variant[6]), lowest, variant[4] > 0)


@kernel
def current_discounts(t: int, stamp: int, usual: Any, discounts: NDArray[np.float64]) -> Any:
    """Return the discounts of regrets that were last updated in iteration `stamp`, before those of t.

    Skipping is exact: without counterfactual reach the instantaneous regrets are zero.
    """
    now = 4 * (t - 1)
    if stamp == t - 1 or discounts[now + 2] + discounts[now + 3] == 0.0:  # or nothing was ever discounted
        return usual
    since = 4 * max(stamp - 1, 0)
    positive_now = np.exp(discounts[now + 2] - discounts[since + 2])
    negative_now = np.exp(discounts[now + 3] - discounts[since + 3])
    return splat(usual[0], positive_now), splat(usual[0], negative_now)


@kernel
def learn(regret: NDArray[np.float64], prediction: NDArray[np.float64], at: int, gain: Any, rule: Any) -> Any:
    """Add instantaneous regrets `gain` at `at`; return what the next policy is in proportion to."""
    positive_now, negative_now, positive_next, negative_next, noise, lowest, predictive = rule
    old = load(gain, regret, at)
    new = maximum(fma(old, select_positive(old, positive_now, negative_now), gain), lowest)
    store(regret, at, new)
    if predictive:
        store(prediction, at, gain)
        new = fma(new, select_positive(new, positive_next, negative_next), gain)
    return above(new, noise)


AHEAD = 4
"""Bundles after which what is fetched now will be needed."""
CLOSE = 1000
"""Bundles whose arrays the second-level cache holds; they need not be fetched."""


@kernel
def update_rows(n: int, run: Run, side: Any, work: Any, state: Any) -> None:
    """Do as `upward` does elsewhere, for bundles of one vector of members each."""
    zero, _, n_bundles, _, _, _, _, real, (_, _, fields, _), _, _ = side
    _, _, value, marked, queue, _ = work
    regret, prediction, policy, _, stamp = state
    t, variant, discounts = run
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
def update_singles(n: int, run: Run, side: Any, work: Any, state: Any) -> None:
    """Do as `upward` does elsewhere, for bundles of one infoset each with a choice, in one vector or two."""
    zero, bundle, n_bundles, _, _, _, _, real, _, _, _ = side
    _, _, value, marked, queue, _ = work
    regret, prediction, policy, _, stamp = state
    t, variant, discounts = run
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


EVERY = np.uint64(2**64 - 1)
"""All bits."""


@kernel
def list_marked(first: int, end: int, work: Any) -> int:
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
def give(
    zero: Any, value: NDArray[np.float64], parent: NDArray[np.int32], before: int, lane: int, worth: Any
) -> None:
    """Add what the infosets in a vector of lanes are worth to the sequences before them."""
    if before >= 0:
        store(value, before, load(zero, value, before) + worth)
    else:
        for k in range(width(zero)):
            value[parent[lane + k]] += extract(worth, k)


@kernel
def sweep_up(ways: Ways, run: Run, side: Any, work: Any, state: Any) -> None:
    """Update regrets and policy of the marked bundles and those above them, bottom up, for an iteration.

    All arrays are addressed. Bundles are stamped with the iteration in which they were last updated, and
    discounts since then made up for.
    """
    level, n_levels = side[3], side[4]
    for depth in range(n_levels - 1, -1, -1):
        n = list_marked(level[depth], level[depth + 1], work)
        if len(ways) > 0 and depth > 0 and side[8][3]:
            update_rows(n, run, side, work, state)
        elif len(ways) > 0 and side[10]:
            update_singles(n, run, side, work, state)
        else:
            _update(n, run, side, work, state)
    work[2][0] = 0.0
    work[3][0] = 0


@kernel
def _update(n: int, run: Run, side: Any, work: Any, state: Any) -> None:
    """Update the first `n` bundles in `queue`, and mark those above them."""
    zero, bundle, _, _, _, _, parent, real, _, _, _ = side
    _, _, value, marked, queue, _ = work
    regret, prediction, policy, _, stamp = state
    t, variant, discounts = run
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
                give(zero, value, parent, before + j if before >= 0 else -1, lane0 + j, worth)
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
                give(zero, value, parent, before + j if before >= 0 else -1, lane0 + j, expected)
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
