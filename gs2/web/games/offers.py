"""Games that can be played in the browser, and the agents that may sit there, by the names the page uses.

The browser sends names; only those listed here or given on the command line lead to an agent, so that no page
can have a file of this machine loaded; others may see the names, so no folder is said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any

import attrs

from blueprint.networks import shipped_file
from games.game import Game, GameError
from games.parameters import Bool, Int, Ints, OneOf, Parameter
from games.registry import game_spec, load_game
from games.support.own import is_own, own_object
from gs2.web.tables.table import Refused
from gs2.wings import FIRST, TITLES, games_with, own_part

SMALL = ("leduc_poker", "kuhn_poker", "liars_dice", "goofspiel")
GAMES = (*games_with("face"), *SMALL)
"""Games that the page offers as rounds, by their names; each seat's cards or words can be shown."""
OWN = tuple(games_with("play"))
"""Games that have a play of their own."""
NETWORKED = tuple(name for name in GAMES if shipped_file(name) is not None)
"""Those of them whose networks come with the package; a network of one plays it by any rules."""
NETWORK = ".safetensors"
OwnGames = Mapping[str, tuple[str, Game, str]]
SEATS = (2, 3, 4)
"""Seats that the page has places for."""
NAME = re.compile(r"([^@/]*@)?(.*/)?(.*)", re.S)
"""A name's parts: how its file is to play (network:temperature=0.05@), the file's folders, and the rest."""
ELSEWHERE = re.compile(r"(?<![\w./~])~?/(?:[^/\s'\"<>|:]+/)+")
"""Folders before a file of any other program, as errors tell of them."""


@attrs.frozen(kw_only=True)
class AgentOffer:
    """An agent that may be seated.

    label: its name on the page. name: what `load_game_agent` takes. games: registered names of the games that
    it plays. exactly: the one game, options included, that it was trained on; None for any of `games`.
    about: a word for what it is, which the page says in its language; empty for one of the command line.
    """

    label: str
    name: str
    games: tuple[str, ...]
    exactly: str | None = None
    about: str = ""

    @property
    def worker(self) -> str:
        """The worker that it shares: those that answer at once have one for all of them."""
        return "quick" if self.about in ("rules", "random") else self.name

    def plays(self, game: Game) -> bool:
        """Return whether it plays a game; a network of a game that comes with one plays by any rules."""
        family = game.name.partition("(")[0]
        return family in self.games and (self.exactly in (None, game.name) or family in NETWORKED)


LISTED = (
    *(
        AgentOffer(label=label, name=f"{rule}{search}", games=(game,), about=about)
        for game, rule in games_with("teacher").items()
        for label, search, about in (
            ("rules+search", "+rollout:branches=4", "search"),
            ("rules", "", "rules"),
        )
    ),
    AgentOffer(label="cfr", name="cfr:300", games=SMALL, about="cfr"),
    AgentOffer(label="random", name="uniform", games=GAMES, about="random"),
)
"""Agents that anybody may seat, the usual one of each game first."""


def offered_agents(given: Sequence[str] = (), own: OwnGames | None = None) -> tuple[AgentOffer, ...]:
    """Return the agents that may be seated: those given on the command line before those that are listed.

    own: further games, as of `own_games`; agents of any game play them too.
    Raises GameError, or the error of a checkpoint, at a given name that can be none.
    """
    own = own or {}
    named = [offer for name in dict.fromkeys(given) for offer in _given(name, given, own)]
    offers = (*named, *_shipped(), *LISTED)
    return tuple(attrs.evolve(one, games=(*GAMES, *own)) if one.games == GAMES else one for one in offers)


def _shipped() -> list[AgentOffer]:
    """Return the agents of the networks that come with the package, with search and without."""
    there = [game for game in NETWORKED if (path := shipped_file(game)) is not None and path.is_file()]
    ways = (("network+search", "network+rollout", "network_search"), ("network", "network", "network"))
    return [
        AgentOffer(label=label, name=name, about=about, games=(game,), exactly=game)
        for game in there
        for label, name, about in ways
    ]


def _named_file(base: str) -> Path | None:
    """Return the file that the name of an agent is, or has behind network@; None if there is none.

    Raises UnknownAgent for network:…@FILE where that is no file.
    """
    from gs2.play.agent_names import network_file, parse_agent

    name = parse_agent(base)
    return name.file if Path(base).is_file() or name.file is None else network_file("", name)


