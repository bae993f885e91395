"""What a search does: the configurations of all stages (`gs2.search.config.stages`) in one, checked together.

Every method of the literature is a choice of fields (`gs2.search.config.presets`). A field belongs to the
stage that reads it: histories → generation → subgame → gadget → solve → safety. `SearchConfig.of(k=3)` and
`replace` take the fields of all stages by name, as presets, command lines and stored results do.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

import attrs

from games.support.configuration import ConfigError, StagedConfiguration, integer, one_of, real, text
from gs2.search.config.stages import (
    MODE_NAMES,
    WEIGHTED_GENERATORS,
    GadgetConfig,
    GenerationConfig,
    HistoriesConfig,
    SafetyConfig,
    SolveConfig,
    SubgameConfig,
)

__all__ = ["BY_RESPONSE", "DRAWN", "SearchConfig", "on_tree"]

OF_A_SUBGAME = (
    "order",
    "generator",
    "close",
    "freeze",
    "rest",
    "gadget",
    "entry_floor",
    "alternative",
    "opponent",
    "branches",
    "depth",
    "anchor",
    "certificate",
    "scope",
)
"""Fields that say which subgame is solved and what of it is kept."""
DETAILS = frozenset(
    {
        *("k", "whole", "plans", "fallback_k", "entry_floor", "entry_prior", "leaf", "continuations"),
        *("policies", "choosers", "rollouts", "variant", "gamma", "iterations", "target", "warm_start"),
        *(
            "step",
            "unit",
            "caution",
            "magnet",
            "extragradient",
            "robust",
            "temperature",
            "opponent_temperature",
            "doubt",
            "branches",
        ),
        *("confidence", "trials", "against", "tolerance"),
        *("shrink", "gap", "samples", "companions", "belief", "slip", "explore", "playing"),
    }
)
"""Fields that only refine what another field chooses."""
LEAF_DETAILS = {
    "continuations": ("continuations",),
    "rollouts": ("rollout", "multi-valued"),
    "playing": ("rollout",),
    "policies": ("multi-valued",),
    "choosers": ("multi-valued",),
}
"""Fields that some leaves read, and which these are."""


DRAWN = ("samples", "companions", "belief", "slip", "explore", "branches", "gap", "playing", "doubt")
"""Fields that only a source reads that draws histories."""
NOT_SAMPLED = {"gadget": ("path", "reach-maxmargin"), "certificate": ("path", "shared")}
"""Choices that ask for values of the game outside a sample."""
APART = ("infoset", "subtree")
"""What searches that do not see each other may replace, so that no two replace the same."""
LISTED_LEAVES = ("exact", "continuations", "multi-valued", "play-on")
"""Leaf values that need a game that is listed."""
BY_RESPONSE = ("margin", "anchored", "shared", "path")
"""Certificates that hold the opponent's best response down at all histories that there are."""


def needs_listing(values: Mapping[str, Any]) -> str:
    """Return which choice needs more of the game than a sample of histories, in words; nothing if none does.

    values: the fields of all stages, by name.
    """
    for name, choices in NOT_SAMPLED.items():
        if values[name] in choices:
            return f"{name} = {values[name]} needs a game that can be listed"
    if values["depth"] is not None and values["leaf"] in LISTED_LEAVES:
        return f"leaf = {values['leaf']} needs a game that can be listed"
    if values["order"] is not None and values["order"] > 1:
        return f"order = {values['order']} needs a game that can be listed"
    return ""


