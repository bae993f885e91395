"""Regularised policy gradients: magnetic mirror descent and PPO, with a critic that may see every hand.

Deep Monte Carlo plays softly by action values and is greedy against itself: in games of bluff it does not
converge. Here a policy has scores of its own, and each generation of games moves it by

    sum_a pi(a) Q(h, a)  -  price * KL(pi, uniform)  -  KL(pi, last pi) / step           (mmd)

where Q is a critic's, asked for every legal action of every history that was met. At a constant price this
comes to rest where every action is played by its value, exp(Q / price), which is nearer to an equilibrium the
lower the price; and the price falls (Sokota et al. 2023, "A unified approach to reinforcement learning,
quantal response equilibria, and two-player zero-sum games"). `ppo` takes the usual clipped step along the
action that was taken, with a price for the policy's distance from uniform play (Rudolph et al. 2025, arXiv
2502.08938, find that enough of it is most of what counts).

A critic of all hands (VRPO, Fan and Farina 2026) is fitted to returns of the same games with traces that are
cut where exploration took an action that the policy would not (Retrace, Munos et al. 2016).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from blueprint.layers.fused import Tower
from blueprint.learning.learner import BaseLearner, Losses, drawn_rows
from blueprint.learning.returns import shared_worth
from blueprint.research.game_network import GameNetworkConfig, NetworkLayout, NetworkWeights
from blueprint.research.game_selfplay import Decided, Turn
from games.support.array_types import Array, Ints

CPU = torch.device("cpu")
AT_ONCE = 8192
"""Histories that go through a network together."""
CRITIC_PASSES = 2
"""Gradient steps of the critic to one of the policy."""
WAITING = 4
"""Decisions to one from which V is fitted to what a player sees that waits."""
FIT = 0.5
"""Weight of the fit of V and A in the loss of the policy, as usual for PPO."""
LONGEST = 1.0
"""A gradient of the policy is cut to this length."""
CLIP = 0.2
"""PPO: an action's probability is moved by at most this share of it in a generation."""


