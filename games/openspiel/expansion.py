"""OpenSpiel's games expanded: loaded, held against what we can play, and walked from root to end once."""

from __future__ import annotations

import re
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from games.base import ExpandedGame
from games.game import CHANCE, TERMINAL, GameError
from games.infosets.infoset_words import ACTS, infoset_line, joined_lines
from games.openspiel.game_strings import game_name, load_parameters, read_parameters
from games.openspiel.telling import Forgets, Teller, Told, has_observations
from games.ragged import Ragged
from games.size import estimate_size
from games.support.array_types import Array

__all__ = ["TooManyHistories", "expanded", "has_more_below", "load_openspiel"]

SAMPLE = 60
"""Histories kept of each level, in each run, where the size of a game is estimated before it is expanded."""


class TooManyHistories(GameError):
    """A game that has more histories than are kept."""


GAMBIT_FILE = re.compile(r"\b(efg|nfg)_game\(filename=(?P<path>[^)]*)\)")
"""A game of OpenSpiel's that is a file of Gambit's, within a game string."""

_Sequence: TypeAlias = tuple[int, int] | tuple[()]
"""A player's last infoset and action, if any."""
_First: TypeAlias = tuple[_Sequence, tuple[int, ...], int]
"""What is remembered of an infoset: its player's sequence before it, its legal actions, its first node."""


def load_openspiel(text: str) -> tuple[Any, str]:
    """Return OpenSpiel's game, simultaneous moves serialised, and its name, which loads it again.

    Raises GameError if it is not of our kind.
    """
    try:
        import pyspiel
    except ImportError:
        raise GameError(
            f"openspiel:{text}: needs OpenSpiel, which is not installed; pip install 'gs2[openspiel]'"
        ) from None
    parameters = read_parameters(text)
    try:
        game = load_parameters(parameters)
    except GameError:
        _refuse_gambit(text)
        raise
    kind = game.get_type()
    if game.num_players() < 2:
        raise GameError(f"openspiel:{text}: a game must have at least 2 players; this one has 1")
    if kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        game = pyspiel.convert_to_turn_based(game)
    elif kind.dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
        raise GameError(
            f"openspiel:{text}: moves must be sequential or simultaneous; got {kind.dynamics.name}"
        )
    if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        raise GameError(f"openspiel:{text}: chance must list its outcomes; this game only samples them")
    if not game.get_type().provides_information_state_string and not has_observations(game):
        raise GameError(
            f"openspiel:{text}: a game must provide information state or observation strings; this one has "
            "neither; choose another game"
        )
    return game, game_name(game, parameters)


def expanded(game: Any, name: str, max_states: int, teller: Teller) -> ExpandedGame:
    """Return the tree of `_expand`; an error inside OpenSpiel becomes a GameError that says whose it is."""
    import pyspiel

    try:
        positions: Any = _Positions(game.new_initial_state(), name)
        size = estimate_size(positions, width=SAMPLE, infosets=False, enough=100 * max_states)
        if not size.complete:
            _refuse_large(name, max_states, f"more than {100 * max_states:,}")
        if min(size.histories.low, size.histories.mean / 2) > max_states:
            _refuse_large(name, max_states, f"about {size.histories.mean:.2g}")
        return _expand(game, name, max_states, teller)
    except pyspiel.SpielError as error:
        raise GameError(
            f"{name}: OpenSpiel must be able to play it to the end; it failed with: "
            f"{' '.join(str(error).split())}; choose other parameters"
        ) from None


def has_more_below(start: Any, name: str, most: int) -> bool:
    """Return whether a sample says that far more than `most` histories follow a state, chance aside."""
    positions: Any = _Positions(start, name, one_outcome=True)
    size = estimate_size(positions, width=SAMPLE, infosets=False, enough=100 * most)
    return not size.complete or min(size.histories.low, size.histories.mean / 2) > most


def _refuse_gambit(text: str) -> None:
    """Raise GameError if OpenSpiel failed at a file of Gambit's: our reader's error, or that it reads it."""
    named = GAMBIT_FILE.search(text)
    if named is None:
        return
    from games.gambit import load_gambit

    path = named["path"].strip()
    try:
        load_gambit(path)
    except GameError as error:  # it names the file and the line
        raise GameError(f"openspiel:{text}: OpenSpiel cannot read this file; {error}") from None
    raise GameError(f"openspiel:{text}: OpenSpiel cannot read {path}; load it as gambit:{path}")


def _instead(name: str) -> str:
    """Return what to do with a game of a file of Gambit's that OpenSpiel reads wrongly, for an error."""
    named = GAMBIT_FILE.search(name)
    return f"; load it as gambit:{named['path']}" if named else "; tell them apart in the game's own strings"


