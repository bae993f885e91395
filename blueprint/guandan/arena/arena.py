"""Two agents compared on duplicate deals, over all cores; a comparison that was cut short goes on later.

    with Arena(source, processes=2) as arena:
        result = arena.play("blueprint", "strong", Schedule(rounds=2000), output="results.jsonl")
    print(result.summary().net)

Agents go by name, since each process loads its own. Quick ones play hundreds of deals in lockstep, searching
ones a few.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.arena.duplicate import (
    duplicate_deals,
    game_seeds,
    play_duplicate,
    play_games_duplicate,
)
from blueprint.guandan.arena.results_file import ResultsFile
from blueprint.guandan.arena.statistics import ArenaSummary, summarise
from blueprint.guandan.chooser import Chooser
from blueprint.guandan.play.selfplay import Scratch
from games.support.array_types import Array
from games.support.configuration import Configuration, integer, real, text
from games.support.work.carried import name_here
from games.support.work.engines import executor_at
from games.support.work.executor import (
    Executor,
    Task,
    WorkerLost,
    available_cores,
    on_one_core,
    results,
)
from games.support.work.where import Place, where_of

__all__ = [
    "AgentSource",
    "Arena",
    "ArenaConfig",
    "ArenaError",
    "ArenaResult",
    "Schedule",
    "available_cores",
    "results_header",
]

ROUNDS_OF_A_GAME = 8
"""A whole game takes at least so many rounds, so that many fewer games than deals make a piece of work."""


class ArenaError(ValueError):
    """A comparison that cannot be played."""


class AgentSource(Protocol):
    """Place agents come from. It is pickled into every process, so it holds names, not agents."""

    def load(self, name: str, rng: np.random.Generator) -> Chooser:
        """Return a new agent. If it has an attribute `rng`, that is replaced for each piece of work."""
        ...

    def fingerprint(self, name: str) -> str:
        """Return what changes when the agent of this name does."""
        ...

    def deals_at_once(self, name: str) -> int:
        """Return how many deals the agent should play in lockstep, at least 1."""
        ...


@attrs.frozen(slots=False)
class ArenaConfig(Configuration):
    """Which cards are dealt, and by which rules whole games go.

    seed: of deals, games and the agents' own draws. level: rank code of every deal, None for all of them.
    tribute: share of deals that start with tribute (0.5 as in training). rules: of whole games.
    """

    label: ClassVar[str] = "arena"

    seed: int = attrs.field(default=0, validator=integer(0, (1 << 63) - 1))
    level: int | None = attrs.field(default=None, validator=integer(0, 12, optional=True))
    tribute: float = attrs.field(default=0.5, validator=real(0, 1))
    rules: str = attrs.field(default="ruling", validator=text)


@dataclass(frozen=True)
class Schedule:
    """How much is played, and on which cards.

    rounds: duplicate deals, each played twice. games: whole games, each played twice as well.
    first: number of the first deal and game; the same seed and number are the same cards for all agents.
    Raises ArenaError where nothing is to be played.
    """

    rounds: int = 0
    games: int = 0
    first: int = 0
    config: ArenaConfig = field(default_factory=ArenaConfig)

    def __post_init__(self) -> None:
        if min(self.rounds, self.games, self.first) < 0 or self.rounds + self.games == 0:
            raise ArenaError(
                f"arena: there must be rounds or games to play; got {self.rounds} and {self.games}"
            )

    @property
    def wanted(self) -> dict[str, range]:
        """Numbers of the deals and of the whole games, as the rows of results name them."""
        return {
            "deal": range(self.first, self.first + self.rounds),
            "game": range(self.first, self.first + self.games),
        }


@dataclass(frozen=True, eq=False)
class ArenaResult:
    """What a comparison came to, in the order of its deals.

    a, b: the agents. payoffs: [n, 2] int8, levels to a of each deal, from side 0 and from side 1.
    games: [g, 2] float64, score of a in each whole game, as team 0 and as team 1.
    complete: everything asked for was played. seconds: of this run. played: rounds it played.
    """

    a: str
    b: str
    config: ArenaConfig
    payoffs: NDArray[np.int8]
    games: NDArray[np.float64]
    complete: bool
    seconds: float
    played: int

    @property
    def net(self) -> NDArray[np.float64]:
        """[n] float64: net levels a round of each deal, the mean of its two plays."""
        found: NDArray[np.float64] = self.payoffs.mean(1)
        return found

    def summary(self, *, confidence: float = 0.95) -> ArenaSummary:
        """Return means and intervals; the bootstrap draws from the seed of the cards."""
        rng = np.random.default_rng([self.config.seed, 0xB007])
        return summarise(self.payoffs, self.games, rng, confidence=confidence)


Agents = tuple[tuple[str, str], tuple[str, str]]
"""(name, fingerprint) of both agents."""
Rows = list[dict[str, Any]]
"""Results, one a deal or whole game."""


def results_header(agents: Agents, config: ArenaConfig) -> dict[str, Any]:
    """Return what a file of results begins with."""
    return {"a": list(agents[0]), "b": list(agents[1]), **config.to_json()}


@dataclass(frozen=True)
class _Piece:
    """Work for one process. whole: whole games, not deals."""

    agents: Agents
    whole: bool
    indices: tuple[int, ...]
    config: ArenaConfig


class _Player:
    """What one process keeps: the agents it has loaded, and buffers."""

    def __init__(self, source: AgentSource) -> None:
        self.source = source
        self.agents: dict[tuple[int, str, str], Chooser] = {}
        self.scratch = Scratch()

    def _agent(self, seat: int, name: str, fingerprint: str, rng: np.random.Generator) -> Chooser:
        key = (seat, name, fingerprint)
        if key not in self.agents:
            here = name_here(name)
            if here == name and self.source.fingerprint(name) != fingerprint:
                raise ArenaError(
                    f"arena: {name} changed while the processes were starting; copy it and use the copy"
                )
            self.agents[key] = self.source.load(here, rng)
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
        with on_one_core():
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


def _play(player: _Player, piece: _Piece) -> Rows:
    return player.play(piece)


class Arena:
    """Processes in which agents are compared; use it in a `with` block.

    source: where agents come from. processes: how many, None for all cores; or a place for them, a cluster
    for example (`games.support.work`), whose cores are counted when the arena is made.
    With one process of this machine everything happens in the caller's own.
    """

    def __init__(self, source: AgentSource, processes: int | Place | None = None) -> None:
        self.source = source
        self._executor: Executor[_Piece, Rows] = executor_at(
            where_of(processes), Task(_Player, (source,), _play)
        )
        self.processes = self._executor.size

    def __enter__(self) -> Arena:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes, whatever they are doing."""
        self._executor.close()

    def play(
        self,
        a: str,
        b: str,
        schedule: Schedule,
        *,
        output: str | Path | None = None,
        progress: Callable[[ArenaResult], None] | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> ArenaResult:
        """Return how two agents, a and b, compare on the cards of a schedule.

        output: file of results; what it already holds is not played again.
        progress: called with the result so far after every piece of work. stop: asked several times a second;
            once it says so, work under way is dropped and the result so far returned. With one process it is
            asked between pieces of work; an `Interruption` breaks into them too.
        Raises ArenaError if a process died, ResultsFileError if `output` holds the results of something else,
        FileProblem if it cannot be written, LockHeld if another process writes it, and whatever the source
        raises at a name.
        """
        agents = ((a, self.source.fingerprint(a)), (b, self.source.fingerprint(b)))
        header = results_header(agents, schedule.config)
        began = time.perf_counter()
        played = 0
        with nullcontext() if output is None else ResultsFile(output, header) as file:
            rows: Rows = [] if file is None else list(file.rows)
            together = min(self.source.deals_at_once(a), self.source.deals_at_once(b))
            pieces = self._pieces(agents, rows, schedule, together)
            keyed = (((piece.whole, piece.indices[0]), piece) for piece in pieces)
            try:
                for _, new in results(self._executor, keyed, names=(a, b), stop=stop or (lambda: False)):
                    rows += new
                    played += sum(2 if "deal" in row else sum(row["rounds"]) for row in new)
                    if file is not None:
                        file.append(new)
                    if progress is not None:
                        progress(_result((a, b), schedule, rows, time.perf_counter() - began, played))
            except WorkerLost as error:
                raise ArenaError(f"arena: {error}; use fewer --processes") from error
        return _result((a, b), schedule, rows, time.perf_counter() - began, played)

    def _pieces(self, agents: Agents, rows: Rows, schedule: Schedule, together: int) -> list[_Piece]:
        """Return the work left to do, as many pieces as keep every process busy."""
        pieces = []
        for key, most in (("deal", together), ("game", max(1, together // ROUNDS_OF_A_GAME))):
            done = {row[key] for row in rows if key in row}
            left = [i for i in schedule.wanted[key] if i not in done]
            size = max(1, min(most, -(-len(left) // self.processes)))
            pieces += [
                _Piece(agents, key == "game", tuple(left[k : k + size]), schedule.config)
                for k in range(0, len(left), size)
            ]
        return pieces


def _result(
    agents: tuple[str, str], schedule: Schedule, rows: Rows, seconds: float, played: int
) -> ArenaResult:
    wanted = schedule.wanted

    def found(key: str, field: str) -> Array:
        mine = sorted((row[key], row[field]) for row in rows if row.get(key) in wanted[key])
        return np.array([value for _, value in mine]).reshape(-1, 2)

    deals, games = found("deal", "payoffs"), found("game", "score")
    return ArenaResult(
        *agents,
        schedule.config,
        deals.astype(np.int8),
        games.astype(np.float64),
        len(deals) == len(wanted["deal"]) and len(games) == len(wanted["game"]),
        seconds,
        played,
    )
