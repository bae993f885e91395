"""Which node of a public tree a public state is, by a sorted list of hashes; and which private state is held.

A tree keeps no states: a hash of 64 bits and a number of 32 for each node take their place. Hashes of one
tree are all different, which is made sure of by drawing others until they are. A state that is no node is
taken for one in 1 of 2^64 / nodes cases.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cfr.public.tree import PublicTree, past_forced
from games.game import TERMINAL, GameError
from games.infosets.factored import FactoredGame
from games.support.array_types import Array

__all__ = ["StateIndex", "ends_ahead", "index_states", "private_numbers"]

SALTS = 8
"""Sets of hashes that are tried."""
AT_ONCE = 1024
"""Histories whose private states are looked for at once."""
_MULTIPLIERS = np.array([0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0x9E3779B97F4A7C15], np.uint64)


@dataclass(frozen=True, eq=False)
class StateIndex:
    """Nodes by the hash of their public state.

    hashes: [n] uint64, rising. nodes: [n] int32, whose each is. salt: what the hashes begin with.
    """

    hashes: NDArray[np.uint64]
    nodes: NDArray[np.int32]
    salt: int

    def find(self, states: Array) -> NDArray[np.int64]:
        """Return the nodes of public states, [n] int64; -1 for one that is none."""
        wanted = _hashes(states, self.salt)
        at = np.minimum(np.searchsorted(self.hashes, wanted), len(self.hashes) - 1)
        return np.where(self.hashes[at] == wanted, self.nodes[at].astype(np.int64), -1)


def index_states(tree: PublicTree) -> StateIndex:
    """Return the index of a whole game's public tree, by walking through the game once.

    Raises GameError if the tree is another one than the game's, or public states are not all different.
    """
    for salt in range(SALTS):
        hashes = _walk(tree, salt)
        order = np.argsort(hashes, kind="stable").astype(np.int32)
        hashes = hashes[order]
        if not (hashes[1:] == hashes[:-1]).any():
            return StateIndex(hashes, order, salt)
    raise GameError(
        f"{tree.game.name}: public states must be different wherever players saw or did different things; "
        "two are the same; see games.infosets.factored"
    )


def private_numbers(game: FactoredGame, public: Array, states: Array, player: int) -> NDArray[np.int64]:
    """Return which of its private states a player holds at each history, [n] int64; -1 if it is none.

    public: the public state of each of `states`.
    """
    out = np.full(len(states), -1, np.int64)
    for start in range(0, len(states), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        weights = game.deal_weights(public[part]) > 0
        own_last = weights if player == 1 else weights.swapaxes(1, 2)
        # With any private state of the other that goes with it: the key tells nothing of that.
        at, own = np.nonzero(own_last.any(axis=1))
        other = own_last.argmax(axis=1)[at, own]
        dealt = game.deal(public[part][at], *((own, other) if player == 0 else (other, own)))
        keys = game.infoset_key(states[part], player)
        same = np.flatnonzero((game.infoset_key(dealt, player) == keys[at]).all(axis=1))
        out[start + at[same]] = own[same]
    return out


def ends_ahead(tree: PublicTree) -> dict[bytes, tuple[int, int]]:
    """Return the public states from which forced moves lead to an end, each with the edge that leads there.

    By their bytes: (the last node before, the edge taken there). Walks through the whole game.
    """
    game, found = tree.game, {}
    nodes, states = np.zeros(1, np.int64), past_forced(game, game.public_root())
    while len(nodes):
        actions = game.actions(states)
        first = tree.first_edge[nodes]
        edges = first[actions.rows] + np.arange(len(actions.values)) - actions.offsets[actions.rows]
        after = game.step(states, actions.rows, actions.values)
        over = np.flatnonzero(tree.child[edges] < 0)
        state = after[over]
        while len(over):
            going = np.flatnonzero(game.player(state) != TERMINAL)
            over, state = over[going], state[going]
            for row, one in zip(over.tolist(), state, strict=True):
                found[one.tobytes()] = int(nodes[actions.rows[row]]), int(edges[row])
            state = game.step(state, np.arange(len(state)), game.actions(state).values)
        on = np.flatnonzero(tree.child[edges] >= 0)
        nodes, states = tree.child[edges][on].astype(np.int64), past_forced(game, after[on])
    return found


def _walk(tree: PublicTree, salt: int) -> NDArray[np.uint64]:
    """Return the hash of every node's public state, [nodes] uint64."""
    game = tree.game
    hashes = np.zeros(len(tree), np.uint64)
    nodes = np.zeros(1, np.int64)
    states = past_forced(game, game.public_root())
    met = 0
    while len(nodes):
        met += len(nodes)
        hashes[nodes] = _hashes(states, salt)
        actions = game.actions(states)
        first = tree.first_edge[nodes]
        same = np.array_equal(tree.first_edge[nodes + 1] - first, actions.counts)
        if not same or not np.array_equal(tree.player[nodes], game.player(states)):
            raise GameError(f"{game.name}: the tree must be the game's whole public tree; it is another one")
        within = np.arange(len(actions.values)) - actions.offsets[actions.rows]
        to = tree.child[first[actions.rows] + within]
        on = np.flatnonzero(to >= 0)
        states = past_forced(game, game.step(states, actions.rows[on], actions.values[on]))
        nodes = to[on].astype(np.int64)
    if met != len(tree):
        raise GameError(f"{game.name}: the tree must be the game's whole public tree; it is another one")
    return hashes


def _hashes(states: Array, salt: int) -> NDArray[np.uint64]:
    """Return a hash of each state, [n] uint64: SplitMix64 (Steele et al. 2014) of its words."""
    parts = np.concatenate(_bytes_of(states), axis=1)
    width = -(-parts.shape[1] // 8) * 8
    padded = np.zeros((len(parts), width), np.uint8)
    padded[:, : parts.shape[1]] = parts
    found: NDArray[np.uint64] = np.full(len(parts), salt + 1, np.uint64) * _MULTIPLIERS[2]
    for word in padded.view("<u8").T:
        found ^= word
        found += _MULTIPLIERS[2]
        for shift, multiplier in ((30, _MULTIPLIERS[0]), (27, _MULTIPLIERS[1])):
            found = (found ^ (found >> np.uint64(shift))) * multiplier
        found ^= found >> np.uint64(31)
    return found


def _bytes_of(values: Array) -> list[NDArray[np.uint8]]:
    """Return rows of anything as rows of bytes, in parts [n, bytes]; what pads a record is left out."""
    if values.dtype.names:
        return [part for name in values.dtype.names for part in _bytes_of(values[name])]
    width = values.itemsize * int(np.prod(values.shape[1:], dtype=np.int64))
    return [np.ascontiguousarray(values).reshape(-1).view(np.uint8).reshape(len(values), width)]
