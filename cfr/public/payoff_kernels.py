"""What a terminal pays against a reach, in the form chosen for it: see `cfr.public.swept_payoffs`."""

from __future__ import annotations

from typing import Any

from cfr.engine.simd import LANES, fma, splat, store, take, total
from games.support.kernel import kernel

__all__ = ["FLAT", "PLAN_FIELDS", "STAIRS", "add_payoffs"]

FLAT, STAIRS = 1, 2
"""Forms of an item: a product of weights, one amount; amounts by how strengths compare."""
PLAN_FIELDS = 8
_FORM, _NUMBERS, _INDEX, _COLUMNS, _ROWS, _PAIRS, _PAIR_NUMBERS, _PAIR_INDEX = range(PLAN_FIELDS)


@kernel(nogil=True)
def add_payoffs(
    payoffs: Any, kind: int, sizes: tuple[int, int, int], vec: Any, reach: int, value: int
) -> None:
    """Add the payoffs of a kind of terminal against the reach at vec[reach:] to vec[value:].

    payoffs: (matrix, first, plan, amounts, numbers, index, spare): where the matrix of a kind lies, 0 where
    it has items instead; vec[spare:] is room for the sums of classes.
    sizes: (the other's private states, these padded, the traverser's padded).
    """
    matrix = payoffs[0][kind]
    if matrix:
        _dense(payoffs[4], matrix, sizes[0], sizes[2], vec, reach, value)
    else:
        _structured(payoffs, kind, sizes, vec, reach, value)


@kernel(nogil=True)
def _structured(
    payoffs: Any, kind: int, sizes: tuple[int, int, int], vec: Any, reach: int, value: int
) -> None:
    """Add the items of a kind."""
    _, first, plan, amounts, numbers, index, spare = payoffs
    _, other_wide, wide = sizes
    for item in range(first[kind], first[kind + 1]):
        at = PLAN_FIELDS * item
        form = plan[at + _FORM]
        paid = amounts[3 * item], amounts[3 * item + 1], amounts[3 * item + 2]
        if form == FLAT:
            where = plan[at + _NUMBERS], other_wide, wide, plan[at + _ROWS]
            _flat(numbers, where, paid[1], vec, reach, value)
        else:
            where = plan[at + _NUMBERS], plan[at + _INDEX], plan[at + _COLUMNS], plan[at + _ROWS]
            _stairs((numbers, index), where, paid, vec, (reach, value, spare))
        pairs = plan[at + _PAIRS]
        if pairs:
            where = plan[at + _PAIR_NUMBERS], plan[at + _PAIR_INDEX], pairs, 0
            _listed((numbers, index), where, paid, vec, reach, value)


@kernel(nogil=True)
def _dense(numbers: Any, start: int, n: int, wide: int, vec: Any, reach: int, value: int) -> None:
    """Add a matrix [n, wide] from `start` against the reach."""
    j = 0
    while j + LANES < wide:
        sum_0, sum_1 = take(vec, value + j), take(vec, value + j + LANES)
        at = start + j
        for i in range(reach, reach + n):
            prob = splat(vec, vec[i])
            sum_0 = fma(prob, take(numbers, at), sum_0)
            sum_1 = fma(prob, take(numbers, at + LANES), sum_1)
            at += wide
        store(vec, value + j, sum_0)
        store(vec, value + j + LANES, sum_1)
        j += 2 * LANES
    if j < wide:
        sum_0 = take(vec, value + j)
        at = start + j
        for i in range(reach, reach + n):
            sum_0 = fma(splat(vec, vec[i]), take(numbers, at), sum_0)
            at += wide
        store(vec, value + j, sum_0)


@kernel(nogil=True)
def _flat(
    numbers: Any, where: tuple[int, int, int, int], paid: float, vec: Any, reach: int, value: int
) -> None:
    """Add an amount times a product of weights, and times a diagonal if there is one.

    numbers: from where[0] the other's weights [other_wide], the own [wide], the diagonal [wide].
    """
    at, other_wide, wide, diagonal = where
    found = splat(vec, 0.0)
    for j in range(0, other_wide, LANES):
        found = fma(take(numbers, at + j), take(vec, reach + j), found)
    amount = splat(vec, paid)
    worth = splat(vec, total(found)) * amount
    at += other_wide
    for j in range(0, wide, LANES):
        mine = fma(take(numbers, at + j), worth, take(vec, value + j))
        if diagonal:
            mine = fma(take(numbers, at + wide + j) * amount, take(vec, reach + j), mine)
        store(vec, value + j, mine)


@kernel(nogil=True)
def _stairs(tables: Any, where: tuple[int, int, int, int], paid: Any, vec: Any, places: Any) -> None:
    """Add amounts by how strengths compare: sums over classes of the other's, then one read a private state.

    numbers: from where[0] the other's weights in the order of their strength, then the own. index: from
    where[1] the ends of the other's classes, its private states in order, then the own classes' (end, classes
    below, classes not above), and the own private states in order.
    """
    numbers, index = tables
    weight, at, classes, own_classes = where
    below, equal, above = paid
    reach, value, spare = places
    order, zero = at + classes, numbers[0]
    n = index[at + classes - 1]
    found = zero
    vec[spare] = zero
    k = 0
    for c in range(classes):
        part = zero
        end = index[at + c]
        while k < end:
            part += numbers[weight + k] * vec[reach + index[order + k]]
            k += 1
        found += part
        vec[spare + c + 1] = found
    weight, at = weight + n, order + n
    rows = at + 3 * own_classes
    k = 0
    for c in range(at, rows, 3):
        less, most = vec[spare + index[c + 1]], vec[spare + index[c + 2]]
        worth = above * less + equal * (most - less) + below * (found - most)
        end = index[c]
        while k < end:
            vec[value + index[rows + k]] += numbers[weight + k] * worth
            k += 1


@kernel(nogil=True)
def _listed(
    tables: Any, where: tuple[int, int, int, int], paid: Any, vec: Any, reach: int, value: int
) -> None:
    """Add the shares of listed pairs. index: (own, the other's, how they compare: 0, 1, 2) of each."""
    numbers, index = tables
    weight, at, pairs, _ = where
    for k in range(pairs):
        own, other, sign = index[at], index[at + 1], index[at + 2]
        amount = paid[0] if sign == 0 else paid[1] if sign == 1 else paid[2]
        vec[value + own] += numbers[weight + k] * amount * vec[reach + other]
        at += 3
