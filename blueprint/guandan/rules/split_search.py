"""The search behind `min_combination`: the cheapest split of a hand, in kernels that share their room.

A dynamic programme walks the ranks in sequence order (low ace, 2..A). Its state is what sequences under way
take from the next four ranks, wild cards spent, and the balance of full houses (trips that still want a pair,
or pairs promised to one). The rest of each rank goes out as one group or in full houses. Suits do not matter:
five natural cards of one suit go out as one move under either name.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.hands import card_counts
from blueprint.guandan.rules.fewest_moves import lacking
from games.guandan.cards import (
    BOMB,
    FOUR_KINGS,
    PAIR,
    SINGLE,
    STRAIGHT,
    THREE_PAIR,
    THREE_WITH_TWO,
    TRIPS,
    TWO_TRIPS,
)
from games.support.array_types import Int, Ints
from games.support.kernel import kernel

__all__ = ["UNIT", "memory", "split_again", "split_hand", "workspace", "write_group"]

UNIT = 1000
"""One move, in the kernel's integer costs."""
TABLE = 1 << 13
STATES = 1 << 16
INFINITE = 1 << 40
KNOWN = 1 << 16
"""Splits remembered."""
SCATTER = 0x9E3779B97F4A7C15 - (1 << 64)


@kernel(nogil=True)
def _push(
    key: Int,
    cost: Int,
    parent: Int,
    move: Int,
    keys: Ints,
    costs: Ints,
    parents: Ints,
    moves: Ints,
    end: Int,
    begin: Int,
    slots: Ints,
) -> Int:
    """Add a state to the stage that starts at `begin`, or better it; return the new end."""
    h = (key * 0x9E3779B1 >> 7) & (TABLE - 1)
    while True:
        at = slots[h]
        if at < begin:
            if end >= len(keys):
                return end
            slots[h] = end
            keys[end] = key
            costs[end] = cost
            parents[end] = parent
            moves[end] = move
            return end + 1
        if keys[at] == key:
            if cost < costs[at]:
                costs[at] = cost
                parents[at] = parent
                moves[at] = move
            return end
        h = (h + 1) & (TABLE - 1)


