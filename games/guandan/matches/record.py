"""Records of matches: text files of one JSON object a line that people can read and that replay.

    {"gs2":"guandan record","version":1,"seed":7,"rules":{},"levels":["2","2"],...}
    {"deal":1,"level":"2","levels":["2","2"],"owner":null,"hands":["S2 H3 ...", ...]}
    {"lead":2}
    {"play":[2,["Pair","6",["S6","D6"]]]}
    {"round":[2,0,1,3],"payoffs":[3,-3,3,-3],"levels":["5","2"],...}
    {"tribute":[[3,2,"HR"],[1,0,"SB"]]}
    {"back":[[2,3,"S4"],[0,1,"H5"]]}
    {"match":0,"rounds":9}

Hands are written out, so a record replays whatever dealt them. A file is written line by line and is whole
after every line: a match cut off in the middle replays up to there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

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
from games.support.files import read_bytes

__all__ = [
    "Record",
    "RecordError",
    "RecordWriter",
    "event_line",
    "header_line",
    "parse_record",
    "read_record",
    "replay",
    "write_record",
]

FORMAT = "guandan record"
VERSION = 1
_KINDS = {name: kind for kind, name in enumerate(TYPE_NAMES)}
_RANKS = {**{name: code for code, name in enumerate(RANKS)}, "PASS": 0}
_WORDS = {name: 1 << (2 * c if c < 28 else 64 + 2 * (c - 28)) for c, name in enumerate(CARD_NAMES)}
_LOW = (1 << 64) - 1


class RecordError(GameError):
    """A record that is damaged, or does not follow from the rules: file, line, and what is wrong there."""


@dataclass(frozen=True, eq=False)
class Record:
    """A record as read.

    header: seed, rules, levels, owner, given, first, names; see `header_line`. events: in order.
    lines: [len(events)] line number of each event, from 1. name: file, for messages.
    """

    header: dict[str, Any]
    events: list[Event]
    lines: list[int] = field(repr=False)
    name: str = "record"

    @property
    def complete(self) -> bool:
        """Whether the match was played to its end."""
        return bool(self.events) and isinstance(self.events[-1], MatchOver)


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


class RecordWriter:
    """Writes a record while the match is played, a whole line at a time, so that a crash loses nothing.

    file: an open text file, or a path to create. The events so far are written at once.
    """

    def __init__(
        self, file: str | Path | TextIO, match: Match, *, names: Sequence[str] | None = None, **extra: Any
    ) -> None:
        self._own = isinstance(file, str | Path)
        self._file = open(file, "w", encoding="utf-8") if isinstance(file, str | Path) else file  # noqa: SIM115
        self._level = 0
        self._file.write(header_line(match, names=names, **extra) + "\n")
        self.write(match.events)

    def write(self, events: Iterable[Event]) -> None:
        """Append events, such as `Match.apply` returns, and hand them to the operating system."""
        for event in events:
            if isinstance(event, Dealt):
                self._level = event.level
            self._file.write(event_line(event, self._level) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file, if it was opened here."""
        if self._own:
            self._file.close()

    def __enter__(self) -> RecordWriter:
        """Return the writer."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()


def write_record(path: str | Path, match: Match, *, names: Sequence[str] | None = None, **extra: Any) -> None:
    """Write the record of a match as far as it was played (its events must have been kept)."""
    with RecordWriter(path, match, names=names, **extra):
        pass


def read_record(path: str | Path, *, repair: bool = False) -> Record:
    """Return the record in a file.

    repair: drop a last line that was cut off in the middle instead of refusing it.
    Raises RecordError, naming file and line, at anything that is not a record; it is not yet checked that
    the rules allow it (see `replay`).
    """
    try:
        text = read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise RecordError(f"{path}: a record is UTF-8 text; {error}") from None
    return parse_record(text, name=str(path), repair=repair)


def parse_record(text: str, *, name: str = "record", repair: bool = False) -> Record:
    """Return the record that a text holds; arguments and errors as of `read_record`."""
    lines = text.split("\n")
    cut = lines.pop()
    if cut and not repair:
        raise RecordError(
            f"{name}:{len(lines) + 1}: the last line is cut off; read with repair=True to go without it"
        )
    if not lines:
        raise RecordError(f"{name}: the file is empty; a record begins with a header line")
    header = _object(lines[0], f"{name}:1")
    _check_header(header, f"{name}:1")
    events: list[Event] = []
    level: int | None = None
    for number, line in enumerate(lines[1:], 2):
        where = f"{name}:{number}"
        fields = _object(line, where)
        try:
            event = _as_event(fields, level)
        except GameError as error:
            raise RecordError(f"{where}: {error}") from None
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise RecordError(f"{where}: not an event of a match ({error!r}): {line[:80]}") from None
        if isinstance(event, Dealt):
            level = event.level
        events.append(event)
    return Record(header, events, list(range(2, len(lines) + 1)), name)


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        fields = json.loads(line)
    except ValueError as error:
        raise RecordError(f"{where}: a line is a JSON object; {error}: {line[:80]!r}") from None
    if not isinstance(fields, dict) or not fields:
        raise RecordError(f"{where}: a line is a JSON object; got {line[:80]!r}")
    return fields


def _check_header(header: dict[str, Any], where: str) -> None:
    if header.get("gs2") != FORMAT:
        raise RecordError(f'{where}: a record begins with {{"gs2":"{FORMAT}",...}}; got {str(header)[:80]}')
    if header.get("version") != VERSION:
        raise RecordError(
            f"{where}: this program reads version {VERSION} of records; got {header.get('version')!r}"
        )
    try:
        as_rules(header["rules"])
        levels = [as_level(level) for level in header["levels"]]
        seed, given, owner, first = (header[key] for key in ("seed", "given", "owner", "first"))
        fits = len(levels) == 2 and _whole(seed, 1 << 64) and _whole(given, 1 << 32)
        fits = fits and (owner is None or _whole(owner, 2)) and (first is None or _whole(first, 4))
        if not fits:
            raise ValueError(f"seed {seed!r}, levels, given {given!r}, owner {owner!r} or first {first!r}")
    except (KeyError, TypeError, ValueError) as error:
        raise RecordError(f"{where}: a header has {error}, which is missing or wrong") from None


def _whole(value: Any, bound: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < bound


def _seat(value: Any) -> int:
    if not _whole(value, 4):
        raise GameError(f"guandan: a seat is 0..3; got {value!r}")
    return value


def _card(name: Any) -> int:
    return int(np.flatnonzero(parse_cards([name], limit=1))[0])


def _action(move: Any, level: int) -> NDArray:
    """Return the action that a move names. Whether its cards make the combination, only `replay` asks."""
    name, rank, cards = move
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None or rank not in _RANKS or len(cards) > 10 or len(set(cards)) * 2 < len(cards):
        return parse_move("play", move, level)[0]
    action = np.zeros(1, ACTION)
    if kind != PASS:
        words = sum(_WORDS[card] for card in cards)
        action[0] = (kind, _RANKS[rank], len(cards), 0, 0, words & _LOW, words >> 64)
    return action[0]


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


def _as_event(fields: dict[str, Any], level: int | None) -> Event:
    """Return the event that a line's fields describe; level: of the round, None before the first deal."""
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


