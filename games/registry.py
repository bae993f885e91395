"""Games by name: `load_game("liars_dice(sides=6)")`, what there is to load, and what can be varied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any

from games.game import Game, GameError, not_zero_sum, require_payoff_size
from games.parameters import Int, Parameter
from games.support.near import near
from games.support.own import entry_point, entry_points_of, is_own, own_object

PRESETS = {
    "liars_dice_5": "liars_dice(sides=5)",
    "liars_dice_6": "liars_dice(sides=6)",
    "liars_dice_6_reset_quantity": "liars_dice(sides=6,bidding=reset-quantity)",
    "liars_dice_7": "liars_dice(sides=7)",
    "liars_dice_7_reset_quantity": "liars_dice(sides=7,bidding=reset-quantity)",
    **{
        f"goofspiel_{cards}_{order}_3{suffix}": (
            f"goofspiel(cards={cards},turns=3,points_order={order},returns={returns})"
        )
        for cards, order in ((5, "random"), (10, "ascending"), (12, "ascending"))
        for suffix, returns in (("", "point_difference"), ("_win_loss", "win_loss"))
    },
}
"""Short names of the games that the literature measures on, each for a game string."""

RESEARCH_GAMES = (
    "leduc_poker",
    "liars_dice_6",
    "liars_dice_7",
    "goofspiel_5_random_3",
    "goofspiel_10_ascending_3",
    "goofspiel_12_ascending_3",
)
"""The six research games, by registered name or preset."""

OPENSPIEL = "openspiel:"
GAMBIT = "gambit:"
OWN_WIDTH = 50
"""Histories of each level at which a user's own game is checked when it is loaded."""


@dataclass(frozen=True)
class GameSpec:
    """A game that can be loaded by name.

    name: what a game string starts with.
    summary: one line about it.
    parameters: what may follow in parentheses, `name(parameter=value,…)`.
    make: the constructor; it takes each parameter as a keyword and raises GameError on a bad value.
    """

    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    make: Callable[..., Game]

    def to_json(self) -> dict[str, Any]:
        """Return the name, the summary and what is to be known of each parameter, as plain data."""
        told = [
            {"name": p.name, "rule": p.rule, "default": p.format(p.default), "doc": p.doc}
            for p in self.parameters
        ]
        return {"name": self.name, "summary": self.summary, "parameters": told}


_BUILT_IN = {
    "kuhn_poker": "games.research.kuhn_poker:KuhnPoker",
    "leduc_poker": "games.research.leduc_poker:LeducPoker",
    "liars_dice": "games.research.liars_dice:LiarsDice",
    "goofspiel": "games.research.goofspiel:Goofspiel",
    "phantom_ttt": "games.research.phantom:PhantomTicTacToe",
    "dark_hex": "games.research.phantom:DarkHex",
    "doudizhu": "games.climbing.doudizhu.doudizhu:DouDizhu",
    "big2": "games.climbing.big2.big2:Big2",
    "guandan": "games.guandan.rounds.round:GuanDan",
}
"""Where each game lives; the module is imported when the game is first asked for."""
_RECORDED = {"guandan_match": "games.guandan.matches.match_game:GuanDanMatch"}
"""Where games live that only records have, such as a match of many rounds; each is made of its string."""
_registered: dict[str, GameSpec] = {}


def register_game(spec: GameSpec) -> None:
    """Make a game loadable by name, for this process. Raises GameError if the name is taken."""
    if spec.name in _BUILT_IN or spec.name in _registered or spec.name in PRESETS:
        raise GameError(f"register_game: a name must be new; {spec.name!r} is taken; choose another")
    _registered[spec.name] = spec


def game_spec(name: str) -> GameSpec:
    """Return the game registered under `name`; raise GameError with near matches if there is none."""
    if name in _registered:
        return _registered[name]
    if name in _BUILT_IN:
        game = resolve_name(_BUILT_IN[name])
        _registered[name] = GameSpec(name, game.summary, game.parameters, game)
        return _registered[name]
    installed = entry_points_of("gs2.games")
    names = sorted({*_BUILT_IN, *_registered, *PRESETS, *installed})
    if name.endswith((".efg", ".nfg")):
        raise GameError(f"{name}: a game of Gambit's must be named as gambit:{name}")
    hint = near(name.lower(), names, "", most=2)
    if hint:
        raise GameError(f'no game is called "{name}"; {hint} gs2 games lists them all')
    there = ", ".join(dict.fromkeys((*_BUILT_IN, *_registered, *installed)))
    raise GameError(
        f'no game is called "{name}"; there are {there}, openspiel:NAME, gambit:FILE, and FILE.py:NAME'
    )


def game_specs() -> tuple[GameSpec, ...]:
    """Return every registered game, simplest first."""
    return tuple(game_spec(name) for name in (*_BUILT_IN, *(n for n in _registered if n not in _BUILT_IN)))


def is_game_name(text: str) -> bool:
    """Return whether a text begins as the name of a game does that `load_game` knows, its file's left out."""
    name = text.partition("(")[0].strip().lower()
    known = (*_BUILT_IN, *_registered, *PRESETS, *entry_points_of("gs2.games"))
    return name.startswith((OPENSPIEL, GAMBIT)) or name in known


def game_string(text: str, game: Game) -> str:
    """Return the string that loads again the game which `text` loaded, for other processes and for files.

    That is the game's own name with its parameters, but for one's own game, whatever its name is.
    """
    own = is_own(text.strip()) and not is_game_name(text)
    return text if own or not is_game_name(game.name) else game.name


