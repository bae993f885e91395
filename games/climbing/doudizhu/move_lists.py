"""Legal moves of hands, leading and following, in kernels.

A list rises in move numbers within each kind; when following, the pass comes first, then what beats the last
move in its own kind, then bombs and the rocket. When leading there is no pass.
"""

from __future__ import annotations

import numpy as np

from games.climbing.doudizhu.move_table import (
    BOMB,
    FOUR_PAIR,
    FOUR_SOLO,
    NUM_MOVES,
    PASS,
    PLANE_PAIR,
    ROCKET,
    SOLO,
    TRIO_PAIR,
    TRIO_SOLO,
    Tables,
)
from games.support.array_types import Int, Ints
from games.support.kernel import kernel

__all__ = ["LIST_ROOM", "beats_head", "covers_ranks", "list_legal"]

LIST_ROOM = NUM_MOVES + 1
"""Rows that no list of moves is longer than."""

# 2 is a primitive root modulo 19: its powers up to 2 ** 17 leave different rests
_LOW_BIT = np.zeros(19, np.int64)
for _bit in range(15):
    _LOW_BIT[(1 << _bit) % 19] = _bit

_ONES = 0x0111_1111_1111_1111
_CHAINED = (1 << 12) - 1
COPIES = np.array([0, 1, 2, 3, 1, 2, 3, 3, 3, 3, 3, 4, 4, 4], np.int64)
"""[14] cards of each rank of a body, by kind."""
SHORTEST = np.array([0, 1, 1, 1, 5, 3, 2, 1, 1, 2, 2, 1, 1, 1], np.int64)
LONGEST = np.array([0, 1, 1, 1, 12, 10, 6, 1, 1, 5, 4, 1, 1, 1], np.int64)
"""[14] links of a body, by kind."""
ROCKET_CARDS = 0x11
"""Both jokers, from bit 52 of a hand on."""
HELD, PLACES, TOTALS = 24, 32, 48
"""Places in the room to work in: masks of ranks held, a choice of kickers, and where it stands."""


@kernel
def _rank_of(bit: int) -> int:
    """Return the rank of a mask with one bit."""
    return int(_LOW_BIT[bit % 19])


@kernel
def _gathered(flags: int) -> int:
    """Return the lowest bit of each rank's four as a mask of 15 bits."""
    x = flags & _ONES
    x = (x | x >> 3) & 0x0303_0303_0303_0303
    x = (x | x >> 6) & 0x000F_000F_000F_000F
    x = (x | x >> 12) & 0x0000_00FF_0000_00FF
    return (x | x >> 24) & 0x7FFF


@kernel
def _note_held(hand: int, work: Ints) -> None:
    """Note in work[HELD + k] the mask of the ranks that a packed hand holds at least k of, k from 1 to 4."""
    ones, twos, fours = hand, hand >> 1, hand >> 2
    work[HELD + 1] = _gathered(ones | twos | fours)
    work[HELD + 2] = _gathered(twos | fours)
    work[HELD + 3] = _gathered(ones & twos | fours)
    work[HELD + 4] = _gathered(fours)


@kernel
def _body_starts(mask: int, links: int) -> int:
    """Return the ranks that a run of `links` ranks of the mask starts at."""
    mask &= _CHAINED
    found = mask
    for k in range(1, links):
        found &= mask >> k
    return found


@kernel
def _with_one(trio: int, others: int, start: int, out: Ints, m: int) -> int:
    """Write a trio with each single rank of `others`, moves that follow one another in the table."""
    others &= ~(1 << trio)
    while others:
        low = others & -others
        rank = _rank_of(low)
        out[m] = start + rank - (rank > trio)
        m += 1
        others ^= low
    return m


@kernel
def _with_solos(
    hand: int, body: int, number: int, at: Int, kicked: Ints, choose: Ints, out: Ints, m: int, work: Ints
) -> int:
    """Write a body with each set of `number` solos that the rulings allow. work: [64]."""
    # cards that may go along, one entry a card, and where each choice stands
    cards = 0
    for rank in range(15):
        if not body >> rank & 1:
            for _ in range(min(hand >> 4 * rank & 15, 3)):
                work[cards] = rank
                cards += 1
    if cards < number:
        return m
    place, total = PLACES, TOTALS
    depth = 0
    work[place] = -1
    work[total] = at
    last = number - 1
    while depth >= 0:
        begin = 0 if depth == 0 else work[place + depth - 1] + 1
        p = work[place + depth] + 1
        # the same rank twice at one place of the choice would give the same cards again
        while p > begin and p < cards and work[p] == work[p - 1]:
            p += 1
        if p > cards - number + depth:
            depth -= 1
            continue
        work[place + depth] = p
        here = work[total + depth] + choose[work[p] + depth, depth + 1]
        if depth == last:
            move = kicked[here]
            if move:
                out[m] = move
                m += 1
        else:
            depth += 1
            work[total + depth] = here
            work[place + depth] = p
    return m


