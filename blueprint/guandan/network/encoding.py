"""What the GuanDan network sees: one row of bytes per state and one per action, written by batched kernels.

A state is encoded once per decision, from one seat's eyes; an action only by what it does: its type and
place, and the hand it leaves behind. Beyond DanZero's 567 inputs there are the action to beat (kept after
passes), types beside cards, wild cards by copies, rank counts as thermometers, what tribute made known, and
how many higher combinations of the same type the unseen cards still hold.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np
from numba import njit
from numpy.typing import NDArray

from blueprint.guandan.rules.hands import BITS5, natural_ranks, rank_byte, rank_lanes
from games.guandan.cards import (
    ACTION,
    BOMB,
    FOUR_KINGS,
    PAIR,
    PASS,
    SINGLE,
    STRAIGHT,
    STRAIGHT_FLUSH,
    THREE_PAIR,
    THREE_WITH_TWO,
    TRIPS,
    TWO_TRIPS,
)
from games.guandan.combos import ORDER
from games.guandan.moves.packed import COUNT, RANK_AT
from games.guandan.rounds.state import (
    BEAT,
    CAP,
    FINISHED,
    HAND,
    KNOWN,
    LAST,
    LEADER,
    LEFT,
    LEVEL,
    ORDER_OUT,
    OWNER,
    PASSES,
    PLAYED,
    PLAYER,
    TRICK,
    views,
)

__all__ = [
    "ACTION_BLOCKS",
    "ACTION_WIDTH",
    "FEATURE_HASH",
    "HIDDEN_BLOCKS",
    "HIDDEN_WIDTH",
    "STATE_BLOCKS",
    "STATE_WIDTH",
    "encode_actions",
    "encode_actions_into",
    "encode_full",
    "encode_full_into",
    "encode_states",
    "encode_states_into",
    "higher_unseen",
    "rank_place",
]

STATE_BLOCKS = (
    ("hand", 108),  # own cards: at least one copy, two copies, card by card
    ("hand_ranks", 78),  # own natural cards of each rank 2..A: at least 1..6
    ("wild", 2),  # own wild cards: at least 1, 2
    ("unseen", 108),  # cards neither held nor played
    ("unseen_ranks", 104),  # the same by rank, at least 1..8, wild cards included
    ("left", 112),  # cards each seat holds, one-hot 0..27; seats count from the one who sees
    ("played", 60),  # cards each seat has played, counts of 15 ranks
    ("beat", 42),  # action to beat: type 11, place 15, bomb size 7, wild cards 2, whose 4, passes 3
    ("trick", 81),  # last action in this trick of the three others: type or none 12, place 15
    ("last", 108),  # last action in the round of all four: type or none 12, place 15
    ("level", 13),  # the round's level
    ("out", 16),  # place at which each seat finished: 1st, 2nd, 3rd, not yet
    ("known", 45),  # counts of ranks that the three others are known to hold still
    ("cap", 45),  # highest place their other cards can have
    ("actor", 4),  # who acts
    ("owner", 2),  # whose level it is: own team's, theirs
)
"""(name, width) of each block of a state's row, in order."""

HIDDEN_BLOCKS = (
    ("cards", 324),  # cards of the next, partner and previous seat: at least one copy, both copies
    ("ranks", 234),  # their natural cards of each rank: at least 1..6
    ("wild", 6),  # their wild cards: at least 1, 2
    ("spare", 12),
)
"""(name, width) of each block of what the critic sees beyond a state's row."""

ACTION_BLOCKS = (
    ("type", 11),
    ("place", 15),  # in the level-aware order: singles, pairs, trips, full houses, bombs
    ("low", 13),  # lowest place of a sequence, the low ace first
    ("size", 7),  # of a bomb, 4..10
    ("uses_wild", 2),  # at least 1, 2
    ("pair", 15),  # place of a full house's pair
    ("ranks", 78),  # natural cards left of each rank: at least 1..6
    ("jokers", 4),  # jokers left: at least 1, 2 of each
    ("wild", 2),  # wild cards left: at least 1, 2
    ("cards", 52),  # natural cards left, at least one copy
    ("left", 12),  # cards left: 0..10, more
    ("singles", 8),  # ranks left with one card: at least 1..8
    ("pairs", 6),
    ("trips", 5),
    ("bombs", 4),  # four or more
    ("straights", 4),  # straights within the natural cards left: windows, at least 1..4
    ("flushes", 3),  # straight flushes left, wild cards helping
    ("higher", 4),  # higher combinations of the type that unseen natural cards allow: 0, 1, 2, more
    ("spare", 11),
)
"""(name, width) of each block of an action's row, in order."""


