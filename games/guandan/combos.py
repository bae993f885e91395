"""The order of combinations: which action beats which, at each level.

Every action has a strength, a uint16 whose high byte is its class and whose low byte its place in the class.
Ordinary types are classes that only meet themselves; the bombs' classes lie above them and rise: bombs of
4, of 5, straight flush, bombs of 6 to 10, joker bomb. A level counts at its natural rank in sequences
(straight, straight flush, tube, plate; A-low the lowest) and between A and the jokers everywhere else.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from games.game import GameError
from games.guandan.cards import (
    BOMB,
    FOUR_KINGS,
    NUM_RANKS,
    STRAIGHT,
    STRAIGHT_FLUSH,
    THREE_PAIR,
    TWO_TRIPS,
    level_order,
)
from games.support.array_types import Int, Ints, Rows
from games.support.kernel import kernel

BOMB_CLASS = 16
"""Strength >> 8 of the weakest bomb; every class from here on beats every type below it."""

ORDER = np.stack([level_order(level) for level in range(NUM_RANKS)]).astype(np.int64)
"""[13 levels, 15 rank codes] int64, place in the level-aware order."""

# class of each (type, size): ordinary types their own code, bombs by size, straight flush between 5 and 6
COMBO_CLASS = np.zeros((16, 16), np.int64)
for _type in range(BOMB):
    COMBO_CLASS[_type] = _type
for _size in range(4, 11):
    COMBO_CLASS[BOMB, _size] = BOMB_CLASS + _size - 4 + (_size > 5)
COMBO_CLASS[STRAIGHT_FLUSH] = BOMB_CLASS + 2
COMBO_CLASS[FOUR_KINGS] = BOMB_CLASS + 8


@kernel
def combo_strength(kind: int, rank: int, size: int, level: Int) -> int:
    """Return the strength of one action; 0 for PASS."""
    if kind in (STRAIGHT, STRAIGHT_FLUSH, THREE_PAIR, TWO_TRIPS):
        place = (rank + 1) % NUM_RANKS
    else:
        place = ORDER[level, rank]
    strong: int = COMBO_CLASS[kind, size] << 8 | place if kind else 0
    return strong


@kernel
def _strengths(kinds: Ints, ranks: Ints, sizes: Ints, levels: Ints, out: NDArray[np.uint16]) -> None:
    for i in range(len(kinds)):
        out[i] = combo_strength(kinds[i], ranks[i], sizes[i], levels[i])


def strength(actions: Rows, levels: ArrayLike) -> NDArray[np.uint16]:
    """Return how strong each action is, [m] uint16; 0 for PASS.

    actions: [m] ACTION. levels: rank code 0..12 of the round, one for all or [m].
    Two strengths compare only within a class (`>> 8`) or if the greater one is a bomb: see `beats`.
    Raises GameError at a type, rank or level that does not exist.
    """
    actions = np.atleast_1d(actions)
    # copies, since a read-only view would make numba compile once more
    levels = np.array(np.broadcast_to(np.asarray(levels), actions.shape), np.int64)
    for name, values, top in (("type", actions["type"], FOUR_KINGS), ("rank", actions["rank"], 14)):
        if values.size and values.max() > top:
            raise GameError(f"guandan: the {name} of an action lies in 0..{top}; got {values.max()}")
    if levels.size and not 0 <= levels.min() <= levels.max() < NUM_RANKS:
        raise GameError(f"guandan: a level is a rank code 0..12; got {levels.min()}..{levels.max()}")
    out = np.empty(len(actions), np.uint16)
    kinds, ranks, sizes = (actions[name].astype(np.int64) for name in ("type", "rank", "size"))
    _strengths(kinds, ranks, np.minimum(sizes, 15), levels, out)
    return out


def beats(a: Rows, b: Rows, levels: ArrayLike) -> NDArray[np.bool_]:
    """Return whether each action of `a` may be played on that of `b`, [m] bool.

    a, b: [m] ACTION (either may be a single one). A PASS beats nothing; anything else beats a PASS, which
    stands for "nothing to beat". Same type and higher, or a bomb on any type, or a higher bomb.
    """
    a, b = np.broadcast_arrays(np.atleast_1d(a), np.atleast_1d(b))
    x, y = strength(a, levels), strength(b, levels)
    may: NDArray[np.bool_] = (x > y) & ((x >> 8 == y >> 8) | (x >> 8 >= BOMB_CLASS) | (y == 0))
    return may
