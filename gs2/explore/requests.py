"""Searches that a page asks for: requests checked and held to limits, and what there is to ask about."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import attrs
import numpy as np

from cfr.variants import VARIANTS
from games.game import GameError
from games.infosets import normal_text
from games.registry import PRESETS, RESEARCH_GAMES, game_specs
from games.support.configuration import ConfigError, Configuration, integer, one_of, real, text
from gs2.explore.prepared_games import MOST_HISTORIES, NOT_LISTED, PreparedGame, prepared_game
from gs2.explore.solve_picture import search_game, solve_picture
from gs2.search.config.presets import preset
from gs2.search.config.search import SearchConfig
from gs2.search.config.stages import GADGET_NAMES

MOST_SECONDS = 60.0
"""Of one search; who asks for no limit gets `USUAL_SECONDS`."""
USUAL_SECONDS = 20.0
MOST_WORK = 2e10
"""Histories times iterations of a blueprint: some twenty seconds."""
MOST_TEXT = 400
"""Characters of a name."""
MOST_LISTED = 1000
STAGES = 4
"""Of a request, as progress counts them: the tree, the blueprint, the search, the picture."""
Progress = Callable[[int, int], None]
"""Told by a worker (done, of)."""
OWN_GADGETS = tuple(GADGET_NAMES)
"""The gadgets that come with gs2; `GADGET_NAMES` grows by those that a process registers."""


def _named(instance: Any, field: attrs.Attribute[Any], value: Any) -> None:
    text(instance, field, value)
    if not 0 < len(value.strip()) <= MOST_TEXT:
        raise ConfigError(
            f"{instance.label}: {field.name} must be a text of 1 to {MOST_TEXT} characters; got {len(value)}"
        )


@attrs.frozen(slots=False)
class BlueprintRequest(Configuration):
    """The strategy to refine.

    variant: a row of `cfr.variants.VARIANTS`, or uniform. iterations: of it.
    """

    label = "blueprint"

    variant: str = attrs.field(default="cfr", validator=one_of((*VARIANTS, "uniform")))
    iterations: int = attrs.field(default=100, validator=integer(1, 10_000))

    @property
    def spec(self) -> str:
        """Return the name by which `gs2 solve --blueprint` knows it."""
        return "uniform" if self.variant == "uniform" else f"{self.variant}:{self.iterations}"


def _read_blueprint(given: Any) -> BlueprintRequest:
    """Return the blueprint that a page's JSON stands for, the usual one for None."""
    if isinstance(given, BlueprintRequest):
        return given
    return BlueprintRequest.from_json({} if given is None else given)


@attrs.frozen(slots=False)
class SolveRequest(Configuration):
    """One search that a page asks for.

    game: a game string. infoset: as `gs2 infosets` names it. player: whose it must be, if told.
    blueprint: to refine. method: a preset. k, gadget, depth, iterations: None for the method's own.
    seconds: limit of the search. seed: of every random choice.
    """

    label = "request"

    game: str = attrs.field(default="leduc_poker", validator=_named)
    infoset: str = attrs.field(default="P1 holds Ks | raise", validator=_named)
    player: int | None = attrs.field(default=None, validator=integer(0, 1, optional=True))
    blueprint: BlueprintRequest = attrs.field(default=None, converter=_read_blueprint)
    method: str = attrs.field(default="gs2+", validator=_named)
    k: int | None = attrs.field(default=None, validator=integer(1, 10_000, optional=True))
    gadget: str | None = attrs.field(default=None, validator=attrs.validators.optional(one_of(OWN_GADGETS)))
    depth: int | None = attrs.field(default=None, validator=integer(1, 100, optional=True))
    seconds: float | None = attrs.field(
        default=None, validator=real(0, MOST_SECONDS, above=True, optional=True, unit="seconds")
    )
    iterations: int | None = attrs.field(default=None, validator=integer(1, 20_000, optional=True))
    seed: int = attrs.field(default=0, validator=integer(0, (1 << 53) - 1))

    def config(self) -> SearchConfig:
        """Return the configuration of the search. Raises ConfigError for what the method never reads."""
        told = {"k": self.k, "gadget": self.gadget, "depth": self.depth, "iterations": self.iterations}
        changes = {name: value for name, value in told.items() if value is not None}
        return preset(self.method, time_limit=self.seconds or USUAL_SECONDS, **changes)


