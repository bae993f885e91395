"""The state of a round as one fixed-size row, and the kernels that deal and play in place.

Kernels see a batch of states as two views of the same memory: `words` [n, W] int64 and `bytes` [n, 8 W]
uint8, with the column constants below. Nothing here checks legality; `big2` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from games.climbing.big2.big2_rules import (
    DECK,
    HAND,
    IN_FIRST_PLAY,
    LOWEST_LEADS,
    PLAYERS,
    STAYS_OUT,
    SUITS,
    Book,
)
from games.climbing.big2.card_masks import ASIDE, DEAL, count_cards, lowest_place
from games.climbing.big2.combinations import MOST_PLAYS, list_plays, play_head
from games.round_rows import byte_of, views, word_of
from games.support.array_types import Bytes, Int, Ints, Rows
from games.support.kernel import kernel
from games.support.splitmix import random_below

UNKNOWN = 255
"""Seat that is not known yet."""

BIG2_STATE = np.dtype(
    [
        ("hand", "<u8", (4,)),
        ("played", "<u8", (4,)),
        ("beat", "<u8"),
        ("head", "<i8"),
        ("went", "u1", (56,)),
        ("player", "i1"),
        ("owner", "u1"),
        ("first", "u1"),
        ("passes", "u1"),
        ("plays", "u1"),
        ("dealt", "u1"),
        ("out", "u1"),
        ("low", "u1"),
    ],
    align=True,
)
"""One round, being dealt or in progress (144 bytes); seats that do not exist hold nothing.

hand: cards each seat holds. played: cards each seat has played; their sum is the initial hand.
beat: the play to beat, 0 when leading. head: its head. owner: the seat that made the last play, else UNKNOWN.
went: for each card 0 until it is played, then `seat << 6 | number of the play`, plays counted from 1: the
    whole public line, passes included, since every seat that might have played in between has passed.
player: who acts: CHANCE while cards are dealt, TERMINAL at the end. first: the seat that leads the round.
passes: since the last play; as many as there were others to pass once the lead is free again.
plays: so far, passes not included. dealt: cards that chance has given away. out: bit for each seat that
    passed and has to wait for the next lead. low: the lowest card that is held, UNKNOWN until one is dealt.
