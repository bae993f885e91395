"""Every combination of DouDiZhu, once: 27,472 moves with the pass, as one table in a fixed order.

A move is the number of its row. Rows are ordered by kind, then links, then rank, then kickers; no two rows
hold the same cards. What may go along as a kicker is a ruling (`rulings.json`).
Source of the kinds and their numbers: Zha et al. 2021 (DouZero), table 1; RLCard's action space.
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
from games.support.array_types import Ints

__all__ = [
    "BOMB",
    "FOUR_PAIR",
    "FOUR_SOLO",
    "KIND_NAMES",
    "MOST_CARDS",
    "NUM_MOVES",
    "PAIR",
    "PAIR_CHAIN",
    "PASS",
    "PLANE_PAIR",
    "PLANE_SOLO",
    "ROCKET",
    "SOLO",
    "SOLO_CHAIN",
    "TRIO",
    "TRIO_CHAIN",
    "TRIO_PAIR",
    "TRIO_SOLO",
    "MoveTable",
    "Tables",
    "move_letters",
    "move_number",
    "move_table",
]

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
NUM_MOVES = 27_472
CHAINED = 12
"""Ranks that a chain may hold: 3 to A."""
MOST_CARDS = 20
"""Cards of the largest hand, the landlord's."""
_KICKED = ((PLANE_SOLO, 2), (PLANE_SOLO, 3), (PLANE_SOLO, 4), (PLANE_SOLO, 5), (FOUR_SOLO, 2))
"""Kind and number of solos of the moves that are found by their kickers."""

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


def _of_run(first: int, links: int, copies: int) -> int:
    return sum(copies << 4 * rank for rank in range(first, first + links))


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


def _pair_sets(first: int, links: int, number: int) -> Iterator[tuple[int, ...]]:
    """Yield the pairs, each of another rank, that may go along."""
    others = [rank for rank in range(NUM_PLAIN) if not first <= rank < first + links]
    yield from sorted(combinations(others, number), key=lambda ranks: ranks[::-1])


def _bodies() -> Iterator[tuple[int, int, int, int]]:
    """Yield kind, links, copies of each rank and how many ranks it may start at, in the order of kinds."""
    yield SOLO, 1, 1, NUM_RANKS
    yield PAIR, 1, 2, NUM_PLAIN
    yield TRIO, 1, 3, NUM_PLAIN
    for kind, copies, shortest in ((SOLO_CHAIN, 1, 5), (PAIR_CHAIN, 2, 3), (TRIO_CHAIN, 3, 2)):
        for links in range(shortest, min(CHAINED, MOST_CARDS // copies) + 1):
            yield kind, links, copies, CHAINED - links + 1
    yield TRIO_SOLO, 1, 3, NUM_PLAIN
    yield TRIO_PAIR, 1, 3, NUM_PLAIN
    for links in range(2, 6):
        yield PLANE_SOLO, links, 3, CHAINED - links + 1
    for links in range(2, 5):
        yield PLANE_PAIR, links, 3, CHAINED - links + 1
    yield FOUR_SOLO, 1, 4, NUM_PLAIN
    yield FOUR_PAIR, 1, 4, NUM_PLAIN
    yield BOMB, 1, 4, NUM_PLAIN


def _kickers(kind: int, rank: int, links: int) -> Iterator[tuple[int, ...]]:
    """Yield the ranks of the cards that may go along, each card by itself."""
    if kind in (TRIO_SOLO, PLANE_SOLO, FOUR_SOLO):
        yield from _solo_sets(rank, links, 2 if kind == FOUR_SOLO else links)
    elif kind in (TRIO_PAIR, PLANE_PAIR, FOUR_PAIR):
        for ranks in _pair_sets(rank, links, 2 if kind == FOUR_PAIR else links):
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
    for kind, links, copies, starts in _bodies():
        for rank in range(starts):
            first[kind, links, rank] = len(cards)
            body = _of_run(rank, links, copies)
            number = 2 if kind == FOUR_SOLO else links
            by_solos = (kind, number) in _KICKED
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
