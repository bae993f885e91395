"""Lists of moves and random play for batches of rounds, in kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from games.game import GameError
from games.guandan.cards import ACTION, FOUR_KINGS, HAND_SIZE, NO_ACTION, NUM_RANKS, unpack
from games.guandan.moves.listing import CANONICAL, FULL, RESERVE, Which, list_moves, moves_scratch
from games.guandan.rounds.state import BEAT, HAND, LEVEL, PLAYER, STATE, play_move
from games.ragged import Ragged
from games.round_rows import fill_ragged, play_out, views
from games.support.array_types import Bytes, Ints, Rows
from games.support.kernel import kernel
from games.support.splitmix import random_below


@kernel(nogil=True)
def legal_states(
    words: Ints, bytes_: Bytes, which: Which, begin: int, out: Ints, counts: Ints
) -> tuple[int, int]:
    """List the moves from state `begin` on until `out` is too full; return (next state, rows used)."""
    scratch = moves_scratch()
    m = 0
    for i in range(begin, len(words)):
        p = np.int64(bytes_[i, PLAYER])
        if p > 3:
            continue
        if m + RESERVE > len(out):
            return i, m
        before = m
        level = np.int64(bytes_[i, LEVEL])
        lo, hi = words[i, HAND + 2 * p], words[i, HAND + 2 * p + 1]
        m = list_moves(which, lo, hi, level, words[i, BEAT] & 0xFFFFFF, out, m, scratch)
        counts[i] = m - before
    return len(words), m


def legal(states: Rows, *, canonical: bool = False) -> Ragged:
    """Return the legal moves at each state, Ragged of ACTION; none where the round is over."""
    states = np.ascontiguousarray(np.atleast_1d(states))
    which = CANONICAL if canonical else FULL
    found = fill_ragged(legal_states, len(states), *views(states), which, room=(RESERVE, 128), width=3)
    return Ragged(found.offsets, found.values.view(ACTION)[:, 0])


def legal_moves(
    hands: NDArray[np.uint64], levels: ArrayLike, beat: Rows | None = None, *, canonical: bool = False
) -> Ragged:
    """Return the legal moves of each hand, Ragged of ACTION.

    hands: [n, 2] uint64, packed. levels: rank code 0..12, one for all or [n].
    beat: [n] (or a single) ACTION to be beaten; None, PASS or NO_ACTION where the hand leads.
    canonical: list one move of each effect (see `canonical`) instead of every multiset of cards.
    Raises GameError at a hand that is not one, a level or an action out of range.
    """
    hands = np.atleast_2d(hands)
    states = np.zeros(len(hands), STATE)
    counts, levels = unpack(hands), np.asarray(levels, np.int64)
    if counts.size and counts.max() > 2:
        raise GameError("guandan: a card is held 0, 1 or 2 times; a packed hand holds one three times")
    if counts.size and counts.sum(1, dtype=np.int64).max() > HAND_SIZE + 1:
        # whoever is to return a card for tribute holds one more
        raise GameError(f"guandan: a hand has at most {HAND_SIZE + 1} cards; got {counts.sum(1).max()}")
    if levels.size and not 0 <= levels.min() <= levels.max() < NUM_RANKS:
        raise GameError(f"guandan: a level is a rank code 0..12; got {levels.min()}..{levels.max()}")
    states["hand"][:, 0], states["level"] = hands, levels
    if beat is not None:
        states["beat"] = beat
        states["beat"][states["beat"]["type"] == NO_ACTION] = np.zeros((), ACTION)
        kind, rank, size = (states["beat"][name] for name in ("type", "rank", "size"))
        if len(states) and (kind.max() > FOUR_KINGS or rank.max() > 14 or size.max() > 10):
            raise GameError("guandan: the action to beat has no such type, rank or size; take it from a list")
    return legal(states, canonical=canonical)


@kernel(nogil=True)
def _random_playouts(
    words: Ints, bytes_: Bytes, seeds: NDArray[np.uint64], which: Which, out: Ints, decisions: Ints
) -> None:
    """Play every state to the end of its round in place, each with its own random stream."""
    scratch = moves_scratch()
    for i in range(len(words)):
        rng = seeds[i]
        level = np.int64(bytes_[i, LEVEL])
        while bytes_[i, PLAYER] < 4:
            p = np.int64(bytes_[i, PLAYER])
            lo, hi = words[i, HAND + 2 * p], words[i, HAND + 2 * p + 1]
            m = list_moves(which, lo, hi, level, words[i, BEAT] & 0xFFFFFF, out, 0, scratch)
            rng, j = random_below(rng, m)
            play_move(words, bytes_, i, out[j, 0], out[j, 1], out[j, 2])
            decisions[i] += 1


def random_playouts(
    states: Rows, rng: np.random.Generator, *, canonical: bool = False
) -> tuple[Rows, NDArray[np.int64]]:
    """Return the states after uniformly random play to the end of the round, and decisions taken, [n] int64.

    states: [n] STATE, unchanged. Each round draws from its own stream, seeded from `rng`.
    canonical: choose among canonical moves rather than all.
    """
    which, out = CANONICAL if canonical else FULL, np.empty((RESERVE, 3), np.int64)
    return play_out(
        lambda after, seeds, n: _random_playouts(*views(after), seeds, which, out, n), states, rng
    )
