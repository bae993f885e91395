"""Minimum Combination Search: the fewest moves that play out a hand, and the cheapest way to split it.

`split_search` has the search. With unit costs, and where only the number is wanted, `fewest_moves` is several
times as fast.

With unit costs the result is exact (three equal straights are never needed: two plates and trips hold the
same cards, likewise three equal tubes are three bombs and two equal plates are two bombs). With other costs
the search is over the same splits. Source of the idea: Luo & Tan 2024 (ODMC), for climbing games.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blueprint.guandan.hands import card_counts
from blueprint.guandan.rules.fewest_moves import NO_ROOM, Room, count_fewest_moves, room
from blueprint.guandan.rules.split_search import UNIT, split_hand, workspace
from games.guandan.cards import NUM_RANKS
from games.support.array_types import Ints
from games.support.kernel import kernel

__all__ = ["UNIT_COSTS", "Costs", "min_combinations"]

COST_TYPES = 11


@dataclass(frozen=True)
class Costs:
    """What each group of a split costs.

    table: [13 levels, 11 types, 15] int64 in thousandths of a move, by type and rank code (sequences: of the
        lowest card). bombs: [13 levels, 11, 15] the same for bombs by size. The pair in a full house is free.
    """

    table: NDArray[np.int64]
    bombs: NDArray[np.int64]


UNIT_COSTS = Costs(np.full((13, COST_TYPES, 15), UNIT, np.int64), np.full((13, 11, 15), UNIT, np.int64))


@kernel(nogil=True)
def _all_costs(
    hands: Ints, levels: Ints, table: Ints, bombs: Ints, work: Ints, slots: Ints, out: Ints
) -> None:
    naturals = np.empty(15, np.int64)
    groups = np.empty((32, 3), np.int64)
    for i in range(len(hands)):
        out[i], _ = split_hand(
            hands[i, 0],
            hands[i, 1],
            levels[i],
            table[levels[i]],
            bombs[levels[i]],
            work,
            slots,
            naturals,
            groups,
        )


@kernel(nogil=True)
def _all_fewest(hands: Ints, levels: Ints, work: Room, out: Ints) -> int:
    """Write the fewest moves of each hand; return the first hand that would need more room, or -1."""
    naturals = np.empty(15, np.int64)
    for i in range(len(hands)):
        wild = card_counts(hands[i, 0], hands[i, 1], levels[i], naturals)
        out[i] = count_fewest_moves(naturals, wild, work)
        if out[i] == NO_ROOM:
            return i
    return -1


def _checked(hands: ArrayLike, levels: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    hands = np.ascontiguousarray(np.atleast_2d(np.asarray(hands, np.uint64)))
    if hands.ndim != 2 or hands.shape[1] != 2:
        raise ValueError(f"min_combinations: hands are packed, [n, 2] uint64; got shape {hands.shape}")
    levels = np.ascontiguousarray(np.broadcast_to(np.asarray(levels, np.int64), len(hands)))
    if levels.size and not 0 <= levels.min() <= levels.max() < NUM_RANKS:
        raise ValueError(
            f"min_combinations: a level is a rank code 0..12; got {levels.min()}..{levels.max()}"
        )
    return hands.view(np.int64), levels


def min_combinations(hands: ArrayLike, levels: ArrayLike, costs: Costs = UNIT_COSTS) -> NDArray[np.float64]:
    """Return the least cost of playing each hand out, [n] float64, in moves (whole with unit costs).

    hands: [n, 2] uint64, packed. levels: rank code 0..12, one for all or [n].
    """
    packed, levels = _checked(hands, levels)
    out = np.empty(len(packed), np.int64)
    if costs is UNIT_COSTS and _all_fewest(packed, levels, room(), out) < 0:
        return out.astype(np.float64)
    _all_costs(packed, levels, costs.table, costs.bombs, *workspace(), out)
    return out / UNIT
