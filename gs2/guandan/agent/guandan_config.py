"""How the GuanDan agent searches: one small configuration for each stage; every method is a choice of fields.

deals → moves → comparison → subgame, around which stand the method and the limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from blueprint.guandan.objective import OBJECTIVES
from games.support.configuration import (
    ConfigError,
    Configuration,
    StagedConfiguration,
    flag,
    integer,
    one_of,
    real,
    text,
)
from gs2.guandan.agent.styles import style_table
from gs2.search.config.stages import GENERATOR_NAMES

METHODS = ("none", "rollout", "subgame")
LEAVES = ("styles", "value", "rollout")
GENERATORS = ("diverse", "random", "clusters")
ALTERNATIVES = ("best", "value")
GADGETS = ("auto", "unsafe", "resolve", "maxmargin")


def _generators() -> Iterable[str]:
    """Return the generation functions known today, one's own among them (`gs2.parts`)."""
    return (*GENERATORS, *(name for name in GENERATOR_NAMES if name not in (*GENERATORS, "all")))


def _styles(instance: object, field: attrs.Attribute[str], value: object) -> None:
    names = value.split("+") if isinstance(value, str) else []
    if names[:1] != ["blueprint"]:
        raise ConfigError(f"{field.name} must begin with blueprint, as blueprint+contest; got {value!r}")
    style_table(tuple(names))


@attrs.frozen(slots=False)
class DealsConfig(Configuration):
    """Which deals a decision is thought to be in.

    worlds: most deals sampled for a comparison of moves. sample: deals sampled where several
        plies are solved.
    belief: exponent of the learned belief's odds by which hidden cards are dealt; 0 deals uniformly.
    reach: exponent of how likely all that the others played is in a deal, by which deals are drawn from
        a pool of `pool`; 0 leaves them equal. greedy: ask the blueprint, move by move, with its best move
        alone (published), and not the deal network: a deal weighs as before or nothing, and is kept.
    temperature: of the blueprint's soft policy wherever it is meant, in levels.
    nested: deals of one decision are kept for the next while they agree with what was seen.
    draws: seed of what is drawn at an infoset, which then follows from both: agents that differ elsewhere
        see the same deals, so that duplicate play differs by their choices alone (common random numbers).
        None draws on and on from the agent's own stream.
    """

    worlds: int = attrs.field(default=640, validator=integer(1))
    sample: int = attrs.field(default=1000, validator=integer(1))
    belief: float = attrs.field(default=1.0, validator=real(0, 10))
    reach: float = attrs.field(default=1.0, validator=real(0, 10))
    pool: int = attrs.field(default=1280, validator=integer(1))
    greedy: bool = attrs.field(default=False, validator=flag)
    temperature: float = attrs.field(default=0.2, validator=real(1e-6, 100))
    nested: bool = attrs.field(default=True, validator=flag)
    draws: int | None = attrs.field(default=None, validator=integer(0, optional=True))


@attrs.frozen(slots=False)
class MovesConfig(Configuration):
    """Which moves are looked at.

    candidates: most moves compared. gap: levels behind the blueprint's best move beyond which a move is not
        looked at. per_type: most moves of each type (GS2: 2), the pass always kept; None for no such limit.
    """

    candidates: int = attrs.field(default=5, validator=integer(1))
    gap: float = attrs.field(default=0.35, validator=real(0, 100))
    per_type: int | None = attrs.field(default=None, validator=integer(1, optional=True))


@attrs.frozen(slots=False)
class ComparisonConfig(Configuration):
    """How moves are compared by rollouts in common deals.

    wave: deals in the first comparison; each later one doubles.
    depth: decisions with a choice that a rollout takes before the evaluator values it; None to the end.
    playing: whose moves a rollout plays: "quick", a small network that was taught the blueprint's, where the
        agent has one; or "blueprint", its own.
    confidence: standard deviations behind the leader at which a candidate is given up (racing).
    trust: standard deviation in levels of the blueprint's error in comparing two moves: the prior
        against which the rollouts' noisy means count (our measurement). 0 never moves away from it.
    """

    wave: int = attrs.field(default=32, validator=integer(1))
    depth: int | None = attrs.field(default=12, validator=integer(0, optional=True))
    playing: str = attrs.field(default="quick", validator=one_of(("quick", "blueprint")))
    confidence: float = attrs.field(default=0.7, validator=real(0, 100))
    trust: float = attrs.field(default=0.1, validator=real(0, 100))


