"""Self-play in lockstep: many rounds advance together, and every decision with a choice is recorded.

One step lists the legal moves of all running rounds, asks the agents for one action each where there is a
choice, records and plays. Python runs a few calls a step; everything per round happens in kernels that
release the GIL, so that two threads with half of the rounds each keep two cores busy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Agent, Decisions, PlayedMoves, drawn, shared_out
from blueprint.structured import join
from games.guandan.cards import ACTION
from games.guandan.moves.listing import CANONICAL, RESERVE
from games.guandan.rounds.playout import legal_states
from games.guandan.rounds.round import GuanDan
from games.guandan.rounds.state import NOBODY, PLAYER, STATE, play_move, views
from games.support.array_types import Array, Bytes, Ints
from games.support.kernel import kernel

__all__ = ["GUANDAN", "PastMoves", "PlayRecord", "Scratch", "play_rounds"]

GUANDAN = GuanDan()


@dataclass(frozen=True)
class PlayRecord:
    """Decisions in the order they were taken, round by round interleaved.

    states: [n] STATE before the decision; actions: [n] ACTION taken; round: [n] int64 which round.
    chance: [n] float32, probability with which the action was taken; 0 where its agent does not tell.
    final: [rounds] STATE at the end. steps: decisions taken in all, forced ones included.
    """

    states: Array
    actions: Array
    round: NDArray[np.int64]
    chance: NDArray[np.float32]
    final: Array
    steps: int


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


class Scratch:
    """Room for lists of moves that one thread of self-play uses again and again."""

    def __init__(self) -> None:
        self.moves = np.empty((RESERVE + 65536, 3), np.int64)


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
    log_round: Ints,
) -> None:
    """Play the chosen move of each decision, with a record of it."""
    for j in range(len(rows)):
        i, k = rows[j], offsets[j] + choice[j]
        if record:
            for w in range(words.shape[1]):
                log_words[j, w] = words[i, w]
            for w in range(3):
                log_actions[j, w] = moves[k, w]
            log_round[j] = i
        play_move(words, bytes_, i, moves[k, 0] & 0xFFFFFF, moves[k, 1], moves[k, 2])


def play_rounds(
    states: Array,
    agents: Sequence[Agent],
    scratch: Scratch,
    *,
    record: bool = True,
    past: PastMoves | None = None,
) -> PlayRecord:
    """Return the record of playing every round to its end.

    states: [n] STATE, played in place. agents: one for all seats, or one per side (0: seats 0 and 2).
    record: False leaves the record of decisions empty. past: takes note of all moves of `states`, forced ones
        included; agents see them only if they follow the rounds.
    """
    n = len(states)
    words, bytes_ = views(states)
    follow = any(getattr(agent, "follows", False) for agent in agents)
    if follow and past is None:
        past = PastMoves(states)
    logs: list[tuple[Array, Array, Array, Array]] = []
    steps = 0
    rows, seats = np.empty(n, np.int64), np.empty(n, np.int64)
    offsets = np.empty(n + 1, np.int64)
    while True:
        counts = np.zeros(n, np.int64)
        moves, m = _moves(words, bytes_, counts, scratch)
        if m == 0:
            break
        k, m, forced = _play_forced(words, bytes_, moves, counts, rows, seats, offsets)
        steps += k + forced
        if k == 0:
            if past is not None:
                past.step()
            continue
        decisions = Decisions(
            states,
            rows[:k],
            seats[:k],
            offsets[: k + 1],
            moves[:m].view(ACTION)[:, 0],
            past if follow else None,
            GUANDAN,
        )
        if len(agents) == 1:
            choice, chance = drawn(agents[0], decisions)
        else:
            choice, chance = shared_out(decisions, decisions.seats & 1, agents)
        size = k if record else 1
        log = (np.empty(size, STATE), np.empty((size, 3), np.int64), np.empty(size, np.int64))
        _play_chosen(
            words,
            bytes_,
            decisions.rows,
            decisions.offsets,
            moves,
            choice,
            record,
            views(log[0])[0],
            *log[1:],
        )
        if past is not None:
            past.step()
        if record:
            logs.append((*log, chance))
    if not logs:
        logs.append(
            (np.empty(0, STATE), np.empty((0, 3), np.int64), np.empty(0, np.int64), np.empty(0, np.float32))
        )
    return PlayRecord(
        join([log[0] for log in logs]),
        np.concatenate([log[1] for log in logs]).view(ACTION)[:, 0],
        np.concatenate([log[2] for log in logs]),
        np.concatenate([log[3] for log in logs]),
        states,
        steps,
    )


def _moves(words: Ints, bytes_: Bytes, counts: Ints, scratch: Scratch) -> tuple[Array, int]:
    """Return the legal moves of all states in one array, and their number; the scratch grows as needed."""
    done = 0
    used = 0
    while True:
        done, m = legal_states(words, bytes_, CANONICAL, done, scratch.moves[used:], counts)
        used += m
        if done == len(words):
            return scratch.moves, used
        grown = np.empty((2 * len(scratch.moves), 3), np.int64)
        grown[:used] = scratch.moves[:used]
        scratch.moves = grown