def _starts(blocks: tuple[tuple[str, int], ...]) -> dict[str, int]:
    starts, total = {}, 0
    for name, width in blocks:
        starts[name] = total
        total += width
    starts["end"] = total
    return starts


_S, _A, _H = _starts(STATE_BLOCKS), _starts(ACTION_BLOCKS), _starts(HIDDEN_BLOCKS)
STATE_WIDTH = _S["end"]
ACTION_WIDTH = _A["end"]
HIDDEN_WIDTH = _H["end"]
VERSION = 1
FEATURE_HASH = hashlib.sha256(json.dumps([VERSION, STATE_BLOCKS, ACTION_BLOCKS]).encode()).hexdigest()[:16]
"""Names the layout; a checkpoint trained on another one is refused."""

S_HAND, S_HAND_RANKS, S_WILD, S_UNSEEN = _S["hand"], _S["hand_ranks"], _S["wild"], _S["unseen"]
S_UNSEEN_RANKS, S_LEFT, S_PLAYED, S_BEAT = _S["unseen_ranks"], _S["left"], _S["played"], _S["beat"]
S_TRICK, S_LAST, S_LEVEL, S_OUT = _S["trick"], _S["last"], _S["level"], _S["out"]
S_KNOWN, S_CAP, S_ACTOR, S_OWNER = _S["known"], _S["cap"], _S["actor"], _S["owner"]
H_CARDS, H_RANKS, H_WILD = _H["cards"], _H["ranks"], _H["wild"]
A_PLACE, A_LOW, A_SIZE, A_USES, A_PAIR = _A["place"], _A["low"], _A["size"], _A["uses_wild"], _A["pair"]
A_RANKS, A_JOKERS, A_WILD, A_CARDS, A_LEFT = _A["ranks"], _A["jokers"], _A["wild"], _A["cards"], _A["left"]
A_SINGLES, A_PAIRS, A_TRIPS, A_BOMBS = _A["singles"], _A["pairs"], _A["trips"], _A["bombs"]
A_STRAIGHTS, A_FLUSHES, A_HIGHER = _A["straights"], _A["flushes"], _A["higher"]
DECK_LO = 0x00AAAAAAAAAAAAAA
DECK_HI = 0x000AAAAAAAAAAAAA


@njit(cache=True, nogil=True, inline="always")
def _thermometer(row, start, value, width):
    for k in range(width):
        if k < value:
            row[start + k] = 1


@njit(cache=True, nogil=True)
def _card_planes(row, start, lo, hi):
    """Two bytes a card: at least one copy, both copies."""
    for c in range(54):
        copies = lo >> 2 * c & 3 if c < 28 else hi >> 2 * (c - 28) & 3
        if copies:
            row[start + 2 * c] = 1
            row[start + 2 * c + 1] = copies >> 1


@njit(cache=True, nogil=True, inline="always")
def rank_place(kind, rank, level):
    """Place of an action within its type: lowest first."""
    if kind in (STRAIGHT, STRAIGHT_FLUSH, THREE_PAIR, TWO_TRIPS):
        return (rank + 1) % 13
    return ORDER[level, rank]


@njit(cache=True, nogil=True, inline="always")
def _wilds_in(lo, hi, level):
    return rank_byte(lo, hi, level) & 3


@njit(cache=True, nogil=True)
def _public_action(row, start, head, level):
    """Type (11 means none) and place of somebody's action: 27 bytes."""
    kind = head & 255
    row[start + min(kind, 11)] = 1
    if 0 < kind < 11:
        row[start + 12 + rank_place(kind, head >> 8 & 255, level)] = 1


