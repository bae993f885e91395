"""DanZero's inputs: 513 numbers for a position in one seat's eyes, 54 for an action.

The layout is that of DanZero (Lu et al. 2023; Zhao et al. 2023, section IV-A), its soft spots included, so
that networks of that family can be trained, loaded and compared: the action to beat is lost once somebody
has passed, one set of cards under two types looks alike, and the wild-card flags count suits instead of
copies. `blueprint` has inputs of its own; `observation` has those of OpenGuanDan.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from games.guandan.rounds.state import BEAT, HAND, LAST, LEADER, LEFT, LEVEL, LEVELS, PASSES, PLAYED, PLAYS
from games.guandan.views.card_rows import encoded, filled, room_for, write_cards, write_unseen
from games.support.array_types import Array, Bytes, Int, Ints, Rows
from games.support.kernel import kernel

__all__ = [
    "ACTION_WIDTH",
    "SLICES",
    "STATE_WIDTH",
    "WILD_FLAGS",
    "action_features",
    "state_features",
]

_WIDTHS = (
    ("hand", 54),
    ("wild_flags", 12),
    ("unseen", 54),
    ("last_action", 54),
    ("partner_action", 54),
    ("next_played", 54),
    ("partner_played", 54),
    ("previous_played", 54),
    ("next_left", 28),
    ("partner_left", 28),
    ("previous_left", 28),
    ("own_level", 13),
    ("opponent_level", 13),
    ("level", 13),
)
SLICES: dict[str, slice] = {}
"""Where each part of a position lies.

hand, unseen, next_played, partner_played, previous_played: counts of the 54 cards, 0..2 (index as in
    `cards`). unseen: neither held nor played. next, partner, previous: the seats that follow in turn.
wild_flags: see WILD_FLAGS.
last_action: cards of the last action of anybody; zero if it was a PASS; -1 before the first of the round.
partner_action: cards of the partner's last action in the round; zero if it was a PASS; -1 if there is none
    yet or the partner is out of cards.
next_left, partner_left, previous_left: cards held, one-hot 0..27.
own_level, opponent_level, level: rank 2..A of the teams' levels and the round's, one-hot.
"action", which follows at 513, is the action's counts.
"""
_start = 0
for _name, _width in _WIDTHS:
    SLICES[_name] = slice(_start, _start + _width)
    _start += _width
STATE_WIDTH = _start
ACTION_WIDTH = 54
SLICES["action"] = slice(STATE_WIDTH, STATE_WIDTH + ACTION_WIDTH)

WILD_FLAGS = (
    "wild",
    "straight_flush",
    "bomb_7",
    "bomb_6",
    "bomb_5",
    "bomb_4",
    "trips",
    "pair",
    "straight",
    "two_trips",
    "three_pair",
    "three_with_two",
)
"""Names of the twelve wild-card flags, all zero without a wild card.

wild: one is held. The others: the hand's plain cards (no wild cards, no jokers) lack at most one card of the
    combination, where of each rank its different suits count, not the copies; so bomb_6 and bomb_7 stay zero.
    The names are the paper's list of combinations ("excluding Singles and Joker Bombs"), the order is ours.
