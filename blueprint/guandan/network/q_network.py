"""The Q-network in torch: a state tower run once per decision, a head run once per action.

Q(I, a) = V(I) + A(I, a). V comes from the tower as probabilities of the seven outcomes of a round; A comes
from a small residual head over the action's features and the tower's output. The critic sees all four hands
and is used in training alone.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from blueprint.guandan.chooser import Decisions
from blueprint.guandan.network.input_layout import (
    ACTION_WIDTH,
    FEATURE_HASH,
    HIDDEN_WIDTH,
    OUTCOMES,
    PAST_HASH,
    PAST_WIDTH,
    STATE_WIDTH,
    state_scale,
)
from blueprint.guandan.network.inputs import encode_actions, encode_past, encode_states
from blueprint.guandan.network.layers import joined, recalled, rectified, residual
from blueprint.guandan.train_config import NetworkConfig
from games.guandan.cards import NUM_CARDS
from games.support.array_types import Array

__all__ = ["Critic", "QNetwork", "Tower", "make_network"]


class Tower(nn.Module):
    """An input layer and residual layers, all with ReLU.

    past: further inputs of 0 and 1 of which few are set; what they weigh begins at zero.
    """

    def __init__(self, inputs: int, width: int, blocks: int, past: int = 0) -> None:
        super().__init__()
        self.past = nn.Parameter(torch.zeros(past, width)) if past else None
        self.input = nn.Linear(inputs, width)
        self.blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(blocks))
        # inputs are sparse bits: scale the first layer to the ~1/4 of them that are set
        with torch.no_grad():
            self.input.weight.mul_(2.0)

    def forward(self, x: Tensor, scale: Tensor | None = None) -> Tensor:
        """Return [n, width] from [n, inputs + past]; inputs are multiplied by `scale` [inputs] if given."""
        if self.past is None:
            h = rectified(x, self.input, scale)
        else:
            seen, past = x[:, : self.input.in_features], x[:, self.input.in_features :]
            seen = seen if scale is None else seen * scale.to(seen.dtype)
            h = joined(seen, self.input, recalled(past, self.past))
        for block in self.blocks:
            h = residual(h, cast(nn.Linear, block))
        return h


class QNetwork(nn.Module):
    """V(I) and A(I, a)."""

    has_value = True
    scale: Tensor

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        self.register_buffer("scale", torch.from_numpy(state_scale()), persistent=False)
        self.tower = Tower(STATE_WIDTH, config.state, config.blocks, PAST_WIDTH if config.past else 0)
        self.value_hidden = nn.Linear(config.state, 128)
        self.value = nn.Linear(128, len(OUTCOMES))
        self.context = nn.Linear(config.state, config.action)
        self.action = nn.Linear(ACTION_WIDTH, config.action)
        self.head = nn.ModuleList(
            nn.Linear(config.action, config.action) for _ in range(config.action_blocks)
        )
        self.advantage = nn.Linear(config.action, 1)
        self.results = nn.Linear(config.action, len(OUTCOMES)) if config.results else None
        self.hands = nn.Linear(config.state, 3 * NUM_CARDS) if config.hands else None
        with torch.no_grad():
            self.action.weight.mul_(2.0)
            self.advantage.weight.mul_(0.1)
            self.advantage.bias.zero_()

    @property
    def features(self) -> str:
        """Name of the inputs."""
        return PAST_HASH if self.config.past else FEATURE_HASH

    def encode(self, decisions: Decisions) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Return the inputs of `states`, [n, inputs], and of `advantages`, [m, ACTION_WIDTH]."""
        seen = self.encode_seen(decisions.states, decisions.seats, decisions.rows)
        return seen, encode_actions(decisions)

    def encode_seen(
        self, states: Array, seats: Array, rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.uint8]:
        """Return the inputs of `states`, [n, inputs]; the arguments are those of `encode_states`."""
        x = encode_states(states, seats, rows)
        return np.concatenate([x, encode_past(states, seats, rows)], 1) if self.config.past else x

    def states(self, x: Tensor) -> Tensor:
        """Return the tower's output, [n, state], from inputs [n, inputs]."""
        found: Tensor = self.tower(x, self.scale)
        return found

    def outcomes(self, h: Tensor) -> Tensor:
        """Return the logits of the outcomes, [n, 7], from the tower's output."""
        found: Tensor = self.value(rectified(h, self.value_hidden))
        return found

    def held(self, h: Tensor) -> Tensor:
        """Return log odds, [n, 3, 54], that the next, the opposite and the previous seat hold each card."""
        assert self.hands is not None
        found: Tensor = self.hands(h).view(-1, 3, NUM_CARDS)
        return found

    def advantages(self, h: Tensor, actions: Tensor, rows: Tensor | None = None) -> Tensor:
        """Return A, [m], of actions [m, ACTION_WIDTH] at states `h[rows]` (row by row if None)."""
        return self.advantages_of(self.considered(h, actions, rows))

    def considered(self, h: Tensor, actions: Tensor, rows: Tensor | None = None) -> Tensor:
        """Return the head's output, [m, action]; the arguments are those of `advantages`."""
        context = self.context(h)
        if rows is not None:
            context = context.index_select(0, rows)
        z = joined(actions, self.action, context)
        for block in self.head:
            z = residual(z, cast(nn.Linear, block))
        return z

    def advantages_of(self, z: Tensor) -> Tensor:
        """Return A, [m], from the head's output."""
        found: Tensor = self.advantage(z).squeeze(-1)
        return found

    def results_of(self, z: Tensor) -> Tensor:
        """Return the logits of how the round ends, [m, 7] as in OUTCOMES, from the head's output."""
        assert self.results is not None
        found: Tensor = self.results(z)
        return found


class Critic(nn.Module):
    """Logits of the outcomes from all four hands, the rows of `encode_full`."""

    scale: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        scale = torch.cat([torch.from_numpy(state_scale()), torch.ones(HIDDEN_WIDTH)])
        self.register_buffer("scale", scale, persistent=False)
        self.tower = Tower(STATE_WIDTH + HIDDEN_WIDTH, width, 2)
        self.value = nn.Linear(width, len(OUTCOMES))

    def forward(self, x: Tensor) -> Tensor:
        """Return [n, 7] logits from [n, STATE_WIDTH + HIDDEN_WIDTH]."""
        found: Tensor = self.value(self.tower(x, self.scale))
        return found


def make_network(config: NetworkConfig) -> nn.Module:
    """Return a new network of the configured kind.

    Every kind has `features` (the name of its inputs), `has_value`, `encode`, `states`, `outcomes` and
    `advantages` as `QNetwork` has them; without a value, `advantages` are action values.
    """
    if config.kind == "danzero":
        from blueprint.guandan.network.danzero import DanZeroNetwork

        return DanZeroNetwork(config)
    return QNetwork(config)
