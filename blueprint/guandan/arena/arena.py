"""Matches between agents on duplicate deals, over all cores, resumable; and the gate for new checkpoints.

    with Arena(source, processes=2) as arena:
        result = arena.play("blueprint", "strong", rounds=2000, output="match.jsonl")
    print(result.summary().net)

Agents go by name, since each process loads its own. Quick ones play hundreds of deals in lockstep, searching
ones a few.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.arena.duplicate import (
    duplicate_deals,
    game_seeds,
    play_duplicate,
    play_games_duplicate,
)
from blueprint.guandan.arena.results_file import MatchFile
from blueprint.guandan.arena.statistics import MatchSummary, summarise
from blueprint.guandan.play.selfplay import Chooser, Scratch
from games.support.bootstrap import bootstrap_interval
from games.support.interruption import Interrupted, breaking, deaf_children

__all__ = ["AgentSource", "Arena", "GateResult", "MatchConfig", "MatchError", "MatchResult", "gate"]

ROUNDS_OF_A_GAME = 8
"""A whole game takes at least so many rounds, so that many fewer games than deals make a piece of work."""


class MatchError(ValueError):
    """A match that cannot be played."""


class AgentSource(Protocol):
    """Where agents come from. It is pickled into every process, so it holds names, not agents."""

    def load(self, name: str, rng: np.random.Generator) -> Chooser:
        """Return a new agent. If it has an attribute `rng`, that is replaced for each piece of work."""
        ...

    def fingerprint(self, name: str) -> str:
        """Return what changes when the agent of this name does."""
        ...

    def deals_at_once(self, name: str) -> int:
        """Return how many deals the agent should play in lockstep, at least 1."""
        ...


@dataclass(frozen=True)
class MatchConfig:
    """What is played.

    seed: of deals, games and the agents' own draws. level: rank code of every deal, None for all of them.
    tribute: share of deals that start with tribute (0.5 as in training). rules: of whole games.
    """

    seed: int = 0
    level: int | None = None
    tribute: float = 0.5
    rules: str = "ruling"

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 1 << 63:
            raise MatchError(f"match: seed must be an integer in [0, 2^63); got {self.seed}")
        if self.level is not None and not 0 <= self.level <= 12:
            raise MatchError(f"match: level must be a rank code in [0, 12]; got {self.level}")
        if not 0 <= self.tribute <= 1:
            raise MatchError(f"match: tribute must lie in [0, 1]; got {self.tribute}")


@dataclass(frozen=True, eq=False)
class MatchResult:
    """A match, in the order of its deals.

    a, b: the agents. payoffs: [n, 2] int8, levels to a of each deal, from side 0 and from side 1.
    games: [g, 2] float64, score of a in each whole game, as team 0 and as team 1.
    complete: everything asked for was played. seconds: of this run. played: rounds it played.
    """

    a: str
    b: str
    config: MatchConfig
    payoffs: NDArray[np.int8]
    games: NDArray[np.float64]
    complete: bool
    seconds: float
    played: int

    @property
    def net(self) -> NDArray[np.float64]:
        """[n] float64: net levels a round of each deal, the mean of its two plays."""
        return self.payoffs.mean(1)

    def summary(self, *, confidence: float = 0.95) -> MatchSummary:
        """Return means and intervals; the bootstrap draws from the match's own seed."""
        rng = np.random.default_rng([self.config.seed, 0xB007])
        return summarise(self.payoffs, self.games, rng, confidence=confidence)


@dataclass(frozen=True)
class _Piece:
    """Work for one process. agents: names and fingerprints of both."""

    agents: tuple[tuple[str, str], tuple[str, str]]
    whole: bool
    indices: tuple[int, ...]
    config: MatchConfig


Rows = list[dict[str, Any]]


