"""The configurations of a search's stages, in the order of the pipeline; `SearchConfig` joins them."""

from __future__ import annotations

import attrs

from cfr.variants import VARIANTS, UnknownVariant
from games.support.configuration import ConfigError, Configuration, flag, integer, one_of, real
from gs2.search.continuation_policies import read_continuations

GADGET_NAMES = ["unsafe", "resolve", "maxmargin", "reach-maxmargin", "path"]
GENERATOR_NAMES = ["all", "random", "diverse", "clusters", "strata", "belief"]
WEIGHTED_GENERATORS = ("strata", "belief")
"""Those whose histories carry the reach of others as well."""
SOURCES = ("auto", "enumerated", "sampled")
ALTERNATIVE_NAMES = ("best-response", "profile", "value")
LEAF_NAMES = ["exact", "value", "rollout", "continuations", "multi-valued", "play-on"]
"""Parts of one's own add their names (`gs2.parts`)."""
MODE_NAMES = ("independent", "nested", "sequential")
REST = ("drop", "summary")
ENTRY_PRIORS = ("uniform", "reach", "mixed")
UNITS = ("range", "deviation")
SOLVERS = ("cfr", "lp", "anchored", "mirror-descent")
BEYOND = ("never", "blueprint")
PLAYING = ("blueprint", "greedy")
CHOOSERS = ("opponents", "everyone")
FREEZE = ("outside", "none")
SCOPES = ("infoset", "subtree", "block")
OPPONENTS = ("next", "none")
CERTIFICATES = ("none", "margin", "anchored", "shared", "path", "statistical")


def _known_gadget(instance: object, field: object, value: object) -> None:
    if value not in GADGET_NAMES:
        raise ConfigError(f"gadget must be one of {', '.join(GADGET_NAMES)}; got {value!r}")


def _known_variant(instance: object, field: object, value: object) -> None:
    if not isinstance(value, str) or value.lower() not in VARIANTS:
        raise UnknownVariant(f"variant must be one of {', '.join(VARIANTS)}; got {value!r}")


def _known_continuations(instance: object, field: attrs.Attribute[str], value: object) -> None:
    if not isinstance(value, str):
        raise ConfigError(f"{field.name} must name continuations, as blueprint+greedy; got {value!r}")
    read_continuations(value)


@attrs.frozen(slots=False)
class HistoriesConfig(Configuration):
    """Which histories a search considers, and what they are worth to the opponent.

    order: histories considered are the order-k knowledge set of the infoset; 1 is the infoset itself, None
        the common-knowledge closure.
    alternative: alternative values by best-response (exact), profile or value (`Blueprint.value`).
    source: "enumerated" from the game's whole tree; "sampled": drawn from the infoset, for games whose tree
        cannot be grown; "auto": enumerated where it can be.
    samples: most histories drawn from the infoset; where a method solves the common-knowledge closure, also
        the most of it that is listed.
    companions: most histories drawn from each opponent infoset that they belong to, so that the opponent does
        not see through them; 0 for none, which is enough where no opponent decides before the depth limit.
    belief: exponent in [0, 1] of the opponents' own part in how likely histories are that were drawn: 1
        believes in their blueprint, 0 in chance alone.
    slip: share of uniform play, in [0, 1], in what the others are believed to have played on the way to
        histories that were drawn; above 0 a deterministic blueprint rules out nothing.
    explore: share of uniform play in what histories are drawn by, in [0, 1]; the rest is the blueprint's.
    """

    order: int | None = attrs.field(default=1, validator=integer(1, optional=True))
    alternative: str = attrs.field(default="best-response", validator=one_of(ALTERNATIVE_NAMES))
    source: str = attrs.field(default="auto", validator=one_of(SOURCES))
    samples: int = attrs.field(default=64, validator=integer(1))
    companions: int = attrs.field(default=32, validator=integer(0))
    belief: float = attrs.field(default=1.0, validator=real(0, 1))
    slip: float = attrs.field(default=0.0, validator=real(0, 1))
    explore: float = attrs.field(default=0.5, validator=real(0, 1))


@attrs.frozen(slots=False)
class GenerationConfig(Configuration):
    """Which of the histories considered enter the subgame: some, and all others of their opponent infosets.

    generator: all, random, diverse, clusters, or one's own (`gs2.parts`); strata or belief, weighted samples
        whose histories carry the reach of those left out, with solver = mirror-descent.
    k: how many, at least 1; None with the generator `all`.
    fallback_k: most histories kept by the search made instead where a closure cannot be solved in the time:
        the rest left out, our play outside the infoset frozen, CFR started from the old strategy, mixed in as
        far as the same certificate allows; 0 leaves the strategy there as it was.
    """

    generator: str = attrs.field(default="all", validator=one_of(lambda: GENERATOR_NAMES))
    k: int | None = attrs.field(default=None, validator=integer(1, optional=True))
    fallback_k: int = attrs.field(default=0, validator=integer(0))

    def check(self) -> None:
        """Raise ConfigError for a generator that chooses and is not told how many."""
        if self.k is None and self.generator != "all":
            raise ConfigError(f"k must be given with the generator {self.generator}; got none; pass -k")


