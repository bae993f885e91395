"""A position of a round in numbers, as DanZero and OpenGuanDan have it, in one seat's eyes.

`state_features` are DanZero's 513 numbers (Lu et al. 2023; Zhao et al. 2023, section IV-A), and
`action_features` its 54 for an action, their soft spots included, so that networks of that family can be
trained, loaded and compared: the action to beat is lost once somebody has passed, one set of cards under two
types looks alike, and the wild-card flags count suits instead of copies.

`observations` are OpenGuanDan's 722 (section 5.1). The paper gives the widths; the order within an action's
79 numbers, and that the left-hand opponent is the seat that acts next, are our reading.

`blueprint` has inputs of its own. An environment (`gs2.environments`) shows these rows and what each listed
move is (`ROWS`); `examples/guandan_masked_agent.py` trains an agent on them:

    env = GameEnv("guandan(moves=canonical)")
    match = GameEnv("guandan_match(rules=njupt)", observation="openguandan")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from games.game import GameError
from games.guandan.cards import HAND_SIZE, STRAIGHT, STRAIGHT_FLUSH, THREE_PAIR, TWO_TRIPS, TYPE_NAMES
from games.guandan.combos import ORDER
from games.guandan.matches.match import Match
from games.guandan.matches.match_game import GuanDanMatch
from games.guandan.rounds.round import GuanDan
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
    action_words,
)
from games.round_rows import views
from games.support.array_types import Array, Bytes, Int, Ints, Rows
from games.support.kernel import kernel

_LO, _HI = 0xAAAAAAAAAAAAAA, 0xAAAAAAAAAAAAA
"""Two of every card, packed."""
Writer: TypeAlias = Callable[[Ints, Bytes, Ints, Array], Any]
"""A kernel that writes one row for each state, given as words and bytes, and each seat."""


def _slices(widths: Mapping[str, int]) -> dict[str, slice]:
    """Return where parts of these widths lie, one behind the other."""
    ends = np.cumsum([*widths.values()]).tolist()
    return {name: slice(end - width, end) for (name, width), end in zip(widths.items(), ends, strict=True)}


SLICES = _slices(
    {
        "hand": 54,
        "wild_flags": 12,
        "unseen": 54,
        "last_action": 54,
        "partner_action": 54,
        "next_played": 54,
        "partner_played": 54,
        "previous_played": 54,
        "next_left": 28,
        "partner_left": 28,
        "previous_left": 28,
        "own_level": 13,
        "opponent_level": 13,
        "level": 13,
        "action": 54,
    }
)
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
STATE_WIDTH, ACTION_WIDTH = SLICES["action"].start, 54

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

OBSERVATION_SLICES = _slices(
    {
        "hand": 54,
        "unseen": 54,
        "left_played": 54,
        "partner_played": 54,
        "right_played": 54,
        "last_action": 79,
        "left_action": 79,
        "partner_action": 79,
        "right_action": 79,
        "left_rest": 28,
        "partner_rest": 28,
        "right_rest": 28,
        "own_level": 13,
        "opponent_level": 13,
        "level": 13,
        "wild": 13,
    }
)
"""Where each term lies, in the paper's order.

hand, unseen, *_played: counts of the 54 cards. *_rest: cards held, one-hot 0..27. levels: one-hot.
*_action: 54 counts, the type one-hot (10, Single to FourKings), its place among its type one-hot (15: the
    level-aware order, or the lowest card of a sequence, A first). A PASS is zero, no action yet is -1.
