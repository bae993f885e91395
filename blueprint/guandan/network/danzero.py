"""DanZero's network, for comparison: 567 inputs, five hidden layers of 512 with tanh, one action value.

It is trained by the same self-play, on the same deals and by the same optimiser as our own network, towards
the plain Monte-Carlo return in levels, and saved in the same format under a name of its own for its inputs.
Sources: Lu et al. 2023 (DanZero), Zhao et al. 2023 (DanZero+, section IV); its inputs, soft spots included,
are in `games.guandan.views.danzero_features`. Where we differ: rounds are trained one by one, so returns
are not shifted by the whole game's result; Adam replaces RMSProp; the first layer's part of the position is
computed once per decision and shared by its actions, which changes its cost (by about a fifth) and not its
function.

Other systems built on it add parts (`danzero_parts`), each off by default and without weight at first:
DanZero+ a branch for the value, PDHQN a personality head and a recogniser of types, ODMC an opponent model.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from blueprint.guandan.chooser import Decisions
from blueprint.guandan.network.danzero_parts import (
    OpponentModel,
    TypeRecogniser,
    ValueBranch,
)
from blueprint.guandan.network.input_layout import OUTCOMES, PAST_WIDTH
from blueprint.guandan.network.inputs import encode_past
from blueprint.guandan.train_config import NetworkConfig
from blueprint.layers.personality_head import PersonalityHead
from games.guandan.views.danzero_features import (
    ACTION_WIDTH,
    SLICES,
    STATE_WIDTH,
    action_features,
    state_features,
)
from games.support.array_types import Array

__all__ = ["DANZERO_HASH", "DANZERO_PAST_HASH", "DanZeroNetwork"]

_LAYOUT = ["danzero", 1, [[name, part.start, part.stop] for name, part in SLICES.items()]]
DANZERO_HASH = hashlib.sha256(json.dumps(_LAYOUT).encode()).hexdigest()[:16]
"""Names the layout of the inputs; a checkpoint trained on another one is refused."""
_WITH_PAST = json.dumps([DANZERO_HASH, PAST_WIDTH])
DANZERO_PAST_HASH = hashlib.sha256(_WITH_PAST.encode()).hexdigest()[:16]
"""The same with what the others did in the round behind it, which the models of the others see."""


class DanZeroNetwork(nn.Module):
    """Q(I, a) as one multilayer perceptron over the position and the action's cards."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        width = config.state
        self.position = nn.Linear(STATE_WIDTH, width)
        self.action = nn.Linear(ACTION_WIDTH, width, bias=False)
        self.hidden = nn.ModuleList(nn.Linear(width, width) for _ in range(max(config.blocks, 1) - 1))
        self.value = nn.Linear(width, 1)
        self.branch = ValueBranch(width, len(OUTCOMES)) if config.branch else None
        self.personality = PersonalityHead(width, config.personality) if config.personality else None
        self.recogniser = TypeRecogniser() if config.personality else None
        self.opponent = OpponentModel(config.opponent) if config.opponent else None
        self.models = [model for model in (self.recogniser, self.opponent) if model is not None]
        answers = sum(model.answers for model in self.models)
        self.answers = nn.Parameter(torch.zeros(answers, width)) if answers else None
        self.heeds = True
        """Whether the answers of the models count; they are left out to see what they are worth."""

    @property
    def features(self) -> str:
        """Name of the inputs."""
        return DANZERO_PAST_HASH if self.models else DANZERO_HASH

    @property
    def has_value(self) -> bool:
        """Whether there is a value of the position, V(I)."""
        return self.branch is not None

    def encode(self, decisions: Decisions) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """Return the inputs of positions, [n, 513 or more] int8, and of actions, [m, 54] int8."""
        x = self.encode_seen(decisions.states, decisions.seats, decisions.rows)
        return x, action_features(decisions.actions, dtype=np.int8)

    def encode_seen(
        self, states: Array, seats: Array, rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.int8]:
        """Return the inputs of `states`, [n, 513 or more]; the arguments are those of `encode_states`."""
        found = np.ascontiguousarray(states if rows is None else np.ascontiguousarray(states)[rows])
        x = state_features(found, seats, dtype=np.int8)
        if self.models:
            x = np.concatenate([x, encode_past(states, seats, rows).astype(np.int8)], 1)
        return x

    def states(self, x: Tensor) -> Tensor:
        """Return the position's part of the first layer, [n, width]."""
        found: Tensor = self.position(x[:, :STATE_WIDTH])
        if self.answers is not None and self.heeds:
            found = found + torch.cat([model.seen(x) for model in self.models], 1) @ self.answers.to(x.dtype)
        return found

    def outcomes(self, h: Tensor) -> Tensor:
        """Return the logits of the outcomes, [n, 7], from the position's part of the first layer.

        No gradient goes back into that layer: what values moves learns as without this branch.
        """
        assert self.branch is not None
        found: Tensor = self.branch(h.detach())
        return found

    def advantages(self, h: Tensor, actions: Tensor, rows: Tensor | None = None) -> Tensor:
        """Return the values, [m], of actions [m, 54] at positions `h[rows]`."""
        return self._valued(self._shared(h, actions, rows))

    def personalities(self, h: Tensor, actions: Tensor, rows: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the action values, [m], and logits, [m, 4], of whose moves these would be."""
        assert self.personality is not None
        z = self._shared(h, actions, rows)
        return self._valued(z), self.personality(z)

    @property
    def _sharing(self) -> int:
        """Number of hidden layers after the first that both heads share, or all of them."""
        return len(self.hidden) - 2 if self.personality is not None else len(self.hidden)

    def _shared(self, h: Tensor, actions: Tensor, rows: Tensor | None) -> Tensor:
        z: Tensor = (self.action(actions) + (h if rows is None else h.index_select(0, rows))).tanh()
        for layer in self.hidden[: self._sharing]:
            z = layer(z).tanh()
        return z

    def _valued(self, z: Tensor) -> Tensor:
        for layer in self.hidden[self._sharing :]:
            z = layer(z).tanh()
        found: Tensor = self.value(z).squeeze(-1)
        return found