class _Player:
    """What one process keeps: the agents it has loaded, and buffers."""

    def __init__(self, source: AgentSource) -> None:
        self.source = source
        self.agents: dict[tuple[int, str, str], Chooser] = {}
        self.scratch = Scratch()

    def _agent(self, seat: int, name: str, fingerprint: str, rng: np.random.Generator) -> Chooser:
        key = (seat, name, fingerprint)
        if key not in self.agents:
            if self.source.fingerprint(name) != fingerprint:
                raise MatchError(
                    f"match: {name} changed while the match was starting; copy it and use the copy"
                )
            self.agents[key] = self.source.load(name, rng)
            if "torch" in sys.modules and multiprocessing.parent_process() is not None:
                sys.modules["torch"].set_num_threads(1)  # one process per core already
        agent = self.agents[key]
        if hasattr(agent, "rng"):
            agent.rng = rng
        return agent

    def play(self, piece: _Piece) -> Rows:
        """Return the result rows of a piece of work."""
        indices = np.array(piece.indices, np.int64)
        config = piece.config
        draw = [config.seed, int(piece.whole), piece.indices[0]]
        a, b = (
            self._agent(seat, *piece.agents[seat], np.random.default_rng([*draw, seat])) for seat in (0, 1)
        )
        if piece.whole:
            score, rounds = play_games_duplicate(
                a, b, game_seeds(indices, config.seed), self.scratch, rules=config.rules
            )
            return [
                {"game": i, "score": s, "rounds": r}
                for i, s, r in zip(piece.indices, score.tolist(), rounds.tolist(), strict=True)
            ]
        deals = duplicate_deals(indices, config.seed, tribute=config.tribute, level=config.level)
        payoffs = play_duplicate(a, b, deals, self.scratch)
        return [{"deal": i, "payoffs": p} for i, p in zip(piece.indices, payoffs.tolist(), strict=True)]


_player: _Player | None = None


def _begin(source: AgentSource) -> None:
    """Prepare a process."""
    global _player
    _player = _Player(source)


