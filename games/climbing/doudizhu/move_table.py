"""Every combination of DouDiZhu, once: 27,472 moves with the pass, as one table in a fixed order.

A move is the number of its row. Rows are ordered by kind, then links, then rank, then kickers; no two rows
hold the same cards. What may go along as a kicker is a ruling (`rulings.json`).
Source of the kinds and their numbers: Zha et al. 2021 (DouZero), table 1; RLCard's action space.

A hand's list rises in move numbers within each kind; when following, the pass comes first, then what beats
the last move in its own kind, then bombs and the rocket. When leading there is no pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, combinations_with_replacement
from math import comb
from typing import TypeAlias

import numpy as np

from games.climbing.doudizhu.multiset import BLACK, NUM_PLAIN, NUM_RANKS, RED, cards_text, read_multiset
from games.game import GameError
from games.support.array_types import Int, Ints
from games.support.kernel import kernel

(
    PASS,
    SOLO,
    PAIR,
    TRIO,
    SOLO_CHAIN,
    PAIR_CHAIN,
    TRIO_CHAIN,
    TRIO_SOLO,
    TRIO_PAIR,
    PLANE_SOLO,
    PLANE_PAIR,
    FOUR_SOLO,
    FOUR_PAIR,
    BOMB,
    ROCKET,
) = range(15)
KIND_NAMES = (
    "pass",
    "solo",
    "pair",
    "trio",
    "chain of solos",
    "chain of pairs",
    "chain of trios",
    "trio with a solo",
    "trio with a pair",
    "plane with solos",
    "plane with pairs",
    "four with two solos",
    "four with two pairs",
    "bomb",
    "rocket",
)
"""Name of each kind of move, by its code."""
COPIES = np.array([0, 1, 2, 3, 1, 2, 3, 3, 3, 3, 3, 4, 4, 4], np.int64)
"""[14] cards of each rank of a body, by kind."""
SHORTEST = np.array([0, 1, 1, 1, 5, 3, 2, 1, 1, 2, 2, 1, 1, 1], np.int64)
LONGEST = np.array([0, 1, 1, 1, 12, 10, 6, 1, 1, 5, 4, 1, 1, 1], np.int64)
"""[14] links of a body, by kind."""
NUM_MOVES = 27_472
CHAINED = 12
"""Ranks that a chain may hold: 3 to A."""
MOST_CARDS = 20
"""Cards of the largest hand, the landlord's."""

Tables: TypeAlias = tuple[Ints, Ints, Ints, Ints, Ints, Ints]
"""What kernels take of a `MoveTable`: cards, heads, first, kicked, kicked_at and choose."""


@dataclass(frozen=True, eq=False)
class MoveTable:
    """The moves, and where to find them.

    cards: [27472] int64, the packed multiset of each move; 0 for the pass.
    heads: [27472] int64, what decides who beats whom: kind, rank << 8, links << 16, number of cards << 24.
        rank is the lowest of the trios, pairs, solos or four that count.
    first: [15 kinds, 13 links, 15 ranks] int64, the first move of that kind, links and rank; -1 for none.
    kicked: int64, the moves by their solos: the k solos r1 <= ... <= rk stand at the sum of
        choose[ri + i - 1, i] from kicked_at[kind, links, rank] on; 0 where a ruling forbids them.
    kicked_at: [15, 13, 15] int64. choose: [20, 6] int64, binomial coefficients.
    """

    cards: Ints
    heads: Ints
    first: Ints
    kicked: Ints
    kicked_at: Ints
    choose: Ints

    @property
    def tables(self) -> Tables:
        """The arrays in the order that kernels take them."""
        return self.cards, self.heads, self.first, self.kicked, self.kicked_at, self.choose


def _solo_sets(first: int, links: int, number: int) -> Iterator[tuple[int, ...]]:
    """Yield the solos that may go along with a body of `links` ranks from `first` on (the ruling)."""
    others = [rank for rank in range(NUM_RANKS) if not first <= rank < first + links]
    found = combinations_with_replacement(others, number)
    for ranks in sorted(found, key=lambda ranks: ranks[::-1]):
        if BLACK in ranks and RED in ranks:
            continue
        most = [3 - (rank < CHAINED and rank in (first - 1, first + links)) for rank in ranks]
        if any(ranks.count(rank) > top for rank, top in zip(ranks, most, strict=True)):
            continue
        if ranks.count(BLACK) < 2 and ranks.count(RED) < 2:
            yield ranks


def _bodies() -> Iterator[tuple[int, int, int]]:
    """Yield kind, links and how many ranks it may start at, in the order of kinds."""
    yield SOLO, 1, NUM_RANKS
    for kind in range(PAIR, ROCKET):
        for links in range(SHORTEST[kind], LONGEST[kind] + 1):
            yield kind, links, NUM_PLAIN if LONGEST[kind] == 1 else CHAINED - links + 1


