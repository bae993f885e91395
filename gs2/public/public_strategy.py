"""Both players' policies on a public tree, what they are worth, and what is spliced into them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.public.policies.public_policy import PublicPolicy
from cfr.public.public_solver import PublicSolver
from cfr.public.sweep_kernels import AVERAGE, BEST, CURRENT, POLICY, VALUE, Rules, SideArrays, policy_into
from cfr.public.sweeper import Sweep, Sweeper, usable_cores
from cfr.public.tree import PublicTree, padded, past_forced, path_to
from games.support.array_types import Array

__all__ = ["PublicStrategy", "StoredStrategy", "TreeSweeper", "public_states"]

NO_RULES: Rules = (False, False, 0.0, np.array([[1.0, 1.0, 0.0, 0.0]]))
"""Policies that are followed, not learnt, discount nothing."""


def public_states(tree: PublicTree, node: int) -> Array:
    """Return the public state at a node, [1]."""
    game = tree.game
    states = past_forced(game, game.public_root())
    for at, edge in path_to(tree, node):
        action = edge - int(tree.first_edge[at])
        values = game.actions(states).values[action : action + 1]
        states = past_forced(game, game.step(states, np.zeros(1, np.int64), values))
    return states


class TreeSweeper:
    """Sweeps of fixed policies over one public tree, with room to spare for what a sweep writes nowhere."""

    def __init__(self, tree: PublicTree, threads: int | None = None) -> None:
        self.tree = tree
        self._sweeper = Sweeper(tree, np.float64, threads or usable_cores())
        self._none = np.zeros(1)
        self._stamp = np.zeros(len(tree), np.int32)

    def side(self, player: int, probs: NDArray[np.float64]) -> SideArrays:
        """Return a player's policy, [rows, wide], as the arrays that a sweep follows."""
        wide = padded(self.tree.n_private[player])
        rows = np.ascontiguousarray(probs).reshape(-1)
        return (
            rows,
            self._none,
            rows,
            self._stamp,
            self._none,
            np.ones(wide),
            wide,
            self.tree.n_private[player],
        )

    def values(
        self, player: int, mode: int, policies: Any, reach: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return a player's counterfactual values at the root, [its private states], in payoffs times chance.

        mode: BEST or VALUE of `cfr.public.sweep_kernels`. policies: both players', [rows, wide].
        reach: of the other's private states at the root, by default 1.
        """
        sides = self.side(0, policies[0]), self.side(1, policies[1])
        found = self._sweeper.sweep(Sweep(player, mode, POLICY, (0, 0)), NO_RULES, sides, reach)
        return np.asarray(found, np.float64)

    def plans(self, player: int, probs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the plan of a policy [rows, wide]: the probability of each sequence below the root."""
        mine = list(self.side(player, probs))
        mine[2] = np.zeros(probs.size)
        other = self.side(
            1 - player, np.zeros((self.tree.n_rows[1 - player], padded(self.tree.n_private[1 - player])))
        )
        sides: Any = (tuple(mine), other) if player == 0 else (other, tuple(mine))
        what = Sweep(1 - player, VALUE, CURRENT, (0, 0), weight=1.0)
        self._sweeper.sweep(what, NO_RULES, sides)
        return np.asarray(mine[2]).reshape(probs.shape)

    def close(self) -> None:
        """End the threads."""
        self._sweeper.close()


@dataclass(frozen=True, eq=False)
class PublicStrategy:
    """Both players' policies on a public tree.

    probs: for each player, [rows, private states padded to whole vectors] float64; padding means nothing.
    """

    tree: PublicTree
    probs: tuple[NDArray[np.float64], NDArray[np.float64]]

    @classmethod
    def average(cls, solver: PublicSolver) -> PublicStrategy:
        """Return the average policy of a solver, and its last one where the average never led."""
        found = []
        for player in (0, 1):
            side = solver.sides[player]
            out = np.zeros(solver.tree.n_rows[player] * side[6], solver.sweeper.dtype)
            arrays = (solver.sweeper.arrays, side, out)
            policy_into(player, AVERAGE, solver.iteration, solver.rules(), arrays)
            found.append(out.astype(np.float64).reshape(-1, side[6]))
        return cls(solver.tree, (found[0], found[1]))

    def reach(self, node: int, player: int) -> NDArray[np.float64]:
        """Return the probability with which a player's own actions lead to a node, [its private states]."""
        tree = self.tree
        found = np.ones(tree.n_private[player])
        for at, edge in path_to(tree, node):
            if tree.player[at] == player:
                found *= self.at(at)[:, int(edge - tree.first_edge[at])]
        return found

    def at(self, node: int) -> NDArray[np.float64]:
        """Return the acting player's policy at a node, [its private states, actions]."""
        tree = self.tree
        player = int(tree.player[node])
        first = int(tree.row[node])
        count = int(tree.first_edge[node + 1] - tree.first_edge[node])
        rows: NDArray[np.float64] = self.probs[player][first : first + count, : tree.n_private[player]].T
        return rows

    def below(self, node: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return both policies below a node, [rows, wide] float64; of a file, only these rows are read."""
        first, second = (np.asarray(self.probs[p][self.tree.rows_below(node, p)], np.float64) for p in (0, 1))
        return first, second

    def spliced(
        self, node: int, player: int, probs: NDArray[np.float64], private: NDArray[np.bool_]
    ) -> PublicStrategy:
        """Return the strategy with one player's policy below a node replaced for some of its private states.

        probs: [rows below the node, wide]. private: [its private states] bool.
        """
        changed = self.probs[player].copy()
        lanes = np.flatnonzero(private)
        rows = self.tree.rows_below(node, player)
        changed[rows.start : rows.stop, lanes] = probs[:, lanes]
        pair = (changed, self.probs[1]) if player == 0 else (self.probs[0], changed)
        return PublicStrategy(self.tree, pair)

    def best_response(self, player: int, sweeper: TreeSweeper | None = None) -> float:
        """Return what a player gets by best-responding to the other, in payoffs."""
        with _sweeper_of(self.tree, sweeper) as one:
            return float(one.values(player, BEST, self.probs).sum())

    def exploitability(self, sweeper: TreeSweeper | None = None) -> float:
        """Return NashConv / 2, in payoffs."""
        with _sweeper_of(self.tree, sweeper) as one:
            return (self.best_response(0, one) + self.best_response(1, one)) / 2


class StoredStrategy(PublicStrategy):
    """The policies of a file, of which a search reads what it needs."""

    def __init__(self, policy: PublicPolicy) -> None:
        policy.check_tree()
        none = np.zeros((0, 0))
        super().__init__(policy.tree, (none, none))
        object.__setattr__(self, "policy", policy)

    policy: PublicPolicy

    def at(self, node: int) -> NDArray[np.float64]:
        """Return the acting player's policy at a node, [its private states, actions]."""
        return self.policy.probs(node)

    def below(self, node: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return both policies below a node, [rows, wide] float64."""
        return self.policy.below(node)

    def spliced(
        self, node: int, player: int, probs: NDArray[np.float64], private: NDArray[np.bool_]
    ) -> PublicStrategy:
        """Return the whole strategy, in memory, with one player's policy below a node replaced."""
        return PublicStrategy(self.tree, self.policy.below(0)).spliced(node, player, probs, private)


@contextmanager
def _sweeper_of(tree: PublicTree, given: TreeSweeper | None) -> Iterator[TreeSweeper]:
    if given is not None:
        yield given
        return
    one = TreeSweeper(tree)
    try:
        yield one
    finally:
        one.close()