class GameTower(Tower):
    """An input layer, residual layers, and heads for V, A and, with `policy`, the scores of actions."""

    def __init__(self, inputs: int, columns: int, config: GameNetworkConfig, *, policy: bool) -> None:
        """Begin with random parameters, of the sizes that the configuration says."""
        super().__init__(inputs, config.width, config.blocks)
        self.value = nn.Linear(config.width, 1)
        self.advantage = nn.Linear(config.width, columns)
        self.policy = nn.Linear(config.width, columns) if policy else None
        with torch.no_grad():
            for head in (self.advantage, self.policy):
                if head is not None:
                    head.weight.mul_(0.1)
                    head.bias.zero_()

    def answers(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return V [n], A [n, columns] and the scores [n, columns] (those of A without a policy)."""
        h = self(x)
        advantage = self.advantage(h)
        scores = advantage if self.policy is None else self.policy(h)
        return self.value(h).squeeze(-1), advantage, scores


class TowerWeights(NetworkWeights):
    """A network's answers by its layers as they are trained, on the device where that is done."""

    def __init__(self, tower: GameTower) -> None:
        """Take the layers; they are asked as they are at that moment."""
        self.tower, self.has_policy = tower, tower.policy is not None

    def answer(self, features: Array) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """Return V [n], A and scores [n, columns] of infosets with these features, [n, inputs]."""
        parts, device = [], self.tower.value.weight.device
        with torch.no_grad():
            for x in torch.split(torch.from_numpy(features), AT_ONCE):
                parts.append(self.tower.answers(x.to(device).float()))
        v, a, scores = (torch.cat(answers).cpu().numpy() for answers in zip(*parts, strict=True))
        return v, a, scores if self.has_policy else scores[:, :0]


@dataclass(eq=False)
class _Rows:
    """Decisions of a generation, end to end, where they are learned from. The first five are as in `Turn`.

    target: [n] float32, what the action that was taken brings its player, in stakes. others: [n, players - 1]
    float32, what the decision is worth to the players after it, in the order of `hands`.
    """

    hands: Tensor
    legal: Tensor
    policy: Tensor
    column: Tensor
    chance: Tensor
    target: Tensor
    others: Tensor

    @classmethod
    def of(cls, turns: list[Turn], players: int, device: torch.device) -> _Rows:
        names = ("hands", "legal", "policy", "column", "chance")
        parts = {name: np.concatenate([getattr(turn, name) for turn in turns]) for name in names}
        n = len(parts["column"])
        unknown = {"target": np.zeros(n, np.float32), "others": np.zeros((n, players - 1), np.float32)}
        return cls(**{name: torch.from_numpy(part).to(device) for name, part in (parts | unknown).items()})


class GameLearner(BaseLearner):
    """The network of a small game, and how it learns: its action values, by Deep Monte Carlo.

    share: of the training that is over. taken: gradient steps so far. own: inputs of a seat; inputs: of the
    critic.
    """

    forgets = 10.0
    """The smoothed weights forget the first steps: after s of them a step keeps at most s / (s + 10)."""
    longest = math.inf

    def __init__(self, layout: NetworkLayout, config: GameNetworkConfig, device: torch.device = CPU) -> None:
        """Take a network's layout and where to learn; it begins with random parameters."""
        self.layout, self.config = layout, config
        self.own, self.players = layout.features.width, layout.game.num_players
        self.inputs = self.own * (self.players if config.critic == "hands" else 1)
        self.shared = shared_worth(layout.game)
        columns, learns = layout.columns.count, config.learner != "dmc"
        tower = GameTower(self.own, columns, config, policy=learns).to(device)
        critic = GameTower(self.inputs, columns, config, policy=False).to(device) if learns else None
        groups = [([*tower.parameters()], config.learning_rate)]
        groups += [] if critic is None else [([*critic.parameters()], config.critic_rate)]
        means = (config.smoothing > 0, False)
        super().__init__(tower, critic, groups, means=means, eps=1e-8, device=device)
        self.half, self.memory, self.share, self.taken = False, config.replay, 0.0, 0

    def rate(self, samples: Any, decisions: int) -> float:
        """Return the learning rate, as a share of the first one."""
        return 1 - 0.9 * self.share

    def lag(self, decisions: int, span: float, steps: int = 1) -> float:
        """Return the share of the way that the mean moves after so many further steps."""
        self.taken += steps
        return 1 - float(min(self.config.smoothing**steps, 1 - steps / (steps + self.taken / self.forgets)))

    def batches(self, parts: Sequence[Decided], number: int, rng: np.random.Generator) -> Iterator[Decided]:
        """Yield so many batches: decisions, and half as many views of others'."""
        size = self.config.batch
        own, column, gain, seen, worth = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("own", "column", "gain", "seen", "worth")
        )
        for _ in range(number):
            at = np.sort(rng.integers(0, len(own), size))
            look = np.sort(rng.integers(0, len(seen), size // 2)) if len(seen) else at[:0]
            yield Decided(own[at], column[at], gain[at], seen[look], worth[look])

    def losses(self, samples: Decided) -> Losses:
        """Return the loss of Q at decisions and of V at all that is seen."""
        n = len(samples)
        v, a, _ = self.network.answers(self.tensor(np.concatenate([samples.own, samples.seen])))
        gains, taken, views = (
            torch.from_numpy(part).to(self.device) for part in (samples.gain, samples.column, samples.worth)
        )
        q_loss = F.mse_loss(v[:n] + a[:n].gather(1, taken[:, None]).squeeze(1), gains)
        v_loss = F.mse_loss(v, torch.cat([gains, views]))
        return {"q_loss": q_loss, "v_loss": v_loss}


class PolicyLearner(GameLearner):
    """A network whose policy learns, with the critic by which it moves."""

    forgets = 3.0
    """A policy goes around its equilibrium, and its mean is nearer."""

    @property
    def price(self) -> float:
        """What a nat away from uniform play costs, in stakes: it falls geometrically."""
        first, last = self.config.price, self.config.last_price
        return float(first * (last / first) ** self.share)

    def learn(
        self, fresh: list[Decided], rng: np.random.Generator, decisions: int, span: int
    ) -> dict[str, float]:
        """Fit the critic to a generation of games, then move the policy; return mean losses."""
        (played,), steps, rate = fresh, self.steps(fresh), self.rate(fresh, decisions)
        rows = _Rows.of(played.turns, self.players, self.device)
        self._returns(rows, played)
        self.replay = [*self.replay, rows][-self.memory :]
        fits, moves, self.longest = list[Tensor](), list[Tensor](), math.inf
        for _ in range(CRITIC_PASSES * steps):
            some = self.replay[int(rng.integers(len(self.replay)))]
            at = rng.integers(0, len(some.column), self.config.batch)
            fits.append(self.descend(at, rate, partial(self._critic_losses, some))["q_loss"])
        self.longest, self.weighed, q = LONGEST, {"v_loss": FIT}, self._asked(rows.hands)
        losses = partial(self._policy_losses, rows, q, (rows.policy * q).sum(1), rng)
        for at in drawn_rows(len(q), min(self.config.batch, len(q)), steps, rng):
            moves.append(self.descend(at, rate, losses)["v_loss"])
        self.follow(self.lag(decisions, span, steps))
        means = (float(torch.stack(found).float().mean()) for found in (fits, moves))
        return dict(zip(("q_loss", "v_loss"), means, strict=True))

    def _asked(self, hands: Tensor) -> Tensor:
        """Return the critic's Q of every column, [n, columns]."""
        parts = []
        with torch.no_grad():
            for some in torch.split(hands, AT_ONCE):
                v, a, _ = self.critic.answers(some[:, : self.inputs].float())
                parts.append(v[:, None] + a)
        return torch.cat(parts)

    def _returns(self, rows: _Rows, played: Decided) -> None:
        """Fill in the targets: payoffs, nearer to the critic's expectation the further from the end."""
        q = self._asked(rows.hands).cpu().numpy()
        target, others = (np.zeros(part.shape, np.float32) for part in (rows.target, rows.others))
        later = (played.payoff / self.layout.stake).astype(np.float32)
        end = len(target)
        for turn in reversed(played.turns):
            here = slice(end - len(turn.column), end)
            end = here.start
            target[here] = found = later[turn.games, turn.seat]
            taken = np.arange(len(found)), turn.column
            kept = self.config.trace * np.minimum(1, turn.policy[taken] / turn.chance)
            worth = (turn.policy * q[here]).sum(1) + kept * (found - q[here][taken])
            told = np.flatnonzero(self.shared[turn.seat])  # seats of whose worth this says something
            later[turn.games[:, None], told] = worth[:, None] * self.shared[turn.seat, told]
            after = (turn.seat + np.arange(1, self.players)) % self.players
            others[here] = later[turn.games[:, None], after]
        rows.target, rows.others = (torch.from_numpy(part).to(self.device) for part in (target, others))

    def _critic_losses(self, rows: _Rows, at: Ints) -> Losses:
        i = torch.from_numpy(at).to(self.device)
        v, a, _ = self.critic.answers(rows.hands[i, : self.inputs].float())
        q = v + a.gather(1, rows.column[i, None]).squeeze(1)
        return {"q_loss": F.mse_loss(q, rows.target[i])}

    def _policy_losses(
        self, rows: _Rows, q: Tensor, worth: Tensor, rng: np.random.Generator, at: Ints
    ) -> Losses:
        """Return the losses of a policy, and of V and A of what is seen beside the critic's.

        q: [n, columns] of the critic. worth: [n], its mean by the policy that played. at: rows of the batch.
        """
        config, i = self.config, torch.from_numpy(at).to(self.device)
        hands, last = rows.hands, rows.policy
        inputs, here = hands[i, : self.own].float(), rows.legal[i]
        v, a, scores = self.network.answers(inputs)
        log = _log_policy(scores, here)
        if config.learner == "mmd":
            gain = mirror_gain(log, here, q[i] - worth[i, None], last[i], config.step)
        else:
            ratio = log.gather(1, rows.column[i, None]).squeeze(1).exp() / rows.chance[i]
            gain = clipped_gain(ratio, rows.target[i] - worth[i])
        away = (log.exp() * here * log).sum(1)  # from uniform play, less a constant
        fit = (here * (v[:, None] + a - q[i]) ** 2).sum(1) / here.sum(1)
        other = rng.integers(self.players - 1)
        few = i[: max(1, len(i) // WAITING)]
        waits = hands[few, self.own * (1 + other) : self.own * (2 + other)].float()
        values = torch.cat([v, self.network.answers(waits)[0]])
        fit = fit.mean() + F.mse_loss(values, torch.cat([worth[i], rows.others[few, other]]))
        return {"policy": (self.price * away - gain).mean(), "v_loss": fit}


def mirror_gain(log: Tensor, legal: Tensor, edge: Tensor, last: Tensor, step: float) -> Tensor:
    """Return what a policy gains by these action values, less its distance from the last one, [n].

    log: of the policy, 0 for what is not legal. edge: action values. last: the policy that played; all
        [n, columns].
    """
    policy = log.exp() * legal
    return (policy * (edge - (log - last.clamp_min(1e-12).log()) / step)).sum(1)


def clipped_gain(ratio: Tensor, edge: Tensor) -> Tensor:
    """Return PPO's gain by actions that were taken, [n]. ratio: of their probabilities, new to old."""
    return torch.minimum(ratio * edge, ratio.clamp(1 - CLIP, 1 + CLIP) * edge)


def _log_policy(scores: Tensor, legal: Tensor) -> Tensor:
    """Return the logarithm of the policy, 0 for what is not legal."""
    return F.log_softmax(scores.masked_fill(~legal, -torch.inf), 1).masked_fill(~legal, 0.0)