last_action: of whoever acted last; the others: the seat's last action in the round.
wild: wild cards held, at the level's rank.
"""
OBSERVATION_WIDTH = OBSERVATION_SLICES["wild"].stop

_UNSEEN, _LAST, _PARTNER = SLICES["unseen"].start, SLICES["last_action"].start, SLICES["partner_action"].start
_PLAYED_AT, _LEFT_AT = SLICES["next_played"].start, SLICES["next_left"].start
_LEVEL_AT, _FLAGS = SLICES["own_level"].start, SLICES["wild_flags"].start
_SEEN, _SHOWN = OBSERVATION_SLICES["unseen"].start, OBSERVATION_SLICES["left_played"].start
_ACTED, _ACTIONS_AT = OBSERVATION_SLICES["last_action"].start, OBSERVATION_SLICES["left_action"].start
_REST_AT, _LEVELS_AT = OBSERVATION_SLICES["left_rest"].start, OBSERVATION_SLICES["own_level"].start
_WILD_AT = OBSERVATION_SLICES["wild"].start


@kernel
def _write_cards(lo: int, hi: int, row: Array, at: Int) -> None:
    """Write packed cards as 54 counts."""
    for c in range(28):
        row[at + c] = lo >> 2 * c & 3
    for c in range(26):
        row[at + 28 + c] = hi >> 2 * c & 3


@kernel
def _write_table(
    words: Ints, bytes_: Bytes, i: int, p: Int, row: Array, unseen: Int, played: Int, left: Int, levels: Int
) -> None:
    """Write what both layouts have, over zeros: the hand at 0, the rest at these places."""
    row[:] = 0
    _write_cards(words[i, HAND + 2 * p], words[i, HAND + 2 * p + 1], row, 0)
    lo, hi = _LO - words[i, HAND + 2 * p], _HI - words[i, HAND + 2 * p + 1]
    for s in range(4):
        lo -= words[i, PLAYED + 2 * s]
        hi -= words[i, PLAYED + 2 * s + 1]
    _write_cards(lo, hi, row, unseen)
    for j in range(3):
        q = (p + 1 + j) & 3
        _write_cards(words[i, PLAYED + 2 * q], words[i, PLAYED + 2 * q + 1], row, played + 54 * j)
        row[left + 28 * j + bytes_[i, LEFT + q]] = 1
    row[levels + bytes_[i, LEVELS + (p & 1)]] = 1
    row[levels + 13 + bytes_[i, LEVELS + 1 - (p & 1)]] = 1
    row[levels + 26 + bytes_[i, LEVEL]] = 1


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
        p, row = np.int64(seats[i]), out[i]
        _write_table(words, bytes_, i, p, row, _UNSEEN, _PLAYED_AT, _LEFT_AT, _LEVEL_AT)
        _write_flags(row, np.int64(bytes_[i, LEVEL]), row, _FLAGS)
        if words[i, PLAYS] == 0:
            row[_LAST : _LAST + 54] = -1
        elif bytes_[i, PASSES] == 0 and bytes_[i, LEADER] < 4:
            _write_cards(words[i, BEAT + 1], words[i, BEAT + 2], row, _LAST)
        q = (p + 2) & 3
        if bytes_[i, LEFT + q] == 0 or words[i, LAST + 3 * q] & 255 == 255:
            row[_PARTNER : _PARTNER + 54] = -1
        else:
            _write_cards(words[i, LAST + 3 * q + 1], words[i, LAST + 3 * q + 2], row, _PARTNER)


@kernel
def _action_features(actions: Ints, out: Array) -> None:
    for j in range(len(actions)):
        _write_cards(actions[j, 1], actions[j, 2], out[j], 0)


@kernel
def _write_action(head: int, lo: int, hi: int, level: Int, row: Array, at: int) -> None:
    """Write an action's 79 numbers over zeros; -1 if there is none."""
    kind, rank = head & 255, head >> 8 & 255
    if kind == 255:
        row[at : at + 79] = -1
        return
    if kind == 0:
        return
    _write_cards(lo, hi, row, at)
    row[at + 53 + kind] = 1
    if kind in (STRAIGHT, STRAIGHT_FLUSH, THREE_PAIR, TWO_TRIPS):
        row[at + 64 + (rank + 1) % 13] = 1
    else:
        row[at + 64 + ORDER[level, rank]] = 1


@kernel
def _observations(words: Ints, bytes_: Bytes, seats: Ints, out: Array) -> None:
    for i in range(len(words)):
        p, row = np.int64(seats[i]), out[i]
        level = np.int64(bytes_[i, LEVEL])
        _write_table(words, bytes_, i, p, row, _SEEN, _SHOWN, _REST_AT, _LEVELS_AT)
        if words[i, PLAYS] == 0:
            row[_ACTED : _ACTED + 79] = -1
        elif bytes_[i, PASSES] == 0 and bytes_[i, LEADER] < 4:
            _write_action(words[i, BEAT], words[i, BEAT + 1], words[i, BEAT + 2], level, row, _ACTED)
        for j in range(3):
            last = LAST + 3 * ((p + 1 + j) & 3)
            _write_action(
                words[i, last], words[i, last + 1], words[i, last + 2], level, row, _ACTIONS_AT + 79 * j
            )
        row[_WILD_AT + level] = row[4 * level]


def _encoded(write: Writer, width: int, states: Rows, seats: ArrayLike | None) -> NDArray[np.int8]:
    """Return each position as `write` has it, [n, width]; arguments and errors as of `state_features`."""
    states = np.ascontiguousarray(np.atleast_1d(states))
    looking = np.asarray(states["player"] if seats is None else seats)
    if looking.size and not 0 <= looking.min() <= looking.max() <= 3:
        raise GameError(f"guandan: a seat is 0..3; got {looking.min()}..{looking.max()} (a finished round?)")
    looking = np.broadcast_to(looking.astype(np.int64), len(states))
    rows = np.empty((len(states), width), np.int8)
    write(*views(states), looking, rows)
    return rows


