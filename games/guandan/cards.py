"""Cards, ranks, levels and actions as numbers: the encodings that every other file here shares.

Card index: c = 4 * rank + suit for the 52 plain cards (ranks 2..A = 0..12, suits H, S, C, D = 0..3),
52 the small joker SB, 53 the big joker HR. Two decks: every index exists twice.

A multiset of cards has two forms:
- counts: uint8[54], copies held of each card index, 0..2 (the layout of DanZero, Lu et al. 2023);
- packed: uint64[2] (`lo`, `hi`), two bits a card: cards 0..27 in `lo` at bits 2c, cards 28..53 in `hi` at
  bits 2(c - 28). A rank is one byte. Sum and difference of multisets are integer + and -.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from games.game import GameError
from games.support.array_types import Rows

RANKS = "23456789TJQKABR"
"""Names of rank codes 0..14: 2..A, then the jokers B (small) and R (big)."""
SUITS = "HSCD"
NUM_RANKS = 13
NUM_CARDS = 54
HAND_SIZE = 27
SB, HR = 52, 53
CARD_NAMES = (*(s + r for r in RANKS[:NUM_RANKS] for s in SUITS), "SB", "HR")
"""Name of each card index: "H2", "S2", ..., "DA", "SB", "HR"."""
_CARD_INDEX = {name: c for c, name in enumerate(CARD_NAMES)}
DECK = np.full(NUM_CARDS, 2, np.uint8)
"""The two decks as counts."""

(
    PASS,
    SINGLE,
    PAIR,
    TRIPS,
    THREE_PAIR,
    THREE_WITH_TWO,
    TWO_TRIPS,
    STRAIGHT,
    STRAIGHT_FLUSH,
    BOMB,
    FOUR_KINGS,
) = range(11)
TYPE_NAMES = (
    "PASS",
    "Single",
    "Pair",
    "Trips",
    "ThreePair",
    "ThreeWithTwo",
    "TwoTrips",
    "Straight",
    "StraightFlush",
    "Bomb",
    "FourKings",
)
"""Name of each action type; tube = ThreePair, plate = TwoTrips, full house = ThreeWithTwo."""
NO_ACTION = 255
"""Type of a slot that holds no action at all (no history yet), as opposed to a PASS."""

# the gap is of fields, not of padding: numpy copies no padding, so that equal actions would differ in bytes
ACTION = np.dtype(
    [
        ("type", "u1"),
        ("rank", "u1"),
        ("size", "u1"),
        ("gap", "u1"),
        ("gap4", "<u4"),
        ("lo", "<u8"),
        ("hi", "<u8"),
    ],
    align=True,
)
"""One action: (type, rank, multiset of cards) is its identity.

type: PASS..FOUR_KINGS.
rank: 0..12 for 2..A, 13 SB, 14 HR. A sequence has the rank of its lowest card, 12 (A) meaning A-low; a full
    house has that of its trips; the joker bomb has 13; PASS has 0.
