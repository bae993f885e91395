"""The policy of both players on a public tree as a Blueprint, with exact values."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cfr.public.policies.averaging import policy_rows
from cfr.public.policies.policy_values import PolicyValues
from cfr.public.policies.public_play import PublicPlay
from cfr.public.public_solver import PublicSolver
from cfr.public.tree import padded
from games.game import Game
from games.ragged import Ragged
from games.support.array_types import Array

__all__ = ["PublicPolicy"]


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
