"""The layers of a network for games of any size, as they are trained."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from blueprint.research.game_network import GameNetworkConfig, NetworkWeights
from games.support.array_types import Array

__all__ = ["Tower", "TowerWeights"]


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


class TowerWeights(NetworkWeights):
    """A network's answers by its layers as they are trained, on the device where that is done."""

    def __init__(self, tower: Tower) -> None:
        """Take the layers; they are asked as they are at that moment."""
        self.tower, self.has_policy = tower, tower.policy is not None
        self.columns = tower.advantage.out_features

    def _forward(self, features: Array) -> NDArray[np.float32]:
        with torch.no_grad():
            x = torch.from_numpy(features).to(self.tower.value.weight.device)
            v, a, scores = self.tower(x.float())
            found = torch.cat([v[:, None], a, *([scores] if self.has_policy else [])], 1)
        return np.asarray(found.cpu().numpy())
