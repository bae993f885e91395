"""Minimum combination by trying every legal move: slow and obvious; and the groups that the search finds."""

from __future__ import annotations

import numpy as np

from blueprint.guandan.rules.min_combination import UNIT, UNIT_COSTS, split_hand, split_room
from games.guandan.rounds.playout import legal_moves
from games.support.array_types import Array, Ints


def fewest_moves(lo: int, hi: int, level: int, memo: dict[tuple[int, int], int]) -> int:
    """Return the fewest moves that play out a packed hand, by exhaustion.

    The order of moves does not matter, so each step may insist on using the lowest card held.
    """
    if (lo, hi) == (0, 0):
        return 0
    if (lo, hi) not in memo:
        moves = legal_moves(np.array([[lo, hi]], np.uint64), level).values
        word, name = (lo, "lo") if lo else (hi, "hi")
        card = ((word & -word).bit_length() - 1) // 2
        moves = moves[(moves[name] >> np.uint64(2 * card) & np.uint64(3)) > 0]
        cards = np.unique(np.stack([moves["lo"], moves["hi"]], 1), axis=0)
        memo[lo, hi] = 1 + min(fewest_moves(lo - int(a), hi - int(b), level, memo) for a, b in cards)
    return memo[lo, hi]


def cheapest_split(
    hand: Array, level: int, costs: Ints = UNIT_COSTS
) -> tuple[float, list[tuple[int, int, int]]]:
    """Return the least cost of one packed hand [2], and its groups as (type, rank code, cards).

    A full house stands for its trips and one of the pairs that no other group holds.
    """
    groups = np.empty((32, 3), np.int64)
    cost, m = split_hand(int(hand[0]), int(hand[1]), level, costs[level], split_room(1), groups)
    return cost / UNIT, [(int(k), int(r), int(s)) for k, r, s in groups[:m]]
