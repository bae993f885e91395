"""What a policy on a public tree is worth: exactly, at any history, and against best responses.

Values are counterfactual sums of a sweep below a node, divided by the chance and the reach with which the
other may be there. Those of a node are kept, for a search asks again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.engine.kernels import discount_table
from cfr.public.policies.public_play import PublicPlay
from cfr.public.policies.state_index import ends_ahead
from cfr.public.public_solver import Evaluation
from cfr.public.sweep_arrays import Rules, new_side
from cfr.public.sweep_kernels import BEST, POLICY, VALUE
from cfr.public.sweeper import Sweep, Sweeper
from cfr.public.tree import PublicTree, past_forced, path_to
from games.game import TERMINAL, Infoset
from games.ragged import Ragged
from games.support.array_types import Array

__all__ = ["PolicyValues", "evaluate_policy"]

ROWS = 1 << 16
"""Rows that are read at once."""
KEPT = 1 << 16
"""Values that are kept, of a node each."""
LARGE = 1 << 24
"""Probabilities above which a sweep is done in float32."""

Floats = NDArray[np.float64]


def evaluate_policy(policy: PublicPlay, *, dtype: Any = None, threads: int = 1) -> Evaluation:
    """Return what a policy is worth, and what best responses win against it.

    dtype: float64 or float32, of the sweep; by default by size. threads: that sweep at once.
    Raises PublicPolicyError if the policy's file is damaged: all of it is read.
    """
    policy.check_tree()
    policy.check(("probs0", "probs1"))
    sweeper, sides = _swept(policy, 0, dtype, threads)

    def value(player: int, mode: int) -> float:
        values = sweeper.sweep(Sweep(player, mode, POLICY, (0, 0)), _rules(), sides)
        return float(values.sum(dtype=np.float64))

    try:
        return Evaluation(value(0, VALUE), (value(0, BEST), value(1, BEST)))
    finally:
        sweeper.close()


class PolicyValues:
    """Values of a policy at the nodes of its tree, each computed when it is first asked for."""

    def __init__(self, policy: PublicPlay) -> None:
        self._policy, self._tree = policy, policy.tree
        self._known: dict[tuple[str, int, int], Floats] = {}
        self._ends: dict[bytes, tuple[int, int]] | None = None

    def normalised(self, player: int, node: int = 0) -> Iterator[Floats]:
        """Yield a player's probabilities below a node, by its rows: [rows of some nodes, private] float64."""
        tree, rows = self._tree, self._policy.rows[player]
        inside = slice(node, node + int(tree.size[node]))
        own = np.flatnonzero(tree.player[inside] == player) + node
        counts = tree.first_edge[own + 1] - tree.first_edge[own]
        ends = np.cumsum(counts)
        base, start = tree.rows_below(node, player).start, 0
        while start < len(own):
            first = int(ends[start] - counts[start])
            stop = max(start + 1, int(np.searchsorted(ends, first + ROWS, side="right")))
            part = np.array(rows[base + first : base + int(ends[stop - 1])], np.float64)
            mass = np.add.reduceat(part, ends[start:stop] - counts[start:stop] - first, axis=0)
            yield part / np.repeat(mass, counts[start:stop], axis=0)
            start = stop

    def of_states(self, states: Array, player: int) -> Floats:
        """Return the value to a player of histories after the dealing, [n] float64."""
        policy, game = self._policy, self._tree.game
        public = game.public_state(states)
        own = policy.held(public, states, player)
        policy.held(public, states, 1 - player)  # raises if the dealing is not over
        ahead = past_forced(game, public)
        nodes = policy.index.find(ahead)
        out = np.empty(len(states))
        for node in np.unique(nodes).tolist():
            rows = np.flatnonzero(nodes == node)
            if node >= 0:
                out[rows] = self._kept(self._at, node, player, ahead[rows[:1]])[own[rows], 0]
                continue
            for row in rows.tolist():  # nobody has a choice any more
                out[row] = self._at_end(ahead[[row]], states[[row]], player)[own[row], 0]
        return out

    def of_actions(self, states: Array, player: int, actions: Ragged) -> Floats:
        """Return the value to a player, who acts, of each action at histories, [m] float64."""
        out = np.empty(len(actions.values))
        forced = np.flatnonzero(actions.counts == 1)
        if len(forced):
            out[actions.offsets[:-1][forced]] = self.of_states(states[forced], player)
        choice = np.flatnonzero(actions.counts > 1)
        if not len(choice):
            return out
        nodes, own = self._policy.located(states[choice], player)
        public = self._tree.game.public_state(states[choice])
        for k, row in enumerate(choice.tolist()):
            found = self._kept(self._behind, int(nodes[k]), player, public[k : k + 1])
            out[actions.offsets[row] : actions.offsets[row + 1]] = found[own[k]]
        return out

    def _kept(
        self, make: Callable[[int, int, Array], Floats], node: int, player: int, public: Array
    ) -> Floats:
        """Return what was computed before, or is now."""
        name = make.__name__, node, player
        if name not in self._known:
            if len(self._known) >= KEPT:
                self._known.clear()
            self._known[name] = make(node, player, public)
        return self._known[name]

    def _at(self, node: int, player: int, public: Array) -> Floats:
        """Return the values of a node to a player's private states, [private, 1] float64."""
        reach = self._reach(node, player)
        return self._means(public, player, reach, lambda part: self._below(node, player, part)[:, None])

    def _behind(self, node: int, player: int, public: Array) -> Floats:
        """Return the values of the actions at the player's own node, [private, actions] float64."""
        tree = self._tree

        def numbers(reach: Floats) -> Floats:
            found = []
            for to in tree.child[int(tree.first_edge[node]) : int(tree.first_edge[node + 1])].tolist():
                if to >= 0:
                    found.append(self._below(to, player, reach))
                else:
                    found.append(tree.payoffs.values(-1 - to, player, reach))
            return np.stack(found, axis=1)

        return self._means(public, player, self._reach(node, player), numbers)

    def _at_end(self, end: Array, state: Array, player: int) -> Floats:
        """Return the values of a history from which forced moves lead to an end, [private, 1] float64.

        end: the public state at which they do.
        """
        tree, game, policy = self._tree, self._tree.game, self._policy
        if game.player(end)[0] != TERMINAL:
            policy.at(end)  # raises, in words
        node, edge = self._before(state, player)
        reach = self._reach(node, player)
        if tree.player[node] == 1 - player:
            reach = reach * policy.probs(node)[:, edge - int(tree.first_edge[node])]
        weights = game.deal_weights(end)[0]
        at = np.argwhere(weights > 0)
        dealt = game.deal(end[np.zeros(len(at), np.int64)], at[:, 0], at[:, 1])
        paid = np.zeros(weights.shape)
        paid[tuple(at.T)] = game.returns(dealt)[:, player] * weights[tuple(at.T)]
        paid = paid if player == 0 else paid.T
        public = game.public_state(state)
        return self._means(public, player, reach, lambda part: (paid @ part)[:, None])

    def _before(self, state: Array, player: int) -> tuple[int, int]:
        """Return the last node on the way to a history, and the edge that was taken there."""
        tree, game, policy = self._tree, self._tree.game, self._policy
        if not hasattr(game, "sample_histories"):
            if self._ends is None:
                self._ends = ends_ahead(tree)
            return self._ends[game.public_state(state).tobytes()]
        key = tuple(int(word) for word in game.infoset_key(state, player)[0])
        line = policy.line_to(Infoset(player, key, game.infoset_text(state[0], player)))
        before, node, edge = game.public_root(), 0, 0
        for action in line:
            legal = game.actions(before).values
            same = [bool(np.all(other == action)) for other in legal].index(True)
            if len(legal) > 1:
                node = int(policy.at(before)[0])
                edge = int(tree.first_edge[node]) + same
            before = game.step(before, np.zeros(1, np.int64), legal[same : same + 1])
        return node, edge

    def _means(
        self, public: Array, player: int, reach: Floats, numbers: Callable[[Floats], Floats]
    ) -> Floats:
        """Return numbers divided by how likely the other is there, [private, k] float64; else 0.

        reach: of the other, by the policy; where that does not go there, chance alone counts. numbers: of a
        reach, [private, k].
        """
        weights = self._tree.game.deal_weights(public)[0]
        weights = weights if player == 0 else weights.T
        out: Floats | None = None
        left = np.ones(len(weights), bool)
        for part in (reach, np.ones(len(reach))):
            norm = weights @ part
            now = left & (norm > 0)
            if now.any() or out is None:
                found = numbers(part)
                out = np.zeros(found.shape) if out is None else out
                out[now] = found[now] / norm[now, None]
            left &= ~now
        assert out is not None
        return out

    def _below(self, node: int, player: int, reach: Floats) -> Floats:
        """Return a sweep's values at a node, [private] float64."""
        sweeper, sides = _swept(self._policy, node, None, 1)
        sweep = Sweep(player, VALUE, POLICY, (0, 0))
        return np.asarray(sweeper.sweep(sweep, _rules(), sides, reach.astype(sweeper.dtype)), np.float64)

    def _reach(self, node: int, player: int) -> Floats:
        """Return the other's reach of a node by the policy, [its private states] float64."""
        tree, other = self._tree, 1 - player
        reach = np.ones(tree.n_private[other])
        for at, edge in path_to(tree, node):
            if tree.player[at] == other:
                reach = reach * self._policy.probs(at)[:, edge - int(tree.first_edge[at])]
        return reach


