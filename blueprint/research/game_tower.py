"""The layers of a network for games of any size, as they are trained."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from blueprint.research.game_network import GameNetworkConfig

__all__ = ["Tower"]


class Tower(nn.Module):
    """An input layer, residual layers, and heads for V, A and, with `policy`, the scores of actions."""

    def __init__(self, inputs: int, columns: int, config: GameNetworkConfig, *, policy: bool) -> None:
        """Begin with random parameters, of the sizes that the configuration says."""
        super().__init__()
        width = config.width
        self.input = nn.Linear(inputs, width)
        self.blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(config.blocks))
        self.value = nn.Linear(width, 1)
        self.advantage = nn.Linear(width, columns)
        self.policy = nn.Linear(width, columns) if policy else None
        with torch.no_grad():
            self.input.weight.mul_(2.0)  # inputs are sparse bits
            for head in (self.advantage, self.policy):
                if head is not None:
                    head.weight.mul_(0.1)
                    head.bias.zero_()

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return V [n], A [n, columns] and the scores [n, columns] (those of A without a policy)."""
        h = F.relu(self.input(x))
        for block in self.blocks:
            h = h + F.relu(block(h))
        advantage = self.advantage(h)
        scores = advantage if self.policy is None else self.policy(h)
        return self.value(h).squeeze(-1), advantage, scores
