"""Any two-player zero-sum game of OpenSpiel's, through the same protocol (extra: `openspiel`).

`load_game("openspiel:leduc_poker")` walks the whole game tree once and keeps it as flat arrays, so a state is
the number of a node and every function is a table look-up. Simultaneous moves are played one after the other.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.base import TwoPlayerGame
from games.game import CHANCE, TERMINAL, GameError, Infoset
from games.infosets import normal_text, unknown_infoset
from games.ragged import Ragged

__all__ = ["OpenSpielGame"]

MAX_STATES = 3_000_000
"""Histories after which expanding a game gives up; a game of this size takes about half a minute."""
PROBES = 25
"""Random playouts that guess the size of a game before it is expanded."""

OTHER_ACTS, ACTS, OVER = range(3)


class OpenSpielGame(TwoPlayerGame):
    """A two-player zero-sum OpenSpiel game of perfect recall, fully expanded.

    text: OpenSpiel's own game string, nested games included.
    max_states: GameError is raised for a game with more histories.
    Raises GameError if the extra is not installed, OpenSpiel has no such game, or the game has other than two
    players, is not zero-sum, has no explicit chance or information states, or forgets (imperfect recall).
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
        self._key = np.array(tree.infoset, np.uint64)
        self._names = tuple(list(names) for names in tree.names)
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
            _unique(_one_line(name, player) for name in names) for player, names in enumerate(self._names)
        )

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

    infoset: per node, each player's infoset as an index into `names[player]`: (who acts, information state,
    own sequence where the player does not act).
    """

    player: list[int] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    parent_action: list[int] = field(default_factory=list)
    count: list[int] = field(default_factory=list)
    action: list[int] = field(default_factory=list)
    prob: list[float] = field(default_factory=list)
    child: list[int] = field(default_factory=list)
    returns: list[list[float]] = field(default_factory=list)
    infoset: list[list[int]] = field(default_factory=list)
    names: tuple[dict[tuple, int], dict[tuple, int]] = field(default_factory=lambda: ({}, {}))


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
        near = difflib.get_close_matches(name, pyspiel.registered_names(), n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else "; see pyspiel.registered_names()"
        raise GameError(f'openspiel: no game of OpenSpiel\'s is called "{name}"{hint}')
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


def _expanded(game, name: str, max_states: int):
    """Return the tree of `_expand`; an error inside OpenSpiel becomes a GameError that says whose it is."""
    import pyspiel

    try:
        return _expand(game, name, max_states)
    except pyspiel.SpielError as error:
        raise GameError(
            f"{name}: OpenSpiel must be able to play it to the end; it failed with: "
            f"{' '.join(str(error).split())}; choose other parameters"
        ) from None


def _expand(game: Any, name: str, max_states: int) -> _Tree:
    """Return the whole tree; raise GameError where it is too large, forgetful or not zero-sum."""
    tree = _Tree()
    past: tuple[dict[int, tuple], dict[int, tuple]] = (
        {},
        {},
    )  # own sequence and legal actions of each infoset
    # Each entry is a state, the edge that leads to it, its parent, and both players' own sequences.
    _refuse_large(_guessed_size(game) > 100 * max_states, name, max_states)
    stack: list[tuple[Any, int, int, tuple]] = [(game.new_initial_state(), -1, -1, ((), ()))]
    while stack:
        state, edge, parent, sequences = stack.pop()
        node = len(tree.player)
        _refuse_large(node >= max_states, name, max_states)
        if edge >= 0:
            tree.child[edge] = node
        tree.parent.append(parent)
        tree.parent_action.append(tree.action[edge] if edge >= 0 else -1)
        player, outcomes = _outcomes(state)
        tree.player.append(player)
        tree.count.append(len(outcomes))
        payoffs = state.returns() if player == TERMINAL else [0.0, 0.0]
        if abs(sum(payoffs)) > 1e-9:
            raise GameError(f"{name}: payoffs must sum to zero; got {payoffs} after {state.history()}")
        tree.returns.append(payoffs)

        keys = []
        for seat in (0, 1):
            role = ACTS if player == seat else OVER if player == TERMINAL else OTHER_ACTS
            known = _information(state, seat, role)
            # Some games do not tell a player who waits what it did last; the sequence does.
            key_name = (role, known, () if role == ACTS else sequences[seat])
            keys.append(tree.names[seat].setdefault(key_name, len(tree.names[seat])))
        tree.infoset.append(keys)
        if player >= 0:
            legal = tuple(action for action, _ in outcomes)
            before = past[player].setdefault(keys[player], (sequences[player], legal))
            if before != (sequences[player], legal):
                text = _one_line((ACTS, _information(state, player, ACTS), ()), player)
                what = "pasts: it forgets (imperfect recall)" if before[1] == legal else "legal actions"
                raise GameError(
                    f'{name}: infoset "{text}" joins histories with different {what}; '
                    "choose parameters under which players remember (such as imp_info=True)"
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
                own = (keys[player], action)
                after = (own, sequences[1]) if player == 0 else (sequences[0], own)
            stack.append((state.child(action), first + position, node, after))
    return tree


def _refuse_large(large: bool, name: str, max_states: int) -> None:
    if large:
        raise GameError(
            f"{name}: a game must have at most {max_states:,} histories to be expanded; this one has more; "
            "choose smaller parameters, or pass a larger max_states to OpenSpielGame"
        )


def _guessed_size(game: Any) -> float:
    """Return a guess at the number of histories, usually too low: the median over random playouts.

    The product of the numbers of actions along a random playout has the number of histories of that length as
    its mean (Knuth 1975); the median of so skewed a quantity lies below it.
    """
    rng = np.random.default_rng(0)
    guesses = []
    for _ in range(PROBES):
        state, width, total = game.new_initial_state(), 1.0, 1.0
        while total < 1e30 and (outcomes := _outcomes(state)[1]):
            width *= len(outcomes)
            total += width
            state.apply_action(outcomes[rng.integers(len(outcomes))][0])
        guesses.append(total)
    return float(np.median(guesses))


def _outcomes(state: Any) -> tuple[int, list[tuple[int, float]]]:
    """Return who acts and what may follow: actions, with probability 1, or chance outcomes with theirs."""
    if state.is_terminal():
        return TERMINAL, []
    if state.is_chance_node():
        return CHANCE, [(action, prob) for action, prob in state.chance_outcomes() if prob > 0]
    return state.current_player(), [(action, 1.0) for action in state.legal_actions()]


def _information(state: Any, player: int, role: int) -> str:
    """Return the information state of one player; a game may have none once it is over."""
    try:
        return state.information_state_string(player)
    except RuntimeError:
        if role == OVER:
            return "the end"
        raise


def _one_line(name: tuple, player: int) -> str:
    """Return an infoset in one line of words."""
    role, known, _ = name
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
