"""Minimum Combination Search: the fewest moves that play out a hand, and the cheapest way to split it.

A dynamic programme walks the ranks in sequence order (low ace, 2..A). Its state is what sequences under way
take from the next four ranks, wild cards spent, and the balance of full houses (trips that still want a pair,
or pairs promised to one). The rest of each rank goes out as one group or in full houses. Suits do not matter:
five natural cards of one suit go out as one move under either name.

With unit costs the result is exact (three equal straights are never needed: two plates and trips hold the
same cards, likewise three equal tubes are three bombs and two equal plates are two bombs). With other costs
the search is over the same splits. Source of the idea: Luo & Tan 2024 (ODMC), for climbing games.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from games.guandan.cards import (
    BOMB,
    FOUR_KINGS,
    NUM_RANKS,
    STRAIGHT,
    THREE_PAIR,
    THREE_WITH_TWO,
    TRIPS,
    TWO_TRIPS,
)
from games.guandan.moves.packed import HELD, OPEN_HAND, WILD, open_hand
from games.support.array_types import Int, Ints
from games.support.kernel import kernel

UNIT = 1000
"""One move, in the kernel's integer costs."""
BOMBS = FOUR_KINGS + 1
"""Row at which the costs of bombs by size begin; before it stand those of groups by type."""
COST_ROWS = BOMBS + 11
UNIT_COSTS: Ints = np.full((NUM_RANKS, COST_ROWS, 15), UNIT, np.int64)
"""What each group of a split costs, [13 levels, COST_ROWS, 15] in thousandths of a move.

Rows are types, then BOMBS and the size of bombs; columns are rank codes (of sequences: of the lowest card).
The pair in a full house is free.
"""
TABLE = 1 << 13
STATES = 1 << 16
INFINITE = 1 << 40
KNOWN = 1 << 16
"""Splits remembered."""
SCATTER = 0x9E3779B97F4A7C15 - (1 << 64)

SplitRoom: TypeAlias = tuple[Ints, Ints, Ints, Ints, NDArray[np.int16]]


def split_room(known: int = KNOWN) -> SplitRoom:
    """Return the workspace of `split_hand` for one table of costs.

    known: splits that it remembers, a power of two.
    It holds the search's states, [STATES, 4] key, cost, parent and move, and their hash table; the hand taken
    apart (`open_hand`); of each split remembered its counts, level, cost and number of
    groups, [known, 4], and the groups, [known, 32].
    """
    return (
        np.empty((STATES, 4), np.int64),
        np.empty(TABLE, np.int64),
        np.empty(OPEN_HAND, np.int64),
        np.full((known, 4), -1, np.int64),
        np.empty((known, 32), np.int16),
    )


@kernel(nogil=True)
def _push(
    states: Ints, slots: Ints, begin: Int, end: Int, key: Int, cost: Int, parent: Int, move: Int
) -> Int:
    """Add a state to the stage that starts at `begin`, or better it; return the new end."""
    h = (key * 0x9E3779B1 >> 7) & (TABLE - 1)
    while True:
        at = slots[h]
        new = at < begin
        if new or states[at, 0] == key:
            if new:
                if end >= len(states):
                    return end
                at = slots[h] = end
                end += 1
            if new or cost < states[at, 1]:
                states[at, 0], states[at, 1], states[at, 2], states[at, 3] = key, cost, parent, move
            return end
        h = (h + 1) & (TABLE - 1)


@kernel(nogil=True)
def _lacking(naturals: Ints, owed: Int, r: Int, low: Int) -> Int:
    """Wild cards that sequences need at least to go on from rank r; owed: cards of each rank, 4 bits each."""
    lack = 0
    while owed:
        lack += max(0, (owed & 15) - naturals[r] + (low if r == 12 else 0))
        owed >>= 4
        r += 1
    return lack


