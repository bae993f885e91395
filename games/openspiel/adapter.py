"""Any two-player zero-sum game of OpenSpiel's, through the same protocol (extra: `openspiel`).

`load_game("openspiel:leduc_poker")` walks the whole game tree once and keeps it as flat arrays, so a state is
the number of a node and every function is a table look-up. Simultaneous moves are played one after the other.

OpenSpiel promises that `information_state_string` tells a player what it knows where it *acts*. What it says
to a player who waits is up to the game, and may be too much: `efg_game` gives it the mover's infoset. So a
waiting player's strings are checked against what perfect recall asks of them, and where they fail, what it
knows is derived from its own infosets and actions (`games.openspiel.waiting`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from games.base import TwoPlayerGame
from games.game import CHANCE, TERMINAL, GameError, Infoset
from games.infosets import normal_text, unknown_infoset
from games.openspiel.waiting import own_sequences, told_on_the_way, waiting_knowledge
from games.ragged import Ragged
from games.size import estimate_size
from games.support.near import near

__all__ = ["OpenSpielGame"]

MAX_STATES = 3_000_000
"""Histories after which expanding a game gives up; a game of this size takes about half a minute."""
SAMPLE = 60
"""Histories kept of each level, in each run, where the size of a game is estimated before it is expanded."""
TELL_THE_MOVERS = frozenset({"efg_game"})
"""Games whose strings for a player who waits are about the one who moves: their files say nothing else."""

OTHER_ACTS, ACTS, OVER = range(3)


class OpenSpielGame(TwoPlayerGame):
    """A two-player zero-sum OpenSpiel game of perfect recall, fully expanded.

    text: OpenSpiel's own game string, nested games included.
    max_states: GameError is raised for a game with more histories.
    derived: seats for which what they know where they wait was derived, not taken from OpenSpiel.
    Raises GameError if the extra is not installed, OpenSpiel has no such game, or the game has other than two
    players, is not zero-sum, has no explicit chance or information states, or forgets (imperfect recall); the
    last names two histories that share a string and should not.
    """

    def __init__(self, text: str, *, max_states: int = MAX_STATES) -> None:
        self._game = _load(text)
        self.name = f"openspiel:{self._game}"
        tree = _expanded(self._game, self.name, max_states)
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
        self.derived = tuple(seat for seat in (0, 1) if known[seat][2])
        ends = self._returns[self._player == TERMINAL]
        self.payoff_range = (float(ends.min()), float(ends.max()))

        # Edges sorted by node and action, so that `step` finds any action by bisection.
        self._span = int(self._actions.values.max(initial=0)) + 1
        edges = self._actions.rows * self._span + self._actions.values
        order = np.argsort(edges)
        self._edges, self._child = edges[order], np.array(tree.child)[order]

    def root(self) -> NDArray:
        return np.zeros(1, np.int64)

    def player(self, states: NDArray) -> NDArray[np.int8]:
        return self._player[states]

    def actions(self, states: NDArray) -> Ragged:
        return self._actions.take(states)

    def chance_probs(self, states: NDArray, actions: Ragged) -> NDArray[np.float64]:
        return Ragged(self._actions.offsets, self._prob).take(states).values

    def step(self, states: NDArray, rows: NDArray[np.int64], actions: NDArray) -> NDArray:
        return self._child[np.searchsorted(self._edges, states[rows] * self._span + actions)]

    def returns(self, states: NDArray) -> NDArray[np.float64]:
        return self._returns[states]

    def infoset_key(self, states: NDArray, player: int) -> NDArray[np.uint64]:
        return self._key[states, player][:, None]

    def action_text(self, state: NDArray, action: NDArray) -> str:
        position = self._history(state)
        ids = self._actions[int(state)].tolist()
        mover = position.current_player()
        texts = _unique(" ".join(position.action_to_string(mover, a).split()) for a in ids)
        return texts[ids.index(int(action))]

    def state_text(self, state: NDArray) -> str:
        return _joined(str(self._history(state))) or "the start"

    def infoset_text(self, state: NDArray, player: int) -> str:
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
            _unique(
                _one_line(role, self._own_words(what, player) if isinstance(what, int) else what, player)
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

    def _history(self, state: NDArray) -> Any:
        """Return OpenSpiel's own state at a node, by playing the actions that lead there."""
        node, actions = int(state), []
        while node:
            actions.append(int(self._parent_action[node]))
            node = int(self._parent[node])
        position = self._game.new_initial_state()
        for action in reversed(actions):
            position.apply_action(action)
        return position


