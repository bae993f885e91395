"""Self-play in lockstep: many rounds advance together, and every decision with a choice is recorded.

One step lists the legal moves of all running rounds, asks the choosers for one action each where there is a
choice, records and plays. Python runs a few calls a step; everything per round happens in kernels that
release the GIL, so that two threads with half of the rounds each keep two cores busy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from blueprint.guandan.network.encoding import (
    ACTION_WIDTH,
    STATE_WIDTH,
    encode_actions_into,
    encode_states_into,
)
from games.guandan.cards import ACTION
from games.guandan.moves.listing import RESERVE
from games.guandan.rounds.playout import legal_states
from games.guandan.rounds.state import PLAYER, STATE, play_move, views

__all__ = [
    "Chooser",
    "Decisions",
    "PlayRecord",
    "Scratch",
    "choose_soft",
    "draw_soft",
    "drawn",
    "join",
    "play_rounds",
]


@dataclass(frozen=True)
class Decisions:
    """The decisions of one step that have a choice.

    states: [all] STATE, every running or finished round of the batch.
    rows: [n] int64, rounds in which somebody has a choice. seats: [n] int64, who.
    offsets: [n + 1] int64, and actions [m] ACTION: legal moves of decision j are offsets[j]:offsets[j + 1].
    """

    states: NDArray
    rows: NDArray[np.int64]
    seats: NDArray[np.int64]
    offsets: NDArray[np.int64]
    actions: NDArray

    def __len__(self) -> int:
        """Return the number of decisions."""
        return len(self.rows)

    def encode(self, scratch: Scratch) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Return features of the states and of the actions, in buffers that the next call overwrites."""
        x, a = scratch.features(len(self.rows), len(self.actions))
        words, bytes_ = views(self.states)
        encode_states_into(words, bytes_, self.rows, self.seats, x)
        moves = self.actions.view(np.int64).reshape(-1, 3)
        encode_actions_into(words, bytes_, self.rows, self.seats, self.offsets, moves, a)
        return x, a

    def where(self, mask: NDArray[np.bool_]) -> Decisions:
        """Return the decisions at which `mask` [n] holds."""
        counts = np.diff(self.offsets)
        offsets = np.zeros(int(mask.sum()) + 1, np.int64)
        np.cumsum(counts[mask], out=offsets[1:])
        return Decisions(
            self.states, self.rows[mask], self.seats[mask], offsets, self.actions[np.repeat(mask, counts)]
        )


@dataclass(frozen=True)
class PlayRecord:
    """Decisions in the order they were taken, round by round interleaved.

    states: [n] STATE before the decision; actions: [n] ACTION taken; round: [n] int64 which round.
    chance: [n] float32, probability with which the action was taken; 0 where its chooser does not tell.
    final: [rounds] STATE at the end. steps: decisions taken in all, forced ones included.
    """

    states: NDArray
    actions: NDArray
    round: NDArray[np.int64]
    chance: NDArray[np.float32]
    final: NDArray
    steps: int


def join(arrays: list[NDArray]) -> NDArray:
    """Return arrays of one dtype end to end, structured ones as they are.

    NumPy's `concatenate` would pack a structured dtype and drop its padding.
    """
    dtype = arrays[0].dtype
    if dtype.fields is None:
        return np.concatenate(arrays)
    rows = [np.ascontiguousarray(a).view(np.uint8).reshape(len(a), dtype.itemsize) for a in arrays]
    return np.concatenate(rows).view(dtype)[:, 0]