def solve_request(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Return the picture of the search that a page asks for (`solve_picture`), as plain JSON data.

    request: fields of `SolveRequest`. progress: told (stages done, stages).
    Raises ValueError in words for a request that cannot be, TooLarge for a game that is too large.
    """
    asked = SolveRequest.from_json(request)
    config = asked.config()
    progress(0, STAGES)
    prepared = prepared_game(asked.game)
    number = _infoset(prepared, asked)
    progress(1, STAGES)
    _afford(prepared, asked.blueprint)
    strategy = prepared.strategy(asked.blueprint.spec)
    progress(2, STAGES)
    rng = np.random.default_rng(asked.seed)
    found = search_game(prepared, strategy, number, config, rng)
    progress(3, STAGES)
    made = solve_picture(
        found.result, found, blueprint_spec=asked.blueprint.spec, seed=asked.seed, request=asked.to_json()
    )
    progress(STAGES, STAGES)
    return made


def _infoset(prepared: PreparedGame, asked: SolveRequest) -> int:
    infoset = prepared.game.parse_infoset(asked.infoset)
    number = prepared.context.infoset_number(infoset)
    if asked.player is not None and asked.player != infoset.player:
        raise GameError(
            f"{prepared.game.name}: player must be who decides at the infoset, {infoset.player}; "
            f"got {asked.player}; leave it out"
        )
    return number


def _afford(prepared: PreparedGame, blueprint: BlueprintRequest) -> None:
    """Raise ConfigError for a blueprint that would take too long."""
    histories = prepared.context.tree.n_nodes
    if blueprint.variant == "uniform" or prepared.knows(blueprint.spec):
        return
    most = int(MOST_WORK / histories)
    if blueprint.iterations > most:
        raise ConfigError(
            f"blueprint: iterations must be at most {most:,} in {prepared.game.name}, which has "
            f"{histories:,} histories; got {blueprint.iterations:,}; ask for fewer"
        )


def _unheard(done: int, of: int) -> None:
    """Tell nobody."""


def explorable_games(*, progress: Progress = _unheard) -> dict[str, Any]:
    """Return the `games` that a page may name: name, game (its string), summary, histories where known.

    progress: as every function that a worker calls has it; this one is quick and tells it nothing.
    """
    sizes = json.loads((files("games.research") / "research_games.json").read_text())
    found = [
        {
            **spec.to_json(),
            "game": spec.name,
            "histories": sizes.get(spec.name, {}).get("histories"),
            "research": spec.name in RESEARCH_GAMES,
        }
        for spec in game_specs()
        if spec.name not in NOT_LISTED
    ]
    for name, game in PRESETS.items():
        histories = sizes.get(name, {}).get("histories")
        if histories is not None and histories <= MOST_HISTORIES:
            about = {"summary": game, "histories": histories, "research": name in RESEARCH_GAMES}
            found.append({"name": name, "game": game, **about, "parameters": []})
    return {"games": found}


def infoset_names(
    game: str, grep: str = "", most: int = 50, *, progress: Progress = _unheard
) -> dict[str, Any]:
    """Return `infosets` of a game, shallow ones first: infoset (its name), player, histories.

    grep: words that the name must hold, in any case; all of them. most: at most so many. progress: as of
    `explorable_games`.
    Raises ValueError in words.
    """
    for name, value in (("game", game), ("grep", grep)):
        if not isinstance(value, str) or len(value) > MOST_TEXT:
            raise ConfigError(f"{name} must be a text of at most {MOST_TEXT} characters; got {value!r:.100}")
    if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= MOST_LISTED:
        raise ConfigError(f"most must be an integer in [1, {MOST_LISTED}]; got {most!r}")
    words = normal_text(grep).split()
    found: list[dict[str, Any]] = []
    for label, normal, player, histories in prepared_game(game).infosets:
        if all(word in normal for word in words):
            found.append({"infoset": label, "player": player, "histories": histories})
            if len(found) == most:
                break
    return {"infosets": found}
