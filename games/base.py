"""What games of one 64-bit key have in common: small ones of two players, and those that are held whole.

`TwoPlayerGame` makes a new game one short file. `ExplicitGame` is held as the arrays of its whole tree, as
OpenSpiel's expanded games and Gambit's files are: a state is the number of a node, and every function is a
table look-up. Where a source says only what a player knows when it acts, what it knows while it waits is
derived (`games.infosets.waiting`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from games.game import TERMINAL, Game, GameError, Infoset
from games.infosets import find_infoset, infoset_at, normal_text, unknown_infoset
from games.infosets.naming import ACTS, OTHER_ACTS, OVER, infoset_line, joined_lines, numbered
from games.infosets.waiting import own_sequences, told_on_the_way, waiting_knowledge
from games.ragged import Ragged
from games.support.array_types import Array

SUM_TOLERANCE = 1e-9
"""How far the sums of payoffs may differ, as a share of the largest payoff, to be called constant."""


class TwoPlayerGame(Game):
    """Defaults for the parts of `Game` that are the same in every small two-player game.

    A subclass gives `name`, `payoff_range` and the batched functions. It may give `history_in` as well,
    which spares `parse_infoset` a search over the whole tree.
    """

    num_players: int = 2
    teams: tuple[int, ...] = (0, 1)
    key_width: int = 1

    def action_type(self, actions: Array) -> NDArray[np.int64]:
        """Return the actions themselves as types, [m] int64: branch limits count each on its own."""
        return actions.astype(np.int64)

    def parse_infoset(self, text: str) -> Infoset:
        """Return the infoset that `text` names; case and spacing do not matter.

        Raises GameError with near matches if there is none.
        """
        history = self.history_in(normal_text(text))
        if history is NotImplemented:
            return find_infoset(self, text)
        if history is not None:
            player = int(normal_text(text)[1])
            infoset = infoset_at(self, history, player)
            if normal_text(infoset.text) == normal_text(text):
                return infoset
        raise unknown_infoset(self, text)

    def history_in(self, text: str) -> Array | None:
        """Return one history, [1], of the infoset that the normalised text names, if it does.

        Whatever comes back is written out and compared with the text again, so a reader may be lenient.
        NotImplemented, the default, says that this game has no reader.
        """
        return NotImplemented  # type: ignore[no-any-return]  # it has the type Any

    def played(self, states: Array, words: list[str]) -> Array | None:
        """Return the history after the actions whose texts are `words`, or None if one is not legal.

        states: [1], the history before them; what comes back is [1] too.
        """
        for word in words:
            actions = self.actions(states).values
            texts = [normal_text(self.action_text(states[0], action)) for action in actions]
            if normal_text(word) not in texts:
                return None
            chosen = texts.index(normal_text(word))
            states = self.step(states, np.zeros(1, np.int64), actions[chosen : chosen + 1])
        return states

    def forced(self, states: Array, *outcomes: int) -> Array:
        """Return the history after these actions or chance outcomes, [1] as `states`.

        Raises GameError for one that is not legal.
        """
        for outcome in outcomes:
            actions = self.actions(states).values
            if outcome not in actions:
                raise GameError(f"{self.name}: an action must be legal here, one of {actions}; got {outcome}")
            states = self.step(states, np.zeros(1, np.int64), np.array([outcome], actions.dtype))
        return states


@dataclass
class ExpandedGame:
    """A whole game tree: one entry per node in depth-first order, one per edge in `action`, `prob`, `child`.

    chance: per node, the probability of chance's part of its history.
    told: for each player all that it is told somewhere, numbered from 0; `str` of it is its words.
    known: per node, for each player, the number of what it knows in `told[player]`.
    """

    told: tuple[dict[Hashable, int], ...]
    player: list[int] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    parent_action: list[int] = field(default_factory=list)
    chance: list[float] = field(default_factory=list)
    count: list[int] = field(default_factory=list)
    action: list[int] = field(default_factory=list)
    prob: list[float] = field(default_factory=list)
    child: list[int] = field(default_factory=list)
    returns: list[list[float]] = field(default_factory=list)
    known: list[list[int]] = field(default_factory=list)


def actions_to(node: int, parent: Sequence[int] | Array, action: Sequence[int] | Array) -> list[int]:
    """Return the actions that lead to a node; the root is 0. parent, action: of each node, before it."""
    way: list[int] = []
    while node:
        way.append(int(action[node]))
        node = int(parent[node])
    return way[::-1]


Place = TypeVar("Place")
"""Where a source of a tree stands."""
Looked = tuple[int, Sequence[tuple[int, float]], Sequence[float], Sequence[Hashable]]
"""Who acts at a place, the (action, probability) of each way on, the payoffs, what each player is told."""


def expand(
    tree: ExpandedGame,
    start: Place,
    look: Callable[[Place], Looked],
    after: Callable[[Place, int], Place],
    forgets: Callable[[int, int, bool], GameError],
) -> None:
    """Fill a tree that has no node yet with all that follows a place.

    look: answers for each place once, when its node's parent and last action are in the tree. after: the
    place that an action leads to. forgets: the error for two nodes of one infoset whose player did or saw
    different things before, or has other actions, which the last argument says; it is raised.
    """
    seats = range(len(tree.told))
    # Of each infoset: its player's own sequence before it, its legal actions, and its first node.
    past: dict[tuple[int, int], tuple[Hashable, tuple[int, ...], int]] = {}
    # Each entry is a place, the edge that leads to it, its parent, and all players' own sequences.
    nothing: tuple[Hashable, ...] = (None,) * len(seats)
    stack: list[tuple[Place, int, int, tuple[Hashable, ...]]] = [(start, -1, -1, nothing)]
    while stack:
        place, edge, parent, own = stack.pop()
        node = len(tree.player)
        tree.parent.append(parent)
        tree.parent_action.append(tree.action[edge] if edge >= 0 else -1)
        tree.chance.append(1.0 if edge < 0 else tree.chance[parent])
        if edge >= 0:
            tree.child[edge] = node
            tree.chance[node] *= tree.prob[edge] if tree.player[parent] < 0 else 1.0
        who, ways, payoffs, told = look(place)
        tree.player.append(who)
        tree.count.append(len(ways))
        tree.returns.append(list(payoffs))
        tree.known.append([tree.told[seat].setdefault(told[seat], len(tree.told[seat])) for seat in seats])
        legal = tuple(action for action, _ in ways)
        if who >= 0:
            before = past.setdefault((who, tree.known[node][who]), (own[who], legal, node))
            if before[:2] != (own[who], legal):
                raise forgets(before[2], node, before[1] != legal)
        first = len(tree.action)
        tree.action += legal
        tree.prob += [prob for _, prob in ways]
        tree.child += [-1] * len(ways)
        for position in reversed(range(len(ways))):
            now = own
            if who >= 0:
                now = (*own[:who], (tree.known[node][who], legal[position]), *own[who + 1 :])
            stack.append((after(place, legal[position]), first + position, node, now))


def constant_sum(payoffs: NDArray[np.float64]) -> float | None:
    """Return what the players' payoffs sum to at every end, None where that differs; 0 for a zero-sum game.

    payoffs: [ends, players].
    """
    sums = payoffs.sum(axis=1)
    middle = float(sums.min() + sums.max()) / 2
    scale = float(np.abs(payoffs - middle / payoffs.shape[1]).max())
    if not np.ptp(sums) <= SUM_TOLERANCE * scale:
        return None
    return 0.0 if abs(middle) <= SUM_TOLERANCE * scale else middle


class ExplicitGame(TwoPlayerGame):
    """A game of perfect recall that is held whole, for any number of players, each a team of its own.

    name: the game string. tree: all of it. trusted: whether what a waiting player is told may be believed
        where it does not contradict perfect recall; if not, what it knows is derived.
    zero_sum: whether payoffs sum to zero, shifted ones included.
    shift: what was taken from every payoff, so that those of a constant-sum game sum to zero.
    derived: seats for which what they know where they wait was derived, not taken from the source.
    remembers: whether what a player knows says what it knew before, where it waits as well.
    A subclass gives `action_text` and `state_text`.
    """

    def __init__(self, name: str, tree: ExpandedGame, *, trusted: bool) -> None:
        self.name = name
        self.num_players = len(tree.told)
        self.teams = tuple(range(self.num_players))
        self._player = np.array(tree.player, np.int8)
        self._parent = np.array(tree.parent)
        self._parent_action = np.array(tree.parent_action)
        self._actions = Ragged.from_counts(np.array(tree.count), np.array(tree.action, np.int64))
        self._prob = np.array(tree.prob, np.float64)
        self._chance = np.array(tree.chance)
        self._returns = np.array(tree.returns, np.float64)
        known = [_knowledge(tree, seat, trusted) for seat in range(self.num_players)]
        self._key = np.stack([key for key, _, _ in known], axis=1)
        self._names = tuple(names for _, names, _ in known)
        self.remembers = all(_remembers(self._parent, key) for key, _, _ in known)
        self.derived = tuple(seat for seat, (_, _, derived) in enumerate(known) if derived)
        ends = self._player == TERMINAL
        total = constant_sum(self._returns[ends])
        self.zero_sum = total is not None
        self.shift = (total or 0.0) / self.num_players
        self._returns[ends] -= self.shift
        self.payoff_range = (float(self._returns[ends].min()), float(self._returns[ends].max()))

        # Edges sorted by node and action, so that `step` finds any action by bisection.
        self._span = int(self._actions.values.max(initial=0)) + 1
        edges = self._actions.rows * self._span + self._actions.values
        order = np.argsort(edges)
        self._edges, self._child = edges[order], np.array(tree.child, np.int64)[order]

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
        here = (self._key[:, infoset.player] == infoset.key[0]) & (self._player != TERMINAL)
        nodes = np.flatnonzero(here)
        share = self._chance[nodes]
        drawn = rng.choice(nodes, size=n, p=share / share.sum())
        lines = [actions_to(node, self._parent, self._parent_action) for node in drawn.tolist()]
        counts = np.array([len(line) for line in lines], np.int64)
        return Ragged.from_counts(counts, np.array([a for line in lines for a in line], np.int64))

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
                infoset_line(
                    role, self._own_words(what, player) if isinstance(what, int) else str(what), player
                )
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
        known = joined_lines(str(self._names[player][int(self._key[above, player])][1]))
        taken = self.action_text(np.array(above), self._parent_action[node])
        return f"{known} | after {taken}"

    @cached_property
    def _named(self) -> dict[str, Infoset]:
        """Every infoset by its normalised words."""
        return {
            normal_text(text): Infoset(player, (key,), text)
            for player, texts in enumerate(self._texts)
            for key, text in enumerate(texts)
        }


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
) -> tuple[NDArray[np.uint64], list[tuple[int, Hashable]], bool]:
    """Return what one player can tell apart at each node, [N] uint64; names of that; whether it was derived.

    A name is (who acts, what the player is told there), or, where it was derived, a node that it holds at.
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
    told = list(tree.told[seat])
    names: list[tuple[int, Hashable]] = [
        (int(role[node]), int(node) if derived and not acts[node] else told[said[node]]) for node in first
    ]
    return number.reshape(-1).astype(np.uint64), names, derived
