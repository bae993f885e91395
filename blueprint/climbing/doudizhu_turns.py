"""The minimum combination of a hand of DouDiZhu: about how few turns shed it, nobody else playing.

Turns are counted over the choices of the hand's chains, with the rest taken by rank and trios carrying solos
or pairs. Source of the idea: Luo & Tan 2024, section 4.1 and algorithm 5; the count is ours.
"""

from __future__ import annotations

import numpy as np

from games.support.array_types import Ints
from games.support.kernel import kernel

TURN_ROOM = (512, 4)
"""Shape of the room that `doudizhu_turns` works in, int64."""


@kernel
def _turns_by_rank(hand: int, carriers: int) -> int:
    """Return the turns of a hand without chains; `carriers` trios were played before and may carry cards."""
    turns = kickers = 0
    for rank in range(13):
        copies = hand >> 4 * rank & 15
        if copies:
            turns += 1
            if copies == 3:
                carriers += 1
            elif copies < 3:
                kickers += 1
    jokers = hand >> 52
    if jokers:
        turns += 1
        if jokers != 0x11:
            kickers += 1
    return turns - min(carriers, kickers)


@kernel(nogil=True)
def doudizhu_turns(hand: int, stack: Ints) -> int:
    """Return the fewest turns of a hand over all choices of its chains. stack: [512, 4] to work in.

    Chains are taken in the order of their numbers, so that no choice is met twice. A chain has five cards or
    more, so that a hand of 20 has four at most and the stack never fills.
    """
    best = 64
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = hand, 0, 0, 0
    top = 1
    while top:
        top -= 1
        rest, after, carriers, turns = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
        best = min(best, turns + _turns_by_rank(rest, carriers))
        if turns + 1 >= best:
            continue
        for number in range(after, 36):
            copies = 3 - number // 12
            shortest = 5 if copies == 1 else 5 - copies
            chain, first = 0, number % 12
            for rank in range(first, 12):
                if rest >> 4 * rank & 15 < copies:
                    break
                chain += copies << 4 * rank
                links = rank - first + 1
                if links >= shortest:
                    stack[top, 0], stack[top, 1] = rest - chain, number
                    stack[top, 2] = carriers + links if copies == 3 else carriers
                    stack[top, 3] = turns + 1
                    top += 1
    return best


def turns_to_shed(hand: int) -> int:
    """Return about how many turns a packed hand takes to shed, nobody else playing."""
    return int(doudizhu_turns(int(hand), np.empty(TURN_ROOM, np.int64)))
