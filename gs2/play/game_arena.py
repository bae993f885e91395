"""Matches between named agents of any game: in pieces, on several cores, into files to go on from.

result = play_match(Meeting("leduc_poker", "cfr:100", "uniform", pairs=1000))
result.net, result.low, result.high
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.protocol import GameAgent
from games.game import Game
from games.registry import load_game
from games.support.array_types import Array
from games.support.json_rows import Row
from games.support.work.carried import name_here
from games.support.work.engines import executor_at
from games.support.work.executor import Task, WorkerLost, on_one_core, results
from games.support.work.where import Place, where_of
from gs2.play.agent_names import agent_identity, load_game_agent
from gs2.play.game_agents import TrailAgent
from gs2.play.game_match import Pace, PlayedGames, play_numbered, playing_teams
from gs2.play.match_files import MatchBook, MatchFiles, MeetingError, result_row
from gs2.play.records.round_record import RoundRecord

__all__ = ["AgentRoom", "Meeting", "MeetingError", "MeetingResult", "play_match"]

QUICK, SEARCHING = 256, 4
"""Pairs of games that are played in lockstep: many where agents answer at once, few where one searches."""


@dataclass(frozen=True)
class Meeting:
    """Who meets whom, where and how often.

    game: its string. a, b: names of agents (`gs2.play.agent_names`). pairs: of games, one with a on team 0
    and one with a on team 1. seed: of chance, of the agents' choices and of what they train or search.
    duplicate: whether the games of a pair share their chance. agent_seed: of what both agents train or
    search; None for `seed` and the number after it. called: what a is called in files of results, where it
    plays from a copy of a file: there it is told by what the file holds, whatever its name.
    """

    game: str
    a: str
    b: str
    pairs: int = 1000
    seed: int = 0
    duplicate: bool = True
    agent_seed: int | None = None
    called: str | None = None

    def __post_init__(self) -> None:
        if self.pairs < 1:
            raise MeetingError(f"match: there must be at least 1 pair of games; got {self.pairs}")

    def header(self) -> Row:
        """Return what a file of results begins with: the same header, the same games."""
        told = self.to_json()
        del told["pairs"]
        if self.agent_seed is None:
            del told["agent_seed"]
        a = agent_identity(self.a, self.game, named=self.called is None)
        return {**told, "agents": [a, agent_identity(self.b, self.game)]}

    def to_json(self) -> Row:
        """Return the meeting in plain values."""
        told = asdict(self) | {"a": self.called or self.a}
        del told["called"]
        return told


@dataclass(frozen=True, eq=False)
class MeetingResult:
    """What a match came to. games: every pair played so far, with the paces of this run.

    complete: everything asked for was played. seconds: of this run. memory: bytes at the peak of a process.
    """

    meeting: Meeting
    games: PlayedGames
    complete: bool
    seconds: float
    memory: float

    @property
    def net(self) -> float:
        """Mean payoff a game to a."""
        return float(self.games.net.mean())

    def interval(self) -> tuple[float, float]:
        """Return the 95 % bootstrap interval of `net` over pairs."""
        return self.games.interval(self.meeting.seed)

    def to_json(self) -> dict[str, Any]:
        """Return the match in plain numbers."""
        low, high = self.interval()
        return {
            **self.meeting.to_json(),
            "pairs": len(self.games.numbers),
            "games": self.games.payoffs.size,
            "complete": self.complete,
            "net": self.net,
            "low": low,
            "high": high,
            "by_team": self.games.payoffs.mean(0).tolist(),
            "seconds": self.seconds,
            "memory": self.memory,
            "decisions": [pace.decisions for pace in self.games.paces],
            "seconds_a_decision": [pace.seconds / max(pace.decisions, 1) for pace in self.games.paces],
        }


class AgentRoom:
    """A game with the agents of it that were asked for, each loaded once in this process."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self._agents: dict[tuple[str, int], GameAgent] = {}

    def agent(self, name: str, seed: int) -> GameAgent:
        """Return an agent by name. seed: of what it trains or searches."""
        if (name, seed) not in self._agents:
            self._agents[name, seed] = load_game_agent(self.game, name_here(name), seed=seed)
        return self._agents[name, seed]


def _room(meeting: Meeting) -> AgentRoom:
    return AgentRoom(load_game(name_here(meeting.game), general_sum=True))


