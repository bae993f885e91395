"""What seats were seen to do in a round, in words: the bits of a state's `acts`, printed and parsed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.game import GameError
from games.guandan.cards import RANKS, TYPE_NAMES
from games.guandan.combos import combo_strength
from games.guandan.rounds.state import ACT_KINDS, ACT_PLACES, ACT_TYPES, ACTS_SEEN

__all__ = ["act_bits", "acts_of_bits", "acts_text", "parse_acts"]


def act_bits(acts: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Return the bits of packed acts, [..., ACTS_SEEN] uint8 of 0 and 1; acts: [..., ACTS_SEEN // 64]."""
    packed = np.ascontiguousarray(acts, "<u8").view(np.uint8)
    return np.unpackbits(packed, axis=-1, bitorder="little")


def acts_of_bits(bits: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return the acts whose bits these are: the inverse of `act_bits`."""
    packed: NDArray[np.uint64] = np.packbits(bits, axis=-1, bitorder="little").view("<u8")
    return packed


def _places(level: int) -> dict[tuple[int, int], str]:
    """Return "Type rank" by (type code less one, place); of several ranks at a place the first."""
    found: dict[tuple[int, int], str] = {}
    for kind in range(1, ACT_TYPES + 1):
        for rank in range(len(RANKS)):
            place = combo_strength(kind, rank, 4, level) & 255
            found.setdefault((kind - 1, place), f"{TYPE_NAMES[kind]} {RANKS[rank]}")
    return found


def acts_text(acts: NDArray[np.uint64], level: int) -> list[dict[str, list[str]]]:
    """Return what each seat was seen to do, by kind, such as `{"passed": ["Single K"]}`.

    acts: [4, ACTS_SEEN // 64] of one state; level: rank code of its level.
    """
    names = _places(level)
    bits = act_bits(acts).reshape(4, len(ACT_KINDS), ACT_TYPES, ACT_PLACES)
    return [
        {
            kind: [names[(int(t), int(place))] for t, place in np.argwhere(done)]
            for kind, done in zip(ACT_KINDS, seat, strict=True)
            if done.any()
        }
        for seat in bits
    ]


def parse_acts(texts: Any, level: int) -> NDArray[np.uint64]:
    """Return the acts that `acts_text` describes, [4, ACTS_SEEN // 64] uint64.

    Raises GameError at anything else.
    """
    at = {name: key for key, name in _places(level).items()}
    bits = np.zeros((4, len(ACT_KINDS), ACT_TYPES, ACT_PLACES), np.uint8)
    if not isinstance(texts, list) or len(texts) != 4 or not all(isinstance(seat, dict) for seat in texts):
        raise GameError(f"guandan: acts must list what each of the four seats did; got {str(texts)[:60]}")
    for s, seat in enumerate(texts):
        for kind, done in seat.items():
            if kind not in ACT_KINDS or not isinstance(done, list):
                raise GameError(f"guandan: acts are lists under {', '.join(ACT_KINDS)}; got {kind!r}")
            for name in done:
                if name not in at:
                    raise GameError(f"guandan: an act is a type and a rank, such as 'Pair 9'; got {name!r}")
                bits[s, ACT_KINDS.index(kind), *at[name]] = 1
    return acts_of_bits(bits.reshape(4, ACTS_SEEN))
