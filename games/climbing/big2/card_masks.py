"""Cards and sets of cards as bits of one 64-bit word, their names, and the bit tricks that kernels share.

Card c = 4 * rank + suit is bit c, whatever the size of the deck. Ranks 3, 4, … K, A, 2 are 0..12; suits stand
in the order of their strength, weakest 0. A greater card is thus a greater number, and a rank is four bits.
Bits from 52 on name what chance does: bit `DEAL + s` gives the next card to seat s, and bit `DEAL + 4` leaves
it out of the round.
"""

from __future__ import annotations

import re

import numpy as np

from games.game import GameError
from games.support.kernel import kernel

RANK_NAMES = "3456789TJQKA2"
"""Names of the ranks, weakest first; a smaller deck has the first of them."""
DEAL = 52
"""Bit of the first of chance's outcomes."""
ASIDE = 4
"""The seat, as it were, of cards that are not dealt to anybody."""

_DE_BRUIJN = 0x022F_DD63_CC95_386D
_PLACE = np.zeros(64, np.int64)
for _bit in range(64):
    _PLACE[(_DE_BRUIJN << _bit) % (1 << 64) >> 58] = _bit


@kernel
def lowest_place(mask: int) -> int:
    """Return the place of the lowest bit of a mask, 0..63; the mask is not 0."""
    place: int = _PLACE[((mask & -mask) * _DE_BRUIJN) >> 58 & 63]
    return place


@kernel
def count_cards(mask: int) -> int:
    """Return the number of cards in a mask."""
    x = mask - (mask >> 1 & 0x5555_5555_5555_5555)
    x = (x & 0x3333_3333_3333_3333) + (x >> 2 & 0x3333_3333_3333_3333)
    x = x + (x >> 4) & 0x0F0F_0F0F_0F0F_0F0F
    return (x * 0x0101_0101_0101_0101) >> 56


def card_words(mask: int, suits: str) -> str:
    """Return the cards of a mask in words, weakest first: `D3 C3 S2`.

    suits: the letters of the suits, weakest first.
    """
    words = []
    while mask:
        card = (mask & -mask).bit_length() - 1
        words.append(suits[card & 3] + RANK_NAMES[card >> 2])
        mask &= mask - 1
    return " ".join(words)


def read_cards(text: str, suits: str, deck: int) -> int:
    """Return the mask of the cards that a text names, in any order, with spaces or commas or nothing between.

    suits: the letters of the suits, weakest first. deck: mask of the cards that there are; "10" reads as "T".
    Raises GameError at a name that is no card of the deck, or a card named twice.
    """
    squeezed = re.sub(r"[\s,]+", "", text).upper().replace("10", "T")
    mask = 0
    for at in range(0, len(squeezed), 2):
        name = squeezed[at : at + 2]
        known = len(name) == 2 and name[0] in suits and name[1] in RANK_NAMES
        bit = 1 << 4 * RANK_NAMES.index(name[1]) + suits.index(name[0]) if known else 0
        if not bit & deck:
            raise GameError(
                f"big2: a card must be a suit of {suits} and a rank of {RANK_NAMES} in play; got {name!r}"
            )
        if bit & mask:
            raise GameError(f"big2: a deck holds each card once; got {name} twice; name it once")
        mask |= bit
    return mask
