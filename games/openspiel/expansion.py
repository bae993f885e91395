"""Any game of OpenSpiel's that can be listed, through the same protocol (extra: `openspiel`).

Game strings are read with the types that each game declares. OpenSpiel guesses a value's type from its
spelling, so it takes `numBoardCards=0` for a number where it wants a string. Some of its games also drop
their parameters from their own names (`nfg_game`, `restricted_nash_response`,
`normal_form_extensive_game`). Names made here keep them.

`load_game("openspiel:leduc_poker")` walks the whole game tree once and keeps it as flat arrays, so a state is
the number of a node and every function is a table look-up. Simultaneous moves are played one after the other.

OpenSpiel promises that `information_state_string` tells a player what it knows where it *acts*. What it says
to a player who waits is up to the game, and may be too much: `efg_game` gives it the mover's infoset. So a
waiting player's strings are checked against what perfect recall asks of them, and where they fail, what it
knows is derived from its own infosets and actions (`games.infosets.waiting`).
"""

from __future__ import annotations

import math
import re
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from games.base import ExpandedGame, ExplicitGame, Looked, actions_to, expand
from games.game import CHANCE, TERMINAL, GameError
from games.infosets.naming import ACTS, infoset_line, joined_lines
from games.openspiel.telling import (
    Forgets,
    Observations,
    Teller,
    Told,
    has_observations,
    mover,
    outcomes,
    teller_of,
    texts_of,
)
from games.ragged import Ragged
from games.size import estimate_size
from games.support.array_types import Array
from games.support.near import near

Parameters: TypeAlias = dict[str, Any]
"""A game's `name` and its parameters: bool, int, float, str, or the Parameters of a nested game."""

FILES = {"efg_game": "filename", "nfg_game": "filename"}
"""Games that are read from a file, and the parameter that names it."""
MAY_EXIT = ("universal_poker",)
"""Games whose loading may end the process, for parameters that they do not like."""
LOAD = """
import ast, sys, pyspiel
try:
    parameters = ast.literal_eval(sys.argv[1])
    pyspiel.load_game(parameters.pop("name"), parameters)
except Exception:
    pass  # whoever loads it next meets the same
"""
TURNS = "turn_based_simultaneous_game"
LARGEST_INT = 2**31 - 1
MOST_SAID = 400
"""Characters of an error of OpenSpiel's that are repeated."""


def read_parameters(text: str) -> Parameters:
    """Return the game and the parameters that a string names, of the types that OpenSpiel's game declares.

    Raises GameError for a game that OpenSpiel does not have, a value of another type and a missing file.
    """
    import pyspiel

    name, bracket, rest = text.strip().partition("(")
    name, rest = name.strip(), rest.rstrip()
    if bracket and not rest.endswith(")"):
        raise GameError(
            f'openspiel: a game string must look like name(parameter=value,…); got "{text}"; close the '
            "bracket"
        )
    if name not in pyspiel.registered_names():
        _register_python_games()
    if name not in pyspiel.registered_names():
        hint = near(name, pyspiel.registered_names(), "see pyspiel.registered_names()", cutoff=0.6)
        raise GameError(f'openspiel: no game of OpenSpiel\'s is called "{name}"; {hint}')
    declared = _declared(name)
    found: Parameters = {"name": name}
    for word in _settings(rest[:-1]) if bracket else []:
        key, equals, value = (part.strip() for part in word.partition("="))
        if not equals:
            raise GameError(f'openspiel:{name}: a parameter must look like name=value; got "{word}"')
        if key in found:  # "name" is the game's
            raise GameError(f"openspiel:{name}: {key} must be given once; got {word!r} as well; leave it out")
        found[key] = _typed(name, key, value, declared)
    if name in FILES and not Path(found.get(FILES[name], "")).is_file():
        raise GameError(
            f"openspiel:{name}: {FILES[name]} must name a file; there is no file "
            f"{found.get(FILES[name], '')!r}; check the path"
        )
    return found


def load_parameters(parameters: Parameters) -> Any:
    """Return OpenSpiel's game. Raises GameError, with what OpenSpiel says, if it cannot be loaded."""
    import pyspiel

    written = _written(parameters)
    try:
        given = {key: value for key, value in parameters.items() if key != "name"}
        if any(name in written for name in MAY_EXIT):
            _require_alive(repr(parameters))
        return pyspiel.load_game(parameters["name"], given)
    except Exception as error:  # damaged files bring out an IndexError, among others
        said = " ".join(str(error).split())
        said = said if len(said) <= MOST_SAID else f"{said[:MOST_SAID]}…"
        kind = "" if isinstance(error, RuntimeError) else f"{type(error).__name__}: "
        raise GameError(
            f"openspiel:{written}: OpenSpiel cannot load this; it says: {kind}{said}; change the parameters "
            "or the file"
        ) from None


