"""OpenSpiel's games expanded: loaded, held against what we can play, and walked from root to end once."""

from __future__ import annotations

import re
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from games.base import ExpandedGame
from games.game import CHANCE, TERMINAL, GameError
from games.infosets.infoset_words import ACTS, infoset_line, joined_lines
from games.ragged import Ragged
from games.size import estimate_size
from games.support.array_types import Array
from games.support.near import near

__all__ = ["TooManyHistories", "expanded", "load_openspiel"]

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


def load_openspiel(text: str) -> Any:
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
    except (pyspiel.SpielError, RuntimeError, IndexError, ValueError, MemoryError) as error:
        _refuse_gambit(text)
        said = str(error).strip().splitlines()
        raise GameError(
            f"openspiel:{text}: OpenSpiel cannot load this; it says: {said[0] if said else error}"
        ) from None
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
    if not game.get_type().provides_information_state_string:
        raise GameError(f"openspiel:{text}: a game must provide information state strings; this one does not")
    return game


def expanded(game: Any, name: str, max_states: int) -> ExpandedGame:
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


def _instead(game: Any) -> str:
    """Return what to do with a game of a file of Gambit's that OpenSpiel reads wrongly, for an error."""
    named = GAMBIT_FILE.search(str(game))
    return f"; load it as gambit:{named['path']}" if named else "; tell them apart in the game's own strings"


class _Positions:
    """As much of `Game` as a sample needs: batches of OpenSpiel's own states."""

    def __init__(self, game: Any, name: str) -> None:
        self._game, self.name, self.num_players = game, name, game.num_players()

    def root(self) -> Array:
        states = np.empty(1, object)
        states[0] = self._game.new_initial_state()
        return states

    def player(self, states: Array) -> NDArray[np.int8]:
        return np.array([_outcomes(state)[0] for state in states], np.int8)

    def actions(self, states: Array) -> Ragged:
        rows = [[action for action, _ in _outcomes(state)[1]] for state in states]
        return Ragged.from_counts(
            np.array([len(row) for row in rows], np.int64),
            np.array([a for row in rows for a in row], np.int64),
        )

    def step(self, states: Array, rows: NDArray[np.int64], actions: Array) -> Array:
        after = np.empty(len(rows), object)
        for i, (row, action) in enumerate(zip(rows, actions, strict=True)):
            after[i] = states[row].child(int(action))
        return after


def _expand(game: Any, name: str, max_states: int) -> ExpandedGame:
    """Return the whole tree; raise GameError where it is too large or forgetful."""
    seats = range(game.num_players())
    tree = ExpandedGame(tuple({} for _ in seats))
    # Of each infoset: its player's own sequence before it, its legal actions, and its first history.
    past: tuple[dict[int, _First], ...] = tuple({} for _ in seats)
    # Each entry is a state, the edge that leads to it, its parent, and all players' own sequences.
    stack: list[tuple[Any, int, int, tuple[_Sequence, ...]]] = [
        (game.new_initial_state(), -1, -1, ((),) * len(seats))
    ]
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
        if len({action for action, _ in outcomes}) < len(outcomes):
            raise GameError(
                f"{name}: actions of one history must have different numbers; OpenSpiel gives several one "
                f"number after {_words(game, tree.line(node))}, as their labels are equal{_instead(game)}"
            )
        tree.player.append(player)
        tree.count.append(len(outcomes))
        tree.returns.append(state.returns() if player == TERMINAL else [0.0] * len(seats))
        tree.known.append(
            [
                tree.strings[seat].setdefault(
                    _information(state, seat, player == seat), len(tree.strings[seat])
                )
                for seat in seats
            ]
        )
        if player >= 0:
            legal = tuple(action for action, _ in outcomes)
            known = tree.known[node][player]
            before = past[player].setdefault(known, (sequences[player], legal, node))
            if before[:2] != (sequences[player], legal):
                text = infoset_line(ACTS, _information(state, player, True), player)
                one, two = _words(game, tree.line(before[2])), _words(game, tree.line(node))
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
                after = (*sequences[:player], own, *sequences[player + 1 :])
            stack.append((state.child(action), first + position, node, after))
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
    if state.is_terminal():
        return TERMINAL, []
    if state.is_chance_node():
        return CHANCE, [(action, prob) for action, prob in state.chance_outcomes() if prob > 0]
    return state.current_player(), [(action, 1.0) for action in state.legal_actions()]


def _information(state: Any, player: int, acts: bool) -> str:
    """Return the information state of one player; a game may have none for a player who does not act."""
    try:
        return str(state.information_state_string(player))
    except RuntimeError:
        if not acts:
            return ""
        raise
