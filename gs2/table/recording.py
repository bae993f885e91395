"""Records and results of the games at a table, written so that a crash loses nothing.

Every game is one file in the engine's record format (`games.guandan.record`), whole after every move; every
session that ends adds a line to `results.jsonl`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from games.guandan.cards import RANKS
from games.guandan.events import Dealt, Event, Played
from games.guandan.match import Match
from games.guandan.record import event_line, header_line
from gs2.table.session import GameCount, RoundResult
from gs2.table.timing import Timing

__all__ = ["GameRecorder", "SessionResult"]


class GameRecorder:
    """Writes one game's record as it is played.

    A line goes to the operating system as soon as it is known, and before any player hears of it, so that the
    record of a killed server ends with the last move that anybody saw.
    """

    def __init__(self, path: Path, match: Match, names: Sequence[str], **extra: Any) -> None:
        self.path = path
        self._file = path.open("wb", buffering=0)
        self._level = 0
        self._file.write(header_line(match, names=names, **extra).encode() + b"\n")

    def write(self, events: Sequence[Event], move: bytes | None = None) -> None:
        """Append events. move: JSON of the move, if the first event is one: it is long to make."""
        lines = []
        for event in events:
            if isinstance(event, Dealt):
                self._level = event.level
            if isinstance(event, Played) and move is not None:
                lines.append(b'{"play":[%d,%b]}\n' % (event.seat, move))
            else:
                lines.append(event_line(event, self._level).encode() + b"\n")
        self._file.write(b"".join(lines))

    def close(self) -> None:
        """Close the file."""
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

    def round_over(self, result: RoundResult) -> None:
        """Note a round."""
        self.rounds += 1
        self.decisions += result.decisions
        self.shares[result.winner][result.gain] += 1

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

    def append_to(self, path: Path, **extra: Any) -> None:
        """Add the summary to a file of JSON lines."""
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**extra, **self.summary()}, separators=(",", ":")) + "\n")

    def text(self) -> str:
        """Return the summary in a few lines."""
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
                    f"longest {1e3 * timing.longest:.0f} ms{taken}"
                )
        return "\n".join(lines)
