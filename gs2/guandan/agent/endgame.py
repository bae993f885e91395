"""Exact play when two seats are left: both know every card, so it is a game of perfect information.

The two are opponents (a round ends when a team is out), and who empties his hand first decides between two
payoffs. A depth-first search with a transposition table proves which moves win. It lists the full legal
moves, so that nothing rests on the canonical ones being as good.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.objective import result_worth
from games.guandan.cards import BOMB, NUM_RANKS, PASS
from games.guandan.moves.listing import FULL, RESERVE, list_moves, moves_scratch
from games.guandan.rounds.round import advance
from games.guandan.rounds.state import (
    BEAT,
    HAND,
    LEADER,
    LEFT,
    LEVEL,
    PASSES,
    PLAYER,
    WORDS,
    play_move,
    views,
)
from games.support.array_types import Array, Bytes, Int, Ints
from games.support.kernel import kernel
from games.support.splitmix import STEP, mix_hash

__all__ = ["Endgame", "is_endgame", "solve_endgame"]

DEPTH = 160
"""Moves in the longest line: 54 plays, each answered by a pass, and the passes on the table before."""
WON, LOST, UNKNOWN = 1, 0, 2


@dataclass(frozen=True, eq=False)
class Endgame:
    """A solved endgame.

    won: [m] bool, whether each move leads to the better of the two payoffs against any defence.
    known: [m] bool, whether the search settled it.
    values: (payoff if won, payoff if lost) to the team of the seat to act, in levels.
    """

    won: NDArray[np.bool_]
    known: NDArray[np.bool_]
    values: tuple[float, float]

    def worth(self, state: Array, seat: int) -> tuple[float, float]:
        """Return what the two payoffs are worth to `seat` in its match; state: [1] STATE before the move.

        In a match a level less can be worth more: moves are then not settled by who is out first.
        """
        worth = result_worth(state, np.array([seat]))[0]
        won, lost = (float(worth[3 - int(value)]) for value in self.values)
        return won, lost

    @property
    def settled(self) -> bool:
        """Whether the best payoff is known: a won move, or every move lost."""
        return bool(self.won.any() or self.known.all())


@kernel
def _key(words: Ints, bytes_: Bytes, i: Int) -> np.uint64:
    """Hash of what the rest of a round of two depends on."""
    h = np.uint64(words[i, BEAT] & 0xFFFFFF)
    h = mix_hash(h, np.uint64(bytes_[i, PLAYER]) << np.uint64(16) | np.uint64(bytes_[i, LEADER]))
    h = mix_hash(h, np.uint64(bytes_[i, PASSES]))
    for k in range(8):
        if words[i, HAND + k]:
            h = mix_hash(h, np.uint64(words[i, HAND + k]) + np.uint64(k) * STEP)
    return h | np.uint64(1)


@kernel
def _slot(keys: NDArray[np.uint64], key: np.uint64) -> np.uint64:
    """Place of a key in the transposition table, or the free one where it would stand."""
    mask = np.uint64(len(keys) - 1)
    slot = key & mask
    while keys[slot] != 0 and keys[slot] != key:
        slot = slot + np.uint64(1) & mask
    return slot


@kernel
def _order(moves: Ints, start: Int, end: Int, lead: bool) -> None:
    """Sort moves[start:end] by promise, bombs last: long ones first on a lead, the pass late in reply."""
    n = end - start
    target = end
    for want in range(13):
        for j in range(start, end):
            head = moves[j, 0]
            kind, size = head & 255, head >> 16 & 255
            if kind >= BOMB - 1:  # straight flushes too
                rank = 12
            elif lead:
                rank = 10 - size
            else:
                rank = 11 if kind == PASS else 0
            if rank == want:
                for k in range(3):
                    moves[target, k] = moves[j, k]
                target += 1
    for j in range(n):
        for k in range(3):
            moves[start + j, k] = moves[end + j, k]


@kernel
def _wins(
    words: Ints, bytes_: Bytes, keys: NDArray[np.uint64], marks: Bytes, moves: Ints, frames: Ints, limit: Int
) -> tuple[int, int]:
    """Whether the player of state 0 of the stack empties his hand first; return (WON..UNKNOWN, visited).

    words, bytes_: [DEPTH, ..] stack of states. keys, marks: transposition table. moves: room for lists.
    frames: [DEPTH, 3] first, next and last move of each state on the stack.
    """
    scratch = moves_scratch()
    top, visited = 0, 0
    fresh = True
    answer = UNKNOWN
    while True:
        if fresh:
            # a state just put on the stack: known, won at once, or to be opened
            p = np.int64(bytes_[top, PLAYER])
            key = _key(words, bytes_, top)
            slot = _slot(keys, key)
            if keys[slot] == key:
                answer = int(marks[slot])
            else:
                visited += 1
                start = frames[top - 1, 2] if top else 0
                if visited > limit or start + RESERVE > len(moves) or top + 1 >= DEPTH:
                    return UNKNOWN, visited
                lo, hi = words[top, HAND + 2 * p], words[top, HAND + 2 * p + 1]
                beat = words[top, BEAT] & 0xFFFFFF
                end = list_moves(FULL, lo, hi, np.int64(bytes_[top, LEVEL]), beat, moves, start, scratch)
                answer = UNKNOWN
                for j in range(start, end):
                    if moves[j, 0] >> 16 & 255 == bytes_[top, LEFT + p]:
                        answer = WON
                        break
                if answer == WON:
                    keys[slot] = key
                    marks[slot] = WON
                else:
                    if end + (end - start) > len(moves):
                        return UNKNOWN, visited
                    _order(moves, start, end, beat == 0)
                    frames[top, 0], frames[top, 1], frames[top, 2] = start, start, end
            fresh = False
        if answer == UNKNOWN:
            # try the next move of the state on top
            j = frames[top, 1]
            if j == frames[top, 2]:
                answer = LOST
            else:
                frames[top, 1] += 1
                for k in range(words.shape[1]):
                    words[top + 1, k] = words[top, k]
                play_move(words, bytes_, top + 1, moves[j, 0] & 0xFFFFFF, moves[j, 1], moves[j, 2])
                top += 1
                fresh = True
                continue
            key = _key(words, bytes_, top)
            slot = _slot(keys, key)
            keys[slot] = key
            marks[slot] = LOST
        # the state on top is settled: tell its parent
        if top == 0:
            return answer, visited
        same = bytes_[top, PLAYER] == bytes_[top - 1, PLAYER]
        top -= 1
        if (answer == WON) == same:
            key = _key(words, bytes_, top)
            slot = _slot(keys, key)
            keys[slot] = key
            marks[slot] = WON
            answer = WON
        else:
            answer = UNKNOWN


def is_endgame(state: Array) -> bool:
    """Return whether exactly two seats still hold cards at one state, [1] STATE."""
    return int(np.count_nonzero(state["left"][0])) == 2


def _values(state: Array, seat: int) -> tuple[float, float]:
    """Return the payoffs to `seat`'s team if it is out before its opponent, and if not."""
    row = state[0]
    first = int(row["order"][0])
    winner = first & 1
    mine = 1.0 if winner == seat & 1 else -1.0
    level_a = int(row["level"]) == NUM_RANKS - 1 and int(row["owner"]) == winner
    third, last = 2.0, 0.0 if level_a else 1.0
    return (mine * third, mine * last) if mine > 0 else (mine * last, mine * third)


