"""Any two-player zero-sum game of OpenSpiel's, through the same protocol (extra: `openspiel`).

`load_game("openspiel:leduc_poker")` walks the whole game tree once and keeps it as flat arrays, so a state is
the number of a node and every function is a table look-up. Simultaneous moves are played one after the other.

OpenSpiel promises that `information_state_string` tells a player what it knows where it *acts*. What it says
to a player who waits is up to the game, and may be too much: `efg_game` gives it the mover's infoset. So a
waiting player's strings are checked against what perfect recall asks of them, and where they fail, what it
knows is derived from its own infosets and actions (`games.openspiel.waiting`).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.base import TwoPlayerGame
from games.game import TERMINAL, GameError, Infoset
from games.infosets import normal_text, unknown_infoset
from games.openspiel.expansion import ExpandedGame, expanded, load_openspiel
from games.openspiel.infoset_words import ACTS, OTHER_ACTS, OVER, infoset_line, joined_lines, numbered
from games.openspiel.waiting import own_sequences, told_on_the_way, waiting_knowledge
from games.ragged import Ragged
from games.support.array_types import Array

__all__ = ["OpenSpielGame"]

MAX_STATES = 3_000_000
"""Histories after which expanding a game gives up; a game of this size takes about half a minute."""
TELL_THE_MOVERS = frozenset({"efg_game"})
"""Games whose strings for a player who waits are about the one who moves: their files say nothing else."""


class OpenSpielGame(TwoPlayerGame):
    """A two-player zero-sum OpenSpiel game of perfect recall, fully expanded.

    text: OpenSpiel's own game string, nested games included.
    max_states: GameError is raised for a game with more histories.
    derived: seats for which what they know where they wait was derived, not taken from OpenSpiel.
    remembers: whether what a player knows says what it knew before, where it waits as well.
    not_factored: why it has no public form.
    Raises GameError if the extra is not installed, OpenSpiel has no such game, or the game has other than two
    players, is not zero-sum, has no explicit chance or information states, or forgets (imperfect recall); the
    last names two histories that share a string and should not.
    """

    not_factored = ""

    def __init__(self, text: str, *, max_states: int = MAX_STATES) -> None:
        self._game = load_openspiel(text)
        self.name = f"openspiel:{self._game}"
        tree = expanded(self._game, self.name, max_states)
        self._player = np.array(tree.player, np.int8)
        self._parent = np.array(tree.parent)
        self._parent_action = np.array(tree.parent_action)
        self._actions = Ragged.from_counts(np.array(tree.count), np.array(tree.action, np.int64))
        self._prob = np.array(tree.prob)
        self._returns = np.array(tree.returns)
        trusted = self._game.get_type().short_name not in TELL_THE_MOVERS
        known = [_knowledge(tree, seat, trusted) for seat in (0, 1)]
        self._key = np.stack([key for key, _, _ in known], axis=1)
        self._names = tuple(names for _, names, _ in known)
        self.remembers = all(_remembers(self._parent, self._key[:, seat]) for seat in (0, 1))
        self.derived = tuple(seat for seat in (0, 1) if known[seat][2])
        ends = self._returns[self._player == TERMINAL]
        self.payoff_range = (float(ends.min()), float(ends.max()))

        # Edges sorted by node and action, so that `step` finds any action by bisection.
        self._span = int(self._actions.values.max(initial=0)) + 1
        edges = self._actions.rows * self._span + self._actions.values
        order = np.argsort(edges)
        self._edges, self._child = edges[order], np.array(tree.child)[order]

    def root(self) -> Array:
        return np.zeros(1, np.int64)

    def player(self, states: Array) -> NDArray[np.int8]:
        return self._player[states]

    def actions(self, states: Array) -> Ragged:
        return self._actions.take(states)

    def chance_probs(self, states: Array, actions: Ragged) -> NDArray[np.float64]:
        return Ragged(self._actions.offsets, self._prob).take(states).values

    def step(self, states: Array, rows: NDArray[np.int64], actions: Array) -> Array:
        return self._child[np.searchsorted(self._edges, states[rows] * self._span + actions)]

    def returns(self, states: Array) -> NDArray[np.float64]:
        return self._returns[states]

    def infoset_key(self, states: Array, player: int) -> NDArray[np.uint64]:
        keys: NDArray[np.uint64] = self._key[states, player]
        return keys[:, None]

    def sample_histories(self, infoset: Infoset, n: int, rng: np.random.Generator) -> Ragged:
        """Return n histories of an infoset, each as often as chance's part of it says; they are all known."""
        nodes = np.flatnonzero((self._key[:, infoset.player] == infoset.key[0]) & (self._player >= 0))
        share = self._chance[nodes]
        drawn = rng.choice(nodes, size=n, p=share / share.sum())
        lines: list[list[int]] = []
        for node in drawn.tolist():
            way = []
            while node:
                way.append(int(self._parent_action[node]))
                node = int(self._parent[node])
            lines.append(way[::-1])
        counts = np.array([len(line) for line in lines], np.int64)
        return Ragged.from_counts(counts, np.array([a for line in lines for a in line], np.int64))

    @cached_property
    def _chance(self) -> NDArray[np.float64]:
        """[N] float64, the probability of chance's part of each history."""
        prob = Ragged(self._actions.offsets, self._prob)
        chance = np.ones(len(self._player))
        # Children come after their parents, and an edge stands where its child does.
        edge = np.argsort(self._child)
        sorted_edges = np.argsort(self._actions.rows * self._span + self._actions.values)
        at = sorted_edges[edge]
        for node, place in zip(range(1, len(chance)), at.tolist(), strict=True):
            above = self._parent[node]
            chance[node] = chance[above] * (prob.values[place] if self._player[above] < 0 else 1.0)
        return chance

    def action_text(self, state: Array, action: Array) -> str:
        position = self._history(state)
        ids = self._actions[int(state)].tolist()
        mover = position.current_player()
        texts = numbered(" ".join(position.action_to_string(mover, a).split()) for a in ids)
        at: int = ids.index(int(action))
        return texts[at]

    def state_text(self, state: Array) -> str:
        return joined_lines(str(self._history(state))) or "the start"

    def infoset_text(self, state: Array, player: int) -> str:
        return self._texts[player][int(self._key[int(state), player])]

    def parse_infoset(self, text: str) -> Infoset:
        found = self._named.get(normal_text(text))
        if found is None:
            raise unknown_infoset(self, text)
        return found

    @cached_property
    def _texts(self) -> tuple[list[str], ...]:
        """The words of every infoset of each player, by key; made when first asked for."""
        return tuple(
            numbered(
                infoset_line(role, self._own_words(what, player) if isinstance(what, int) else what, player)
                for role, what in names
            )
            for player, names in enumerate(self._names)
        )

    def _own_words(self, node: int, player: int) -> str:
        """Return the last infoset and action of a player above a node, in words."""
        while node and self._player[self._parent[node]] != player:
            node = int(self._parent[node])
        if not node:
            return ""
        above = int(self._parent[node])
        known = self._names[player][int(self._key[above, player])][1]
        taken = self.action_text(np.array(above), self._parent_action[node])
        return f"{known} | after {taken}"

    def openspiel_game(self) -> Any:
        """Return OpenSpiel's own game, in which players move one after the other."""
        return self._game

    def openspiel_string(self, key: int, player: int) -> str:
        """Return OpenSpiel's information state string of an infoset where the player acts.

        Raises GameError if it is not one.
        """
        role, known = self._names[player][key]
        if role != ACTS:
            raise GameError(f"{self.name}: player {player} must act at the infoset; it waits at {key}")
        return str(known)

    @cached_property
    def _named(self) -> dict[str, Infoset]:
        """Every infoset by its normalised words."""
        return {
            normal_text(text): Infoset(player, (key,), text)
            for player, texts in enumerate(self._texts)
            for key, text in enumerate(texts)
        }

    def _history(self, state: Array) -> Any:
        """Return OpenSpiel's own state at a node, by playing the actions that lead there."""
        node, actions = int(state), []
        while node:
            actions.append(int(self._parent_action[node]))
            node = int(self._parent[node])
        position = self._game.new_initial_state()
        for action in reversed(actions):
            position.apply_action(action)
        return position