class _Positions:
    """As much of `Game` as a sample needs: batches of OpenSpiel's own states.

    start: where the game begins. one_outcome: follow chance's first outcome alone.
    """

    one_by_one = True

    def __init__(self, start: Any, name: str, *, one_outcome: bool = False) -> None:
        self._start, self.name, self._one_outcome = start, name, one_outcome
        self.num_players = start.num_players()

    def root(self) -> Array:
        states = np.empty(1, object)
        states[0] = self._start
        return states

    def player(self, states: Array) -> NDArray[np.int8]:
        return np.array([_mover(state) for state in states], np.int8)

    def actions(self, states: Array) -> Ragged:
        rows = [[action for action, _ in _outcomes(state)[1]] for state in states]
        if self._one_outcome:
            rows = [
                row[:1] if _mover(state) == CHANCE else row for row, state in zip(rows, states, strict=True)
            ]
        return Ragged.from_counts(
            np.array([len(row) for row in rows], np.int64),
            np.array([a for row in rows for a in row], np.int64),
        )

    def step(self, states: Array, rows: NDArray[np.int64], actions: Array) -> Array:
        after = np.empty(len(rows), object)
        for i, (row, action) in enumerate(zip(rows, actions, strict=True)):
            after[i] = states[row].child(int(action))
        return after


def _expand(game: Any, name: str, max_states: int, teller: Teller) -> ExpandedGame:
    """Return the whole tree; raise GameError where it is too large or forgetful."""
    seats = range(game.num_players())
    tree = ExpandedGame(tuple({} for _ in seats))
    # Of each infoset: its player's own sequence before it, its legal actions, and its first history.
    past: tuple[dict[int, _First], ...] = tuple({} for _ in seats)
    # Each entry is a state, the edge that leads to it, its parent, and all players' own sequences and
    # knowledge.
    root = game.new_initial_state()
    stack: list[tuple[Any, int, int, tuple[_Sequence, ...], tuple[Told, ...]]] = [
        (root, -1, -1, ((),) * len(seats), tuple(teller.first(root, seat) for seat in seats))
    ]
    while stack:
        state, edge, parent, sequences, told = stack.pop()
        node = len(tree.player)
        if node >= max_states:
            _refuse_large(name, max_states, "more")
        if edge >= 0:
            tree.child[edge] = node
        tree.parent.append(parent)
        tree.parent_action.append(tree.action[edge] if edge >= 0 else -1)
        player, outcomes = _outcomes(state)
        if len({action for action, _ in outcomes}) < len(outcomes):
            raise GameError(
                f"{name}: actions of one history must have different numbers; OpenSpiel gives several one "
                f"number after {_words(game, tree.line(node))}, as their labels are equal{_instead(name)}"
            )
        tree.player.append(player)
        tree.count.append(len(outcomes))
        tree.returns.append(state.returns() if player == TERMINAL else [0.0] * len(seats))
        tree.known.append([tree.told[seat].setdefault(told[seat], len(tree.told[seat])) for seat in seats])
        if player >= 0:
            legal = tuple(action for action, _ in outcomes)
            known = tree.known[node][player]
            before = past[player].setdefault(known, (sequences[player], legal, node))
            if before[:2] != (sequences[player], legal):
                text = infoset_line(ACTS, str(told[player]), player)
                one, two = _words(game, tree.line(before[2])), _words(game, tree.line(node))
                what = (
                    "player did or saw different things: it forgets (imperfect recall)"
                    if before[1] == legal
                    else f"legal actions differ, {len(before[1])} and {len(legal)}"
                )
                hint = " (such as imp_info=True)" if "imp_info" in str(game) else ""
                raise Forgets(
                    f'{name}: infoset "{text}" joins two histories in which its {what}; they are {one} and '
                    f"{two}; choose parameters under which players remember{hint}"
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
                after = (*sequences[:player], own, *sequences[player + 1 :])
            child = state.child(action)
            now = tuple(teller.after(told[seat], state, action, child, seat) for seat in seats)
            stack.append((child, first + position, node, after, now))
    return tree


def _words(game: Any, line: list[int]) -> str:
    """Return the actions that lead to a node, in OpenSpiel's words."""
    state, words = game.new_initial_state(), []
    for action in line:
        words.append(joined_lines(state.action_to_string(state.current_player(), action)))
        state.apply_action(action)
    return f'"{", ".join(words)}"' if words else "the start"


def _refuse_large(name: str, max_states: int, count: str) -> NoReturn:
    raise TooManyHistories(
        f"{name}: a game must have at most {max_states:,} histories to be expanded; this one has {count}; "
        "choose smaller parameters, or pass a larger max_states to OpenSpielGame"
    )


def _outcomes(state: Any) -> tuple[int, list[tuple[int, float]]]:
    """Return who acts and what may follow: actions, with probability 1, or chance outcomes with theirs."""
    mover = _mover(state)
    if mover == CHANCE:
        return CHANCE, [(action, prob) for action, prob in state.chance_outcomes() if prob > 0]
    return mover, [(action, 1.0) for action in state.legal_actions()] if mover >= 0 else []


def _mover(state: Any) -> int:
    if state.is_terminal():
        return TERMINAL
    return CHANCE if state.is_chance_node() else int(state.current_player())