def _rules() -> Rules:
    return False, False, 0.0, discount_table(0, np.inf, np.inf)


def _swept(policy: PublicPlay, node: int, dtype: Any, threads: int) -> tuple[Sweeper, Any]:
    """Return what sweeps the tree below a node, and both players' numbers there."""
    tree = policy.tree
    below = _owned(tree.below(node))
    if dtype is None:
        dtype = np.float32 if below.n_slots > LARGE else np.float64
    sweeper = Sweeper(below, dtype, threads)
    sides = tuple(new_side(below, player, dtype, predictive=False, held=False) for player in (0, 1))
    for player in (0, 1):
        first = tree.rows_below(node, player).start
        n, wide = tree.n_private[player], sweeper.wide[player]
        sums = sides[player][2].reshape(-1, wide)
        for start in range(0, len(sums), ROWS):
            part = sums[start : start + ROWS]
            numbers = policy.rows[player][first + start : first + start + len(part)]
            if not (numbers.min() >= 0 and numbers.max() < np.inf):
                raise policy.damaged()
            part[:, :n] = numbers
    return sweeper, sides


def _owned(tree: PublicTree) -> PublicTree:
    """Return a tree with its arrays in memory, as kernels take them."""
    return replace(
        tree,
        player=np.array(tree.player, np.int8),
        first_edge=np.array(tree.first_edge, np.int64),
        child=np.array(tree.child, np.int32),
        size=np.array(tree.size, np.int32),
        row=np.array(tree.row, np.int64),
    )
