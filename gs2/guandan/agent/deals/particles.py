"""Nested search: deals kept from one decision of a seat to the next while they agree with what was seen.

A particle is the deal as it stood at the start of the round. It survives as long as every seat can have
played what it played; those that die are replaced by the new deals that differ most from the survivors in
their alternative values. Source: GS2 supplement, C.6.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from games.guandan.cards import NUM_CARDS, unpack
from games.guandan.combos import ORDER
from games.support.array_types import Array

REMEMBERED = 64
"""Rounds of which an agent keeps deals and subgames."""


@dataclass
class RoundMemory:
    """What a seat keeps of one round: deals, and what solved subgames play further down.

    deals: [n, 4, 2], hands at the start of the round. later: (moves, probabilities) by own infoset key.
    """

    deals: Array = field(default_factory=lambda: np.zeros((0, 4, 2), np.uint64))
    later: dict[bytes, tuple[Array, NDArray[np.float64]]] = field(default_factory=dict)

    def remember(self, states: Array) -> None:
        """Keep the deals of some states of the round, [n] STATE, instead of those kept before."""
        self.deals = states["hand"] + states["played"]

    def survivors(self, state: Array, seat: int) -> Array:
        """Return the deals that still agree with what `seat` knows at a later state, [n] STATE.

        state: [1] STATE.
        """
        mine = state["hand"][0, seat] + state["played"][0, seat]
        initial = unpack(self.deals).astype(np.int64)
        played = unpack(state["played"][0]).astype(np.int64)
        hands = initial - played
        known = np.maximum(unpack(state["known"][0]).astype(np.int64) - played, 0)
        rank = np.minimum(np.arange(NUM_CARDS) // 4, 12) + (np.arange(NUM_CARDS) >= 52) * 1
        rank[53] = 14
        level = int(state["level"][0])
        high = ORDER[level, rank][None] > state["cap"][0][:, None].astype(np.int64)
        high[:, 4 * level] = False
        high[seat] = False
        alive = (
            np.all(self.deals[:, seat] == mine, axis=1)
            & np.all(hands >= known, axis=(1, 2))
            & np.all(hands.sum(2) == state["left"][0], axis=1)
            & ~np.any((hands > known) & high, axis=(1, 2))
        )
        out = np.repeat(state, np.count_nonzero(alive))
        out["hand"] = self.deals[alive] - state["played"][0]
        return out


class Memories:
    """What an agent remembers of the rounds that it plays, the oldest of many forgotten."""

    def __init__(self) -> None:
        self._kept: dict[bytes, RoundMemory] = {}

    def of(self, state: Array, seat: int) -> RoundMemory:
        """Return what is remembered of a seat's round, which is told by how it began; state: [1] STATE."""
        row = state[0]
        start = row["hand"][seat] + row["played"][seat]
        told = [seat, *(int(row[name]) for name in ("level", "first", "owner")), *row["levels"].tolist()]
        key = bytes(told) + start.tobytes()
        memory = self._kept.pop(key, None) or RoundMemory()
        self._kept[key] = memory
        while len(self._kept) > REMEMBERED:
            del self._kept[next(iter(self._kept))]
        return memory


def top_up(kept: NDArray[np.float64], offered: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Return which of the offered deals to add, [count] at most, each the most different from those in.

    kept: [q, a], offered: [q, b], alternative values of each opponent. The first of an empty start is the one
    of the most extreme value.
    """
    offered = np.atleast_2d(offered)
    chosen: list[int] = []
    if kept.shape[1]:
        near = np.min(((offered[:, :, None] - kept[:, None, :]) ** 2).sum(0), axis=1)
    else:
        near = ((offered - offered.mean(1, keepdims=True)) ** 2).sum(0)
    for _ in range(min(count, offered.shape[1])):
        pick = int(np.argmax(near))
        chosen.append(pick)
        near = np.minimum(near, ((offered - offered[:, [pick]]) ** 2).sum(0))
        near[pick] = -1.0
    return np.array(chosen, np.int64)