@njit(cache=True, nogil=True)
def _encode_state(words, bytes_, i, p, row):
    """Write the features of state i in the eyes of seat p."""
    row[:] = 0
    level = np.int64(bytes_[i, LEVEL])
    lo, hi = words[i, HAND + 2 * p], words[i, HAND + 2 * p + 1]
    _card_planes(row, S_HAND, lo, hi)
    unseen_lo, unseen_hi = DECK_LO - lo, DECK_HI - hi
    for seat in range(4):
        unseen_lo -= words[i, PLAYED + 2 * seat]
        unseen_hi -= words[i, PLAYED + 2 * seat + 1]
    _card_planes(row, S_UNSEEN, unseen_lo, unseen_hi)
    wild = _wilds_in(lo, hi, level)
    _thermometer(row, S_WILD, wild, 2)
    for r in range(13):
        count = COUNT[rank_byte(lo, hi, r)]
        if r == level:
            count -= wild
        _thermometer(row, S_HAND_RANKS + 6 * r, count, 6)
        _thermometer(row, S_UNSEEN_RANKS + 8 * r, COUNT[rank_byte(unseen_lo, unseen_hi, r)], 8)
    for j in range(4):
        seat = (p + j) & 3
        row[S_LEFT + 28 * j + bytes_[i, LEFT + seat]] = 1
        played_lo, played_hi = words[i, PLAYED + 2 * seat], words[i, PLAYED + 2 * seat + 1]
        for r in range(15):
            row[S_PLAYED + 15 * j + r] = COUNT[rank_byte(played_lo, played_hi, r)]
        _public_action(row, S_LAST + 27 * j, words[i, LAST + 3 * seat], level)
        if j:
            _public_action(row, S_TRICK + 27 * (j - 1), words[i, TRICK + 3 * seat], level)
            known_lo, known_hi = words[i, KNOWN + 2 * seat], words[i, KNOWN + 2 * seat + 1]
            if known_lo | known_hi:
                for c in range(54):
                    if c < 28:
                        known, gone = known_lo >> 2 * c & 3, played_lo >> 2 * c & 3
                    else:
                        known, gone = known_hi >> 2 * (c - 28) & 3, played_hi >> 2 * (c - 28) & 3
                    if known > gone:
                        r = c // 4 if c < 52 else c - 39
                        row[S_KNOWN + 15 * (j - 1) + r] += known - gone
            row[S_CAP + 15 * (j - 1) + min(bytes_[i, CAP + seat], 14)] = 1
        place = 3
        for k in range(3):
            if k < bytes_[i, FINISHED] and bytes_[i, ORDER_OUT + k] == seat:
                place = k
        row[S_OUT + 4 * j + place] = 1
    head = words[i, BEAT]
    kind = head & 255
    row[S_BEAT + kind] = 1
    if kind != PASS:
        row[S_BEAT + 11 + rank_place(kind, head >> 8 & 255, level)] = 1
        if kind == BOMB:
            row[S_BEAT + 26 + (head >> 16 & 255) - 4] = 1
        _thermometer(row, S_BEAT + 33, _wilds_in(words[i, BEAT + 1], words[i, BEAT + 2], level), 2)
        row[S_BEAT + 35 + (bytes_[i, LEADER] - p & 3)] = 1
    row[S_BEAT + 39 + min(bytes_[i, PASSES], 2)] = 1
    row[S_LEVEL + level] = 1
    if bytes_[i, PLAYER] < 4:
        row[S_ACTOR + (bytes_[i, PLAYER] - p & 3)] = 1
    if bytes_[i, OWNER] < 2:
        row[S_OWNER + (bytes_[i, OWNER] ^ p & 1)] = 1


@njit(cache=True, nogil=True)
def _encode_hidden(words, bytes_, i, p, row):
    """Write the hands of the three others in state i, as a critic sees them."""
    row[:] = 0
    level = np.int64(bytes_[i, LEVEL])
    for j in range(3):
        seat = (p + j + 1) & 3
        lo, hi = words[i, HAND + 2 * seat], words[i, HAND + 2 * seat + 1]
        _card_planes(row, H_CARDS + 108 * j, lo, hi)
        wild = _wilds_in(lo, hi, level)
        _thermometer(row, H_WILD + 2 * j, wild, 2)
        for r in range(13):
            count = COUNT[rank_byte(lo, hi, r)]
            if r == level:
                count -= wild
            _thermometer(row, H_RANKS + 78 * j + 6 * r, count, 6)


