"""Matches between named agents of any game: in pieces, on several cores, into a file to go on from.

result = play_match(Meeting("leduc_poker", "cfr:100", "uniform", pairs=1000))
result.net, result.low, result.high
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from games.game import Game
from games.registry import load_game
from games.support.json_rows import JsonRows, Row
from games.support.work.carried import name_here
from games.support.work.engines import executor_at
from games.support.work.executor import Task, WorkerLost, results
from games.support.work.where import Place, where_of
from gs2.play.agent_names import agent_identity, load_game_agent
from gs2.play.game_agents import TrailAgent
from gs2.play.game_match import Pace, PlayedGames, play_numbered

__all__ = ["Meeting", "MeetingError", "MeetingResult", "play_match"]

FORMAT = "gs2-games-1"
QUICK, SEARCHING = 256, 4
"""Pairs of games that are played in lockstep: many where agents answer at once, few where one searches."""


class MeetingError(ValueError):
    """A match that cannot be played, or a file that holds another one."""


@dataclass(frozen=True)
class Meeting:
    """Who meets whom, where and how often.

    game: its string. a, b: names of agents (`gs2.play.agent_names`). pairs: of games, one with a on team 0
    and one with a on team 1. seed: of chance, of the agents' choices and of what they train or search.
    duplicate: whether the games of a pair share their chance.
    """

    game: str
    a: str
    b: str
    pairs: int = 1000
    seed: int = 0
    duplicate: bool = True

    def __post_init__(self) -> None:
        if self.pairs < 1:
            raise MeetingError(f"match: there must be at least 1 pair of games; got {self.pairs}")

    def header(self) -> Row:
        """Return what a file of results begins with: the same header, the same games."""
        told = {name: value for name, value in asdict(self).items() if name != "pairs"}
        return {**told, "agents": [agent_identity(name, self.game) for name in (self.a, self.b)]}


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
            **asdict(self.meeting),
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


class _Hall:
    """A process's game and agents."""

    def __init__(self, meeting: Meeting, game: Game | None = None) -> None:
        self.meeting = meeting
        self.game = load_game(name_here(meeting.game)) if game is None else game
        self.agents = (
            load_game_agent(self.game, name_here(meeting.a), seed=meeting.seed),
            load_game_agent(self.game, name_here(meeting.b), seed=meeting.seed + 1),
        )

    @property
    def together(self) -> int:
        """Pairs of games for one piece of work."""
        return SEARCHING if any(isinstance(agent, TrailAgent) for agent in self.agents) else QUICK

    def play(self, numbers: list[int]) -> Played:
        """Return the rows of these pairs, both agents' decisions and seconds, and the peak of memory."""
        meeting = self.meeting
        played = play_numbered(
            self.game, self.agents, np.array(numbers), meeting.seed, duplicate=meeting.duplicate
        )
        rows = [{"pair": n, "payoffs": p} for n, p in zip(numbers, played.payoffs.tolist(), strict=True)]
        return rows, [(pace.decisions, pace.seconds) for pace in played.paces], _peak()


Played = tuple[list[Row], list[tuple[int, float]], float]
"""Rows of pairs, both agents' decisions and seconds, and the peak of memory."""


def _play(hall: _Hall, numbers: list[int]) -> Played:
    return hall.play(numbers)


def play_match(
    meeting: Meeting,
    *,
    game: Game | None = None,
    output: Path | None = None,
    processes: int | Place = 1,
    progress: Callable[[MeetingResult], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> MeetingResult:
    """Return what a match comes to; agents are loaded in each process.

    game: the one that `meeting.game` names, where it is loaded already. output: file of results; what it
        holds is not played again. processes: how many, or a place for them (`games.support.work`).
        progress: called after every piece. stop: asked between pieces.
    Raises MeetingError if the file holds another match, LockHeld if another process writes it, and whatever
    loading the agents raises.
    """
    began = time.perf_counter()
    with nullcontext() if output is None else _PairsFile(output, meeting.header()) as file:
        rows: list[Row] = [] if file is None else list(file.rows)
        done = {row["pair"] for row in rows}
        left = [number for number in range(meeting.pairs) if number not in done]
        paces = (Pace(), Pace())
        peak = 0.0
        hall = _Hall(meeting, game) if left else None

        def result() -> MeetingResult:
            mine = sorted((row for row in rows if row["pair"] < meeting.pairs), key=lambda row: row["pair"])
            sides = len(mine[0]["payoffs"]) if mine else 2
            games = PlayedGames(
                np.array([row["pair"] for row in mine], np.int64),
                np.array([row["payoffs"] for row in mine], np.float64).reshape(-1, sides),
                paces,
            )
            seconds = time.perf_counter() - began
            return MeetingResult(meeting, games, len(mine) == meeting.pairs, seconds, max(peak, _peak()))

        for new, times, memory in _pieces(hall, left, where_of(processes), stop):
            rows.extend(new)
            peak = max(peak, memory)
            for pace, (decisions, seconds) in zip(paces, times, strict=True):
                pace.add(Pace(decisions, seconds))
            if file is not None:
                file.append(new)
            if progress is not None:
                progress(result())
        return result()


def _pieces(hall: _Hall | None, left: list[int], where: Place, stop: Callable[[], bool]) -> Iterator[Played]:
    """Yield what pieces of work come to."""
    if hall is None:
        return
    meeting = hall.meeting
    with executor_at(where, Task(_Hall, (meeting,), _play), here=hall) as executor:
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


class _PairsFile(JsonRows):
    """Rows of results, one for each pair of games."""

    FORMAT, SOURCE, ROW, FAULT = FORMAT, "gs2 match --game", "the result of a pair of games", MeetingError

    def is_row(self, row: Row) -> bool:
        pair, payoffs = row.get("pair"), row.get("payoffs")
        numbers = isinstance(payoffs, list) and len(payoffs) >= 2
        return (
            type(pair) is int
            and pair >= 0
            and numbers
            and all(type(p) in (int, float) and np.isfinite(p) for p in payoffs or ())
        )

    def key(self, row: Row) -> int:
        return int(row["pair"])
