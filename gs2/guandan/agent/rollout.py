"""Rollouts: many states played on in lockstep by the blueprint's best canonical move, then valued.

All four seats choose from what they can see themselves, so a sampled deal is never seen through. The greedy
move makes a rollout a function of the deal: between two candidate moves only what they cause differs. A small
network that was taught the blueprint's moves may play in its place; the blueprint values where play stops.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.objective import result_worth
from blueprint.protocol import Decisions
from games.game import TERMINAL
from games.guandan.cards import ACTION
from games.guandan.moves.listing import CANONICAL, list_moves, moves_scratch
from games.guandan.rounds.round import GuanDan
from games.guandan.rounds.state import BEAT, HAND, LEVEL, PLAYER, action_words, play_move
from games.round_rows import views
from games.support.array_types import Array, Bytes, Int, Ints
from games.support.kernel import kernel
from gs2.guandan.agent.deals.dealing import DealNetworks
from gs2.guandan.agent.evaluator import BATCH, Evaluator, evaluator_worth
from gs2.guandan.agent.guandan_config import GuanDanConfig
from gs2.guandan.agent.styles import Styles

ROOM = 2048
"""Rows kept free for one hand: more than it has canonical moves."""
_GAME = GuanDan(moves="canonical")


@kernel(nogil=True)
def _gather(
    words: Ints,
    bytes_: Bytes,
    live: Ints,
    begin: Int,
    limit: Int,
    moves: Ints,
    rows: Ints,
    seats: Ints,
    offsets: Ints,
) -> tuple[Int, int, int]:
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
            end = list_moves(CANONICAL, lo, hi, level, words[i, BEAT] & 0xFFFFFF, moves, m, scratch)
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


@kernel(nogil=True)
def _play_best(words: Ints, bytes_: Bytes, rows: Ints, offsets: Ints, moves: Ints, values: Array) -> None:
    """Play the move of highest value at each decision; the first among equals. values: [m] of each move."""
    for j in range(len(rows)):
        best = offsets[j]
        for k in range(offsets[j] + 1, offsets[j + 1]):
            if values[k] > values[best]:
                best = k
        play_move(words, bytes_, rows[j], moves[best, 0] & 0xFFFFFF, moves[best, 1], moves[best, 2])


def ended_worth(states: Array) -> NDArray[np.float64]:
    """Return what the results of rounds that are over are worth to seat 0's team, [n] float64, in levels."""
    place = 3 - _GAME.returns(states)[:, 0].astype(np.int64)
    worth: NDArray[np.float64] = result_worth(states, np.zeros(len(states), np.int64))
    return worth[np.arange(len(states)), place]


class Rollouts:
    """Plays states on; holds the buffers and counts the work.

    evaluator: values the states where play stops. player: chooses the moves on the way, by default the
        evaluator.
    decisions: network decisions taken so far.
    """

    def __init__(self, evaluator: Evaluator, player: Evaluator | None = None) -> None:
        self.evaluator = evaluator
        self.player = evaluator if player is None else player
        self.decisions = 0
        self._moves = np.empty((96 * BATCH + ROOM, 3), np.int64)
        self._rows = np.empty(BATCH, np.int64)
        self._seats = np.empty(BATCH, np.int64)
        self._offsets = np.empty(BATCH + 1, np.int64)

    @classmethod
    def of(cls, networks: DealNetworks, config: GuanDanConfig) -> Rollouts:
        """Return rollouts by the blueprint's evaluator, or by the quick one if the search has that play."""
        quick = config.plays_out and config.comparison.playing == "quick"
        return cls(networks.evaluator, networks.quick if quick else None)

    def payoffs(
        self,
        states: Array,
        depth: int | None = None,
        deadline: float | None = None,
        styles: Styles | None = None,
    ) -> NDArray[np.float64]:
        """Return the payoff to seat 0's team of playing each state on, [n] float64, in levels.

        In a match it is what the result is worth there (`blueprint.guandan.objective`).
        states: [n] STATE, played in place. depth: decisions with a choice taken in each before it is valued
            by the evaluator; None plays to the end. styles: how each seat plays on; None by the blueprint.
        deadline: an instant of `time.perf_counter()` from which on states are valued where they stand.
        """
        live = np.arange(len(states), dtype=np.int64)
        taken = 0
        while len(live) and (depth is None or taken < depth):
            if deadline is not None and time.perf_counter() >= deadline:
                break
            kept = [live[:0]]
            for decisions in self.due(states, live):
                values = self.player.advantages(decisions)
                if styles is not None:
                    styles.lean(decisions, values)
                moves = action_words(decisions.actions)
                _play_best(*views(states), decisions.rows, decisions.offsets, moves, values)
                kept.append(decisions.rows.copy())
                self.decisions += len(decisions)
            live = np.concatenate(kept)
            taken += 1
        out = np.zeros(len(states))
        for decisions in self.due(states, live):
            rows, seats = decisions.rows, decisions.seats
            out[rows] = evaluator_worth(self.evaluator, states, rows, seats) * (1 - 2 * (seats & 1))
        over = np.flatnonzero(states["player"] == TERMINAL)
        out[over] = ended_worth(states[over])
        return out

    def due(self, states: Array, live: NDArray[np.int64]) -> Iterator[Decisions]:
        """Yield the next decision of each of the rounds `live` that goes on, up to BATCH at a time.

        states: [n] STATE; forced moves are played in them. What is yielded holds until the next.
        """
        words, bytes_ = views(states)
        moves, rows, seats, offsets = self._moves, self._rows, self._seats, self._offsets
        begin: Int = 0
        while begin < len(live):
            begin, k, m = _gather(words, bytes_, live, begin, BATCH, moves, rows, seats, offsets)
            if k:
                actions = moves[:m].view(ACTION)[:, 0]
                yield Decisions(states, rows[:k], seats[:k], offsets[: k + 1], actions)