def _kickers(kind: int, rank: int, links: int) -> Iterator[tuple[int, ...]]:
    """Yield the ranks of the cards that may go along, each card by itself."""
    number = 2 if kind in (FOUR_SOLO, FOUR_PAIR) else links
    if kind in (TRIO_SOLO, PLANE_SOLO, FOUR_SOLO):
        yield from _solo_sets(rank, links, number)
    elif kind in (TRIO_PAIR, PLANE_PAIR, FOUR_PAIR):
        others = [other for other in range(NUM_PLAIN) if not rank <= other < rank + links]
        for ranks in sorted(combinations(others, number), key=lambda ranks: ranks[::-1]):
            yield tuple(rank for rank in ranks for _ in range(2))
    else:
        yield ()


@lru_cache(maxsize=1)
def move_table() -> MoveTable:
    """Return the table of all moves, made once (a fraction of a second)."""
    choose = np.array([[comb(n, k) for k in range(6)] for n in range(20)], np.int64)
    cards, heads = [0], [0]
    first = np.full((15, 13, NUM_RANKS), -1, np.int64)
    kicked_at = np.zeros((15, 13, NUM_RANKS), np.int64)
    kicked: list[Ints] = []
    room = 0
    first[PASS, 1, 0] = 0
    for kind, links, starts in _bodies():
        copies = int(COPIES[kind])
        for rank in range(starts):
            first[kind, links, rank] = len(cards)
            body = sum(copies << 4 * r for r in range(rank, rank + links))
            number = 2 if kind == FOUR_SOLO else links
            by_solos = kind in (PLANE_SOLO, FOUR_SOLO)  # moves that are found by their kickers
            places = np.zeros(comb(NUM_RANKS - 1 + number, number) if by_solos else 0, np.int64)
            for kickers in _kickers(kind, rank, links):
                if by_solos:
                    places[sum(choose[r + i, i + 1] for i, r in enumerate(kickers))] = len(cards)
                heads.append(kind | rank << 8 | links << 16 | (copies * links + len(kickers)) << 24)
                cards.append(body + sum(1 << 4 * r for r in kickers))
            if by_solos:
                kicked_at[kind, links, rank] = room
                kicked.append(places)
                room += len(places)
    first[ROCKET, 1, BLACK] = len(cards)
    heads.append(ROCKET | BLACK << 8 | 1 << 16 | 2 << 24)
    cards.append(1 << 4 * BLACK | 1 << 4 * RED)
    table = (np.array(cards, np.int64), np.array(heads, np.int64), first, np.concatenate(kicked))
    return MoveTable(*table, kicked_at, choose)


@lru_cache(maxsize=1)
def _numbers() -> dict[int, int]:
    return {cards: move for move, cards in enumerate(move_table().cards.tolist())}


def move_letters(move: int) -> str:
    """Return a move in letters, weakest card first, or "pass"."""
    return cards_text(int(move_table().cards[move])) or "pass"


def move_number(text: str) -> int:
    """Return the move that letters spell (see `read_multiset`), or that "pass" is.

    Raises GameError if the cards make no combination.
    """
    if text.strip().lower() == "pass":
        return PASS
    move = _numbers().get(read_multiset(text), 0)
    if move == PASS:
        raise GameError(f'doudizhu: a move is a combination of cards or "pass"; got {text!r}')
    return move


LIST_ROOM = NUM_MOVES + 1
"""Rows that no list of moves is longer than."""

# 2 is a primitive root modulo 19: its powers up to 2 ** 17 leave different rests
_LOW_BIT = np.zeros(19, np.int64)
for _bit in range(15):
    _LOW_BIT[(1 << _bit) % 19] = _bit

_ONES = 0x0111_1111_1111_1111
_CHAINED = (1 << 12) - 1
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
def _with_kickers(
    cards: int, number: int, at: Int, repeats: int, kicked: Ints, choose: Ints, out: Ints, m: int, work: Ints
) -> int:
    """Write a body with each set of `number` kickers, whose ranks rise in work[:cards]. work: [64].

    repeats: 1 for solos, of which a rank may come again: their moves stand in `kicked`, from `at` on, where
    the rulings allow them; 0 for pairs, whose moves follow one another from `at` on.
    """
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
        here = work[total + depth] + choose[work[p] + repeats * depth, depth + 1]
        if depth == last:
            move = kicked[here] if repeats else here
            if move:
                out[m] = move
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
            continue
        if kind <= TRIO_PAIR:
            m = _with_one(rank, work[HELD + kind - TRIO_SOLO + 1], start, out, m)
            continue
        # kickers that may go along: ranks of pairs as the body leaves them, or one entry for each card
        pairs = kind in (PLANE_PAIR, FOUR_PAIR)
        cards = 0
        for other in range(13 if pairs else 15):
            if not rank <= other < rank + links:
                copies = work[HELD + 2] >> other & 1 if pairs else min(hand >> 4 * other & 15, 3)
                for _ in range(copies):
                    work[cards] = other if not pairs or other < rank else other - links
                    cards += 1
        at = start if pairs else tables[4][kind, links, rank]
        m = _with_kickers(cards, number, at, 0 if pairs else 1, tables[3], tables[5], out, m, work)
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
