"""A game tree as a structure of arrays in breadth-first order.

A full game is one root without limits; a subgame is a few weighted roots with limits. Both are the same
object, so every solver and every gadget serves both. A tree says what each player did before each of its
decisions, unless the player has forgotten it.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from games.game import TERMINAL, Game
from games.support.array_types import Array
from games.support.contract import ContractError
from games.support.kernel import kernel

Nodes = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int8], NDArray[np.int32], NDArray[np.float64]]
"""Fields of a tree as kernels take them: (parent, first_child, player, infoset, chance_prob)."""


class InvalidTree(ContractError):
    """Arrays that are not a tree, or a game that is not of perfect recall."""


@dataclass(frozen=True, eq=False)
class FlatTree:
    """A game tree, or a forest of weighted roots, as arrays of equal length; parents before children.

    N nodes in breadth-first order; the children of a node stand together, in the order of its actions.

    parent: [N] int32, -1 at roots.
    first_child: [N] int32, where the children start; meaningless when there are none.
    n_children: [N] int32.
    player: [N] int8, a seat, CHANCE or TERMINAL (leaves at the depth limit are TERMINAL too).
    infoset: [N] int32, number of the infoset at decision nodes, -1 elsewhere.
    chance_prob: [N] float64, probability with which chance leads from the parent to the node, 1 under
        a decision node; at roots the root's weight.
    level_offsets: [L + 1] int64, nodes of level d are `level_offsets[d]:level_offsets[d + 1]`.
    terminal: [Z] int32, the terminal nodes, rising.
    returns: [Z, players] float64, their payoffs.
    infoset_player: [I] int8; infosets are numbered by first appearance, so ancestors come first.
    infoset_offset: [I + 1] int64; action k of infoset s has slot `infoset_offset[s] + k`.
    infoset_key: [I, key width] uint64, `Game.infoset_key` of the infoset for its player.
    action: [N] the game's actions; the one that led to the node (arbitrary at roots).
    states: [N] the game's states, or None where they were not kept.
    teams: for each seat its team, counted from 0.
    n_truncated: leaves that stand at the depth limit rather than at the end of the game.
    zero_sum: whether the teams' payoffs sum to zero, as the game says.
    """

    parent: NDArray[np.int32]
    first_child: NDArray[np.int32]
    n_children: NDArray[np.int32]
    player: NDArray[np.int8]
    infoset: NDArray[np.int32]
    chance_prob: NDArray[np.float64]
    level_offsets: NDArray[np.int64]
    terminal: NDArray[np.int32]
    returns: NDArray[np.float64]
    infoset_player: NDArray[np.int8]
    infoset_offset: NDArray[np.int64]
    infoset_key: NDArray[np.uint64]
    action: NDArray[Any]
    states: NDArray[Any] | None
    teams: tuple[int, ...]
    n_truncated: int = 0
    zero_sum: bool = True

    @classmethod
    def of_levels(
        cls,
        parent: NDArray[np.integer[Any]],
        player: NDArray[np.int8],
        level_offsets: NDArray[np.integer[Any]],
        infoset_sizes: NDArray[np.integer[Any]],
        **others: Any,
    ) -> Self:
        """Return the tree of these fields and of those that follow from them; it holds no states.

        infoset_sizes: [I], the actions of each infoset. others: the other fields.
        """
        children = np.bincount(parent[level_offsets[1] :], minlength=len(parent))
        return cls(
            parent=parent.astype(np.int32),
            first_child=(level_offsets[1] + np.cumsum(children) - children).astype(np.int32),
            n_children=children.astype(np.int32),
            player=player,
            level_offsets=np.asarray(level_offsets, np.int64),
            terminal=np.flatnonzero(player == TERMINAL).astype(np.int32),
            infoset_offset=np.concatenate([[0], np.cumsum(infoset_sizes)]).astype(np.int64),
            states=None,
            **others,
        )

    def __repr__(self) -> str:
        """Return the sizes of the tree, in three lines."""
        seats = np.bincount(self.infoset_player, minlength=self.n_players).tolist()
        infosets = ", ".join(f"{count:,} of player {seat}" for seat, count in enumerate(seats))
        low, high = (
            (float(end(self.returns)) for end in (np.min, np.max)) if self.returns.size else (0.0, 0.0)
        )
        ends = f"{len(self.terminal):,} terminals" + f", {self.n_truncated:,} of them cut off" * bool(
            self.n_truncated
        )
        return (
            f"{type(self).__name__}: {self.n_nodes:,} nodes in {len(self.level_offsets) - 1} levels, "
            f"{self.n_roots:,} {'root' if self.n_roots == 1 else 'roots'}\n"
            f"infosets: {infosets}; {self.n_slots:,} slots\n"
            f"{ends}; payoffs {low:g} to {high:g}; states {'dropped' if self.states is None else 'held'}"
        )

    @property
    def n_nodes(self) -> int:
        """Return N."""
        return len(self.parent)

    @property
    def n_infosets(self) -> int:
        """Return I, over all players."""
        return len(self.infoset_player)

    @property
    def n_slots(self) -> int:
        """Return the number of (infoset, action) pairs, over all players."""
        return int(self.infoset_offset[-1])

    @property
    def nodes(self) -> Nodes:
        """Return what kernels take."""
        return self.parent, self.first_child, self.player, self.infoset, self.chance_prob

    @cached_property
    def slot_infoset(self) -> NDArray[np.int64]:
        """Return the infoset of each slot, [slots] int64, read-only."""
        return _fixed(np.repeat(np.arange(self.n_infosets), np.diff(self.infoset_offset)))

    @cached_property
    def slot_player(self) -> NDArray[np.int8]:
        """Return the player whose action each slot is, [slots] int8, read-only."""
        return _fixed(np.repeat(self.infoset_player, np.diff(self.infoset_offset)))

    @cached_property
    def digest(self) -> str:
        """Return a fingerprint of the tree's shape, infosets, chances and payoffs."""
        return array_digest(
            self.parent, self.player, self.infoset, self.infoset_offset, self.chance_prob, self.returns
        )

    def slots(self, infoset: int) -> NDArray[np.int64]:
        """Return the slots of an infoset's actions, [a] int64."""
        return np.arange(*self.infoset_offset[infoset : infoset + 2])

    @property
    def n_players(self) -> int:
        """Return the number of seats."""
        return len(self.teams)

    @property
    def n_roots(self) -> int:
        """Return the number of roots."""
        return int(self.level_offsets[1])

    def validate(self) -> Self:
        """Return self if the arrays hold together.

        Raises InvalidTree naming the first rule that is broken.
        """
        n = self.n_nodes
        for name in ("first_child", "n_children", "player", "infoset", "chance_prob", "action"):
            if len(getattr(self, name)) != n:
                raise InvalidTree(f"{name} must have one entry per node, {n}; got {len(getattr(self, name))}")
        roots = self.n_roots
        if np.any(self.parent[:roots] != -1) or np.any(self.parent[roots:] >= np.arange(roots, n)):
            raise InvalidTree("parents must come before their children, and only roots lack one")
        inner = np.flatnonzero(self.n_children)
        if int(self.n_children.sum()) != n - roots:
            raise InvalidTree("every node but a root must be some node's child")
        starts = roots + np.concatenate(([0], np.cumsum(self.n_children[inner])[:-1]))
        if np.any(self.first_child[inner] != starts):
            raise InvalidTree("children must stand together, in the order of their parents")
        if np.any((self.player == TERMINAL) != (self.n_children == 0)):
            raise InvalidTree("a node is terminal if and only if it has no children")
        if len(self.terminal) != len(self.returns) or np.any(self.player[self.terminal] != TERMINAL):
            raise InvalidTree("terminal must list the terminal nodes, with one row of returns each")
        decision = self.player >= 0
        if np.any((self.infoset >= 0) != decision):
            raise InvalidTree("exactly the decision nodes have an infoset")
        sizes = np.diff(self.infoset_offset)[self.infoset[decision]]
        if np.any(sizes != self.n_children[decision]):
            raise InvalidTree(
                "all histories of an infoset must have the same actions; check that the game's actions "
                "(and any branch limit) depend on the infoset alone"
            )
        if np.any(self.infoset_player[self.infoset[decision]] != self.player[decision]):
            raise InvalidTree("an infoset belongs to one player")
        if self.states is not None and len(self.states) != n:
            raise InvalidTree(f"states must have one entry per node, {n}; got {len(self.states)}")
        return self

    def child_slot(self) -> NDArray[np.int64]:
        """Return, for each node, the slot of the decision that led to it, [N] int64; -1 under chance."""
        up = self.parent
        slot = self.infoset_offset[self.infoset[up]] + np.arange(self.n_nodes) - self.first_child[up]
        return np.where((up >= 0) & (self.player[up] >= 0), slot, -1)

    def way_to(self, node: int) -> NDArray[np.int64]:
        """Return the nodes on the way from a root to a node, [depth] int64, the node last and no root."""
        way = []
        while self.parent[node] >= 0:
            way.append(node)
            node = int(self.parent[node])
        return np.array(way[::-1], np.int64)

    def infoset_first_node(self) -> NDArray[np.int32]:
        """Return the first history of each infoset, [I] int32 nodes, read-only."""
        return self._first_node

    @cached_property
    def _first_node(self) -> NDArray[np.int32]:
        first = np.full(self.n_infosets, -1, np.int32)
        decision = np.flatnonzero(self.infoset >= 0)[::-1]
        first[self.infoset[decision]] = decision
        return _fixed(first)

    def slot_actions(self) -> NDArray[Any]:
        """Return the game action of each slot, [A] of the game's action dtype."""
        first = self.infoset_first_node()
        within = np.arange(self.n_slots) - self.infoset_offset[self.slot_infoset]
        actions: NDArray[Any] = self.action[self.first_child[first][self.slot_infoset] + within]
        return actions


