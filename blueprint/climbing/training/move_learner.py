"""Deep Monte Carlo learning for climbing games: from what was played to gradient steps.

The head of the moves learns from `return - critic(all hands)`. What the critic expects does not depend on the
move taken, so that it only takes the luck of the deal off: the mean, given what the seat knows, stays
Q(I, a) - V(I), a control variate. The critic is asked before it learns from the same rounds. Without a
critic, V(I) stands in its place: plain Deep Monte Carlo. Where seats played by personalities, a head learns
whose move it was (PDHQN, section 3.5), and another by whose rule the others play.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from blueprint.choosing import TopChoices
from blueprint.climbing.fast_moves import FastCritic, FastMoves, fast_moves
from blueprint.climbing.move_config import ClimbingConfig
from blueprint.climbing.move_inputs import MoveInputs
from blueprint.climbing.move_network import HandCritic, move_network
from blueprint.climbing.training.climbing_play import MoveRecord
from blueprint.layers.bfloat import native_half
from blueprint.learning.learner import BaseLearner, arrays_of, decayed, drawn_rows, looking_back
from blueprint.paper_parts import paper_part
from games.support.array_types import Array, Ints

__all__ = ["MoveLearner", "MoveSamples"]


@dataclass(frozen=True, eq=False)
class MoveSamples:
    """Decisions with what they led to.

    states, words, seats: of `MoveRecord`. worth: [n, seats] float32, what the round came to for each seat,
    in the target's unit. baseline: [n] float32, what the critic expected for who decided; 0 without one.
    choices: what was chosen among, where a policy learns. types: [n, seats] whose rule each seat played by,
    where they played by personalities, from the seat that decides on.
    """

    states: Array
    words: Ints
    seats: Ints
    worth: NDArray[np.float32]
    baseline: NDArray[np.float32]
    choices: TopChoices | None = None
    types: Ints | None = None

    def __len__(self) -> int:
        """Return the number of decisions."""
        return len(self.seats)

    def take(self, rows: Ints) -> MoveSamples:
        """Return some of the decisions."""
        choices = None if self.choices is None else self.choices.take(rows)
        return MoveSamples(
            self.states[rows],
            self.words[rows],
            self.seats[rows],
            self.worth[rows],
            self.baseline[rows],
            choices,
            None if self.types is None else self.types[rows],
        )


class MoveLearner(BaseLearner):
    """The network, its critic and their optimiser; `mean_network` and `mean_critic` play and value."""

    def __init__(self, inputs: MoveInputs, config: ClimbingConfig) -> None:
        self.inputs, self.config = inputs, config
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            network: Any = move_network(inputs, config)
            critic = HandCritic(inputs, config.critic) if config.critic else None
        known = [*network.parameters(), *(() if critic is None else critic.parameters())]
        averaged = config.average > 0
        super().__init__(network, critic, ((known, 1.0),), means=(averaged, averaged))
        self.temperature = config.temperature
        # half precision pays where the processor multiplies it natively
        self.half = native_half()

    def snapshot(self) -> FastMoves:
        """Return the network as it plays now: by the mean of the weights, or, for a policy, by these."""
        playing = self.network if self.config.policy else self.mean_network
        return fast_moves(self.inputs, arrays_of(playing, "network."), half=self.half)

    def samples(
        self, played: MoveRecord, worth: NDArray[np.float64], choices: TopChoices | None = None
    ) -> MoveSamples:
        """Return what is learned of some rounds. worth: [rounds, seats], in the target's unit.

        choices: what was chosen among at each of the decisions, where a policy learns.
        """
        baseline = np.zeros(len(played), np.float32)
        if self.mean_critic is not None and len(played):
            critic = FastCritic(self.inputs, arrays_of(self.mean_critic, "critic."), half=self.half)
            baseline = critic.values(played.states, played.seats)
        each = worth[played.rounds].astype(np.float32)
        types = None
        if played.types is not None:
            types = paper_part("labels")(played.types, played.rounds, played.seats)
        return MoveSamples(played.states, played.words, played.seats, each, baseline, choices, types)

    def learn(
        self, samples: MoveSamples, rng: np.random.Generator, decisions: int, steps: int
    ) -> dict[str, float]:
        """Take the gradient steps of a generation; return mean losses.

        decisions: trained so far. steps: moves played for these decisions, forced ones included.
        """
        config = self.config
        number = max(1, round(config.passes * len(samples) / config.batch))
        sums: dict[str, float] = {}
        for rows in drawn_rows(len(samples), min(config.batch, len(samples)), number, rng):
            for name, loss in self._learned(samples.take(rows), rng, decisions).items():
                sums[name] = sums.get(name, 0.0) + loss / number
            self.follow(looking_back(config.average, decisions, steps / number))
        return sums

    def _learned(self, samples: MoveSamples, rng: np.random.Generator, decisions: int) -> dict[str, float]:
        """Take one gradient step; return its losses."""
        self.optimiser.zero_grad(set_to_none=True)
        with torch.enable_grad(), torch.autocast("cpu", torch.bfloat16, enabled=self.half):
            losses = self._losses(samples, rng)
            total = losses["advantage"] + 0.5 * losses["value"] + losses["critic"]
            config = self.config
            weights = {"hands": config.hands, "personality": config.labels, "types": config.recognise}
            for name, weight in (weights | {"policy": config.policy}).items():
                if name in losses:
                    total = total + weight * losses[name]
        total.backward()  # type: ignore[no-untyped-call]  # of torch
        self.step(decayed(self.config.learning_rate, decisions, self.config.halving))
        return {name: float(loss.detach()) for name, loss in losses.items()}

    def _losses(self, samples: MoveSamples, rng: np.random.Generator) -> dict[str, Tensor]:
        inputs, states, seats = self.inputs, samples.states, samples.seats
        n = len(samples)
        rows = np.arange(n)
        # others look on as well, so that V is known where they do not act
        onlookers = rows[: round(self.config.views * n)]
        players = inputs.game.num_players
        others = (seats[onlookers] + rng.integers(1, players, len(onlookers))) % players
        who, looks = np.concatenate([rows, onlookers]), np.concatenate([seats, others])
        x = np.empty((len(who), inputs.seat_bits), np.uint8)
        inputs.write_seats(states, who, looks, x)
        worth = torch.from_numpy(samples.worth[who, looks])
        h = self.network.tower(self._tensor(x))
        v = self.network.values(h).float()
        baseline = torch.from_numpy(samples.baseline) if self.critic is not None else v[:n].detach()
        target = worth[:n] - baseline
        a, policy = self._advantages(samples, h[:n], target)
        found = {
            "advantage": F.mse_loss(a, target),
            "value": F.mse_loss(v, worth),
            "critic": torch.zeros(()),
            "hands": torch.zeros(()),
            "policy": policy,
        }
        hidden = np.empty((n, inputs.hidden_bits), np.uint8)
        if self.critic is not None or self.config.hands:
            inputs.write_hidden(states, rows, seats, hidden)
        if self.critic is not None:
            seen = self.critic(self._tensor(np.concatenate([x[:n], hidden], 1))).float()
            found["critic"] = F.mse_loss(seen, worth[:n])
        if self.config.hands or samples.types is not None:
            moves = partial(self._moves, samples, samples.words, 1)
            found |= self.network.missed(h[:n], hidden, samples.types, moves)
        return found

    def _moves(self, samples: MoveSamples, words: Ints, k: int) -> Tensor:
        """Return the inputs of moves, [k n, move_bits], k of them a decision."""
        n = len(samples)
        moves = np.empty((n * k, self.inputs.move_bits), np.uint8)
        offsets = k * np.arange(n + 1)
        self.inputs.write_moves(samples.states, np.arange(n), samples.seats, offsets, words, moves)
        return self._tensor(moves)

    def _advantages(self, samples: MoveSamples, h: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return A of the moves taken, [n], and the loss of the policy over those chosen among."""
        n, choices = len(samples), samples.choices
        k = 1 if choices is None else choices.actions.shape[1]
        words = samples.words if choices is None else np.ascontiguousarray(choices.actions.reshape(-1))
        moves = self._moves(samples, words, k)
        if choices is None:
            return self.network.advantages(h, moves).float(), torch.zeros(())
        of = torch.arange(n).repeat_interleave(k)
        each = self.network.advantages(h, moves, of).float().view(n, k)
        a = each.gather(1, torch.from_numpy(choices.picked)[:, None])[:, 0]
        config = self.config
        at = self.temperature, config.policy_clip
        return a, paper_part("policy loss")(each, choices, target, *at, torch.ones(n)).mean()

    def _tensor(self, rows: NDArray[np.uint8]) -> Tensor:
        given = torch.from_numpy(rows)
        return given.bfloat16() if self.half else given.float()

    def start_from(self, tensors: dict[str, Array]) -> bool:
        """Take the weights `network.*` of another network of the same layers; return whether it was one."""
        own = {f"network.{name}": tuple(value.shape) for name, value in self.network.state_dict().items()}
        if own != {name: value.shape for name, value in tensors.items() if name.startswith("network.")}:
            return False
        state = {
            name: torch.from_numpy(np.array(tensors[f"network.{name}"], np.float32))
            for name in self.network.state_dict()
        }
        for module in (self.network, self.mean_network):
            module.load_state_dict(state)
        return True
