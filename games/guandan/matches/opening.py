"""The hands that the rounds of a match begin with: given ones, or those that follow from its seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from games.guandan.rounds.state import deal_hands
from games.support.splitmix import STEP, mixed_bits

__all__ = ["AS_DRAWN", "Opening", "deal_round", "mix_seeds"]


@dataclass(frozen=True, eq=False)
class Opening:
    """What of the first rounds does not come from the seed.

    deals: counts of the hands of the first k rounds, [k, 4, 54] of a match or [n, k, 4, 54] of n matches.
    first: seat that leads round 1 if no round was before it; None to follow the rules.
    """

    deals: ArrayLike | None = None
    first: int | None = None


AS_DRAWN = Opening()
"""The opening of which everything comes from the seed."""


def mix_seeds(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return each word after SplitMix64's step and finaliser."""
    return mixed_bits(x + STEP)


def deal_round(seeds: NDArray[np.uint64], rounds: ArrayLike) -> NDArray[np.uint64]:
    """Return the packed hands dealt in round `rounds` of matches with these seeds, [n, 4, 2] uint64."""
    words = np.zeros((len(seeds), 8), np.int64)
    deal_hands(mix_seeds(mix_seeds(seeds) ^ np.asarray(rounds).astype(np.uint64)), words)
    return words.view(np.uint64).reshape(len(seeds), 4, 2)