@dataclass(frozen=True, eq=False, repr=False)
class EnumeratedTree(FlatTree):
    """A tree that holds the game's state at every node, as `grow` makes it unless it is told otherwise.

    states: [N] the game's states.
    Raises InvalidTree for a tree without states.
    """

    states: NDArray[Any]

    def __post_init__(self) -> None:
        if self.states is None:
            raise InvalidTree("an enumerated tree must hold its states; grow it with keep_states=True")


def require_tree(tree: object) -> FlatTree:
    """Return a tree. Raises InvalidTree for anything else, such as a game."""
    if not isinstance(tree, FlatTree):
        raise InvalidTree(
            f"tree: it must be a FlatTree; got {type(tree).__name__}; grow a game's with cfr.grow(game)"
        )
    return tree


def require_states(tree: FlatTree, caller: str) -> EnumeratedTree:
    """Return the tree as one that is known to hold its states.

    caller: who needs them, for the error.
    Raises ValueError for a tree that does not.
    """
    if not isinstance(tree, EnumeratedTree):
        raise ValueError(f"{caller}: the tree must hold its states; grow it with keep_states=True")
    return tree


def _fixed(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array, which nobody may write to from now on."""
    array.flags.writeable = False
    return array


def array_digest(*arrays: NDArray[np.generic]) -> str:
    """Return a fingerprint of arrays of whole numbers and of fractions, 32 hexadecimal digits.

    Fractions count in single precision: what another machine or release rounds otherwise is no other tree.
    Those that it does not hold count in another unit, a power of 2.
    """
    found = hashlib.blake2b(digest_size=16)
    for array in arrays:
        largest = float(np.abs(array).max(initial=0)) if array.dtype.kind == "f" else 0.0
        if largest and not 2**-100 <= largest < 2**127:
            exponent = math.frexp(largest)[1]
            array = np.ldexp(array, -exponent)
            found.update(str(exponent).encode())
        kept = np.ascontiguousarray(array, "<f4" if array.dtype.kind == "f" else "<i4") + 0  # -0.0 is 0.0
        found.update(repr(kept.shape).encode())
        found.update(kept.data)
    return found.hexdigest()


class ImperfectRecall(InvalidTree):
    """An infoset whose histories follow different own actions: its player has forgotten something."""

    @classmethod
    def at(cls, tree: FlatTree, node: int, game: Game | None = None) -> Self:
        """Return the error for a history whose infoset's other histories follow other own actions.

        game: that of the tree, only to put the histories into words.
        """
        infoset, player = int(tree.infoset[node]), int(tree.player[node])
        own, alike = own_slots(tree, player), np.flatnonzero(tree.infoset == infoset)
        two = sorted({node, *alike[own[alike] != own[node]][:1].tolist()})
        if game is None:
            name = f"infoset {infoset} (histories {' and '.join(map(str, two))} of the tree)"
        else:
            name = " and ".join(repr(game.state_text(_state_at(tree, one, game)[0])) for one in two)
        return cls(
            "perfect recall: all histories of an infoset must follow the same own actions; "
            f"got {name} of player {player} after different ones; put the player's own actions and the order "
            "of its observations into the game's infoset_key"
        )


def _state_at(tree: FlatTree, node: int, game: Game) -> Array:
    """Return the state of a history, [1]; in a tree that keeps none the game is played up to there."""
    if tree.states is not None:
        return tree.states[node : node + 1]
    way = tree.way_to(node)
    root = int(tree.parent[way[0]]) if len(way) else node
    state = game.root()[root : root + 1]
    for step in way.tolist():
        state = game.step(state, np.zeros(1, np.int64), tree.action[step : step + 1])
    return state


def own_slots(tree: FlatTree, player: int) -> NDArray[np.int64]:
    """Return the player's last own slot before each node, [N] int64; -1 if none."""
    own = np.empty(tree.n_nodes, np.int64)
    _own_slot(tree.nodes, tree.infoset_offset, player, own)
    return own


def infoset_parent_slot(
    tree: FlatTree,
    player: int,
    own: NDArray[np.int64] | None = None,
    *,
    game: Game | None = None,
    recall: bool = True,
) -> NDArray[np.int64]:
    """Return the player's own slot before each infoset, [I] int64; -1 if none, or if it is another's.

    own: the player's `own_slots`, if they are at hand. game: that of the tree, only for the error.
    Raises ImperfectRecall where the histories of an infoset follow different own actions; without `recall`
    the last history's counts.
    """
    nodes = np.flatnonzero(tree.player == player)
    before = (own_slots(tree, player) if own is None else own)[nodes]
    parent = np.full(tree.n_infosets, -1, np.int64)
    infoset = tree.infoset[nodes]
    parent[infoset] = before
    other = parent[infoset] != before
    if recall and other.any():
        raise ImperfectRecall.at(tree, int(nodes[other.argmax()]), game)
    return parent


def infoset_parent_slots(tree: FlatTree, *, recall: bool = True) -> NDArray[np.int64]:
    """Return its player's own slot before each infoset, [I] int64; as `infoset_parent_slot`."""
    found = np.full(tree.n_infosets, -1, np.int64)
    for seat in np.unique(tree.infoset_player).tolist():
        found = np.maximum(found, infoset_parent_slot(tree, seat, recall=recall))
    return found


@kernel(lazy=True)
def _own_slot(nodes: Nodes, infoset_offset: NDArray[np.int64], me: int, own: NDArray[np.int64]) -> None:
    parent, first_child, player, infoset, _ = nodes
    for node in range(len(parent)):
        up = parent[node]
        if up < 0:
            own[node] = -1
        elif player[up] == me:
            own[node] = infoset_offset[infoset[up]] + node - first_child[up]
        else:
            own[node] = own[up]
