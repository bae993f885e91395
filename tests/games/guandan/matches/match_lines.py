"""A match as lines of JSON, of which digests and comparisons are made: a header, then an event a line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from games.guandan.cards import CARD_NAMES, RANKS, hand_text
from games.guandan.matches.match import (
    AntiTribute,
    Dealt,
    Event,
    Leads,
    Match,
    MatchOver,
    Played,
    Returned,
    RoundOver,
    Tribute,
)
from games.guandan.notation import action_list

FORMAT = "guandan record"
VERSION = 1


def _dumps(value: dict[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"))


def header_line(match: Match, *, names: Sequence[str] | None = None, **extra: Any) -> str:
    """Return the first line of a match's record.

    names: of the four seats. extra: anything else worth keeping, under names of its own.
    """
    header: dict[str, Any] = {"gs2": FORMAT, "version": VERSION, "seed": match.seed}
    header |= {"rules": match.rules.changes(), **match.start}
    if names is not None:
        header["names"] = list(names)
    return _dumps({**header, **extra})


def event_line(event: Event, level: int) -> str:
    """Return one event as a line of JSON. level: rank code of the round's level."""
    return _dumps(_as_json(event, level))


def _as_json(event: Event, level: int) -> dict[str, Any]:
    match event:
        case Dealt():
            return {
                "deal": event.round,
                "level": RANKS[event.level],
                "levels": _names(event.levels),
                "owner": event.owner,
                "hands": [hand_text(hand, event.level) for hand in event.hands],
            }
        case AntiTribute():
            return {"anti": list(event.seats)}
        case Tribute() | Returned():
            word = "tribute" if isinstance(event, Tribute) else "back"
            return {word: [[giver, taker, CARD_NAMES[card]] for giver, taker, card in event.transfers]}
        case Leads():
            return {"lead": event.seat}
        case Played():
            return {"play": [event.seat, action_list(event.action, level)]}
        case RoundOver():
            return {
                "round": list(event.order),
                "payoffs": list(event.payoffs),
                "levels": _names(event.levels),
                "fails": list(event.fails),
                "drops": list(event.drops),
                "rest": [[seat, [CARD_NAMES[card] for card in cards]] for seat, cards in event.rest],
            }
        case MatchOver():
            return {"match": event.winner, "rounds": event.rounds}


def _names(levels: tuple[int, int]) -> list[str]:
    return [RANKS[level] for level in levels]
