"""Losses beside that of play: who holds the hidden cards, the fewest moves of the others, and types of play.

What is learned here is known in training alone. Play uses it as predictions (`danzero_parts`, `held`).
Sources: Luo & Tan 2024 (ODMC), section 4.2, labels from the oracle's view and from minimum combination; the
paper on personality-guided deep Monte Carlo (PDHQN, 2025), section 3.5, equation 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from blueprint.choosing.personality import PERSONALITIES
from blueprint.guandan.network.danzero_parts import MOST_MOVES
from blueprint.guandan.network.inputs import hidden_hands
from blueprint.guandan.rules.min_combination import min_combinations
from blueprint.guandan.train_config import TrainConfig
from blueprint.guandan.training.samples import Samples
from games.support.array_types import Array

__all__ = ["held_nats", "hidden_moves", "is_grown", "side_losses"]

COUNTED = 4
"""One decision in so many teaches the fewest moves: the search costs 15 microseconds for three hands."""
GROWN = ("tower.past", "tower.stakes", "hands.", "personality.", "recogniser.", "opponent.", "answers")
"""Parts that a network grows, which may learn faster than what was there (`TrainConfig.fresh`)."""


def is_grown(name: str) -> bool:
    """Return whether a parameter of this name is one of the parts that `TrainConfig.fresh` is for."""
    return name.startswith(GROWN)


def held_nats(odds: Tensor, hands: NDArray[np.uint8]) -> Tensor:
    """Return the nats a hidden card that log odds miss, [n]; odds: [n, 3, 54], hands: [n, 3, 54] counts."""
    held = torch.from_numpy(hands).to(odds.device).float()
    missed: Tensor = -(odds.log_softmax(1) * held).sum((1, 2)) / held.sum((1, 2)).clamp(min=1)
    return missed


def hidden_moves(states: Array, seats: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return in how few moves the three seats after each of `seats` could play out, [n, 3], 0..19 or more."""
    rows = np.arange(len(states))
    hands = np.stack([states["hand"][rows, (seats + j) % 4] for j in (1, 2, 3)], 1)
    levels = np.repeat(states["level"].astype(np.int64), 3)
    found = min_combinations(hands.reshape(-1, 2), levels).astype(np.int64).reshape(-1, 3)
    return np.minimum(found, MOST_MOVES - 1)


def side_losses(
    network: Any, x: Tensor, h: Tensor, labels: Tensor | None, samples: Samples, config: TrainConfig
) -> tuple[Tensor, dict[str, float]]:
    """Return what is added to the loss of a batch, in levels squared, and each loss by name, in nats.

    The names are hands, moves, types and personality, of those that the network has.

    x: the network's inputs. h: its `states`. labels: [n, 4] logits of whose moves were played, from a
    personality head.
    """
    found: dict[str, Tensor] = {}
    batch, own = samples.states, network.config
    seats = batch["player"].astype(np.int64)
    if own.hands:
        found["hands"] = held_nats(network.held(h).float(), hidden_hands(batch, seats)).mean()
    if own.opponent:
        odds, moves = network.opponent(x)
        found["hands"] = held_nats(odds.float(), hidden_hands(batch, seats)).mean()
        some = slice(None, None, COUNTED)
        counted = torch.from_numpy(hidden_moves(batch[some], seats[some])).to(x.device)
        found["moves"] = F.cross_entropy(moves[some].float().flatten(0, 1), counted.flatten())
    if own.personality and samples.types is not None and labels is not None:
        types = torch.from_numpy(samples.types.astype(np.int64)).to(x.device)
        told = network.recogniser(x).float()
        found["types"] = F.cross_entropy(told.flatten(0, 1), types[:, 1:].flatten())
        one_hot = F.one_hot(types[:, 0], len(PERSONALITIES)).float()
        found["personality"] = F.binary_cross_entropy_with_logits(labels.float(), one_hot)
    weights = {"hands": config.hands, "moves": config.hands, "types": config.labels}
    total = torch.zeros((), device=x.device)
    for name, loss in found.items():
        total = total + weights.get(name, config.labels) * loss
    return total, {name: float(loss.detach()) for name, loss in found.items()}
