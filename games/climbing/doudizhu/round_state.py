"""The state of a round as one fixed-size row, and the kernels that deal, bid and play in place.

Kernels see a batch of states as three views of the same memory: `words` [n, 25] int64, `halves` [n, 100]
uint16 and `bytes` [n, 200] uint8, with the column constants below.

Actions are numbers: 0..27471 are moves (see `move_table`), then four calls, then what a deal gives of a rank.
"""

from __future__ import annotations

from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from games.climbing.doudizhu.move_table import (
    BOMB,
    LIST_ROOM,
    NUM_MOVES,
    PASS,
    Tables,
    beats_head,
    covers_ranks,
    list_legal,
)
from games.round_rows import byte_of, views
from games.support.array_types import Bytes, Int, Ints, Rows
from games.support.kernel import kernel
from games.support.splitmix import STEP, below, mixed_word

NO_SEAT = 3
"""Seat that does not exist (yet)."""
MOST_PLAYS = 52
"""Moves of a round, passes left out: 20 + 16 + 16 single cards."""
CALLS = NUM_MOVES
"""The call to pass; the calls 1, 2 and 3 follow."""
DEALS = CALLS + 4
"""A deal of a rank's cards, a to seat 0, b to seat 1 and c to seat 2, is DEALS + a + 5 b + 25 c."""

ROUND = np.dtype(
    [
        ("hand", "<u8", (3,)),
        ("played", "<u8", (3,)),
        ("bottom", "<u8"),
        ("gaps", "<u8", (2,)),
        ("record", "<u2", (MOST_PLAYS,)),
        ("calls", "<u2"),
        ("beat", "<u2"),
        ("player", "i1"),
        ("dealt", "u1"),
        ("called", "u1"),
        ("bid", "u1"),
        ("landlord", "u1"),
        ("leader", "u1"),
        ("passes", "u1"),
        ("plays", "u1"),
        ("bombs", "u1"),
        ("left", "u1", (3,)),
        ("moves", "u1", (3,)),
        ("spare", "u1", (5,)),
    ],
    align=True,
)
"""One round in progress (200 bytes).

hand: packed cards that each seat holds. played: that it has played. bottom: the three cards that the landlord
    takes up; they are in its hand as well once there is a landlord.
record: the moves in order, passes left out. gaps: how many passed after each of them, two bits a move.
plays: how many moves there are. moves: how many of each seat. bombs: how many were bombs or the rocket.
beat: the move to beat, 0 when leading. leader: the seat that played it, or whose lead it is; passes: passes
    since then.
dealt: ranks dealt. calls: the calls of the auction in order, two bits each. called: how many there are.
    bid: the highest. landlord: its seat, NO_SEAT before there is one.
left: cards that each seat holds. player: who acts: a seat, -1 chance, -2 at the end. spare: always 0.
"""

_at = partial(byte_of, ROUND)
HAND, PLAYED, BOTTOM, GAPS = _at("hand") // 8, _at("played") // 8, _at("bottom") // 8, _at("gaps") // 8
RECORD, CALLS_MADE, BEAT = _at("record") // 2, _at("calls") // 2, _at("beat") // 2
PLAYER, DEALT, CALLED, BID = _at("player"), _at("dealt"), _at("called"), _at("bid")
LANDLORD, LEADER, PASSES, PLAYS = _at("landlord"), _at("leader"), _at("passes"), _at("plays")
BOMBS, LEFT, MOVES = _at("bombs"), _at("left"), _at("moves")
BY_CHANCE, OVER = 255, 254
"""CHANCE (-1) and TERMINAL (-2) as bytes."""
BY_BID = 16
"""What is added to the number of plain ranks in a code of the rules, where the landlord is found by bids."""

Halves: TypeAlias = NDArray[np.uint16]
Views: TypeAlias = tuple[Ints, Halves, Bytes]


def round_views(states: Rows) -> Views:
    """Return contiguous states [n] as (words, halves, bytes), sharing memory."""
    words, bytes_ = views(states)
    return words, words.view(np.uint16), bytes_


def rule_code(ranks: int, by_bid: bool) -> int:
    """Return what kernels take of the rules: how many plain ranks the deck has, and who becomes landlord."""
    return ranks + BY_BID * by_bid


@kernel
def ranks_dealt(rules: int, step: Int) -> int:
    """Return the rank that is dealt at a step: the plain ones from 3 on, then the jokers."""
    ranks = rules & 15
    return int(step if step < ranks else 13 + step - ranks)