@dataclass
class _Tree:
    """An expanded game, one entry per node in depth-first order, one per edge in `action`, `prob`, `child`.

    known: per node, for each player, the number of its string in `strings[player]`.
    """

    player: list[int] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    parent_action: list[int] = field(default_factory=list)
    count: list[int] = field(default_factory=list)
    action: list[int] = field(default_factory=list)
    prob: list[float] = field(default_factory=list)
    child: list[int] = field(default_factory=list)
    returns: list[list[float]] = field(default_factory=list)
    known: list[list[int]] = field(default_factory=list)
    strings: tuple[dict[str, int], dict[str, int]] = field(default_factory=lambda: ({}, {}))

    def words(self, game: Any, node: int) -> str:
        """Return the actions that lead to a node, in OpenSpiel's words."""
        actions = []
        while node:
            actions.append(self.parent_action[node])
            node = self.parent[node]
        state, words = game.new_initial_state(), []
        for action in reversed(actions):
            words.append(_joined(state.action_to_string(state.current_player(), action)))
            state.apply_action(action)
        return f'"{", ".join(words)}"' if words else "the start"


def _load(text: str) -> Any:
    """Return OpenSpiel's game, simultaneous moves serialised; raise GameError if it is not of our kind."""
    try:
        import pyspiel
    except ImportError:
        raise GameError(
            f"openspiel:{text}: needs OpenSpiel, which is not installed; pip install 'gs2[openspiel]'"
        ) from None
    name = text.split("(")[0].strip()
    if name not in pyspiel.registered_names():
        hint = near(name, pyspiel.registered_names(), "see pyspiel.registered_names()", cutoff=0.6)
        raise GameError(f'openspiel: no game of OpenSpiel\'s is called "{name}"; {hint}')
    try:
        game = pyspiel.load_game(text.strip())
    except (pyspiel.SpielError, RuntimeError) as error:
        said = str(error).strip().splitlines()
        raise GameError(
            f"openspiel:{text}: OpenSpiel cannot load this; it says: {said[0] if said else error}"
        ) from None
    kind = game.get_type()
    if game.num_players() != 2:
        raise GameError(f"openspiel:{text}: a game must have 2 players; this one has {game.num_players()}")
    if kind.utility != pyspiel.GameType.Utility.ZERO_SUM:
        said = kind.utility.name.lower().replace("_", " ")
        raise GameError(f"openspiel:{text}: payoffs must be zero-sum; these are {said}")
    if kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        game = pyspiel.convert_to_turn_based(game)
    elif kind.dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
        raise GameError(
            f"openspiel:{text}: moves must be sequential or simultaneous; got {kind.dynamics.name}"
        )
    if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        raise GameError(f"openspiel:{text}: chance must list its outcomes; this game only samples them")
    if not game.get_type().provides_information_state_string:
        raise GameError(f"openspiel:{text}: a game must provide information state strings; this one does not")
    return game


def _expanded(game: Any, name: str, max_states: int) -> _Tree:
    """Return the tree of `_expand`; an error inside OpenSpiel becomes a GameError that says whose it is."""
    import pyspiel

    try:
        positions: Any = _Positions(game, name)
        size = estimate_size(positions, width=SAMPLE, infosets=False, enough=100 * max_states)
        if not size.complete:
            _refuse_large(name, max_states, f"more than {100 * max_states:,}")
        if min(size.histories.low, size.histories.mean / 2) > max_states:
            _refuse_large(name, max_states, f"about {size.histories.mean:.2g}")
        return _expand(game, name, max_states)
    except pyspiel.SpielError as error:
        raise GameError(
            f"{name}: OpenSpiel must be able to play it to the end; it failed with: "
            f"{' '.join(str(error).split())}; choose other parameters"
        ) from None


class _Positions:
    """As much of `Game` as a sample needs: batches of OpenSpiel's own states."""

    num_players = 2

    def __init__(self, game: Any, name: str) -> None:
        self._game, self.name = game, name

    def root(self) -> NDArray:
        states = np.empty(1, object)
        states[0] = self._game.new_initial_state()
        return states

    def player(self, states: NDArray) -> NDArray[np.int8]:
        return np.array([_outcomes(state)[0] for state in states], np.int8)

    def actions(self, states: NDArray) -> Ragged:
        rows = [[action for action, _ in _outcomes(state)[1]] for state in states]
        return Ragged.from_counts(
            np.array([len(row) for row in rows], np.int64),
            np.array([a for row in rows for a in row], np.int64),
        )

    def step(self, states: NDArray, rows: NDArray[np.int64], actions: NDArray) -> NDArray:
        after = np.empty(len(rows), object)
        for i, (row, action) in enumerate(zip(rows, actions, strict=True)):
            after[i] = states[row].child(int(action))
        return after


