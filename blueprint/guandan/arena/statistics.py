"""What duplicate deals say: means with intervals bootstrapped over deals, never over single rounds."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.support.array_types import Array
from games.support.bootstrap import Estimate, estimate

__all__ = [
    "ArenaSummary",
    "rounds_won",
    "summarise",
]

OUTCOMES = {"+3": 3, "+2": 2, "+1": 1, "0": 0, "-1": -1, "-2": -2, "-3": -3}


@dataclass(frozen=True)
class ArenaSummary:
    """A comparison in numbers, all from agent a's side.

    net: levels a round (won minus lost), over deals. won: share of rounds won (see `rounds_won`).
    outcomes: share of rounds by payoff "+3" … "-3"; by_side: the same for each side it sat on.
    games: share of whole games won. Absent parts are None.
    """

    net: Estimate | None
    won: Estimate | None
    outcomes: dict[str, float] | None
    by_side: tuple[dict[str, float], dict[str, float]] | None
    games: Estimate | None

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as plain JSON."""
        return asdict(self)


def _shares(payoffs: Array) -> dict[str, float]:
    return {name: float(np.mean(payoffs == value)) for name, value in OUTCOMES.items()}


def rounds_won(payoffs: Array) -> NDArray[np.float64]:
    """Return 1 for each round won and 0 for each lost; 0.5 where it gained nobody a level.

    That is a round at one's own level A which one's partner left last.
    """
    return (np.sign(payoffs) + 1) / 2


def summarise(
    payoffs: Array, games: Array, rng: np.random.Generator, *, confidence: float = 0.95
) -> ArenaSummary:
    """Return the summary of a comparison. payoffs: [n, 2] levels to a; games: [g, 2] scores of a (1, 0.5, 0).

    Both plays of a deal count as one observation: their mean.
    """
    net = won = outcomes = sides = whole = None
    if len(payoffs):
        net = estimate(payoffs.mean(1), rng, confidence=confidence)
        won = estimate(rounds_won(payoffs).mean(1), rng, confidence=confidence)
        outcomes = _shares(payoffs)
        sides = (_shares(payoffs[:, 0]), _shares(payoffs[:, 1]))
    if len(games):
        whole = estimate(games.mean(1), rng, confidence=confidence)
    return ArenaSummary(net, won, outcomes, sides, whole)