class Scratch:
    """Buffers that one thread of self-play uses again and again."""

    def __init__(self) -> None:
        self.moves = np.empty((RESERVE + 65536, 3), np.int64)
        self.state_features = np.empty((0, STATE_WIDTH), np.uint8)
        self.action_features = np.empty((0, ACTION_WIDTH), np.uint8)

    def features(self, n: int, m: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Return room for n states and m actions."""
        if len(self.state_features) < n:
            self.state_features = np.empty((n + n // 2, STATE_WIDTH), np.uint8)
        if len(self.action_features) < m:
            self.action_features = np.empty((m + m // 2, ACTION_WIDTH), np.uint8)
        return self.state_features[:n], self.action_features[:m]


@njit(cache=True, nogil=True)
def _list_moves(words, bytes_, begin, out, counts):
    return legal_states(words, bytes_, True, begin, out, counts)


@njit(cache=True, nogil=True)
def _play_forced(words, bytes_, moves, counts, rows, seats, offsets):
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


@njit(cache=True, nogil=True)
def _play_chosen(words, bytes_, rows, offsets, moves, choice, record, log_words, log_actions, log_round):
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


@njit(cache=True, nogil=True)
def _choose_soft(values, offsets, temperature, epsilon, uniforms, choice, chance):
    """Draw an action per row: uniform with probability epsilon, else softmax of values / temperature."""
    for j in range(len(choice)):
        start, end = offsets[j], offsets[j + 1]
        u = uniforms[j]
        best = start
        for k in range(start, end):
            if values[k] > values[best]:
                best = k
        total = 1.0
        if temperature > 0:
            total = 0.0
            for k in range(start, end):
                total += np.exp((values[k] - values[best]) / temperature)
        picked = best
        if u < epsilon:
            picked = start + min(np.int64(u / epsilon * (end - start)), end - start - 1)
        elif temperature > 0:
            left = (u - epsilon) / (1.0 - epsilon) * total
            for k in range(start, end):
                left -= np.exp((values[k] - values[best]) / temperature)
                if left < 0:
                    picked = k
                    break
        choice[j] = picked - start
        share = 1.0 if picked == best else 0.0
        if temperature > 0:
            share = np.exp((values[picked] - values[best]) / temperature) / total
        chance[j] = (1.0 - epsilon) * share + epsilon / (end - start)


def choose_soft(
    values: NDArray, offsets: NDArray[np.int64], temperature: float, epsilon: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the index within its row of one action per row, [n] int64.

    values: [m] of each action. With probability `epsilon` any action of the row, else one drawn from the
    softmax of values / temperature (the greedy one at temperature 0; the first among equals).
    """
    return draw_soft(values, offsets, temperature, epsilon, rng)[0]


def draw_soft(
    values: NDArray, offsets: NDArray[np.int64], temperature: float, epsilon: float, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return what `choose_soft` does, and the probability of each action it returns, [n] float32."""
    choice = np.zeros(len(offsets) - 1, np.int64)
    chance = np.zeros(len(choice), np.float32)
    _choose_soft(values, offsets, temperature, epsilon, rng.random(len(choice)), choice, chance)
    return choice, chance


Chooser = Callable[[Decisions], NDArray[np.int64]]
"""Answers decisions with one action each, as an index within its row.

One that draws may have a method `draw` too, which also returns the probability of each action it answers."""


def drawn(chooser: Chooser, decisions: Decisions) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return a chooser's answer and its probability, 0 where it does not tell."""
    draw = getattr(chooser, "draw", None)
    if draw is None:
        return chooser(decisions), np.zeros(len(decisions), np.float32)
    choice, chance = draw(decisions)
    return choice, chance


def play_rounds(
    states: NDArray, choosers: Sequence[Chooser], scratch: Scratch, *, record: bool = True
) -> PlayRecord:
    """Return the record of playing every round to its end.

    states: [n] STATE, played in place. choosers: one for all seats, or one per side (0: seats 0 and 2).
    record: False leaves the record of decisions empty.
    """
    n = len(states)
    words, bytes_ = views(states)
    logs: list[tuple[NDArray, NDArray, NDArray, NDArray]] = []
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
            continue
        decisions = Decisions(states, rows[:k], seats[:k], offsets[: k + 1], moves[:m].view(ACTION)[:, 0])
        if len(choosers) == 1:
            choice, chance = drawn(choosers[0], decisions)
        else:
            choice, chance = np.empty(k, np.int64), np.empty(k, np.float32)
            for side in (0, 1):
                mask = decisions.seats & 1 == side
                if mask.any():
                    choice[mask], chance[mask] = drawn(choosers[side], decisions.where(mask))
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


def _moves(words, bytes_, counts: NDArray, scratch: Scratch) -> tuple[NDArray, int]:
    """Return the legal moves of all states in one array, and their number; the scratch grows as needed."""
    done = 0
    used = 0
    while True:
        done, m = _list_moves(words, bytes_, done, scratch.moves[used:], counts)
        used += m
        if done == len(words):
            return scratch.moves, used
        grown = np.empty((2 * len(scratch.moves), 3), np.int64)
        grown[:used] = scratch.moves[:used]
        scratch.moves = grown
