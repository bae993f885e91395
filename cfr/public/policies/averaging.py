"""The policies of a solver of public trees as rows of probabilities, a few nodes at a time.

What comes out is what the kernels of the sweep play: the average policy, and the current one where a private
state never came to its decision; or the current policy throughout. Numbers are divided in float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cfr.public.packed_numbers import unpacked
from games.support.kernel import kernel

if TYPE_CHECKING:
    from cfr.public.public_solver import PublicSolver

__all__ = ["policy_rows"]

ROWS = 1 << 16
"""About so many rows are made at once."""


def policy_rows(solver: PublicSolver, player: int, *, current: bool = False) -> Iterator[NDArray[np.float64]]:
    """Yield a player's policy in the order of its rows, [rows of some nodes, private states] float64.

    current: the policy of the last iteration instead of the average one.
    """
    tree = solver.tree
    regret, prediction, sums, stamp = solver.sides[player][:4]
    _, predictive, noise, discount = solver.rules()
    done, n = solver.iteration, tree.n_private[player]
    rule = (current, predictive and done > 0, noise, float(discount[done, 0]), float(discount[done, 1]), done)
    own = np.flatnonzero(tree.player == player)
    counts = np.diff(tree.first_edge)[own]
    ends = np.cumsum(counts)
    start = 0
    while start < len(own):
        first = int(ends[start] - counts[start])
        end = max(start + 1, int(np.searchsorted(ends, first + ROWS, side="right")))
        out = np.empty((int(ends[end - 1]) - first, n))
        wide = solver.sweeper.wide[player]
        part = slice(first * wide, int(ends[end - 1]) * wide)
        numbers = (*(unpacked(array, part) for array in (regret, prediction, sums)), stamp)
        _match_rows((own[start:end], counts[start:end], wide), numbers, rule, out)
        yield out
        start = end


@kernel(nogil=True)
def _match_rows(nodes: Any, numbers: Any, rule: Any, out: NDArray[np.float64]) -> None:
    """Fill `out` with the policy at some nodes of one player.

    nodes: (their numbers, their numbers of actions, numbers in a row).
    """
    node, counts, wide = nodes
    regret, prediction, sums, stamp = numbers
    current, predictive, noise, positive, negative, last = rule
    at = row = 0
    for k in range(len(node)):
        count = counts[k]
        expectant = predictive and stamp[node[k]] == last
        for i in range(out.shape[1]):
            first = row * wide + i
            mass = 0.0
            if not current:
                for a in range(count):
                    out[at + a, i] = sums[first + a * wide]
                    mass += out[at + a, i]
            if mass <= 0:
                for a in range(count):
                    number = np.float64(regret[first + a * wide])
                    if expectant:
                        factor = positive if number > 0 else negative
                        number = number * factor + prediction[first + a * wide]
                    out[at + a, i] = number if number > noise else 0.0
                    mass += out[at + a, i]
            for a in range(count):
                out[at + a, i] = out[at + a, i] / mass if mass > 0 else 1.0 / count
        at += count
        row += count
