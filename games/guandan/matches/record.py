"""Records of matches: text files of one JSON object a line that people can read and that replay.

The lines are those of `record_lines`. Hands are written out, so a record replays whatever dealt them. A file
is written line by line and is whole after every line: a match cut off in the middle replays up to there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from games.game import GameError
from games.guandan.cards import CARD_NAMES
from games.guandan.matches.events import Dealt, Event, MatchOver, Played, Returned, Tribute
from games.guandan.matches.match import Match
from games.guandan.matches.opening import Opening
from games.guandan.matches.record_lines import check_header, event_line, header_line, parse_event
from games.support.files import read_bytes

__all__ = [
    "Record",
    "RecordError",
    "RecordWriter",
    "parse_record",
    "read_record",
    "replay",
    "write_record",
]


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
    try:
        check_header(header)
    except GameError as error:
        raise RecordError(f"{name}:1: {error}") from None
    events: list[Event] = []
    level: int | None = None
    for number, line in enumerate(lines[1:], 2):
        where = f"{name}:{number}"
        fields = _object(line, where)
        try:
            event = parse_event(fields, level)
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
            opening=Opening(
                np.stack(deals[: header["given"]]) if deals and header["given"] else None, header["first"]
            ),
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
                    f"{', '.join(str(due.seat) for due in match.pending()) or 'nobody'}; "
                    f"the record continues with {event_line(event, match.level)}"
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
