"""The tuples of arrays that kernels take, and the same with their arrays borrowed (see `simd`).

A tuple whose arrays are borrowed is `Any` to a type checker: its entries are addresses.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.engine.simd import borrow
from games.support.kernel import kernel

__all__ = [
    "BoxArrays",
    "Side",
    "State",
    "Work",
    "borrow_boxes",
    "borrow_side",
    "borrow_state",
    "borrow_work",
]

_Ints = NDArray[np.int32]
_Floats = NDArray[np.float64]

Side = tuple[_Ints, _Ints, _Ints, _Ints, int]
"""(bundle, above, child, parent, unit_size) of a `SideLayout`.

Borrowed, the number of bundles comes second.
"""
BoxArrays = tuple[_Ints, _Ints, _Floats]
"""(start, box, pool) of `Boxes`."""
Work = tuple[_Floats, _Floats, _Floats, NDArray[np.uint8], _Ints, _Ints, _Ints]
"""Scratch of one side: (plan, reach, value, marked, queue, units, doors).

Borrowed, the marks follow once more as words of eight.
"""
State = tuple[_Floats, _Floats, _Floats, _Floats, _Ints]
"""What CFR keeps of one side: (regret, prediction, policy, strategy_sum, stamp)."""


@kernel
def borrow_side(side: Side) -> Any:
    bundle, above, child, parent, unit_size = side
    return borrow(bundle), len(bundle), borrow(above), borrow(child), borrow(parent), unit_size


@kernel
def borrow_boxes(boxes: BoxArrays) -> Any:
    start, box, pool = boxes
    return borrow(start), borrow(box), borrow(pool)


@kernel
def borrow_work(work: Work) -> Any:
    plan, reach, value, marked, queue, units, doors = work
    marks = borrow(marked), borrow(marked.view(np.uint64))
    return borrow(plan), borrow(reach), borrow(value), *marks, borrow(queue), borrow(units), borrow(doors)


@kernel
def borrow_state(state: State) -> Any:
    regret, prediction, policy, strategy_sum, stamp = state
    return borrow(regret), borrow(prediction), borrow(policy), borrow(strategy_sum), borrow(stamp)
