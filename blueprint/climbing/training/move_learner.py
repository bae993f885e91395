"""Deep Monte Carlo learning for climbing games: the network, and from what was played to gradient steps.

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
from torch import Tensor, nn
from torch.nn import functional as F

from blueprint.climbing.move_config import ClimbingConfig
from blueprint.climbing.move_inputs import MoveInputs
from blueprint.game_lockstep import PlayRecord
from blueprint.layers.fast_moves import FastCritic, FastMoves, fast_moves
from blueprint.layers.fused import MoveHead, Tower
from blueprint.learning.learner import BaseLearner, Losses, arrays_of
from blueprint.paper_parts import paper_part
from blueprint.soft_choices import TopChoices
from blueprint.structured import Columns
from games.support.array_types import Array, Ints


class MoveNetwork(MoveHead):
    """V(I) by a tower that runs once a decision, A(I, a) by a head for each move; Q is their sum."""

    def __init__(self, inputs: MoveInputs, config: ClimbingConfig) -> None:
        super().__init__()
        self.tower = Tower(inputs.seat_bits, config.state, config.blocks)
        self.value = nn.Linear(config.state, 1)
        self._begin_head(config.state, inputs.move_bits, config.action, config.action_blocks)

    def values(self, h: Tensor) -> Tensor:
        """Return V, [n], from the tower's output."""
        found: Tensor = self.value(h).squeeze(-1)
        return found


def move_network(inputs: MoveInputs, config: ClimbingConfig) -> MoveNetwork:
    """Return a new network of a configuration."""
    kind = MoveNetwork
    if config.hands or config.personality or config.recognise:
        kind = paper_part("climbing network")
    return kind(inputs, config)


class HandCritic(nn.Module):
    """What all hands are worth to who looks, from a seat's view and the others' hands."""

    def __init__(self, inputs: MoveInputs, width: int) -> None:
        super().__init__()
        self.tower = Tower(inputs.seat_bits + inputs.hidden_bits, width, 2)
        self.value = nn.Linear(width, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return [n] values from [n, seat_bits + hidden_bits]."""
        found: Tensor = self.value(self.tower(x)).squeeze(-1)
        return found


@dataclass(frozen=True, eq=False)
class MoveSamples(Columns):
    """Decisions with what they led to.

    states, actions, seats: of `PlayRecord`. worth: [n, seats] float32, what the round came to for each seat,
    in the target's unit. baseline: [n] float32, what the critic expected for who decided; 0 without one.
    choices: what was chosen among, where a policy learns. types: [n, seats] whose rule each seat played by,
    where they played by personalities, from the seat that decides on.
    """

    states: Array
    actions: Array
    seats: Ints
    worth: NDArray[np.float32]
    baseline: NDArray[np.float32]
    choices: TopChoices | None = None
    types: Ints | None = None


class MoveLearner(BaseLearner):
    """The network, its critic and their optimiser; `mean_network` and `mean_critic` play and value."""

    in_order = False

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
        self.weighed |= {"policy": config.policy, "hands": config.hands}
        self.weighed |= {"types": config.recognise, "personality": config.labels}

    def snapshot(self) -> FastMoves:
        """Return the network as it plays now: by the mean of the weights, or, for a policy, by these."""
        playing = self.network if self.config.policy else self.mean_network
        return fast_moves(self.inputs, arrays_of(playing, "network."), half=self.half)

    def samples(
        self,
        played: PlayRecord,
        worth: NDArray[np.float64],
        choices: TopChoices | None = None,
        types: Ints | None = None,
    ) -> MoveSamples:
        """Return what is learned of some rounds. worth: [rounds, seats], in the target's unit.

        choices: what was chosen among at each of the decisions, where a policy learns. types: [rounds, seats]
        whose rule each seat played by, of PERSONALITIES, where there were any.
        """
        baseline = np.zeros(len(played), np.float32)
        if self.mean_critic is not None and len(played):
            critic = FastCritic(self.inputs, arrays_of(self.mean_critic, "critic."), half=self.half)
            baseline = critic.values(played.states, played.seats)
        each = worth[played.rounds].astype(np.float32)
        own = None if types is None else paper_part("labels")(types, played.rounds, played.seats)
        return MoveSamples(played.states, played.actions, played.seats, each, baseline, choices, own)

    def losses(self, samples: MoveSamples) -> Losses:
        """Return the mean losses of a batch."""
        inputs, states, seats, config = self.inputs, samples.states, samples.seats, self.config
        n, choices = len(samples), samples.choices
        rows = np.arange(n)
        # others look on as well, so that V is known where they do not act
        onlookers = rows[: round(config.views * n)]
        players = inputs.game.num_players
        others = (seats[onlookers] + self.rng.integers(1, players, len(onlookers))) % players
        who, looks = np.concatenate([rows, onlookers]), np.concatenate([seats, others])
        x = np.empty((len(who), inputs.seat_bits), np.uint8)
        inputs.write_seats(states, who, looks, x)
        worth = torch.from_numpy(samples.worth[who, looks])
        h = self.network.tower(self.tensor(x))
        v = self.network.values(h).float()
        baseline = torch.from_numpy(samples.baseline) if self.critic is not None else v[:n].detach()
        target = worth[:n] - baseline
        found = dict.fromkeys(("critic", "hands", "policy"), torch.zeros(()))
        if choices is None:
            a = self.network.advantages(h[:n], self._moves(samples, samples.actions, 1)).float()
        else:
            moves = self._moves(samples, choices.actions.reshape(-1), choices.actions.shape[1])
            a, found["policy"] = self.played(h[:n], moves, choices, target, torch.ones(n))
        found |= {"advantage": F.mse_loss(a, target), "value": F.mse_loss(v, worth)}
        hidden = np.empty((n, inputs.hidden_bits), np.uint8)
        if self.critic is not None or config.hands:
            inputs.write_hidden(states, rows, seats, hidden)
        if self.critic is not None:
            seen = self.critic(self.tensor(np.concatenate([x[:n], hidden], 1))).float()
            found["critic"] = F.mse_loss(seen, worth[:n])
        if config.hands or samples.types is not None:
            moves_again = partial(self._moves, samples, samples.actions, 1)
            found |= self.network.missed(h[:n], hidden, samples.types, moves_again)
        return found

    def _moves(self, samples: MoveSamples, actions: Array, k: int) -> Tensor:
        """Return the inputs of moves, [k n, move_bits], k of them a decision."""
        n = len(samples)
        moves = np.empty((n * k, self.inputs.move_bits), np.uint8)
        offsets, words = k * np.arange(n + 1), self.inputs.words(actions)
        self.inputs.write_moves(samples.states, np.arange(n), samples.seats, offsets, words, moves)
        return self.tensor(moves)
