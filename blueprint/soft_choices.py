"""Soft choices: one of each row's actions, drawn by the softmax of values or at random; blueprints so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Decisions, DrawingAgent
from blueprint.structured import Columns
from games.support.array_types import Array, Ints
from games.support.kernel import kernel


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


def draw_soft(
    values: Array,
    offsets: NDArray[np.int64],
    temperature: float,
    epsilon: float,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the index within its row of one action per row, [n] int64, and its probability, [n] float32.

    values: [m] of each action. With probability `epsilon` any action of the row, else one drawn from the
    softmax of values / temperature (the greedy one at temperature 0; the first among equals).
    """
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


class SoftAgent(DrawingAgent):
    """A network that plays its best move, or a soft choice among its moves."""

    def __init__(
        self,
        network: Any,
        *,
        temperature: float = 0.0,
        epsilon: float = 0.0,
        near: float = 0.0,
        rng: np.random.Generator | None = None,
    ) -> None:
        """Take a network with `name` and `advantages`; temperature and epsilon as in `draw_soft`, by `rng`.

        near: how far below the best move the soft choice is made; 0 for among all.
        Raises ValueError if a choice needs `rng` and there is none.
        """
        if rng is None and (temperature > 0 or epsilon > 0):
            raise ValueError(
                f"SoftAgent: temperature {temperature} and epsilon {epsilon} need an rng; give one"
            )
        self.inference, self.name = network, str(network.name)
        self.temperature, self.epsilon, self.near = temperature, epsilon, near
        self.rng = np.random.default_rng(0) if rng is None else rng

    def draw(self, decisions: Decisions) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return one action per decision, as an index within its row, and its probability."""
        scores: Array = self.inference.advantages(decisions)
        if self.near > 0:
            scores = near_best(scores, decisions.offsets, self.near)
        return draw_soft(scores, decisions.offsets, self.temperature, self.epsilon, self.rng)


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

    def there(self) -> NDArray[np.bool_]:
        """Return which of the actions there are, [n, k]: the first `count`."""
        found: NDArray[np.bool_] = np.arange(self.actions.shape[1]) < self.count[:, None]
        return found
