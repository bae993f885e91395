"""The fewest moves that play out a hand: minimum combination with unit costs, exact and fast.

`min_combination` finds the cheapest split under any costs. With unit costs much more can be left out:

- Let A be the moves of a split in which a full house counts as trips and a pair, T its trips, P its pairs.
  It takes A - min(T, P) = max(x, y) moves, where x = A - T and y = A - P. So a part of a split is a point
  (x, y), one that is nowhere smaller than another may go, and nobody asks which pair goes with which trips.
- What sequences leave of a rank goes out as one group, or as pairs or trips alone: `_REST` lists the ways
  that no other is at least as good as.
- Sequences under way matter by what they still take from each of the next four ranks, not by their kind.
- A wild card that is left over joins any single, bomb, or lone pair or trips for nothing; failing that, all
  of them together are one move. So a point also holds how many are spent and whether others have a place.

Tests compare it with exhaustion and with the general search.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from games.support.array_types import Int, Ints
from games.support.kernel import kernel

__all__ = ["NO_ROOM", "Room", "count_fewest_moves", "lacking", "room"]

POINTS = 32
"""Most points at one set of sequences under way (the most seen is 13)."""
SLOTS = 1 << 10
"""Most sets of sequences under way at one rank (the most seen is 244)."""
TABLE = 1 << 11
NO_ROOM = -1
"""Answer where a hand would need more; none is known."""
PAIRED, OPEN = 1, 2
"""Places for a leftover wild card: a pair, if it is not part of a full house; a single or a bomb."""

Room = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


def room() -> Room:
    """Return the kernel's workspace: points, keys and counts of two ranks, and a hash table."""
    return (
        np.empty((2, SLOTS, POINTS), np.int64),
        np.empty((2, SLOTS), np.int64),
        np.empty((2, SLOTS), np.int64),
        np.empty((2, TABLE), np.int64),
    )


def _rest() -> NDArray[np.int64]:
    """Return [cards left of a rank 0..8, wild cards joining them 0..2, way 0..2, 4] int64.

    A way is (1, x, y, place), or zeros where there are no more. Wild cards that would only be put away are
    not listed.
    """
    ways: dict[tuple[int, int], list[tuple[int, int, int]]] = {
        (0, 0): [(0, 0, 0)],
        (1, 0): [(1, 1, OPEN)],
        (1, 1): [(1, 0, PAIRED)],
        (1, 2): [(0, 1, 0)],
        (2, 0): [(1, 0, PAIRED)],
        (2, 1): [(0, 1, 0)],
        (3, 0): [(0, 1, 0)],
        (3, 1): [(2, 0, PAIRED)],
        (4, 0): [(1, 1, OPEN), (2, 0, PAIRED)],
        (4, 2): [(0, 2, 0)],
        (5, 0): [(1, 1, OPEN)],
        (5, 1): [(0, 2, 0), (3, 0, PAIRED)],
        (6, 0): [(1, 1, OPEN), (0, 2, 0), (3, 0, PAIRED)],
        (7, 0): [(1, 1, OPEN)],
        (7, 1): [(4, 0, PAIRED)],
        (7, 2): [(0, 3, 0)],
        (8, 0): [(1, 1, OPEN), (4, 0, PAIRED)],
        (8, 1): [(0, 3, 0)],
    }
    table = np.zeros((9, 3, 3, 4), np.int64)
    for (left, joined), found in ways.items():
        for k, way in enumerate(found):
            table[left, joined, k] = (1, *way)
    return table


_REST = _rest()


@kernel(nogil=True)
def _no_worse(
    x0: Int, y0: Int, spent0: Int, place0: Int, x: Int, y: Int, spent: Int, place: Int
) -> bool | np.bool_:
    """Whether the first point makes the second superfluous: leftover wild cards cost one move at most."""
    if spent0 > spent:
        return False
    if x0 <= x and y0 <= y and (place0 == OPEN or (spent0 == spent and place0 >= place)):
        return True
    return x0 < x and y0 < y


@kernel(nogil=True)
def _slot(key: Int, side: Int, mark: Int, keys: Ints, counts: Ints, used: Int, table: Ints) -> Int:
    """Return the slot of a set of sequences under way; `used`, the next free one, if it is new.

    table: [2, TABLE], keys under the mark of their rank and slots. The caller makes sure that `used` exists.
    """
    h = (key * 0x9E3779B1 >> 9) & (TABLE - 1)
    while table[0, h] >> 32 == mark:
        if table[0, h] == mark << 32 | key:
            known: Int = table[1, h]
            return known
        h = (h + 1) & (TABLE - 1)
    table[0, h], table[1, h] = mark << 32 | key, used
    keys[side, used], counts[side, used] = key, 0
    return used