"""

_word, _byte = partial(word_of, BIG2_STATE), partial(byte_of, BIG2_STATE)
HELD, PLAYED, BEAT, HEAD = _word("hand"), _word("played"), _word("beat"), _word("head")
WENT, PLAYER, OWNER, FIRST = _byte("went"), _byte("player"), _byte("owner"), _byte("first")
PASSES, PLAYS, DEALT, OUT, LOW = _byte("passes"), _byte("plays"), _byte("dealt"), _byte("out"), _byte("low")
CHANCE_BYTE, OVER = 255, 254
"""CHANCE (-1) and TERMINAL (-2) as bytes."""


def big2_roots(n: int) -> Rows:
    """Return n rounds before the first card is dealt, [n] BIG2_STATE."""
    states = np.zeros(n, BIG2_STATE)
    states["player"] = -1
    states["owner"] = states["first"] = states["low"] = UNKNOWN
    return states


@kernel
def _deal_card(words: Ints, bytes_: Bytes, i: int, seat: int, book: Book) -> None:
    """Give the next card of state i to a seat, or leave it out; whoever leads is known after the last."""
    options = book[0]
    k = np.int64(bytes_[i, DEALT])
    card = k // options[SUITS] * 4 + k % options[SUITS]
    bytes_[i, DEALT] = k + 1
    if seat != ASIDE:
        words[i, HELD + seat] |= np.int64(1) << card
        if bytes_[i, LOW] == UNKNOWN:  # cards come in rising order
            bytes_[i, LOW] = card
            bytes_[i, FIRST] = seat if options[LOWEST_LEADS] else 0
    if k + 1 == options[DECK]:
        bytes_[i, PLAYER] = bytes_[i, FIRST]


def dealt_rounds(owners: Ints, book: Book) -> Rows:
    """Return rounds after a deal, [n] BIG2_STATE.

    owners: [n, cards of the deck] the seat that gets each card, or ASIDE; every seat a whole hand.
    """
    states = big2_roots(len(owners))
    _deal_all(*views(states), np.ascontiguousarray(owners, np.int64), book)
    return states


@kernel(nogil=True)
def _deal_all(words: Ints, bytes_: Bytes, owners: Ints, book: Book) -> None:
    for i in range(len(owners)):
        for k in range(owners.shape[1]):
            _deal_card(words, bytes_, i, owners[i, k], book)


@kernel
def _next_seat(bytes_: Bytes, i: int, seat: Int, players: int) -> Int:
    """Return the seat after one that may still play on what lies there."""
    seat = (seat + 1) % players
    while bytes_[i, OUT] >> seat & 1:
        seat = (seat + 1) % players
    return seat


@kernel
def apply_one(words: Ints, bytes_: Bytes, i: int, action: int, book: Book) -> None:
    """Let chance or the player of state i take an action, as a mask."""
    options = book[0]
    if action >> DEAL:
        _deal_card(words, bytes_, i, lowest_place(action) - DEAL, book)
        return
    players = int(options[PLAYERS])
    p = np.int64(bytes_[i, PLAYER])
    if action == 0:
        bytes_[i, PASSES] += 1
        if options[STAYS_OUT]:
            bytes_[i, OUT] |= 1 << p
        q = _next_seat(bytes_, i, p, players)
        if q == bytes_[i, OWNER]:  # everyone else has passed
            words[i, BEAT] = 0
            words[i, HEAD] = 0
            bytes_[i, OUT] = 0
        bytes_[i, PLAYER] = q
        return
    number = np.int64(bytes_[i, PLAYS]) + 1
    bytes_[i, PLAYS] = number
    rest = action
    while rest:
        bytes_[i, WENT + lowest_place(rest)] = p << 6 | number
        rest &= rest - 1
    words[i, HELD + p] &= ~action
    words[i, PLAYED + p] |= action
    words[i, BEAT] = action
    words[i, HEAD] = play_head(action, book)
    bytes_[i, OWNER] = p
    bytes_[i, PASSES] = 0
    bytes_[i, PLAYER] = OVER if words[i, HELD + p] == 0 else _next_seat(bytes_, i, p, players)


@kernel(nogil=True)
def apply_all(words: Ints, bytes_: Bytes, actions: Ints, book: Book) -> None:
    """Take the action of each row at its state; finished rounds stay as they are."""
    for i in range(len(words)):
        if bytes_[i, PLAYER] != OVER:
            apply_one(words, bytes_, i, actions[i], book)


@kernel(nogil=True)
def first_misfit(words: Ints, bytes_: Bytes, actions: Ints, book: Book) -> int:
    """Return the first row that is finished, or whose action is none of those who act there, or -1.

    Chance deals to a seat with room left; a seat plays cards that it holds and that make a combination, and
    passes on something. Whether they beat what lies there is not looked at.
    """
    options = book[0]
    for i in range(len(words)):
        p, action = np.int64(bytes_[i, PLAYER]), actions[i]
        if p == OVER or (p == CHANCE_BYTE) != (action >> DEAL != 0):
            return i
        if p == CHANCE_BYTE:
            seat = lowest_place(action) - DEAL
            if action & action - 1 or seat > ASIDE or (seat != ASIDE and seat >= options[PLAYERS]):
                return i
            if room_left(words, bytes_, i, seat, options) == 0:
                return i
        elif action == 0:
            if words[i, BEAT] == 0:
                return i
        elif action & ~words[i, HELD + p] or play_head(action, book) < 0:
            return i
    return -1


@kernel
def room_left(words: Ints, bytes_: Bytes, i: int, seat: int, options: Ints) -> int:
    """Return how many more cards chance will give a seat of state i, or leave out (ASIDE)."""
    if seat != ASIDE:
        free: int = options[HAND] - count_cards(words[i, HELD + seat])
        return free
    held = 0
    for s in range(options[PLAYERS]):
        held += count_cards(words[i, HELD + s])
    aside: int = options[DECK] - options[HAND] * options[PLAYERS] - (np.int64(bytes_[i, DEALT]) - held)
    return aside


@kernel
def settle_rounds(
    words: Ints,
    bytes_: Bytes,
    players: int,
    in_pairs: bool,
    cost: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the payoffs of finished rounds to `out` [n, players]: each seat's cost paid as the rules say."""
    for i in range(len(words)):
        if bytes_[i, PLAYER] != OVER:
            for s in range(players):
                out[i, s] = 0.0
            continue
        total = 0.0
        for s in range(players):
            out[i, s] = cost[count_cards(words[i, HELD + s])]
            total += out[i, s]
        for s in range(players):
            if in_pairs:
                out[i, s] = total - players * out[i, s]
            elif s == bytes_[i, OWNER]:
                out[i, s] = total
            else:
                out[i, s] = -out[i, s]


