"""Exact play with open cards near the end of a round.

A round whose hands are all known is a game of perfect information between two teams. A depth-first search
with a transposition table proves what each move leads to against any defence: it asks whether the result is
at least a given one, and halves the results that are left.

With two seats left both know every card, and this is exact play; the full legal moves are listed then, so
that nothing rests on the canonical ones being as good. Before that it is exact in each deal that a seat
considers possible, and the mean over deals lets everybody see too much. Measured with few cards left:
docs/measurements/guandan_agent.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.objective import result_worth
from games.guandan.cards import BOMB, NUM_RANKS, PASS
from games.guandan.moves.listing import CANONICAL, FULL, RESERVE, list_moves, moves_scratch
from games.guandan.rounds.state import (
    BEAT,
    FINISHED,
    HAND,
    LEADER,
    LEFT,
    LEVEL,
    ORDER_OUT,
    OWNER,
    PLAYER,
    WORDS,
    action_words,
    play_move,
)
from games.round_rows import views
from games.support.array_types import Array, Bytes, Int, Ints
from games.support.kernel import kernel
from games.support.splitmix import STEP, mix_hash
from gs2.guandan.agent.deals.dealing import Dealer, thinned
from gs2.guandan.agent.deals.determinize import Worlds
from gs2.guandan.agent.racing import SPREAD_VALUED, Evidence, MoveComparison, posterior

OPEN_DEALS, FEWEST = 8, 4
"""Most deals that are solved at a decision, and how many must be for their mean to count. Of 8, 16 and 32:
docs/measurements/guandan_agent.md."""
TRUST = 0.5
"""Standard deviation in levels of the blueprint's error in comparing two moves at the end of a round: where
few deals cannot tell moves apart, it decides."""

DEPTH = 256
"""Moves in the longest line: as many plays as cards, each answered by at most three passes."""
RESULTS = 7
"""Results of a round to a team, 3 to -3 levels."""
NO, YES, UNKNOWN = 0, 1, 2
EQUAL = 1e-9
"""Levels by which two moves may differ and be as good."""


@dataclass(frozen=True, eq=False)
class Endgame:
    """What moves lead to in some deals when everybody plays best with open cards.

    worlds: the deals. values: [n, m] float64, what the result in each deal is worth to the seat that moves,
    in levels; NaN of the moves that were not solved in time, of a single deal. most: what the best result
    still possible is worth. positions: visited by the search.
    """

    worlds: Worlds
    values: NDArray[np.float64]
    most: float
    positions: int

    @property
    def certain(self) -> bool:
        """Whether the deal is the only one there is."""
        return self.worlds.exact and len(self.worlds) == 1

    @property
    def settled(self) -> bool:
        """Whether the values tell a best move from a worse one, or one leads to the best result possible."""
        if not len(self.values):
            return False
        mean = self.mean
        best = np.nanmax(mean, initial=-np.inf)
        return bool(best == self.most or (not np.isnan(mean).any() and best > mean.min()))

    @property
    def mean(self) -> NDArray[np.float64]:
        """Return what each move leads to in the mean over the deals, [m] float64."""
        weights = self.worlds.weights
        found: NDArray[np.float64] = (weights[:, None] * self.values).sum(axis=0) / weights.sum()
        return found

    def best(self, q: NDArray[np.float64]) -> int:
        """Return the move of the highest mean; of several the one that the blueprint prefers. q: [m]."""
        mean = self.mean
        there = np.flatnonzero(mean >= np.nanmax(mean) - EQUAL)
        return int(there[np.argmax(q[there])])

    def compared(self, moves: NDArray[np.int64], q: NDArray[np.float64]) -> MoveComparison:
        """Return the comparison of some moves, [k], in the deals solved. q: [m], the blueprint's of all."""
        payoffs, weights = self.values[:, moves], self.worlds.weights
        missing = 0.0 if self.worlds.exact else 1.0
        mean, error = posterior(Evidence(payoffs, weights, q[moves], TRUST, missing, SPREAD_VALUED), 0)
        return MoveComparison(
            payoffs, self.worlds, weights, mean, error, int(np.argmax(mean)), payoffs.size, "worlds"
        )


@kernel
def _key(words: Ints, bytes_: Bytes, i: Int) -> np.uint64:
    """Hash of what the rest of a round depends on."""
    h = np.uint64(words[i, BEAT] & 0xFFFFFF)
    h = mix_hash(h, np.uint64(bytes_[i, PLAYER]) << np.uint64(16) | np.uint64(bytes_[i, LEADER]))
    out = np.int64(0)
    for k in range(bytes_[i, FINISHED]):
        out = out << 2 | np.int64(bytes_[i, ORDER_OUT + k]) | 64
    h = mix_hash(h, np.uint64(out))
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
def _order(moves: Ints, start: Int, end: Int, lead: bool, left: Int) -> None:
    """Sort moves[start:end] by promise: what empties the hand, long ones on a lead; pass and bombs last."""
    for j in range(start, end):
        head, lo, hi = moves[j, 0], moves[j, 1], moves[j, 2]
        kind, size = head & 255, head >> 16 & 255
        if size == left:
            rank = 0
        elif kind >= BOMB - 1:  # straight flushes too
            rank = 13
        elif lead:
            rank = 11 - size
        else:
            rank = 12 if kind == PASS else 1
        k = j
        while k > start and moves[k - 1, 0] >> 32 > rank:
            for i in range(3):
                moves[k, i] = moves[k - 1, i]
            k -= 1
        moves[k, 0], moves[k, 1], moves[k, 2] = rank << 32 | head, lo, hi