@kernel(nogil=True)
def _add(points: Ints, side: Int, s: Int, n: Int, x: Int, y: Int, spent: Int, place: Int) -> Int:
    """Add a point to the n of a slot unless it is superfluous, drop those that it makes so; return how many.

    points[side, s]: x | y << 6 | spent << 12 | place << 14.
    """
    for k in range(n):
        p = points[side, s, k]
        if _no_worse(p & 63, p >> 6 & 63, p >> 12 & 3, p >> 14, x, y, spent, place):
            return n
    kept = 0
    for k in range(n):
        p = points[side, s, k]
        if not _no_worse(x, y, spent, place, p & 63, p >> 6 & 63, p >> 12 & 3, p >> 14):
            points[side, s, kept] = p
            kept += 1
    if kept < POINTS:
        points[side, s, kept] = x | y << 6 | spent << 12 | place << 14
    return kept + 1


@kernel(nogil=True)
def lacking(naturals: Ints, owed: Int, r: Int, low: Int) -> Int:
    """Wild cards that sequences need at least to go on from rank r; owed: cards of each rank, 4 bits each."""
    lack = 0
    while owed:
        lack += max(0, (owed & 15) - naturals[r] + (low if r == 12 else 0))
        owed >>= 4
        r += 1
    return lack


@kernel(nogil=True)
def count_fewest_moves(naturals: Ints, wild: Int, work: Room) -> Int:
    """Return the fewest moves of a hand, or NO_ROOM; naturals: [15] by rank code; work: `room()`."""
    points, keys, counts, table = work
    table[0] = 0
    used: Int = 0
    grown: Int = 0
    now = 0
    # sequences that begin with a low ace; a key is what is owed, and the aces spent low
    for ns in range(3):
        for nt in range(3):
            for plates in range(2):
                taken = ns + 2 * nt + 3 * plates
                owed = taken | ns + 2 * nt << 4 | ns << 8 | ns << 12
                for filled in range(min(wild, taken) + 1):
                    low = taken - filled
                    if low <= naturals[12] and filled + lacking(naturals, owed, 0, low) <= wild:
                        s = _slot(owed | low << 16, 0, 1, keys, counts, used, table)
                        used = max(used, s + 1)
                        begun = ns + nt + plates
                        counts[0, s] = _add(points, 0, s, counts[0, s], begun, begun, filled, 0)
    for r in range(13):
        then, grown = 1 - now, 0
        for i in range(used):
            owed, low = keys[now, i] & 0xFFFF, keys[now, i] >> 16
            n = naturals[r] - (low if r == 12 else 0)
            for k in range(counts[now, i]):
                p = points[now, i, k]
                x, y, spent, place = p & 63, p >> 6 & 63, p >> 12 & 3, p >> 14
                spare = wild - spent
                for ns in range(3 if r < 9 else 1):
                    for nt in range(3 if r < 11 else 1):
                        if (owed & 15) + ns + 2 * nt > n + spare:
                            break
                        for plates in range(2 if r < 12 else 1):
                            taken = ns + 2 * nt + 3 * plates
                            owes = (owed >> 4) + (taken | ns + 2 * nt << 4 | ns << 8 | ns << 12)
                            left = n - (owed & 15) - taken
                            filled = max(0, -left)
                            left += filled
                            free = spare - filled - lacking(naturals, owes, r + 1, low)
                            if free < 0:
                                break
                            if grown == SLOTS:
                                return NO_ROOM
                            s = _slot(owes | low << 16, then, r + 2, keys, counts, grown, table)
                            grown = max(grown, s + 1)
                            begun = ns + nt + plates
                            for joined in range(free + 1):
                                for way in range(3):
                                    if _REST[left, joined, way, 0] == 0:
                                        break
                                    counts[then, s] = _add(
                                        points,
                                        then,
                                        s,
                                        counts[then, s],
                                        x + begun + _REST[left, joined, way, 1],
                                        y + begun + _REST[left, joined, way, 2],
                                        spent + filled + joined,
                                        max(place, _REST[left, joined, way, 3]),
                                    )
                                    if counts[then, s] > POINTS:
                                        return NO_ROOM
        now, used = then, grown
    best: Int = 99
    small, big = naturals[13], naturals[14]
    for i in range(used):
        for k in range(counts[now, i]):
            p = points[now, i, k]
            for bomb in range(2 if small + big == 4 else 1):
                x = (p & 63) + (1 if bomb else (small > 0) + (big > 0))
                y = (p >> 6 & 63) + (1 if bomb else (small == 1) + (big == 1))
                # y > x leaves trips without a pair, x > y a pair without trips, which may be of jokers
                place = p >> 14 == OPEN or y > x or (x > y and p >> 14 == PAIRED)
                best = min(best, max(x, y) + (p >> 12 & 3 < wild and not place))
    return best
