"""How the GuanDan agent searches: one frozen configuration; every method is a choice of fields."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from games.support.configuration import ConfigError, Configuration, flag, integer, one_of, real, text
from gs2.guandan.agent.styles import style_table
from gs2.search.config.stages import GENERATOR_NAMES

__all__ = ["GuanDanConfig"]

METHODS = ("none", "rollout", "subgame")
LEAVES = ("value", "rollout", "styles")
GENERATORS = ("diverse", "random", "clusters")
GADGETS = ("auto", "unsafe", "resolve", "maxmargin")


def _styles(instance: object, field: attrs.Attribute[str], value: object) -> None:
    names = value.split("/") if isinstance(value, str) else []
    if names[:1] != ["blueprint"]:
        raise ConfigError(f"{field.name} must begin with blueprint, as blueprint/contest; got {value!r}")
    style_table(tuple(names))


def _generators() -> Iterable[str]:
    """Return the generation functions known today, one's own among them (`gs2.parts`)."""
    return (*GENERATORS, *(name for name in GENERATOR_NAMES if name not in (*GENERATORS, "all")))


@attrs.frozen(slots=False)
class GuanDanConfig(Configuration):
    """What a decision goes through.

    name: the preset it started from.
    method: "none" plays the blueprint; "rollout" compares the best candidate moves in common sampled deals;
        "subgame" is generative subgame solving as published (GS2, appendix C).
    deadline: seconds for one decision, honoured within 10 %; the blueprint's move is the fallback.
    candidates: most moves compared. gap: levels behind the blueprint's best move beyond which a move is not
        looked at. per_type: most moves of each type (GS2: 2), the pass always kept; None for no such limit.
    worlds: most determinizations: deals sampled for a decision. wave: deals in the first comparison; each
        later one doubles.
    depth: decisions with a choice that a rollout takes before the evaluator values it; None to the end.
    confidence: standard deviations behind the leader at which a candidate is given up (racing).
    trust: standard deviation in levels of the blueprint's error in comparing two moves: the prior
        against which the rollouts' noisy means count (our measurement). 0 never moves away from it.
    belief: exponent of the learned belief's odds by which hidden cards are dealt; 0 deals uniformly.
    reach: exponent of how likely all that the others played is in a deal, by which deals are drawn from a
        pool of `pool`; 0 leaves them equal. replay: ask the blueprint, move by move, with a soft policy of
        `temperature` in levels, and not the deal network, which knows at once.
    endgame: positions that the exact solver may visit when two seats are left; 0 turns it off.
    The rest is of the method "subgame", the defaults as published unless said otherwise.
    k: deals kept of `sample` sampled; generator: which, "diverse", "clusters" or "random".
    gadget: "auto" is resolve against two opponents and maxmargin against one. entry_floor: probability of a
        forced entry. iterations: of CFR (not published).
    subgame_depth: depth limit; crowd_depth: the one when the opponents hold more than 27 cards.
    actions_per_type: moves of each type kept in the tree. leaf: greedy "rollout", the evaluator's "value", or
        "styles", multi-valued leaves right below the moves compared (`gs2.guandan.agent.solving.decision_game`).
    ours, theirs: styles that the player and the opponents may choose there, the blueprint's first, with
        slashes between. leaf_worlds: most deals in which they are compared. buckets: of the opponents' hands.
    opponent_price: what the opponents pay for leaving the blueprint there, in levels for each nat.
    companions: more deals for each kept one and opponent that share the opponent's hand (0 published).
    room: moves kept on one level of the tree before it is thinned (not published; bounds time).
    nested: deals of one decision are kept for the next while they agree with what was seen.
    anchor: weight in (0, 1] of the solved policy against the blueprint's soft one.
    """

    name: str = attrs.field(default="standard", validator=text)
    method: str = attrs.field(default="rollout", validator=one_of(METHODS))
    deadline: float = attrs.field(default=0.5, validator=real(0, 3600))
    candidates: int = attrs.field(default=3, validator=integer(1))
    gap: float = attrs.field(default=0.25, validator=real(0, 100))
    per_type: int | None = attrs.field(default=None, validator=integer(1, optional=True))
    worlds: int = attrs.field(default=42, validator=integer(1))
    wave: int = attrs.field(default=6, validator=integer(1))
    depth: int | None = attrs.field(default=8, validator=integer(0, optional=True))
    confidence: float = attrs.field(default=0.7, validator=real(0, 100))
    trust: float = attrs.field(default=0.2, validator=real(0, 100))
    belief: float = attrs.field(default=1.0, validator=real(0, 10))
    reach: float = attrs.field(default=1.0, validator=real(0, 10))
    pool: int = attrs.field(default=512, validator=integer(1))
    replay: bool = attrs.field(default=False, validator=flag)
    temperature: float = attrs.field(default=0.2, validator=real(1e-6, 100))
    endgame: int = attrs.field(default=200_000, validator=integer(0))
    k: int = attrs.field(default=10, validator=integer(1))
    sample: int = attrs.field(default=1000, validator=integer(1))
    generator: str = attrs.field(default="diverse", validator=one_of(_generators))
    gadget: str = attrs.field(default="auto", validator=one_of(GADGETS))
    entry_floor: float = attrs.field(default=0.0, validator=real(0, 0.999))
    iterations: int = attrs.field(default=200, validator=integer(1))
    subgame_depth: int = attrs.field(default=10, validator=integer(1))
    crowd_depth: int = attrs.field(default=8, validator=integer(1))
    actions_per_type: int = attrs.field(default=2, validator=integer(1))
    companions: int = attrs.field(default=0, validator=integer(0))
    room: int = attrs.field(default=2000, validator=integer(1))
    leaf: str = attrs.field(default="rollout", validator=one_of(LEAVES))
    ours: str = attrs.field(default="blueprint", validator=_styles)
    theirs: str = attrs.field(default="blueprint", validator=_styles)
    leaf_worlds: int = attrs.field(default=64, validator=integer(1))
    buckets: int = attrs.field(default=1, validator=integer(1))
    opponent_price: float = attrs.field(default=0.2, validator=real(0, 100))
    nested: bool = attrs.field(default=True, validator=flag)
    anchor: float = attrs.field(default=1.0, validator=real(1e-6, 1))
