"""OpenGuanDan's observation: the 14 terms of its paper as 722 numbers.

Source: OpenGuanDan, section 5.1. The paper gives the widths; the order within an action's 79 numbers,
and that the left-hand opponent is the seat that acts next, are our reading.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from games.guandan.cards import STRAIGHT, STRAIGHT_FLUSH, THREE_PAIR, TWO_TRIPS
from games.guandan.combos import ORDER
from games.guandan.rounds.state import (
    BEAT,
    HAND,
    LAST,
    LEADER,
    LEFT,
    LEVEL,
    LEVELS,
    PASSES,
    PLAYED,
    PLAYS,
)
from games.guandan.views.card_rows import encoded, write_cards, write_unseen
from games.support.array_types import Array, Bytes, Int, Ints, Rows
from games.support.kernel import kernel

__all__ = ["OBSERVATION_SLICES", "OBSERVATION_WIDTH", "observations"]

_TERMS = (
    ("hand", 54),
    ("unseen", 54),
    ("left_played", 54),
    ("partner_played", 54),
    ("right_played", 54),
    ("last_action", 79),
    ("left_action", 79),
    ("partner_action", 79),
    ("right_action", 79),
    ("left_rest", 28),
    ("partner_rest", 28),
    ("right_rest", 28),
    ("own_level", 13),
    ("opponent_level", 13),
    ("level", 13),
    ("wild", 13),
)
OBSERVATION_SLICES: dict[str, slice] = {}
"""Where each term lies, in the paper's order.

hand, unseen, *_played: counts of the 54 cards. *_rest: cards held, one-hot 0..27. levels: one-hot.
*_action: 54 counts, the type one-hot (10, Single to FourKings), its place among its type one-hot (15: the
    level-aware order, or the lowest card of a sequence, A first). A PASS is zero, no action yet is -1.
last_action: of whoever acted last; the others: the seat's last action in the round.
wild: wild cards held, at the level's rank.
"""
_start = 0
for _name, _width in _TERMS:
    OBSERVATION_SLICES[_name] = slice(_start, _start + _width)
    _start += _width
OBSERVATION_WIDTH = _start

_PLAYED_AT, _LAST_AT = OBSERVATION_SLICES["left_played"].start, OBSERVATION_SLICES["last_action"].start
_ACTIONS_AT, _REST_AT = OBSERVATION_SLICES["left_action"].start, OBSERVATION_SLICES["left_rest"].start
_LEVELS_AT, _WILD_AT = OBSERVATION_SLICES["own_level"].start, OBSERVATION_SLICES["wild"].start


@kernel
def _write_action(head: int, lo: int, hi: int, level: Int, row: Array, at: int) -> None:
    """Write an action's 79 numbers over zeros; -1 if there is none."""
    kind, rank = head & 255, head >> 8 & 255
    if kind == 255:
        row[at : at + 79] = -1
        return
    if kind == 0:
        return
    write_cards(lo, hi, row, at)
    row[at + 53 + kind] = 1
    if kind in (STRAIGHT, STRAIGHT_FLUSH, THREE_PAIR, TWO_TRIPS):
        row[at + 64 + (rank + 1) % 13] = 1
    else:
        row[at + 64 + ORDER[level, rank]] = 1


@kernel
def _observations(words: Ints, bytes_: Bytes, seats: Ints, out: Array) -> None:
    for i in range(len(words)):
        p = np.int64(seats[i])
        row = out[i]
        row[:] = 0
        level = np.int64(bytes_[i, LEVEL])
        write_cards(words[i, HAND + 2 * p], words[i, HAND + 2 * p + 1], row, 0)
        write_unseen(words, i, p, row, 54)
        if words[i, PLAYS] == 0:
            row[_LAST_AT : _LAST_AT + 79] = -1
        elif bytes_[i, PASSES] == 0 and bytes_[i, LEADER] < 4:
            _write_action(words[i, BEAT], words[i, BEAT + 1], words[i, BEAT + 2], level, row, _LAST_AT)
        for j in range(3):
            q = (p + 1 + j) & 3
            write_cards(words[i, PLAYED + 2 * q], words[i, PLAYED + 2 * q + 1], row, _PLAYED_AT + 54 * j)
            last = LAST + 3 * q
            _write_action(
                words[i, last], words[i, last + 1], words[i, last + 2], level, row, _ACTIONS_AT + 79 * j
            )
            row[_REST_AT + 28 * j + bytes_[i, LEFT + q]] = 1
        row[_LEVELS_AT + bytes_[i, LEVELS + (p & 1)]] = 1
        row[_LEVELS_AT + 13 + bytes_[i, LEVELS + 1 - (p & 1)]] = 1
        row[_LEVELS_AT + 26 + level] = 1
        row[_WILD_AT + level] = row[4 * level]


def observations(
    states: Rows, seats: ArrayLike | None = None, *, dtype: DTypeLike = np.int8, out: Array | None = None
) -> Array:
    """Return OpenGuanDan's observation of each position, [n, 722]; terms by name in OBSERVATION_SLICES.

    states: [n] STATE. seats: in whose eyes, one for all or [n]; whoever is to act if None.
    dtype: int8 or float32. out: [n, 722] to write to instead.
    Raises GameError if a seat is missing: the round is over and no seats are given.
    """
    return encoded(_observations, OBSERVATION_WIDTH, states, seats, dtype, out)