def _remembers(parent: NDArray[np.int64], key: NDArray[np.uint64]) -> bool:
    """Return whether a player's key at a node decides the different one that it had before, if any."""
    before = np.full(len(parent), -1, np.int64)
    for node in range(1, len(parent)):
        above = parent[node]
        before[node] = before[above] if key[above] == key[node] else int(key[above])
    pairs = np.unique(np.stack([key.astype(np.int64), before], axis=1), axis=0)
    return len(pairs) == len(np.unique(pairs[:, 0]))


def _knowledge(
    tree: ExpandedGame, seat: int, trusted: bool
) -> tuple[NDArray[np.uint64], list[tuple[int, str | int]], bool]:
    """Return what one player can tell apart at each node, [N] uint64; names of that; whether it was derived.

    A name is (who acts, the player's string there), or, where it was derived, a node that it holds at.
    """
    parent = np.array(tree.parent, np.int64)
    acting = np.array(tree.player, np.int8)
    said = np.array([known[seat] for known in tree.known], np.int64)
    acts = acting == seat
    infoset = np.where(acts, said, -1)
    sequence = own_sequences(parent, acting, infoset, np.array(tree.parent_action, np.int64), seat)
    what, conflict = told_on_the_way(parent, acting, infoset, sequence, said, seat)
    derived = conflict is not None or not trusted
    if derived:
        what = waiting_knowledge(parent, acting, infoset, sequence, seat)
    what = np.where(acts, said, what)
    role = np.where(acts, ACTS, np.where(acting == TERMINAL, OVER, OTHER_ACTS))
    pairs = np.stack([role, what], axis=1)
    _, first, number = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    strings = list(tree.strings[seat])
    names: list[tuple[int, str | int]] = [
        (int(role[node]), int(node) if derived and not acts[node] else strings[said[node]]) for node in first
    ]
    return number.reshape(-1).astype(np.uint64), names, derived
