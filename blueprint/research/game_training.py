"""Training on a game of any size: self-play in lockstep, and a small network that learns from it.

    train_game_network(game, rng, RunLimits(minutes=8), output="liars5.safetensors")

No game is listed: the network is asked at every state. It learns action values from Monte-Carlo returns
(Deep Monte Carlo), or a policy (`blueprint.research.policy_learning`). Against a rival the same loop trains a
best responder.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor
from torch.nn import functional as F

from blueprint.checkpoint import write_checkpoint
from blueprint.learning.base_trainer import BaseTrainer
from blueprint.learning.learner import BaseLearner, arrays_of
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
from blueprint.research.policy_learning import GameTower, PolicyLearner, TowerWeights
from games.game import Game, GameError
from games.support.array_types import Array
from games.support.configuration import ConfigError
from games.support.work.executor import on_one_core

__all__ = ["GameTrainer", "train_game_network"]

FIRST_SMOOTHING = 10.0
"""The smoothed weights forget the first steps: after s of them a step keeps at most s / (s + 10)."""
FIRST_POLICY = 3.0
"""The same for a policy that is learned: it goes around its equilibrium, and its mean is nearer."""


class GameTrainer(BaseTrainer):
    """The trainer of a small game. games, steps: how many so far, and how many gradient steps.

    curve: rows of (decisions, exploitability), kept in the checkpoint.
    """

    COUNTED: ClassVar[dict[str, type]] = {
        "generation": int,
        "decisions": int,
        "games": int,
        "steps": int,
        "seconds": float,
    }

    def __init__(
        self,
        game: Game,
        config: GameNetworkConfig,
        *,
        rng: np.random.Generator | None = None,
        rival: Agent | None = None,
        device: str = "cpu",
    ) -> None:
        """Begin with random parameters.

        rng: of play and learning; None for one of the configuration's seed. rival: somebody fixed to answer;
        else self-play. device: torch's.
        """
        super().__init__()
        self.config, self.rival, self.device = config, rival, torch.device(device)
        self.rng = np.random.default_rng([config.seed, 0]) if rng is None else rng
        self.layout = NetworkLayout.of(game, config)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self._begin()
        self.replay: list[Decided] = []
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
        """
        trainer = cls(game, config or GameNetworkConfig(), rng=rng, device=device)
        if path is not None:
            trainer.resume(path)
            if rng is None:
                trainer.rng = np.random.default_rng([trainer.config.seed, trainer.generation])
        trainer.measure, trainer.times = measure, times
        return trainer

    def _begin(self) -> None:
        """Make the layers and their optimiser. A policy is learned with a critic beside it."""
        config, layout = self.config, self.layout
        learns = config.learner != "dmc"
        if learns and self.rival is not None:
            raise ConfigError(f"learner must be dmc against a rival; got {config.learner}; take dmc")
        tower = GameTower(layout.features.width, layout.columns.count, config, policy=learns).to(self.device)
        self.policy = PolicyLearner(layout, config, self.device) if learns else None
        critic = None if self.policy is None else self.policy.critic
        groups = [([*tower.parameters()], config.learning_rate)]
        groups += [] if critic is None else [([*critic.parameters()], config.critic_rate)]
        means = (config.smoothing > 0, False)
        self.learner = BaseLearner(tower, critic, groups, means=means, eps=1e-8, device=self.device)

    def network(self, *, smooth: bool = True, name: str = "network") -> GameNetwork:
        """Return the blueprint as it is now. smooth: by the smoothed weights, otherwise by the last ones."""
        module = self.learner.mean_network if smooth else self.learner.network
        return GameNetwork(self.layout, NetworkWeights(arrays_of(module)), self.config, name)

    def _player(self) -> GameNetwork:
        """Return who plays: the last weights, asked on the device where they are if that is a GPU."""
        if self.device.type == "cpu":
            return self.network(smooth=False)
        return GameNetwork(self.layout, TowerWeights(self.learner.network), self.config)

    def run_generation(self) -> dict[str, Any]:
        """Play games and learn from them; return the counters and losses."""
        began = time.monotonic()
        config, rng, share = self.config, self.rng, min(self.share, 1.0)
        games = config.episodes
        fresh = play_generation(self._player(), games, rng, epsilon=config.epsilon, rival=self.rival)
        if len(fresh.own) == 0:
            raise GameError(
                f"{self.layout.game.name}: at least one player must have a decision to be trained; none has"
            )
        self.learner.set_rate(1 - 0.9 * share)
        torch.set_grad_enabled(True)  # an interruption may have left it off
        if self.policy is None:
            self.replay = [*self.replay, fresh][-config.replay :]
            self._learn(len(fresh.own), rng)
        else:
            network, optimiser = self.learner.network, self.learner.optimiser
            steps, self.losses = self.policy.learn(network, optimiser, fresh, share, rng)
            self.steps += steps
            self._smooth(steps)
        self.decisions += len(fresh.own)
        self.games += games
        self.generation += 1
        self.seconds += time.monotonic() - began
        return self.told()

    @contextmanager
    def working(self) -> Iterator[None]:
        """Use one core: the layers are small, and threads cost more than they bring."""
        with threadpool_limits(1), on_one_core():
            yield

    def evaluation_due(self) -> dict[str, Any]:
        """Measure the network if it is time to, and return the curve."""
        if self.measure is not None and self.share * self.times >= len(self.curve) + 1:
            self.curve.append([self.decisions, self.measure(self.network())])
        return {"curve": self.curve}

    def _learn(self, fresh: int, rng: np.random.Generator) -> None:
        """Take the gradient steps of a generation. Each sees decisions, and half as many views of others'."""
        config, parts = self.config, self.replay
        own, column, gain, seen, worth = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("own", "column", "gain", "seen", "worth")
        )
        steps = max(1, round(config.passes * fresh / config.batch))
        sums = torch.zeros(2, dtype=torch.float64, device=self.device)
        for _ in range(steps):
            at = np.sort(rng.integers(0, len(own), config.batch))
            look = np.sort(rng.integers(0, len(seen), config.batch // 2)) if len(seen) else at[:0]
            v, a, _ = self.learner.network.answers(
                self._tensor(np.concatenate([own[at], seen[look]])).float()
            )
            gains, taken, views = self._tensor(gain[at]), self._tensor(column[at]), self._tensor(worth[look])
            n = len(gains)
            q_loss = F.mse_loss(v[:n] + a[:n].gather(1, taken[:, None]).squeeze(1), gains)
            v_loss = F.mse_loss(v, torch.cat([gains, views]))
            self.learner.optimiser.zero_grad(set_to_none=True)
            (q_loss + v_loss).backward()  # type: ignore[no-untyped-call]  # of torch
            self.learner.optimiser.step()
            self.steps += 1
            self._smooth()
            sums += torch.stack([q_loss.detach(), v_loss.detach()])
        self.losses = dict(zip(("q_loss", "v_loss"), (sums / steps).tolist(), strict=True))

    def _tensor(self, array: Array) -> Tensor:
        return torch.from_numpy(array).to(self.device)

    def _smooth(self, steps: int = 1) -> None:
        if not self.config.smoothing:
            return
        first = FIRST_SMOOTHING if self.policy is None else FIRST_POLICY
        share = 1 - min(self.config.smoothing**steps, 1 - steps / (steps + self.steps / first))
        self.learner.follow(share)

    def told(self) -> dict[str, Any]:
        """Return the counters of the training."""
        counted = self.counted()
        return {"generations": counted.pop("generation"), **counted, "curve": self.curve, **self.losses}

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

    def resume(self, path: Path) -> None:
        """Go on from a file that `save` wrote. Raises CheckpointError if it is another game's or damaged."""
        network, arrays, told = read_game_network(path, self.layout.game, prefix="")
        self.config, self.layout = network.config, network.layout
        self._begin()
        self.recall(path, {**told, "generation": told.get("generations")}, self.config.seed)
        self.learner.restore(_todays(arrays, self.steps), path)
        self.curve = [[float(number) for number in row] for row in told.get("curve", ())]


def _todays(arrays: dict[str, Array], steps: int) -> dict[str, Array]:
    """Return the arrays of a training by the names of today; the oldest do not count the steps of each."""
    named = {"last.": "learned.network.", "adam.": "optimiser."}
    found = {f"{named.get(name[:5], name[:5])}{name[5:]}": value for name, value in arrays.items()}
    moments = {name.rpartition(".")[0] for name in found if name.startswith("optimiser.")}
    return {f"{name}.step": np.array(steps, np.float32) for name in moments} | found


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
    return train(place, begin, limits, manner).network(name="network" if place is None else place.name)
