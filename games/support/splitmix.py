"""SplitMix64's numbers and its finaliser, in kernels and on arrays (Steele, Lea and Flood 2014)."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from games.support.kernel import kernel

STEP = np.uint64(0x9E3779B97F4A7C15)
Words = TypeVar("Words", np.uint64, NDArray[np.uint64])


def mixed_bits(x: Words) -> Words:
    """Return well-spread bits of a word, or of each word of an array."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


mixed_word = kernel(mixed_bits)
"""The same in a kernel."""


@kernel
def mix_hash(h: np.uint64, x: np.uint64) -> np.uint64:
    """Return a 64-bit hash after one step: x folded in, then mixed."""
    return mixed_word((h ^ x) + STEP)


@kernel
def below(number: np.uint64, bound: int) -> np.int64:
    """Return an integer in [0, bound) from a random number; the bias is below bound / 2 ** 32."""
    return np.int64((number >> np.uint64(32)) * np.uint64(bound) >> np.uint64(32))


@kernel
def random_below(state: np.uint64, bound: int) -> tuple[np.uint64, np.int64]:
    """Return the next state and an integer in [0, bound), as `below`."""
    state += STEP
    return state, below(mix_hash(state, np.uint64(0)), bound)
