"""The arrays that the kernels of the public tree sweep, and the calls that hand them over, borrowed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.engine.borrowed import borrow
from cfr.engine.simd import LANES, Numbers, borrow_numbers, zeros_packed
from cfr.public import sweep_kernels as kernels
from cfr.public.swept_payoffs import SweptPayoffs
from cfr.public.tree import PublicTree, padded
from games.support.kernel import kernel

__all__ = [
    "Job",
    "Scratch",
    "SideArrays",
    "TreeArrays",
    "borrow_scratch",
    "new_side",
    "policy_into",
    "release_side",
    "set_round",
    "sweep_node",
    "swept_dtype",
]

Floats = NDArray[Any]
"""float32 or float64, the type of the whole solver."""
TreeArrays = tuple[
    NDArray[np.int8], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]
]
"""(player, first_edge, child, size, row) of a `PublicTree`."""
SideArrays = tuple[Numbers, Numbers, Numbers, NDArray[np.int32], Numbers, Floats, int, int]
"""What is kept of one player: (regret, prediction, sums, stamp, held, free, wide, private states); free
[wide] is 1 for private states with which the player learns, 0 for those that go on as they began."""
Scratch = tuple[Floats, NDArray[np.int64], NDArray[np.int64], Floats, Floats]
"""(vec, stack, task_node, task_reach, task_value) of one thread."""
Job = tuple[int, int, int, int, int, int, int, float, int, int, bool]
"""What `kernels.sweep` is to do."""
Rules = tuple[bool, bool, float, NDArray[np.float64]]
"""(clip, predictive, noise, discount table) of a variant."""


@kernel(nogil=True)
def _borrow_side(side: SideArrays) -> Any:
    regret, prediction, sums, stamp, held, free, wide, n = side
    numbers = borrow_numbers(regret), borrow_numbers(prediction), borrow_numbers(sums)
    return (wide, *numbers, borrow(stamp), borrow_numbers(held), n, borrow(free))


@kernel(nogil=True)
def borrow_scratch(scratch: Scratch) -> Any:
    vec, stack, task_node, task_reach, task_value = scratch
    return borrow(vec), borrow(stack), borrow(task_node), borrow(task_reach), borrow(task_value)


@kernel(nogil=True)
def _borrow_tree(tree: TreeArrays) -> Any:
    player, first_edge, child, size, row = tree
    return borrow(player), borrow(first_edge), borrow(child), borrow(size), borrow(row)


@kernel(nogil=True)
def _borrow_payoffs(payoffs: SweptPayoffs) -> Any:
    matrix, first, plan, amounts, numbers, index, spare = payoffs
    items = borrow(first), borrow(plan), borrow(amounts)
    return (borrow(matrix), *items, borrow(numbers), borrow(index), spare)


@kernel(nogil=True)
def sweep_node(
    job: Job,
    rules: Rules,
    tree: TreeArrays,
    sides: tuple[SideArrays, SideArrays],
    payoffs: SweptPayoffs,
    scratch: Scratch,
) -> int:
    """Sweep a subtree as `kernels.sweep` does; sides: the traverser's, the opponent's."""
    clip, predictive, noise, discount = rules
    return kernels.sweep(
        job,
        (clip, predictive, noise, borrow(discount)),
        _borrow_tree(tree),
        (_borrow_side(sides[0]), _borrow_side(sides[1])),
        _borrow_payoffs(payoffs),
        borrow_scratch(scratch),
    )


@kernel(nogil=True)
def release_side(seat: int, t: int, rules: Rules, tree: TreeArrays, side: SideArrays) -> None:
    """Add the regrets that a sweep of this seat's held back in iteration t."""
    clip, predictive, noise, discount = rules
    player, first_edge, _, _, row = tree
    nodes = (len(player), borrow(first_edge), borrow(row), borrow(player), seat)
    kernels.release(_borrow_side(side), nodes, t, (clip, predictive, noise, borrow(discount)))


@kernel(nogil=True)
def policy_into(
    seat: int,
    which: int,
    last: int,
    rules: Rules,
    nodes: tuple[TreeArrays, SideArrays, Floats],
) -> None:
    """Write a player's policy to the last of `nodes` (tree, side, out), in the layout of its regrets.

    last: the iteration in which its regrets were last updated.
    """
    _, predictive, noise, discount = rules
    tree, side, out = nodes
    player, first_edge, _, _, row = tree
    rule = (last, predictive, noise, discount[last, 0], discount[last, 1])
    where = (len(player), borrow(first_edge), borrow(row), borrow(player), seat)
    kernels.write_policy(_borrow_side(side), where, which, rule, borrow(out))


def set_round(sides: tuple[SideArrays, SideArrays], t: int) -> None:
    """Tell packed numbers the iteration that they are stored in."""
    for side in sides:
        if isinstance(side[0], tuple):
            side[0][2][0] = t


def swept_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the type of the numbers that sweeps count with, where those kept are of a type."""
    return np.dtype(np.float32 if dtype == np.int16 else dtype)


def new_side(tree: PublicTree, player: int, dtype: Any, *, predictive: bool, held: bool) -> SideArrays:
    """Return a player's arrays before the first iteration.

    dtype: float64 or float32; int16 for packed numbers. held: whether its regrets may be held back.
    """
    wide = padded(tree.n_private[player])
    size = tree.n_rows[player] * wide

    tick = np.zeros(1, np.int32)

    def zeros(n: int) -> Numbers:
        return zeros_packed(n, tick) if dtype == np.int16 else np.zeros(n, dtype)

    return (
        zeros(size),
        zeros(size if predictive else LANES),
        zeros(size),
        np.zeros(len(tree), np.int32),
        zeros(size if held else LANES),
        np.ones(wide, swept_dtype(dtype)),
        wide,
        tree.n_private[player],
    )
