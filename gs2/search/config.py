"""How to search: one frozen configuration, in which every method of the literature is a choice of fields."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from cfr.variants import VARIANTS, UnknownVariant
from games.support.configuration import ConfigError

__all__ = ["ConfigError", "SearchConfig"]

GADGET_NAMES = ["unsafe", "resolve", "maxmargin", "reach-maxmargin", "path"]
GENERATOR_NAMES = ["all", "random", "diverse", "clusters"]
"""Parts of one's own add their names (`gs2.parts`)."""
ALTERNATIVE_NAMES = ("best-response", "profile", "value")
LEAF_NAMES = ("exact", "value", "rollout", "continuations", "play-on")
MODE_NAMES = ("independent", "nested", "sequential")
REST = ("drop", "summary")
ENTRY_PRIORS = ("uniform", "reach", "mixed")
SOLVERS = ("cfr", "lp", "mirror-descent")
FREEZE = ("outside", "none")
SCOPES = ("infoset", "subtree", "block", "both")
CERTIFICATES = ("none", "margin", "anchored", "shared", "path")


OF_A_SUBGAME = (
    "order",
    "generator",
    "close",
    "freeze",
    "rest",
    "gadget",
    "entry_floor",
    "alternative",
    "depth",
    "anchor",
    "certificate",
    "scope",
)
"""Fields that say which subgame is solved and what of it is kept."""
DETAILS = frozenset(
    {
        *("k", "whole", "plans", "fallback_k", "entry_floor", "entry_prior", "leaf", "continuations"),
        *("rollouts", "variant", "gamma", "iterations", "target", "warm_start", "step", "magnet"),
    }
)
"""Fields that only refine what another field chooses."""


