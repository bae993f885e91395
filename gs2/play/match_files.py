"""What a match leaves on disk: a row for each pair of games, and where it is asked for each round in words.

Both files are of one match, whole lines under a lock, and go on where they ended. A pair counts as played
once every file has it. One that the records alone have gives its result from there; one that the results
alone have is played again, which must come to the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from games.record import RoundRecord, RoundsFile, winners
from games.support.json_rows import JsonRows, Row

FORMAT = "gs2-games-1"


class MeetingError(ValueError):
    """A match that cannot be played, or a file that holds another one."""


@dataclass(frozen=True)
class MatchFiles:
    """Where a match is written. results: a row for each pair. records: its rounds, move by move.

    Raises MeetingError where both are one file.
    """

    results: Path | None = None
    records: Path | None = None

    def __post_init__(self) -> None:
        if self.results and self.records and self.results.resolve() == self.records.resolve():
            raise MeetingError(f"match: results and records must be two files; got {self.records} for both")


def result_row(pair: int, payoffs: Any, won: Any, lengths: Any = None) -> Row:
    """Return the row of a pair. payoffs, won: [teams], of the first agent as each team.

    Of two teams the payoffs say who won: a row then leaves it out. lengths: [teams], rounds of each game,
    where a game has several.
    """
    row: Row = {"pair": pair, "payoffs": [float(value) for value in payoffs]}
    if len(row["payoffs"]) != 2:
        row["won"] = [float(value) for value in won]
    return row if lengths is None else {**row, "lengths": [int(count) for count in lengths]}


class MatchBook:
    """The open files of a match. Use it in a `with` block.

    rows: results of all pairs that are known, files' and others, each once. teams: of the game's seats.
    Raises MeetingError or RoundRecordError if a file holds something else, LockHeld if another process
    writes it.
    """

    def __init__(self, files: MatchFiles, header: Row, teams: tuple[int, ...]) -> None:
        self.teams, self._whole = teams, bool(header.get("whole"))
        self._open = ExitStack()
        self._results: _PairsFile | None = None
        self._records: RoundsFile | None = None
        try:
            if files.results is not None:
                self._results = self._open.enter_context(_PairsFile(files.results, header))
            if files.records is not None:
                self._records = self._open.enter_context(RoundsFile(files.records, header))
        except BaseException:
            self._open.close()
            raise
        self._known = {row["pair"]: row for row in (self._results.rows if self._results else ())}
        told = self._told() if self._records else {}
        self._recorded = set(told)
        self._keep([row for pair, row in told.items() if self._agrees(row)])

    @property
    def rows(self) -> list[Row]:
        """The results so far, by number."""
        return [self._known[pair] for pair in sorted(self._known)]

    @property
    def keeps_rounds(self) -> bool:
        """Whether rounds are written down as well."""
        return self._records is not None

    def to_play(self, pairs: int) -> list[int]:
        """Return which of the first pairs are not in every file."""
        done = self._known.keys() & self._recorded if self.keeps_rounds else self._known.keys()
        return [number for number in range(pairs) if number not in done]

    def add(self, rows: list[Row], rounds: Sequence[RoundRecord]) -> None:
        """Take what was played into every file that lacks it.

        Raises MeetingError or RoundRecordError where a file has another result of the same pair.
        """
        fresh = [row for row in rows if self._agrees(row)]
        if self._records is not None:
            self._records.add(rounds)
            self._recorded |= {row["pair"] for row in rows}
        self._keep(fresh)

    def _agrees(self, row: Row) -> bool:
        """Return whether a result is new; one that is known must be the same."""
        known = self._known.get(row["pair"])
        if known is None:
            return True
        if known["payoffs"] != row["payoffs"]:
            raise MeetingError(
                f"match: pair {row['pair']} must end as its results say, {known['payoffs']}; its rounds end "
                f"in {row['payoffs']}, as they may where an agent decides by the clock; name other --records"
            )
        return False

    def _keep(self, rows: list[Row]) -> None:
        if self._results is not None:
            self._results.append(rows)
        self._known.update((row["pair"], row) for row in rows)

    def _told(self) -> dict[int, Row]:
        """Return the results of those pairs whose rounds are all recorded."""
        assert self._records is not None
        rounds: dict[int, dict[int, RoundRecord]] = {}
        sides, seats = max(self.teams) + 1, len(self.teams)
        for row in self._records.rows:
            record = RoundRecord.from_json(row)
            if record.team >= sides or len(record.payoffs) != seats:
                raise MeetingError(
                    f"{self._records.path}: rounds must be of {sides} teams and {seats} seats; got team "
                    f"{record.team} and {len(record.payoffs)} payoffs; name another file"
                )
            rounds.setdefault(record.pair, {})[record.team] = record
        found = {}
        first = [self.teams.index(team) for team in range(sides)]
        for pair, by_team in rounds.items():
            if len(by_team) == sides:
                paid = np.array([by_team[team].payoffs for team in range(sides)])
                won = winners(paid, self.teams).diagonal()
                # chance deals each round of a whole game once
                lengths = [len(by_team[team].chance) for team in range(sides)] if self._whole else None
                found[pair] = result_row(pair, paid[np.arange(sides), first], won, lengths)
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._open.close()


class _PairsFile(JsonRows):
    """Rows of results, one for each pair of games."""

    FORMAT, SOURCE, ROW, FAULT = FORMAT, "gs2 match", "the result of a pair of games", MeetingError

    def differences(self, found: Row) -> list[str]:
        """Return the fields that differ; names do not count where `agents` says that both are the same."""
        names = super().differences(found)
        return names if "agents" in names else [name for name in names if name not in ("a", "b")]

    def is_row(self, row: Row) -> bool:
        pair, payoffs = row.get("pair"), row.get("payoffs")
        sides = len(payoffs) if isinstance(payoffs, list) else 0
        needed = ["payoffs"] + ["won"] * (sides != 2) + ["lengths"] * bool(self.header.get("whole"))
        told = [row.get(name) for name in {*needed, *({"won", "lengths"} & row.keys())}]
        return type(pair) is int and pair >= 0 and sides >= 2 and all(_numbers(part, sides) for part in told)

    def key(self, row: Row) -> int:
        return int(row["pair"])


def _numbers(values: Any, count: int) -> bool:
    right = isinstance(values, list) and len(values) == count
    return right and all(type(v) in (int, float) and np.isfinite(v) for v in values)
