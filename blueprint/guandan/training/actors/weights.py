"""Weights as they travel from the learner to those who play."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from blueprint.guandan.training.dmc import Learner
from games.support.array_types import Array

__all__ = ["take_weights", "weights_of"]


def weights_of(learner: Learner) -> dict[str, Array]:
    """Return what plays and values now, by name; a copy that later training leaves alone.

    In single precision: small batches are played in it also where large ones go through bfloat16.
    """
    return {
        f"{part}.{name}": value.detach().to("cpu", copy=True).numpy()
        for part, module in _modules(learner).items()
        for name, value in module.state_dict().items()
    }


def take_weights(learner: Learner, weights: dict[str, Array]) -> None:
    """Let a learner of the same network play and value by weights from elsewhere."""
    for part, module in _modules(learner).items():
        own = {k.removeprefix(f"{part}."): v for k, v in weights.items() if k.startswith(f"{part}.")}
        module.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in own.items()})


def _modules(learner: Learner) -> dict[str, Any]:
    """Return the parts that play and value."""
    parts = {"network": learner.mean_network}
    if learner.config.policy and learner.network is not learner.mean_network:
        parts["learned"] = learner.network
    if learner.mean_critic is not None:
        parts["critic"] = learner.mean_critic
    return parts
