"""Records, results and times of the games at a table, written so that a crash loses nothing.

Every game is one file, a record in pieces (`games.record`), whole after every move; every session that ends
adds a line to `results.jsonl`. Nothing that is there is ever overwritten: servers may share a folder, one
after the other or at once.
"""

from __future__ import annotations

import itertools
import json
import logging
import math
import os
import secrets
import time
from array import array
from collections.abc import Iterator, Sequence
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any

from games.guandan.cards import RANKS
from games.guandan.matches.match import Event, Match, RoundOver
from games.guandan.matches.match_game import MatchPieces, match_header
from games.support.files import check_folder, check_output
from gs2.guandan.table.session import GameCount, Listener, News


class Timing:
    """Durations noted one by one, in seconds."""

    def __init__(self) -> None:
        self._noted = array("d")

    def add(self, seconds: float) -> None:
        self._noted.append(seconds)

    @property
    def count(self) -> int:
        """Durations noted."""
        return len(self._noted)

    @property
    def mean(self) -> float:
        """Mean duration in seconds; 0 if none was noted."""
        return sum(self._noted) / len(self._noted) if self._noted else 0.0

    def quantile(self, share: float) -> float:
        """Return the duration in seconds that `share` of all do not exceed; 0 if none was noted."""
        at = max(math.ceil(share * len(self._noted)) - 1, 0)
        return sorted(self._noted)[at] if self._noted else 0.0

    def summary(self) -> dict[str, Any]:
        """Return count, and mean, median, p99 and longest in milliseconds."""
        return {
            "count": self.count,
            "mean_ms": round(1e3 * self.mean, 3),
            "p50_ms": round(1e3 * self.quantile(0.5), 3),
            "p99_ms": round(1e3 * self.quantile(0.99), 3),
            "max_ms": round(1e3 * self.quantile(1.0), 3),
        }


logger = logging.getLogger("gs2.guandan.table")


class RecordFolder:
    """A folder of records.

    run: begins the name of each of its records: the time in UTC, and a word that no two servers share.
    Raises FileProblem if nothing can be written there.
    """

    RESULTS = "results.jsonl"

    def __init__(self, path: Path) -> None:
        self.path = check_folder(path)
        check_output(path / self.RESULTS)
        self.run = f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{secrets.token_hex(3)}"

    def paths(self, name: str) -> Iterator[Path]:
        """Yield what a new file may be called: `{run}-{name}.jsonl`, others where another server has that."""
        for k in itertools.count(1):
            yield self.path / f"{self.run}-{name}{'' if k == 1 else f'-{k}'}.jsonl"

    def begin(self, name: str, match: Match, names: Sequence[str], **extra: Any) -> GameRecorder:
        """Return the recorder of a game in a new file (`paths`)."""
        for path in self.paths(name):
            with suppress(FileExistsError):
                return GameRecorder(path, match, names, **extra)
        raise AssertionError("endless")

    def add_result(self, result: SessionResult, **extra: Any) -> None:
        """Add a session's summary to the results; a line of a killed server that was cut short is ended."""
        data = _line({"run": self.run, **extra, **result.summary()})
        path = self.path / self.RESULTS
        try:
            with open(path, "a+b", buffering=0) as file:
                size = file.seek(0, os.SEEK_END)
                if size:
                    file.seek(size - 1)
                    if file.read(1) != b"\n":
                        data = b"\n" + data
                # one call, so that the lines of two servers do not mix
                _write_all(file, data)
        except OSError as error:
            logger.error("the result of %s is not written: %s; it was %s", path, error, data.decode().strip())