@njit(cache=True, nogil=True)
def higher_unseen(kind, place, level, unseen_lo, unseen_hi):
    """Number of higher combinations (by place) of the type within the unseen cards, wild cards left aside."""
    found = 0
    if kind in (SINGLE, PAIR, TRIPS, THREE_WITH_TWO, BOMB):
        need = 1 if kind == SINGLE else 2 if kind == PAIR else 4 if kind == BOMB else 3
        for q in range(place + 1, 15):
            if COUNT[rank_byte(unseen_lo, unseen_hi, RANK_AT[level, q])] >= need:
                found += 1
    elif kind != PASS and kind != FOUR_KINGS:
        slots, need = 5, 1
        if kind == THREE_PAIR:
            slots, need = 3, 2
        elif kind == TWO_TRIPS:
            slots, need = 2, 3
        for start in range(place + 1, 15 - slots):
            whole = 1
            for j in range(slots):
                if COUNT[rank_byte(unseen_lo, unseen_hi, (start + 12 + j) % 13)] < need:
                    whole = 0
            found += whole
    return found


@njit(cache=True, nogil=True)
def _encode_action(lo, hi, left, level, unseen_lo, unseen_hi, head, a_lo, a_hi, ranks, row):
    """Write the features of one action of a hand (lo, hi) of `left` cards; ranks: [16] int64 scratch."""
    row[:] = 0
    kind, rank, size = head & 255, head >> 8 & 255, head >> 16 & 255
    row[kind] = 1
    place = 0
    if kind != PASS:
        place = rank_place(kind, rank, level)
        if kind in (STRAIGHT, STRAIGHT_FLUSH, THREE_PAIR, TWO_TRIPS):
            row[A_LOW + place] = 1
        else:
            row[A_PLACE + place] = 1
            if kind == BOMB:
                row[A_SIZE + size - 4] = 1
            elif kind == THREE_WITH_TWO:
                # the pair is of the only other rank, or of the level if wild cards alone make it
                pair = level
                for r in range(15):
                    byte = rank_byte(a_lo, a_hi, r)
                    if r == level:
                        byte &= 252
                    if byte and r != rank:
                        pair = r
                row[A_PAIR + ORDER[level, pair]] = 1
        _thermometer(row, A_USES, _wilds_in(a_lo, a_hi, level), 2)
    lo -= a_lo
    hi -= a_hi
    left -= size
    wild = natural_ranks(lo, hi, level, ranks)
    singles, pairs, trips, bombs = 0, 0, 0, 0
    for r in range(13):
        byte = ranks[r]
        count = COUNT[byte]
        if count:
            _thermometer(row, A_RANKS + 6 * r, count, 6)
            for s in range(4):
                if byte >> 2 * s & 3:
                    row[A_CARDS + 4 * r + s] = 1
            if count == 1:
                singles += 1
            elif count == 2:
                pairs += 1
            elif count == 3:
                trips += 1
            else:
                bombs += 1
    _thermometer(row, A_JOKERS, ranks[13], 2)
    _thermometer(row, A_JOKERS + 2, ranks[14], 2)
    _thermometer(row, A_WILD, wild, 2)
    row[A_LEFT + min(left, 11)] = 1
    _thermometer(row, A_SINGLES, singles, 8)
    _thermometer(row, A_PAIRS, pairs, 6)
    _thermometer(row, A_TRIPS, trips, 5)
    _thermometer(row, A_BOMBS, bombs, 4)
    if left >= 5:
        lanes = rank_lanes(ranks)
        every = (lanes | lanes >> 16 | lanes >> 32 | lanes >> 48) & 0x3FFF
        _thermometer(row, A_STRAIGHTS, _windows(every), 4)
        flushes = 0
        for start in range(10):
            for suit in range(4):
                if BITS5[lanes >> 16 * suit + start & 31] + wild >= 5:
                    flushes += 1
        _thermometer(row, A_FLUSHES, flushes, 3)
    row[A_HIGHER + min(higher_unseen(kind, place, level, unseen_lo, unseen_hi), 3)] = 1


@njit(cache=True, nogil=True)
def _windows(every):
    """Number of runs of five among 14 sequence places."""
    run = every & every >> 1 & every >> 2 & every >> 3 & every >> 4
    found = 0
    while run:
        run &= run - 1
        found += 1
    return found


@njit(cache=True, nogil=True)
def encode_states_into(words, bytes_, rows, seats, out):
    for j in range(len(rows)):
        _encode_state(words, bytes_, rows[j], np.int64(seats[j]), out[j])