def _given(name: str, all_given: Sequence[str], own_games: OwnGames) -> list[AgentOffer]:
    """Return an agent of the command line: one offer, or one for each game whose shipped network it is."""
    from gs2.play.agent_names import network_file, parse_agent
    from gs2.policies.policy_spec import check_policy_file

    parsed = parse_agent(name)
    base, search = parsed.text, parsed.search
    path = _named_file(base)
    label = name.strip()
    if path is not None:
        # a page may be seen by others: the folders of this machine are not for them
        files = {_named_file(parse_agent(other).text) for other in all_given}
        alike = {file for file in files if file is not None and file.stem == path.stem}
        label = path.stem if len(alike) == 1 else f"{path.parent.name}/{path.stem}"
        label = label if Path(base).is_file() else f"{base.partition('@')[0].strip()}@{label}"
        label += "" if search is None else f"+{search}"
    elif is_own(base):
        own_object(base, "agent", GameError)  # a name that cannot be had is found out before the page is open
    own = base.rpartition(":")[0]
    if is_own(base) and Path(own).is_file():
        label = label.replace(own, Path(own).name, 1)
    if path is not None and path.suffix == NETWORK:
        return [_of_network(name, label, path, own_games)]
    if path is not None:
        check_policy_file(path)
    word = base.partition(":")[0].lower().rstrip("+-")
    if word == "network" and network_file(NETWORKED[0], parsed) is not None:
        return [AgentOffer(label=label, name=name, games=(game,), exactly=game) for game in NETWORKED]
    known = word in ("uniform", "network", "cfr", "dmc")
    if not (known or path is not None or is_own(base)):
        raise GameError(
            f"game agent {name!r} must be a file, FILE.py:NAME, MODULE:NAME, or a name that gs2 match --game "
            "takes, with +PRESET for search or without; there is no such file"
        )
    return [AgentOffer(label=label, name=name, games=GAMES)]


def _of_network(name: str, label: str, path: Path, own: OwnGames) -> AgentOffer:
    """Return the agent of a checkpoint, of the game that it was trained on."""
    from blueprint.checkpoint import read_checkpoint

    trained = str(read_checkpoint(path)[1].get("game", ""))
    family = trained.partition("(")[0]
    games = (family,) if family in GAMES else tuple(one for one, game in own.items() if game[2] == trained)
    if not games:
        raise GameError(
            f"game agent {name!r} must be of a game that the page offers, one of "
            f"{', '.join((*GAMES, *own))}; it was trained on {trained or TITLES[FIRST]}; give "
            f"{TITLES[FIRST]}'s agents as --agent, your own game as --game"
        )
    return AgentOffer(label=label, name=name, games=games, exactly=None if games[0] in own else trained)


def _field(parameter: Parameter) -> dict[str, Any] | None:
    """Return how the page asks for a parameter; None where it does not."""
    told = {"name": parameter.name, "doc": parameter.doc, "default": parameter.default}
    if isinstance(parameter, Bool):
        return {**told, "kind": "bool"}
    if isinstance(parameter, Int):
        return {**told, "kind": "int", "low": parameter.low, "high": parameter.high}
    if isinstance(parameter, OneOf):
        return {**told, "kind": "choice", "choices": list(parameter.choices)}
    if isinstance(parameter, Ints):
        return {**told, "kind": "ints", "default": list(parameter.default), "low": parameter.low,
                "high": parameter.high, "length": parameter.length}  # fmt: skip
    return None


def game_offers(agents: Sequence[AgentOffer], own: OwnGames) -> list[dict[str, Any]]:
    """Return the games as the page lists them: options, seats by default, agents; own: as `own_games`."""
    found = []
    for name in (*OWN, *GAMES, *own):
        spec = None if name in own else game_spec(name)
        game = load_game(name, general_sum=True) if spec else own[name][1]
        names = [
            {
                "label": agent.label,
                "about": agent.about,
                "exactly": None if name in NETWORKED else agent.exactly,
            }
            for agent in agents
            if name in agent.games
        ]
        found.append(
            {
                "name": name,
                "summary": spec.summary if spec else (game.__doc__ or "").partition("\n")[0],
                "options": [field for field in map(_field, spec.parameters if spec else ()) if field],
                "seats": game.num_players,
                "agents": names,
                **getattr(own_part(name, "play"), "OFFER", {}),
            }
        )
    return found