size: number of cards.
lo, hi: the packed cards.
gap, gap4: always 0. They fill 8 bytes, so that an array of actions is also a [m, 3] array of uint64.
"""

_SHIFT = np.concatenate([2 * np.arange(28), 2 * np.arange(26)]).astype(np.uint64)


def pack(counts: ArrayLike) -> NDArray[np.uint64]:
    """Return counts [..., 54] as packed multisets, [..., 2] uint64.

    Raises GameError if a count lies outside 0..2.
    """
    array = np.asarray(counts)
    if array.shape[-1:] != (NUM_CARDS,):
        raise GameError(f"guandan: counts must have {NUM_CARDS} entries on the last axis; got {array.shape}")
    if array.size and (array.min() < 0 or array.max() > 2):
        raise GameError(f"guandan: a card is held 0, 1 or 2 times; got counts {array.min()}..{array.max()}")
    bits = array.astype(np.uint64) << _SHIFT
    return np.stack([bits[..., :28].sum(-1, dtype=np.uint64), bits[..., 28:].sum(-1, dtype=np.uint64)], -1)


def unpack(packed: ArrayLike) -> NDArray[np.uint8]:
    """Return packed multisets [..., 2] uint64 as counts, [..., 54] uint8."""
    words = np.asarray(packed, np.uint64)
    lo = words[..., 0, None] >> _SHIFT[:28]
    hi = words[..., 1, None] >> _SHIFT[28:]
    return (np.concatenate([lo, hi], -1) & np.uint64(3)).astype(np.uint8)


def make_actions(types: ArrayLike, ranks: ArrayLike, counts: ArrayLike) -> Rows:
    """Return actions [m] of dtype ACTION from their types [m], rank codes [m] and counts [m, 54]."""
    counts = np.asarray(counts)
    packed = pack(counts)
    actions = np.zeros(packed.shape[:-1], ACTION)
    actions["type"] = types
    actions["rank"] = ranks
    actions["size"] = counts.sum(-1)
    actions["lo"] = packed[..., 0]
    actions["hi"] = packed[..., 1]
    return actions


def as_level(level: int | str) -> int:
    """Return the level as a rank code 0..12, from a code or a name "2".."A" (a text "10" is "T")."""
    if isinstance(level, str):
        name = "T" if level == "10" else level.upper()
        if len(name) == 1 and name in RANKS[:NUM_RANKS]:
            return RANKS.index(name)
    elif isinstance(level, int | np.integer) and not isinstance(level, bool) and 0 <= level < NUM_RANKS:
        return int(level)
    raise GameError(
        f"guandan: a level must be one of {', '.join(RANKS[:NUM_RANKS])} (or its rank code 0..12); got "
        f"{level!r}"
    )


def wild_card(level: int) -> int:
    """Return the index of the wild card at a level: the heart of the level's rank."""
    return 4 * level


def level_order(level: int) -> NDArray[np.uint8]:
    """Return the place of each rank code in the level-aware order, [15] uint8: weakest 0, big joker 14."""
    order = np.arange(15, dtype=np.uint8)
    order[level + 1 : NUM_RANKS] -= 1
    order[level] = 12
    return order


def parse_cards(text: str | Iterable[str], *, limit: int = HAND_SIZE) -> NDArray[np.uint8]:
    """Return the counts [54] uint8 of the cards named in `text`.

    text: names in any order, with spaces, commas or nothing between them ("H2 SB", "H2SB"), or an iterable
        of names. "10" reads as "T".
    limit: largest number of cards allowed.
    Raises GameError at an unknown card, a third copy of a card, or more than `limit` cards.
    """
    if isinstance(text, str):
        squeezed = re.sub(r"[\s,\[\]'\"]+", "", text).upper().replace("10", "T")
        names: list[str] = [squeezed[i : i + 2] for i in range(0, len(squeezed), 2)]
    else:
        named = text if isinstance(text, Iterable) else [text]
        names = [str(name).strip().upper().replace("10", "T") for name in named]
    counts = np.zeros(NUM_CARDS, np.uint8)
    for name in names:
        card = _CARD_INDEX.get(name)
        if card is None:
            raise GameError(
                f"guandan: a card is a suit of S H C D and a rank of 2..9TJQKA, or SB or HR; got {name!r}"
            )
        counts[card] += 1
        if counts[card] > 2:
            raise GameError(f"guandan: two decks hold two of each card; got {name} a third time")
    if len(names) > limit:
        raise GameError(f"guandan: at most {limit} cards here; got {len(names)}")
    return counts


def hand_text(counts: ArrayLike, level: int = 0) -> str:
    """Return the cards of counts [54] in words, weakest first by the level's order, then S, H, C, D."""
    counts = np.asarray(counts)
    order = level_order(level)
    suit_place = (1, 0, 2, 3)
    cards = sorted(
        np.flatnonzero(counts),
        key=lambda c: (order[c // 4], suit_place[c % 4]) if c < SB else (c - SB + 13, 0),
    )
    return " ".join(CARD_NAMES[c] for c in cards for _ in range(counts[c]))