@kernel
def start_round(words: Ints, bytes_: Bytes, i: int, landlord: Int) -> None:
    """Give the landlord of state i the bottom cards and the first lead."""
    words[i, HAND + landlord] += words[i, BOTTOM]
    bytes_[i, LEFT + landlord] += 3
    bytes_[i, LANDLORD] = landlord
    bytes_[i, LEADER] = landlord
    bytes_[i, PLAYER] = landlord


@kernel
def _deal_rank(words: Ints, bytes_: Bytes, i: int, split: int, rules: int) -> None:
    """Deal one rank's cards; open the auction or the play after the last."""
    rank = ranks_dealt(rules, np.int64(bytes_[i, DEALT]))
    rest = 4 if rank < 13 else 1
    for seat in range(3):
        count = split % 5
        split //= 5
        words[i, HAND + seat] += count << 4 * rank
        bytes_[i, LEFT + seat] += count
        rest -= count
    words[i, BOTTOM] += rest << 4 * rank
    bytes_[i, DEALT] += 1
    if bytes_[i, DEALT] == (rules & 15) + 2:
        if rules & BY_BID:
            bytes_[i, PLAYER] = 0
        else:
            start_round(words, bytes_, i, 0)


@kernel
def _call(words: Ints, halves: Halves, bytes_: Bytes, i: int, call: int) -> None:
    """Let the player of state i call 0 (pass) to 3; a 3, or two passes after a bid, end the auction."""
    seat, called = np.int64(bytes_[i, PLAYER]), np.int64(bytes_[i, CALLED])
    halves[i, CALLS_MADE] |= call << 2 * called
    bytes_[i, CALLED] = called + 1
    if call:
        bytes_[i, BID] = call
        bytes_[i, LEADER] = seat
        bytes_[i, PASSES] = 0
    else:
        bytes_[i, PASSES] += 1
    bid, passes = np.int64(bytes_[i, BID]), np.int64(bytes_[i, PASSES])
    if bid == 3 or (bid > 0 and passes == 2):
        bytes_[i, PASSES] = 0
        start_round(words, bytes_, i, np.int64(bytes_[i, LEADER]))
    elif passes == 3:
        bytes_[i, PLAYER] = OVER
    else:
        bytes_[i, PLAYER] = (seat + 1) % 3


@kernel
def _play(words: Ints, halves: Halves, bytes_: Bytes, i: int, move: int, tables: Tables) -> None:
    """Let the player of state i pass or play."""
    seat, plays = np.int64(bytes_[i, PLAYER]), np.int64(bytes_[i, PLAYS])
    if move == PASS:
        words[i, GAPS + (plays - 1 >> 5)] += np.int64(1) << 2 * (plays - 1 & 31)
        bytes_[i, PASSES] += 1
        if bytes_[i, PASSES] == 2:
            halves[i, BEAT] = 0
            bytes_[i, PASSES] = 0
        bytes_[i, PLAYER] = (seat + 1) % 3
        return
    cards, head = tables[0][move], tables[1][move]
    words[i, HAND + seat] -= cards
    words[i, PLAYED + seat] += cards
    bytes_[i, LEFT + seat] -= head >> 24
    halves[i, RECORD + plays] = move
    halves[i, BEAT] = move
    bytes_[i, PLAYS] = plays + 1
    bytes_[i, MOVES + seat] += 1
    bytes_[i, LEADER] = seat
    bytes_[i, PASSES] = 0
    if head & 255 >= BOMB:
        bytes_[i, BOMBS] += 1
    bytes_[i, PLAYER] = OVER if bytes_[i, LEFT + seat] == 0 else (seat + 1) % 3


@kernel
def act_in_place(
    words: Ints, halves: Halves, bytes_: Bytes, i: int, action: int, rules: int, tables: Tables
) -> None:
    """Take one legal action at state i."""
    if action < CALLS:
        _play(words, halves, bytes_, i, action, tables)
    elif action < DEALS:
        _call(words, halves, bytes_, i, action - CALLS)
    else:
        _deal_rank(words, bytes_, i, action - DEALS, rules)


