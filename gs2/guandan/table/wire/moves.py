"""Moves and hands on the wire: read by type, rank and cards, and written as JSON bytes by a kernel.

A lead with two wild cards has up to some 6,000 moves, 300 KB of JSON. Python's own encoder would hold the
server's event loop for tens of milliseconds over it; the kernel takes a fraction of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.game import GameError
from games.guandan.cards import (
    ACTION,
    CARD_NAMES,
    FOUR_KINGS,
    NUM_CARDS,
    PASS,
    RANKS,
    SINGLE,
    STRAIGHT,
    STRAIGHT_FLUSH,
    THREE_PAIR,
    THREE_WITH_TWO,
    TWO_TRIPS,
    TYPE_NAMES,
    hand_text,
)
from games.guandan.matches.match import Match
from games.guandan.rounds.state import action_words
from games.support.kernel import kernel

# --- read ---

_KINDS = {name: kind for kind, name in enumerate(TYPE_NAMES)}
_RANKS = {name: code for code, name in enumerate(RANKS)}
# a multiset of cards is a sum: 64 bits of `lo`, above them `hi`
_WORDS = {name: 1 << 2 * c if c < 28 else 1 << (2 * (c - 28) + 64) for c, name in enumerate(CARD_NAMES)}
_MASK = (1 << 64) - 1


def read_move(move: Any) -> tuple[int, int, int] | None:
    """Return a move `[type, rank, cards]` as the three words of an ACTION; None if it is not one.

    A tribute or return card reads as a Single. That the cards make the combination is not checked.
    """
    try:
        kind_name, rank_name, cards = move
        if kind_name == "PASS":
            return 0, 0, 0
        if kind_name in ("tribute", "back"):
            kind, rank = SINGLE, _RANKS[cards[0][-1]]
        elif kind_name == "FourKings" or (kind_name == "Bomb" and rank_name == "JOKER"):
            kind, rank = FOUR_KINGS, 13
        else:
            kind, rank = _KINDS[kind_name], _RANKS[rank_name]
        if len(cards) > 10:
            return None
        total = sum([_WORDS[card] for card in cards])
    except (KeyError, TypeError, ValueError, IndexError):
        return None
    return kind | rank << 8 | len(cards) << 16, total & _MASK, total >> 64


def read_moves(listed: list[Any]) -> tuple[NDArray[np.void], list[int]]:
    """Return the moves of a wire list that we can read, [m] ACTION, and the index of each in the list.

    A server's list may hold what no rule knows; such entries are left out rather than fatal.
    """
    rows, places = [], []
    for index, move in enumerate(listed):
        words = read_move(move)
        if words is not None:
            rows.append(words)
            places.append(index)
    table = np.array(rows, np.uint64).reshape(-1, 3)
    return np.ascontiguousarray(table).view(ACTION)[:, 0], places


def find_move(move: Any, choices: NDArray[np.void]) -> int | None:
    """Return the index of a wire move among `choices`, [m] ACTION; None if it is not there."""
    words = read_move(move)
    if words is None:
        return None
    listed = action_words(choices) & (0xFFFFFF, -1, -1)
    found = np.flatnonzero((listed == words).all(1))
    return int(found[0]) if len(found) else None


# --- written ---

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

DIALECTS = ("openguandan", "njupt")
PASS_JSON = b'["PASS","PASS","PASS"]'
_ROW = 96
"""Bytes that no move exceeds: 23 of type and rank, 5 for each of 10 cards, brackets."""


def _heads(dialect: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the opening of a move, `["Pair","6",[`, at row 16 * type + rank, and the length of each."""
    texts = []
    for kind, name in enumerate(TYPE_NAMES):
        for rank in range(16):
            word = RANKS[min(rank, 14)]
            if kind == FOUR_KINGS and dialect == "njupt":
                name, word = "Bomb", "JOKER"
            texts.append(PASS_JSON if kind == PASS else f'["{name}","{word}",['.encode())
    return np.array(texts, "S32").view(np.uint8).reshape(-1, 32), np.array([len(text) for text in texts])