def load_game(text: str, *, general_sum: bool = False) -> Game:
    """Return the game that a game string names.

    text: a registered name, with parameters in parentheses or without (`leduc_poker`,
        `liars_dice(sides=5,wild=false)`), a preset (`goofspiel_10_ascending_3`), `openspiel:` followed by
        a game string of OpenSpiel's, `gambit:` followed by the path of a file of Gambit's (.efg or .nfg), or
        one's own as FILE.py:NAME or MODULE:NAME (`games.support.own`): a game, or what makes one when called
        without arguments. Installed packages add names by the entry point group `gs2.games`.
    general_sum: also allow a game whose payoffs do not sum to zero; it can be played, CFR runs there without
        a guarantee, and policies can be measured.
    Raises GameError if the name, a parameter or a value is not one of ours, with near matches.
    """
    stripped = text.strip()
    if stripped.lower().startswith(OPENSPIEL):
        from games.openspiel.direct import load_any_openspiel

        return _solvable(load_any_openspiel(stripped[len(OPENSPIEL) :], general_sum=general_sum), general_sum)
    if stripped.lower().startswith(GAMBIT):
        from games.gambit import GambitGame

        return _solvable(GambitGame(stripped[len(GAMBIT) :]), general_sum)
    if is_own(stripped):
        return _own_game(stripped, own_object(stripped, "game", GameError), general_sum)
    name, words = _split(PRESETS.get(stripped.lower(), stripped))
    if name in PRESETS:
        raise GameError(f"{name}: a preset takes no parameters; write {PRESETS[name]} and change that")
    if name not in _BUILT_IN and name not in _registered:
        installed = entry_point("gs2.games", name, GameError)
        if isinstance(installed, GameSpec):
            register_game(installed)
        elif installed is not None and not words:
            return _own_game(name, installed, general_sum)
    spec = game_spec(name)
    game = spec.make(**_values(spec, words))
    return _solvable(game, general_sum)


def recorded_game(text: str) -> Game:
    """Return the game that a record names: as `load_game`, or one that only records have."""
    where = _RECORDED.get(text.strip().partition("(")[0])
    if where is None:
        return load_game(text, general_sum=True)
    game: Game = resolve_name(where)(text)
    return game


def _own_game(text: str, found: Any, general_sum: bool) -> Game:
    """Return a user's own game, after checking a few of its histories against the contract."""
    import numpy as np

    from games.check import check_game

    if isinstance(found, type) or (callable(found) and not hasattr(found, "infoset_key")):
        try:
            found = found()
        except Exception as error:
            raise GameError(f"game {text!r} cannot be made without arguments: {error!r}; mend it") from error
    try:
        check_game(found, np.random.default_rng(0), max_width=OWN_WIDTH)
    except GameError:
        raise
    except Exception as error:
        raise GameError(f"game {text!r} must answer as games/game.py says; got {error!r}; mend it") from error
    return _solvable(found, general_sum)


def _solvable(game: Game, general_sum: bool) -> Game:
    if not general_sum and not getattr(game, "zero_sum", True):
        raise not_zero_sum(game.name)
    require_payoff_size(game)
    return game


def smaller_games(text: str) -> list[Iterator[Game]]:
    """Return, for each whole-number parameter of a game string, the games with less and less of it.

    Games that the parameters do not allow are left out. Raises GameError if the text names no game of ours.
    """
    name, words = _split(PRESETS.get(text.strip().lower(), text.strip()))
    spec = game_spec(name)
    values = _values(spec, words)

    def less(parameter: Int) -> Iterator[Game]:
        for value in range(int(values.get(parameter.name, parameter.default)) - 1, parameter.low - 1, -1):
            try:
                yield spec.make(**{**values, parameter.name: value})
            except GameError:
                continue

    return [less(parameter) for parameter in spec.parameters if isinstance(parameter, Int)]


def _split(text: str) -> tuple[str, list[str]]:
    """Return the name and the `key=value` words of a game string."""
    name, bracket, rest = text.partition("(")
    if bracket and not rest.rstrip().endswith(")"):
        raise GameError(
            f'a game string must look like name(parameter=value,…); got "{text}"; close the bracket'
        )
    inside = rest.rstrip()[:-1].strip()
    return name.strip().lower(), [word.strip() for word in inside.split(",")] if inside else []


def _values(spec: GameSpec, words: Iterable[str]) -> dict[str, Any]:
    """Return the parsed parameters, by their own names."""
    known = {alias: p for p in spec.parameters for alias in (p.name, *p.aliases)}
    values: dict[str, Any] = {}
    for word in words:
        key, equals, value = (part.strip() for part in word.partition("="))
        if not equals:
            raise GameError(f'{spec.name}: a parameter must look like name=value; got "{word}"')
        if key.lower() not in known:
            names = [p.name for p in spec.parameters]
            hint = near(key.lower(), known, "", most=2)
            raise GameError(
                f'{spec.name}: no parameter is called "{key}"{f"; {hint}" if hint else "."} It has '
                f"{', '.join(names)}"
            )
        parameter = known[key.lower()]
        if parameter.name in values:
            raise GameError(
                f"{spec.name}: {parameter.name} must be given once; got it twice in one game string"
            )
        values[parameter.name] = parameter.parse(spec.name, value)
    return values
