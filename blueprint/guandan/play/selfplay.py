"""GuanDan's rounds in lockstep (`blueprint.game_lockstep`): lists of moves, and what was played.

One step lists the legal moves of all running rounds and plays those without a choice; the others are asked.
"""

from __future__ import annotations

import numpy as np

from blueprint.protocol import Decisions, Past, PlayedMoves
from games.guandan.cards import ACTION
from games.guandan.moves.listing import CANONICAL, RESERVE
from games.guandan.rounds.playout import legal_states
from games.guandan.rounds.round import GuanDan
from games.guandan.rounds.state import NOBODY, PLAYER, STATE, play_move
from games.round_rows import views
from games.support.array_types import Array, Bytes, Ints
from games.support.kernel import kernel

GUANDAN = GuanDan()


class PastMoves:
    """The moves of rounds that advance together, kept while they are played.

    They belong to rounds from their start on: of a round that began before, only what came since is kept.
    """

    def __init__(self, states: Array) -> None:
        """Take the rounds, [n] STATE; they are looked at whenever a step has been taken."""
        self._states = states
        self._due = states["player"].copy()
        self._steps: list[tuple[Array, Array]] = []

    def step(self) -> None:
        """Take note of the move that every running round has made."""
        running = np.flatnonzero(self._due >= 0)
        seats = np.full(len(self._due), NOBODY, np.uint8)
        seats[running] = self._due[running]
        moves = np.zeros(len(self._due), ACTION)
        moves[running] = self._states["last"][running, self._due[running]]
        self._steps.append((seats, moves))
        self._due = self._states["player"].copy()

    def of(self, row: int) -> PlayedMoves:
        """Return the moves of one round, oldest first."""
        made = [(seats[row], moves[row]) for seats, moves in self._steps if seats[row] != NOBODY]
        return PlayedMoves(
            np.array([seat for seat, _ in made], np.uint8), np.array([move for _, move in made], ACTION)
        )


@kernel(nogil=True)
def _play_forced(
    words: Ints, bytes_: Bytes, moves: Ints, counts: Ints, rows: Ints, seats: Ints, offsets: Ints
) -> tuple[int, int, int]:
    """Play the only move where there is one; compact the others' moves to the front of `moves`.

    Returns (decisions with a choice, their moves, forced moves played).
    """
    n, m, forced, start = 0, 0, 0, 0
    offsets[0] = 0
    for i in range(len(words)):
        count = counts[i]
        if count == 1:
            play_move(words, bytes_, i, moves[start, 0] & 0xFFFFFF, moves[start, 1], moves[start, 2])
            forced += 1
        elif count > 1:
            rows[n] = i
            seats[n] = bytes_[i, PLAYER]
            if m != start:
                for k in range(count):
                    moves[m + k, 0] = moves[start + k, 0]
                    moves[m + k, 1] = moves[start + k, 1]
                    moves[m + k, 2] = moves[start + k, 2]
            m += count
            n += 1
            offsets[n] = m
        start += count
    return n, m, forced


@kernel(nogil=True)
def _play_chosen(
    words: Ints,
    bytes_: Bytes,
    rows: Ints,
    offsets: Ints,
    moves: Ints,
    choice: Ints,
    record: bool,
    log_words: Ints,
    log_actions: Ints,
) -> None:
    """Play the chosen move of each decision, with a record of it."""
    for j in range(len(rows)):
        i, k = rows[j], offsets[j] + choice[j]
        if record:
            for w in range(words.shape[1]):
                log_words[j, w] = words[i, w]
            for w in range(3):
                log_actions[j, w] = moves[k, w]
        play_move(words, bytes_, i, moves[k, 0] & 0xFFFFFF, moves[k, 1], moves[k, 2])


class Scratch:
    """The `MoveLists` of GuanDan, with room for moves that one thread uses again and again."""

    game, action = GUANDAN, ACTION

    def __init__(self) -> None:
        self.moves = np.empty((RESERVE + 65536, 3), np.int64)

    def past(self, states: Array) -> PastMoves:
        """Return what takes note of the moves of rounds from here on."""
        return PastMoves(states)

    def open(self, states: Array, past: Past | None) -> tuple[Decisions, int] | None:
        """Return the decisions with a choice and how many rounds move; None at their ends.

        Moves without a choice are played.
        """
        n, (words, bytes_) = len(states), views(states)
        counts = np.zeros(n, np.int64)
        m = self._list(words, bytes_, counts)
        if m == 0:
            return None
        rows, seats, offsets = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n + 1, np.int64)
        k, m, forced = _play_forced(words, bytes_, self.moves, counts, rows, seats, offsets)
        moves = self.moves[:m].view(ACTION)[:, 0]
        return Decisions(states, rows[:k], seats[:k], offsets[: k + 1], moves, past, GUANDAN), k + forced

    def take(self, decisions: Decisions, choice: Ints, *, record: bool) -> tuple[Array, Array]:
        """Play the chosen moves; return the states before and the moves, [k] both."""
        d, size = decisions, len(decisions) if record else 1
        before, taken = np.empty(size, STATE), np.empty((size, 3), np.int64)
        at = *views(d.states), d.rows, d.offsets, self.moves, choice
        _play_chosen(*at, record, views(before)[0], taken)
        return before, taken.view(ACTION)[:, 0]

    def _list(self, words: Ints, bytes_: Bytes, counts: Ints) -> int:
        """Write the legal moves of all states one after the other; return their number."""
        done = used = 0
        while True:
            done, m = legal_states(words, bytes_, CANONICAL, done, self.moves[used:], counts)
            used += m
            if done == len(words):
                return used
            grown = np.empty((2 * len(self.moves), 3), np.int64)
            grown[:used] = self.moves[:used]
            self.moves = grown