def own_games(given: Sequence[str]) -> OwnGames:
    """Return the games of the command line, FILE.py:GAME each, by the names that the page has for them.

    A game is called by that name here; its networks know it by its own, the third part.
    Raises GameError at one that cannot be had or shown.
    """
    found = {}
    for where, label in seat_labels(given, GAMES).items():
        game = copy(load_game(where, general_sum=True))
        if not is_own(where) or game.num_players not in SEATS:
            raise GameError(
                f"a game to play is FILE.py:GAME, for {SEATS[0]} to {SEATS[-1]} players; got {where!r}"
            )
        called, game.name = game.name, label
        found[label] = where, game, called
    return found


def game_from(name: Any, options: Any) -> Game:
    """Return the game that a browser asks for. Raises Refused or GameError at one that cannot be had."""
    if name in OWN:
        return game_titled(name)
    if name not in GAMES:
        raise Refused("wrong", f"a game must be one of {', '.join((*OWN, *GAMES))}; got {name!r:.60}")
    if not isinstance(options, dict):
        raise Refused("wrong", f"options are an object; got {type(options).__name__}")
    spec = game_spec(name)
    known = {parameter.name: parameter for parameter in spec.parameters}
    values = {}
    for key, value in options.items():
        if key not in known:
            raise Refused("wrong", f"{name}: no option is called {key!r:.60}; it has {', '.join(known)}")
        if isinstance(value, float) or (isinstance(value, str) and len(value) > 40):
            raise known[key].error(name, f"{value!r:.40}")
        values[key] = known[key].check(name, value)
    return spec.make(**values)


def game_titled(name: str) -> Game:
    """Return an offered game by its canonical name, as a stored table has it; that is how it is called."""
    if name not in OWN and name.partition("(")[0] not in GAMES:
        games = ", ".join((*OWN, *GAMES))
        raise GameError(f"a game must be one of {games}; got {name[:60]!r}; move the table away")
    game = load_game(name, general_sum=True)
    if name in OWN:
        game.name = name
    return game


def seat_labels(given: Sequence[str], taken: Sequence[str] = ()) -> dict[str, str]:
    """Return what each agent that was given is called: its name without folders.

    Where two would be called alike, or as one of `taken`, the last folder is said too, and where that does
    not tell them apart, a number.
    """
    names = list(dict.fromkeys(given))
    parts = [_parts(name) for name in names]
    short = [way + file for way, _, file in parts]
    labels: dict[str, str] = {}
    for name, label, (way, folders, file) in zip(names, short, parts, strict=True):
        if label != name and (label in taken or short.count(label) > 1):
            label = way + "/".join(filter(None, (Path(folders).name, file)))
        wanted, number = label, 2
        while label in labels.values() or (label in taken and label != name):
            label, number = f"{wanted} ({number})", number + 1
        labels[name] = label
    return labels


def without_folders(text: str, name: str, label: str) -> str:
    """Return what is told of an agent, as its errors tell it, without the folders of this machine.

    name: as the command line gave it; label: what the page calls it.
    """
    text = text.replace(name, label)
    folders = Path(_parts(name)[1])
    if folders.name:
        written = (folders, folders.absolute(), folders.resolve())
        spelled = {_parts(name)[1], *(f"{folder}/" for folder in written)}
        spelled |= {str(folder) for folder in written if folder.is_absolute()}
        spelled |= {repr(one)[1:-1] for one in spelled}
        for one in sorted(spelled, key=len, reverse=True):
            text = text.replace(one, "")
    return ELSEWHERE.sub("", text)


def _parts(name: str) -> tuple[str, str, str]:
    """Return the parts of `NAME`, empty where a name has none."""
    match = NAME.fullmatch(name)
    assert match is not None
    way, folders, file = match.groups("")
    if way and folders and Path((way + folders).partition("/")[0]).is_dir():
        return "", way + folders, file  # a folder may have an @ in its name
    return way, folders, file
