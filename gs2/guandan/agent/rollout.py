"""Rollouts: many states played on in lockstep by the blueprint's best canonical move, then valued.

All four seats choose from what they can see themselves, so a sampled deal is never seen through. The greedy
move makes a rollout a function of the deal: between two candidate moves only what they cause differs.
"""

from __future__ import annotations

import time

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.game import TERMINAL
from games.guandan.cards import ACTION
from games.guandan.moves.listing import list_moves, moves_scratch
from games.guandan.rounds.round import GuanDan
from games.guandan.rounds.state import BEAT, HAND, LEVEL, PLAYER, play_move, views
from gs2.guandan.agent.evaluator import BATCH, Evaluator

__all__ = ["Rollouts", "play_best"]

ROOM = 2048
"""Rows kept free for one hand: more than it has canonical moves."""
_GAME = GuanDan(moves="canonical")


@njit(cache=True, nogil=True)
def _gather(words, bytes_, live, begin, limit, moves, rows, seats, offsets):
    """Collect decisions with a choice from live[begin:], playing forced moves on the way.

    Stops after `limit` decisions or when `moves` is full. Rounds that end are left out.
    Returns (how far in `live`, decisions, moves).
    """
    scratch = moves_scratch()
    k, m = 0, 0
    offsets[0] = 0
    at = begin
    while at < len(live) and k < limit and m + ROOM <= len(moves):
        i = live[at]
        level = np.int64(bytes_[i, LEVEL])
        while bytes_[i, PLAYER] < 4:
            p = np.int64(bytes_[i, PLAYER])
            lo, hi = words[i, HAND + 2 * p], words[i, HAND + 2 * p + 1]
            end = list_moves(True, lo, hi, level, words[i, BEAT] & 0xFFFFFF, moves, m, scratch)
            if end > m + 1:
                rows[k] = i
                seats[k] = p
                k += 1
                m = end
                offsets[k] = m
                break
            play_move(words, bytes_, i, moves[m, 0] & 0xFFFFFF, moves[m, 1], moves[m, 2])
        at += 1
    return at, k, m


@njit(cache=True, nogil=True)
def play_best(words, bytes_, rows, offsets, moves, values):
    """Play the move of highest value at each decision; the first among equals."""
    for j in range(len(rows)):
        best = offsets[j]
        for k in range(offsets[j] + 1, offsets[j + 1]):
            if values[k] > values[best]:
                best = k
        play_move(words, bytes_, rows[j], moves[best, 0] & 0xFFFFFF, moves[best, 1], moves[best, 2])


class Rollouts:
    """Plays states on; holds the buffers and counts the work.

    decisions: network decisions taken so far; leaves: states valued so far.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.decisions = 0
        self.leaves = 0
        self._moves = np.empty((96 * BATCH + ROOM, 3), np.int64)
        self._rows = np.empty(BATCH, np.int64)
        self._seats = np.empty(BATCH, np.int64)
        self._offsets = np.empty(BATCH + 1, np.int64)

    def payoffs(
        self, states: NDArray, depth: int | None = None, deadline: float | None = None
    ) -> NDArray[np.float64]:
        """Return the payoff to seat 0's team of playing each state on, [n] float64, in levels.

        states: [n] STATE, played in place. depth: decisions with a choice taken in each before it is valued
            by the evaluator; None plays to the end.
        deadline: an instant of `time.perf_counter()` from which on states are valued where they stand.
        """
        words, bytes_ = views(states)
        live = np.arange(len(states), dtype=np.int64)
        taken = 0
        while len(live) and (depth is None or taken < depth):
            if deadline is not None and time.perf_counter() >= deadline:
                break
            begin, kept = 0, []
            while begin < len(live):
                begin, k, m = self._collect(words, bytes_, live, begin)
                if k == 0:
                    continue
                rows, seats, offsets = self._rows[:k], self._seats[:k], self._offsets[: k + 1]
                moves = self._moves[:m]
                q = self.evaluator.q(states, rows, seats, offsets, moves.view(ACTION)[:, 0])
                play_best(words, bytes_, rows, offsets, moves, q)
                kept.append(rows.copy())
                self.decisions += k
            live = np.concatenate(kept) if kept else live[:0]
            taken += 1
        out = np.zeros(len(states))
        begin = 0
        while begin < len(live):
            begin, k, _ = self._collect(words, bytes_, live, begin)
            if k:
                rows, seats = self._rows[:k], self._seats[:k]
                out[rows] = self.evaluator.values(states, rows, seats) * (1 - 2 * (seats & 1))
                self.leaves += k
        over = states["player"] == TERMINAL
        out[over] = _GAME.returns(states[over])[:, 0]
        return out

    def _collect(
        self, words: NDArray, bytes_: NDArray, live: NDArray[np.int64], begin: int
    ) -> tuple[int, int, int]:
        return _gather(words, bytes_, live, begin, BATCH, self._moves, self._rows, self._seats, self._offsets)