def state_features(states: Rows, seats: ArrayLike | None = None) -> NDArray[np.int8]:
    """Return DanZero's inputs of each position, [n, 513]; parts by name in SLICES.

    states: [n] STATE. seats: in whose eyes, one for all or [n]; whoever is to act if None.
    Raises GameError if a seat is missing: the round is over and no seats are given.
    """
    return _encoded(_state_features, STATE_WIDTH, states, seats)


def action_features(actions: Rows) -> NDArray[np.int8]:
    """Return the cards of each action as counts, [m, 54]; zero for a PASS."""
    rows = np.empty((np.size(actions), ACTION_WIDTH), np.int8)
    _action_features(action_words(np.atleast_1d(actions)), rows)
    return rows


def observations(states: Rows, seats: ArrayLike | None = None) -> NDArray[np.int8]:
    """Return OpenGuanDan's observation of each position, [n, 722]; terms by name in OBSERVATION_SLICES.

    states: [n] STATE. seats: in whose eyes, one for all or [n]; whoever is to act if None.
    Raises GameError if a seat is missing: the round is over and no seats are given.
    """
    return _encoded(_observations, OBSERVATION_WIDTH, states, seats)


_STAGES = ("tribute", "back", "play")
CANONICAL_MOVES = 384
"""More than a position has canonical moves: 15 singles, 15 pairs, 13 trips, 12 tubes, 13 * 14 full houses, 13
plates, 10 straights, 7 * 13 bombs, 10 straight flushes, the joker bomb and PASS."""
FULL_MOVES = 18_000
"""Above the longest list that climbing from hand to hand found: 17,070 (dealt hands had at most 5,939)."""
_TYPE, _RANK, _SIZE = ACTION_WIDTH, ACTION_WIDTH + len(TYPE_NAMES), ACTION_WIDTH + len(TYPE_NAMES) + 15
MOVE_SLICES = {
    "cards": slice(0, _TYPE),
    "type": slice(_TYPE, _RANK),
    "rank": slice(_RANK, _SIZE),
    "size": slice(_SIZE, _SIZE + 1),
}
"""Where each part of a move lies. cards: counts of the 54 cards, 0..2. type, rank: one-hot; types in the
order of `cards.TYPE_NAMES`, ranks 2..A, then the jokers. size: cards played, 0 for a PASS."""
MOVE_WIDTH = _SIZE + 1


def move_features(actions: Rows) -> NDArray[np.int8]:
    """Return what describes each move, [m, MOVE_WIDTH] int8; parts by name in MOVE_SLICES.

    actions: [m] ACTION.
    """
    out = np.zeros((len(actions), MOVE_WIDTH), np.int8)
    out[:, MOVE_SLICES["cards"]] = action_features(actions)
    rows = np.arange(len(actions))
    out[rows, _TYPE + actions["type"].astype(np.int64)] = 1
    out[rows, _RANK + actions["rank"].astype(np.int64)] = 1
    out[:, _SIZE] = out[:, MOVE_SLICES["cards"]].sum(1)
    return out


class _Moves:
    """Rows of listed moves; a tribute or return card is a single."""

    width, high, dtype = MOVE_WIDTH, HAND_SIZE, np.int8

    def __init__(self, game: GuanDan | GuanDanMatch) -> None:
        self.longest = CANONICAL_MOVES if game.canonical else FULL_MOVES

    def rows(self, states: Array, seat: int, legal: Rows) -> NDArray[np.int8]:
        """Return what each move is, [m, MOVE_WIDTH]."""
        return move_features(legal)


class _View:
    """The position as `encode` has it; of a match also its stage, one-hot: tribute, return or play."""

    low, high, dtype = -1, 2, np.int8

    def __init__(self, width: int, encode: Callable[..., Array], game: GuanDan | GuanDanMatch) -> None:
        self.encode, self.whole = encode, isinstance(game, GuanDanMatch)
        self.width = width + len(_STAGES) * self.whole

    def of(self, states: Array, seat: int, acts: bool) -> Array:
        """Return what a seat knows, [width]."""
        if not self.whole:
            row: Array = self.encode(states, seat)[0]
            return row
        match: Match = states[0]
        stage = "play" if match.over else match.phase
        state = match.state
        if stage != "play":
            state = match.unplayed()
            state["left"] = np.minimum(state["left"], HAND_SIZE)  # whoever is to return a card has one more
        seen = self.encode(state, seat)[0]
        return np.append(seen, np.array([stage == name for name in _STAGES], np.int8))


ROWS = SimpleNamespace(
    moves=_Moves,
    views={
        "danzero": partial(_View, STATE_WIDTH, state_features),
        "openguandan": partial(_View, OBSERVATION_WIDTH, observations),
    },
)
"""What GuanDan brings to an environment (`gs2.wings`): `moves` and `views`, each called with the game."""
