"""Endgames of two solved the obvious way: every full legal move, no table, no order."""

from __future__ import annotations

import numpy as np

from games.guandan.rounds.round import advance, legal


def mover_wins(state: np.ndarray, memo: dict[bytes, bool]) -> bool:
    """Return whether the player to act of [1] STATE is out of cards before the other, both playing best."""
    seat = int(state["player"][0])
    beat = state["beat"][0]
    key = state["hand"].tobytes() + bytes(
        [seat, int(state["leader"][0]), int(state["passes"][0]), int(beat["type"]), int(beat["rank"])]
    )
    key += bytes([int(beat["size"])])
    if key not in memo:
        moves = legal(state).values
        memo[key] = any(move_wins(state, moves[j : j + 1], memo) for j in range(len(moves)))
    return memo[key]


def move_wins(state: np.ndarray, move: np.ndarray, memo: dict[bytes, bool]) -> bool:
    """Return whether `move` of [1] STATE leads to being out of cards first."""
    seat = int(state["player"][0])
    after = state.copy()
    advance(after, move)
    if after["left"][0, seat] == 0:
        return True
    return mover_wins(after, memo) == (int(after["player"][0]) == seat)
