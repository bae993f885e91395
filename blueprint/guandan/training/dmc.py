"""Deep Monte-Carlo learning: from records of play to targets, from targets to gradient steps.

The advantage head learns from `return - critic(all four hands)`. The critic's value does not depend on the
action taken, so it only removes the luck of the deal from the target: the mean, given what the player knows,
stays Q(I, a) - V(I) (a control variate; perfect-information critics: Li et al. 2020, Suphx; Yang et al. 2022,
PerfectDou). With trace < 1 the return is the lambda-return through the critic's later values.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from blueprint.choosing import TopChoices
from blueprint.guandan.network.inference import Inference
from blueprint.guandan.network.input_layout import OUTCOMES, PAST_WIDTH, STATE_WIDTH
from blueprint.guandan.network.inputs import encode_full
from blueprint.guandan.network.q_network import Critic, make_network
from blueprint.guandan.network.torch_network import TorchNetwork
from blueprint.guandan.objective import result_worth
from blueprint.guandan.play.network_play import InferenceAgent
from blueprint.guandan.play.selfplay import PlayRecord
from blueprint.guandan.train_config import NetworkConfig, TrainConfig
from blueprint.guandan.training.samples import Samples, lambda_returns, outcome_classes
from blueprint.guandan.training.side_losses import side_losses
from blueprint.layers.bfloat import native_half
from blueprint.learning.learner import BaseLearner, arrays_of, decayed, looking_back
from blueprint.paper_parts import paper_part
from blueprint.protocol import Agent, Decisions
from games.support.array_types import Array

__all__ = ["Judge", "Learner"]

CACHED = 1024
"""Decisions that go through the network at once on a processor: layers of more do not stay in its cache
(a batch of 4,096 takes 1.18 times as long whole, its critic's values 1.8 times)."""
LEARNED = 2 * CACHED
"""The same where gradients are added up: each part also passes over all weights and gradients."""
MOST = 1 << 16
"""Decisions at once elsewhere."""
CERTAIN = 0.15
"""Share that is learned of the decisions that leave no doubt, where `TrainConfig.focus` is set."""


Judge = Callable[[Array, Array], NDArray[np.float64]]
"""Says how rounds [n] STATE end, all four hands open, for seats [n]: [n, 7] shares of OUTCOMES."""


def tensor(array: Array, device: torch.device, dtype: torch.dtype) -> Tensor:
    """Return an array as a tensor; bytes travel as bytes and widen on the device."""
    return torch.from_numpy(np.ascontiguousarray(array)).to(device).to(dtype)


class Learner(BaseLearner):
    """The network, its critic and their optimiser."""

    def __init__(self, network: NetworkConfig, config: TrainConfig, device: torch.device) -> None:
        """Begin with random parameters.

        `temperature` is that at which a policy plays and learns; `anneal` scales the learning rate.
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
        self.anneal = 1.0
        self.config, self.temperature = config, config.temperature
        self.outcomes = torch.tensor(OUTCOMES, device=device)
        self._forgets = np.random.default_rng([config.seed, 1])
        # half precision pays where the processor multiplies it natively
        self.half = device.type == "cuda" or native_half()

    @property
    def features(self) -> str:
        """Name of the network's inputs."""
        return str(self.network.features)

    @property
    def _fast(self) -> bool:
        """Whether a snapshot of the network can take the fast path."""
        return self.device.type == "cpu" and self.network.config.kind == "ours"

    def chooser(self, temperature: float, epsilon: float, rng: np.random.Generator) -> Agent:
        """Return a player by a snapshot of the network: by its fast path on a processor if it has one."""
        return self._player(self.mean_network, temperature, epsilon, rng)

    def policy_chooser(self, temperature: float, rng: np.random.Generator) -> Agent:
        """Return a player by the weights that learn, which keeps what it chose among (`choices`)."""
        player = self._player(self.network, 0.0, 0.0, rng)
        scores, k = player.inference.advantages, self.config.policy_top
        found: Agent = paper_part("policy player")(scores, k, temperature, rng)
        return found

    def _player(
        self, network: Any, temperature: float, epsilon: float, rng: np.random.Generator
    ) -> InferenceAgent:
        soft: Any = {"temperature": temperature, "epsilon": epsilon, "near": self.config.near, "rng": rng}
        if not self._fast:
            return InferenceAgent(TorchNetwork(network, device=self.device, dtype=self.dtype), **soft)
        tensors = arrays_of(network, "network.")
        return InferenceAgent(Inference(tensors, critic=False, half=self.half), **soft)

    def judge(self) -> Judge | None:
        """Return the critic as it values now, for threads beside the one that learns; None without one.

        Without a critic the network's own value stands in, where it has one: that of weights which have not
        seen the rounds yet. Later weights know by heart how they ended, and nothing would be left to learn.
        """
        if self.mean_critic is None and not self.network.has_value:
            return None
        if self.mean_critic is None:
            return partial(self._own_results, copy.deepcopy(self.mean_network))
        if not self._fast:
            return partial(self._critic_results, copy.deepcopy(self.mean_critic))
        tensors = arrays_of(self.mean_network, "network.") | arrays_of(self.mean_critic, "critic.")
        fast = Inference(tensors, half=self.half)
        return lambda states, seats: fast.critic_results(states, np.arange(len(states)), seats)

    def _playing(self) -> dict[str, Any]:
        """Return the parts that play and value."""
        parts = {"network": self.mean_network}
        if self.config.policy and self.network is not self.mean_network:
            parts["learned"] = self.network
        if self.mean_critic is not None:
            parts["critic"] = self.mean_critic
        return parts

    def weights(self) -> dict[str, Array]:
        """Return copies of what plays and values now, by name, as they travel to those who play.

        In single precision: small batches are played in it also where large ones go through bfloat16.
        """
        parts = (arrays_of(module, f"{part}.") for part, module in self._playing().items())
        return {name: value for found in parts for name, value in found.items()}

    def take_weights(self, weights: dict[str, Array]) -> None:
        """Play and value by the weights of a learner elsewhere, of the same network."""
        for part, module in self._playing().items():
            own = {k.removeprefix(f"{part}."): v for k, v in weights.items() if k.startswith(f"{part}.")}
            module.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in own.items()})

    def samples(
        self,
        record: PlayRecord,
        payoff: Array,
        judge: Judge | None,
        rng: np.random.Generator,
        choices: TopChoices | None = None,
    ) -> Samples:
        """Return what is learned of a record, with targets, in its order.

        payoff: [rounds] to side 0. judge: None for plain returns. rng: draws what is learned, if not all.
        choices: what was chosen among at each of its decisions, where a policy learns. Without them, and
        without a critic, returns are not bootstrapped: that is plain Monte Carlo. Before a policy begins the
        network's own value is not taken off them either.
        """
        alone = choices is None and self.mean_critic is None
        judge = None if alone and self.config.policy else judge
        states, actions, rounds = record.states, record.actions, record.round
        share = np.ones(len(states), np.float32)
        kept: NDArray[np.int64] | None = None
        if self.config.focus:
            share = np.minimum(share, CERTAIN + self.config.focus * (1.0 - record.chance)).astype(np.float32)
            kept = np.flatnonzero(rng.random(len(share)) < share)
            states, actions, rounds, share = states[kept], actions[kept], rounds[kept], share[kept]
            choices = None if choices is None else choices.take(kept)
        seats = states["player"].astype(np.int64)
        outcome = outcome_classes(seats, payoff[rounds])
        values = np.zeros(len(seats))
        if judge is not None:
            values = np.einsum("nk,nk->n", judge(states, seats), result_worth(states, seats))
        trace = 1.0 if judge is None or alone else self.config.trace
        worth = result_worth(record.final, np.zeros(len(payoff), np.int64))
        paid = worth[np.arange(len(payoff)), np.asarray(OUTCOMES[0] - payoff, np.int64)]
        target = lambda_returns(rounds, seats, values, paid, trace)
        return Samples(states, actions, outcome, target, share, choices, kept)

    def values(self, states: Array, rows: NDArray[np.int64], seats: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return V(I) of states[rows] to the seats, [k] float64; the network must have a value."""
        out = np.empty(len(rows))
        with torch.inference_mode(), self.precision():
            for part in self._parts(len(rows)):
                x = self.mean_network.encode_seen(states, seats[part], rows[part])
                h = self.mean_network.states(tensor(x, self.device, self.dtype))
                logits = self.mean_network.outcomes(h)
                out[part] = (F.softmax(logits.float(), 1) * self.outcomes).sum(1).cpu().numpy()
        return out

    def _own_results(self, network: Any, states: Array, seats: Array) -> NDArray[np.float64]:
        """Return a network's own shares of OUTCOMES for the seat's side at each state, [n, 7] float64."""
        out = np.empty((len(states), len(OUTCOMES)))
        with torch.inference_mode(), self.precision():
            for rows in self._parts(len(states)):
                x = tensor(network.encode_seen(states[rows], seats[rows]), self.device, self.dtype)
                out[rows] = F.softmax(network.outcomes(network.states(x)).float(), 1).cpu().numpy()
        return out

    def _critic_results(self, critic: Critic, states: Array, seats: Array) -> NDArray[np.float64]:
        """Return a critic's shares of OUTCOMES for the seat's side at each state, [n, 7] float64."""
        out = np.empty((len(states), len(OUTCOMES)))
        with torch.inference_mode(), self.precision():
            for rows in self._parts(len(states)):
                logits = critic(tensor(encode_full(states[rows], seats[rows]), self.device, self.dtype))
                out[rows] = F.softmax(logits.float(), 1).cpu().numpy()
        return out

    @property
    def dtype(self) -> torch.dtype:
        """Precision of inputs and of play."""
        return torch.bfloat16 if self.half else torch.float32

    def precision(self) -> torch.autocast:
        """Return the context under which forward passes run."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.half)

    def learn(self, samples: Samples, decisions: int, span: float) -> dict[str, float]:
        """Take one gradient step on a batch; return its losses.

        decisions: trained so far, for the learning rate. span: decisions played for each gradient step.
        """
        self.optimiser.zero_grad(set_to_none=True)
        losses = dict.fromkeys(("advantage", "value", "critic", "hands", "policy"), 0.0)
        for rows in self._parts(len(samples), LEARNED):
            part = samples.take(rows)
            share = len(part) / len(samples)
            for name, loss in self._backward(part, share).items():
                losses[name] = losses.get(name, 0.0) + share * loss
        rate = decayed(self.anneal * self.config.learning_rate, decisions, self.config.halving)
        self.step((self.config.policy_rate if samples.choices is not None else 1.0) * rate)
        self.follow(looking_back(self.config.average, decisions, span))
        return losses

    def _parts(self, n: int, cached: int = CACHED) -> Iterator[slice]:
        """Yield the rows of n samples in parts: on a processor, of as many as its cache holds layers of."""
        size = cached if self.device.type == "cpu" else MOST
        for start in range(0, n, size):
            yield slice(start, min(start + size, n))

    def _backward(self, samples: Samples, share: float) -> dict[str, float]:
        """Add the gradient of `share` times the mean loss over a part of a batch; return the mean losses."""
        batch, choices = samples.states, samples.choices
        n = len(batch)
        seats = batch["player"].astype(np.int64)
        rows = np.arange(n + 1)
        k = 1 if choices is None else choices.actions.shape[1]
        moves = samples.actions if choices is None else choices.actions.reshape(-1)
        inputs = self.network.encode(Decisions(batch, rows[:n], seats, k * rows, moves))
        if self.network.config.past:
            forgets = self._forgets.random(n) < self.config.forgotten
            inputs[0][forgets, STATE_WIDTH : STATE_WIDTH + PAST_WIDTH] = 0
        states, actions = (tensor(y, self.device, self.dtype) for y in inputs)
        outcome = torch.from_numpy(samples.outcome).to(self.device)
        target = torch.from_numpy(samples.target).to(self.device)
        value_loss, policy = (torch.zeros((), device=self.device) for _ in range(2))
        with self.precision():
            h = self.network.states(states)
            labels: Tensor | None = None
            if choices is None and samples.types is not None:
                advantage, labels = self.network.personalities(h, actions)
                advantage = advantage.float()
            elif choices is None:
                advantage = self.network.advantages(h, actions).float()
            else:
                of = torch.arange(n, device=self.device).repeat_interleave(k)
                each = self.network.advantages(h, actions, of).float().view(n, k)
                advantage = each.gather(1, torch.from_numpy(choices.picked).to(self.device)[:, None])[:, 0]
                weight = 1 / torch.from_numpy(samples.share).to(self.device)
                at = self.temperature, self.config.policy_clip
                policy = paper_part("policy loss")(each, choices, target, *at, weight).mean()
            if self.network.has_value:
                logits = self.network.outcomes(h).float()
                value_loss = F.cross_entropy(logits, outcome)
                if self.critic is None and choices is not None:
                    # the scores were values before the policy began, and stay so
                    advantage = advantage - (F.softmax(logits, 1) * self.outcomes).sum(1).detach()
            action_loss = F.mse_loss(advantage, target)
            loss = action_loss + 0.5 * value_loss + self.config.policy * policy
            critic_loss = torch.zeros(())
            beside, named = side_losses(self.network, states, h, labels, samples, self.config)
            loss = loss + beside
            if self.critic is not None:
                some = slice(None, None, self.config.critic_every)
                full = tensor(encode_full(batch[some], seats[some]), self.device, self.dtype)
                critic_loss = F.cross_entropy(self.critic(full).float(), outcome[some])
                loss = loss + critic_loss
        (share * loss).backward()  # type: ignore[no-untyped-call]  # of torch
        return {
            "advantage": float(action_loss.detach()),
            "value": float(value_loss.detach()),
            "critic": float(critic_loss.detach()),
            "policy": float(policy.detach()),
            **named,
        }
