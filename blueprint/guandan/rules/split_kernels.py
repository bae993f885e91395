"""Kernels of the agents that split their hand: a straight flush kept whole, and the choice of a move."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.hands import BITS5, natural_ranks, rank_lanes
from blueprint.guandan.network.input_kernels import DECK_HI, DECK_LO, higher_unseen, rank_place
from blueprint.guandan.rules.min_combination import BOMBS, UNIT, SplitRoom, split_hand, write_group
from games.guandan.cards import BOMB, PASS, SINGLE, STRAIGHT_FLUSH
from games.guandan.rounds.state import BEAT, HAND, LEADER, LEFT, LEVEL, PLAYED
from games.support.array_types import Bytes, Int, Ints
from games.support.kernel import kernel

__all__ = ["MIN_COMBINATION", "PERSONALITY", "STRONG", "choose_by_split"]

MIN_COMBINATION, PERSONALITY, STRONG = 0, 1, 2


@kernel(nogil=True)
def _split_with_flush(
    lo: Int, hi: Int, level: Int, costs: Ints, room: SplitRoom, groups: Ints
) -> tuple[Int, Int]:
    """Return (cost, groups) of the cheapest split in which at most one straight flush is kept whole."""
    ranks, spare = np.empty(15, np.int64), np.empty((32, 3), np.int64)
    best, m = split_hand(lo, hi, level, costs, room, groups)
    wild = natural_ranks(lo, hi, level, ranks)
    lanes = rank_lanes(ranks)
    for start in range(10):
        for suit in range(4):
            held = lanes >> 16 * suit + start & 31
            lack = 5 - BITS5[held]
            if lack > wild:
                continue
            rest_lo, rest_hi = lo, hi
            for j in range(5):
                r = (start + 12 + j) % 13
                card = 4 * r + suit if held >> j & 1 else 4 * level
                if card < 28:
                    rest_lo -= np.int64(1) << 2 * card
                else:
                    rest_hi -= np.int64(1) << 2 * (card - 28)
            rank = (start + 12) % 13
            cost, k = split_hand(rest_lo, rest_hi, level, costs, room, spare)
            cost += costs[STRAIGHT_FLUSH, rank]
            if cost < best:
                best, m = cost, k + 1
                for j in range(k):
                    write_group(groups, j, spare[j, 0], spare[j, 1], spare[j, 2])
                write_group(groups, k, STRAIGHT_FLUSH, rank, 5)
    return best, m


@kernel(nogil=True)
def choose_by_split(
    words: Ints,
    bytes_: Bytes,
    rows: Ints,
    seats: Ints,
    offsets: Ints,
    moves: Ints,
    costs: Ints,
    kind_of_agent: Int,
    values: NDArray[np.float64],
    parameters: NDArray[np.float64],
    room: SplitRoom,
    choice: Ints,
) -> None:
    groups, spare = np.empty((32, 3), np.int64), np.empty((32, 3), np.int64)
    for j in range(len(rows)):
        i, p = rows[j], seats[j]
        level = np.int64(bytes_[i, LEVEL])
        lo, hi = words[i, HAND + 2 * p], words[i, HAND + 2 * p + 1]
        unseen_lo, unseen_hi = DECK_LO - lo, DECK_HI - hi
        for seat in range(4):
            unseen_lo -= words[i, PLAYED + 2 * seat]
            unseen_hi -= words[i, PLAYED + 2 * seat + 1]
        beat = words[i, BEAT] & 0xFFFFFF
        lead = beat & 255 == PASS
        mates = not lead and bytes_[i, LEADER] == (p + 2) % 4
        own = np.int64(bytes_[i, LEFT + p])
        mate = np.int64(bytes_[i, LEFT + (p + 2) % 4])
        next_left, last_left = (
            np.int64(bytes_[i, LEFT + (p + 1) % 4]),
            np.int64(bytes_[i, LEFT + (p + 3) % 4]),
        )
        foe = min(next_left if next_left else 99, last_left if last_left else 99)
        prices = costs[level]
        before, m = _split_with_flush(lo, hi, level, prices, room, groups)
        # groups that nothing unseen beats but bombs; bombs among them
        sure = 0
        for g in range(m):
            kind = groups[g, 0]
            place = rank_place(kind, groups[g, 1], level)
            if kind >= STRAIGHT_FLUSH or higher_unseen(kind, place, level, unseen_lo, unseen_hi) == 0:
                sure += 1
        best, best_score, best_after = offsets[j], -1e18, 0.0
        for k in range(offsets[j], offsets[j + 1]):
            head = moves[k, 0]
            kind, rank, size = head & 255, head >> 8 & 255, head >> 16 & 255
            if kind == PASS:
                score = 0.0
                if kind_of_agent == PERSONALITY:
                    score = -1e9
                if score > best_score:
                    best, best_score = k, score
                continue
            goes_out = size == own
            in_split = False
            for g in range(m):
                if groups[g, 0] == kind and groups[g, 1] == rank and groups[g, 2] == size:
                    in_split = True
            # a lead comes from the split; a straight of one suit goes out as a straight flush
            free = not (lead or kind_of_agent == PERSONALITY) or (lead and kind == STRAIGHT_FLUSH)
            if not (goes_out or in_split or free):
                continue
            after = 0.0
            if not goes_out:
                cost, _ = split_hand(lo - moves[k, 1], hi - moves[k, 2], level, prices, room, spare)
                after = cost / UNIT
            gain = before / UNIT - after
            place = rank_place(kind, rank, level)
            bomb = kind >= STRAIGHT_FLUSH
            higher = higher_unseen(kind, place, level, unseen_lo, unseen_hi)
            if goes_out:
                score = 1e6
            elif kind_of_agent == MIN_COMBINATION:
                if lead:
                    score = 100 * gain - place + size - (50 if bomb else 0)
                elif mates:
                    score = -1.0
                else:
                    score = gain - 0.5 - 0.001 * place
                    if bomb and after > 3:
                        score = -1.0
            elif kind_of_agent == PERSONALITY:
                # values [2 free or restricted, 11 types]; the table holds minus the base value of each group
                base = -prices[kind if kind != BOMB else BOMBS + size, rank] / UNIT
                score = base + values[0 if lead else 1, kind] - 0.001 * place - 0.05 * (before / UNIT - after)
                if lead and kind == SINGLE:
                    score += (1.0 if mate == 1 else 0.0) - (1.0 if foe == 1 else 0.0)
                if not lead and (mates or (bomb and base + values[1, kind] < 0)):
                    score = -1e10
            else:
                score = _strong_score(
                    parameters, lead, mates, kind, size, place, gain, after, higher, bomb, own, mate, foe,
                    next_left, m, sure, beat, level, unseen_lo, unseen_hi,
                )  # fmt: skip
            if score > best_score or (score == best_score and after < best_after):
                best, best_score, best_after = k, score, after
        choice[j] = best - offsets[j]


@kernel(nogil=True)
def _strong_score(
    q: NDArray[np.float64],
    lead: bool,
    mates: bool,
    kind: Int,
    size: Int,
    place: Int,
    gain: float,
    after: float,
    higher: Int,
    bomb: bool,
    own: Int,
    mate: Int,
    foe: Int,
    next_left: Int,
    groups: Int,
    sure: Int,
    beat: Int,
    level: Int,
    unseen_lo: Int,
    unseen_hi: Int,
) -> float:
    """Score of a move for the strong agent, PASS being zero; q: StrongParameters as an array."""
    win = 1.0 / (1.0 + q[0] * higher) if not bomb else 0.95
    danger = 1.0 / (1.0 + foe / q[1])
    turn = q[2] + q[3] * danger + q[4] * max(0.0, 2.0 - after)
    if lead:
        score: float = gain + turn * win + q[5] * size
        if size == foe and not bomb:
            score -= q[6] * (1.0 - win)
        if kind == SINGLE and foe == 1:
            score -= q[7] * (1.0 - win)
        if size == mate and mate <= 2 and not bomb:
            score += q[8] * (1.0 - win)
        if bomb:
            score -= q[9]
        if groups - sure <= 1:
            # all but one group hold the lead: play those first
            score += 20.0 * (1.0 if bomb or higher == 0 else 0.0) + (0.5 if not bomb else 0.0)
        return score
    if mates:
        leads = beat & 255
        theirs = rank_place(leads, beat >> 8 & 255, level)
        held = 1.0 / (1.0 + q[0] * higher_unseen(leads, theirs, level, unseen_lo, unseen_hi))
        score = gain - q[10] - q[11] * held + q[12] * max(0.0, 2.0 - after) * win
        if bomb or mate <= 2:
            score -= q[13]
        if groups - sure <= 1 and (bomb or higher == 0) and after < 1.5:
            score += q[14]
        return score
    score = gain - q[15] + turn * win
    if bomb:
        score += q[16] * danger - q[17]
        if groups - sure <= 1:
            score += q[18]
    return score
