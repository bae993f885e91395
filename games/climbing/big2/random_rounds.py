"""Lists of actions and random play for batches of rounds, in kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from games.climbing.big2.big2_rules import IN_FIRST_PLAY, PLAYERS, Book
from games.climbing.big2.candidates import MOST_PLAYS, list_plays
from games.climbing.big2.card_masks import ASIDE, DEAL
from games.climbing.big2.table_rows import (
    CHANCE_BYTE,
    HEAD,
    HELD,
    LOW,
    OVER,
    PLAYER,
    PLAYS,
    apply_one,
    room_left,
)
from games.ragged import Ragged
from games.round_rows import fill_ragged, play_out, views
from games.support.array_types import Bytes, Int, Ints, Rows
from games.support.kernel import kernel
from games.support.splitmix import random_below

__all__ = ["after_line", "legal_plays", "play_randomly"]


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
def _legal(words: Ints, bytes_: Bytes, book: Book, begin: int, out: Ints, counts: Ints) -> tuple[int, int]:
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
def _play_out(
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


def legal_plays(states: Rows, book: Book) -> Ragged:
    """Return the actions of each state, Ragged of uint64 masks; none where the round is over.

    states: [n] BIG2_STATE.
    """
    both = views(np.ascontiguousarray(states))
    found = fill_ragged(_legal, len(states), *both, book, room=(MOST_PLAYS, 24))
    return Ragged(found.offsets, found.values.view(np.uint64))


def play_randomly(states: Rows, rng: np.random.Generator, book: Book) -> tuple[Rows, NDArray[np.int64]]:
    """Return the states after uniformly random play to the end of the round, and decisions taken, [n] int64.

    states: [n] BIG2_STATE, dealt, unchanged. Each round draws from its own stream, seeded from `rng`.
    """
    out = np.empty(MOST_PLAYS, np.int64)
    return play_out(lambda after, seeds, n: _play_out(*views(after), seeds, book, out, n), states, rng)
