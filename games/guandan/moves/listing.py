"""Legal moves of batches of hands, leading and following.

A list is ordered by type (singles, pairs, trips, tubes, full houses, plates, straights, bombs of 4 and 5,
straight flushes, bombs of 6 to 10, joker bomb) and rises in strength within a type; when following, PASS
comes first. When leading there is no PASS.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from games.game import GameError
from games.guandan.cards import ACTION, FOUR_KINGS, HAND_SIZE, NO_ACTION, NUM_RANKS, unpack
from games.guandan.moves.canonical import canonical_moves
from games.guandan.moves.full import HALF, full_moves
from games.guandan.moves.packed import OPEN_HAND, open_hand
from games.ragged import Ragged
from games.round_rows import fill_ragged
from games.support.array_types import Int, Ints, Rows
from games.support.kernel import kernel

__all__ = ["CANONICAL", "FULL", "Which", "legal_moves", "list_moves", "moves_scratch"]

RESERVE = 1 << 18
"""Rows kept free before a hand is listed: more than any hand of 27 cards has moves (tubes 12 * 15 ** 3, full
houses 390 * 195, straights 10 * 2944, plates 13 * 30 ** 2 and few others, each bound generous)."""


Which: TypeAlias = tuple[float, ...]
"""Which moves a kernel lists: FULL or CANONICAL. Its length is its type: only one of them is compiled in."""
FULL: Which = ()
CANONICAL: Which = (1.0,)
Scratch: TypeAlias = tuple[Ints, Ints, Ints]
"""Working memory of `list_moves`: a hand taken apart, pairs [256, 3], partial moves [2 * HALF, 2]."""


@kernel
def moves_scratch() -> Scratch:
    """Return working memory for `list_moves`: small enough to make once a call."""
    return (
        np.empty(OPEN_HAND, np.int64),
        np.empty((256, 3), np.int64),
        np.empty((2 * HALF, 2), np.int64),
    )


@kernel
def list_moves(
    which: Which, lo: int, hi: int, level: Int, beat: int, out: Ints, m: int, scratch: Scratch
) -> int:
    """Write the moves of one hand to `out` from row m; return the row after the last.

    lo, hi: the packed hand. beat: first word of the action to beat, 0 when leading.
    out: [.., 3] int64, ACTION as words. scratch: of `moves_scratch`.
    """
    hand, pairs, work = scratch
    open_hand(lo, hi, level, hand)
    if len(which) > 0:
        return canonical_moves(hand, beat, out, m)
    return full_moves(hand, beat, out, m, pairs, work)


@kernel(nogil=True)
def _legal(
    hands: Ints, levels: Ints, beats: Ints, which: Which, begin: int, out: Ints, counts: Ints
) -> tuple[int, int]:
    """List the hands from `begin` on until `out` is too full for one more; return (next hand, rows used)."""
    scratch = moves_scratch()
    m = 0
    for i in range(begin, len(hands)):
        if m + RESERVE > len(out):
            return i, m
        before = m
        m = list_moves(which, hands[i, 0], hands[i, 1], levels[i], beats[i], out, m, scratch)
        counts[i] = m - before
    return len(hands), m


def legal_moves(
    hands: NDArray[np.uint64], levels: ArrayLike, beat: Rows | None = None, *, canonical: bool = False
) -> Ragged:
    """Return the legal moves of each hand, Ragged of ACTION.

    hands: [n, 2] uint64, packed. levels: rank code 0..12, one for all or [n].
    beat: [n] (or a single) ACTION to be beaten; None, PASS or NO_ACTION where the hand leads.
    canonical: list one move of each effect (see `canonical`) instead of every multiset of cards.
    Raises GameError at a hand that is not one, a level or an action out of range.
    """
    hands = np.ascontiguousarray(np.atleast_2d(hands), np.uint64)
    n = len(hands)
    counts = unpack(hands)
    if n and counts.max() > 2:
        raise GameError("guandan: a card is held 0, 1 or 2 times; a packed hand holds one three times")
    if n and counts.sum(1, dtype=np.int64).max() > HAND_SIZE:
        raise GameError(f"guandan: a hand has at most {HAND_SIZE} cards; got {counts.sum(1).max()}")
    # a copy, since a read-only view would make numba compile once more
    levels = np.array(np.broadcast_to(np.asarray(levels, np.int64), n))
    if n and not 0 <= levels.min() <= levels.max() < NUM_RANKS:
        raise GameError(f"guandan: a level is a rank code 0..12; got {levels.min()}..{levels.max()}")
    if beat is None:
        heads = np.zeros(n, np.int64)
    else:
        beat = np.broadcast_to(beat, n)
        kind, rank, size = (beat[name].astype(np.int64) for name in ("type", "rank", "size"))
        kind = np.where(kind == NO_ACTION, 0, kind)
        if n and (kind.max() > FOUR_KINGS or rank.max() > 14 or size.max() > 10):
            raise GameError("guandan: the action to beat has no such type, rank or size; take it from a list")
        heads = kind | rank << 8 | size << 16
    return lists_of(_legal, n, hands.view(np.int64), levels, heads, CANONICAL if canonical else FULL)


def lists_of(lists: Callable[..., tuple[int, int]], n: int, *arguments: Any) -> Ragged:
    """Return what a listing kernel finds for n rows (see `fill_ragged`), Ragged of ACTION."""
    found = fill_ragged(lists, n, *arguments, room=(RESERVE, 128), width=3)
    return Ragged(found.offsets, found.values.view(ACTION)[:, 0])