_HEADS = {dialect: _heads(dialect) for dialect in DIALECTS}
_CARDS = np.array([list(f'"{name}"'.encode()) for name in CARD_NAMES], np.uint8)
_SLOTS = np.zeros((len(TYPE_NAMES), 2), np.int64)
_SLOTS[STRAIGHT] = _SLOTS[STRAIGHT_FLUSH] = (5, 1)
_SLOTS[THREE_PAIR] = (3, 2)
_SLOTS[TWO_TRIPS] = (2, 3)
_SLOTS[THREE_WITH_TWO] = (2, 3)
_SLOTS[FOUR_KINGS] = (2, 2)
_SUITS_IN_PRINT = np.array([1, 0, 2, 3])


@kernel
def _held(lo: int, hi: int, card: int) -> int:
    return (lo >> 2 * card if card < 28 else hi >> 2 * (card - 28)) & 3


@kernel
def _put_card(out: Bytes, at: int, card: int, cards: Bytes) -> int:
    for k in range(4):
        out[at + k] = cards[card, k]
    out[at + 4] = 44
    return at + 5


@kernel
def _pair_rank(lo: int, hi: int, trips: int, level: int) -> int:
    """Return the rank code of a full house's pair: what is neither of the trips' rank nor wild."""
    for card in range(NUM_CARDS):
        rank = card // 4 if card < 52 else card - 39
        if rank != trips and card != 4 * level and _held(lo, hi, card):
            return rank
    return level


