"""The tuples of arrays that kernels take, and the same with their arrays borrowed (see `borrowed`).

A tuple whose arrays are borrowed is `Any` to a type checker: its entries are addresses.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.engine.borrowed import borrow
from cfr.engine.simd import zeros
from games.support.kernel import kernel

__all__ = [
    "ANY_SHAPE",
    "EVERY_SHAPE",
    "BoxArrays",
    "Side",
    "State",
    "Ways",
    "Work",
    "aligned_zeros",
    "borrow_boxes",
    "borrow_side",
    "borrow_state",
    "borrow_work",
]

_Ints = NDArray[np.int32]
_Floats = NDArray[np.float64]

LINE = 64
"""Bytes in a cache line."""

Side = tuple[
    tuple[float, ...], _Ints, _Ints, _Ints, _Ints, NDArray[np.uint8], tuple[_Ints, _Ints, _Ints], int, bool
]
"""(lanes, bundle, level, child, parent, real, rows, unit_size, singles) of a `SideLayout`.

lanes: as many zeros as a vector holds, which makes the width part of the type. Borrowed, they are the vector
of zeros, and the numbers of bundles and levels come after these, whether there are rows after the rows.
"""
BoxArrays = tuple[_Ints, _Ints, _Ints, int, _Floats]
"""(start, box, shape, columns, pool) of `Boxes`."""
Work = tuple[_Floats, _Floats, _Floats, NDArray[np.uint8], _Ints, _Ints]
"""Scratch of one side: (plan, reach, value, marked, queue, units); the marks fill whole lines of 64."""
State = tuple[_Floats, _Floats, _Floats, _Floats, _Ints]
"""What CFR keeps of one side: (regret, prediction, policy, strategy_sum, stamp)."""
Ways = tuple[float, ...]
"""Which ways through a layout sweeps are compiled with, by the tuple's length: `ANY_SHAPE`, `EVERY_SHAPE`."""
ANY_SHAPE: Ways = ()
"""One way, for bundles and boxes of whatever shape: compiled in a third of the time."""
EVERY_SHAPE: Ways = (0.0,)
"""Ways of their own for the common shapes as well. The results are the same, to the bit."""


@kernel
def borrow_side(side: Side) -> Any:
    lanes, bundle, level, child, parent, real, (row_child, row_before, row_fields), unit_size, singles = side
    bundles = borrow(bundle), len(bundle), borrow(level), len(level) - 1
    rows = borrow(row_child), borrow(row_before), borrow(row_fields), len(row_child) > 0
    return zeros(lanes), *bundles, borrow(child), borrow(parent), borrow(real), rows, unit_size, singles


@kernel
def borrow_boxes(boxes: BoxArrays) -> Any:
    start, box, shape, columns, pool = boxes
    return borrow(start), borrow(box), borrow(shape), columns, borrow(pool)


@kernel
def borrow_work(work: Work) -> Any:
    plan, reach, value, marked, queue, units = work
    return borrow(plan), borrow(reach), borrow(value), borrow(marked), borrow(queue), borrow(units)


@kernel
def borrow_state(state: State) -> Any:
    regret, prediction, policy, strategy_sum, stamp = state
    return borrow(regret), borrow(prediction), borrow(policy), borrow(strategy_sum), borrow(stamp)


def aligned_zeros(n: int) -> NDArray[np.float64]:
    """Return n zeros that begin at a cache line, so that no vector of a row lies across two."""
    room = np.zeros(n + LINE // 8)
    skipped = -room.ctypes.data % LINE // 8
    return room[skipped : skipped + n]
