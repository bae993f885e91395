"""Lists of moves and random play for batches of rounds, in kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from games.guandan.moves.listing import CANONICAL, FULL, RESERVE, Which, list_moves, moves_scratch
from games.guandan.rounds.state import BEAT, HAND, LEVEL, PLAYER, play_move, views
from games.round_rows import play_out
from games.support.array_types import Bytes, Ints, Rows
from games.support.kernel import kernel
from games.support.splitmix import random_below

__all__ = ["legal_states", "random_playouts"]


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
