"""Matches between named agents of any game: in pieces, on several cores, into files to go on from.

    result = play_match(Meeting("leduc_poker", "cfr:100", "uniform", pairs=1000))
    result.net, result.interval()
    gate(Meeting("leduc_poker", "new.safetensors", "cfr:100"), output=path).verdict

Any game is played by `gs2.play.game_pairs`. One with a way of its own to play many rounds at once, and agents
that decide for all of them together, registers its contest in `gs2.wings`. Each process loads the agents
itself; an `Arena` keeps its processes, and their agents, from match to match of one game.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.protocol import Agent, follows
from games.game import Game
from games.record import RoundRecord
from games.registry import load_game
from games.support.bootstrap import Estimate, verdict_at_a_look
from games.support.interruption import Interrupted, breaking
from games.support.json_rows import Row
from games.support.work.carried import name_here
from games.support.work.engines import executor_at
from games.support.work.executor import Executor, Task, WorkerLost, on_one_core, results
from games.support.work.where import Place, where_of
from gs2.play.agent_names import agent_identity, load_game_agent
from gs2.play.game_pairs import Pace, PlayedGames, play_numbered, playing_teams
from gs2.play.match_files import MatchBook, MatchFiles, MeetingError, result_row
from gs2.wings import own_part

QUICK, SEARCHING = 256, 4
"""Pairs of games that are played in lockstep: many where agents answer at once, few where one searches."""
PAIRS = 1000
"""Pairs of games by default."""


@dataclass(frozen=True)
class Meeting:
    """Who meets whom, where and how often.

    game: its string. a, b: names of agents. pairs: of games, one with a on team 0 and one with a on team 1.
    seed: of chance, of the agents' choices and of what they train or search.
    duplicate: whether the games of a pair share their chance. agent_seed: of what both agents train or
    search; None for `seed` and the number after it. called: what a is called in files of results, where it
    plays from a copy of a file. terms: what else the game lets a match choose, FIELD: value.
    """

    game: str
    a: str
    b: str
    pairs: int = PAIRS
    seed: int = 0
    duplicate: bool = True
    agent_seed: int | None = None
    called: str | None = None
    terms: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.pairs < 1:
            raise MeetingError(f"match: there must be at least 1 pair of games; got {self.pairs}")

    def to_json(self) -> Row:
        """Return the meeting in plain values."""
        told: Row = {"game": self.game, "a": self.called or self.a, "b": self.b, "pairs": self.pairs}
        told |= {"seed": self.seed, "duplicate": self.duplicate, "agent_seed": self.agent_seed}
        return {**told, **self.terms}


class GameContest:
    """A game that agents meet in, by their names: any game, by the functions of its contract.

    terms: what was chosen for the match, every field with its value. teams: of each seat; an agent plays each
    in turn. payoff_range: of what a game pays. unit: of payoffs, in words. spread: whether a match takes all
    cores unless fewer are asked for. shipped: the name of the network that comes with the package.
    """

    unit = "payoff a game"
    spread = False
    shipped = "network"

    def __init__(self, game: Game, terms: Mapping[str, Any] | None = None) -> None:
        self.game, self.teams = game, playing_teams(game)
        self.payoff_range = game.payoff_range
        self.terms: Mapping[str, Any] = terms or {}
        self._agents: dict[tuple[str, int], Agent] = {}

    def check(self, name: str, seed: int) -> None:
        """Raise what loading the agent raises at its name. seed: of what it trains or searches."""
        self.agent(name, seed)

    def identity(self, name: str, *, named: bool = True) -> str:
        """Return what changes when the agent does; named: whether its name, too, tells it from others."""
        return agent_identity(name, self.game.name, named=named)

    def together(self, meeting: Meeting) -> int:
        """Return how many pairs of games make one piece of work: a few where an agent follows the games."""
        return SEARCHING if any(follows(agent) for agent in self._met(meeting)) else QUICK

    def usual(self, names: Sequence[str]) -> int:
        """Return how many pairs of games these agents play where nothing is said."""
        return PAIRS

    def agent(self, name: str, seed: int) -> Agent:
        """Return an agent by name, loaded once. seed: of what it trains or searches."""
        if (name, seed) not in self._agents:
            self._agents[name, seed] = load_game_agent(self.game, name_here(name), seed=seed)
        return self._agents[name, seed]

    def play(self, meeting: Meeting, numbers: Sequence[int], *, recorded: bool = False) -> PlayedGames:
        """Return what the pairs of games of these numbers came to. recorded: with the rounds in words."""
        played = play_numbered(
            self.game,
            self._met(meeting),
            np.asarray(numbers, np.int64),
            meeting.seed,
            duplicate=meeting.duplicate,
            recorded=(meeting.a, meeting.b) if recorded else None,
        )
        rounds = tuple(replace(record, game=meeting.game) for record in played.rounds)
        return replace(played, rounds=rounds)

    def _met(self, meeting: Meeting) -> tuple[Agent, Agent]:
        seed = meeting.agent_seed
        first, second = (meeting.seed, meeting.seed + 1) if seed is None else (seed, seed)
        return self.agent(meeting.a, first), self.agent(meeting.b, second)


def contest_of(game: str | Game, terms: Mapping[str, Any] | None = None) -> GameContest:
    """Return the contest of a game. game: its string, or the game itself; terms: of the match.

    Raises GameError if there is no such game, ConfigError for terms that it does not have, MeetingError for a
    form of the game that its matches are not of.
    """
    loaded = load_game(name_here(game), general_sum=True) if isinstance(game, str) else game
    own = own_part(loaded.name, "contest")
    if own is not None:
        made: GameContest = own(terms or {})
        if made.game.name != loaded.name:
            family = loaded.name.partition("(")[0]
            raise MeetingError(
                f"match: {family} must be {made.game.name}, as its matches go; got {loaded.name}; write "
                f"{family}"
            )
        return made
    if terms:
        raise MeetingError(
            f"match: {next(iter(terms))} must be left out; {loaded.name} lets a match choose no such thing"
        )
    return GameContest(loaded)


@dataclass(frozen=True, eq=False)
class MeetingResult:
    """What a match came to. games: every pair played so far, with the paces of this run.

    unit: of payoffs, in words. complete: everything asked for was played. played: pairs of this run.
    seconds: of this run. memory: bytes at the peak of a process.
    """

    meeting: Meeting
    games: PlayedGames
    unit: str
    complete: bool
    played: int
    seconds: float
    memory: float

    @property
    def net(self) -> float:
        """Mean payoff a game to a."""
        return float(self.games.net.mean())

    def interval(self) -> tuple[float, float]:
        """Return the 95 % bootstrap interval of `net` over pairs."""
        return self.games.interval(self.meeting.seed)

    def summary(self) -> tuple[Estimate, Estimate]:
        """Return a's payoff a game and its share of games won, with 95 % intervals over pairs."""
        return self.games.summary(self.meeting.seed)

    def to_json(self) -> dict[str, Any]:
        """Return the match in plain numbers."""
        net, won = self.summary()
        return {
            **self.meeting.to_json(),
            "pairs": len(self.games.numbers),
            "games": self.games.payoffs.size,
            "complete": self.complete,
            "net": net.mean,
            "low": net.low,
            "high": net.high,
            "won": asdict(won),
            "by_team": self.games.payoffs.mean(0).tolist(),
            "seconds": self.seconds,
            "memory": self.memory,
            "decisions": [pace.decisions for pace in self.games.paces],
            "seconds_a_decision": [pace.seconds / max(pace.decisions, 1) for pace in self.games.paces],
        }