class _Hall:
    """A process's game and agents. recorded: whether rounds are told move by move."""

    def __init__(self, meeting: Meeting, recorded: bool, room: AgentRoom | None = None) -> None:
        self.meeting, self.recorded = meeting, recorded
        room = _room(meeting) if room is None else room
        self.game = room.game
        seeds = (meeting.seed, meeting.seed + 1)
        if meeting.agent_seed is not None:
            seeds = (meeting.agent_seed, meeting.agent_seed)
        self.agents = (room.agent(meeting.a, seeds[0]), room.agent(meeting.b, seeds[1]))

    @property
    def together(self) -> int:
        """Pairs of games for one piece of work."""
        return SEARCHING if any(isinstance(agent, TrailAgent) for agent in self.agents) else QUICK

    def play(self, numbers: list[int]) -> Played:
        """Return what these pairs of games came to."""
        meeting = self.meeting
        played = play_numbered(
            self.game,
            self.agents,
            np.array(numbers),
            meeting.seed,
            duplicate=meeting.duplicate,
            recorded=(meeting.a, meeting.b) if self.recorded else None,
        )
        rows = [result_row(*row) for row in zip(numbers, played.payoffs, played.won, strict=True)]
        rounds = [replace(record, game=meeting.game) for record in played.rounds]
        return rows, rounds, [(pace.decisions, pace.seconds) for pace in played.paces], _peak()


Played = tuple[list[Row], list[RoundRecord], list[tuple[int, float]], float]
"""Rows of pairs, their rounds, both agents' decisions and seconds, and the peak of memory."""


def _play(hall: _Hall, numbers: list[int]) -> Played:
    with on_one_core():
        return hall.play(numbers)


def play_match(
    meeting: Meeting,
    *,
    game: Game | AgentRoom | None = None,
    output: Path | MatchFiles | None = None,
    processes: int | Place = 1,
    progress: Callable[[MeetingResult], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> MeetingResult:
    """Return what a match comes to; agents are loaded in each process.

    game: the one that `meeting.game` names, where it is loaded already, or a room with agents of it. output:
        file of results, or of records as well; what they hold is not played again. processes: how many, or a
        place for them (`games.support.work`). progress: called after every piece. stop: asked between pieces.
    Raises MeetingError if the file holds another match, LockHeld if another process writes it, and whatever
    loading the agents raises.
    """
    began = time.perf_counter()
    room = game if isinstance(game, AgentRoom) else _room(meeting) if game is None else AgentRoom(game)
    teams = playing_teams(room.game)
    files = output if isinstance(output, MatchFiles) else MatchFiles(output)
    with MatchBook(files, meeting.header(), teams) as book:
        left = book.to_play(meeting.pairs)
        paces = (Pace(), Pace())
        peak = 0.0
        hall = _Hall(meeting, book.keeps_rounds, room) if left else None

        def result() -> MeetingResult:
            mine = [row for row in book.rows if row["pair"] < meeting.pairs]
            games = PlayedGames(*_columns(mine, max(teams) + 1), paces)
            seconds = time.perf_counter() - began
            complete = not book.to_play(meeting.pairs)
            return MeetingResult(meeting, games, complete, seconds, max(peak, _peak()))

        for rows, rounds, times, memory in _pieces(hall, left, where_of(processes), stop):
            book.add(rows, rounds)
            peak = max(peak, memory)
            for pace, (decisions, seconds) in zip(paces, times, strict=True):
                pace.add(Pace(decisions, seconds))
            if progress is not None:
                progress(result())
        return result()


def _columns(rows: list[Row], sides: int) -> tuple[Array, Array, Array]:
    """Return the numbers, payoffs and wins of pairs; nan for wins that a file does not tell."""
    payoffs = np.array([row["payoffs"] for row in rows], np.float64).reshape(-1, sides)
    unknown = [np.nan] * sides
    told = [row.get("won", unknown) for row in rows]
    won = (np.sign(payoffs) + 1) / 2 if sides == 2 else np.array(told, np.float64).reshape(-1, sides)
    return np.array([row["pair"] for row in rows], np.int64), payoffs, won


def _pieces(hall: _Hall | None, left: list[int], where: Place, stop: Callable[[], bool]) -> Iterator[Played]:
    """Yield what pieces of work come to."""
    if hall is None:
        return
    meeting = hall.meeting
    with executor_at(where, Task(_Hall, (meeting, hall.recorded), _play), here=hall) as executor:
        size = max(1, min(hall.together, -(-len(left) // executor.size)))
        pieces = ((left[k], left[k : k + size]) for k in range(0, len(left), size))
        names = (meeting.game, meeting.a, meeting.b)
        try:
            for _, played in results(executor, pieces, names=names, stop=stop):
                yield played
        except WorkerLost as error:
            raise MeetingError(f"match: {error}; use fewer --processes") from error


def _peak() -> float:
    """Return the most bytes that this process has held in memory, 0 where nothing says so."""
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    most = float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return most if sys.platform == "darwin" else 1024 * most
