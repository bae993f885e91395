"""DanZero's network, for comparison: 567 inputs, five hidden layers, one action value.

Source: Lu et al. 2023 (DanZero); inputs in `games.guandan.features`. The first layer's part of the position
is computed once per decision and shared by its actions, which changes its cost and not its function.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from blueprint.config import NetworkConfig
from games.guandan.features import ACTION_WIDTH, STATE_WIDTH, action_features, state_features

__all__ = ["DanZeroNetwork"]


class DanZeroNetwork(nn.Module):
    """Q(I, a) as one multilayer perceptron over the position and the action's cards."""

    features = "danzero-567"
    has_value = False

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        self.position = nn.Linear(STATE_WIDTH, config.state)
        self.action = nn.Linear(ACTION_WIDTH, config.state, bias=False)
        self.hidden = nn.ModuleList(
            nn.Linear(config.state, config.state) for _ in range(max(config.blocks, 1) - 1)
        )
        self.value = nn.Linear(config.state, 1)

    @staticmethod
    def encode(
        states: NDArray, rows: NDArray, seats: NDArray, offsets: NDArray, actions: NDArray
    ) -> tuple[NDArray, NDArray]:
        """Return the inputs of positions, [n, 513] int8, and of actions, [m, 54] int8."""
        x = state_features(np.ascontiguousarray(states)[rows], seats, dtype=np.int8)
        return x, action_features(actions, dtype=np.int8)

    def states(self, x: Tensor) -> Tensor:
        """Return the position's part of the first layer, [n, width]."""
        return self.position(x)

    def advantages(self, h: Tensor, actions: Tensor, rows: Tensor | None = None) -> Tensor:
        """Return the action values, [m], of actions [m, 54] at positions `h[rows]`."""
        z = F.relu(self.action(actions) + (h if rows is None else h.index_select(0, rows)))
        for layer in self.hidden:
            z = F.relu(layer(z))
        return self.value(z).squeeze(-1)
