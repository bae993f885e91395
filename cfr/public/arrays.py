"""The arrays that the kernels of the public tree sweep, and the calls that hand them over, borrowed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.engine.simd import borrow
from cfr.public import kernels
from games.support.kernel import kernel

__all__ = ["Job", "Scratch", "SideArrays", "TreeArrays", "borrow_scratch", "release_side", "sweep_node"]

Floats = NDArray[Any]
"""float32 or float64, the type of the whole solver."""
TreeArrays = tuple[
    NDArray[np.int8], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]
]
"""(player, first_edge, child, size, row) of a `PublicTree`."""
SideArrays = tuple[Floats, Floats, Floats, NDArray[np.int32], Floats, int, int]
"""What is kept of one player: (regret, prediction, sums, stamp, held, wide, private states)."""
Scratch = tuple[Floats, NDArray[np.int64], NDArray[np.int64], Floats, Floats]
"""(vec, stack, task_node, task_reach, task_value) of one thread."""
Job = tuple[int, int, int, int, int, int, int, float, int, int, bool]
"""What `kernels.sweep` is to do."""
Rules = tuple[bool, bool, float, NDArray[np.float64]]
"""(clip, predictive, noise, discount table) of a variant."""


@kernel(nogil=True)
def _borrow_side(side: SideArrays) -> Any:
    regret, prediction, sums, stamp, held, wide, n = side
    return wide, borrow(regret), borrow(prediction), borrow(sums), borrow(stamp), borrow(held), n


@kernel(nogil=True)
def borrow_scratch(scratch: Scratch) -> Any:
    vec, stack, task_node, task_reach, task_value = scratch
    return borrow(vec), borrow(stack), borrow(task_node), borrow(task_reach), borrow(task_value)


@kernel(nogil=True)
def _borrow_tree(tree: TreeArrays) -> Any:
    player, first_edge, child, size, row = tree
    return borrow(player), borrow(first_edge), borrow(child), borrow(size), borrow(row)


@kernel(nogil=True)
def sweep_node(
    job: Job,
    rules: Rules,
    tree: TreeArrays,
    sides: tuple[SideArrays, SideArrays],
    payoff: Floats,
    scratch: Scratch,
) -> int:
    """Sweep a subtree as `kernels.sweep` does; sides: the traverser's, the opponent's."""
    clip, predictive, noise, discount = rules
    return kernels.sweep(
        job,
        (clip, predictive, noise, borrow(discount)),
        _borrow_tree(tree),
        (_borrow_side(sides[0]), _borrow_side(sides[1])),
        borrow(payoff),
        borrow_scratch(scratch),
    )


@kernel(nogil=True)
def release_side(
    seat: int, t: int, rules: Rules, tree: TreeArrays, side: SideArrays
) -> None:
    """Add the regrets that a sweep of this seat's held back in iteration t."""
    clip, predictive, noise, discount = rules
    player, first_edge, _, _, row = tree
    nodes = (len(player), borrow(first_edge), borrow(row), borrow(player), seat)
    kernels.release(_borrow_side(side), nodes, t, (clip, predictive, noise, borrow(discount)))