@kernel(nogil=True)
def _search(wild: Int, level: Int, costs: Ints, room: SplitRoom, groups: Ints) -> tuple[Int, int]:
    """Return (cost, number of groups) of the cheapest split of the hand in `room`, as `split_hand`.

    A key packs, from the low bits: cards that sequences under way take from each of the next four ranks (4
    bits each), wild cards spent (2), full-house balance + 16 (6), aces spent low (4). A move packs straights,
    tubes, plates begun (2 each), wild cards (2), trips for full houses (3), pairs for full houses (3), one
    group of the rest (1).
    """
    states, slots, hand, _, _ = room
    naturals = hand[HELD : HELD + 15]
    slots[:] = -1
    begin: Int = 0
    end: Int = 0
    # low aces: sequences that begin with one
    aces = naturals[12]
    for ns in range(3):
        for nt in range(3):
            for np_ in range(2):
                need = ns + 2 * nt + 3 * np_
                for y in range(wild + 1):
                    used = need - y
                    if used < 0 or used > aces:
                        continue
                    cost = ns * costs[STRAIGHT, 12] + nt * costs[THREE_PAIR, 12] + np_ * costs[TWO_TRIPS, 12]
                    owed = need | ns + 2 * nt << 4 | ns << 8 | ns << 12
                    if y + _lacking(naturals, owed, 0, used) > wild:
                        continue
                    key = owed | y << 16 | 16 << 18 | used << 24
                    move = ns | nt << 2 | np_ << 4 | y << 6
                    end = _push(states, slots, 0, end, key, cost, -1, move)
    rest = wild + naturals[13] + naturals[14]
    for r in range(13):
        rest += naturals[r]
    for r in range(13):
        rest -= naturals[r]
        last = end
        for i in range(begin, last):
            key, cost = states[i, 0], states[i, 1]
            spent, low = key >> 16 & 3, key >> 24
            balance = (key >> 18 & 63) - 16
            n = naturals[r]
            if r == 12:
                n -= low
            for ns in range(3 if r < 9 else 1):
                for nt in range(3 if r < 11 else 1):
                    if (key & 15) + ns + 2 * nt > n + wild - spent:
                        break
                    for np_ in range(2 if r < 12 else 1):
                        taken = ns + 2 * nt + 3 * np_
                        need = (key & 15) + taken
                        owed = (key >> 4 & 0xFFF) + (taken | ns + 2 * nt << 4 | ns << 8 | ns << 12)
                        lack = _lacking(naturals, owed, r + 1, low)
                        if max(0, need - n) + lack > wild - spent:
                            break
                        begun = (
                            cost
                            + ns * costs[STRAIGHT, r]
                            + nt * costs[THREE_PAIR, r]
                            + np_ * costs[TWO_TRIPS, r]
                        )
                        head = owed | low << 24
                        what = ns | nt << 2 | np_ << 4
                        for y in range(wild - spent - lack + 1):
                            left = n + y - need
                            if left < 0:
                                continue
                            if left and naturals[r] == 0 and r != level:
                                break
                            many = naturals[r] if r != level else 16
                            base = head | spent + y << 16
                            move = what | y << 6
                            # as one group
                            total = begun
                            if left:
                                total += costs[left if left <= TRIPS else BOMBS + left, r]
                            end = _push(
                                states, slots, last, end, base | balance + 16 << 18, total, i, move | 1 << 14
                            )
                            # as parts of full houses
                            for trips in range(left // 3 + 1):
                                pairs = (left - 3 * trips) // 2
                                if left == 0 or 3 * trips + 2 * pairs != left or trips + pairs > many:
                                    continue
                                b = balance + trips - pairs
                                if 3 * -b > rest + wild or 2 * b > rest + wild:
                                    continue
                                total = begun + trips * costs[THREE_WITH_TWO, r]
                                parts = move | trips << 8 | pairs << 11
                                end = _push(states, slots, last, end, base | b + 16 << 18, total, i, parts)
        begin = last
    # jokers, and the ends that hold together
    best, at, choice = INFINITE, -1, 0
    small, big = naturals[13], naturals[14]
    for i in range(begin, end):
        key = states[i, 0]
        if key >> 16 & 3 != wild:
            continue
        balance = (key >> 18 & 63) - 16
        for option in range(5):
            # 0 apart; 1, 2 the small, the big pair into a full house; 3 both; 4 the joker bomb
            if (option & 1 and small < 2) or (option & 2 and big < 2) or (option == 4 and small + big < 4):
                continue
            if balance != (0, 1, 1, 2, 0)[option]:
                continue
            cost = states[i, 1]
            if option == 4:
                cost += costs[FOUR_KINGS, 13]
            else:
                if small and not option & 1:
                    cost += costs[small, 13]
                if big and not option & 2:
                    cost += costs[big, 14]
            if cost < best:
                best, at, choice = cost, i, option
    return best, _trace(naturals, states, at, choice, groups)


@kernel(nogil=True)
def write_group(groups: Ints, m: Int, kind: Int, rank: Int, size: Int) -> None:
    # Assigning a tuple to a row takes numba two seconds longer to compile.
    groups[m, 0], groups[m, 1], groups[m, 2] = kind, rank, size


@kernel(nogil=True)
def _trace(naturals: Ints, states: Ints, at: Int, choice: Int, groups: Ints) -> int:
    """Write the groups of the best split from its last state back; return how many."""
    m = 0
    if choice == 4:
        write_group(groups, m, FOUR_KINGS, 13, 4)
        m += 1
    else:
        for joker in range(2):
            held = naturals[13 + joker]
            if held and not choice >> joker & 1:
                write_group(groups, m, held, 13 + joker, held)
                m += 1
    for r in range(12, -2, -1):
        key, before, move = states[at, 0], states[at, 2], states[at, 3]
        rank = r if r >= 0 else 12
        for kind, number, size in (
            (STRAIGHT, move & 3, 5),
            (THREE_PAIR, move >> 2 & 3, 6),
            (TWO_TRIPS, move >> 4 & 3, 6),
            (THREE_WITH_TWO, move >> 8 & 7, 5),
        ):
            for _ in range(number):
                write_group(groups, m, kind, rank, size)
                m += 1
        if r >= 0 and move >> 14 & 1:
            need = (states[before, 0] & 15) + (move & 3) + 2 * (move >> 2 & 3) + 3 * (move >> 4 & 3)
            left = naturals[r] + (move >> 6 & 3) - need - (key >> 24 if r == 12 else 0)
            if left:
                write_group(groups, m, left if left <= TRIPS else BOMB, r, left)
                m += 1
        at = before
    return m


@kernel(nogil=True)
def split_hand(lo: int, hi: int, level: Int, costs: Ints, room: SplitRoom, groups: Ints) -> tuple[Int, Int]:
    """Return (cost, number of groups) of the cheapest split of a packed hand; write them to `groups`.

    costs: [COST_ROWS, 15], of the level. groups: [32, 3], (type, rank, cards) of each.
    Suits do not matter to a split: moves of one decision leave the same counts, and often those of the next
    do. Two in five are known to the room.
    """
    _, _, hand, known, splits = room
    open_hand(lo, hi, level, hand)
    wild = hand[WILD]
    key = wild
    for r in range(15):
        key = key << 4 | hand[HELD + r]
    at = ((key ^ level << 60) * SCATTER >> 40) & (len(known) - 1)
    if known[at, 0] == key and known[at, 1] == level:
        m = known[at, 3]
        for g in range(m):
            packed = splits[at, g]
            write_group(groups, g, packed & 15, packed >> 4 & 15, packed >> 8)
        return known[at, 2], m
    cost, m = _search(wild, level, costs, room, groups)
    known[at, 0], known[at, 1], known[at, 2], known[at, 3] = key, level, cost, m
    for g in range(m):
        splits[at, g] = groups[g, 0] | groups[g, 1] << 4 | groups[g, 2] << 8
    return cost, m


@kernel(nogil=True)
def _all_costs(hands: Ints, levels: Ints, costs: Ints, room: SplitRoom, out: Ints) -> None:
    groups = np.empty((32, 3), np.int64)
    for i in range(len(hands)):
        out[i], _ = split_hand(hands[i, 0], hands[i, 1], levels[i], costs[levels[i]], room, groups)


def min_combinations(hands: ArrayLike, levels: ArrayLike) -> NDArray[np.float64]:
    """Return the least number of moves that play each hand out, [n] float64, whole.

    hands: [n, 2] uint64, packed. levels: rank code 0..12, one for all or [n].
    """
    hands = np.ascontiguousarray(np.atleast_2d(np.asarray(hands, np.uint64)))
    if hands.ndim != 2 or hands.shape[1] != 2:
        raise ValueError(f"min_combinations: hands are packed, [n, 2] uint64; got shape {hands.shape}")
    levels = np.ascontiguousarray(np.broadcast_to(np.asarray(levels, np.int64), len(hands)))
    if levels.size and not 0 <= levels.min() <= levels.max() < NUM_RANKS:
        raise ValueError(
            f"min_combinations: a level is a rank code 0..12; got {levels.min()}..{levels.max()}"
        )
    out = np.empty(len(hands), np.int64)
    _all_costs(hands.view(np.int64), levels, UNIT_COSTS, split_room(1), out)
    return out / UNIT
