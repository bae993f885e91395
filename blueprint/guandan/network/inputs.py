"""What the GuanDan network sees: one row of bytes per state and one per action, written by batched kernels.

A state is encoded once per decision, from one seat's eyes; an action only by what it does: its type and
place, and the hand it leaves behind. Beyond DanZero's 567 inputs there are the action to beat (kept after
passes), types beside cards, wild cards by copies, rank counts as thermometers, what tribute made known, and
how many higher combinations of the same type the unseen cards still hold.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.network.input_kernels import (
    encode_actions_into,
    encode_hidden_into,
    encode_past_into,
    encode_states_into,
)
from blueprint.guandan.network.input_layout import (
    ACTION_WIDTH,
    HIDDEN_WIDTH,
    PAST_WIDTH,
    STAKES_SCALE,
    STATE_WIDTH,
)
from blueprint.guandan.objective import result_worth
from blueprint.protocol import Decisions, MoveRows
from games.guandan.cards import unpack
from games.guandan.matches.chances import RESULTS
from games.guandan.rounds.state import action_words
from games.round_rows import views
from games.support.array_types import Array, Bytes, Ints


class _Rows:
    seat_bits, move_bits, hidden_bits = STATE_WIDTH, ACTION_WIDTH, HIDDEN_WIDTH

    def write_seats(self, states: Array, rows: Ints, seats: Ints, out: Bytes) -> None:
        encode_states_into(*views(states), rows, seats, out, 0, STATE_WIDTH)

    def write_moves(
        self, states: Array, rows: Ints, seats: Ints, offsets: Ints, words: Ints, out: Bytes
    ) -> None:
        encode_actions_into(*views(states), rows, seats, offsets, words, out)

    def write_hidden(self, states: Array, rows: Ints, seats: Ints, out: Bytes) -> None:
        encode_hidden_into(*views(states), rows, seats, out, 0, HIDDEN_WIDTH)

    def words(self, actions: Array) -> Ints:
        return action_words(actions)


ROWS: MoveRows = _Rows()


def encode_full(states: Array, seats: Array) -> NDArray[np.uint8]:
    """Return what the critic sees: the rows of `encode_states`, then the others' hands, uint8.

    [n, STATE_WIDTH + HIDDEN_WIDTH], the latter as in HIDDEN_BLOCKS.
    """
    rows = np.arange(len(states), dtype=np.int64)
    hidden = np.empty((len(rows), HIDDEN_WIDTH), np.uint8)
    ROWS.write_hidden(np.ascontiguousarray(states), rows, _each(seats, rows), hidden)
    return np.concatenate([encode_states(states, seats), hidden], 1)


def encode_states(states: Array, seats: Array, rows: NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
    """Return the features of states in the eyes of seats, [n, STATE_WIDTH] uint8.

    states: [..] STATE. seats: [n] seat 0..3. rows: [n] which state each row encodes; default all, in order.
    """
    states = np.ascontiguousarray(states)
    rows = np.arange(len(states), dtype=np.int64) if rows is None else np.asarray(rows, np.int64)
    seats = _each(seats, rows)
    if seats.size and not 0 <= seats.min() <= seats.max() < 4:
        raise ValueError(f"encode_states: a seat is 0..3; got {seats.min()}..{seats.max()}")
    out = np.empty((len(rows), STATE_WIDTH), np.uint8)
    encode_states_into(*views(states), rows, seats, out, 0, STATE_WIDTH)
    return out


def encode_past(states: Array, seats: Array, rows: NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
    """Return what seats have seen the three others do in the round, [n, PAST_WIDTH] uint8.

    The arguments are those of `encode_states`. For the next, the opposite and the previous seat: which moves
    it passed on, led and followed with, by type and place (`acts` of STATE).
    """
    states = np.ascontiguousarray(states)
    rows = np.arange(len(states), dtype=np.int64) if rows is None else np.asarray(rows, np.int64)
    out = np.empty((len(rows), PAST_WIDTH), np.uint8)
    encode_past_into(views(states)[0], rows, _each(seats, rows), out)
    return out


def encode_stakes(states: Array, seats: Array, rows: NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
    """Return what the results of the rounds are worth to seats beyond their levels, [n, STAKES_WIDTH] uint8.

    The arguments are those of `encode_states`. For the results 3, 2, 1, -1, -2, -3 how much more, then how
    much less, STAKES_SCALE to a level; nothing in a round for itself.
    """
    picked = states if rows is None else states[rows]
    beyond = result_worth(picked, np.broadcast_to(np.asarray(seats), len(picked))) - np.asarray(RESULTS)
    told = np.rint(STAKES_SCALE * np.delete(beyond, RESULTS.index(0), axis=1))
    found: NDArray[np.uint8] = np.clip(np.concatenate([told, -told], 1), 0, 255).astype(np.uint8)
    return found


def hidden_hands(states: Array, seats: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the hands of the three seats after each of `seats`, [n, 3, 54] counts."""
    hands = unpack(states["hand"])
    rows = np.arange(len(states))
    return np.stack([hands[rows, (seats + j) % 4] for j in (1, 2, 3)], 1)


def encode_actions(decisions: Decisions) -> NDArray[np.uint8]:
    """Return the features of the decisions' actions, [m, ACTION_WIDTH] uint8."""
    d, out = decisions, np.empty((len(decisions.actions), ACTION_WIDTH), np.uint8)
    rows, seats = np.asarray(d.rows, np.int64), np.asarray(d.seats, np.int64)
    states, words = np.ascontiguousarray(d.states), action_words(d.actions)
    ROWS.write_moves(states, rows, seats, np.asarray(d.offsets), words, out)
    return out


def _each(seats: Array, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a seat for each row, writable: kernels are compiled again for arrays that are only read."""
    return np.array(np.broadcast_to(np.asarray(seats, np.int64), rows.shape))