@kernel
def _with_pairs(
    pairs: int, rank: int, links: int, number: int, start: Int, choose: Ints, out: Ints, m: int, work: Ints
) -> int:
    """Write a body of `links` ranks with each set of `number` pairs of other ranks. work: [64]."""
    cards = 0
    for other in range(13):
        if pairs >> other & 1 and not rank <= other < rank + links:
            work[cards] = other if other < rank else other - links
            cards += 1
    if cards < number:
        return m
    place, total = PLACES, TOTALS
    depth = 0
    work[place] = -1
    work[total] = start
    while depth >= 0:
        p = work[place + depth] + 1
        if p > cards - number + depth:
            depth -= 1
            continue
        work[place + depth] = p
        here = work[total + depth] + choose[work[p], depth + 1]
        if depth == number - 1:
            out[m] = here
            m += 1
        else:
            depth += 1
            work[total + depth] = here
            work[place + depth] = p
    return m


@kernel
def _of_bodies(
    hand: int, kind: int, links: int, bodies: int, tables: Tables, out: Ints, m: int, work: Ints
) -> int:
    """Write the moves of a kind and number of links that start at each rank of the mask `bodies`."""
    first = tables[2][kind, links]
    number = 2 if kind in (FOUR_SOLO, FOUR_PAIR) else links
    while bodies:
        low = bodies & -bodies
        bodies ^= low
        rank = _rank_of(low)
        start = first[rank]
        if kind < TRIO_SOLO or kind == BOMB:
            out[m] = start
            m += 1
        elif kind <= TRIO_PAIR:
            m = _with_one(rank, work[HELD + kind - TRIO_SOLO + 1], start, out, m)
        elif kind in (PLANE_PAIR, FOUR_PAIR):
            m = _with_pairs(work[HELD + 2], rank, links, number, start, tables[5], out, m, work)
        else:
            body = ((1 << links) - 1) << rank
            at = tables[4][kind, links, rank]
            m = _with_solos(hand, body, number, at, tables[3], tables[5], out, m, work)
    return m


@kernel
def list_legal(hand: int, head: int, tables: Tables, out: Ints, m: int, work: Ints) -> int:
    """Write the moves of a packed hand to `out` from row m; return the row after the last.

    head: of the move to beat, 0 when leading. tables: `MoveTable.tables`. work: [64] to work in.
    """
    last = head & 255
    kind = SOLO
    if head:
        out[m] = PASS
        m += 1
        kind = last
    _note_held(hand, work)
    while kind <= BOMB:
        held = work[HELD + COPIES[kind]]
        links, most = SHORTEST[kind], LONGEST[kind]
        if kind == last:
            links = most = head >> 16 & 255
            held &= ~((2 << (head >> 8 & 255)) - 1)
        while links <= most:
            bodies = held if most == 1 else _body_starts(held, links)
            if bodies == 0:
                break
            m = _of_bodies(hand, kind, links, bodies, tables, out, m, work)
            links += 1
        kind = kind + 1 if head == 0 or kind == BOMB else BOMB
    if last != ROCKET and hand >> 52 == ROCKET_CARDS:
        out[m] = NUM_MOVES - 1
        m += 1
    return m


@kernel
def covers_ranks(hand: int, cards: int) -> bool:
    """Return whether a packed hand holds a packed multiset."""
    guard = _ONES << 3
    return (hand | guard) - cards & guard == guard


@kernel
def beats_head(head: Int, other: Int) -> bool:
    """Return whether a move that is no pass may be played on another, by their heads; 0 is a free lead."""
    if other == 0:
        return True
    kind, last = head & 255, other & 255
    if kind != last:
        return bool(kind >= BOMB and kind > last)
    return bool((head ^ other) >> 16 & 255 == 0 and (head >> 8 & 255) > (other >> 8 & 255))
