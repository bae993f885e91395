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
from gs2.search.config.constraints import DETAILS, ROLLED_OUT, needs_listing, unread_fields
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

__all__ = ["SearchConfig", "on_tree"]

APART = ("infoset", "subtree")
"""What searches that do not see each other may replace, so that no two replace the same."""


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
        rolls = stage.depth is not None and stage.leaf in ROLLED_OUT and stage.rollouts > 0
        return rolls or self.safety.certificate == "statistical"

    @classmethod
    def unread(cls, values: Mapping[str, Any]) -> dict[str, str]:
        """Return the fields that a search never reads, each with what it would need."""
        return unread_fields(values)

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
