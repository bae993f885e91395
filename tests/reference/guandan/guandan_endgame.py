"""The end of a round with open cards solved the obvious way: every move, no table of bounds, no order."""

from __future__ import annotations

import numpy as np

from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import GuanDan, advance

_GAME = GuanDan()


def best_result(state: np.ndarray, memo: dict[bytes, float], canonical: bool) -> float:
    """Return the levels of seat 0's team from [1] STATE on when everybody plays best with open cards."""
    if state["player"][0] < 0:
        return float(_GAME.returns(state)[0, 0])
    seat, beat = int(state["player"][0]), state["beat"][0]
    key = (
        state["hand"].tobytes()
        + state["order"].tobytes()
        + bytes(
            [seat, int(state["leader"][0]), int(state["passes"][0]), int(beat["type"]), int(beat["rank"])]
        )
    )
    key += bytes([int(beat["size"])])
    if key not in memo:
        moves = legal(state, canonical=canonical).values
        found = [result_after(state, moves[j : j + 1], memo, canonical) for j in range(len(moves))]
        memo[key] = min(found) if seat & 1 else max(found)
    return memo[key]


def result_after(state: np.ndarray, move: np.ndarray, memo: dict[bytes, float], canonical: bool) -> float:
    """Return `best_result` after a move at [1] STATE."""
    after = state.copy()
    advance(after, move)
    return best_result(after, memo, canonical)
