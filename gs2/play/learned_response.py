"""A best responder for games of any size: a network trained by Deep Monte Carlo against the frozen agent.

The loop is that of `gs2 train`, with the agent as the other team of every game. Where the agent is such a
network itself the responder starts from its weights, in its unit of payoffs: it only learns where to differ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from blueprint.checkpoint import read_checkpoint
from blueprint.climbing.climbing_blueprint import ClimbingBlueprint, described_play
from blueprint.climbing.move_config import ClimbingConfig
from blueprint.climbing.move_trainer import MoveTrainer
from blueprint.layers.fast_moves import FastMoves
from blueprint.learning.base_trainer import BaseTrainer
from blueprint.learning.run import RunLimits, RunManner, RunPlace, train
from blueprint.protocol import Agent, Blueprint, agent_name, agent_of, blueprint_of
from blueprint.research.game_network import GameNetwork, GameNetworkConfig
from blueprint.research.game_training import GameTrainer
from blueprint.research.infoset_features import feature_kind
from games.game import Game
from games.support.array_types import Array
from games.support.work.executor import on_one_core

T = TypeVar("T", bound=BaseTrainer)
TEMPERATURE, EPSILON, RATE = 0.01, 0.05, 5e-4
"""Of the responder's play and learning: against one fixed opponent it may settle sooner than in self-play."""
BEST = 1e-12
"""The temperature at which it plays in the end: its best move."""
MOVES: dict[str, Any] = {"temperature": 0.03, "cooling": 1e14, "learning_rate": 2e-4, "average": 0.2}
MOVES |= {"rounds": 1024, "recipe": "", "prune": -1, "critic": 0, "personality": 0}
MOVES |= dict.fromkeys(("guide", "policy", "hands", "recognise", "personas"), 0.0)
"""The same where moves are inputs. V is the baseline, and the agent's at first; a critic would be new."""


@dataclass(frozen=True)
class Lesson:
    """How long a network learns to answer an agent, and who looks on.

    minutes: of training; generations: instead, for a run that can be repeated. seed: of everything random.
    output: checkpoint to write at the end, which plays as an agent. progress: called with the number of games
        and the seconds so far.
    """

    minutes: float = 5.0
    generations: int | None = None
    seed: int = 0
    output: Path | None = None
    progress: Callable[[int, float], None] = lambda games, seconds: None

    def learn(self, trainer: T, games: str) -> T:
        """Return a trainer once the lesson is over, saved at the output. games: their name in a row."""
        limits = (
            RunLimits(minutes=self.minutes)
            if self.generations is None
            else RunLimits(generations=self.generations)
        )
        with on_one_core():  # small layers: threads cost more than they bring
            train(
                None,
                lambda path: trainer,
                limits,
                RunManner(progress=lambda row: self.progress(row[games], row["seconds"])),
            )
        if self.output is not None:
            trainer.save(self.output)
        return trainer


def responder_config(model: Agent | Blueprint) -> GameNetworkConfig:
    """Return the network of a responder: of the shape of the agent's own if it is one."""
    network = blueprint_of(agent_of(model))
    shape = network.config if isinstance(network, GameNetwork) else GameNetworkConfig()
    return shape.replace(temperature=TEMPERATURE, epsilon=EPSILON, learning_rate=RATE, learner="dmc")


def learned_responder(
    game: Game, model: Agent | Blueprint, lesson: Lesson, *, config: GameNetworkConfig | None = None
) -> Agent:
    """Return the best responder that a network learns to be against an agent. It plays its best move.

    config: of the network, None for that of `responder_config`; a game whose moves are inputs takes none.
    With a number of generations the same seed gives the same responder.
    Raises GameError for a game that no network can be trained on, CheckpointError as `RunPlace.check`.
    """
    model = agent_of(model)
    if lesson.output is not None:
        RunPlace.with_state(lesson.output).check()
    if getattr(game, "moves_are_inputs", False):
        return _responder_by_moves(game, model, lesson)
    config = (config or responder_config(model)).replace(seed=lesson.seed % (1 << 62))
    rng = np.random.default_rng([lesson.seed, 0xBE57])
    known = blueprint_of(model)
    network = known if isinstance(known, GameNetwork) else None
    if network is not None and network.layout.features.kind != feature_kind(game, config.features):
        network = None
    layout = None if network is None else network.layout
    trainer = GameTrainer(game, config, rng=rng, rival=model, layout=layout)
    if network is not None:
        arrays = network.weights.arrays.items()  # a policy's scores are not learned
        trainer.learner.start_from({f"network.{k}": v for k, v in arrays if not k.startswith("policy.")})
    found = lesson.learn(trainer, "games").network(name=f"responder to {agent_name(model)}")
    found.temperature = BEST
    return agent_of(found)


def _responder_by_moves(game: Game, model: Agent, lesson: Lesson) -> Agent:
    """Return the same in a game whose moves are inputs of the network."""
    blueprint = blueprint_of(model)
    path = blueprint.source if isinstance(blueprint, ClimbingBlueprint) else None
    tensors: dict[str, Array] = {}
    config = ClimbingConfig()
    if path is not None:
        tensors, description = read_checkpoint(path, prefix="network.")
        config = described_play(path, description, game)[0]
    trainer = MoveTrainer(game, config.replace(**MOVES, seed=lesson.seed % (1 << 62)), rival=model)
    if trainer.learner.start_from(tensors):
        trainer.learner.stake = float(description["stake"])
    lesson.learn(trainer, "rounds")
    network = FastMoves(trainer.inputs, trainer.learner.tensors(), half=False)
    return agent_of(ClimbingBlueprint(network, trainer.stake, name=f"responder to {agent_name(model)}"))
