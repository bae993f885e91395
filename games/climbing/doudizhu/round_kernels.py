"""What is done to whole batches of rounds: dealing, listing, stepping, payoffs, keys and random play."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from games.climbing.doudizhu.move_lists import LIST_ROOM
from games.climbing.doudizhu.move_table import Tables, move_table
from games.climbing.doudizhu.round_state import (
    BID,
    BOMBS,
    BOTTOM,
    BY_BID,
    BY_CHANCE,
    CALLED,
    CALLS_MADE,
    DEALT,
    GAPS,
    HAND,
    LANDLORD,
    LEFT,
    MOVES,
    NO_SEAT,
    OVER,
    PLAYED,
    PLAYER,
    RECORD,
    ROUND,
    Halves,
    act_in_place,
    list_actions,
    ranks_dealt,
    round_views,
    start_round,
)
from games.ragged import Ragged
from games.round_rows import fill_ragged, play_out
from games.support.array_types import Bytes, Ints, Rows
from games.support.kernel import kernel
from games.support.splitmix import STEP, below, mixed_word

__all__ = [
    "KEY_WORDS",
    "act_all",
    "empty_rounds",
    "legal_actions",
    "random_endings",
    "round_keys",
    "round_points",
    "shuffle_rounds",
]

KEY_WORDS = 17
"""Words of an infoset key: own cards, bottom and calls, 13 of the record, 2 of the passes."""


@kernel(nogil=True)
def _list_rounds(
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


def legal_actions(states: Rows, rules: int) -> Ragged:
    """Return the legal actions of each state, Ragged of int64. rules: of `rule_code`."""
    views, tables = round_views(np.ascontiguousarray(states)), move_table().tables
    return fill_ragged(_list_rounds, len(states), *views, rules, tables, room=(LIST_ROOM, 64))


@kernel(nogil=True)
def act_all(words: Ints, halves: Halves, bytes_: Bytes, actions: Ints, rules: int, tables: Tables) -> None:
    """Take the action of each row at its state, in place."""
    for i in range(len(words)):
        act_in_place(words, halves, bytes_, i, actions[i], rules, tables)


@kernel(nogil=True)
def _points(bytes_: Bytes, spring: bool, out: NDArray[np.float64]) -> None:
    """Write what each farmer pays or gets, from the landlord's side, times the bid; 0 before the end."""
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


def round_points(states: Rows, spring: bool) -> NDArray[np.float64]:
    """Return what each farmer pays the landlord, [n] float64 in base stakes; negative where farmers won."""
    out = np.empty(len(states))
    _points(round_views(np.ascontiguousarray(states))[2], spring, out)
    return out


@kernel(nogil=True)
def _keys(words: Ints, halves: Halves, bytes_: Bytes, player: int, rules: int, out: Ints) -> None:
    """Write the key of what a player knows of each state, [n, 17]."""
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


def round_keys(states: Rows, player: int, rules: int) -> NDArray[np.uint64]:
    """Return what `player` knows, [n, 17] uint64: nothing is hashed, so `sample_histories` reads it back."""
    out = np.empty((len(states), KEY_WORDS), np.int64)
    _keys(*round_views(np.ascontiguousarray(states)), player, rules, out)
    return out.view(np.uint64)


@kernel(nogil=True)
def _deal(words: Ints, bytes_: Bytes, seeds: NDArray[np.uint64], rules: int) -> None:
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


def shuffle_rounds(n: int, rng: np.random.Generator, rules: int) -> Rows:
    """Return n freshly dealt rounds, [n] ROUND; each comes from a seed drawn from `rng`."""
    states = empty_rounds(n)
    words, _, bytes_ = round_views(states)
    _deal(words, bytes_, rng.integers(0, 2**64, n, np.uint64), rules)
    return states


@kernel(nogil=True)
def _play_randomly(
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


def random_endings(states: Rows, rng: np.random.Generator, rules: int) -> tuple[Rows, NDArray[np.int64]]:
    """Return the rounds after uniformly random play to their ends, and the decisions taken, [n] int64.

    states: [n] ROUND, dealt, unchanged. Each round draws from its own stream, seeded from `rng`.
    """
    tables, out = move_table().tables, np.empty(LIST_ROOM, np.int64)

    def plays(after: Rows, seeds: NDArray[np.uint64], decisions: Ints) -> None:
        _play_randomly(*round_views(after), seeds, rules, tables, out, decisions)

    return play_out(plays, states, rng)
