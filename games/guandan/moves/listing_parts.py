"""What the full list and the canonical one share: the question asked, and the order of the bombs.

These kernels are compiled into their callers. A listing kernel among their arguments is then called directly,
as if its name stood there.
"""

from __future__ import annotations

from collections.abc import Callable

from games.guandan.cards import BOMB, FOUR_KINGS, PASS, STRAIGHT_FLUSH
from games.guandan.combos import BOMB_CLASS, COMBO_CLASS, ORDER, combo_strength
from games.guandan.moves.packed import AT_LEVEL, HELD, RANK_HI, WILD, pack_head
from games.support.array_types import Ints
from games.support.kernel import kernel

__all__ = ["list_bombs", "list_pass", "question"]


@kernel
def question(hand: Ints, beat: int) -> tuple[int, int, int, int]:
    """Return what a hand is asked for: type to follow, the place and the start to surpass, a bomb's strength.

    beat: first word of the action to beat, 0 when leading. type: PASS when leading. place: in the level-aware
    order, -1 when leading. start: the first place that a sequence may start at. strength: the one that bombs
    must surpass, 0 if every bomb will do.
    """
    level = hand[AT_LEVEL]
    kind, rank, size = beat & 255, beat >> 8 & 255, beat >> 16 & 255
    above = combo_strength(kind, rank, size, level)
    place: int = -1 if kind == PASS else ORDER[level, rank]
    first = 0 if kind == PASS else (rank + 1) % 13 + 1
    return kind, place, first, above if above >> 8 >= BOMB_CLASS else 0


@kernel
def list_pass(kind: int, out: Ints, m: int) -> int:
    """Write a PASS at row m unless the hand leads; return the row after it."""
    if kind != PASS:
        out[m, 0] = pack_head(PASS, 0, 0)
        out[m, 1] = 0
        out[m, 2] = 0
        m += 1
    return m


@kernel(inline="always")
def list_bombs(
    groups: Callable[[int, int, Ints, int, Ints, int], int],
    straight_flushes: Callable[[Ints, int, Ints, int], int],
    hand: Ints,
    above: int,
    out: Ints,
    m: int,
) -> int:
    """Write the bombs of every kind whose strength is greater than `above`; return the row after the last.

    groups: lists bombs of one size. straight_flushes: lists them from one place of a sequence on.
    """
    wild = hand[WILD]
    top, place = above >> 8, above & 255
    flush = COMBO_CLASS[STRAIGHT_FLUSH, 5]
    most = 0
    for r in range(13):
        most = max(most, hand[HELD + r])
    for size in range(4, max(5, most + wild) + 1):
        rating = COMBO_CLASS[BOMB, size]
        if top <= rating and size <= most + wild:
            m = groups(BOMB, size, hand, place if top == rating else -1, out, m)
        if size == 5 and top <= flush:
            m = straight_flushes(hand, place + 1 if top == flush else 0, out, m)
    if hand[13] == 2 and hand[14] == 2 and top < COMBO_CLASS[FOUR_KINGS, 4]:
        out[m, 0] = pack_head(FOUR_KINGS, 13, 4)
        out[m, 1] = 0
        out[m, 2] = 2 * (RANK_HI[13] + RANK_HI[14])
        m += 1
    return m
