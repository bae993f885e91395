"""GuanDan's trainer: rounds of all levels after tribute, opponents from a pool, and its checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from blueprint.checkpoint import CheckpointError, check_description, read_checkpoint
from blueprint.guandan.play.deals import card_choice, deal_rounds
from blueprint.guandan.play.duplicate import duplicate_deals
from blueprint.guandan.play.network_tribute import NetworkTribute
from blueprint.guandan.play.quick_agents import load_quick_agent
from blueprint.guandan.train_config import NetworkConfig, TrainConfig
from blueprint.guandan.training.dmc import Learner
from blueprint.guandan.training.opponents import league_of
from blueprint.learning.pieces import Piece
from blueprint.learning.self_play import EVALUATION_SEED, SelfPlayTrainer, Setup
from games.support.array_types import Array
from games.support.configuration import ConfigError

STREAM = (0x7EA1,)
"""Spawn key of a run's random stream. Deals and agents of a match draw from seeds without one, so that no run
is trained on the cards that it is measured on, whatever its seed."""


class Trainer(SelfPlayTrainer):
    """GuanDan's trainer: a generation is learned from while the next one is played."""

    def __init__(
        self,
        network: NetworkConfig,
        config: TrainConfig,
        *,
        device: str = "cpu",
        threads: int = 2,
    ) -> None:
        """Begin with random parameters. device: torch's. threads: players and learner."""
        learner = Learner(network, config, torch.device(device))
        super().__init__(learner, threads=threads, stream=STREAM, behind=True, opponent=load_quick_agent)
        self.network_config = network
        if config.tribute_by_value and not learner.network.has_value:
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
        self.league = league_of(config)
        self.league.load(self.rng)

    @classmethod
    def begun(
        cls,
        path: str | Path | None,
        network: NetworkConfig | None = None,
        config: TrainConfig | None = None,
        setup: Setup | None = None,
    ) -> Trainer:
        """Return a new trainer, or for a path the one that a checkpoint holds.

        A checkpoint for inference holds neither moments nor a random stream; both begin anew.
        network: None is that of the checkpoint, or the default. config: replaces that of the checkpoint.
        Raises CheckpointError if the file is damaged, foreign, of another network, or lacks what resuming
        needs; WorkError where actors cannot be started.
        """
        setup = setup or Setup()
        there: dict[str, Any] = {"device": setup.device, "threads": setup.threads}
        if path is None:
            trainer = cls(network or NetworkConfig(), config or TrainConfig(), **there)
        else:
            tensors, description = read_checkpoint(path)
            check_description(path, description, {"network": dict, "train": dict})
            config = TrainConfig.from_json(description["train"]) if config is None else config
            if config.critic != (kept := description["train"].get("critic", config.critic)):
                rule = f"critic must stay {kept} in a resumed run; got {config.critic}; leave it out"
                raise CheckpointError(f"checkpoint: {path}: {rule}, or train in another directory")
            if description["train"].get("average") == 0:  # the weights that play are those that learn
                tensors |= {f"learned.{k}": v for k, v in tensors.items() if not k.startswith("optimiser.")}
            trainer = cls(NetworkConfig.from_json(description["network"]), config, **there)
            trainer.resume(path, tensors, description, trainer.learner.network.features)
            trainer.league.restore(description.get("league"))
        if network not in (None, trainer.network_config):
            raise CheckpointError(
                f"checkpoint: {path} holds {trainer.network_config}, got {network}; "
                "leave the network's options out, or train in another directory"
            )
        return trainer.set_up(setup)

    def made_elsewhere(self) -> tuple[Callable[[], Any], tuple[str, ...]]:
        """Return what makes the learner in another process, and the names of what it needs there."""
        return partial(Learner, self.network_config, self.config, torch.device("cpu")), self.league.names

    def deal(self) -> list[Piece]:
        """Return the next generation, dealt and cut into pieces."""
        config = self.config
        cards = NetworkTribute(self.learner.snapshot()) if config.tribute_by_value else card_choice
        states = deal_rounds(
            config.rounds, self.rng, tribute=config.tribute, cards=cards, matches=config.matches
        )
        parts = np.array_split(states, config.pieces or self.crew.size)
        weights = self.league.weights()
        return [
            Piece.of((self.generation + self.ahead, k), part, rng, self.decisions, weights)
            for k, (part, rng) in enumerate(zip(parts, self.rng.spawn(len(parts)), strict=True))
        ]

    def noted(self, played: list[Any]) -> dict[str, float]:
        """Take note of who was met, for the league."""
        for one in played:
            if one.met is not None:
                self.league.note(*one.met)
        return {}

    def describe(self) -> dict[str, Any]:
        """Return what a checkpoint says of the network, the training and the league."""
        return {
            "game": "guandan",
            "features": self.learner.network.features,
            "network": self.network_config.to_json(),
            "train": self.config.to_json(),
            "league": self.league.to_json(),
        }

    def evaluation_deals(self, rounds: int) -> Array:
        """Return the deals that tell how a run gets on, [rounds], the same every time."""
        return duplicate_deals(np.arange(rounds), EVALUATION_SEED)