@kernel
def _rooms(bytes_: Bytes, i: int, rules: int, rooms: Ints) -> None:
    """Write how many cards each seat and the bottom still take in the deal, [4]."""
    ranks = rules & 15
    dealt = int(bytes_[i, DEALT])
    size = (4 * ranks - 1) // 3
    given = 4 * min(dealt, ranks) + max(dealt - ranks, 0)
    rooms[3] = 3 - given
    for seat in range(3):
        rooms[seat] = size - bytes_[i, LEFT + seat]
        rooms[3] += bytes_[i, LEFT + seat]


@kernel
def list_actions(
    words: Ints,
    halves: Halves,
    bytes_: Bytes,
    i: int,
    rules: int,
    tables: Tables,
    out: Ints,
    m: int,
    work: Ints,
) -> int:
    """Write the legal actions of state i to `out` from row m; return the row after the last. work: [64]."""
    player = np.int64(bytes_[i, PLAYER])
    if player == OVER:
        return m
    if player == BY_CHANCE:
        _rooms(bytes_, i, rules, work)
        rank = ranks_dealt(rules, np.int64(bytes_[i, DEALT]))
        copies = 4 if rank < 13 else 1
        for c in range(min(copies, work[2]) + 1):
            for b in range(min(copies - c, work[1]) + 1):
                for a in range(min(copies - c - b, work[0]) + 1):
                    if copies - a - b - c <= work[3]:
                        out[m] = DEALS + a + 5 * b + 25 * c
                        m += 1
        return m
    if bytes_[i, LANDLORD] == NO_SEAT:
        out[m] = CALLS
        m += 1
        for call in range(bytes_[i, BID] + 1, 4):
            out[m] = CALLS + call
            m += 1
        return m
    head = tables[1][halves[i, BEAT]]
    return list_legal(words[i, HAND + player], head, tables, out, m, work)


@kernel
def _allowed(
    words: Ints, halves: Halves, bytes_: Bytes, i: int, action: int, rules: int, tables: Tables, work: Ints
) -> bool:
    """Return whether an action is legal at state i."""
    player = np.int64(bytes_[i, PLAYER])
    if action < 0 or player == OVER:
        return False
    if action >= DEALS:
        split = action - DEALS
        if player != BY_CHANCE or split >= 125:
            return False
        _rooms(bytes_, i, rules, work)
        rest = 4 if ranks_dealt(rules, np.int64(bytes_[i, DEALT])) < 13 else 1
        for seat in range(3):
            if split % 5 > work[seat]:
                return False
            rest -= split % 5
            split //= 5
        return bool(0 <= rest <= work[3])
    if player == BY_CHANCE:
        return False
    bidding = bytes_[i, LANDLORD] == NO_SEAT
    if action >= CALLS:
        return bool(bidding and (action == CALLS or action - CALLS > bytes_[i, BID]))
    head = tables[1][halves[i, BEAT]]
    if bidding:
        return False
    if action == PASS:
        return bool(head != 0)
    return covers_ranks(words[i, HAND + player], tables[0][action]) and beats_head(tables[1][action], head)


@kernel(nogil=True)
def first_forbidden(
    words: Ints, halves: Halves, bytes_: Bytes, actions: Ints, rules: int, tables: Tables
) -> int:
    """Return the first row whose action is not legal at its state, or -1."""
    work = np.empty(64, np.int64)
    for i in range(len(words)):
        if not _allowed(words, halves, bytes_, i, actions[i], rules, tables, work):
            return i
    return -1


KEY_WORDS = 17
"""Words of an infoset key: own cards, bottom and calls, 13 of the record, 2 of the passes."""


@kernel(nogil=True)
def list_rounds(
    words: Ints,
    halves: Halves,
    bytes_: Bytes,
    rules: int,
    tables: Tables,
    begin: int,
    out: Ints,
    counts: Ints,
) -> tuple[int, int]:
    """List the actions from state `begin` on until `out` is too full; return (next state, rows used)."""
    work = np.empty(64, np.int64)
    m = 0
    for i in range(begin, len(words)):
        if m + LIST_ROOM > len(out):
            return i, m
        before = m
        m = list_actions(words, halves, bytes_, i, rules, tables, out, m, work)
        counts[i] = m - before
    return len(words), m


@kernel(nogil=True)
def act_all(words: Ints, halves: Halves, bytes_: Bytes, actions: Ints, rules: int, tables: Tables) -> None:
    """Take the action of each row at its state, in place."""
    for i in range(len(words)):
        act_in_place(words, halves, bytes_, i, actions[i], rules, tables)


