"""What a search does: the configurations of all stages (`gs2.search.config.stages`) in one, checked together.

Every method of the literature is a choice of fields (`gs2.search.config.presets`). A field belongs to the
stage that reads it: histories → generation → subgame → gadget → solve → safety. `SearchConfig.of(k=3)` and
`replace` take the fields of all stages by name, as presets, command lines and stored results do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, ClassVar

import attrs

from games.support.configuration import ConfigError, StagedConfiguration, one_of, real, text
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

OF_A_SUBGAME = (
    "order",
    "generator",
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
OF_A_STEP = ("step", "unit", "caution", "extragradient", "robust")
OF_AN_ANCHOR = ("temperature", "doubt")
"""Fields of the solvers mirror-descent and anchored alone."""
CHOICES = frozenset(OF_A_SUBGAME) - {"entry_floor", "branches"}
"""Fields that others refine: if nothing reads one that is set, that is a fault."""
ROLLED_OUT = ("rollout", "multi-valued")
"""Leaves that may play games out."""
LEAF_DETAILS = {
    "continuations": ("continuations",),
    "rollouts": ROLLED_OUT,
    "playing": ("rollout",),
    "policies": ("multi-valued",),
    "choosers": ("multi-valued",),
}
"""Fields that some leaves read, and which these are."""


DRAWN = (
    "samples",
    "companions",
    "belief",
    "slip",
    "explore",
    "branches",
    "gap",
    "beyond",
    "playing",
    "doubt",
)
"""Fields that only a source reads that draws histories."""
NOT_SAMPLED = {"gadget": ("path", "reach-maxmargin"), "certificate": ("path", "shared")}
"""Choices that ask for values of the game outside a sample."""
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


def check_listed(told: Iterable[str], game: str) -> None:
    """Raise ConfigError if FIELD or FIELD=VALUE tells a field that is read of drawn histories alone."""
    for name in (words.partition("=")[0].strip() for words in told):
        if name in DRAWN:
            raise ConfigError(
                f"{name} needs drawn histories, but {game} lists all; add source=sampled, or leave it out"
            )


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

    A field that the rest of the configuration never reads must stay at its default: what is set counts.
    """

    called: ClassVar[str] = "configuration"
    renamed: ClassVar[Mapping[tuple[str, str], str]] = {("gadget", "kind"): "gadget"}
    choices: ClassVar[frozenset[str]] = CHOICES

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

    def check(self) -> None:
        """Raise ConfigError for a stage that is none, and for a field that nothing would read."""
        self.check_stages()
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
        if judge == "shared" and self.mode == "independent":
            raise ConfigError(
                "mode must be nested or sequential with certificate = shared, since what a search leaves "
                "above another changes what that one may do; got independent"
            )
        self.check_read()

    @classmethod
    def unread(cls, values: Mapping[str, Any]) -> dict[str, str]:
        """Return the fields that a search never reads, each with what it would need."""
        found: dict[str, str] = {}

        def read(names: Iterable[str], when: object, needs: str) -> None:
            """Note that some fields are read only when something holds; the last unmet need counts."""
            if not when:
                found.update(dict.fromkeys(names, needs))

        solver, depth, leaf, rest = (values[name] for name in ("solver", "depth", "leaf", "rest"))
        steps, chooses = solver == "mirror-descent", values["generator"] != "all"
        drawn, whole = values["source"] != "enumerated", needs_listing(values)
        choice = "a generator that chooses, as random or diverse do (it is all)"
        judge = f"(it is {values['certificate']})"
        noisy = not steps or drawn or chooses
        read(["caution"], noisy, "a generator that chooses (it is all, which leaves no noise)")
        still = {"alternative": chooses, "branches": drawn, "depth": drawn, "generator": True}
        of_a_subgame = [name for name in OF_A_SUBGAME if not still.get(name, False)]
        read(of_a_subgame, not steps, "a subgame, solver = cfr, lp or anchored (it is mirror-descent)")
        read(OF_A_STEP, steps, f"solver = mirror-descent (it is {solver})")
        answers = values["extragradient"] or "robust" in found
        read(["robust"], answers, "extragradient = true (it is false)")
        read(["variant", "gamma", "warm_start"], solver == "cfr", f"solver = cfr (it is {solver})")
        iterates = solver in ("cfr", "anchored")
        read(["iterations", "target"], iterates, f"solver = cfr or anchored (it is {solver})")
        read(OF_AN_ANCHOR, solver == "anchored", f"solver = anchored (it is {solver})")
        tried = not steps and values["certificate"] == "statistical"
        read(["confidence", "trials", "against"], tried, f"certificate = statistical {judge}")
        read(["k"], chooses, choice)
        summary = ("whole", "plans", "fallback_k")
        read(summary, chooses, choice)
        read(summary, rest == "summary", f"rest = summary, which solves closures (it is {rest})")
        asked = values["gadget"] != "unsafe"
        read(["entry_floor"], asked, "a gadget at which the opponent may stay out (it is unsafe)")
        forced = values["entry_floor"] != 0
        read(["entry_prior"], forced, "an entry_floor above 0 (it is 0, and nobody is forced to enter)")
        read(
            ["gap", "beyond"],
            values["branches"] is not None,
            "branches (they are None, and every action is kept)",
        )
        read(["leaf"], depth is not None, "a depth (it is None, to the end of the game)")
        for name, leaves in LEAF_DETAILS.items():
            needs = f"a depth and leaf = {' or '.join(leaves)} (they are {depth} and {leaf})"
            read([name], depth is not None and leaf in leaves, needs)
        draws = f"a source that draws histories ({whole or 'it is enumerated'})"
        read(DRAWN, drawn and not whole, draws)
        responds = values["certificate"] in BY_RESPONSE
        read(["shrink"], responds, f"a certificate by best response, {', '.join(BY_RESPONSE)} {judge}")
        return found

    def require_sampled(self) -> None:
        """Raise ConfigError for a choice that needs more of the game than a sample of histories."""
        needs = needs_listing(self.to_json())
        if needs:
            raise ConfigError(
                f"{needs}; got a source that draws histories; choose 1 or None for the order, value or "
                "rollout for the leaf, another gadget or certificate, or source = enumerated"
            )

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
        changes = {"gadget": gadget, "certificate": judge, "shrink": 1.0, "scope": scope}
        return SearchConfig.of(**self.to_json() | changes)
