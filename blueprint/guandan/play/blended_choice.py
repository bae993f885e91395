"""A blend of what is best and whose style it is: the action choice of the personality-guided network.

Source: the paper on personality-guided deep Monte Carlo (PDHQN, 2025), section 3.6, Algorithm 2. Its first
line divides the values by their sum. Where that is negative the order turns round and the worst move scores
highest, so values are counted from the worst move here: they are at least 0, sum to 1, and keep their order.
It gives no figures for the temperatures but 0 < tau_1 < 1 < tau_2; those here are ours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.chooser import Decisions
from blueprint.guandan.network.torch_network import TorchNetwork
from blueprint.guandan.train_config import PERSONALITIES
from games.support.array_types import Array
from games.support.configuration import ConfigError

__all__ = ["BlendedAgent", "blended_scores"]

SHARPEN, SMOOTH = 0.5, 2.0
"""tau_1 between the personalities of a move, tau_2 between the moves of a decision."""
EPSILON = 1e-9


def blended_scores(
    values: Array, labels: Array, offsets: NDArray[np.int64], alpha: float
) -> NDArray[np.float64]:
    """Return the score of each action under each personality, [m, 4] float64.

    values: [m] of each action; labels: [m, 4], probability that it is a personality's. offsets: [n + 1]; no
    row is empty. alpha: weight of the values, the rest is that of the personality.
    """
    counts = np.diff(offsets)
    starts = offsets[:-1]
    above = values.astype(np.float64)
    above = above - np.repeat(np.minimum.reduceat(above, starts), counts)
    share = above / np.repeat(np.add.reduceat(above, starts) + EPSILON, counts)
    sharp = np.exp((labels - labels.max(1, keepdims=True)) / SHARPEN)
    sharp /= sharp.sum(1, keepdims=True)
    smooth = np.exp(sharp / SMOOTH)
    smooth /= np.repeat(np.add.reduceat(smooth, starts, axis=0), counts, axis=0)
    found: NDArray[np.float64] = alpha * share[:, None] + (1 - alpha) * smooth
    return found


class BlendedAgent:
    """Plays the action that scores highest for a personality; alpha: weight of the values.

    Raises ConfigError where the network has no personality head, or there is no such personality.
    """

    def __init__(self, network: TorchNetwork, persona: str, alpha: float) -> None:
        if not network.has_personalities:
            raise ConfigError(
                f"agent {network.name}: persona={persona} needs a network with a personality head; it has "
                "none; train one with --recipe pdhqn"
            )
        if persona not in PERSONALITIES:
            raise ConfigError(
                f"BlendedAgent: persona must be one of {', '.join(PERSONALITIES)}; got {persona!r}"
            )
        self.network, self.alpha = network, alpha
        self._column = PERSONALITIES.index(persona)
        self.name = f"{network.name}:{persona}"

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        """Return one action per decision, as an index within its row."""
        offsets = np.asarray(decisions.offsets)
        values, logits = self.network.personalities(decisions)
        labels = 1 / (1 + np.exp(-logits.astype(np.float64)))
        scores = blended_scores(values, labels, offsets, self.alpha)[:, self._column]
        best = np.repeat(np.maximum.reduceat(scores, offsets[:-1]), np.diff(offsets))
        first = np.where(scores == best, np.arange(len(scores)), len(scores))
        found: NDArray[np.int64] = np.minimum.reduceat(first, offsets[:-1]) - offsets[:-1]
        return found
