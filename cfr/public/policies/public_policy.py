"""The policy of both players on a public tree as a Blueprint, with exact values; and that of a solver."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.engine.simd import unpacked
from cfr.public.policies.policy_values import PolicyValues
from cfr.public.policies.public_play import PublicPlay
from cfr.public.public_solver import PublicSolver
from cfr.public.tree import padded
from games.game import Game
from games.ragged import Ragged
from games.support.array_types import Array
from games.support.kernel import kernel

__all__ = ["PublicPolicy", "policy_rows"]

ROWS = 1 << 16
"""About so many rows are made at once."""


class PublicPolicy(PublicPlay):
    """The policy of both players on the whole public tree of a factored game; a Blueprint."""

    @classmethod
    def of(cls, solver: PublicSolver, *, current: bool = False) -> PublicPolicy:
        """Return a solver's average policy, or that of its last iteration, in memory, float64."""
        tree = solver.tree
        rows = []
        for player in (0, 1):
            none = np.zeros((0, tree.n_private[player]))  # of one who never decides
            rows.append(np.concatenate([none, *policy_rows(solver, player, current=current)]))
        note = f"{solver.variant.name}, {solver.iteration} iterations"
        return cls(tree, (rows[0], rows[1]), note=note)

    def below(self, node: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return both players' probabilities below a node, [rows, padded private states] float64, in memory.

        By the rows of `tree.below(node)`, in the layout of a solver's arrays; padding is 0.
        """
        found = []
        for player in (0, 1):
            rows, n = self.tree.rows_below(node, player), self.tree.n_private[player]
            out = np.zeros((rows.stop - rows.start, padded(n)))
            at = 0
            for part in self.values.normalised(player, node):
                out[at : at + len(part), :n] = part
                at += len(part)
            found.append(out)
        return found[0], found[1]

    def q(self, game: Game, states: Array, player: int, actions: Ragged) -> NDArray[np.float64]:
        """Return the value to `player` of each action, [m] float64, when both go on by the policy.

        Exact, given what the player knows; where the policy would not get, the other may hold anything.
        """
        self.require_game(game)
        return self.values.of_actions(states, player, actions)

    def value(self, game: Game, states: Array, player: int) -> NDArray[np.float64]:
        """Return the value to `player` of each history after the dealing, [n] float64, whoever is to act."""
        self.require_game(game)
        return self.values.of_states(states, player)

    @cached_property
    def values(self) -> PolicyValues:
        """Return what values nodes by sweeping the tree below them."""
        self.check_tree()
        return PolicyValues(self)


def policy_rows(solver: PublicSolver, player: int, *, current: bool = False) -> Iterator[NDArray[np.float64]]:
    """Yield a player's policy in the order of its rows, [rows of some nodes, private states] float64.

    It is what the kernels of the sweep play: the average policy, and the current one where a private state
    never came to its decision. Numbers are divided in float64.
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
