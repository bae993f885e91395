"""How the GuanDan agent searches: one frozen configuration; every method is a choice of fields."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from games.support.configuration import ConfigError
from gs2.search.config.stages import GENERATOR_NAMES

__all__ = ["GuanDanConfig"]

METHODS = ("none", "rollout", "subgame")
LEAVES = ("value", "rollout")
GENERATORS = ("diverse", "random", "clusters")
GADGETS = ("auto", "unsafe", "resolve", "maxmargin")


@dataclass(frozen=True)
class GuanDanConfig:
    """What a decision goes through.

    name: the preset it started from.
    method: "none" plays the blueprint; "rollout" compares the best candidate moves in common sampled deals;
        "subgame" is generative subgame solving as published (GS2, appendix C).
    deadline: seconds for one decision, honoured within 10 %; the blueprint's move is the fallback.
    candidates: most moves compared. gap: levels behind the blueprint's best move beyond which a move is not
        looked at. per_type: most moves of each type (GS2: 2), the pass always kept; None for no such limit.
    worlds: most deals sampled for a decision. wave: deals in the first comparison; each later one doubles.
    depth: decisions with a choice that a rollout takes before the evaluator values it; None to the end.
    confidence: standard deviations behind the leader at which a candidate is given up.
    trust: standard deviation in levels of the blueprint's error in comparing two moves: how far the rollouts'
        noisy means may move a decision away from it (our measurement). 0 never moves.
    belief: exponent of the learned belief's odds by which hidden cards are dealt; 0 deals uniformly.
    reach: exponent of the blueprint's soft reach of what the others just played, by which deals are drawn; 0
        leaves them equal. temperature: of that soft policy, in levels.
    endgame: positions that the exact solver may visit when two seats are left; 0 turns it off.
    The rest is of the method "subgame", the defaults as published unless said otherwise.
    k: deals kept of `sample` sampled; generator: which, "diverse", "clusters" or "random".
    gadget: "auto" is resolve against two opponents and maxmargin against one. entry_floor: probability of a
        forced entry. iterations: of CFR (not published).
    subgame_depth: depth limit; crowd_depth: the one when the opponents hold more than 27 cards.
    actions_per_type: moves of each type kept in the tree. leaf: greedy "rollout" or the evaluator's "value".
    companions: more deals for each kept one and opponent that share the opponent's hand (0 published).
    room: moves kept on one level of the tree before it is thinned (not published; bounds time).
    nested: deals of one decision are kept for the next while they agree with what was seen.
    anchor: weight in (0, 1] of the solved policy against the blueprint's soft one.
    """

    name: str = "standard"
    method: str = "rollout"
    deadline: float = 0.5
    candidates: int = 3
    gap: float = 0.25
    per_type: int | None = None
    worlds: int = 42
    wave: int = 6
    depth: int | None = 8
    confidence: float = 0.7
    trust: float = 0.2
    belief: float = 1.0
    reach: float = 0.0
    temperature: float = 0.2
    endgame: int = 200_000
    k: int = 10
    sample: int = 1000
    generator: str = "diverse"
    gadget: str = "auto"
    entry_floor: float = 0.0
    iterations: int = 200
    subgame_depth: int = 10
    crowd_depth: int = 8
    actions_per_type: int = 2
    companions: int = 0
    room: int = 2000
    leaf: str = "rollout"
    nested: bool = True
    anchor: float = 1.0

    def __post_init__(self) -> None:
        for field, choices in (
            ("method", METHODS),
            ("leaf", LEAVES),
            ("generator", (*GENERATORS, *(n for n in GENERATOR_NAMES if n not in (*GENERATORS, "all")))),
            ("gadget", GADGETS),
        ):
            value = getattr(self, field)
            if value not in choices:
                raise ConfigError(f"{field} must be one of {', '.join(choices)}; got {value!r}")
        for field, low in (
            ("candidates", 1),
            ("per_type", 1),
            ("worlds", 1),
            ("wave", 1),
            ("depth", 0),
            ("endgame", 0),
            ("k", 1),
            ("sample", 1),
            ("iterations", 1),
            ("subgame_depth", 1),
            ("crowd_depth", 1),
            ("actions_per_type", 1),
            ("companions", 0),
            ("room", 1),
        ):
            value = getattr(self, field)
            if value is None and field in ("per_type", "depth"):
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < low:
                raise ConfigError(f"{field} must be an integer of at least {low}; got {value!r}")
        for field, lowest, highest in (
            ("deadline", 0.0, 3600.0),
            ("gap", 0.0, 100.0),
            ("confidence", 0.0, 100.0),
            ("trust", 0.0, 100.0),
            ("temperature", 1e-6, 100.0),
            ("belief", 0.0, 10.0),
            ("reach", 0.0, 10.0),
            ("entry_floor", 0.0, 0.999),
            ("anchor", 1e-6, 1.0),
        ):
            value = getattr(self, field)
            if not isinstance(value, int | float) or not lowest <= value <= highest:
                raise ConfigError(f"{field} must lie in [{lowest}, {highest}]; got {value!r}")

    def replace(self, **changes: Any) -> GuanDanConfig:
        """Return the configuration with some fields changed.

        Raises ConfigError for a field that does not exist or a value out of range.
        """
        unknown = set(changes) - set(self.__dataclass_fields__)
        if unknown:
            known = ", ".join(self.__dataclass_fields__)
            raise ConfigError(f"configuration has no field {', '.join(sorted(unknown))}; fields: {known}")
        return replace(self, **changes)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a plain dictionary."""
        return asdict(self)
