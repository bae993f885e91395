"""Which moves a subgame of GuanDan grows, and actions as keys that compare."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.game import Game
from games.guandan.cards import PASS
from games.guandan.rounds.state import action_words
from games.ragged import Ragged
from gs2.guandan.agent.evaluator import Evaluator, evaluator_values

__all__ = ["Branches", "action_keys"]


class Branches:
    """The moves worth growing: the best few of each type by the blueprint, fewer where a level is crowded."""

    def __init__(self, evaluator: Evaluator, per_type: int, room: int, deadline: float) -> None:
        self.evaluator, self.per_type, self.room, self.deadline = evaluator, per_type, room, deadline
        self.thinned = 0

    def __call__(self, game: Game, states: NDArray[Any], player: int, actions: Ragged) -> NDArray[np.bool_]:
        """Return which actions to keep, [m] bool."""
        if time.perf_counter() >= self.deadline:
            raise TimeoutError("the subgame could not be grown in time")
        q = evaluator_values(self.evaluator, states, actions)
        rows, kinds = actions.rows, actions.values["type"].astype(np.int64)
        # rank of each action within its row, and within its row and type, by falling Q
        order = np.lexsort((-q, rows))
        place = np.empty(len(q), np.int64)
        place[order] = np.arange(len(q)) - actions.offsets[:-1][rows[order]]
        order = np.lexsort((-q, kinds, rows))
        group = rows[order] * 16 + kinds[order]
        start = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
        within = np.empty(len(q), np.int64)
        within[order] = np.arange(len(q)) - np.repeat(start, np.diff([*start, len(q)]))
        keep: NDArray[np.bool_] = (within < self.per_type) | (kinds == PASS)
        for most in (12, 6, 4, 3, 2, 1):
            if np.count_nonzero(keep) <= self.room:
                break
            keep &= place < most
            self.thinned += most == 12
        return keep


def action_keys(actions: NDArray[Any]) -> NDArray[Any]:
    """Return actions as one comparable value each; the bytes between their fields hold anything."""
    words = action_words(actions).copy()
    words[:, 0] &= 0xFFFFFF
    return words.view("V24").reshape(-1)