"""

_UNSEEN, _LAST, _PARTNER = SLICES["unseen"].start, SLICES["last_action"].start, SLICES["partner_action"].start
_PLAYED_AT, _LEFT_AT = SLICES["next_played"].start, SLICES["next_left"].start
_LEVEL_AT, _FLAGS = SLICES["own_level"].start, SLICES["wild_flags"].start


@kernel
def _write_flags(hand: Array, level: Int, row: Array, at: int) -> None:
    """Write the wild-card flags of a hand, given as 54 counts."""
    if hand[4 * level] == 0:
        return
    row[at] = 1
    most = 0
    # bits of the suits held at places 0..13 of a sequence, A first and last; of the number of suits
    place = np.zeros(14, np.int64)
    for r in range(13):
        suits = 0
        for s in range(4):
            if hand[4 * r + s] and not (r == level and s == 0):
                suits |= 1 << s
        place[r + 1] = suits
    place[0] = place[13]
    number = np.zeros(14, np.int64)
    for p in range(14):
        number[p] = (place[p] & 1) + (place[p] >> 1 & 1) + (place[p] >> 2 & 1) + (place[p] >> 3)
        most = max(most, number[p])
    # with the wild card a rank of n suits makes groups of up to n + 1
    for size in range(2, 8):
        if most + 1 >= size:
            row[at + 9 - size] = 1
    ones = pairs = 0
    for p in range(1, 14):
        ones += number[p] >= 1
        pairs += number[p] >= 2
    if pairs >= 2 or (most >= 3 and ones >= 2):
        row[at + 11] = 1
    for first in range(10):
        held = 0
        for s in range(4):
            suited = 0
            for j in range(5):
                suited += place[first + j] >> s & 1
            if suited >= 4:
                row[at + 1] = 1
        for j in range(5):
            held += number[first + j] > 0
        if held >= 4:
            row[at + 8] = 1
    for first in range(12):
        tube = min(number[first], 2) + min(number[first + 1], 2) + min(number[first + 2], 2)
        if tube >= 5:
            row[at + 10] = 1
    for first in range(13):
        if min(number[first], 3) + min(number[first + 1], 3) >= 5:
            row[at + 9] = 1


@kernel
def _state_features(words: Ints, bytes_: Bytes, seats: Ints, out: Array) -> None:
    for i in range(len(words)):
        p = np.int64(seats[i])
        row = out[i]
        row[:] = 0
        level = np.int64(bytes_[i, LEVEL])
        write_cards(words[i, HAND + 2 * p], words[i, HAND + 2 * p + 1], row, 0)
        _write_flags(row, level, row, _FLAGS)
        write_unseen(words, i, p, row, _UNSEEN)
        if words[i, PLAYS] == 0:
            row[_LAST : _LAST + 54] = -1
        elif bytes_[i, PASSES] == 0 and bytes_[i, LEADER] < 4:
            write_cards(words[i, BEAT + 1], words[i, BEAT + 2], row, _LAST)
        q = (p + 2) & 3
        if bytes_[i, LEFT + q] == 0 or words[i, LAST + 3 * q] & 255 == 255:
            row[_PARTNER : _PARTNER + 54] = -1
        else:
            write_cards(words[i, LAST + 3 * q + 1], words[i, LAST + 3 * q + 2], row, _PARTNER)
        for j in range(3):
            q = (p + 1 + j) & 3
            write_cards(words[i, PLAYED + 2 * q], words[i, PLAYED + 2 * q + 1], row, _PLAYED_AT + 54 * j)
            row[_LEFT_AT + 28 * j + bytes_[i, LEFT + q]] = 1
        row[_LEVEL_AT + bytes_[i, LEVELS + (p & 1)]] = 1
        row[_LEVEL_AT + 13 + bytes_[i, LEVELS + 1 - (p & 1)]] = 1
        row[_LEVEL_AT + 26 + level] = 1


@kernel
def _action_features(actions: Ints, out: Array) -> None:
    for j in range(len(actions)):
        write_cards(actions[j, 1], actions[j, 2], out[j], 0)


def state_features(
    states: Rows, seats: ArrayLike | None = None, *, dtype: DTypeLike = np.int8, out: Array | None = None
) -> Array:
    """Return DanZero's inputs of each position, [n, 513]; parts by name in SLICES.

    states: [n] STATE. seats: in whose eyes, one for all or [n]; whoever is to act if None.
    dtype: int8 or float32. out: [n, 513] to write to instead.
    Raises GameError if a seat is missing: the round is over and no seats are given.
    """
    return encoded(_state_features, STATE_WIDTH, states, seats, dtype, out)


def action_features(actions: Rows, *, dtype: DTypeLike = np.int8, out: Array | None = None) -> Array:
    """Return the cards of each action as counts, [m, 54]; zero for a PASS.

    actions: [m] ACTION. dtype: int8 or float32. out: [m, 54] to write to, such as a slice of wider rows.
    """
    actions = np.ascontiguousarray(np.atleast_1d(actions))
    room = room_for(len(actions), ACTION_WIDTH, dtype, out)
    return filled(room, lambda rows: _action_features(actions.view(np.int64).reshape(-1, 3), rows))