@attrs.frozen(slots=False)
class SubgameConfig(Configuration):
    """What grows below the histories generated, and what the others are.

    freeze: "outside": the searching player's decisions below histories outside the knowledge set considered
        follow the current strategy (1-KLSS; GS2); "none": they are solved too (KLUSS).
    rest: histories not generated are left out ("drop"), or all those of the common-knowledge closure stay
        in summary ("summary"): the opponent chooses there among plans, best responses to what was tried.
    whole: nodes up to which a closure is generated whole, so that nothing stays in summary; 0 for never.
    plans: most plans of a summary; the subgame is solved again whenever one is added.
    opponent: in a game of more than two seats, who decides beside the searching seat, all others playing the
        blueprint: "next", the next seat of another team, or "none" (`gs2.search.histories.seats`).
    branches: actions that are kept at every infoset, those that the blueprint plays most often. None for all.
    beyond: what is played of the actions beyond the branches: never, or blueprint, each as often as by the
        blueprint, since nothing was learned of it.
    gap: most payoffs by which the Q of an action kept may lie below the best, with branches; where a single
        action is left, nothing is searched. None for any.
    depth: decisions below a history before `leaf` values it; None to the end of the game.
    leaf: what is worth what at the depth limit: exact (expected under the strategy, small games), value
        (`Blueprint.value`), rollout, continuations (the opponent chooses among several), play-on (the
        searching player goes on by its old strategy, the opponent decides to the end of the game),
        multi-valued (players choose among `policies`, by rollouts), or one's own (`gs2.parts`).
    continuations: how many the opponent chooses among, with leaf = continuations.
    policies: continuations by name, with leaf = multi-valued (`gs2.search.continuation_policies`).
    choosers: who chooses among them: opponents, the searching player going on by the blueprint, or everyone.
        Default: our measurement; where later decisions are searched anew, choices of one's own promise too
        much.
    playing: what everybody plays in the rollouts of histories that were drawn, with leaf = rollout:
        blueprint, or greedy, its action of highest Q; where its values are of single histories, blueprint.
    rollouts: games played from each leaf, with leaf = rollout, and with each combination of continuations,
        with leaf = multi-valued; 0 then asks for expected payoffs, where the game can be listed.
    """

    freeze: str = attrs.field(default="outside", validator=one_of(FREEZE))
    rest: str = attrs.field(default="drop", validator=one_of(REST))
    whole: int = attrs.field(default=0, validator=integer(0))
    plans: int = attrs.field(default=16, validator=integer(1))
    opponent: str = attrs.field(default="next", validator=one_of(OPPONENTS))
    branches: int | None = attrs.field(default=None, validator=integer(1, optional=True))
    beyond: str = attrs.field(default="never", validator=one_of(BEYOND))
    gap: float | None = attrs.field(default=None, validator=real(0, optional=True, unit="payoffs"))
    depth: int | None = attrs.field(default=None, validator=integer(1, optional=True))
    leaf: str = attrs.field(default="exact", validator=one_of(lambda: LEAF_NAMES))
    continuations: int = attrs.field(default=4, validator=integer(1))
    policies: str = attrs.field(default="blueprint+greedy+uniform+last", validator=_known_continuations)
    choosers: str = attrs.field(default="opponents", validator=one_of(CHOOSERS))
    playing: str = attrs.field(default="blueprint", validator=one_of(PLAYING))
    rollouts: int = attrs.field(default=10, validator=integer(0))

    def check(self) -> None:
        """Raise ConfigError for rollouts of no games."""
        if self.rollouts == 0 and self.leaf == "rollout":
            raise ConfigError("rollouts must be at least 1 with leaf = rollout; got 0; exact needs none")


@attrs.frozen(slots=False)
class GadgetConfig(Configuration):
    """How the opponent comes to the histories of the subgame.

    kind: unsafe, resolve, maxmargin, reach-maxmargin, path, or one's own (`gs2.parts`); called `gadget` among
        the fields of all stages.
    entry_floor: probability in [0, 1) with which the opponent is forced to enter the gadget.
    entry_prior: how forced entries are dealt: "uniform" over opponent infosets; "reach": as chance and the
        searching player lead there; "mixed": half uniform, half as both players lead there (Obscuro).
    """

    kind: str = attrs.field(default="maxmargin", validator=_known_gadget)
    entry_floor: float = attrs.field(default=0.0, validator=real(0, 1, below=True))
    entry_prior: str = attrs.field(default="uniform", validator=one_of(ENTRY_PRIORS))


