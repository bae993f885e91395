"""Files of recorded rounds: a header that says of which match, then a round a line.

    for round_ in replayed_rounds("rounds.jsonl"):
        print(round_.line, round_.record.agents, round_.game.state_text(round_.end[0]))

A round's line says all that it takes to play it again, so that lines may be cut out and put together.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from games.game import Game, GameError
from games.registry import is_game_name, load_game
from games.support.array_types import Array
from games.support.files import read_bytes
from games.support.json_rows import JsonRows, Row
from games.support.own import is_own
from gs2.play.records.round_record import ReplayedMove, RoundRecord, RoundRecordError, replay_round
from gs2.wings import own_part

__all__ = ["RECORDS_FORMAT", "ReplayedRound", "RoundsFile", "read_rounds", "replayed_rounds"]

RECORDS_FORMAT = "gs2-rounds-1"


class RoundsFile(JsonRows):
    """Rounds of a match, of which this process is the only writer; the header is the match's."""

    FORMAT, SOURCE, ROW = RECORDS_FORMAT, "gs2 match --game … --records", "the record of a round"
    FAULT = RoundRecordError

    def is_row(self, row: Row) -> bool:
        """Return whether a row has the parts of a record; whether the rules allow it is not asked."""
        try:
            RoundRecord.from_json(row)
        except RoundRecordError:
            return False
        return True

    def key(self, row: Row) -> tuple[int, int]:
        """Return which round of the match a row is."""
        return row.get("pair", 0), row.get("team", 0)

    def add(self, rounds: Iterable[RoundRecord]) -> None:
        """Append those rounds that are not here yet.

        Raises RoundRecordError, and appends none, where one that is here was played otherwise.
        """
        held = {self.key(row): row for row in self.rows}
        new = []
        for record in rounds:
            row = record.to_json()
            there = held.get(self.key(row))
            if there is None:
                new.append(row)
            elif there != row:
                raise RoundRecordError(
                    f"{self.path}: a round must be played in one way; pair {record.pair} as team "
                    f"{record.team} now went otherwise, as it may where an agent decides by the clock; name "
                    "another file"
                )
        self.append(new)


@dataclass(frozen=True, eq=False)
class ReplayedRound:
    """A recorded round that was played again.

    line: its number in the file, from 1. game: what was played. moves: chance's and the seats', in order.
    end: the last state, [1].
    """

    line: int
    record: RoundRecord
    game: Game
    moves: tuple[ReplayedMove, ...]
    end: Array


def read_rounds(path: str | Path) -> list[tuple[int, RoundRecord]]:
    """Return the rounds of a file with the numbers of their lines; headers are passed over.

    Whether the rules allow them is another matter (`replayed_rounds`).
    Raises RoundRecordError, naming file and line, at a line that is no round, FileProblem for no such file.
    """
    try:
        text = read_bytes(path).decode("utf-8")
    except FileNotFoundError:
        raise RoundRecordError(f"{path}: a file of records must exist; none does; check the path") from None
    except UnicodeDecodeError as error:
        raise RoundRecordError(f"{path}: records must be UTF-8 text; {error}; name another file") from None
    *lines, cut = text.split("\n")
    found = []
    for number, line in enumerate(lines, 1):
        where = f"{path}, line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise RoundRecordError(
                f"{where}: a record must be one object of JSON; got {line[:60]!r} ({error}); delete the line"
            ) from None
        if isinstance(row, dict) and "format" in row:
            _check_header(row, where)
            continue
        try:
            found.append((number, RoundRecord.from_json(row)))
        except RoundRecordError as error:
            raise RoundRecordError(f"{where}: {error}") from None
    if cut:
        raise RoundRecordError(
            f"{path}, line {len(lines) + 1}: a line must be whole; got {cut[:60]!r}, cut off; the same gs2 "
            "match mends it, or delete it"
        )
    if not found:
        raise RoundRecordError(f"{path}: a file of records must have a round; it has none; name another file")
    return found


def replayed_rounds(path: str | Path, game: Game | None = None, *, name: str = "") -> Iterator[ReplayedRound]:
    """Yield every round of a file, each played again and each of its actions checked.

    game: the one that all rounds must be of; None for those that they name. name: its string, where that of
        the game is another (one's own, FILE.py:NAME).
    Raises RoundRecordError, naming file and line, at a round that the rules do not allow.
    """
    games: dict[str, Game] = {} if game is None else {name or game.name: game, game.name: game}
    for number, record in read_rounds(path):
        try:
            if record.game not in games:
                if game is not None:
                    raise RoundRecordError(
                        f"game must be {name or game.name}; this round is of {record.game}; name no game"
                    )
                games[record.game] = _loaded(record.game)
            moves = tuple(replay_round(record, games[record.game]))
        except GameError as error:
            raise RoundRecordError(f"{path}, line {number}: {error}") from None
        yield ReplayedRound(number, record, games[record.game], moves[:-1], moves[-1].states)


def _loaded(text: str) -> Game:
    """Return the game that a record names; a record must not have code run that its reader did not name."""
    if is_own(text.strip()) and not is_game_name(text):
        raise RoundRecordError(
            f"game must be one that gs2 or a package has; {text!r} would run its file; say it yourself: "
            f"gs2 games {text} --replay FILE"
        )
    matches = own_part(text, "match_record")
    made: Game = load_game(text, general_sum=True) if matches is None else matches(text)
    return made


def _check_header(row: dict[str, Any], where: str) -> None:
    if row["format"] != RECORDS_FORMAT:
        raise RoundRecordError(
            f"{where}: the format must be {RECORDS_FORMAT}; got {row['format']!r}; name a file that "
            "gs2 match --game … --records wrote"
        )
