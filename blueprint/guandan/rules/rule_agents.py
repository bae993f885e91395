"""Agents that follow a rule: random and greedy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Decisions
from games.guandan.cards import PASS
from games.guandan.combos import BOMB_CLASS, combo_strength
from games.guandan.rounds.state import LEVEL
from games.round_rows import views
from games.support.array_types import Bytes, Ints
from games.support.kernel import kernel


class RandomAgent:
    """Plays any legal move with equal probability."""

    name = "random"

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        """Return one action per decision, as an index within its row."""
        counts = np.diff(decisions.offsets)
        drawn = (self.rng.random(len(counts)) * counts).astype(np.int64)
        found: NDArray[np.int64] = np.minimum(drawn, counts - 1)
        return found


@kernel(nogil=True)
def _greedy(bytes_: Bytes, rows: Ints, offsets: Ints, moves: Ints, choice: Ints) -> None:
    for j in range(len(rows)):
        level = np.int64(bytes_[rows[j], LEVEL])
        best, best_score = offsets[j], np.int64(1) << 60
        for k in range(offsets[j], offsets[j + 1]):
            kind, rank, size = moves[k, 0] & 255, moves[k, 0] >> 8 & 255, moves[k, 0] >> 16 & 255
            if kind == PASS:
                continue
            strength = combo_strength(kind, rank, size, level)
            bomb = max(0, (strength >> 8) - BOMB_CLASS + 1)
            # any type before bombs, low before high, many cards before few
            score = bomb << 20 | (strength & 255) << 8 | 16 - size
            if score < best_score:
                best, best_score = k, score
        choice[j] = best - offsets[j]


class GreedyAgent:
    """Plays the smallest move it can: weakest first, more cards among equals, bombs last; never passes."""

    name = "greedy"

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        """Return one action per decision, as an index within its row."""
        choice = np.empty(len(decisions), np.int64)
        moves = decisions.actions.view(np.int64).reshape(-1, 3)
        _greedy(views(decisions.states)[1], decisions.rows, decisions.offsets, moves, choice)
        return choice