@kernel
def _bounds(bytes_: Bytes, i: Int, mine: Int, ranks: Ints) -> tuple[Int, Int]:
    """Least and highest rank of the results of team `mine` that are still possible."""
    done = np.int64(bytes_[i, FINISHED])
    if done == 0:
        return 0, ranks.max()  # in a match several results may be worth the same
    first = np.int64(bytes_[i, ORDER_OUT])
    sign = 1 if first & 1 == mine else -1
    # the winner's partner comes in last: nothing is won at level A
    last = 0 if bytes_[i, LEVEL] == NUM_RANKS - 1 and bytes_[i, OWNER] == first & 1 else 1
    low, high = last, 3
    if done > 1:
        if (np.int64(bytes_[i, ORDER_OUT + 1]) ^ first) & 1 == 0:
            low = 3
        else:
            high = 2
            if done > 2:
                if (np.int64(bytes_[i, ORDER_OUT + 2]) ^ first) & 1 == 0:
                    low = 2
                else:
                    high = last
    least, most = RESULTS, -1
    for levels in range(low, high + 1):
        if levels == 1 and last == 0:
            continue
        least = min(least, ranks[3 - sign * levels])
        most = max(most, ranks[3 - sign * levels])
    return least, most


@kernel
def _note(keys: NDArray[np.uint64], marks: Bytes, key: np.uint64, asked: Int, answer: Int) -> None:
    """Note in the table whether the result at a state is at least the one asked for."""
    slot = _slot(keys, key)
    if keys[slot] != key:
        keys[slot] = key
        marks[slot] = RESULTS - 1 << 4
    low, high = np.int64(marks[slot]) & 15, np.int64(marks[slot]) >> 4
    if answer == YES:
        low = max(low, np.int64(asked))
    else:
        high = min(high, np.int64(asked - 1))
    marks[slot] = high << 4 | low


@kernel
def _reaches(
    stack: tuple[Ints, Bytes],
    table: tuple[NDArray[np.uint64], Bytes],
    moves: Ints,
    frames: Ints,
    full: bool,
    limit: Int,
    mine: Int,
    ranks: Ints,
    asked: Int,
) -> tuple[int, int]:
    """Whether team `mine` gets a result of at least rank `asked` from state 0 of the stack.

    stack: words and bytes of [DEPTH] states. table: keys and marks of positions. moves: room for lists.
    frames: [DEPTH, 3] first, next and last move of each state on the stack. full: whether all legal moves
    are listed. ranks: [RESULTS] of the results 3 to -3. Returns (NO, YES or UNKNOWN, positions visited).
    """
    words, bytes_ = stack
    keys, marks = table
    scratch = moves_scratch()
    top, visited = 0, 0
    fresh = True
    answer = UNKNOWN
    while True:
        if fresh:
            # a state just put on the stack: decided, known, or to be opened
            fresh = False
            low, high = _bounds(bytes_, top, mine, ranks)
            if low < asked <= high:
                key = _key(words, bytes_, top)
                slot = _slot(keys, key)
                if keys[slot] == key:
                    low, high = np.int64(marks[slot]) & 15, np.int64(marks[slot]) >> 4
            answer = YES if low >= asked else NO if high < asked else UNKNOWN
            if answer == UNKNOWN:
                visited += 1
                start = frames[top - 1, 2] if top else 0
                if visited > limit or start + RESERVE > len(moves) or top + 1 >= DEPTH:
                    return UNKNOWN, visited
                p = np.int64(bytes_[top, PLAYER])
                lo, hi = words[top, HAND + 2 * p], words[top, HAND + 2 * p + 1]
                beat = words[top, BEAT] & 0xFFFFFF
                level = np.int64(bytes_[top, LEVEL])
                if full:
                    end = list_moves(FULL, lo, hi, level, beat, moves, start, scratch)
                else:
                    end = list_moves(CANONICAL, lo, hi, level, beat, moves, start, scratch)
                if end + (end - start) > len(moves):
                    return UNKNOWN, visited
                _order(moves, start, end, beat == 0, np.int64(bytes_[top, LEFT + p]))
                frames[top, 0], frames[top, 1], frames[top, 2] = start, start, end
        if answer == UNKNOWN:
            # try the next move of the state on top
            j = frames[top, 1]
            if j == frames[top, 2]:
                answer = NO if bytes_[top, PLAYER] & 1 == mine else YES
                _note(keys, marks, _key(words, bytes_, top), asked, answer)
            else:
                frames[top, 1] += 1
                for k in range(words.shape[1]):
                    words[top + 1, k] = words[top, k]
                play_move(words, bytes_, top + 1, moves[j, 0] & 0xFFFFFF, moves[j, 1], moves[j, 2])
                top += 1
                fresh = True
                continue
        # the state on top is settled: does that settle the one before?
        if top == 0:
            return answer, visited
        top -= 1
        if (answer == YES) == (bytes_[top, PLAYER] & 1 == mine):
            _note(keys, marks, _key(words, bytes_, top), asked, answer)
        else:
            answer = UNKNOWN