@attrs.frozen(slots=False)
class DealSubgameConfig(Configuration):
    """Which subgame grows below which deals, how it is solved, and what of the solution is kept.

    leaf: "styles": nothing but our moves grows, and below them everybody chooses how to play on (multi-valued
        leaves, `gs2.guandan.agent.solving.decision_game`); greedy "rollout" (published) or the evaluator's
        "value": several plies grow, which the other fields are about.
    ours, theirs: styles that the player and the opponents may choose, the blueprint's first, with plus signs
        between. leaf_worlds: most deals in which they are compared. buckets: of the opponents' hands.
    opponent_price: what the opponents pay for leaving the blueprint's style, in levels for each nat; what we
        pay follows from the rollouts' noise. These five are about the leaf "styles".
    k: deals kept of those sampled; generator: which, "diverse", "clusters" or "random".
    alternative: what an opponent gets that declines: "best", the largest Q at its next decision, reached by
        everybody's best move (published), or "value", V of what it sees now.
    subgame_depth: depth limit; crowd_depth: the one when the opponents hold more than 27 cards.
    actions_per_type: moves of each type kept in the tree. room: moves kept on one level of the tree before it
        is thinned (not published; bounds time).
    gadget: by which the opponents come into a subgame of several plies; "auto" is resolve against two and
        maxmargin against one. entry_floor: probability of a forced entry.
    iterations: of CFR (not published). anchor: weight in (0, 1] of the solved policy against the blueprint's
        soft one.
    """

    leaf: str = attrs.field(default="styles", validator=one_of(LEAVES))
    ours: str = attrs.field(default="blueprint", validator=_styles)
    theirs: str = attrs.field(default="blueprint", validator=_styles)
    leaf_worlds: int = attrs.field(default=48, validator=integer(1))
    buckets: int = attrs.field(default=1, validator=integer(1))
    k: int = attrs.field(default=10, validator=integer(1))
    generator: str = attrs.field(default="diverse", validator=one_of(_generators))
    alternative: str = attrs.field(default="best", validator=one_of(ALTERNATIVES))
    subgame_depth: int = attrs.field(default=10, validator=integer(1))
    crowd_depth: int = attrs.field(default=8, validator=integer(1))
    actions_per_type: int = attrs.field(default=2, validator=integer(1))
    room: int = attrs.field(default=2000, validator=integer(1))
    gadget: str = attrs.field(default="auto", validator=one_of(GADGETS))
    entry_floor: float = attrs.field(default=0.0, validator=real(0, 0.999))
    iterations: int = attrs.field(default=200, validator=integer(1))
    anchor: float = attrs.field(default=1.0, validator=real(1e-6, 1))
    opponent_price: float = attrs.field(default=0.2, validator=real(0, 100))


LEANING = ("ours", "theirs", "leaf_worlds", "buckets", "opponent_price")
SEVERAL_PLIES = (
    *("k", "generator", "alternative", "subgame_depth", "crowd_depth", "actions_per_type", "room"),
    *("gadget", "entry_floor", "iterations", "anchor", "sample", "nested", "greedy"),
)


