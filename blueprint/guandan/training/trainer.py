"""A trainer: generations of self-play and learning, and checkpoints that it goes on from."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
import torch

from blueprint.checkpoint import (
    CheckpointError,
    check_description,
    check_features,
    read_checkpoint,
)
from blueprint.guandan.play.deals import card_choice, deal_rounds
from blueprint.guandan.play.duplicate import duplicate_deals, play_duplicate
from blueprint.guandan.play.network_tribute import NetworkTribute
from blueprint.guandan.play.quick_agents import load_quick_agent
from blueprint.guandan.play.selfplay import Scratch
from blueprint.guandan.train_config import NetworkConfig, TrainConfig
from blueprint.guandan.training.dmc import Learner
from blueprint.guandan.training.opponents import league_of
from blueprint.guandan.training.pieces import Piece, PieceCrew, ThreadCrew
from blueprint.learning.base_trainer import BaseTrainer, stream_of
from games.support.configuration import ConfigError, Configuration, flag, integer, real, text
from games.support.work.where import where_from

EVALUATION_SEED = 5
"""Of the deals that tell how a run gets on: the same ones every time."""
STREAM = (0x7EA1,)
"""Spawn key of a run's random stream. Deals and agents of a match draw from seeds without one, so that no run
is trained on the cards that it is measured on, whatever its seed."""


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


class Trainer(BaseTrainer):
    """GuanDan's trainer.

    Players act by a snapshot of the network and value what they played by one of the critic; one thread
    learns meanwhile, so no thread ever waits at a barrier inside a matrix product: on a shared machine
    that costs more than it gains.
    crew: who plays; threads of this process unless another one is put there before the first generation.
    ahead: generations that are handed out and not collected yet.
    """

    BEHIND = True
    COUNTED: ClassVar[dict[str, type]] = {
        "evaluation": dict,
        "generation": int,
        "decisions": int,
        "rounds": int,
        "seconds": float,
    }

    def __init__(
        self,
        network: NetworkConfig,
        config: TrainConfig,
        *,
        device: str = "cpu",
        threads: int = 2,
    ) -> None:
        super().__init__()
        self.network_config, self.config = network, config
        self.setup = Setup(device=device, threads=threads, evaluate_minutes=0.0)
        self.device = torch.device(device)
        self.threads = threads
        torch.set_num_threads(1)
        self.learner: Learner = Learner(network, config, self.device)
        if config.tribute_by_value and not self.learner.network.has_value:
            raise ConfigError(
                f"TrainConfig: tribute_by_value needs a network with a value; got {network.kind!r}"
            )
        if bool(config.personas) != bool(network.personality):
            raise ConfigError(
                "TrainConfig: personas and a network's personality head need each other; got "
                f"personas={config.personas}, personality={network.personality}; use --recipe pdhqn for both"
            )
        if config.matches and not network.stakes:
            raise ConfigError(
                "TrainConfig: matches need a network that sees the stakes (--network stakes=true)"
            )
        self.rng = stream_of(config.seed, STREAM)
        self.league = league_of(config)
        self.league.load(self.rng)
        self.crew: PieceCrew = ThreadCrew(threads)
        self.ahead = self.rounds = 0
        self.evaluation: dict[str, Any] = {}
        self._evaluated = -math.inf

    @classmethod
    def begun(
        cls,
        path: Path | None,
        network: NetworkConfig | None = None,
        config: TrainConfig | None = None,
        setup: Setup | None = None,
    ) -> Trainer:
        """Return a new trainer, or for a path the one that a checkpoint holds.

        network: None is that of the checkpoint, or the default. config: replaces that of the checkpoint.
        Raises CheckpointError as `load`, and for another network than the checkpoint's; WorkError where
        actors cannot be started.
        """
        setup = setup or Setup()
        there: dict[str, Any] = {"device": setup.device, "threads": setup.threads}
        if path is None:
            trainer = cls(network or NetworkConfig(), config or TrainConfig(), **there)
        else:
            trainer = cls.load(path, config=config, **there)
        if network not in (None, trainer.network_config):
            raise CheckpointError(
                f"checkpoint: {path} holds {trainer.network_config}, got {network}; "
                "leave the network's options out, or train in another directory"
            )
        trainer.setup = setup
        if trainer.evaluation:  # otherwise the first one is due at once
            trainer._evaluated = time.monotonic()
        where = where_from(setup.on)
        if not where.is_local:
            from blueprint.guandan.training.ray_crew import RayCrew

            where = where.with_count(setup.actors or None)
            trainer.crew = RayCrew(where, trainer.network_config, trainer.config)
        return trainer

    def close(self) -> None:
        """Stop whoever plays what nobody will collect, and leave the cluster."""
        if self.ahead or self.setup.on != "local":
            self.crew.abandon()

    def run_generation(self) -> dict[str, float]:
        """Have one generation played while learning from the one before; return what happened."""
        if self.setup.anneal:
            self.learner.anneal = max(0.0, 1.0 - self.share)
        try:
            return super().run_generation()
        except BaseException:
            self.crew.abandon()
            raise

    def hand_out(self) -> None:
        """Have as many generations played as may be out."""
        while self.ahead <= self.config.staleness:
            self.crew.hand_out(self.deal(), self.learner, self.generation)
            self.ahead += 1

    def play(self) -> tuple[list[Any], int, dict[str, float]]:
        """Return what the oldest generation that is out taught, its decisions, and what its row tells."""
        played = self.crew.collect()
        self.ahead -= 1
        for one in played:
            if one.met is not None:
                self.league.note(*one.met)
        fresh = [one.samples for one in played]
        steps, rounds = sum(one.steps for one in played), sum(one.rounds for one in played)
        self.rounds += rounds
        per_round = {"steps_per_round": steps / rounds, "learned_per_round": sum(map(len, fresh)) / rounds}
        return fresh, steps, per_round | self.crew.notes()

    def row(self, steps: int, seconds: float, playing: float) -> dict[str, Any]:
        """Return the counters and the speed."""
        counted = {name: getattr(self, name) for name in ("generation", "decisions", "rounds")}
        return counted | {"hours": self.seconds / 3600, "decisions_per_second": steps / seconds}

    def deal(self) -> list[Piece]:
        """Return the next generation, dealt and cut into pieces."""
        cards = NetworkTribute(self.learner) if self.config.tribute_by_value else card_choice
        config = self.config
        states = deal_rounds(
            config.rounds, self.rng, tribute=config.tribute, cards=cards, matches=config.matches
        )
        parts = np.array_split(states, config.pieces or self.crew.size)
        weights = self.league.weights()
        self.learner.temperature = config.temperature_at(self.decisions)
        return [
            Piece.of((self.generation + self.ahead, k), part, rng, self.decisions, weights)
            for k, (part, rng) in enumerate(zip(parts, self.rng.spawn(len(parts)), strict=True))
        ]

    def learn_pending(self) -> dict[str, float]:
        """Learn from what was played last; return mean losses, the targets' spread and the seconds."""
        began, fresh = time.perf_counter(), self.pending
        losses = super().learn_pending()
        if not losses:
            return {}
        spread = float(np.concatenate([samples.target for samples in fresh]).std())
        return {"learn_seconds": time.perf_counter() - began, "target_std": spread, **losses}

    def describe(self) -> dict[str, Any]:
        """Return what a checkpoint says of the network, the training and the league.

        What was played last and the replay are not in a checkpoint: who loads it learns from what is played
        next (`learn_pending`).
        """
        return {
            "game": "guandan",
            "features": self.learner.features,
            "network": self.network_config.to_json(),
            "train": self.config.to_json(),
            "league": self.league.to_json(),
        }

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

        opponents: as of `load_quick_agent`. rounds: deals, each played from both sides. The shares are also
        kept for the next checkpoint.
        """
        deals = duplicate_deals(np.arange(rounds), EVALUATION_SEED)
        own = self.learner.agent(0.0, 0.0, np.random.default_rng(0))
        won = {}
        for name in opponents:
            other = load_quick_agent(name, np.random.default_rng(EVALUATION_SEED))
            won[name] = float((play_duplicate(own, other, deals, Scratch()) > 0).mean())
        self.evaluation = {"decisions": self.decisions, "rounds": 2 * rounds, "won": won}
        return won

    @classmethod
    def load(
        cls, path: str | Path, *, device: str = "cpu", threads: int = 2, config: TrainConfig | None = None
    ) -> Trainer:
        """Return the trainer that a checkpoint describes; `config` replaces its training configuration.

        A checkpoint for inference holds neither moments nor a random stream; both begin anew.
        Raises CheckpointError if the file is damaged, foreign or lacks what resuming needs.
        """
        tensors, description = read_checkpoint(path)
        check_description(path, description, {"network": dict, "train": dict})
        network = NetworkConfig.from_json(description["network"])
        config = TrainConfig.from_json(description["train"]) if config is None else config
        trainer = cls(network, config, device=device, threads=threads)
        check_features(path, description, trainer.learner.features)
        trainer.learner.restore(tensors, path)
        trainer.recall(path, description, config.seed)
        trainer.league.restore(description.get("league"))
        return trainer
