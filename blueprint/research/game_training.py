"""Training on a game of any size: self-play in lockstep, and a small network that learns from it.

    train_game_network(game, rng, Budget(minutes=8), files=TrainingFiles(Path("liars5.safetensors")))

No game is listed: the network is asked at every state. It learns action values from Monte-Carlo returns
(Deep Monte Carlo), or a policy (`blueprint.research.policy_learning`). Against a `Rival` the same loop trains
a best responder.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor
from torch.nn import functional as F

from blueprint.checkpoint import CheckpointError, check_beside, check_description, read_checkpoint
from blueprint.research.game_network import (
    GameNetwork,
    GameNetworkConfig,
    NetworkLayout,
    NetworkWeights,
    read_game_network,
    save_game_network,
)
from blueprint.research.game_selfplay import Decided, Rival, play_generation
from blueprint.research.game_tower import Tower, TowerWeights
from blueprint.research.policy_learning import PolicyLearner
from games.game import Game, GameError
from games.support.array_types import Array
from games.support.configuration import ConfigError
from games.support.work.executor import on_one_core

__all__ = ["Budget", "GameTrainer", "TrainingFiles", "check_files", "state_file", "train_game_network"]

Progress = Callable[[dict[str, float]], None]
FIRST_SMOOTHING = 10.0
"""The smoothed weights forget the first steps: after s of them a step keeps at most s / (s + 10)."""
FIRST_POLICY = 3.0
"""The same for a policy that is learned: it goes around its equilibrium, and its mean is nearer."""


@dataclass(frozen=True)
class Budget:
    """When training ends: after `decisions` decisions of self-play or `minutes`, whichever comes first.

    Raises ConfigError where neither is given.
    """

    decisions: int | None = None
    minutes: float | None = None

    def __post_init__(self) -> None:
        if self.decisions is None and self.minutes is None:
            raise ConfigError("Budget: decisions or minutes must say when training ends; got neither")

    def used(self, decisions: int, seconds: float) -> float:
        """Return the share of the budget that is used up."""
        return max(
            0.0 if self.decisions is None else decisions / self.decisions,
            0.0 if self.minutes is None else seconds / (60 * self.minutes),
        )


@dataclass(frozen=True)
class TrainingFiles:
    """Where a training is kept, and who is told of it.

    output: checkpoint to write; beside it lies the file from which the training goes on (`state_file`).
    resume: go on from there if there is one. every: seconds between checkpoints.
    progress: called after each generation with its numbers. stop: asked after each; True ends the training.
    measure: returns how exploitable a network is, in payoffs; asked `times` times over the training, and kept
        in the checkpoint as `curve`, rows of (decisions, exploitability).
    """

    output: Path | None = None
    resume: bool = False
    every: float = 30.0
    progress: Progress | None = None
    stop: Callable[[], bool] = lambda: False
    measure: Callable[[GameNetwork], float] | None = None
    times: int = 0


NOWHERE = TrainingFiles()


def state_file(output: str | Path) -> Path:
    """Return the file from which a training that writes `output` goes on."""
    output = Path(output)
    return output.with_name(f"{output.stem}.state.safetensors")


def check_files(output: Path, *, resume: bool = False) -> None:
    """Raise CheckpointError where a training that writes `output` would write over files of something else.

    resume: its state is there, and it goes on from it.
    """
    state = state_file(output)
    if resume and output.exists():
        read_checkpoint(output, prefix="-")
    check_beside(output, new=() if resume else (state,))
    check_beside(state)


class GameTrainer:
    """A network in training. decisions, games, generations, seconds: how much so far."""

    def __init__(
        self, game: Game, config: GameNetworkConfig, *, rival: Rival | None = None, device: str = "cpu"
    ) -> None:
        """Begin with random parameters. rival: somebody fixed to answer; else self-play. device: torch's."""
        self.config, self.rival, self.device = config, rival, torch.device(device)
        self.layout = NetworkLayout.of(game, config)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self._begin()
        self.smooth = {name: value.detach().clone() for name, value in self.tower.state_dict().items()}
        self.replay: list[Decided] = []
        self.decisions = self.games = self.generations = self.steps = 0
        self.seconds = 0.0
        self.losses: dict[str, float] = {}
        self.curve: list[list[float]] = []

    def _begin(self) -> None:
        """Make the layers and their optimiser. A policy is learned with a critic beside it."""
        config, layout = self.config, self.layout
        learns = config.learner != "dmc"
        if learns and self.rival is not None:
            raise ConfigError(f"learner must be dmc against a rival; got {config.learner}; take dmc")
        self.tower = Tower(layout.features.width, layout.columns.count, config, policy=learns).to(self.device)
        self.learner = PolicyLearner(layout, config, self.device) if learns else None
        groups: list[dict[str, Any]] = [{"params": [*self.tower.parameters()], "rate": config.learning_rate}]
        if self.learner is not None:
            groups.append({"params": [*self.learner.critic.parameters()], "rate": config.critic_rate})
        self.optimiser = torch.optim.Adam(groups, lr=config.learning_rate, fused=True)

    def _layers(self) -> dict[str, Tensor]:
        """Return what a training goes on from, by name: the last weights, and those of a critic."""
        layers = {f"last.{name}": value for name, value in self.tower.state_dict().items()}
        if self.learner is not None:
            critic = self.learner.critic.state_dict()
            layers |= {f"critic.{name}": value for name, value in critic.items()}
        return layers

    def network(self, *, smooth: bool = True, name: str = "network") -> GameNetwork:
        """Return the blueprint as it is now. smooth: by the smoothed weights, otherwise by the last ones."""
        return GameNetwork(self.layout, NetworkWeights(self._weights(smooth)), self.config, name)

    def _player(self) -> GameNetwork:
        """Return who plays: the last weights, asked on the device where they are if that is a GPU."""
        if self.device.type == "cpu":
            return self.network(smooth=False)
        return GameNetwork(self.layout, TowerWeights(self.tower), self.config)

    def generation(self, rng: np.random.Generator, share: float) -> None:
        """Play games and learn from them. share: of the training that is over, in [0, 1]."""
        began = time.monotonic()
        config = self.config
        games = config.episodes
        fresh = play_generation(self._player(), games, rng, epsilon=config.epsilon, rival=self.rival)
        if len(fresh.own) == 0:
            raise GameError(
                f"{self.layout.game.name}: at least one player must have a decision to be trained; none has"
            )
        for group in self.optimiser.param_groups:
            group["lr"] = group["rate"] * (1 - 0.9 * min(share, 1.0))
        torch.set_grad_enabled(True)  # an interruption may have left it off
        if self.learner is None:
            self.replay = [*self.replay, fresh][-config.replay :]
            self._learn(len(fresh.own), rng)
        else:
            steps, self.losses = self.learner.learn(self.tower, self.optimiser, fresh, min(share, 1.0), rng)
            self.steps += steps
            self._smooth(steps)
        self.decisions += len(fresh.own)
        self.games += games
        self.generations += 1
        self.seconds += time.monotonic() - began

    def _learn(self, fresh: int, rng: np.random.Generator) -> None:
        """Take the gradient steps of a generation. Each sees decisions, and half as many views of others'."""
        config = self.config
        sizes = np.array([len(part.own) for part in self.replay])
        views = np.array([len(part.seen) for part in self.replay])
        steps = max(1, round(config.passes * fresh / config.batch))
        sums = torch.zeros(2, dtype=torch.float64, device=self.device)
        for _ in range(steps):
            own = _rows(sizes, config.batch, rng)
            seen = _rows(views, config.batch // 2, rng) if views.sum() else []
            x = [self.replay[k].own[at] for k, at in own] + [self.replay[k].seen[at] for k, at in seen]
            v, a, _ = self.tower(self._tensor(x).float())
            gain = self._tensor([self.replay[k].gain[at] for k, at in own])
            column = self._tensor([self.replay[k].column[at] for k, at in own])
            worth = [self._tensor([self.replay[k].worth[at]]) for k, at in seen]
            n = len(gain)
            q_loss = F.mse_loss(v[:n] + a[:n].gather(1, column[:, None]).squeeze(1), gain)
            v_loss = F.mse_loss(v, torch.cat([gain, *worth]))
            self.optimiser.zero_grad(set_to_none=True)
            (q_loss + v_loss).backward()  # type: ignore[no-untyped-call]  # of torch
            self.optimiser.step()
            self.steps += 1
            self._smooth()
            sums += torch.stack([q_loss.detach(), v_loss.detach()])
        self.losses = dict(zip(("q_loss", "v_loss"), (sums / steps).tolist(), strict=True))

    def _tensor(self, parts: list[Array]) -> Tensor:
        return torch.from_numpy(np.concatenate(parts)).to(self.device)

    def _smooth(self, steps: int = 1) -> None:
        if not self.config.smoothing:
            return
        first = FIRST_SMOOTHING if self.learner is None else FIRST_POLICY
        share = 1 - min(self.config.smoothing**steps, 1 - steps / (steps + self.steps / first))
        with torch.no_grad():
            for name, value in self.tower.state_dict().items():
                self.smooth[name].lerp_(value, share)

    def told(self) -> dict[str, Any]:
        """Return the counters of the training."""
        return {
            "generations": self.generations,
            "decisions": self.decisions,
            "games": self.games,
            "steps": self.steps,
            "seconds": self.seconds,
            "curve": self.curve,
            **self.losses,
        }

    def save(self, output: Path, *, done: bool) -> None:
        """Write the file from which the training goes on, then the checkpoint."""
        network = self.network(name=output.stem)
        arrays = {f"network.{name}": value for name, value in self._weights(True).items()}
        told = self.told() | {"done": done}
        more = {name: value.detach().cpu().numpy() for name, value in self._layers().items()}
        moments = self.optimiser.state_dict()["state"]
        for k, entry in moments.items():
            more |= {
                f"adam.{k}.{name}": entry[name].cpu().numpy() for name in ("exp_avg", "exp_avg_sq", "step")
            }
        save_game_network(state_file(output), network, arrays | more, told)
        save_game_network(output, network, arrays, told)

    def _weights(self, smooth: bool) -> dict[str, Array]:
        state = self.smooth if smooth and self.config.smoothing else self.tower.state_dict()
        return {name: value.detach().cpu().numpy().copy() for name, value in state.items()}

    def resume(self, path: Path) -> None:
        """Go on from a file that `save` wrote. Raises CheckpointError if it is another game's or damaged."""
        network, arrays, told = read_game_network(path, self.layout.game, prefix="")
        kinds: dict[str, type] = dict.fromkeys(("generations", "decisions", "games", "steps"), int)
        check_description(path, told, kinds | {"seconds": float})
        self.config, self.layout = network.config, network.layout
        self._begin()
        own = self.tower.state_dict()
        try:
            for name, layer in self._layers().items():
                layer.copy_(torch.from_numpy(np.array(arrays[name])))
            self.smooth = {name: self._tensor([arrays[f"network.{name}"]]) for name in own}
            self._resume_moments(arrays, int(told["steps"]))
        except (KeyError, RuntimeError, ValueError) as error:
            raise CheckpointError(
                f"checkpoint: {path} must hold a training to continue; it does not ({error}); start anew"
            ) from error
        self.generations, self.decisions, self.games, self.steps = (int(told[name]) for name in kinds)
        self.seconds = float(told["seconds"])
        self.curve = [[float(number) for number in row] for row in told.get("curve", ())]

    def _resume_moments(self, arrays: dict[str, Array], steps: int) -> None:
        state: dict[int, dict[str, Tensor]] = {}
        parameters = [value for group in self.optimiser.param_groups for value in group["params"]]
        for k, value in enumerate(parameters):
            moments = {
                n: torch.from_numpy(np.array(arrays[f"adam.{k}.{n}"])) for n in ("exp_avg", "exp_avg_sq")
            }
            if any(moment.shape != value.shape for moment in moments.values()):
                raise ValueError(f"moments of parameter {k} have another shape")
            step = arrays.get(f"adam.{k}.step", np.float32(steps))
            state[k] = {"step": torch.tensor(float(step)), **moments}
        self.optimiser.load_state_dict(self.optimiser.state_dict() | {"state": state})


def _rows(
    sizes: np.ndarray[Any, Any], count: int, rng: np.random.Generator
) -> list[tuple[int, np.ndarray[Any, Any]]]:
    """Return `count` random rows of parts of these sizes, as (part, rows) pairs."""
    ends = np.cumsum(sizes)
    at = np.sort(rng.integers(0, ends[-1], count))
    part = np.searchsorted(ends, at, side="right")
    starts = ends - sizes
    return [(int(k), at[part == k] - starts[k]) for k in np.unique(part)]


def train_game_network(
    game: Game,
    rng: np.random.Generator,
    budget: Budget,
    *,
    config: GameNetworkConfig | None = None,
    files: TrainingFiles = NOWHERE,
    rival: Rival | None = None,
    device: str = "cpu",
) -> GameNetwork:
    """Return the blueprint that training within a budget comes to, counting what came before a resume.

    config: None is that of the resumed training, or the default. rival: somebody fixed to answer. device: of
    torch, where it learns.
    With a budget of decisions alone the same `rng` and configuration give the same blueprint.
    Raises GameError for a game that cannot be trained on, CheckpointError for a file that cannot be resumed
    and as `check_files`.
    """
    trainer = GameTrainer(game, config or GameNetworkConfig(), rival=rival, device=device)
    output = files.output
    if output is not None:
        goes_on = files.resume and state_file(output).exists()
        check_files(output, resume=goes_on)
        if goes_on:
            trainer.resume(state_file(output))
    saved = time.monotonic()
    stopped = False
    with threadpool_limits(1), on_one_core():  # small layers: threads cost more than they bring
        while (share := budget.used(trainer.decisions, trainer.seconds)) < 1 and not stopped:
            trainer.generation(rng, share)
            stopped = files.stop()
            share = budget.used(trainer.decisions, trainer.seconds)
            if files.measure is not None and share * files.times >= len(trainer.curve) + 1:
                trainer.curve.append([trainer.decisions, files.measure(trainer.network())])
            if output is not None and time.monotonic() - saved >= files.every:
                trainer.save(output, done=False)
                saved = time.monotonic()
            if files.progress is not None:
                files.progress(trainer.told() | {"share": share})
    if output is not None:
        trainer.save(output, done=not stopped)
    return trainer.network(name=output.stem if output is not None else "network")