@kernel
def _put_moves(
    words: Ints,
    level: int,
    heads: Bytes,
    head_sizes: Ints,
    cards: Bytes,
    slots: Ints,
    suits: Ints,
    out: Bytes,
    offsets: Ints,
) -> bool:
    """Write each move followed by a comma, offsets[j] where move j starts; return whether all are moves."""
    at = 0
    wild = 4 * level
    for j in range(len(words) // 3):
        offsets[j] = at
        head, lo, hi = words[3 * j], words[3 * j + 1], words[3 * j + 2]
        kind, rank, size = head & 255, head >> 8 & 255, head >> 16 & 255
        if kind > FOUR_KINGS or rank > 14 or size > 10:
            return False
        row = 16 * kind + rank
        for k in range(head_sizes[row]):
            out[at + k] = heads[row, k]
        at += head_sizes[row]
        if kind != PASS:
            wilds = _held(lo, hi, wild)
            groups, each = slots[kind, 0], slots[kind, 1]
            if groups == 0:
                groups, each = 1, size
            for g in range(groups):
                of = (rank + g) % 13 if rank < 13 else rank + g
                room = each
                if kind == THREE_WITH_TWO and g == 1:
                    of, room = _pair_rank(lo, hi, rank, level), 2
                if of > 12:
                    for _ in range(min(room, _held(lo, hi, of + 39))):
                        at = _put_card(out, at, of + 39, cards)
                    continue
                for s in range(4):
                    card = 4 * of + suits[s]
                    if card != wild:
                        for _ in range(min(room, _held(lo, hi, card))):
                            at = _put_card(out, at, card, cards)
                            room -= 1
                while room > 0 and wilds > 0:
                    at = _put_card(out, at, wild, cards)
                    room -= 1
                    wilds -= 1
            out[at - 1] = 93
            out[at] = 93
            at += 1
        out[at] = 44
        at += 1
    offsets[len(words) // 3] = at
    return True


@dataclass(slots=True)
class MoveList:
    """Moves in JSON: the whole list, and each move within it.

    body: the moves one after the other, each followed by a comma.
    offsets: [m + 1] int64, where each starts in `body`.
    """

    body: bytes
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, moves: Sequence[bytes]) -> MoveList:
        sizes = [0, *(len(move) + 1 for move in moves)]
        return cls(b"".join(move + b"," for move in moves), np.cumsum(sizes))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def json(self) -> bytes:
        return b"[" + self.body[:-1] + b"]"

    def find(self, text: bytes) -> int | None:
        """Return the index of the move written in these very words, spaces apart; None if there is none."""
        at = self.body.find(text.replace(b" ", b"") + b",")
        index = int(self.offsets.searchsorted(at))
        return index if self.offsets[index] == at else None

    def __getitem__(self, index: int) -> bytes:
        return self.body[self.offsets[index] : self.offsets[index + 1] - 1]


_PASS_ALONE = MoveList.of([PASS_JSON])
"""What three decisions in ten choose from."""


def encode_moves(moves: NDArray[np.void], level: int, *, dialect: str = "openguandan") -> MoveList:
    """Return moves [m] of dtype ACTION as JSON, cards in the places they fill.

    The text is that of `games.guandan.notation.action_list`: trips before the pair, sequences upwards, a wild
    card in the slot it fills or last in its group.
    level: rank code 0..12. dialect: "njupt" names the joker bomb `["Bomb","JOKER",...]`.
    Raises GameError at another dialect, or an array that does not hold actions.
    """
    if dialect not in _HEADS:
        raise GameError(f"guandan: a dialect must be one of {', '.join(DIALECTS)}; got {dialect!r}")
    if moves.dtype is not ACTION and moves.dtype != ACTION:
        raise GameError(f"guandan: moves must be of dtype ACTION; got {moves.dtype}")
    if len(moves) == 1 and moves[0]["type"] == PASS:
        return _PASS_ALONE
    # frombuffer skips the checks that make `view` slow on a structured dtype
    words = np.frombuffer(np.ascontiguousarray(moves), np.int64)
    out = np.empty(len(moves) * _ROW, np.uint8)
    offsets = np.empty(len(moves) + 1, np.int64)
    if not _put_moves(words, level, *_HEADS[dialect], _CARDS, _SLOTS, _SUITS_IN_PRINT, out, offsets):
        raise GameError("guandan: there is no action in one of these slots; take moves from legal()")
    return MoveList(out[: offsets[-1]].tobytes(), offsets)


def warm_kernels(dialect: str = "openguandan") -> None:
    """Load the kernels that a table needs, so that no player waits for the compiler.

    The first time on a machine that takes some seconds; then they come from Numba's cache.
    """
    match = Match(0)
    lo, hi = match.state["hand"][0, 0].tolist()
    encode_hand(lo, hi, 0, dialect=dialect)
    for _ in range(8):
        for due in match.pending():
            encode_moves(due.actions, match.level, dialect=dialect)
            match.apply(due.seat, len(due.actions) - 1)


_EACH = np.ones(NUM_CARDS, np.uint8)
_HAND_ORDERS = np.array(
    [[CARD_NAMES.index(card) for card in hand_text(_EACH, level).split()] for level in range(13)]
)
"""The card indices from weakest to strongest, then S, H, C, D, by level; that of the aces has plain ranks."""


@kernel
def _put_hand(lo: int, hi: int, order: Ints, cards: Bytes, out: Bytes) -> int:
    out[0] = 91
    at = 1
    for card in order:
        for _ in range(_held(lo, hi, card)):
            at = _put_card(out, at, card, cards)
    at = max(at, 2)
    out[at - 1] = 93
    return at


def encode_hand(lo: int, hi: int, level: int, *, dialect: str = "openguandan") -> bytes:
    """Return a packed hand as a JSON array of card names.

    "njupt" lists by level-aware rank, then S, H, C, D; "openguandan" by plain rank.
    """
    order = _HAND_ORDERS[level if dialect == "njupt" else 12]
    out = np.empty(5 * NUM_CARDS * 2 + 2, np.uint8)
    return out[: _put_hand(lo, hi, order, _CARDS, out)].tobytes()
