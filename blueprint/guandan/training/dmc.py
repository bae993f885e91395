"""Deep Monte-Carlo learning: from records of play to targets, from targets to gradient steps.

The advantage head learns from `return - critic(all four hands)`. The critic's value does not depend on the
action taken, so it only removes the luck of the deal from the target: the mean, given what the player knows,
stays Q(I, a) - V(I) (a control variate; perfect-information critics: Li et al. 2020, Suphx; Yang et al. 2022,
PerfectDou). With trace < 1 the return is the lambda-return through the critic's later values.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from blueprint.game_lockstep import PlayRecord
from blueprint.guandan.network.inference import Inference
from blueprint.guandan.network.inputs import OUTCOMES, PAST_WIDTH, STATE_WIDTH, encode_full, hidden_hands
from blueprint.guandan.network.q_network import Critic, TorchNetwork, held_nats, make_network
from blueprint.guandan.objective import result_worth
from blueprint.guandan.play.network_play import InferenceAgent
from blueprint.guandan.play.selfplay import GUANDAN
from blueprint.guandan.rules.split_agents import StrongAgent
from blueprint.guandan.train_config import NetworkConfig, TrainConfig
from blueprint.guandan.training.opponents import SparringAgent, league_of
from blueprint.learning.learner import Losses, arrays_of
from blueprint.learning.pieces import CriticValues, Piece, PieceLearner
from blueprint.protocol import Agent, Decisions
from blueprint.soft_choices import TopChoices
from blueprint.structured import Columns
from games.support.array_types import Array

CACHED = 1024
"""Decisions that go through the network at once on a processor: layers of more do not stay in its cache
(a batch of 4,096 takes 1.18 times as long whole, its critic's values 1.8 times)."""
LEARNED = 2 * CACHED
"""The same where gradients are added up: each part also passes over all weights and gradients."""
MOST = 1 << 16
"""Decisions at once elsewhere."""


@dataclass(frozen=True, eq=False)
class Samples(Columns):
    """Decisions with their targets.

    states: [n] STATE; actions: [n] ACTION. outcome: [n] int64, class of the payoff to the player (OUTCOMES).
    target: [n] float32, return minus baseline, what the advantage head learns. choices: what was chosen
    among, where a policy learns. share: [n] float32, probability with which each decision was kept.
    types: [n, 4] uint8, who each seat played like (PERSONALITIES), from the one that decides on; None where
    nobody played a part.
    """

    states: Array
    actions: Array
    outcome: NDArray[np.int64]
    target: NDArray[np.float32]
    share: NDArray[np.float32]
    choices: TopChoices | None = None
    types: NDArray[np.uint8] | None = None


def outcome_classes(seats: NDArray[np.int64], payoff: Array) -> NDArray[np.int64]:
    """Return the class of each payoff (OUTCOMES) to who decides, [n] int64; payoff: [n] to side 0."""
    return np.asarray(OUTCOMES[0] - (1 - 2 * (seats & 1)) * payoff, np.int64)


class Learner(PieceLearner):
    """The network, its critic and their optimiser."""

    KIND, SOFT = Samples, InferenceAgent
    inputs = GUANDAN

    def __init__(self, network: NetworkConfig, config: TrainConfig, device: torch.device) -> None:
        """Begin with random parameters.

        `temperature` is that at which a policy plays and learns.
        """
        torch.manual_seed(config.seed)
        made: Any = make_network(network).to(device)
        critic = Critic(network.critic).to(device) if network.critic and config.critic else None
        named = dict(made.named_parameters())
        fresh = [named.pop(name) for name in list(named) if name.startswith(made.grown)]
        known = [*named.values(), *(() if critic is None else critic.parameters())]
        averaged = config.average > 0
        groups = ((known, 1.0), (fresh, config.fresh))
        super().__init__(made, critic, groups, means=(averaged, averaged), device=device)
        self.memory = config.replay
        self.weighed |= {"policy": config.policy, "hands": config.hands, "moves": config.hands}
        self.weighed |= {"types": config.labels, "personality": config.labels}
        self.most = LEARNED if self.device.type == "cpu" else MOST
        self.config, self.temperature = config, config.temperature
        self.outcomes = torch.tensor(OUTCOMES, device=device)
        self._forgets = np.random.default_rng([config.seed, 1])

    @property
    def _fast(self) -> bool:
        """Whether a snapshot of the network can take the fast path."""
        return self.device.type == "cpu" and self.network.config.kind == "ours"

    @property
    def teacher(self) -> Agent:
        """The rule agent of `guide`, one for each thread."""
        return StrongAgent()

    def seated(self, agent: Agent, piece: Piece, rng: np.random.Generator) -> Agent:
        """Return who plays a piece: the network, and whom else the configuration wants."""
        agent, share = super().seated(agent, piece, rng), self.config.strangers_share
        if share == 0:
            return agent
        return SparringAgent(agent, league_of(self.config).load(rng), share, piece.rounds, rng, piece.weights)

    def snapshot(self, module: Any = None) -> Inference | TorchNetwork:
        """Return a network as it plays now: its fast path on a processor if it has one."""
        module = self.mean_network if module is None else module
        if not self._fast:
            return TorchNetwork(module, device=self.device, dtype=self.dtype)
        return Inference(arrays_of(module, "network."), critic=False, half=self.half)

    def critic_values(self) -> CriticValues | None:
        """Return the critic as it values now, [n, 7] shares of OUTCOMES; None without one.

        Without a critic the network's own value stands in, where it has one: that of weights which have not
        seen the rounds yet. Later weights know by heart how they ended, and nothing would be left to learn.
        """
        if self.mean_critic is None and not self.network.has_value:
            return None
        if self.mean_critic is None:
            own = copy.deepcopy(self.mean_network)
            return partial(
                self._results, lambda *at: own.outcomes(own.states(self.tensor(own.encode_seen(*at))))
            )
        if not self._fast:
            critic = copy.deepcopy(self.mean_critic)
            return partial(self._results, lambda *at: critic(self.tensor(encode_full(*at))))
        tensors = arrays_of(self.mean_network, "network.") | arrays_of(self.mean_critic, "critic.")
        fast = Inference(tensors, half=self.half)
        return lambda states, seats: fast.critic_results(states, np.arange(len(states)), seats)

    def _results(
        self, logits: Callable[[Array, Array], Tensor], states: Array, seats: Array
    ) -> NDArray[np.float64]:
        """Return shares of OUTCOMES for the seat's side at each state, [n, 7] float64, by their logits."""
        out = np.empty((len(states), len(OUTCOMES)))
        size = CACHED if self.device.type == "cpu" else MOST
        with torch.inference_mode(), self.precision():
            for start in range(0, len(states), size):
                rows = slice(start, start + size)
                out[rows] = F.softmax(logits(states[rows], seats[rows]).float(), 1).cpu().numpy()
        return out

    def derived(self, record: PlayRecord, payoffs: Array) -> dict[str, Array]:
        """Return the columns of samples that follow from a record. payoffs: [rounds, 4]."""
        outcome = outcome_classes(record.seats, payoffs[record.rounds, 0])
        return {"states": record.states, "actions": record.actions, "outcome": outcome}

    def worth(self, final: Array, payoffs: Array) -> NDArray[np.float64]:
        """Return what rounds were worth to each seat, [rounds, 4], in levels; arguments as there."""
        worth = result_worth(final, np.zeros(len(final), np.int64))
        paid = worth[np.arange(len(final)), np.asarray(OUTCOMES[0] - payoffs[:, 0], np.int64)]
        return paid[:, None] * np.where(np.array(self.game.teams) == 0, 1, -1)

    def valued(self, critic_values: CriticValues, record: PlayRecord) -> Array:
        """Return what the states of a record are worth to who decides, [n], in levels."""
        shares = critic_values(record.states, record.seats)
        found: Array = np.einsum("nk,nk->n", shares, result_worth(record.states, record.seats))
        return found

    def losses(self, samples: Samples) -> Losses:
        """Return the mean losses over a part of a batch: in levels squared, and in nats.

        Those of hands, moves, types and personality are there as far as the network has heads for them. What
        these learn is known in training alone; play uses it as predictions (`held`).
        """
        batch, choices, config = samples.states, samples.choices, self.config
        n = len(batch)
        seats = batch["player"].astype(np.int64)
        moves, offsets = samples.actions, np.arange(n + 1)
        if choices is not None:
            moves, offsets = choices.actions[choices.there()], np.concatenate([[0], np.cumsum(choices.count)])
        inputs = self.network.encode(Decisions(batch, np.arange(n), seats, offsets, moves))
        if self.network.config.past:
            forgets = self._forgets.random(n) < config.forgotten
            inputs[0][forgets, STATE_WIDTH : STATE_WIDTH + PAST_WIDTH] = 0
        states, actions = (self.tensor(y) for y in inputs)
        outcome = torch.from_numpy(samples.outcome).to(self.device)
        target = torch.from_numpy(samples.target).to(self.device)
        found = {name: torch.zeros((), device=self.device) for name in ("value", "critic", "policy", "hands")}
        h, own = self.network.states(states), self.network.config
        labels: Tensor | None = None  # of whose moves were played, [n, 4] logits from a personality head
        if choices is not None:
            weight = 1 / torch.from_numpy(samples.share).to(self.device)
            advantage, found["policy"] = self.played(h, actions, choices, target, weight)
        elif samples.types is not None:
            advantage, labels = self.network.personalities(h, actions)
            advantage = advantage.float()
        else:
            advantage = self.network.advantages(h, actions).float()
        if self.network.has_value:
            logits = self.network.outcomes(h).float()
            found["value"] = F.cross_entropy(logits, outcome)
            if self.critic is None and choices is not None:
                # the scores were values before the policy began, and stay so
                advantage = advantage - (F.softmax(logits, 1) * self.outcomes).sum(1).detach()
        found["advantage"] = F.mse_loss(advantage, target)
        if own.hands:
            found["hands"] = held_nats(self.network.held(h).float(), hidden_hands(batch, seats)).mean()
        elif own.kind != "ours":
            found |= self.network.missed(states, labels, samples)
        if self.critic is not None:
            some = slice(None, None, config.critic_every)
            full = self.tensor(encode_full(batch[some], seats[some]))
            found["critic"] = F.cross_entropy(self.critic(full).float(), outcome[some])
        return found