def _unread(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields that a search never reads, each with what it would need.

    values: the fields of all stages, by name.
    """
    found: dict[str, str] = {}
    solver = values["solver"]
    if solver == "mirror-descent":
        without = set(OF_A_SUBGAME) - {"generator"}
        if values["generator"] != "all":
            without.discard("alternative")
        if values["source"] != "enumerated":
            without -= {"branches", "depth"}
        elif values["generator"] == "all":
            found["caution"] = "a generator that chooses (it is all, which leaves no noise)"
        needs = "a subgame, solver = cfr, lp or anchored (it is mirror-descent)"
        found |= {name: needs for name in OF_A_SUBGAME if name in without}
    else:
        needs = f"solver = mirror-descent (it is {solver})"
        found |= dict.fromkeys(("step", "unit", "caution", "magnet", "extragradient", "robust"), needs)
    if not values["extragradient"]:
        found.setdefault("robust", "extragradient = true (it is false)")
    if solver != "cfr":
        needs = f"solver = cfr (it is {solver})"
        found |= dict.fromkeys(("variant", "gamma", "warm_start"), needs)
    if solver not in ("cfr", "anchored"):
        found |= dict.fromkeys(("iterations", "target"), f"solver = cfr or anchored (it is {solver})")
    if solver != "anchored":
        needs = f"solver = anchored (it is {solver})"
        found |= dict.fromkeys(("temperature", "opponent_temperature", "doubt"), needs)
    if solver == "mirror-descent" or values["certificate"] != "statistical":
        needs = f"certificate = statistical (it is {values['certificate']})"
        found |= dict.fromkeys(("confidence", "trials", "against", "tolerance"), needs)
    chooses = "a generator that chooses, as random or diverse do (it is all)"
    if values["generator"] == "all":
        found["k"] = chooses
    if values["rest"] != "summary":
        needs = f"rest = summary, which solves closures (it is {values['rest']})"
        found |= dict.fromkeys(("whole", "plans", "fallback_k"), needs)
    elif values["generator"] == "all":
        found |= dict.fromkeys(("whole", "plans", "fallback_k"), chooses)
    if values["gadget"] == "unsafe":
        found["entry_floor"] = "a gadget at which the opponent may stay out (it is unsafe)"
    if values["entry_floor"] == 0:
        found["entry_prior"] = "an entry_floor above 0 (it is 0, and nobody is forced to enter)"
    if values["branches"] is None:
        found["gap"] = "branches (they are None, and every action is kept)"
    if values["depth"] is None:
        found["leaf"] = "a depth (it is None, to the end of the game)"
    for name, leaves in LEAF_DETAILS.items():
        if values["depth"] is None or values["leaf"] not in leaves:
            needs = f"a depth and leaf = {' or '.join(leaves)}"
            found[name] = f"{needs} (they are {values['depth']} and {values['leaf']})"
    whole = needs_listing(values)
    if values["source"] == "enumerated" or whole:
        drawn = f"a source that draws histories ({whole or 'it is enumerated'})"
        found |= dict.fromkeys(DRAWN, drawn)
    if values["certificate"] not in BY_RESPONSE:
        needs = f"a certificate by best response, {', '.join(BY_RESPONSE)} (it is {values['certificate']})"
        found["shrink"] = needs
    if values["scope"] == "both":
        found["freeze"] = "a scope of one search (it is both, which makes one of each kind)"
    return found


@lru_cache(maxsize=256)
def on_tree(config: SearchConfig) -> SearchConfig:
    """Return the configuration on a tree that ends where the search does, its histories listed."""
    return config.replace(source="enumerated", depth=None, branches=None)


@attrs.frozen(slots=False)
class SearchConfig(StagedConfiguration):
    """What `solve_infoset` does, stage by stage.

    name: the preset it started from.
    histories, generation, subgame, gadget, solve, safety: the stages.
    time_limit: most seconds for the whole search, None for no limit.
    mode: how the searches of a whole refinement see each other: independent, nested, sequential; see
        `gs2.search.refine`.
    rounds: searches made at one infoset, each from the strategy that the one before left.

    A field that the rest of the configuration never reads must stay at its default: what is set counts.
    """

    called: ClassVar[str] = "configuration"
    renamed: ClassVar[Mapping[tuple[str, str], str]] = {("gadget", "kind"): "gadget"}
    details: ClassVar[frozenset[str] | None] = DETAILS

    name: str = attrs.field(default="custom", validator=text)
    histories: HistoriesConfig = attrs.field(factory=HistoriesConfig)
    generation: GenerationConfig = attrs.field(factory=GenerationConfig)
    subgame: SubgameConfig = attrs.field(factory=SubgameConfig)
    gadget: GadgetConfig = attrs.field(factory=GadgetConfig)
    solve: SolveConfig = attrs.field(factory=SolveConfig)
    safety: SafetyConfig = attrs.field(factory=SafetyConfig)
    time_limit: float | None = attrs.field(
        default=None, validator=real(0, above=True, optional=True, unit="seconds")
    )
    mode: str = attrs.field(default="nested", validator=one_of(MODE_NAMES))
    rounds: int = attrs.field(default=1, validator=integer(1))

    def check(self) -> None:
        """Raise ConfigError for a stage that is none, and for a field that nothing would read."""
        self.check_stages()
        if self.subgame.rest == "summary" and not self.generation.close:
            raise ConfigError("close must be True with rest = summary; got False; an infoset has one role")
        judge = self.safety.certificate
        if self.histories.companions == 0 and judge not in ("none", "statistical"):
            raise ConfigError(
                f"companions must be at least 1 with certificate = {judge}, which judges by what the "
                "opponents may hold; got 0; draw some, or choose statistical or none"
            )
        weighted = self.generation.generator in WEIGHTED_GENERATORS
        if weighted and self.solve.solver != "mirror-descent":
            raise ConfigError(
                "solver must be mirror-descent with the generators strata and belief, whose weights it "
                f"reads; got {self.solve.solver}; choose random, diverse or clusters for a subgame"
            )
        if self.histories.source == "sampled":
            self.require_sampled()
        if judge == "shared" and self.safety.scope not in APART:
            raise ConfigError(
                f"scope must be {' or '.join(APART)} with certificate = shared, since searches whose blocks "
                f"overlap cannot be certified apart; got {self.safety.scope}; choose anchored with mode = "
                "sequential for it"
            )
        self.check_mode(self.mode)
        self.check_read()

    def check_mode(self, mode: str) -> None:
        """Raise ConfigError for a mode in which the certificate would not hold."""
        if self.safety.certificate == "shared" and mode == "independent":
            raise ConfigError(
                "mode must be nested or sequential with certificate = shared, since what a search leaves "
                "above another changes what that one may do; got independent"
            )

    @property
    def plays_out(self) -> bool:
        """Whether games are played out at random on a tree: at a depth limit, or for a certificate."""
        if self.solve.solver == "mirror-descent":
            return False
        stage = self.subgame
        rolls = stage.depth is not None and stage.leaf in LEAF_DETAILS["rollouts"] and stage.rollouts > 0
        return rolls or self.safety.certificate == "statistical"

    @classmethod
    def unread(cls, values: Mapping[str, Any]) -> dict[str, str]:
        """Return the fields that a search never reads, each with what it would need."""
        return _unread(values)

    def where_listed(self) -> SearchConfig:
        """Return the configuration where the game's tree is listed: a step takes values to the game's end."""
        steps = self.solve.solver == "mirror-descent" and self.histories.source == "auto"
        return on_tree(self) if steps else self

    def require_sampled(self) -> None:
        """Raise ConfigError for a choice that needs more of the game than a sample of histories."""
        needs = needs_listing(self.to_json())
        if needs:
            raise ConfigError(
                f"{needs}; got a source that draws histories; choose 1 or None for the order, value or "
                "rollout for the leaf, another gadget or certificate, or source = enumerated"
            )

    def _with(self, **changes: Any) -> SearchConfig:
        """Return the configuration with some fields changed and no other."""
        return SearchConfig.of(**self.to_json() | changes)

    def steps(self) -> tuple[SearchConfig, ...]:
        """Return the searches that one call makes at an infoset, each from what the one before left."""
        if self.safety.scope == "both":
            once: tuple[SearchConfig, ...] = (
                self._with(scope="block", freeze="none", rounds=1),
                self._with(scope="subtree", freeze="outside", rounds=1),
            )
        else:
            once = (self if self.rounds == 1 else self._with(rounds=1),)
        return once * self.rounds

    def fallback(self) -> SearchConfig:
        """Return the configuration where the closure cannot be solved in the time.

        Needs a `fallback_k` where histories are chosen.
        """
        changes: dict[str, Any] = {"order": 1, "rest": "drop", "freeze": "outside", "scope": "subtree"}
        if self.solve.solver == "cfr":
            changes["warm_start"] = max(self.solve.warm_start, 1.0)
        if self.generation.generator != "all":
            changes["k"] = self.generation.fallback_k
        return self.replace(**changes)

    def for_unreached(self) -> SearchConfig:
        """Return the configuration for an infoset that the player's own strategy never leads to.

        Values of the whole game say nothing there, so no path and no certificate is built on them, but for
        one by games from the infoset itself; and what is solved with the weights of such an infoset replaces
        nothing at others, which may be reached.
        """
        gadget = "maxmargin" if self.gadget.kind == "path" else self.gadget.kind
        scope = "subtree" if self.safety.scope == "block" else self.safety.scope
        judge = "statistical" if self.safety.certificate == "statistical" else "none"
        return self._with(gadget=gadget, certificate=judge, shrink=1.0, scope=scope)
