"""Numbers packed into 16 bits one by one, by the words of `cfr.engine.simd`."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

WORD = 0xFFFFFFFF
FIRST, SECOND, THIRD = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D


def slow_pack(numbers: NDArray[np.float32], start: int, tick: int) -> tuple[list[int], int]:
    """Return eight numbers at index `start` in a round as whole ones, and their exponent."""
    largest = max(abs(float(number)) for number in numbers)
    exponent = -126
    if largest > 0:
        exponent = max(-126, math.frexp(largest)[1] - 1 - 14)
    whole = []
    for lane, number in enumerate(numbers):
        bits = int(np.float32(number).view(np.uint32))
        mixed = bits ^ ((start * THIRD + tick * FIRST + lane * SECOND) & WORD)
        for multiplier, shift in ((FIRST, 15), (SECOND, 13), (THIRD, 16)):
            mixed = mixed * multiplier & WORD
            mixed ^= mixed >> shift
        chance, scaled = (mixed >> 8) * 2.0**-24, math.ldexp(float(number), -exponent)
        under = math.floor(scaled)
        whole.append(min(32767, max(-32767, under + (chance < scaled - under))))
    return whole, exponent