@kernel(nogil=True)
def _search(
    naturals: Ints,
    wild: Int,
    level: Int,
    table: Ints,
    bombs: Ints,
    keys: Ints,
    costs: Ints,
    parents: Ints,
    moves: Ints,
    slots: Ints,
    groups: Ints,
) -> tuple[Int, int]:
    """Return (cost, number of groups) of the cheapest split; groups: [.., 3] (type, rank, cards).

    naturals: [15] natural cards by rank code. A key packs, from the low bits: cards that sequences under way
    take from each of the next four ranks (4 bits each), wild cards spent (2), full-house balance + 16 (6),
    aces spent low (4). A move packs straights, tubes, plates begun (2 each), wild cards (2), trips for full
    houses (3), pairs for full houses (3), one group of the rest (1).
    """
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
                    cost = ns * table[STRAIGHT, 12] + nt * table[THREE_PAIR, 12] + np_ * table[TWO_TRIPS, 12]
                    owed = need | ns + 2 * nt << 4 | ns << 8 | ns << 12
                    if y + lacking(naturals, owed, 0, used) > wild:
                        continue
                    key = owed | y << 16 | 16 << 18 | used << 24
                    move = ns | nt << 2 | np_ << 4 | y << 6
                    end = _push(key, cost, -1, move, keys, costs, parents, moves, end, 0, slots)
    rest = wild + naturals[13] + naturals[14]
    for r in range(13):
        rest += naturals[r]
    for r in range(13):
        rest -= naturals[r]
        last = end
        for i in range(begin, last):
            key, cost = keys[i], costs[i]
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
                        lack = lacking(naturals, owed, r + 1, low)
                        if max(0, need - n) + lack > wild - spent:
                            break
                        begun = (
                            cost
                            + ns * table[STRAIGHT, r]
                            + nt * table[THREE_PAIR, r]
                            + np_ * table[TWO_TRIPS, r]
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
                            if left == 1:
                                total += table[SINGLE, r]
                            elif left == 2:
                                total += table[PAIR, r]
                            elif left == 3:
                                total += table[TRIPS, r]
                            elif left:
                                total += bombs[left, r]
                            end = _push(
                                base | balance + 16 << 18,
                                total,
                                i,
                                move | 1 << 14,
                                keys,
                                costs,
                                parents,
                                moves,
                                end,
                                last,
                                slots,
                            )
                            # as parts of full houses
                            for trips in range(left // 3 + 1):
                                pairs = (left - 3 * trips) // 2
                                if left == 0 or 3 * trips + 2 * pairs != left or trips + pairs > many:
                                    continue
                                b = balance + trips - pairs
                                if 3 * -b > rest + wild or 2 * b > rest + wild:
                                    continue
                                end = _push(
                                    base | b + 16 << 18,
                                    begun + trips * table[THREE_WITH_TWO, r],
                                    i,
                                    move | trips << 8 | pairs << 11,
                                    keys,
                                    costs,
                                    parents,
                                    moves,
                                    end,
                                    last,
                                    slots,
                                )
        begin = last
    # jokers, and the ends that hold together
    best, at, choice = INFINITE, -1, 0
    small, big = naturals[13], naturals[14]
    for i in range(begin, end):
        key = keys[i]
        if key >> 16 & 3 != wild:
            continue
        balance = (key >> 18 & 63) - 16
        for option in range(5):
            # 0 apart; 1, 2 the small, the big pair into a full house; 3 both; 4 the joker bomb
            if (option & 1 and small < 2) or (option & 2 and big < 2) or (option == 4 and small + big < 4):
                continue
            if balance != (0, 1, 1, 2, 0)[option]:
                continue
            cost = costs[i]
            if option == 4:
                cost += table[FOUR_KINGS, 13]
            else:
                if small and not option & 1:
                    cost += table[SINGLE if small == 1 else PAIR, 13]
                if big and not option & 2:
                    cost += table[SINGLE if big == 1 else PAIR, 14]
            if cost < best:
                best, at, choice = cost, i, option
    m = _trace(naturals, at, choice, keys, parents, moves, groups)
    return best, m


@kernel(nogil=True)
def write_group(groups: Ints, m: Int, kind: Int, rank: Int, size: Int) -> None:
    # Assigning a tuple to a row takes numba two seconds longer to compile.
    groups[m, 0], groups[m, 1], groups[m, 2] = kind, rank, size


@kernel(nogil=True)
def _trace(naturals: Ints, at: Int, choice: Int, keys: Ints, parents: Ints, moves: Ints, groups: Ints) -> int:
    """Write the groups of the best split from its last state back; return how many."""
    m = 0
    fed_small, fed_big = choice == 1 or choice == 3, choice == 2 or choice == 3
    if choice == 4:
        write_group(groups, m, FOUR_KINGS, 13, 4)
        m += 1
    else:
        if naturals[13] and not fed_small:
            write_group(groups, m, SINGLE if naturals[13] == 1 else PAIR, 13, naturals[13])
            m += 1
        if naturals[14] and not fed_big:
            write_group(groups, m, SINGLE if naturals[14] == 1 else PAIR, 14, naturals[14])
            m += 1
    for r in range(12, -2, -1):
        move, key = moves[at], keys[at]
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
        before = parents[at]
        if r >= 0 and move >> 14 & 1:
            need = (keys[before] & 15) + (move & 3) + 2 * (move >> 2 & 3) + 3 * (move >> 4 & 3)
            left = naturals[r] + (move >> 6 & 3) - need - (key >> 24 if r == 12 else 0)
            if left:
                kind = SINGLE if left == 1 else PAIR if left == 2 else TRIPS if left == 3 else BOMB
                write_group(groups, m, kind, r, left)
                m += 1
        at = before
    return m


@kernel(nogil=True)
def split_hand(
    lo: Int,
    hi: Int,
    level: Int,
    table: Ints,
    bombs: Ints,
    work: Ints,
    slots: Ints,
    naturals: Ints,
    groups: Ints,
) -> tuple[Int, int]:
    """Return (cost, groups) of a packed hand; work: [4, STATES] int64, slots: [TABLE] int64."""
    wild = card_counts(lo, hi, level, naturals)
    return _search(naturals, wild, level, table, bombs, work[0], work[1], work[2], work[3], slots, groups)


@kernel(nogil=True)
def split_again(
    lo: Int,
    hi: Int,
    level: Int,
    table: Ints,
    bombs: Ints,
    work: Ints,
    slots: Ints,
    naturals: Ints,
    groups: Ints,
    known: Ints,
    splits: NDArray[np.int16],
) -> tuple[Int, Int]:
    """Return what `split_hand` does, from `memory` where the same counts were split lately.

    Suits do not matter to a split: moves of one decision leave the same counts, and often those of the next
    do. Two in five are known.
    """
    wild = card_counts(lo, hi, level, naturals)
    key = wild
    for r in range(15):
        key = key << 4 | naturals[r]
    at = ((key ^ level << 60) * SCATTER >> 40) & (len(known) - 1)
    if known[at, 0] == key and known[at, 1] == level:
        m = known[at, 3]
        for g in range(m):
            packed = splits[at, g]
            write_group(groups, g, packed & 15, packed >> 4 & 15, packed >> 8)
        return known[at, 2], m
    cost, m = _search(naturals, wild, level, table, bombs, work[0], work[1], work[2], work[3], slots, groups)
    known[at, 0], known[at, 1], known[at, 2], known[at, 3] = key, level, cost, m
    for g in range(m):
        splits[at, g] = groups[g, 0] | groups[g, 1] << 4 | groups[g, 2] << 8
    return cost, m


def workspace() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the general search's room for states and its hash table."""
    return np.empty((4, STATES), np.int64), np.empty(TABLE, np.int64)


def memory() -> tuple[NDArray[np.int64], NDArray[np.int16]]:
    """Return room for splits of one table of costs that `split_again` may meet again: none yet.

    [KNOWN, 4] counts, level, cost and number of groups; [KNOWN, 32] the groups. KNOWN is a power of two.
    """
    return np.full((KNOWN, 4), -1, np.int64), np.empty((KNOWN, 32), np.int16)
