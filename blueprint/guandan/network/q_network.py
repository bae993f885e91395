"""The Q-network in torch: a state tower run once per decision, a head run once per action.

Q(I, a) = V(I) + A(I, a). V comes from the tower as probabilities of the seven outcomes of a round; A comes
from a small residual head over the action's features and the tower's output. The critic sees all four hands
and is used in training alone.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from blueprint.guandan.network.input_layout import (
    ACTION_WIDTH,
    HIDDEN_WIDTH,
    OUTCOMES,
    PAST_WIDTH,
    STAKES_SCALE,
    STAKES_WIDTH,
    STATE_WIDTH,
    layout_hash,
    state_scale,
)
from blueprint.guandan.network.inputs import encode_actions, encode_past, encode_stakes, encode_states
from blueprint.guandan.train_config import NetworkConfig
from blueprint.layers.fused import MoveHead, Tower, joined, recalled, rectified
from blueprint.paper_parts import paper_part
from blueprint.protocol import Decisions
from games.guandan.cards import NUM_CARDS
from games.support.array_types import Array


class SeatTower(Tower):
    """A tower that may also see what the others did, and what is at stake.

    past: further inputs of 0 and 1 of which few are set. stakes: still further ones, in STAKES_SCALE parts.
    What these weigh begins at zero.
    """

    def __init__(self, inputs: int, width: int, blocks: int, past: int = 0, stakes: int = 0) -> None:
        super().__init__(inputs, width, blocks)
        self.past = nn.Parameter(torch.zeros(past, width)) if past else None
        self.stakes = nn.Parameter(torch.zeros(stakes, width)) if stakes else None

    def first(self, x: Tensor, scale: Tensor | None) -> Tensor:
        """Return what the input layer makes of x [n, inputs + past + stakes], [n, width]."""
        if self.past is None and self.stakes is None:
            return super().first(x, scale)
        seen, rest = x[:, : self.input.in_features], x[:, self.input.in_features :]
        seen = seen if scale is None else seen * scale.to(seen.dtype)
        parts = []
        if self.past is not None:
            parts.append(recalled(rest[:, : len(self.past)], self.past))
        if self.stakes is not None:
            stakes = rest[:, -len(self.stakes) :] * (1 / STAKES_SCALE)
            parts.append(stakes @ self.stakes.to(stakes.dtype))
        return joined(seen, self.input, parts[0] if len(parts) == 1 else parts[0] + parts[1])


class QNetwork(MoveHead):
    """V(I) and A(I, a)."""

    has_value = True
    grown = ("tower.past", "tower.stakes", "hands.")
    """How the names of parameters begin that a network grows, which may learn faster than what was there
    (`TrainConfig.fresh`)."""
    scale: Tensor

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        self.register_buffer("scale", torch.from_numpy(state_scale()), persistent=False)
        past, stakes = PAST_WIDTH if config.past else 0, STAKES_WIDTH if config.stakes else 0
        self.tower = SeatTower(STATE_WIDTH, config.state, config.blocks, past, stakes)
        self.value_hidden = nn.Linear(config.state, 128)
        self.value = nn.Linear(128, len(OUTCOMES))
        self._begin_head(config.state, ACTION_WIDTH, config.action, config.action_blocks)
        self.hands = nn.Linear(config.state, 3 * NUM_CARDS) if config.hands else None
        with torch.no_grad():
            self.action.weight.mul_(2.0)

    @property
    def features(self) -> str:
        """Name of the inputs."""
        return layout_hash(past=self.config.past, stakes=self.config.stakes)

    def encode(self, decisions: Decisions) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Return the inputs of `states`, [n, inputs], and of `advantages`, [m, ACTION_WIDTH]."""
        seen = self.encode_seen(decisions.states, decisions.seats, decisions.rows)
        return seen, encode_actions(decisions)

    def encode_seen(
        self, states: Array, seats: Array, rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.uint8]:
        """Return the inputs of `states`, [n, inputs]; the arguments are those of `encode_states`."""
        parts = [encode_states(states, seats, rows)]
        if self.config.past:
            parts.append(encode_past(states, seats, rows))
        if self.config.stakes:
            parts.append(encode_stakes(states, seats, rows))
        return np.concatenate(parts, 1) if len(parts) > 1 else parts[0]

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


class Critic(nn.Module):
    """Logits of the outcomes from all four hands, the rows of `encode_full`."""

    scale: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        scale = torch.cat([torch.from_numpy(state_scale()), torch.ones(HIDDEN_WIDTH)])
        self.register_buffer("scale", scale, persistent=False)
        self.tower = SeatTower(STATE_WIDTH + HIDDEN_WIDTH, width, 2)
        self.value = nn.Linear(width, len(OUTCOMES))

    def forward(self, x: Tensor) -> Tensor:
        """Return [n, 7] logits from [n, STATE_WIDTH + HIDDEN_WIDTH]."""
        found: Tensor = self.value(self.tower(x, self.scale))
        return found


def held_nats(odds: Tensor, hands: NDArray[np.uint8]) -> Tensor:
    """Return the nats a hidden card that log odds miss, [n]; odds: [n, 3, 54], hands: [n, 3, 54] counts."""
    held = torch.from_numpy(hands).to(odds.device).float()
    missed: Tensor = -(odds.log_softmax(1) * held).sum((1, 2)) / held.sum((1, 2)).clamp(min=1)
    return missed


def make_network(config: NetworkConfig) -> nn.Module:
    """Return a new network of the configured kind.

    Every kind has `features` (the name of its inputs), `has_value`, `grown`, `encode`, `states`, `outcomes`
    and `advantages` as `QNetwork` has them; without a value, `advantages` are action values.
    """
    if config.kind != "ours":
        other: nn.Module = paper_part("GuanDan network")(config)
        return other
    return QNetwork(config)