def _play(piece: _Piece) -> Rows:
    assert _player is not None
    return _player.play(piece)


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Arena:
    """Processes in which matches are played. source: where agents come from. processes: None for all cores.

    With one process everything happens in the caller's own. Use it in a `with` block.
    """

    def __init__(self, source: AgentSource, processes: int | None = None) -> None:
        self.source = source
        self.processes = processes or available_cores()
        self._own = _Player(source)
        self._pool: ProcessPoolExecutor | None = None
        self._strangers = set(multiprocessing.active_children())

    def __enter__(self) -> Arena:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes, whatever they are doing."""
        if self._pool is not None:
            ours = set(multiprocessing.active_children()) - self._strangers
            self._pool.shutdown(wait=False, cancel_futures=True)
            for process in ours:
                process.terminate()
            for process in ours:
                process.join()
            self._pool = None

    def play(
        self,
        a: str,
        b: str,
        *,
        rounds: int = 0,
        games: int = 0,
        first: int = 0,
        config: MatchConfig | None = None,
        output: str | Path | None = None,
        progress: Callable[[MatchResult], None] | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> MatchResult:
        """Return the match of two agents, a and b.

        rounds: duplicate deals, each played twice. games: whole games, each played twice as well.
        first: number of the first deal and game; the same seed and number are the same cards in every match.
        output: file of results; what it already holds is not played again.
        progress: called with the result so far after every piece of work. stop: asked several times a second;
            once it says so, work under way is dropped and the result so far returned. With one process it is
            asked between pieces of work; an `Interruption` breaks into them too.
        Raises MatchError if nothing is to be played or a process died, MatchFileError if `output` belongs to
        another match, FileProblem if it cannot be written, LockHeld if another process writes it, and
        whatever the source raises at a name.
        """
        if min(rounds, games, first) < 0 or rounds + games == 0:
            raise MatchError(f"match: there must be rounds or games to play; got {rounds} and {games}")
        config = config or MatchConfig()
        wanted = {"deal": range(first, first + rounds), "game": range(first, first + games)}
        agents = ((a, self.source.fingerprint(a)), (b, self.source.fingerprint(b)))
        header = {"a": agents[0], "b": agents[1], **asdict(config)}
        header = {key: list(value) if isinstance(value, tuple) else value for key, value in header.items()}
        began = time.perf_counter()
        played = 0
        with nullcontext() if output is None else MatchFile(output, header) as file:
            rows: Rows = [] if file is None else list(file.rows)
            together = min(self.source.deals_at_once(a), self.source.deals_at_once(b))
            pieces = self._pieces(agents, rows, wanted, together, config)
            for new in self._run(pieces, stop or (lambda: False)):
                rows += new
                played += sum(2 if "deal" in row else sum(row["rounds"]) for row in new)
                if file is not None:
                    file.append(new)
                if progress is not None:
                    progress(_result(a, b, config, rows, wanted, time.perf_counter() - began, played))
        return _result(a, b, config, rows, wanted, time.perf_counter() - began, played)

    def _pieces(
        self, agents: Any, rows: Rows, wanted: dict[str, range], together: int, config: MatchConfig
    ) -> list[_Piece]:
        """Return the work left to do, as many pieces as keep every process busy."""
        pieces = []
        for key, most in (("deal", together), ("game", max(1, together // ROUNDS_OF_A_GAME))):
            done = {row[key] for row in rows if key in row}
            left = [i for i in wanted[key] if i not in done]
            size = max(1, min(most, -(-len(left) // self.processes)))
            pieces += [
                _Piece(agents, key == "game", tuple(left[k : k + size]), config)
                for k in range(0, len(left), size)
            ]
        return pieces

    def _run(self, pieces: list[_Piece], stop: Callable[[], bool]) -> Iterator[Rows]:
        """Yield the rows of pieces as they are done."""
        if self.processes == 1:
            for piece in pieces:
                if stop():
                    return
                try:
                    with breaking(stop):
                        rows = self._own.play(piece)
                except Interrupted:
                    return
                yield rows
            return
        if not pieces:
            return
        if self._pool is None:
            context = multiprocessing.get_context("spawn")  # a forked copy of threads may hang
            self._pool = ProcessPoolExecutor(
                self.processes, mp_context=context, initializer=_begin, initargs=(self.source,)
            )
        pool = self._pool
        waiting = iter(pieces)
        busy: set[Future[Rows]] = set()
        try:
            while True:
                for piece in waiting:
                    with deaf_children():
                        busy.add(pool.submit(_play, piece))
                    if len(busy) >= 2 * self.processes:
                        break
                if not busy:
                    return
                done, busy = wait(busy, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
                if stop():
                    self.close()
                    return
        except BrokenProcessPool as error:
            self.close()
            raise MatchError(
                "match: a process ended without an answer (killed, or out of memory); use fewer --processes"
            ) from error


def _result(
    a: str, b: str, config: MatchConfig, rows: Rows, wanted: dict[str, range], seconds: float, played: int
) -> MatchResult:
    def found(key: str, field: str) -> NDArray:
        mine = sorted((row[key], row[field]) for row in rows if row.get(key) in wanted[key])
        return np.array([value for _, value in mine]).reshape(-1, 2)

    deals, games = found("deal", "payoffs"), found("game", "score")
    return MatchResult(
        a,
        b,
        config,
        deals.astype(np.int8),
        games.astype(np.float64),
        len(deals) == len(wanted["deal"]) and len(games) == len(wanted["game"]),
        seconds,
        played,
    )


@dataclass(frozen=True)
class GateResult:
    """Whether a candidate may replace what is shipped.

    verdict: "better", "worse", "undecided", or "stopped" before it was decided. net: levels a round of the
    candidate; low, high: its interval at the last look, wide enough for all looks together. payoffs: [n, 2]
    int8, of its deals, as in a match.
    """

    verdict: str
    net: float
    low: float
    high: float
    payoffs: NDArray[np.int8]


def gate(
    arena: Arena,
    candidate: str,
    shipped: str,
    *,
    batch: int = 1000,
    most: int = 8000,
    confidence: float = 0.95,
    config: MatchConfig | None = None,
    output: str | Path | None = None,
    progress: Callable[[GateResult], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> GateResult:
    """Return whether `candidate` beats `shipped` on duplicate deals, stopping as soon as that is clear.

    batch: deals between looks; most: deals in all. At each of the `most / batch` looks the interval has
    confidence 1 - (1 - confidence) / looks, so that all looks together are wrong in either direction with
    probability at most 1 - confidence (Bonferroni). "better": the interval lies above zero.
    output: file of results, as of a match: the same gate goes on from it and comes to the same.
    progress: called at every look. stop: see `Arena.play`; the result then has the deals of the looks so far.
    Raises MatchError for numbers out of range, and what `Arena.play` raises.
    """
    if not 1 <= batch <= most or not 0 < confidence < 1:
        raise MatchError(
            "gate: batch must be in [1, most] and confidence in (0, 1); "
            f"got batch {batch}, most {most}, confidence {confidence}"
        )
    config = config or MatchConfig()
    looks = -(-most // batch)
    level = 1 - (1 - confidence) / looks
    rng = np.random.default_rng([config.seed, 0x6A7E])
    payoffs = np.zeros((0, 2), np.int8)
    verdict = "undecided"
    found = GateResult("stopped", 0.0, -3.0, 3.0, payoffs)
    while verdict == "undecided" and len(payoffs) < most:
        result = arena.play(
            candidate,
            shipped,
            rounds=min(batch, most - len(payoffs)),
            first=len(payoffs),
            config=config,
            output=output,
            stop=stop,
        )
        if not result.complete:
            return replace(found, verdict="stopped")
        payoffs = np.concatenate([payoffs, result.payoffs])
        try:
            with breaking(stop):
                low, high = bootstrap_interval(payoffs.mean(1), rng, confidence=level)
        except Interrupted:
            return replace(found, verdict="stopped")
        verdict = "better" if low > 0 else "worse" if high < 0 else "undecided"
        found = GateResult(verdict, float(payoffs.mean()), low, high, payoffs)
        if progress is not None:
            progress(found)
    return found
