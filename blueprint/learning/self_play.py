"""The trainer of every game whose moves are inputs: pieces are handed out, collected and learned from.

    train("runs/mine", partial(MoveTrainer.begun, game=game), RunLimits(minutes=60))

A game says what a piece of a generation is, and who its opponents are. Players act by a snapshot of the
network, in threads of this process or as actors of a cluster. Where a generation is learned from while the
next one is played (`behind`), one thread learns meanwhile, so no thread ever waits at a barrier inside a
matrix product: on a shared machine that costs more than it gains. Otherwise a checkpoint between two
generations holds all there is: a run that was resumed ends where one without a break does.
"""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import attrs
import numpy as np
import torch

from blueprint.checkpoint import check_features
from blueprint.game_lockstep import Seated, play_rounds
from blueprint.learning.base_trainer import BaseTrainer, stream_of
from blueprint.learning.pieces import Piece, PieceLearner, PlayedPiece, ThreadCrew
from blueprint.protocol import Agent
from blueprint.structured import join
from games.support.array_types import Array
from games.support.configuration import Configuration, flag, integer, real, text
from games.support.work.where import Place, where_from

if TYPE_CHECKING:
    from blueprint.learning.ray_crew import RayCrew

EVALUATION_SEED = 5
"""Of the deals that tell how a run gets on: the same ones every time."""
Opponent = Callable[[str, np.random.Generator], Agent]
"""Returns the agent of a name; the generator is what it draws from."""


@attrs.frozen(slots=False)
class Setup(Configuration):
    """On what a run trains, and how it is evaluated on the way.

    device: of torch. threads: players and learner.
    on: who plays: "local", the threads; or actors of a cluster, as `games.support.work.where` names it, while
        this process learns. actors: how many of them, a core each; 0: one for each core of the cluster.
    anneal: let the learning rate fall linearly to zero over the run, which steadies the weights before they
        are shipped; in a copy of the directory, if the run is to go on.
    evaluate_minutes: between evaluations against `opponents` on `rounds` fixed deals; 0 for none.
    """

    label: ClassVar[str] = "Setup"

    device: str = attrs.field(default="cpu", validator=text)
    threads: int = attrs.field(default=2, validator=integer(1))
    on: str = attrs.field(default="local", validator=text)
    actors: int = attrs.field(default=0, validator=integer(0))
    anneal: bool = attrs.field(default=False, validator=flag)
    evaluate_minutes: float = attrs.field(default=15.0, validator=real(0))
    opponents: tuple[str, ...] = ("greedy", "strong")
    rounds: int = attrs.field(default=100, validator=integer(1))