@kernel
def _list_state(words: Ints, bytes_: Bytes, i: int, book: Book, out: Ints, begin: Int) -> int:
    """Write the actions of state i from row `begin` on; return the row after the last."""
    options = book[0]
    m = int(begin)
    p = np.int64(bytes_[i, PLAYER])
    if p == OVER:
        return m
    if p == CHANCE_BYTE:
        for seat in range(ASIDE + 1):
            if (seat < options[PLAYERS] or seat == ASIDE) and room_left(words, bytes_, i, seat, options) > 0:
                out[m] = np.int64(1) << DEAL + seat
                m += 1
        return m
    opens = bytes_[i, PLAYS] == 0 and options[IN_FIRST_PLAY]
    within = 1 << int(bytes_[i, LOW]) if opens else 0
    return list_plays(words[i, HELD + p], words[i, HEAD], within, book, out, m)


@kernel(nogil=True)
def list_rounds(
    words: Ints, bytes_: Bytes, book: Book, begin: int, out: Ints, counts: Ints
) -> tuple[int, int]:
    """List the states from `begin` on until `out` may be too full; return (next state, rows used)."""
    m = 0
    for i in range(begin, len(words)):
        if m + MOST_PLAYS > len(out):
            return i, m
        before = m
        m = _list_state(words, bytes_, i, book, out, m)
        counts[i] = m - before
    return len(words), m


@kernel(nogil=True)
def play_rounds(
    words: Ints, bytes_: Bytes, seeds: NDArray[np.uint64], book: Book, out: Ints, decisions: Ints
) -> None:
    """Play every state to the end of its round in place, each with its own random stream."""
    for i in range(len(words)):
        rng = seeds[i]
        while bytes_[i, PLAYER] < 4:
            m = _list_state(words, bytes_, i, book, out, np.int64(0))
            rng, j = random_below(rng, m)
            apply_one(words, bytes_, i, out[j], book)
            decisions[i] += 1


@kernel(nogil=True)
def _follow(words: Ints, bytes_: Bytes, line: Ints, book: Book, out: Ints, done: Ints) -> None:
    """Play a line at each state in place, as far as it is legal; count its actions up to there."""
    for i in range(len(words)):
        done[i] = 0
        for action in line:
            m = _list_state(words, bytes_, i, book, out, np.int64(0))
            found = False
            for j in range(m):
                found = found or out[j] == action
            if not found:
                break
            apply_one(words, bytes_, i, action, book)
            done[i] += 1


def after_line(states: Rows, line: Sequence[int], book: Book) -> tuple[Rows, NDArray[np.int64]]:
    """Return the states after one line of actions, as far as it is legal, and how many of them were, [n].

    states: [n] BIG2_STATE, unchanged. line: masks, passes (0) included.
    """
    after = np.array(states, copy=True, ndmin=1)
    done = np.empty(len(after), np.int64)
    _follow(*views(after), np.array(line, np.int64), book, np.empty(MOST_PLAYS, np.int64), done)
    return after, done