def unread(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields that a search never reads, each with what it would need.

    values: the fields of a `SearchConfig`, by name.
    """
    found: dict[str, str] = {}
    solver = values["solver"]
    if solver == "mirror-descent":
        found |= dict.fromkeys(OF_A_SUBGAME, "a subgame, solver = cfr or lp (it is mirror-descent)")
    else:
        found |= dict.fromkeys(("step", "magnet"), f"solver = mirror-descent (it is {solver})")
    if solver != "cfr":
        needs = f"solver = cfr (it is {solver})"
        found |= dict.fromkeys(("variant", "gamma", "iterations", "target", "warm_start"), needs)
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
    if values["depth"] is None:
        found["leaf"] = "a depth (it is None, to the end of the game)"
    for name, leaf in (("continuations", "continuations"), ("rollouts", "rollout")):
        if values["depth"] is None or values["leaf"] != leaf:
            found[name] = f"a depth and leaf = {leaf} (they are {values['depth']} and {values['leaf']})"
    if values["scope"] == "both":
        found["freeze"] = "a scope of one search (it is both, which makes one of each kind)"
    return found


@dataclass(frozen=True)
class SearchConfig:
    """What `solve_infoset` does, stage by stage.

    name: the preset it started from.
    order: histories considered are the order-k knowledge set of the infoset; 1 is the infoset itself, None
        the common-knowledge closure.
    generator: which of them enter the subgame: all, random, diverse, clusters, or one's own (`gs2.parts`).
    k: how many, at least 1; None with the generator `all`.
    close: complete every opponent infoset that a chosen history belongs to (GS2, algorithm 1).
    freeze: "outside": the searching player's decisions below histories outside the knowledge set considered
        follow the current strategy (1-KLSS; GS2); "none": they are solved too (KLUSS).
    rest: histories not generated are left out ("drop"), or all those of the common-knowledge closure stay
        in summary ("summary"): the opponent chooses there among plans, best responses to what was tried.
    whole: nodes up to which a closure is generated whole, so that nothing stays in summary; 0 for never.
    fallback_k: most histories kept by the search made instead where a closure cannot be solved in the time:
        the rest left out, our play outside the infoset frozen, CFR started from the old strategy, mixed in as
        far as the same certificate allows; 0 leaves the strategy there as it was.
    plans: most plans of a summary; the subgame is solved again whenever one is added.
    gadget: unsafe, resolve, maxmargin, reach-maxmargin, path, or one's own (`gs2.parts`).
    entry_floor: probability in [0, 1) with which the opponent is forced to enter the gadget.
    entry_prior: how forced entries are dealt: "uniform" over opponent infosets; "reach": as chance and the
        searching player lead there; "mixed": half uniform, half as both players lead there (Obscuro).
    alternative: alternative values by best-response (exact), profile or value (`Blueprint.value`).
    solver: cfr, lp (exact, by linear programming), or mirror-descent (one step, without a subgame).
    variant: a row of `cfr.variants.VARIANTS`. gamma: its averaging exponent, None for the row's own.
        Default: PCFR+ with exponent 5, 300 iterations, our measurement on small gadgets.
    target: stop at this exploitability within the gadget, in payoffs; None for no such limit.
    warm_start: iterations' worth of regrets with which CFR starts out at the strategy being refined (see
        `cfr.warm_start`); 0 starts from uniform play.
    iterations: most CFR iterations. time_limit: most seconds for the whole search, None for no limit.
    depth: decisions below a history before `leaf` values it; None to the end of the game.
    leaf: what is worth what at the depth limit: exact (expected under the strategy, small games), value
        (`Blueprint.value`), rollout, continuations (the opponent chooses among several), play-on (the
        searching player goes on by its old strategy, the opponent decides to the end of the game).
    continuations: how many the opponent chooses among, with leaf = continuations.
    rollouts: games played from each leaf, with leaf = rollout.
    anchor: weight λ in (0, 1] of the refined strategy against the one refined; 1 replaces it.
    certificate: "none"; "margin": keep the refined strategy only if no opponent infoset that touches the
        infoset gains by it, else the old one; "anchored": the best λ for which none gains; "shared": that
        divided among the player's infosets that could clash, for searches that do not see each other;
        "path": the best λ for which the opponent's value of the whole game does not rise (the values off
        its path are taken from the strategy refined so far, not from the infoset).
    scope: what a search replaces: "infoset": the strategy there; "subtree": and at the player's infosets
        below; "block": at every infoset solved; "both": two searches, a block with nothing frozen and then
        the subtree with everything else frozen.
    mode: how the searches of a whole refinement see each other: independent, nested, sequential; see
        `gs2.search.refine`.
    rounds: searches made at one infoset, each from the strategy that the one before left.
    step: step size of mirror-descent, in inverse payoffs times the game's payoff range.
    magnet: pull of mirror-descent towards uniform play, in payoffs over the payoff range.

    A field that the rest of the configuration never reads must stay at its default: what is set counts.
    """

    name: str = "custom"
    order: int | None = 1
    generator: str = "all"
    k: int | None = None
    close: bool = True
    freeze: str = "outside"
    rest: str = "drop"
    whole: int = 0
    fallback_k: int = 0
    plans: int = 16
    gadget: str = "maxmargin"
    entry_floor: float = 0.0
    entry_prior: str = "uniform"
    alternative: str = "best-response"
    solver: str = "cfr"
    variant: str = "pcfr+"
    gamma: float | None = 5.0
    iterations: int = 300
    warm_start: float = 0.0
    target: float | None = None
    time_limit: float | None = None
    depth: int | None = None
    leaf: str = "exact"
    continuations: int = 4
    rollouts: int = 10
    anchor: float = 1.0
    certificate: str = "none"
    scope: str = "infoset"
    mode: str = "nested"
    rounds: int = 1
    step: float = 10.0
    magnet: float = 0.0

    def __post_init__(self) -> None:
        self._one_of("generator", GENERATOR_NAMES)
        self._one_of("freeze", FREEZE)
        self._one_of("rest", REST)
        self._one_of("gadget", GADGET_NAMES)
        self._one_of("alternative", ALTERNATIVE_NAMES)
        self._one_of("solver", SOLVERS)
        self._one_of("entry_prior", ENTRY_PRIORS)
        self._one_of("leaf", LEAF_NAMES)
        self._one_of("certificate", CERTIFICATES)
        self._one_of("mode", MODE_NAMES)
        self._one_of("scope", SCOPES)
        if self.variant.lower() not in VARIANTS:
            raise UnknownVariant(f"variant must be one of {', '.join(VARIANTS)}; got {self.variant!r}")
        for name in ("order", "k", "depth"):
            self._at_least(name, 1, optional=True)
        for name in ("iterations", "plans", "rounds", "continuations", "rollouts"):
            self._at_least(name, 1)
        for name in ("whole", "fallback_k"):
            self._at_least(name, 0)
        if not isinstance(self.close, bool):
            raise ConfigError(f"close must be True or False; got {self.close!r}")
        if self.k is None and self.generator != "all":
            raise ConfigError(f"k must be given with the generator {self.generator}; got none; pass -k")
        if self.rest == "summary" and not self.close:
            raise ConfigError("close must be True with rest = summary; got False; an infoset has one role")
        self._within("entry_floor", lambda x: 0 <= x < 1, "in [0, 1)")
        self._within("anchor", lambda x: 0 < x <= 1, "in (0, 1]")
        self._within("step", lambda x: x > 0, "positive")
        self._within("magnet", lambda x: x >= 0, "at least 0")
        self._within("warm_start", lambda x: x >= 0, "at least 0, in iterations")
        if self.target is not None:
            self._within("target", lambda x: x > 0, "positive, in payoffs")
        if self.gamma is not None:
            self._within("gamma", lambda x: x >= 0, "at least 0")
        if self.time_limit is not None:
            self._within("time_limit", lambda x: x > 0, "positive, in seconds")
        for name, needs in unread(vars(self)).items():
            value, default = getattr(self, name), self.__dataclass_fields__[name].default
            if value != default:
                raise ConfigError(
                    f"{name} needs {needs}; got {name} = {value!r}, which nothing would read; "
                    f"leave it at {default!r}"
                )

    def _one_of(self, field: str, choices: Sequence[str]) -> None:
        value = getattr(self, field)
        if value not in choices:
            raise ConfigError(f"{field} must be one of {', '.join(choices)}; got {value!r}")

    def _at_least(self, field: str, low: int, *, optional: bool = False) -> None:
        value = getattr(self, field)
        if value is None and optional:
            return
        if not isinstance(value, int) or isinstance(value, bool) or value < low:
            raise ConfigError(f"{field} must be an integer of at least {low}; got {value!r}")

    def _within(self, field: str, rule: Callable[[float], bool], words: str) -> None:
        value = getattr(self, field)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or not rule(value):
            raise ConfigError(f"{field} must be {words}; got {value!r}")

    def replace(self, **changes: Any) -> SearchConfig:
        """Return the configuration with some fields changed.

        A detail that was not named, and that nothing reads any more after the change, goes back to its
        default: the `k` of a preset with the generator all, say. A choice such as a certificate does not.
        Raises ConfigError for a field that does not exist, a value out of range, or a contradiction.
        """
        unknown = set(changes) - set(self.__dataclass_fields__)
        if unknown:
            known = ", ".join(self.__dataclass_fields__)
            raise ConfigError(f"configuration has no field {', '.join(sorted(unknown))}; fields: {known}")
        values = {**vars(self), **changes}
        while True:
            stale = (DETAILS & unread(values).keys()) - changes.keys()
            defaults = {name: self.__dataclass_fields__[name].default for name in stale}
            if all(values[name] == default for name, default in defaults.items()):
                return replace(self, **{name: values[name] for name in defaults.keys() | changes.keys()})
            values |= defaults

    def steps(self) -> tuple[SearchConfig, ...]:
        """Return the searches that one call makes at an infoset, each from what the one before left."""
        if self.scope == "both":
            once: tuple[SearchConfig, ...] = (
                replace(self, scope="block", freeze="none", rounds=1),
                replace(self, scope="subtree", freeze="outside", rounds=1),
            )
        else:
            once = (self if self.rounds == 1 else replace(self, rounds=1),)
        return once * self.rounds

    def fallback(self) -> SearchConfig:
        """Return the configuration where the closure cannot be solved in the time; needs a `fallback_k`."""
        warm = {"warm_start": max(self.warm_start, 1.0)} if self.solver == "cfr" else {}
        return self.replace(
            order=1, k=self.fallback_k, rest="drop", freeze="outside", scope="subtree", **warm
        )

    def for_unreached(self) -> SearchConfig:
        """Return the configuration for an infoset that the player's own strategy never leads to.

        Values of the whole game say nothing there, so no path and no certificate is built on them; and what
        is solved with the weights of such an infoset replaces nothing at others, which may be reached.
        """
        gadget = "maxmargin" if self.gadget == "path" else self.gadget
        scope = "subtree" if self.scope == "block" else self.scope
        return replace(self, gadget=gadget, certificate="none", scope=scope)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a plain dictionary."""
        return asdict(self)
