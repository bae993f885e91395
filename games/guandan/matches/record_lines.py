"""One line of a match's record: a header or an event as JSON, and back.

{"gs2":"guandan record","version":1,"seed":7,"rules":{},"levels":["2","2"],...}
{"deal":1,"level":"2","levels":["2","2"],"owner":null,"hands":["S2 H3 ...", ...]}
{"lead":2}
{"play":[2,["Pair","6",["S6","D6"]]]}
{"round":[2,0,1,3],"payoffs":[3,-3,3,-3],"levels":["5","2"],...}
{"tribute":[[3,2,"HR"],[1,0,"SB"]]}
{"back":[[2,3,"S4"],[0,1,"H5"]]}
{"match":0,"rounds":9}
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.game import GameError
from games.guandan.cards import (
    ACTION,
    CARD_NAMES,
    DECK,
    HAND_SIZE,
    PASS,
    RANKS,
    TYPE_NAMES,
    as_level,
    hand_text,
    parse_cards,
)
from games.guandan.matches.events import (
    AntiTribute,
    Dealt,
    Event,
    Leads,
    MatchOver,
    Played,
    Returned,
    RoundOver,
    Tribute,
)
from games.guandan.matches.match import Match, parse_move
from games.guandan.notation import action_list
from games.guandan.rules import as_rules
from games.support.array_types import Row

__all__ = ["check_header", "event_line", "header_line", "parse_event"]

FORMAT = "guandan record"
VERSION = 1
_KINDS = {name: kind for kind, name in enumerate(TYPE_NAMES)}
_RANKS = {**{name: code for code, name in enumerate(RANKS)}, "PASS": 0}
_WORDS = {name: 1 << (2 * c if c < 28 else 64 + 2 * (c - 28)) for c, name in enumerate(CARD_NAMES)}
_LOW = (1 << 64) - 1


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


def check_header(header: dict[str, Any]) -> None:
    """Return None if these are the fields of a header that this program reads.

    Raises GameError at another format or version, and at a field that is missing or wrong.
    """
    if header.get("gs2") != FORMAT:
        raise GameError(f'a record begins with {{"gs2":"{FORMAT}",...}}; got {str(header)[:80]}')
    if header.get("version") != VERSION:
        raise GameError(f"this program reads version {VERSION} of records; got {header.get('version')!r}")
    try:
        as_rules(header["rules"])
        levels = [as_level(level) for level in header["levels"]]
        seed, given, owner, first = (header[key] for key in ("seed", "given", "owner", "first"))
        fits = len(levels) == 2 and _whole(seed, 1 << 64) and _whole(given, 1 << 32)
        fits = fits and (owner is None or _whole(owner, 2)) and (first is None or _whole(first, 4))
        if not fits:
            raise ValueError(f"seed {seed!r}, levels, given {given!r}, owner {owner!r} or first {first!r}")
    except (KeyError, TypeError, ValueError) as error:
        raise GameError(f"a header has {error}, which is missing or wrong") from None


def _whole(value: Any, bound: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < bound


def _seat(value: Any) -> int:
    if not _whole(value, 4):
        raise GameError(f"guandan: a seat is 0..3; got {value!r}")
    return int(value)


def _card(name: Any) -> int:
    return int(np.flatnonzero(parse_cards([name], limit=1))[0])


def _action(move: Any, level: int) -> Row:
    """Return the action that a move names. Whether its cards make the combination, only `replay` asks."""
    name, rank, cards = move
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None or rank not in _RANKS or len(cards) > 10 or len(set(cards)) * 2 < len(cards):
        named: Row = parse_move("play", move, level)[0]
        return named
    action = np.zeros(1, ACTION)
    if kind != PASS:
        words = sum(_WORDS[card] for card in cards)
        action[0] = (kind, _RANKS[rank], len(cards), 0, 0, words & _LOW, words >> 64)
    row: Row = action[0]
    return row


def _whole_numbers(values: Any) -> tuple[int, ...]:
    if not all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        raise TypeError(f"whole numbers, got {values}")
    return tuple(values)


def _two(values: Sequence[Any], read: Callable[[Any], int]) -> tuple[int, int]:
    first, second = (read(value) for value in values)
    return first, second


def _hands(texts: list[str]) -> NDArray[np.uint8]:
    hands = np.stack([parse_cards(text) for text in texts])
    if hands.shape[0] != 4 or np.any(hands.sum(1) != HAND_SIZE) or np.any(hands.sum(0) != DECK):
        raise GameError(
            f"guandan: a deal gives each of four seats 27 of the 108 cards; got {hands.sum(1).tolist()}"
        )
    return hands


def parse_event(fields: dict[str, Any], level: int | None) -> Event:
    """Return the event that a line's fields describe.

    level: rank code of the round's level, None before the first deal.
    Raises GameError, KeyError, TypeError, ValueError or IndexError at anything else.
    """
    kind = next(iter(fields))
    value = fields[kind]
    if kind == "deal":
        if not _whole(value, 1 << 32):
            raise GameError(f"guandan: a round has a number; got {value!r}")
        levels = _two(fields["levels"], as_level)
        owner = fields["owner"]
        return Dealt(value, as_level(fields["level"]), levels, owner, _hands(fields["hands"]))
    if level is None:
        raise GameError(f"guandan: a match begins with a deal; got {kind!r}")
    if kind == "play":
        seat, move = value
        return Played(_seat(seat), _action(move, level))
    if kind in ("tribute", "back"):
        transfers = tuple((_seat(giver), _seat(taker), _card(card)) for giver, taker, card in value)
        return Tribute(transfers) if kind == "tribute" else Returned(transfers)
    if kind == "anti":
        return AntiTribute(tuple(_seat(seat) for seat in value))
    if kind == "lead":
        return Leads(_seat(value))
    if kind == "round":
        return RoundOver(
            tuple(_seat(seat) for seat in value),
            _whole_numbers(fields["payoffs"]),
            _two(fields["levels"], as_level),
            _two(fields["fails"], int),
            _two(fields["drops"], int),
            tuple((_seat(seat), tuple(_card(card) for card in cards)) for seat, cards in fields["rest"]),
        )
    if kind == "match":
        return MatchOver(value, fields["rounds"])
    raise GameError(
        f"guandan: an event is one of deal, anti, tribute, back, lead, play, round, match; got {kind!r}"
    )
