"""Moves from the wire as actions: matched by type, rank and cards, never by the order of the cards."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.guandan.cards import ACTION, CARD_NAMES, FOUR_KINGS, RANKS, SINGLE, TYPE_NAMES
from games.support.kernel import kernel

__all__ = ["find_move", "packed_words", "read_move", "read_moves"]

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


def packed_words(actions: NDArray[np.void]) -> NDArray[np.int64]:
    """Return actions [m] as their three words each, [3 m] int64, sharing memory if they are contiguous.

    The bytes between the fields may be anything in an array that NumPy has indexed.
    """
    # frombuffer skips the checks that make `view` slow on a structured dtype
    return np.frombuffer(np.ascontiguousarray(actions), np.int64)


@kernel
def _find(words: NDArray[np.int64], head: int, lo: int, hi: int) -> int:
    """Return the place of a move among [3 m] words, -1 if it is not there."""
    for j in range(0, len(words), 3):
        if words[j] & 0xFFFFFF == head and words[j + 1] == lo and words[j + 2] == hi:
            return j // 3
    return -1


def find_move(move: Any, choices: NDArray[np.void]) -> int | None:
    """Return the index of a wire move among `choices`, [m] ACTION; None if it is not there."""
    words = read_move(move)
    if words is None:
        return None
    found = _find(packed_words(choices), *words)
    return found if found >= 0 else None
