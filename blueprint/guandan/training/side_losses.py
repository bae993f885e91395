"""Losses beside that of play: who holds the hidden cards, and what networks of other kinds predict.

What is learned here is known in training alone. Play uses it as predictions (`held`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from blueprint.guandan.network.inputs import hidden_hands
from blueprint.guandan.train_config import TrainConfig
from blueprint.guandan.training.samples import Samples

__all__ = ["held_nats", "side_losses"]


def held_nats(odds: Tensor, hands: NDArray[np.uint8]) -> Tensor:
    """Return the nats a hidden card that log odds miss, [n]; odds: [n, 3, 54], hands: [n, 3, 54] counts."""
    held = torch.from_numpy(hands).to(odds.device).float()
    missed: Tensor = -(odds.log_softmax(1) * held).sum((1, 2)) / held.sum((1, 2)).clamp(min=1)
    return missed


def side_losses(
    network: Any, x: Tensor, h: Tensor, labels: Tensor | None, samples: Samples, config: TrainConfig
) -> tuple[Tensor, dict[str, float]]:
    """Return what is added to the loss of a batch, in levels squared, and each loss by name, in nats.

    The names are hands, moves, types and personality, of those that the network has.

    x: the network's inputs. h: its `states`. labels: [n, 4] logits of whose moves were played, from a
    personality head.
    """
    found: dict[str, Tensor] = {}
    own = network.config
    if own.hands:
        hands = hidden_hands(samples.states, samples.states["player"].astype(np.int64))
        found["hands"] = held_nats(network.held(h).float(), hands).mean()
    elif own.kind != "ours":
        found = network.missed(x, labels, samples)
    weights = {"hands": config.hands, "moves": config.hands, "types": config.labels}
    total = torch.zeros((), device=x.device)
    for name, loss in found.items():
        total = total + weights.get(name, config.labels) * loss
    return total, {name: float(loss.detach()) for name, loss in found.items()}