@attrs.frozen(slots=False)
class GuanDanConfig(StagedConfiguration):
    """What a decision goes through.

    name: the preset it started from.
    method: "none" plays the blueprint; "rollout" compares the best candidate moves in common sampled deals;
        "subgame" solves a subgame: that of the moves which stood the comparison, or one of several plies.
    deadline: seconds for one decision, honoured within 10 %; the blueprint's move is the fallback.
    objective: what is maximised in a match, the chance of winning it ("match") or "levels".
    endgame: positions that the exact solver may visit at the end of a round; 0 turns it off.
    open_cards: cards in all hands up to which deals that were drawn are solved with open cards, and the move
        that is best in their mean is played; two seats that are left know every card.
    most_cards: cards in the other hands beyond which the blueprint's move is played; 81 searches always.
    """

    name: str = attrs.field(default="rollout", validator=text)
    method: str = attrs.field(default="rollout", validator=one_of(METHODS))
    deadline: float = attrs.field(default=0.5, validator=real(0, 3600))
    objective: str = attrs.field(default="match", validator=one_of(OBJECTIVES))
    endgame: int = attrs.field(default=200_000, validator=integer(0))
    open_cards: int = attrs.field(default=16, validator=integer(0))
    most_cards: int = attrs.field(default=81, validator=integer(0))
    deals: DealsConfig = attrs.field(factory=DealsConfig)
    moves: MovesConfig = attrs.field(factory=MovesConfig)
    comparison: ComparisonConfig = attrs.field(factory=ComparisonConfig)
    subgame: DealSubgameConfig = attrs.field(factory=DealSubgameConfig)

    @property
    def compares(self) -> bool:
        return self.method == "rollout" or (self.method == "subgame" and self.subgame.leaf == "styles")

    @property
    def plays_out(self) -> bool:
        return self.compares or (self.method == "subgame" and self.subgame.leaf == "rollout")

    @classmethod
    def unread(cls, values: Mapping[str, Any]) -> dict[str, str]:
        """Return the fields that nothing would read, each with what it would need."""
        method = values["method"]
        found: dict[str, str] = {}
        leaning = method == "subgame" and values["leaf"] == "styles"
        if method == "none":
            searching = (
                *DealsConfig.defaults(),
                *MovesConfig.defaults(),
                *("endgame", "open_cards", "most_cards"),
            )
            # the blueprint's soft policy is told without a search as well
            found |= dict.fromkeys(set(searching) - {"temperature"}, "a method that searches (it is none)")
        if method != "subgame":
            found["leaf"] = f"method = subgame (it is {method})"
        if not leaning:
            found |= dict.fromkeys(LEANING, "method = subgame and leaf = styles")
        if method != "subgame" or leaning:
            found |= dict.fromkeys(SEVERAL_PLIES, "method = subgame and leaf = value or rollout")
        if method != "rollout" and not leaning:
            needs = "method = rollout, or method = subgame with leaf = styles"
            found |= dict.fromkeys((*ComparisonConfig.defaults(), "worlds"), needs)
        if method == "subgame" and values["leaf"] == "rollout":
            del found["playing"]
        if values["endgame"] == 0:
            found["open_cards"] = "an endgame above 0 (it is 0)"
        if values["reach"] == 0:
            found |= dict.fromkeys(("pool", "greedy"), "a reach above 0 (it is 0)")
        elif values["greedy"]:
            found["pool"] = "greedy = false (it keeps and asks about every deal)"
        return found


_ROLLOUT = GuanDanConfig.of(name="rollout")
_FAST = _ROLLOUT.replace(
    name="rollout-fast",
    deadline=0.05,
    candidates=3,
    gap=0.25,
    worlds=40,
    wave=10,
    depth=8,
    pool=64,
    endgame=20_000,
)
_DEEP = _ROLLOUT.replace(
    name="rollout-deep",
    deadline=3.0,
    candidates=8,
    gap=0.5,
    worlds=2048,
    wave=64,
    depth=16,
    confidence=1.5,
    pool=4096,
    endgame=2_000_000,
)

PRESETS: dict[str, GuanDanConfig] = {
    config.name: config
    for config in (
        _ROLLOUT.replace(name="standard", method="subgame"),
        _FAST.replace(name="fast", method="subgame"),
        _DEEP.replace(name="deep", method="subgame"),
        _ROLLOUT,
        _FAST,
        _DEEP,
        GuanDanConfig.of(
            name="paper",
            method="subgame",
            leaf="rollout",
            deadline=3.0,
            belief=0.0,
            greedy=True,
            temperature=0.06,
            playing="blueprint",
            candidates=64,
            gap=100.0,
            per_type=2,
            endgame=0,
        ),
        GuanDanConfig.of(name="blueprint", method="none"),
    )
}


def agent_preset(name: str) -> GuanDanConfig:
    """Return the configuration called `name`.

    Raises ConfigError that lists the names if there is none.
    """
    if name not in PRESETS:
        raise ConfigError(f"GuanDan preset must be one of {', '.join(PRESETS)}; got {name!r}")
    return PRESETS[name]
