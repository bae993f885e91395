"""Soft choices: one of each row's actions, drawn by the softmax of values or at random; blueprints so."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blueprint.structured import Columns
from games.support.array_types import Array, Ints
from games.support.kernel import kernel

__all__ = ["TopChoices", "choose_soft", "draw_soft", "near_best", "soft_shares"]


@kernel(nogil=True)
def _choose_soft(
    values: Array,
    offsets: Ints,
    temperature: float,
    epsilon: float,
    uniforms: NDArray[np.float64],
    choice: Ints,
    chance: NDArray[np.float32],
) -> None:
    """Draw an action per row: uniform with probability epsilon, else softmax of values / temperature."""
    for j in range(len(choice)):
        start, end = offsets[j], offsets[j + 1]
        u = uniforms[j]
        best = start
        for k in range(start, end):
            if values[k] > values[best]:
                best = k
        total = 1.0
        if temperature > 0:
            total = 0.0
            for k in range(start, end):
                total += np.exp((values[k] - values[best]) / temperature)
        picked = best
        if u < epsilon:
            picked = start + min(np.int64(u / epsilon * (end - start)), end - start - 1)
        elif temperature > 0:
            left = (u - epsilon) / (1.0 - epsilon) * total
            for k in range(start, end):
                left -= np.exp((values[k] - values[best]) / temperature)
                if left < 0:
                    picked = k
                    break
        choice[j] = picked - start
        share = 1.0 if picked == best else 0.0
        if temperature > 0:
            share = np.exp((values[picked] - values[best]) / temperature) / total
        chance[j] = (1.0 - epsilon) * share + epsilon / (end - start)


def choose_soft(
    values: Array,
    offsets: NDArray[np.int64],
    temperature: float,
    epsilon: float,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return the index within its row of one action per row, [n] int64.

    values: [m] of each action. With probability `epsilon` any action of the row, else one drawn from the
    softmax of values / temperature (the greedy one at temperature 0; the first among equals).
    """
    return draw_soft(values, offsets, temperature, epsilon, rng)[0]


def draw_soft(
    values: Array,
    offsets: NDArray[np.int64],
    temperature: float,
    epsilon: float,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return what `choose_soft` does, and the probability of each action it returns, [n] float32."""
    choice = np.zeros(len(offsets) - 1, np.int64)
    chance = np.zeros(len(choice), np.float32)
    _choose_soft(values, offsets, temperature, epsilon, rng.random(len(choice)), choice, chance)
    return choice, chance


def near_best(values: Array, offsets: NDArray[np.int64], near: float) -> Array:
    """Return the values, [m], with -inf for actions that are more than `near` below the best of their row.

    A soft choice among them is one among near-maximal actions alone. No row may be empty.
    """
    if len(offsets) < 2:
        return values
    best = np.maximum.reduceat(values, offsets[:-1])
    return np.where(values < np.repeat(best - near, np.diff(offsets)), -np.inf, values)


def soft_shares(
    scores: NDArray[np.float64], offsets: NDArray[np.int64], temperature: float
) -> NDArray[np.float64]:
    """Return the softmax of scores / temperature in each row, [m] float64; no row may be empty.

    At temperature 0 the best score of a row has 1, the first among equals.
    """
    if len(scores) == 0:
        return scores
    starts, counts = offsets[:-1], np.diff(offsets)
    below = scores - np.repeat(np.maximum.reduceat(scores, starts), counts)
    if temperature > 0:
        weights = np.exp(below / temperature)
        found: NDArray[np.float64] = weights / np.repeat(np.add.reduceat(weights, starts), counts)
        return found
    shares = np.zeros(len(scores))
    shares[np.minimum.reduceat(np.where(below == 0, np.arange(len(scores)), len(scores)), starts)] = 1.0
    return shares


@dataclass(frozen=True, eq=False)
class TopChoices(Columns):
    """What was chosen among, at n decisions.

    actions: [n, k] of the game, the best ones in order; where there are fewer, the first again. count: [n]
    int64, how many there are. picked: [n] int64, which was played. log_chance: [n] float32, of its chance.
    """

    actions: Array
    count: NDArray[np.int64]
    picked: NDArray[np.int64]
    log_chance: NDArray[np.float32]
