"""Multisets of ranks as one number: suits decide nothing in DouDiZhu, so a hand is 15 counts.

A multiset is packed into 60 bits, four a rank, the lowest rank 3 in the lowest bits: sum and difference of
multisets are integer + and -. Cards are written as the field writes them, one letter a card: `3456789TJQKA2`
and the jokers B (black) and R (red).
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import ArrayLike, NDArray

from games.game import GameError

RANK_LETTERS = "3456789TJQKA2BR"
"""Name of each rank, weakest first."""
NUM_PLAIN = 13
NUM_RANKS = 15
BLACK, RED = 13, 14
"""Ranks of the two jokers."""
DECK_COPIES = np.array([4] * NUM_PLAIN + [1, 1], np.uint8)
"""[15] cards of each rank in the deck of 54."""

_SHIFT = 4 * np.arange(NUM_RANKS, dtype=np.uint64)
_OTHER_NAMES = {"BJ": "B", "RJ": "R", "10": "T"}


def count_ranks(packed: ArrayLike) -> NDArray[np.uint8]:
    """Return packed multisets [...] uint64 as counts, [..., 15] uint8."""
    words = np.asarray(packed, np.uint64)
    return (words[..., None] >> _SHIFT & np.uint64(15)).astype(np.uint8)


def cards_text(packed: int | np.uint64) -> str:
    """Return a packed multiset in letters, weakest first: `3344R`; nothing for no cards."""
    return "".join(RANK_LETTERS[r] * (int(packed) >> 4 * r & 15) for r in range(NUM_RANKS))


def read_multiset(text: str) -> int:
    """Return the packed multiset that letters spell, in any order and case, with or without spaces.

    "10" reads as T, BJ and RJ as the jokers. Raises GameError at an unknown card or one too many of a rank.
    """
    found = 0
    for name in re.findall(r"10|BJ|RJ|\S", re.sub(r"[\s,]+", "", text).upper()):
        rank = RANK_LETTERS.find(_OTHER_NAMES.get(name, name))
        if rank < 0:
            raise GameError(
                f"doudizhu: a card must be one of {' '.join(RANK_LETTERS)}; got {name!r} in {text!r}"
            )
        found += 1 << 4 * rank
        if found >> 4 * rank & 15 > DECK_COPIES[rank]:
            raise GameError(
                f"doudizhu: the deck holds {DECK_COPIES[rank]} of {RANK_LETTERS[rank]}; got more in {text!r}"
            )
    return found
