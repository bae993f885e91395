"""Whose style a move is in, and a blend of what is best and whose style it is.

Source: the paper on personality-guided deep Monte Carlo (PDHQN, 2025), sections 3.5 and 3.6, Algorithm 2. Its
first line divides the values by their sum. Where that is negative the order turns round and the worst move
scores highest, so values are counted from the worst move here: they are at least 0, sum to 1, and keep their
order. It gives no figures for the temperatures but 0 < tau_1 < 1 < tau_2; those here are ours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from games.support.array_types import Array

__all__ = ["ALPHA", "PERSONALITIES", "blended_scores"]

PERSONALITIES = ("aggressive", "conservative", "balanced", "exploration")
"""Whose move it was: that of a rule-based personality, or the network's own."""
ALPHA = 0.5
"""Weight of the values beside a style, where none is given: as much as the style's."""
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
