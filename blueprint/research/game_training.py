"""Training on a game of any size: self-play in lockstep, and a small network that learns from it.

    train_game_network(game, rng, RunLimits(minutes=8), output="liars5.safetensors")

No game is listed: the network is asked at every state. It learns action values from Monte-Carlo returns
(Deep Monte Carlo), or a policy (`blueprint.research.policy_learning`). Against a rival the same loop trains a
best responder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from blueprint.checkpoint import check_description, write_checkpoint
from blueprint.learning.base_trainer import BaseTrainer
from blueprint.learning.learner import arrays_of
from blueprint.learning.run import PLAIN, RunLimits, RunManner, RunPlace, train
from blueprint.protocol import Agent
from blueprint.research.game_network import (
    GameNetwork,
    GameNetworkConfig,
    NetworkLayout,
    NetworkWeights,
    network_description,
    read_game_network,
)
from blueprint.research.game_selfplay import Decided, play_generation
from blueprint.research.policy_learning import GameLearner, PolicyLearner, TowerWeights
from games.game import Game, GameError
from games.support.array_types import Array
from games.support.configuration import ConfigError
from games.support.work.executor import on_one_core


class GameTrainer(BaseTrainer):
    """The trainer of a small game. games, steps: how many so far, and how many gradient steps.

    curve: rows of (decisions, exploitability), kept in the checkpoint.
    """

    learner: GameLearner
    COUNTED: ClassVar[dict[str, type]] = {
        "generation": int,
        "decisions": int,
        "games": int,
        "steps": int,
        "seconds": float,
        "processor_seconds": float,
    }

    def __init__(
        self,
        game: Game,
        config: GameNetworkConfig,
        *,
        rng: np.random.Generator | None = None,
        rival: Agent | None = None,
        device: str = "cpu",
        layout: NetworkLayout | None = None,
    ) -> None:
        """Begin with random parameters.

        rng: of play and learning; None for one of the configuration's seed. rival: somebody fixed to answer;
        else self-play. device: torch's. layout: None for that of a new training.
        """
        super().__init__()
        self.config, self.rival, self.device = config, rival, torch.device(device)
        self.rng = np.random.default_rng([config.seed, 0]) if rng is None else rng
        if rival is not None and config.learner != "dmc":
            raise ConfigError(f"learner must be dmc against a rival; got {config.learner}; take dmc")
        self.layout = layout or NetworkLayout.of(game, config)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            kind = GameLearner if config.learner == "dmc" else PolicyLearner
            self.learner = kind(self.layout, config, self.device)
        self.games = self.steps = 0
        self.losses: dict[str, float] = {}
        self.curve: list[list[float]] = []
        self.measure: Callable[[GameNetwork], float] | None = None
        self.times = 0

    @classmethod
    def begun(
        cls,
        path: Path | None,
        game: Game,
        config: GameNetworkConfig | None = None,
        *,
        rng: np.random.Generator | None = None,
        device: str = "cpu",
        measure: Callable[[GameNetwork], float] | None = None,
        times: int = 0,
    ) -> GameTrainer:
        """Return a new trainer, or for a path the one that a checkpoint holds, whose configuration stays.

        rng: None for one of the seed and the generations so far. measure: returns how exploitable a network
        is, in payoffs; asked `times` times over the training.
        Raises CheckpointError for a file of another game or a damaged one.
        """
        if path is None:
            trainer = cls(game, config or GameNetworkConfig(), rng=rng, device=device)
        else:
            network, arrays, told = read_game_network(path, game, prefix="")
            check_description(path, told["config"], dict.fromkeys(GameNetworkConfig.defaults(), object))
            config = network.config
            trainer = cls(game, config, rng=rng, device=device, layout=network.layout)
            trainer.recall(path, {**told, "generation": told.get("generations")}, config.seed)
            trainer.learner.taken = trainer.steps
            trainer.learner.restore(arrays, path)
            trainer.curve = [[float(number) for number in row] for row in told.get("curve", ())]
            if rng is None:
                trainer.rng = np.random.default_rng([config.seed, trainer.generation])
        trainer.measure, trainer.times = measure, times
        return trainer

    def network(self, *, smooth: bool = True, name: str = "network") -> GameNetwork:
        """Return the blueprint as it is now. smooth: by the smoothed weights, otherwise by the last ones."""
        module = self.learner.mean_network if smooth else self.learner.network
        return GameNetwork(self.layout, NetworkWeights(arrays_of(module)), self.config, name)

    def _player(self) -> GameNetwork:
        """Return who plays: the last weights, asked on the device where they are."""
        return GameNetwork(self.layout, TowerWeights(self.learner.network), self.config)

    def play(self) -> tuple[list[Decided], int, dict[str, Any]]:
        """Play games; return what they teach, and the network's decisions."""
        config = self.config
        fresh = play_generation(
            self._player(), config.episodes, self.rng, epsilon=config.epsilon, rival=self.rival
        )
        if len(fresh) == 0:
            raise GameError(
                f"{self.layout.game.name}: at least one player must have a decision to be trained; none has"
            )
        self.games += config.episodes
        return [fresh], len(fresh), {}

    def learn_pending(self) -> dict[str, float]:
        """Learn from the generation that was played; return mean losses."""
        self.learner.share = min(self.share, 1.0)
        losses = super().learn_pending()
        self.steps, self.losses = self.learner.taken, losses or self.losses
        return losses

    @contextmanager
    def working(self) -> Iterator[None]:
        """Use one core: the layers are small, and threads cost more than they bring."""
        with on_one_core():
            yield

    def evaluation_due(self) -> dict[str, Any]:
        """Measure the network if this generation passed a time to, and return the curve."""
        due = int(self.share * self.times) > int(self.learner.share * self.times)
        if self.measure is not None and due:
            self.curve.append([self.decisions, self.measure(self.network())])
        return {"curve": self.curve}

    def told(self) -> dict[str, Any]:
        """Return the counters of the training."""
        counted = self.counted()
        return {"generations": counted.pop("generation"), **counted, "curve": self.curve, **self.losses}

    def row(self, steps: int, seconds: float, playing: float) -> dict[str, Any]:
        """Return the counters."""
        return self.told()

    def describe(self) -> dict[str, Any]:
        """Return what a checkpoint says of its network."""
        return network_description(self.layout, self.config)

    def checkpoint(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Return the tensors and the description of a checkpoint; a resumed one has a random stream anew."""
        told = self.told() | {"curve": [*self.curve], "done": self.share >= 1}
        return self.learner.tensors(), self.describe() | told

    def write(self, path: Path, tensors: dict[str, Array], description: dict[str, Any]) -> None:
        """Write the file from which the training goes on, then the one that only plays."""
        write_checkpoint(RunPlace.with_state(path).state, tensors, description)
        playing = {name: value for name, value in tensors.items() if name.startswith("network.")}
        write_checkpoint(path, playing, description)


def train_game_network(
    game: Game,
    rng: np.random.Generator,
    limits: RunLimits,
    *,
    config: GameNetworkConfig | None = None,
    output: str | Path | None = None,
    manner: RunManner = PLAIN,
) -> GameNetwork:
    """Return the blueprint that training within limits produces, counting what came before a resume.

    config: None is that of the resumed training, or the default. output: checkpoint to write, with the
    training beside it; None keeps nothing.
    With a limit of decisions alone the same `rng` and configuration give the same blueprint.
    Raises GameError for a game that cannot be trained on, and as `blueprint.learning.run.train`.
    """
    place = None if output is None else RunPlace.with_state(output)
    begin = partial(GameTrainer.begun, game=game, config=config, rng=rng)
    name = "network" if place is None else place.checkpoint.stem
    return train(place, begin, limits, manner).network(name=name)
