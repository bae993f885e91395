"""Node locking: some infosets' play is fixed, and the rest of the game is solved, searched or measured.

    lock = load_lock("river.json", game, tree)
    solution = solve(tree, lock=lock, iterations=1000)
    exploitability(tree, solution.policy, lock=lock)

A lock is a `Policy` of the infosets that are fixed, as few as one. Chance moves at a locked infoset, as the
lock has it: the players know that, and cannot deviate there. `LockedTree` is a listed game so changed, and
`LockedGame` one of any size. Moves that the lock never makes are left out with all that lies below them.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cfr.policies.policy import Policy, PolicyError, load_policy
from cfr.policies.policy_words import load_policy_json
from cfr.tree import FlatTree
from cfr.tree.flat import require_tree
from cfr.values import check_policy, uniform
from games.game import CHANCE, Game, GameError, Infoset
from games.infosets.nature import NatureView
from games.support.array_types import Array


def load_lock(
    path: str | Path, game: Game, tree: FlatTree | None = None, *, seat: int | None = None
) -> Policy:
    """Return the lock in a file.

    path: a policy file, whole or of some infosets; or JSON, {infoset: {action: probability}}, where an action
        left out has probability 0. tree: the game's, if it is at hand with its states; JSON needs it.
    seat: lock this seat's infosets alone.
    Raises PolicyError for a file that is neither, names an infoset or action that the game lacks, belongs to
    another game, or locks nothing; FileNotFoundError if there is none.
    """
    if str(path).endswith(".json"):
        lock = load_policy_json(path, game, tree, whole=False)
    else:
        lock = load_policy(path, game.name, tree)
    if seat is not None:
        lock = lock.only(lock.infoset_player == seat)
    if lock.n_infosets == 0:
        whose = "" if seat is None else f" of player {seat}"
        raise PolicyError(
            f"{path}: a lock must fix an infoset{whose}; it has none; name one, or leave it out"
        )
    return lock


class LockedTree:
    """A game's tree in which chance moves at the locked infosets.

    tree: the locked one. original: that of the game. slots: [locked tree's slots] int64, theirs in the
    original. n_locked: infosets that the lock fixes.
    Raises PolicyError for a lock with infosets or numbers of actions that the tree does not have.
    """

    def __init__(self, original: FlatTree | object, lock: Policy) -> None:
        self.original, self.n_locked = require_tree(original), lock.n_infosets
        self._fixed, self._base = _on_slots(self.original, lock)
        self.tree, self.slots = _locked(self.original, self._fixed, self._base)

    def whole(self, policy: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a policy of the locked tree on all slots of the original, with the lock in its place.

        Both float64 on slots, [locked] and [original]; infosets that the lock cuts off are uniform.
        """
        out = self._base.copy()
        out[self.slots] = policy
        return out

    def part(self, policy: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a policy of the original, [original slots] float64, on the slots of the locked tree.

        Raises ValueError for one of another size.
        """
        return check_policy(self.original, policy)[self.slots]


class LockedGame(NatureView):
    """A game in which chance moves at the locked infosets; of any size.

    name: that of the game, whose policies it takes.
    """

    def __init__(self, original: Game, lock: Policy) -> None:
        super().__init__(
            original, original.name, lambda game, states, player, actions: self._locked(states, player)
        )
        self.lock = lock
        self.num_players, self.teams = original.num_players, original.teams
        self.payoff_range = original.payoff_range
        self.zero_sum: bool = getattr(original, "zero_sum", True)

    def _locked(self, states: Array, player: int) -> NDArray[np.float64]:
        return self.lock.at(self.original.infoset_key(states, player), player).values

    def nature_acts(self, states: Array) -> NDArray[np.bool_]:
        """Return which histories are in a locked infoset, [n] bool."""
        who = self.original.player(states)
        locked = np.zeros(len(states), bool)
        for seat in np.unique(self.lock.infoset_player).tolist():
            at = np.flatnonzero(who == seat)
            if len(at):
                locked[at] = self.lock.find(self.original.infoset_key(states[at], seat), seat) >= 0
        return locked

    def player(self, states: Array) -> NDArray[np.int8]:
        """Return who acts at each state, [n] int8: CHANCE at locked infosets."""
        return np.where(self.nature_acts(states), np.int8(CHANCE), self.original.player(states))

    def returns(self, states: Array) -> NDArray[np.float64]:
        """Return the payoffs of terminal states, [n, num_players] float64."""
        return self.original.returns(states)

    def infoset_key(self, states: Array, player: int) -> NDArray[np.uint64]:
        """Return what `player` knows at each state, [n, key_width] uint64."""
        return self.original.infoset_key(states, player)

    def infoset_text(self, state: Array, player: int) -> str:
        """Return what `player` knows at this history."""
        return self.original.infoset_text(state, player)

    def parse_infoset(self, text: str) -> Infoset:
        """Return the infoset that `text` names. Raises GameError if it is locked."""
        found = self.original.parse_infoset(text)
        if self.lock.find(np.array([found.key], np.uint64), found.player)[0] >= 0:
            raise GameError(
                f'{self.name}: the infoset must be free; "{found.text}" is locked; choose another'
            )
        return found


def _on_slots(tree: FlatTree, lock: Policy) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return (which infosets are locked, [I] bool; the lock there and uniform play elsewhere, by slot)."""
    base = uniform(tree.infoset_offset)
    fixed = lock.fill(
        tree,
        base,
        f"lock: infosets must have the tree's numbers of actions; this lock of {lock.game} differs; "
        "was it made with other parameters?",
    )
    if fixed.sum() != lock.n_infosets:
        raise PolicyError(
            f"lock: every infoset must be one of the game's; {lock.n_infosets - fixed.sum()} of "
            f"{lock.n_infosets} for {lock.game} are not; was it made with other parameters?"
        )
    return fixed, base


def _locked(
    tree: FlatTree, fixed: NDArray[np.bool_], probs: NDArray[np.float64]
) -> tuple[FlatTree, NDArray[np.int64]]:
    """Return the tree with chance at the fixed infosets, and the old slot of each of its slots."""
    decision = tree.infoset >= 0
    locked = np.zeros(tree.n_nodes, bool)
    locked[decision] = fixed[tree.infoset[decision]]
    slot = tree.child_slot()
    under = np.flatnonzero((slot >= 0) & locked[tree.parent])
    weight = tree.chance_prob.copy()
    weight[under] = probs[slot[under]]
    alive = np.ones(tree.n_nodes, bool)
    alive[under] = weight[under] > 0
    for start, end in pairwise(tree.level_offsets[1:]):
        alive[start:end] &= alive[tree.parent[start:end]]

    kept = np.flatnonzero(alive)
    number = np.cumsum(alive) - 1
    parent = np.where(tree.parent[kept] >= 0, number[tree.parent[kept]], -1)
    children = np.bincount(parent[tree.n_roots :], minlength=len(kept))
    levels = np.concatenate([[0], np.cumsum(alive)])[tree.level_offsets]
    free = np.flatnonzero(decision[kept] & ~locked[kept])
    old, first, again = np.unique(tree.infoset[kept[free]], return_index=True, return_inverse=True)
    order = np.argsort(first)  # infosets are numbered by first appearance
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order))
    infoset = np.full(len(kept), -1, np.int32)
    infoset[free] = rank[again.reshape(-1)]
    old = old[order]
    sizes = np.diff(tree.infoset_offset)[old]
    offset = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    ends = alive[tree.terminal]
    made = replace(
        tree,
        parent=parent.astype(np.int32),
        first_child=(tree.n_roots + np.concatenate([[0], np.cumsum(children)[:-1]])).astype(np.int32),
        n_children=children.astype(np.int32),
        player=np.where(locked, np.int8(CHANCE), tree.player)[kept],
        infoset=infoset,
        chance_prob=weight[kept],
        level_offsets=levels[np.concatenate([[True], np.diff(levels) > 0])].astype(np.int64),
        terminal=number[tree.terminal[ends]].astype(np.int32),
        returns=tree.returns[ends],
        infoset_player=tree.infoset_player[old],
        infoset_offset=offset,
        infoset_key=tree.infoset_key[old],
        action=tree.action[kept],
        states=None if tree.states is None else tree.states[kept],
    )
    slots = np.repeat(tree.infoset_offset[old] - offset[:-1], sizes) + np.arange(offset[-1])
    return made.validate(), slots
