"""The rules that sources disagree about, one switch each; the default is our ruling.

Everything that is not here, all sources agree on or we decided once for all: promotion of the first
finisher's team by 3, 2 or 1 and never past A, the next round at that team's level, anti-tribute, the order
of combinations. Presets follow a source: "openguandan" the official server's behaviour, "njupt" the offline
platform of the competitions, "paper" the rules as the papers print them (OpenGuanDan, section 3; DanZero,
appendix).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from games.game import GameError

_ACE_LIMITS = 16
"""Numbers of failures at A that `Rules.ace` tells apart; no more ever come about."""

_CHOICES: dict[str, tuple[object, ...]] = {
    "first_lead": ("random", "seat 0"),
    "tribute_suit": ("free", "lowest"),
    "tribute_compare": ("level", "natural"),
    "tribute_tie": ("clockwise", "arrival"),
    "return_levels": (False, True),
    "return_received": (True, False),
    "ace_win": ("not last", "double"),
    "ace_failure": ("not won", "dweller"),
    "ace_promotes": (False, True),
}


@dataclass(frozen=True)
class Rules:
    """Switches of a match.

    first_lead: who leads round 1: "random" seat (the papers cut a card), or "seat 0" (official server).
    tribute_suit: among equal highest cards the payer chooses "free"ly; the official server lists only the
        "lowest" suit in the order H, S, C, D.
    tribute_compare: whose tribute goes to the first finisher after a double win: the higher by the order of
        the "level", or by "natural" rank 2..A, jokers (official server; its lead still goes by level).
    tribute_tie: two equal tributes: "clockwise", the payer next after the first finisher pays it and leads
        (rule book), or by "arrival", the payer who answered first does (official server; with two level
        cards the other one leads).
    return_levels: a level card may be returned if it is no higher than T (the papers do not forbid it).
    return_received: the tribute card itself may be returned (the official server forbids it).
    ace_win: a round at its own level A wins the match for the first finisher's team if the partner is "not
        last" (all but one), or only on a "double" win (NJUPT platform).
    ace_failure: a round at its own level A that counts against a team: every one "not won", or only those in
        which one of its seats came last, the "dweller" (the OpenGuanDan paper, read literally).
    ace_limit: failures at A that drop a team to level 2: 3, or 2 (NJUPT platform).
    ace_promotes: a team that drops although it finished first is promoted by one from 2 (official server).
    max_drops: drops to 2, of both teams together, that end the match drawn: none, or 50 (NJUPT platform).
    max_rounds: rounds after which the match ends drawn; None for no limit, as all sources have it.
    Raises GameError if a value is none of those.
    """

    first_lead: str = "random"
    tribute_suit: str = "free"
    tribute_compare: str = "level"
    tribute_tie: str = "clockwise"
    return_levels: bool = False
    return_received: bool = True
    ace_win: str = "not last"
    ace_failure: str = "not won"
    ace_limit: int = 3
    ace_promotes: bool = False
    max_drops: int | None = None
    max_rounds: int | None = None

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if not any(value is c if isinstance(c, bool) else value == c for c in choices):
                raise GameError(
                    f"guandan: rule {name} must be one of {', '.join(map(repr, choices))}; got {value!r}"
                )
        for name, least in (("ace_limit", 1), ("max_drops", 1), ("max_rounds", 1)):
            value = getattr(self, name)
            if value is None and name != "ace_limit":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise GameError(f"guandan: rule {name} must be an integer of at least {least}; got {value!r}")

    @property
    def ace(self) -> int:
        """What these rules say of level A, as a byte: 0 for the ruling. `ace_rules` reads it back.

        A limit of more than 16 failures counts as 16.
        """
        limit = min(self.ace_limit, _ACE_LIMITS) - RULING.ace_limit
        switches = (self.ace_win == "double", self.ace_failure == "dweller", self.ace_promotes)
        return limit % _ACE_LIMITS * 8 + sum(on << k for k, on in enumerate(switches))

    def changes(self) -> dict[str, object]:
        """Return the switches that differ from the ruling, by name; `as_rules` reads them back."""
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}


RULING = Rules()
"""Our ruling on every question."""


def ace_rules(ace: int) -> Rules:
    """Return the ruling with what a byte says of level A (`Rules.ace`)."""
    limit, switches = divmod(ace, 8)
    return Rules(
        ace_win="double" if switches & 1 else RULING.ace_win,
        ace_failure="dweller" if switches & 2 else RULING.ace_failure,
        ace_promotes=bool(switches & 4),
        ace_limit=(limit + RULING.ace_limit - 1) % _ACE_LIMITS + 1,
    )


PRESETS = {
    "ruling": RULING,
    "openguandan": Rules(
        first_lead="seat 0",
        tribute_suit="lowest",
        tribute_compare="natural",
        tribute_tie="arrival",
        return_received=False,
        ace_promotes=True,
    ),
    "njupt": Rules(ace_win="double", ace_limit=2, max_drops=50),
    "paper": Rules(return_levels=True, ace_failure="dweller"),
}
"""Rules by name."""


def as_rules(rules: Rules | str | dict[str, object]) -> Rules:
    """Return the rules that a preset's name or a dictionary of changes to the ruling stand for.

    Raises GameError at an unknown name or switch, or a value that does not exist.
    """
    if isinstance(rules, Rules):
        return rules
    if isinstance(rules, str):
        if rules not in PRESETS:
            raise GameError(f"guandan: rules are one of {', '.join(PRESETS)}; got {rules!r}")
        return PRESETS[rules]
    if not isinstance(rules, dict):
        raise GameError(f"guandan: rules are a preset's name or a dictionary of switches; got {rules!r}")
    unknown = set(rules) - {f.name for f in fields(Rules)}
    if unknown:
        raise GameError(
            f"guandan: unknown rules {', '.join(sorted(map(str, unknown)))}; "
            f"there are {', '.join(f.name for f in fields(Rules))}"
        )
    return Rules(**rules)  # type: ignore[arg-type]
