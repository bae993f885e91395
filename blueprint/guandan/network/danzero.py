"""DanZero's network, for comparison: 567 inputs, five hidden layers of 512 with tanh, one action value.

It is trained by the same self-play, on the same deals and by the same optimiser as our own network, towards
the plain Monte-Carlo return in levels, and saved in the same format under a name of its own for its inputs.
Sources: Lu et al. 2023 (DanZero), Zhao et al. 2023 (DanZero+, section IV); its inputs, soft spots included,
are in `games.guandan.views.danzero_features`. Where we differ: rounds are trained one by one, so returns
are not shifted by the whole game's result; Adam replaces RMSProp; the first layer's part of the position is
computed once per decision and shared by its actions, which changes its cost (by about a fifth) and not its
function.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from blueprint.guandan.chooser import Decisions
from blueprint.guandan.train_config import NetworkConfig
from games.guandan.views.danzero_features import (
    ACTION_WIDTH,
    SLICES,
    STATE_WIDTH,
    action_features,
    state_features,
)

__all__ = ["DANZERO_HASH", "DanZeroNetwork"]

_LAYOUT = ["danzero", 1, [[name, part.start, part.stop] for name, part in SLICES.items()]]
DANZERO_HASH = hashlib.sha256(json.dumps(_LAYOUT).encode()).hexdigest()[:16]
"""Names the layout of the inputs; a checkpoint trained on another one is refused."""


class DanZeroNetwork(nn.Module):
    """Q(I, a) as one multilayer perceptron over the position and the action's cards."""

    features = DANZERO_HASH
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
    def encode(decisions: Decisions) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """Return the inputs of positions, [n, 513] int8, and of actions, [m, 54] int8."""
        states = np.ascontiguousarray(decisions.states)[decisions.rows]
        x = state_features(states, decisions.seats, dtype=np.int8)
        return x, action_features(decisions.actions, dtype=np.int8)

    def states(self, x: Tensor) -> Tensor:
        """Return the position's part of the first layer, [n, width]."""
        return self.position(x)

    def advantages(self, h: Tensor, actions: Tensor, rows: Tensor | None = None) -> Tensor:
        """Return the action values, [m], of actions [m, 54] at positions `h[rows]`."""
        z = (self.action(actions) + (h if rows is None else h.index_select(0, rows))).tanh()
        for layer in self.hidden:
            z = layer(z).tanh()
        return self.value(z).squeeze(-1)