def _expand(game: Any, name: str, max_states: int) -> _Tree:
    """Return the whole tree; raise GameError where it is too large, forgetful or not zero-sum."""
    tree = _Tree()
    # Of each infoset: its player's own sequence before it, its legal actions, and its first history.
    past: tuple[dict[int, tuple], dict[int, tuple]] = ({}, {})
    # Each entry is a state, the edge that leads to it, its parent, and both players' own sequences.
    stack: list[tuple[Any, int, int, tuple]] = [(game.new_initial_state(), -1, -1, ((), ()))]
    while stack:
        state, edge, parent, sequences = stack.pop()
        node = len(tree.player)
        if node >= max_states:
            _refuse_large(name, max_states, "more")
        if edge >= 0:
            tree.child[edge] = node
        tree.parent.append(parent)
        tree.parent_action.append(tree.action[edge] if edge >= 0 else -1)
        player, outcomes = _outcomes(state)
        tree.player.append(player)
        tree.count.append(len(outcomes))
        payoffs = state.returns() if player == TERMINAL else [0.0, 0.0]
        if abs(sum(payoffs)) > 1e-9:
            raise GameError(
                f"{name}: payoffs must sum to zero; got {payoffs} after {tree.words(game, node)}; "
                "choose a zero-sum game"
            )
        tree.returns.append(payoffs)
        tree.known.append(
            [
                tree.strings[seat].setdefault(
                    _information(state, seat, player == seat), len(tree.strings[seat])
                )
                for seat in (0, 1)
            ]
        )
        if player >= 0:
            legal = tuple(action for action, _ in outcomes)
            known = tree.known[node][player]
            before = past[player].setdefault(known, (sequences[player], legal, node))
            if before[:2] != (sequences[player], legal):
                text = _one_line(ACTS, _information(state, player, True), player)
                one, two = tree.words(game, before[2]), tree.words(game, node)
                what = (
                    "player did or saw different things: it forgets (imperfect recall)"
                    if before[1] == legal
                    else f"legal actions differ, {len(before[1])} and {len(legal)}"
                )
                raise GameError(
                    f'{name}: infoset "{text}" joins two histories in which its {what}; they are {one} and '
                    f"{two}; choose parameters under which players remember (such as imp_info=True)"
                )
        first = len(tree.action)
        for action, prob in outcomes:
            tree.action.append(action)
            tree.prob.append(prob)
            tree.child.append(-1)
        for position in reversed(range(len(outcomes))):
            action = outcomes[position][0]
            after = sequences
            if player >= 0:
                own = (tree.known[node][player], action)
                after = (own, sequences[1]) if player == 0 else (sequences[0], own)
            stack.append((state.child(action), first + position, node, after))
    return tree


def _knowledge(
    tree: _Tree, seat: int, trusted: bool
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


def _refuse_large(name: str, max_states: int, count: str) -> NoReturn:
    raise GameError(
        f"{name}: a game must have at most {max_states:,} histories to be expanded; this one has {count}; "
        "choose smaller parameters, or pass a larger max_states to OpenSpielGame"
    )


def _outcomes(state: Any) -> tuple[int, list[tuple[int, float]]]:
    """Return who acts and what may follow: actions, with probability 1, or chance outcomes with theirs."""
    if state.is_terminal():
        return TERMINAL, []
    if state.is_chance_node():
        return CHANCE, [(action, prob) for action, prob in state.chance_outcomes() if prob > 0]
    return state.current_player(), [(action, 1.0) for action in state.legal_actions()]


def _information(state: Any, player: int, acts: bool) -> str:
    """Return the information state of one player; a game may have none for a player who does not act."""
    try:
        return state.information_state_string(player)
    except RuntimeError:
        if not acts:
            return ""
        raise


def _one_line(role: int, known: str, player: int) -> str:
    """Return an infoset in one line of words."""
    return (
        f"P{player} {_joined(known)}".rstrip() + {ACTS: "", OTHER_ACTS: " | waiting", OVER: " | over"}[role]
    )


def _joined(text: str) -> str:
    """Return the lines of a text as one line."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    return "; ".join(line for line in lines if line)


def _unique(texts: Iterable[str]) -> list[str]:
    """Return the texts, those that would be taken for an earlier one numbered from #2."""
    counts: dict[str, int] = {}
    distinct = []
    for text in texts:
        number = counts[normal_text(text)] = counts.get(normal_text(text), 0) + 1
        distinct.append(text if number == 1 else f"{text} #{number}")
    return distinct
