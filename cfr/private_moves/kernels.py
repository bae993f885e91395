"""Compiled walks over the placements of a phantom game, with the lists of what each player may have tried.

A player's tries and their outcomes are its sequence. The histories with the same placements at the same
turns are *all* pairs of the players' sequences that fit these placements. So a walk visits placements alone,
carries the fitting sequences of each player, and a sum over pairs of sequences is a product of two sums.

A slot is an infoset with one of its actions; slot 0 is the empty sequence. An edge is `2 * slot + failed`,
and `child[edge]` is the infoset that follows, -1 where the player never acts again. An infoset's slots follow
each other from `first[infoset]`, one for each cell in the mask `legal[infoset]`, in ascending order.

A side is one player's arrays: (lists, sums, first, legal, child, reach, gain, wins). lists: int32, a stack of
edges and infosets. sums: float64, a stack of reaches. gain: to the player itself. wins: which masks of stones
win. A rule is (cells, whether a failed try ends the turn, mask of the players whose gains are wanted).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.engine.kernels import learn_infoset
from games.support.kernel import kernel

__all__ = [
    "FULL",
    "bad_row",
    "best_values",
    "fill_reaches",
    "learn",
    "list_infosets",
    "normalize",
    "walk",
]

FULL = -1
"""An array was too short for what a kernel had to write."""

Floats = NDArray[np.float64]
Indices = NDArray[np.int32]


@kernel(nogil=True)
def list_infosets(mine: Any, theirs: Any, rule: Any, masks: Any, span: Any, tops: Any) -> Any:
    """List the infosets at and below some placements; return the height of the stacks, FULL if too short.

    mine: (lists, first, legal, parent, child, owner, count, wins) of the player who acts; owner: the infoset
    of each slot; count: [2], infosets and slots so far. The rest is as in `walk`.
    """
    lists, first, legal, parent, child, owner, count, wins = mine
    cells, abrupt = rule
    own, other = masks
    at, end, other_at, other_end = span
    top, other_top = tops
    free = ~(own | other) & ((1 << cells) - 1)
    fresh = top
    for i in range(at, end):
        if fresh + 2 >= len(lists):
            return FULL
        lists[fresh] = lists[i]
        fresh += 1
    scan = top
    while scan < fresh:
        edge = lists[scan]
        infoset = child[edge]
        if infoset < 0:
            infoset = count[0]
            slot = count[1]
            if infoset + 2 > len(parent) or 2 * (slot + cells) > len(child):
                return FULL
            left = (1 << cells) - 1
            if edge > 0:
                before = owner[edge // 2]
                left = int(legal[before])
                place = edge // 2 - first[before]
                for cell in range(cells):
                    if left >> cell & 1:
                        if place == 0:
                            left ^= 1 << cell
                            break
                        place -= 1
            child[edge] = infoset
            parent[infoset] = edge
            legal[infoset] = left
            first[infoset] = slot
            for cell in range(cells):
                if left >> cell & 1:
                    child[2 * slot] = -1
                    child[2 * slot + 1] = -1
                    owner[slot] = infoset
                    slot += 1
            first[infoset + 1] = slot
            count[0] += 1
            count[1] = slot
        lists[scan] = infoset
        scan += 1
        if not abrupt:
            slot = first[infoset]
            left = int(legal[infoset])
            if fresh + cells >= len(lists):
                return FULL
            for cell in range(cells):
                if left >> cell & 1:
                    if other >> cell & 1:
                        lists[fresh] = 2 * slot + 1
                        fresh += 1
                    slot += 1
    fill = high = fresh
    if fresh + cells * (fresh - top) >= len(lists):
        return FULL
    for kind in range(cells + 1):  # each placement, then all failed tries at once
        block = fill
        if not (free >> kind & 1 if kind < cells else abrupt):
            continue
        for i in range(top, fresh):
            slot = first[lists[i]]
            left = int(legal[lists[i]])
            for cell in range(cells):
                if left >> cell & 1:
                    if cell == kind:
                        lists[fill] = 2 * slot
                        fill += 1
                    elif kind == cells and other >> cell & 1:
                        lists[fill] = 2 * slot + 1
                        fill += 1
                    slot += 1
        after = own | 1 << kind if kind < cells else own
        last = kind < cells and (wins[after] or free == 1 << kind)
        if fill > block and not last:
            span, tops = (other_at, other_end, block, fill), (other_top, fill)
            below = list_infosets(theirs, mine, rule, (other, after), span, tops)
            if below < 0:
                return FULL
            high = max(high, below)
        high = max(high, fill)
    return high


@kernel(nogil=True)
def walk(mine: Any, theirs: Any, rule: Any, me: int, masks: Any, span: Any, tops: Any, reached: Any) -> int:
    """Add to both players' `gain` the payoffs at and below some placements, times the other's reach.

    me: the player who acts; a winner gets 1 from the other. masks: own stones and the other's. span: where
    the edges of the player who acts begin and end in its lists, then those of the other. tops: where the free
    space begins in the lists of both, and in the `sums` of both. reached: the summed reach of the edges of
    both.
    """
    lists, sums, first, legal, child, reach, gain, wins = mine
    cells, abrupt, wanted = rule
    own, other = masks
    at, end, other_at, other_end = span
    top, other_top, spare = tops
    want_mine, want_theirs = wanted >> me & 1, wanted >> (1 - me) & 1
    if not (want_mine and reached[1] != 0.0) and not (want_theirs and reached[0] != 0.0):
        return 0
    free = ~(own | other) & ((1 << cells) - 1)
    n_free = 0
    for cell in range(cells):
        sums[spare + cell] = 0.0
        n_free += free >> cell & 1
    sums[spare + cells] = 0.0
    fresh = top
    for i in range(at, end):
        lists[fresh] = child[lists[i]]
        fresh += 1
    if not abrupt:
        scan = top
        while scan < fresh:
            infoset = lists[scan]
            scan += 1
            left = int(legal[infoset])
            if left & other:
                slot = first[infoset]
                for cell in range(cells):
                    if left >> cell & 1:
                        if other >> cell & 1:
                            lists[fresh] = child[2 * slot + 1]
                            fresh += 1
                        slot += 1
    n = fresh - top
    failed = fresh + n * n_free
    fill = failed
    for i in range(n):
        infoset = lists[top + i]
        slot = first[infoset]
        left = int(legal[infoset])
        to = fresh + i
        for cell in range(cells):
            if left >> cell & 1:
                if free >> cell & 1:
                    lists[to] = 2 * slot
                    to += n
                    sums[spare + cell] += reach[slot]
                elif abrupt:
                    lists[fill] = 2 * slot + 1
                    fill += 1
                    sums[spare + cells] += reach[slot]
                slot += 1
    paid = 0.0
    block = fresh
    for cell in range(cells):
        if free >> cell & 1:
            after = own | 1 << cell
            if wins[after]:
                paid += sums[spare + cell]
                if want_mine:
                    for i in range(block, block + n):
                        gain[lists[i] // 2] += reached[1]
            elif n_free > 1:
                walk(
                    theirs,
                    mine,
                    rule,
                    1 - me,
                    (other, after),
                    (other_at, other_end, block, block + n),
                    (other_top, fill, spare + cells + 1),
                    (reached[1], sums[spare + cell]),
                )
            block += n
    if fill > failed:
        walk(
            theirs,
            mine,
            rule,
            1 - me,
            (other, own),
            (other_at, other_end, failed, fill),
            (other_top, fill, spare + cells + 1),
            (reached[1], sums[spare + cells]),
        )
    if want_theirs and paid != 0.0:
        edges, gains = theirs[0], theirs[6]
        for i in range(other_at, other_end):
            gains[edges[i] // 2] -= paid
    return 0


@kernel(nogil=True)
def fill_reaches(
    first: Indices, parent: Indices, policy: Floats, reach: Floats, weight: float, sums: Floats
) -> None:
    """Write the reach of each slot by the player's own policy; add weight times that to `sums` unless 0."""
    reach[0] = 1.0
    for infoset in range(len(parent)):
        before = reach[parent[infoset] // 2]
        for slot in range(first[infoset], first[infoset + 1]):
            reach[slot] = before * policy[slot]
            if weight > 0.0:
                sums[slot] += weight * reach[slot]


@kernel(nogil=True)
def best_values(first: Indices, parent: Indices, gain: Floats) -> None:
    """Add the best value of each infoset to its parent's slot; gain[0] becomes the whole game's."""
    for infoset in range(len(parent) - 1, -1, -1):
        best = gain[first[infoset]]
        for slot in range(first[infoset] + 1, first[infoset + 1]):
            best = max(best, gain[slot])
        gain[parent[infoset] // 2] += best


@kernel(nogil=True)
def learn(
    first: Indices,
    parent: Indices,
    gain: Floats,
    state: tuple[Floats, Floats, Floats],
    rule: tuple[float, float, float, float, float, bool, bool],
) -> None:
    """Turn gains into values of the policy and into regrets, and match the policy to these, bottom up.

    `gain` becomes the instantaneous regrets. state: (regret, prediction, policy). rule: see `learn_infoset`.
    """
    regret, prediction, policy = state
    for infoset in range(len(parent) - 1, -1, -1):
        ends = first[infoset], first[infoset + 1]
        value = 0.0
        for slot in range(ends[0], ends[1]):
            value += policy[slot] * gain[slot]
        gain[parent[infoset] // 2] += value
        for slot in range(ends[0], ends[1]):
            gain[slot] -= value
        learn_infoset(ends, gain, regret, prediction, policy, rule)


@kernel(nogil=True)
def normalize(first: Indices, sums: Floats, policy: Floats) -> None:
    """Divide the sums of each infoset by their total into `policy`, which stays where that is 0."""
    for infoset in range(len(first) - 1):
        total = 0.0
        for slot in range(first[infoset], first[infoset + 1]):
            total += sums[slot]
        if total > 0.0:
            for slot in range(first[infoset], first[infoset + 1]):
                policy[slot] = sums[slot] / total


@kernel(nogil=True)
def bad_row(first: Indices, policy: Floats, tolerance: float) -> int:
    """Return the first infoset whose probabilities are negative, NaN, or do not sum to 1; -1 if none is."""
    for infoset in range(len(first) - 1):
        total = 0.0
        for slot in range(first[infoset], first[infoset + 1]):
            if not policy[slot] >= 0.0:
                return infoset
            total += policy[slot]
        if not abs(total - 1.0) <= tolerance:
            return infoset
    return -1