def solve_endgame(state: Array, seat: int, actions: Array, limit: int) -> Endgame:
    """Return which moves of `seat` win an endgame of two.

    state: [1] STATE with both hands. actions: [m] ACTION. limit: positions to visit at most.
    """
    m = len(actions)
    won, known = np.zeros(m, bool), np.zeros(m, bool)
    size = 1 << max(10, (2 * limit).bit_length())
    keys, marks = np.zeros(size, np.uint64), np.zeros(size, np.uint8)
    moves = np.empty((RESERVE + (1 << 16), 3), np.int64)
    frames = np.empty((DEPTH, 3), np.int64)
    stack = np.zeros(DEPTH, state.dtype)
    words, bytes_ = views(stack)
    if words.shape[1] != WORDS:
        raise ValueError(
            f"solve_endgame: a state must have {WORDS} words; got {words.shape[1]}; pass rows of STATE"
        )
    visited = 0
    for j in range(m):
        after = state.copy()
        advance(after, actions[j : j + 1])
        if after["left"][0, seat] == 0:
            won[j] = known[j] = True
            continue
        if visited >= limit:
            continue
        stack[0] = after[0]
        answer, count = _wins(words, bytes_, keys, marks, moves, frames, limit - visited)
        visited += count
        if answer != UNKNOWN:
            known[j] = True
            won[j] = (answer == WON) == (int(after["player"][0]) == seat)
    return Endgame(won, known, _values(state, seat))