@attrs.frozen(slots=False)
class SolveConfig(Configuration):
    """How the subgame with its gadget is solved.

    solver: cfr, lp (exact, by linear programming), anchored (magnetic mirror descent towards the strategy
        refined, `cfr.anchored`), or mirror-descent (one step on the action values at the histories kept,
        without a subgame).
    variant: a row of `cfr.variants.VARIANTS`. gamma: its averaging exponent, None for the row's own.
        Default: PCFR+ with exponent 5, 300 iterations, our measurement on small gadgets.
    iterations: most iterations of cfr or anchored.
    target: stop at this exploitability within the gadget, in payoffs; None for no such limit. With anchored,
        what is paid for leaving the old strategy counts.
    temperature: price that the searching player's team pays for leaving its old strategy, with anchored, as a
        share of the payoff range for each nat; 0 is free. The opponents pay nothing.
    doubt: standard errors of the values of actions, as far as histories were drawn, that are added to the
        temperature: what may be luck moves the strategy little.
    warm_start: iterations' worth of regrets with which CFR starts out at the strategy being refined (see
        `cfr.solver`); 0 starts from uniform play.
    step: step size of mirror-descent, in inverse payoffs times its unit: the price of a nat is unit / step.
    unit: "range", the game's payoff range; "deviation", the standard deviation of the payoff from the infoset
        on when everyone goes on as before, which needs no scale of a game's payoffs.
    caution: of mirror-descent from histories kept, drawn or played out: the price of a nat is multiplied by
        1 + caution · noise² / signal², the squares of the action values' standard errors and of what they
        say (`KeptValues.noise_share`, `ActionErrors.share`); of all, with exact values, the noise is 0.
    extragradient: whether a step of mirror-descent is taken against opponents that answer: below the infoset
        they play as after a step of their own from the strategy refined. Source: Korpelevich 1976.
    robust: with extragradient, whether the step must gain against two more answers as well: the best action
        at each of their infosets, and the same played half of the time, with the histories that this makes
        likely. An opponent whose policy is nearly pure moves little in a step; its best response does not.
        Of histories that are drawn nothing above is known: there all are as likely as they were.
    """

    solver: str = attrs.field(default="cfr", validator=one_of(SOLVERS))
    variant: str = attrs.field(default="pcfr+", validator=_known_variant)
    gamma: float | None = attrs.field(default=5.0, validator=real(0, optional=True))
    iterations: int = attrs.field(default=300, validator=integer(1))
    target: float | None = attrs.field(
        default=None, validator=real(0, above=True, optional=True, unit="payoffs")
    )
    warm_start: float = attrs.field(default=0.0, validator=real(0, unit="iterations"))
    step: float = attrs.field(default=10.0, validator=real(0, above=True))
    unit: str = attrs.field(default="range", validator=one_of(UNITS))
    caution: float = attrs.field(default=0.0, validator=real(0))
    extragradient: bool = attrs.field(default=False, validator=flag)
    robust: bool = attrs.field(default=False, validator=flag)
    temperature: float = attrs.field(default=0.02, validator=real(0))
    doubt: float = attrs.field(default=0.0, validator=real(0))

    @property
    def algorithm(self) -> str:
        """Return the name of what solves the subgame: the variant of CFR, or the solver that is another."""
        return self.variant if self.solver == "cfr" else self.solver


@attrs.frozen(slots=False)
class SafetyConfig(Configuration):
    """What of a solution is kept.

    anchor: weight λ in (0, 1] of the refined strategy against the one refined; 1 replaces it.
    certificate: "none"; "margin": keep the refined strategy only if no opponent infoset that touches the
        infoset gains by it, else the old one; "anchored": the best λ for which none gains; "shared": that
        divided among the searches of one level that could clash, which need not see each other then (mode =
        nested or sequential, scope = infoset or subtree);
        "path": the best λ for which the opponent's value of the whole game does not rise (the values off
        its path are taken from the strategy refined so far, not from the infoset); "statistical": if paired
        rollouts prove that the refined strategy gains (`gs2.search.certificate`).
    shrink: share in (0, 1] of the certified weight that is used, where the certificate knows only a sample of
        what the opponent may hold.
    confidence: of a statistical certificate, probability in (0, 1) that what gains nothing is not kept.
    trials: paired rollouts that it makes. against: what the opponents play in them, continuations by name,
        the blueprint first.
    scope: what a search replaces: "infoset": the strategy there; "subtree": and at the player's infosets
        below; "block": at every infoset solved.
    """

    anchor: float = attrs.field(default=1.0, validator=real(0, 1, above=True))
    certificate: str = attrs.field(default="none", validator=one_of(CERTIFICATES))
    shrink: float = attrs.field(default=1.0, validator=real(0, 1, above=True))
    scope: str = attrs.field(default="infoset", validator=one_of(SCOPES))
    confidence: float = attrs.field(default=0.95, validator=real(0, 1, above=True, below=True))
    trials: int = attrs.field(default=200, validator=integer(1))
    against: str = attrs.field(default="blueprint", validator=_known_continuations)

    def check(self) -> None:
        """Raise ConfigError where a statistical certificate does not begin with the blueprint."""
        if self.against.split("+")[0].strip() != "blueprint":
            raise ConfigError(f"against must begin with the blueprint; got {self.against!r}; put it first")