@kernel
def _solve(
    deals: tuple[Ints, Bytes],
    actions: Ints,
    stack: tuple[Ints, Bytes],
    table: tuple[NDArray[np.uint64], Bytes],
    moves: Ints,
    full: bool,
    limit: Int,
    ranks: Ints,
    found: Ints,
) -> tuple[int, Int]:
    """Write the rank of the result of each move in each deal as far as it is found out.

    deals: words and bytes of [n] states. actions: [m, 3]. found: [n, m]. Returns (positions visited, highest
    rank that is possible still).
    """
    words, bytes_ = stack
    frames = np.empty((DEPTH, 3), np.int64)
    visited = 0
    most = _bounds(deals[1], 0, np.int64(deals[1][0, PLAYER]) & 1, ranks)[1]
    for i in range(found.shape[0]):
        for j in range(found.shape[1]):
            for k in range(words.shape[1]):
                words[0, k] = deals[0][i, k]
            mine = np.int64(bytes_[0, PLAYER]) & 1
            play_move(words, bytes_, 0, actions[j, 0] & 0xFFFFFF, actions[j, 1], actions[j, 2])
            low, high = _bounds(bytes_, 0, mine, ranks)
            while low < high:
                asked = (low + high + 1) // 2
                answer, count = _reaches(
                    stack, table, moves, frames, full, limit - visited, mine, ranks, asked
                )
                visited += count
                if answer == UNKNOWN:
                    return visited, most
                if answer == YES:
                    low = asked
                else:
                    high = asked - 1
            found[i, j] = low
    return visited, most


def is_endgame(state: Array, open_cards: int = 0) -> bool:
    """Return whether two seats still hold cards at one state, [1] STATE, or all together at most so many."""
    left = state["left"][0]
    return int(np.count_nonzero(left)) == 2 or int(left.sum()) <= open_cards


def solve_drawn(dealer: Dealer, actions: Array, limit: int) -> Endgame | None:
    """Return what moves lead to with open cards in a few deals, drawn by their weights.

    None if too few of them are solved, or play has ruled them all out.
    Raises GameError if no deal is consistent.
    """
    worlds = dealer.draw(OPEN_DEALS, OPEN_DEALS)
    if len(worlds) > OPEN_DEALS and worlds.weights.any():  # all there are
        worlds = thinned(worlds, OPEN_DEALS, dealer.rng)
    solved = solve_endgame(worlds, actions, limit)
    few = len(solved.worlds) < min(len(worlds), FEWEST) or np.isnan(solved.values).all()
    return None if few or not solved.worlds.weights.any() else solved


def solve_endgame(worlds: Worlds, actions: Array, limit: int) -> Endgame:
    """Return what each move leads to with open cards in each deal of an infoset, as far as they were solved.

    worlds: in the order in which they are solved. actions: [m] ACTION of the seat that moves. limit: most
    positions to visit.
    Of several deals those are left out that were not solved whole, and all after them.
    """
    states = np.ascontiguousarray(worlds.states)
    deals = views(states)
    if deals[0].shape[1] != WORDS:
        raise ValueError(
            f"solve_endgame: a state must have {WORDS} words; got {deals[0].shape[1]}; pass rows of STATE"
        )
    seat = states["player"][:1].astype(np.int64)
    worth, ranks = np.unique(result_worth(states[:1], seat)[0], return_inverse=True)
    size = 1 << max(10, (2 * limit).bit_length())
    found = np.full((len(states), len(actions)), -1, np.int64)
    positions, most = _solve(
        deals,
        action_words(actions),
        views(np.zeros(DEPTH, states.dtype)),
        (np.zeros(size, np.uint64), np.zeros(size, np.uint8)),
        np.empty((RESERVE + (1 << 16), 3), np.int64),
        np.count_nonzero(states["left"][0]) == 2,
        limit,
        ranks.astype(np.int64),
        found,
    )
    values = np.where(found >= 0, worth[found], np.nan)
    if len(worlds) > 1:
        solved = int(np.append(np.isnan(values).any(axis=1), True).argmax())
        if solved < len(worlds):
            worlds, values = worlds.take(slice(solved)), values[:solved]
    return Endgame(worlds, values, float(worth[most]), int(positions))