def _write_all(file: FileIO, data: bytes) -> None:
    """Write all of it, in several calls where one takes only a part."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


def _line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, separators=(",", ":")).encode() + b"\n"


class GameRecorder:
    """Writes one game's record, in a file of its own, as it is played.

    Raises FileExistsError if there is a file of this name. A line goes to the operating system as soon as it
    is known, and before any player hears of it, so that the record of a killed server ends with the last move
    that anybody saw.
    """

    def __init__(self, path: Path, match: Match, names: Sequence[str], **extra: Any) -> None:
        self.path = path
        self._file = FileIO(path, "x")
        self._pieces = MatchPieces()
        self._put(_line(match_header(match, names, **extra)))

    def write(self, events: Sequence[Event], move: bytes | None = None) -> None:
        """Append events. move: JSON of the move, if the first event is one: it takes long to make."""
        words = None if move is None else move.decode()
        self._put(b"".join(map(_line, self._pieces.of(events, words))))

    def _put(self, data: bytes) -> None:
        """Write; where the disk does not take it, the record ends there and the game goes on."""
        if self._file.closed:
            return
        try:
            _write_all(self._file, data)
        except OSError as error:
            logger.error("the record %s ends before its game: %s", self.path, error)
            self._file.close()

    def close(self) -> None:
        self._file.close()


class SessionResult:
    """What came of a session, gathered while it lasts.

    names: who sat in each seat. shares: of each team, rounds won by 3, 2 and 1 levels. timing: of each seat,
    from being asked to the answer. fallbacks: of each seat, decisions that were taken for it.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self.games: list[GameCount] = []
        self.shares = [{3: 0, 2: 0, 1: 0}, {3: 0, 2: 0, 1: 0}]
        self.timing = [Timing() for _ in range(4)]
        self.fallbacks = [0] * 4
        self.rounds = 0
        self.decisions = 0

    @property
    def wins(self) -> tuple[int, int]:
        """Games won by each team."""
        return self.games[-1].wins if self.games else (0, 0)

    def summary(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "names": self.names,
            "games": len(self.games),
            "wins": list(self.wins),
            "draws": self.games[-1].draws if self.games else 0,
            "levels": [[RANKS[level] for level in game.levels] for game in self.games],
            "rounds": self.rounds,
            "rounds_won_by": [{str(gain): n for gain, n in share.items()} for share in self.shares],
            "decisions": self.decisions,
            "fallbacks": self.fallbacks,
            "timing": [timing.summary() for timing in self.timing],
        }

    def text(self) -> str:
        lines = []
        for team in range(2):
            share = self.shares[team]
            won = sum(share.values())
            who = f"{self.names[team]} + {self.names[team + 2]}"
            lines.append(
                f"{who}: {self.wins[team]} of {len(self.games)} games, {won} of {self.rounds} rounds "
                f"(by 3, 2, 1 levels: {share[3]}, {share[2]}, {share[1]})"
            )
        for seat, timing in enumerate(self.timing):
            if timing.count:
                taken = f", {self.fallbacks[seat]} taken for it" if self.fallbacks[seat] else ""
                lines.append(
                    f"seat {seat} {self.names[seat]}: {timing.count} decisions, "
                    f"mean {1e3 * timing.mean:.2f} ms, p99 {1e3 * timing.quantile(0.99):.2f} ms, "
                    f"longest {1e3 * timing.quantile(1.0):.0f} ms{taken}"
                )
        return "\n".join(lines)


class RecordedGames(Listener):
    """Keeps what came of a session, and a record of each of its games where there is a folder.

    result: what came of the games so far. recorder: of the game in play, or of the last one.
    """

    def __init__(self, names: Sequence[str], folder: RecordFolder | None) -> None:
        self.folder = folder
        self.recorder: GameRecorder | None = None
        self.result = SessionResult(names)

    def game_begun(self, number: int, match: Match) -> None:
        if self.folder is not None:
            self.recorder = self.folder.begin(f"game{number:04d}", match, self.result.names)

    def happened(self, events: list[Event]) -> None:
        if self.recorder is not None:
            self.recorder.write(events)

    def told(self, news: News) -> None:
        """Count a round or a game; close the record of a game that is over."""
        if isinstance(news, RoundOver):
            self.result.rounds += 1
            self.result.decisions += news.moves
            self.result.shares[news.winner][news.gain] += 1
        elif isinstance(news, GameCount):
            self.result.games.append(news)
            self.close()

    def close(self) -> None:
        if self.recorder is not None:
            self.recorder.close()