class SelfPlayTrainer(BaseTrainer):
    """A trainer that hands out pieces.

    crew: who plays; threads of this process unless another one is put there before the first generation.
    ahead: generations that are handed out and not collected yet. evaluation: the last one.
    opponent: returns whom an evaluation names; None where nobody is met.
    """

    COUNTED: ClassVar[dict[str, type]] = {
        "evaluation": dict,
        "generation": int,
        "decisions": int,
        "rounds": int,
        "seconds": float,
        "processor_seconds": float,
    }
    learner: Any

    def __init__(
        self,
        learner: PieceLearner,
        *,
        threads: int,
        stream: Sequence[int] = (),
        behind: bool = False,
        opponent: Opponent | None = None,
    ) -> None:
        """Begin. stream: spawn key of the random stream."""
        super().__init__()
        self.learner, self.config, self.threads = learner, learner.config, threads
        self.behind = behind or self.config.staleness > 0
        self.setup, self.opponent = Setup(threads=threads, evaluate_minutes=0.0), opponent
        self.rng = stream_of(self.config.seed, stream)
        self.crew: ThreadCrew | RayCrew = ThreadCrew(threads, learns=self.behind)
        self.ahead = self.rounds = 0
        self.evaluation: dict[str, Any] = {}
        self._evaluated = -math.inf

    def resume(
        self, path: str | Path, tensors: dict[str, Array], description: dict[str, Any], features: str
    ) -> None:
        """Go on from a checkpoint. features: name of the inputs.

        Raises CheckpointError if it is of other inputs, or lacks what resuming needs.
        """
        check_features(path, description, features)
        self.learner.restore(tensors, path)
        self.recall(path, description, self.config.seed)

    def set_up(self, setup: Setup, opponent: Opponent | None = None) -> Self:
        """Return the trainer once it is to train so; raise WorkError where actors cannot be started."""
        self.setup, self.opponent = setup, opponent or self.opponent
        if self.evaluation:  # otherwise the first one is due at once
            self._evaluated = time.monotonic()
        where = where_from(setup.on)
        if not where.is_local:
            self.crew, self.behind = self.actors(where.with_count(setup.actors or None)), True
        return self

    def actors(self, where: Place, **how: Any) -> RayCrew:
        """Return a crew of a cluster that plays as this trainer does. how: as of `RayCrew`."""
        from blueprint.learning.ray_crew import RayCrew

        make, names = self.made_elsewhere()
        return RayCrew(where, make, names, **how)

    @abstractmethod
    def made_elsewhere(self) -> tuple[Callable[[], PieceLearner], tuple[str, ...]]:
        """Return what makes the learner in another process, and the names of what it needs there."""

    def close(self) -> None:
        """Stop whoever plays what nobody will collect, and leave the cluster."""
        if self.ahead or self.setup.on != "local":
            self.crew.abandon()

    def run_generation(self) -> dict[str, Any]:
        """Have one generation played, learn from it or from the one before, and return what happened."""
        if self.setup.anneal:
            self.learner.anneal = max(0.0, 1.0 - self.share)
        try:
            with torch_threads(1):  # each player has its own thread
                return super().run_generation()
        except BaseException:
            self.crew.abandon()
            raise

    def hand_out(self) -> None:
        """Have as many generations played as may be out."""
        while self.ahead <= self.config.staleness:
            self.learner.temperature = self.config.temperature_at(self.decisions)
            self.crew.hand_out(self.deal(), self.learner, self.generation)
            self.ahead += 1

    @abstractmethod
    def deal(self) -> list[Piece]:
        """Return the next generation, cut into pieces."""

    def play(self) -> tuple[list[Any], int, dict[str, float]]:
        """Return what the oldest generation that is out taught, its decisions, and what its row tells."""
        played = self.crew.collect()
        self.ahead -= 1
        fresh = [one.samples for one in played]
        steps, rounds = sum(one.steps for one in played), sum(one.rounds for one in played)
        self.rounds += rounds
        told = {
            "steps_per_round": steps / rounds,
            "learned_per_round": sum(map(len, fresh)) / rounds,
            "offered": sum(one.offered for one in played) / max(sum(len(one.choices) for one in played), 1),
        }
        return fresh, steps, told | self.noted(played) | self.crew.notes()

    def noted(self, played: list[PlayedPiece]) -> dict[str, float]:
        """Take note of a generation; return what its row tells besides."""
        return {}

    def learn_pending(self) -> dict[str, float]:
        """Learn from what was played last, if that is still to be done.

        Return mean losses, the targets' spread and the seconds.
        What was played last and the replay are not in a checkpoint: a trainer that was loaded learns from
        what is played next.
        """
        began, fresh = time.perf_counter(), self.pending
        with torch_threads(1 if self.behind else self.threads):
            losses = super().learn_pending()
        if not losses:
            return {}
        spread = float(np.concatenate([samples.target for samples in fresh]).std())
        return {"target_std": spread, "learn_seconds": time.perf_counter() - began, **losses}

    def row(self, steps: int, seconds: float, playing: float) -> dict[str, Any]:
        """Return the counters and the speed."""
        counted = {name: value for name, value in self.counted().items() if name != "evaluation"}
        speed = {"decisions_per_second": steps / seconds, "playing": playing / seconds}
        return {**counted, "hours": self.seconds / 3600, **speed}

    def evaluation_due(self) -> dict[str, Any]:
        """Return the shares of an evaluation that is due, as "won"."""
        setup, now = self.setup, time.monotonic()
        due = setup.evaluate_minutes and now - self._evaluated >= 60 * setup.evaluate_minutes
        if not due or not setup.opponents:
            return {}
        self._evaluated = now
        return {"won": self.evaluate(setup.opponents, setup.rounds)}

    def evaluate(self, opponents: Sequence[str], rounds: int) -> dict[str, float]:
        """Return the share of rounds won against each opponent on fixed duplicate deals, best moves alone.

        opponents: as `opponent` names them. rounds: deals, each played once by every team against a table of
        the opponent. The shares are also kept for the next checkpoint.
        """
        game, deals = self.learner.game, self.evaluation_deals(rounds)
        teams = np.array(game.teams)
        sides = np.unique(teams)
        own = self.learner.agent()
        mine = np.repeat(sides, rounds)
        seat = np.array([np.flatnonzero(teams == side)[0] for side in sides]).repeat(rounds)
        won = {}
        for name in opponents:
            assert self.opponent is not None
            other = self.opponent(name, np.random.default_rng(EVALUATION_SEED))
            both = Seated((own, other), teams != mine[:, None], np.random.default_rng(rounds))
            states = join([deals] * len(sides))
            with torch_threads(1):
                play_rounds(states, both, self.learner.inputs, record=False)
            won[name] = float((game.returns(states)[np.arange(len(states)), seat] > 0).mean())
        self.evaluation = {"decisions": self.decisions, "rounds": len(mine), "won": won}
        return won

    @abstractmethod
    def evaluation_deals(self, rounds: int) -> Array:
        """Return the deals that tell how a run gets on, [rounds], the same every time."""


@contextmanager
def torch_threads(number: int) -> Iterator[None]:
    """Have torch use so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
