"""Game strings of OpenSpiel's: read with the types that each game declares, and names that read back.

OpenSpiel guesses a value's type from its spelling, so it takes `numBoardCards=0` for a number where it wants
a string. Some of its games also drop their parameters from their own names (`nfg_game`,
`restricted_nash_response`, `normal_form_extensive_game`). Names made here keep them.
"""

from __future__ import annotations

import math
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from games.game import GameError
from games.support.near import near

__all__ = ["Parameters", "game_name", "load_parameters", "read_parameters"]

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
    for word in _words(rest[:-1]) if bracket else []:
        key, equals, value = (part.strip() for part in word.partition("="))
        if not equals:
            raise GameError(f'openspiel:{name}: a parameter must look like name=value; got "{word}"')
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


def _words(text: str) -> list[str]:
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