@dataclass(frozen=True)
class _Piece:
    """Pairs of games for one process. identities: of both agents, as the match began."""

    meeting: Meeting
    numbers: tuple[int, ...]
    recorded: bool
    identities: tuple[str, str]


Played = tuple[list[Row], tuple[RoundRecord, ...], list[tuple[int, float]], float]
"""Rows of pairs, their rounds, both agents' decisions and seconds, and the peak of memory."""


@dataclass(eq=False)
class _Player:
    """What one process keeps: the contest with the agents that it has loaded, and which agents it knows."""

    contest: GameContest | None = None
    known: set[tuple[str, str]] = field(default_factory=set)

    def play(self, piece: _Piece) -> Played:
        """Return what a piece of work comes to."""
        meeting = piece.meeting
        contest = self.contest = self.contest or contest_of(meeting.game, meeting.terms)
        for known in zip((meeting.a, meeting.b), piece.identities, strict=True):
            name, told = known
            if known not in self.known and name_here(name) == name and contest.identity(name) != told:
                raise MeetingError(
                    f"match: {name} changed while the processes were starting; copy it and use the copy"
                )
            self.known.add(known)
        with on_one_core():
            played = contest.play(meeting, piece.numbers, recorded=piece.recorded)
        lengths = [None] * len(piece.numbers) if played.lengths is None else played.lengths
        columns = zip(piece.numbers, played.payoffs, played.won, lengths, strict=True)
        paces = [(pace.decisions, pace.seconds) for pace in played.paces]
        return [result_row(*column) for column in columns], played.rounds, paces, _peak()


