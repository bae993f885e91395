"""Decisions with their targets: what training learns from, and lambda-returns.

With trace < 1 the return is the lambda-return through the critic's later values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.network.input_layout import OUTCOMES
from blueprint.soft_choices import TopChoices
from blueprint.structured import Columns
from games.support.array_types import Array, Ints
from games.support.kernel import kernel

__all__ = ["Samples", "lambda_returns", "outcome_classes"]


@dataclass(frozen=True, eq=False)
class Samples(Columns):
    """Decisions with their targets.

    states: [n] STATE; actions: [n] ACTION. outcome: [n] int64, class of the payoff to the player (OUTCOMES).
    target: [n] float32, return minus baseline, what the advantage head learns. choices: what was chosen
    among, where a policy learns. share: [n] float32, probability with which each decision was kept.
    types: [n, 4] uint8, who each seat played like (PERSONALITIES), from the one that decides on; None where
    nobody played a part.
    """

    states: Array
    actions: Array
    outcome: NDArray[np.int64]
    target: NDArray[np.float32]
    share: NDArray[np.float32]
    choices: TopChoices | None = None
    types: NDArray[np.uint8] | None = None


def outcome_classes(seats: NDArray[np.int64], payoff: Array) -> NDArray[np.int64]:
    """Return the class of each payoff (OUTCOMES) to who decides, [n] int64; payoff: [n] to side 0."""
    return np.asarray(OUTCOMES[0] - (1 - 2 * (seats & 1)) * payoff, np.int64)


@kernel
def _lambda_returns(
    rounds: Ints,
    signs: NDArray[np.float64],
    values: NDArray[np.float64],
    trace: float,
    running: NDArray[np.float64],
    out: NDArray[np.float32],
) -> None:
    """Walk the record backwards; `running` holds the lambda-return of each round for side 0."""
    for t in range(len(rounds) - 1, -1, -1):
        i = rounds[t]
        out[t] = signs[t] * running[i] - values[t]
        running[i] = (1.0 - trace) * signs[t] * values[t] + trace * running[i]


def lambda_returns(
    rounds: NDArray[np.int64], seats: Array, values: Array, payoff: Array, trace: float
) -> NDArray[np.float32]:
    """Return the lambda-return of each decision minus its value, [n] float32, for the deciding side.

    rounds: [n] which round each decision belongs to, in order of play. seats: [n] who decides.
    values: [n] value of each state to the deciding side. payoff: [rounds] payoff of each round to side 0.
    """
    signs = np.asarray(1 - 2 * (np.asarray(seats, np.int64) & 1), np.float64)
    out = np.empty(len(rounds), np.float32)
    running = np.array(payoff, np.float64)
    _lambda_returns(rounds, signs, np.asarray(values, np.float64), trace, running, out)
    return out