@cache
def _require_alive(parameters: str) -> None:
    """Raise RuntimeError, with what OpenSpiel says, if loading a game ends the process that loads it.

    parameters: Parameters as Python writes them.
    """
    import subprocess

    words = [sys.executable, "-c", LOAD, parameters]
    tried = subprocess.run(words, capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        raise RuntimeError(tried.stderr)


def game_name(game: Any, parameters: Parameters) -> str:
    """Return the name under which a loaded game is found again: OpenSpiel's own, if it keeps every parameter.

    parameters: what was loaded; `game` may be its turn-based form.
    """
    if game.get_type().short_name == TURNS and parameters["name"] != TURNS:
        parameters = {"name": TURNS, "game": parameters}
    said = str(game)
    try:
        kept = _within(parameters, read_parameters(said))
    except GameError:  # a name such as "matrix_nfg()", which no game has
        kept = False
    return f"openspiel:{said if kept else _written(parameters)}"


def _register_python_games() -> None:
    """Let OpenSpiel know its games that are written in Python."""
    with suppress(ImportError):  # some need libraries that an installation may lack
        import open_spiel.python.games  # noqa: F401


def _declared(name: str) -> Parameters:
    """Return the parameters that a game declares, each with its default or an empty value of its type."""
    import pyspiel

    known: Parameters = next(
        kind.parameter_specification for kind in pyspiel.registered_games() if kind.short_name == name
    )
    return dict(known)


def _settings(text: str) -> list[str]:
    """Return the `key=value` words between a game's brackets; a comma within nested brackets ends none."""
    words, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            words.append("")
        else:
            words[-1] += letter
    joined: list[str] = []
    for word in words:
        if joined and "=" not in word:  # a value may hold commas
            joined[-1] += f",{word}"
        else:
            joined.append(word)
    return [word for word in joined if word.strip()]


def _typed(game: str, key: str, text: str, declared: Parameters) -> Any:
    """Return a value with the type that the game declares; a parameter that it lacks is left to OpenSpiel."""
    kind = type(declared.get(key, text))
    found: Any = None
    if kind is dict:
        return read_parameters(text)
    if kind is str:
        return text
    if kind is bool:
        found = {"true": True, "false": False}.get(text.lower())
    else:
        try:
            found = kind(text)
        except ValueError:
            found = None
        if found is not None and (not math.isfinite(found) or (kind is int and abs(found) > LARGEST_INT)):
            found = None
    if found is None:
        rule = {bool: "true or false", int: "an integer of 32 bits", float: "a finite number"}[kind]
        raise GameError(f"openspiel:{game}: {key} must be {rule}; got {text!r}")
    return found


def _within(given: Parameters, whole: Parameters) -> bool:
    """Return whether the parameters are all among others, with equal values."""
    return all(
        key in whole
        and (_within(value, whole[key]) if isinstance(value, dict) else bool(value == whole[key]))
        for key, value in given.items()
    )


def _written(parameters: Parameters) -> str:
    """Return the game string of parameters: in alphabetic order, those at their defaults left out."""
    declared = _declared(parameters["name"])
    words = [
        f"{key}={_written(value) if isinstance(value, dict) else value!s}"
        for key, value in sorted(parameters.items())
        if key != "name" and (value != declared.get(key) or isinstance(value, dict))
    ]
    return f"{parameters['name']}({','.join(words)})"


SAMPLE = 60
"""Histories kept of each level, in each run, where the size of a game is estimated before it is expanded."""


class TooManyHistories(GameError):
    """A game that has more histories than are kept."""


GAMBIT_FILE = re.compile(r"\b(efg|nfg)_game\(filename=(?P<path>[^)]*)\)")
"""A game of OpenSpiel's that is a file of Gambit's, within a game string."""


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
    from games.gambit import GambitGame

    path = named["path"].strip()
    try:
        GambitGame(path)
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
        return np.array([mover(state) for state in states], np.int8)

    def actions(self, states: Array) -> Ragged:
        rows = [[action for action, _ in outcomes(state)[1]] for state in states]
        if self._one_outcome:
            rows = [
                row[:1] if mover(state) == CHANCE else row for row, state in zip(rows, states, strict=True)
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

    def look(place: tuple[Any, tuple[Told, ...]]) -> Looked:
        state, told = place
        if len(tree.player) >= max_states:
            _refuse_large(name, max_states, "more")
        player, ways = outcomes(state)
        if len({action for action, _ in ways}) < len(ways):
            line = actions_to(len(tree.player), tree.parent, tree.parent_action)
            raise GameError(
                f"{name}: actions of one history must have different numbers; OpenSpiel gives several one "
                f"number after {_words(game, line)}, as their labels are equal{_instead(name)}"
            )
        return player, ways, state.returns() if player == TERMINAL else [0.0] * len(seats), told

    def after(place: tuple[Any, tuple[Told, ...]], action: int) -> tuple[Any, tuple[Told, ...]]:
        state, told = place
        child = state.child(action)
        return child, tuple(teller.after(told[seat], state, action, child, seat) for seat in seats)

    def forgets(first: int, node: int, other_actions: bool) -> GameError:
        player = tree.player[node]
        text = infoset_line(ACTS, str(list(tree.told[player])[tree.known[node][player]]), player)
        what = (
            f"legal actions differ, {tree.count[first]} and {tree.count[node]}"
            if other_actions
            else "player did or saw different things: it forgets (imperfect recall)"
        )
        hint = " (such as imp_info=True)" if "imp_info" in str(game) else ""
        one, two = (_words(game, actions_to(at, tree.parent, tree.parent_action)) for at in (first, node))
        return Forgets(
            f'{name}: infoset "{text}" joins two histories in which its {what}; they are {one} and '
            f"{two}; choose parameters under which players remember{hint}"
        )

    root = game.new_initial_state()
    expand(tree, (root, tuple(teller.first(root, seat) for seat in seats)), look, after, forgets)
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


MAX_STATES = 3_000_000
"""Histories after which expanding a game gives up; a game of this size takes about half a minute."""
TELL_THE_MOVERS = frozenset({"efg_game"})
"""Games whose strings for a player who waits are about the one who moves: their files say nothing else."""


class OpenSpielGame(ExplicitGame):
    """An OpenSpiel game of perfect recall, fully expanded; constant-sum payoffs are shifted to zero-sum.

    Infosets are OpenSpiel's information states; where it has none, or they forget, they are what players did
    and observed.

    text: OpenSpiel's own game string, nested games included.
    max_states: GameError is raised for a game with more histories.
    not_factored: why it has no public form.
    Raises GameError if the extra is not installed, OpenSpiel has no such game, or the game has fewer than two
    players, no explicit chance, says nothing to its players, or forgets (imperfect recall) and has no
    observations either; the last names two histories that share a string and should not.
    """

    not_factored = ""

    def __init__(self, text: str, *, max_states: int = MAX_STATES) -> None:
        self._game, name = load_openspiel(text)
        self._teller = teller_of(self._game)
        try:
            tree = expanded(self._game, name, max_states, self._teller)
        except Forgets:
            if not has_observations(self._game):
                raise
            self._teller = Observations()
            tree = expanded(self._game, name, max_states, self._teller)
        trusted = self._game.get_type().short_name not in TELL_THE_MOVERS
        super().__init__(name, tree, trusted=trusted)

    @property
    def by_observations(self) -> bool:
        """Return whether infosets are what players did and observed, not OpenSpiel's information states."""
        return self._teller.remembers

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but OpenSpiel's game, which may not know its own name."""
        names = tuple(
            [(role, what if isinstance(what, int) else str(what)) for role, what in of] for of in self._names
        )
        return {**self.__dict__, "_game": None, "_names": names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Load OpenSpiel's game again."""
        self.__dict__ |= state
        self._game = load_openspiel(self.name.partition(":")[2])[0]

    def action_text(self, state: Array, action: Array) -> str:
        position = self._history(state)
        ids = self._actions[int(state)].tolist()
        texts = texts_of(position, ids)
        at: int = ids.index(int(action))
        return texts[at]

    def state_text(self, state: Array) -> str:
        return joined_lines(str(self._history(state))) or "the start"

    def openspiel_game(self) -> Any:
        """Return OpenSpiel's own game, in which players move one after the other."""
        return self._game

    def _history(self, state: Array) -> Any:
        """Return OpenSpiel's own state at a node, by playing the actions that lead there."""
        position = self._game.new_initial_state()
        for action in actions_to(int(state), self._parent, self._parent_action):
            position.apply_action(action)
        return position