@kernel(nogil=True)
def write_points(bytes_: Bytes, spring: bool, out: NDArray[np.float64]) -> None:
    """Write what each farmer pays the landlord, [n] base stakes; negative where farmers won."""
    for i in range(len(bytes_)):
        out[i] = 0.0
        landlord = np.int64(bytes_[i, LANDLORD])
        if bytes_[i, PLAYER] != OVER or landlord == NO_SEAT:
            continue
        won = bytes_[i, LEFT + landlord] == 0
        doubled = np.int64(bytes_[i, BOMBS])
        if spring:
            farmers = bytes_[i, MOVES + (landlord + 1) % 3] + bytes_[i, MOVES + (landlord + 2) % 3]
            if (won and farmers == 0) or (not won and bytes_[i, MOVES + landlord] == 1):
                doubled += 1
        stake = float((np.int64(1) << doubled) * max(int(bytes_[i, BID]), 1))
        out[i] = stake if won else -stake


@kernel(nogil=True)
def write_keys(words: Ints, halves: Halves, bytes_: Bytes, player: int, rules: int, out: Ints) -> None:
    """Write what a player knows of each state, [n, 17]: nothing is hashed, so that it can be read back."""
    for i in range(len(words)):
        dealt = np.int64(bytes_[i, DEALT])
        out[i, 0] = words[i, HAND + player] + words[i, PLAYED + player] | dealt << 60
        bottom = np.int64(0)
        if rules & BY_BID == 0 or bytes_[i, LANDLORD] != NO_SEAT:
            for rank in range(15):
                bottom |= (words[i, BOTTOM] >> 4 * rank & 15) << 3 * rank
        out[i, 1] = bottom | np.int64(halves[i, CALLS_MADE]) << 45 | np.int64(bytes_[i, CALLED]) << 59
        for k in range(13):
            word = np.int64(0)
            for j in range(4):
                word |= np.int64(halves[i, RECORD + 4 * k + j]) << 16 * j
            out[i, 2 + k] = word
        out[i, 15] = words[i, GAPS]
        out[i, 16] = words[i, GAPS + 1]


@kernel(nogil=True)
def deal_all(words: Ints, bytes_: Bytes, seeds: NDArray[np.uint64], rules: int) -> None:
    """Shuffle the deck with each seed and deal it: hands, bottom, then the auction or the landlord's lead."""
    ranks = rules & 15
    total = 4 * ranks + 2
    size = (total - 3) // 3
    deck = np.empty(54, np.int64)
    for i in range(len(words)):
        state = seeds[i]
        for c in range(total):
            deck[c] = ranks_dealt(rules, c >> 2 if c < 4 * ranks else ranks + c - 4 * ranks)
        for c in range(total - 1, 0, -1):
            state += STEP
            j = below(mixed_word(state), c + 1)
            deck[c], deck[j] = deck[j], deck[c]
        for seat in range(3):
            for c in range(size):
                words[i, HAND + seat] += np.int64(1) << 4 * deck[seat * size + c]
            bytes_[i, LEFT + seat] = size
        for c in range(3 * size, total):
            words[i, BOTTOM] += np.int64(1) << 4 * deck[c]
        bytes_[i, DEALT] = ranks + 2
        if rules & BY_BID:
            bytes_[i, PLAYER] = 0
        else:
            start_round(words, bytes_, i, 0)


def empty_rounds(n: int) -> Rows:
    """Return n rounds before the deal, [n] ROUND."""
    states = np.zeros(n, ROUND)
    states["player"] = -1
    states["landlord"] = states["leader"] = NO_SEAT
    return states


@kernel(nogil=True)
def play_rounds(
    words: Ints,
    halves: Halves,
    bytes_: Bytes,
    seeds: NDArray[np.uint64],
    rules: int,
    tables: Tables,
    out: Ints,
    decisions: Ints,
) -> None:
    """Take random actions at every state to the end of its round, each with its own random stream."""
    work = np.empty(64, np.int64)
    for i in range(len(words)):
        state = seeds[i]
        while bytes_[i, PLAYER] != OVER and bytes_[i, PLAYER] != BY_CHANCE:
            m = list_actions(words, halves, bytes_, i, rules, tables, out, 0, work)
            j = np.int64(0)
            if m > 1:
                state += STEP
                j = below(mixed_word(state), m)
            act_in_place(words, halves, bytes_, i, out[j], rules, tables)
            decisions[i] += 1
