"""A table without wires: four agents in this process."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from games.guandan.matches.events import Event
from games.guandan.matches.match import Match
from games.guandan.rules import Rules
from gs2.guandan.table.hosts import checked
from gs2.guandan.table.seat import AgentError
from gs2.guandan.table.seated import Seated
from gs2.guandan.table.server.recording import GameRecorder, RecordFolder, SessionResult
from gs2.guandan.table.session import GameCount, Listener, RoundResult, Session

__all__ = ["play_games"]


class _Table(Listener):
    """The listener of a session that nobody else hears of."""

    def __init__(self, names: Sequence[str], record: Path | None) -> None:
        self.result = SessionResult(names)
        self.folder = None if record is None else RecordFolder(record)
        self.recorder: GameRecorder | None = None

    def game_begun(self, number: int, match: Match) -> None:
        """Open a record."""
        if self.folder is not None:
            self.recorder = self.folder.begin(f"game{number:04d}", match, self.result.names)

    def happened(self, events: list[Event]) -> None:
        """Write the record."""
        if self.recorder is not None:
            self.recorder.write(events)

    def round_over(self, result: RoundResult) -> None:
        """Count."""
        self.result.round_over(result)

    def game_over(self, count: GameCount) -> None:
        """Count, and close the record."""
        self.result.games.append(count)
        if self.recorder is not None:
            self.recorder.close()


def play_games(
    agents: Sequence[Any],
    *,
    games: int = 1,
    rules: Rules | str | dict[str, object] = "ruling",
    seed: int = 0,
    record: Path | None = None,
) -> SessionResult:
    """Return what came of games between four agents, seats 0 and 2 against 1 and 3.

    agents: each with act(observation) -> index, or called with `Decisions`.
    record: folder for the records; what is in it stays.
    Raises AgentError if there are not four agents, or one answers with what is not a choice.
    """
    if len(agents) != 4:
        raise AgentError(f"a table has four seats; got {len(agents)} agents")
    seats = [Seated.of(agent) for agent in agents]
    table = _Table([seat.name for seat in seats], record)
    session = Session(table, games=games, rules=rules, seed=seed)
    session.begin()
    while session.pending:
        for seat in list(session.pending):
            observation = session.observe(seat)
            began = time.perf_counter()
            index = checked(seats[seat].answers([observation])[0], observation)
            table.result.timing[seat].add(time.perf_counter() - began)
            session.choose(seat, index)
    return table.result
