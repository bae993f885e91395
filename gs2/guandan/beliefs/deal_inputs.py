"""The three hidden hands of a deal as inputs: every card, and how many there are of each rank."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from games.guandan.rounds.state import HAND, views
from games.support.array_types import Array, Bytes, Int, Ints
from games.support.kernel import kernel

__all__ = ["DEAL_WIDTH", "deal_inputs"]

MOST = 6
"""Cards of a rank that are counted; more count as so many."""
HAND_WIDTH = 2 * 54 + 15 * MOST
DEAL_WIDTH = 3 * HAND_WIDTH
"""For each of the three seats after the one that looks: cards held once and twice, ranks held so often."""


@kernel(nogil=True)
def _deal_inputs(words: Ints, seat: Int, out: Bytes) -> None:
    for i in range(len(words)):
        for j in range(3):
            s = (seat + 1 + j) & 3
            base = j * HAND_WIDTH
            for card in range(54):
                if card < 28:
                    held = words[i, HAND + 2 * s] >> 2 * card & 3
                else:
                    held = words[i, HAND + 2 * s + 1] >> 2 * (card - 28) & 3
                rank = card // 4 if card < 52 else card - 39
                for copy in range(held):
                    out[i, base + 2 * card + copy] = 1
                    at = base + 108 + rank * MOST
                    for k in range(MOST):
                        if out[i, at + k] == 0:
                            out[i, at + k] = 1
                            break


def deal_inputs(states: Array, seat: int) -> NDArray[np.uint8]:
    """Return the hidden hands of some deals as inputs, [n, DEAL_WIDTH] uint8; states: [n] STATE."""
    out = np.zeros((len(states), DEAL_WIDTH), np.uint8)
    _deal_inputs(views(np.ascontiguousarray(states))[0], seat, out)
    return out