class Arena:
    """Processes in which agents meet; use it in a `with` block.

    contest: what all its matches are of, with the agents that this process has loaded. processes: how many,
    or a place for them, a cluster for example (`games.support.work`); None for all cores. With one process of
    this machine everything happens in the caller's own.
    """

    def __init__(self, contest: GameContest, processes: int | Place | None = 1) -> None:
        self.contest, self._place = contest, where_of(processes)
        self._executor: Executor[_Piece, Played] | None = None

    def __enter__(self) -> Arena:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes, whatever they are doing."""
        if self._executor is not None:
            self._executor.close()

    def play(
        self,
        meeting: Meeting,
        *,
        output: Path | MatchFiles | None = None,
        progress: Callable[[MeetingResult], None] | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> MeetingResult:
        """Return what a match comes to.

        output: file of results, or of records as well; what they hold is not played again. progress: called
        after every piece of work. stop: asked several times a second; once it says so, work under way is
        dropped. With one process it is asked between pieces; an `Interruption` breaks into them too.
        Raises MeetingError if a process died or the file holds another match, LockHeld if another process
        writes it, and whatever loading the agents raises.
        """
        began = time.perf_counter()
        contest = self.contest
        meeting = replace(meeting, terms=contest.terms)
        files = output if isinstance(output, MatchFiles) else MatchFiles(output)
        told, peak, count = (Pace(), Pace()), 0.0, 0
        identities = (contest.identity(meeting.a, named=meeting.called is None), contest.identity(meeting.b))
        with MatchBook(files, _header(meeting, identities), contest.teams) as book:

            def result() -> MeetingResult:
                mine = [row for row in book.rows if row["pair"] < meeting.pairs]
                games = _games(mine, max(contest.teams) + 1, told)
                complete = not book.to_play(meeting.pairs)
                seconds = time.perf_counter() - began
                return MeetingResult(
                    meeting, games, contest.unit, complete, count, seconds, max(peak, _peak())
                )

            for rows, rounds, paces, memory in self._pieces(meeting, book, stop):
                book.add(rows, rounds)
                peak, count = max(peak, memory), count + len(rows)
                for pace, (decisions, seconds) in zip(told, paces, strict=True):
                    pace.add(Pace(decisions, seconds))
                if progress is not None:
                    progress(result())
            return result()

    def _pieces(self, meeting: Meeting, book: MatchBook, stop: Callable[[], bool]) -> Iterator[Played]:
        """Yield what pieces of work come to, as many as keep every process busy."""
        left = book.to_play(meeting.pairs)
        if not left:
            return
        contest = self.contest
        together = contest.together(meeting)
        if self._executor is None:
            here = _Player(contest)
            self._executor = executor_at(self._place, Task(_Player, (), _Player.play), here=here)
        size = max(1, min(together, -(-len(left) // self._executor.size)))
        identities = (contest.identity(meeting.a), contest.identity(meeting.b))
        pieces = (
            (at, _Piece(meeting, tuple(left[at : at + size]), book.keeps_rounds, identities))
            for at in range(0, len(left), size)
        )
        names = (meeting.game, meeting.a, meeting.b)
        try:
            for _, played in results(self._executor, pieces, names=names, stop=stop):
                yield played
        except WorkerLost as error:
            raise MeetingError(f"match: {error}; use fewer --processes") from error


def play_match(
    meeting: Meeting,
    *,
    game: Game | None = None,
    output: Path | MatchFiles | None = None,
    processes: int | Place | None = 1,
    progress: Callable[[MeetingResult], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> MeetingResult:
    """Return what one match comes to, in an arena of its own: see `Arena` and `Arena.play`.

    game: the one that `meeting.game` names, where it is loaded already.
    """
    with Arena(contest_of(meeting.game if game is None else game, meeting.terms), processes) as arena:
        return arena.play(meeting, output=output, progress=progress, stop=stop)


@dataclass(frozen=True)
class GateResult:
    """Whether a candidate may replace another.

    verdict: "better", "worse", "undecided", or "stopped" before it was decided. net: payoff a game of the
    candidate; low, high: its interval at the last look, wide enough for all looks together. pairs: looked at.
    """

    verdict: str
    net: float
    low: float
    high: float
    pairs: int


def gate(
    meeting: Meeting,
    *,
    batch: int = 500,
    output: Path,
    arena: Arena | None = None,
    progress: Callable[[GateResult], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> GateResult:
    """Return whether the candidate beats the other agent, stopping as soon as that is clear.

    meeting: a is the candidate; its pairs are the most that are played. batch: pairs between looks. output:
    file of results as of `Arena.play`: the same gate goes on from it and comes to the same. arena:
    where the agents meet; None for one of this process. progress: called at every look. stop: as of
    `Arena.play`; a result that was stopped has the pairs of the looks so far.
    Raises MeetingError for a batch out of range, and what `Arena.play` raises.
    """
    if not 1 <= batch <= meeting.pairs:
        raise MeetingError(f"gate: batch must be in [1, pairs]; got batch {batch}, pairs {meeting.pairs}")
    rng = np.random.default_rng([meeting.seed, 0x6A7E])
    own = Arena(contest_of(meeting.game, meeting.terms)) if arena is None else nullcontext(arena)
    with own as place:
        found = GateResult("undecided", 0.0, *place.contest.payoff_range, 0)
        while found.verdict == "undecided" and found.pairs < meeting.pairs:
            pairs = min(meeting.pairs, found.pairs + batch)
            played = place.play(replace(meeting, pairs=pairs), output=output, stop=stop)
            if not played.complete:
                return replace(found, verdict="stopped")
            net = played.games.net
            try:
                with breaking(stop):
                    verdict, low, high = verdict_at_a_look(net, rng, looks=-(-meeting.pairs // batch))
            except Interrupted:
                return replace(found, verdict="stopped")
            found = GateResult(verdict, float(net.mean()), low, high, pairs)
            if progress is not None:
                progress(found)
        return found


def _header(meeting: Meeting, identities: tuple[str, str]) -> Row:
    """Return what a file of results begins with: the same header, the same games."""
    told = meeting.to_json()
    del told["pairs"]
    if meeting.agent_seed is None:
        del told["agent_seed"]
    return {**told, "agents": list(identities)}


def _games(rows: list[Row], sides: int, paces: tuple[Pace, Pace]) -> PlayedGames:
    """Return the games of rows."""
    payoffs = np.array([row["payoffs"] for row in rows], np.float64).reshape(-1, sides)
    told = payoffs if sides == 2 else [row["won"] for row in rows]
    won = (np.sign(told) + 1) / 2 if sides == 2 else np.array(told, np.float64).reshape(-1, sides)
    numbers = np.array([row["pair"] for row in rows], np.int64)
    lengths = None
    if any("lengths" in row for row in rows):
        lengths = np.array([row["lengths"] for row in rows], np.int64).reshape(-1, sides)
    return PlayedGames(numbers, payoffs, won, paces, lengths=lengths)


def _peak() -> float:
    """Return the most bytes that this process has held in memory, 0 where nothing says so."""
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    most = float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return most if sys.platform == "darwin" else 1024 * most