@njit(cache=True, nogil=True)
def encode_actions_into(words, bytes_, rows, seats, offsets, actions, out):
    ranks = np.empty(16, np.int64)
    for j in range(len(rows)):
        i, p = rows[j], np.int64(seats[j])
        lo, hi = words[i, HAND + 2 * p], words[i, HAND + 2 * p + 1]
        unseen_lo, unseen_hi = DECK_LO - lo, DECK_HI - hi
        for seat in range(4):
            unseen_lo -= words[i, PLAYED + 2 * seat]
            unseen_hi -= words[i, PLAYED + 2 * seat + 1]
        level, left = np.int64(bytes_[i, LEVEL]), np.int64(bytes_[i, LEFT + p])
        for m in range(offsets[j], offsets[j + 1]):
            head = actions[m, 0] & 0xFFFFFF
            a_lo, a_hi = actions[m, 1], actions[m, 2]
            _encode_action(lo, hi, left, level, unseen_lo, unseen_hi, head, a_lo, a_hi, ranks, out[m])


@njit(cache=True, nogil=True)
def _encode_all_hidden(words, bytes_, rows, seats, out):
    for j in range(len(rows)):
        _encode_hidden(words, bytes_, rows[j], np.int64(seats[j]), out[j])


def encode_full_into(words, bytes_, rows, seats, out):
    """Write what a seat sees and then the other hands, [len(rows) or more, STATE_WIDTH + HIDDEN_WIDTH]."""
    encode_states_into(words, bytes_, rows, seats, out[:, :STATE_WIDTH])
    _encode_all_hidden(words, bytes_, rows, seats, out[:, STATE_WIDTH:])


def encode_full(states: NDArray, seats: NDArray) -> NDArray[np.uint8]:
    """Return what the critic sees: the rows of `encode_states`, then the others' hands, uint8.

    [n, STATE_WIDTH + HIDDEN_WIDTH], the latter as in HIDDEN_BLOCKS.
    """
    states = np.ascontiguousarray(states)
    rows = np.arange(len(states), dtype=np.int64)
    out = np.empty((len(rows), STATE_WIDTH + HIDDEN_WIDTH), np.uint8)
    encode_full_into(*views(states), rows, np.broadcast_to(np.asarray(seats, np.int64), rows.shape), out)
    return out


def encode_states(
    states: NDArray, seats: NDArray, rows: NDArray[np.int64] | None = None
) -> NDArray[np.uint8]:
    """Return the features of states in the eyes of seats, [n, STATE_WIDTH] uint8.

    states: [..] STATE. seats: [n] seat 0..3. rows: [n] which state each row encodes; default all, in order.
    """
    states = np.ascontiguousarray(states)
    rows = np.arange(len(states), dtype=np.int64) if rows is None else np.asarray(rows, np.int64)
    seats = np.broadcast_to(np.asarray(seats, np.int64), rows.shape)
    if seats.size and not 0 <= seats.min() <= seats.max() < 4:
        raise ValueError(f"encode_states: a seat is 0..3; got {seats.min()}..{seats.max()}")
    out = np.empty((len(rows), STATE_WIDTH), np.uint8)
    encode_states_into(*views(states), rows, seats, out)
    return out


def encode_actions(
    states: NDArray,
    seats: NDArray,
    offsets: NDArray[np.int64],
    actions: NDArray,
    rows: NDArray[np.int64] | None = None,
) -> NDArray[np.uint8]:
    """Return the features of actions, [m, ACTION_WIDTH] uint8.

    actions: [m] ACTION; `actions[offsets[j]:offsets[j + 1]]` belong to seat `seats[j]` at `states[rows[j]]`.
    """
    states = np.ascontiguousarray(states)
    rows = np.arange(len(states), dtype=np.int64) if rows is None else np.asarray(rows, np.int64)
    seats = np.broadcast_to(np.asarray(seats, np.int64), rows.shape)
    words = np.ascontiguousarray(actions, ACTION).view(np.int64).reshape(-1, 3)
    out = np.empty((len(words), ACTION_WIDTH), np.uint8)
    encode_actions_into(*views(states), rows, seats, np.asarray(offsets, np.int64), words, out)
    return out
