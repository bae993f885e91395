"""Agents that play in a personality's manner: a blend of what is best and whose style it is (PDHQN).

    agent = StyledAgent(network, "aggressive", alpha=0.5)

Source: the paper on personality-guided deep Monte Carlo (PDHQN, 2025), sections 3.5 and 3.6, Algorithm 2. Its
first line divides the values by their sum. Where that is negative the order turns round and the worst move
scores highest, so values are counted from the worst move here: they are at least 0, sum to 1, and keep their
order. It gives no figures for the temperatures but 0 < tau_1 < 1 < tau_2; those here are ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from blueprint.papers.fields import ALPHA, PERSONALITIES
from blueprint.protocol import Decisions
from games.support.array_types import Array, Ints
from games.support.configuration import ConfigError

SHARPEN, SMOOTH = 0.5, 2.0
"""tau_1 between the personalities of a move, tau_2 between the moves of a decision."""
EPSILON = 1e-9


def first_best(scores: Array, offsets: Ints) -> Ints:
    """Return the best of each row, the first among equals, by its place there, [n] int64; none is empty."""
    starts = offsets[:-1]
    best = np.repeat(np.maximum.reduceat(scores, starts), np.diff(offsets))
    first = np.where(scores == best, np.arange(len(scores)), len(scores))
    found: Ints = np.minimum.reduceat(first, starts) - starts
    return found


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


class StyledAgent:
    """Plays the action that scores highest for a personality; alpha: weight of the values.

    network: with a personality head: its `personalities` are the value of each action, [m], -inf for one that
    is not to be played, and the probability that each personality takes it, [m, 4].
    Raises ConfigError where the network has no personality head, or there is no such personality or weight.
    """

    def __init__(self, network: Any, persona: str, alpha: float | None) -> None:
        if not getattr(network, "has_personalities", False):
            raise ConfigError(
                f"agent {network.name}: persona={persona} needs a network with a personality head; it has "
                "none; train one with --recipe pdhqn"
            )
        self.network, self.alpha = network, ALPHA if alpha is None else alpha
        if persona not in PERSONALITIES or not 0 <= self.alpha <= 1:
            raise ConfigError(
                f"StyledAgent: persona must be one of {', '.join(PERSONALITIES)} and alpha in [0, 1]; got "
                f"{persona!r}, {self.alpha}"
            )
        self._column = PERSONALITIES.index(persona)
        self.name = f"{network.name}:{persona}"

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        """Return one action per decision, as an index within its row."""
        offsets = np.asarray(decisions.offsets)
        values, labels = self.network.personalities(decisions)
        never = np.isneginf(values)
        scores = blended_scores(np.where(never, 0.0, values), labels, offsets, self.alpha)
        return first_best(np.where(never, -np.inf, scores[:, self._column]), offsets)