def replay(record: Record) -> Iterator[tuple[Match, Event]]:
    """Yield the match after each event of a record, checking every one against the rules.

    The same Match object comes every time; copy it to keep it. Decisions are played; deals, leads, results
    and levels must be what they lead to, and deals after the first `given` what the seed gives.
    Raises RecordError, naming the line, where the record departs from the rules.
    """
    header = record.header
    deals = [event.hands for event in record.events if isinstance(event, Dealt)]
    try:
        match = Match(
            header["seed"],
            rules=header["rules"],
            levels=tuple(header["levels"]),
            owner=header["owner"],
            deals=np.stack(deals[: header["given"]]) if deals and header["given"] else None,
            first=header["first"],
        )
    except GameError as error:
        raise RecordError(f"{record.name}:1: {error}") from None
    expected: list[Event] = list(match.events)
    level = match.level
    for event, line in zip(record.events, record.lines, strict=True):
        where = f"{record.name}:{line}"
        if not expected:
            try:
                expected = _decide(match, event)
            except GameError as error:
                raise RecordError(f"{where}: {error}") from None
            if not expected:
                raise RecordError(
                    f"{where}: waiting for {match.phase} of seat "
                    f"{', '.join(str(due.seat) for due in match.pending()) or 'nobody'}; the record goes on "
                    f"with {event_line(event, match.level)}"
                )
        if isinstance(event, Dealt):
            level = event.level
        mine = expected.pop(0)
        if not isinstance(event, Played) or type(mine) is not Played:
            want, got = event_line(mine, level), event_line(event, level)
            if want != got:
                raise RecordError(f"{where}: by the rules {want}; the record has {got}")
        yield match, event


def _decide(match: Match, event: Event) -> list[Event]:
    """Let the players decide as the record says; return what follows."""
    match event:
        case Played():
            return match.apply(event.seat, event.action)
        case Tribute() | Returned():
            if match.phase != ("tribute" if isinstance(event, Tribute) else "back"):
                return []
            events: list[Event] = []
            for giver, _, card in event.transfers:
                events += match.apply(giver, CARD_NAMES[card])
            return events
    return []
