"""What a seat knows as a few words, and those words read back as the line of play.

Nothing is hashed: a key holds the seat's initial hand and, for every card, when it went and from whom, which
is the whole public line (see BIG2_STATE). So equal keys are equal knowledge, and histories can be drawn from
a key alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from games.climbing.big2.table_rows import DEALT, FIRST, HELD, PASSES, PLAYED, WENT
from games.game import GameError
from games.round_rows import views
from games.support.array_types import Bytes, Ints, Rows
from games.support.kernel import kernel

__all__ = ["KnownRecord", "TurnOrder", "record_keys", "record_of_key", "record_width"]

PASSES_AT, FIRST_AT, DEALT_AT = 52, 54, 56
"""Bits of a key's first word above the 52 of the hand: passes, the seat that led first, cards dealt."""


def record_width(ranks: int) -> int:
    """Return the words of a key where the deck has so many ranks."""
    return 1 + (4 * ranks + 7) // 8


@kernel(nogil=True)
def _keys(words: Ints, bytes_: Bytes, player: int, deck: int, out: NDArray[np.uint64]) -> None:
    for i in range(len(words)):
        dealt = np.int64(bytes_[i, DEALT])
        if dealt < deck:  # nobody looks before the last card is dealt
            out[i, 0] = np.uint64(dealt << DEALT_AT)
            for k in range(1, out.shape[1]):
                out[i, k] = np.uint64(0)
            continue
        known = words[i, HELD + player] | words[i, PLAYED + player]
        known |= np.int64(bytes_[i, PASSES]) << PASSES_AT | np.int64(bytes_[i, FIRST]) << FIRST_AT
        out[i, 0] = np.uint64(known | dealt << DEALT_AT)
        for k in range(1, out.shape[1]):
            out[i, k] = np.uint64(words[i, WENT // 8 + k - 1])


def record_keys(states: Rows, player: int, deck: int, width: int) -> NDArray[np.uint64]:
    """Return what a seat knows at each state, [n, width] uint64.

    states: [n] BIG2_STATE. deck: cards in it. width: of `record_width`.
    """
    out = np.empty((len(states), width), np.uint64)
    _keys(*views(np.ascontiguousarray(states)), player, deck, out)
    return out


class TurnOrder:
    """Whose turn it is, action by action, in words of Python: for one line at a time.

    turn: the seat to act. owner: the seat that made the last play, -1 before the first.
    """

    def __init__(self, first: int, players: int, stays_out: bool) -> None:
        self.turn, self.owner = first, -1
        self._players, self._stays_out = players, stays_out
        self._out: set[int] = set()

    def act(self, cards: int) -> None:
        """Let the seat to act play these cards, 0 for a pass, which cannot come first."""
        if cards:
            self.owner = self.turn
        elif self._stays_out:
            self._out.add(self.turn)
        self.turn = (self.turn + 1) % self._players
        while self.turn in self._out:
            self.turn = (self.turn + 1) % self._players
        if not cards and self.turn == self.owner:
            self._out.clear()


@dataclass(frozen=True)
class KnownRecord:
    """What a key says.

    hand: the cards that its seat was dealt. dealt: cards dealt so far. first: the seat that led the round.
    plays: (seat, cards) of every play in order. passes: since the last play.
    """

    hand: int
    dealt: int
    first: int
    plays: tuple[tuple[int, int], ...]
    passes: int

    def line(self, players: int, stays_out: bool) -> list[tuple[int, int]]:
        """Return (seat, action) for every action since the deal, passes (0) included.

        Raises GameError if the first play is not that of the seat that led.
        """
        if (self.plays[0][0] if self.plays else self.first) != self.first or (self.passes and not self.plays):
            raise GameError(
                f"big2: the first play must be of the seat that led, {self.first}; got {self.plays[:1]}; "
                "take keys from infoset_key"
            )
        order = TurnOrder(self.first, players, stays_out)
        actions: list[tuple[int, int]] = []

        def act(cards: int) -> None:
            actions.append((order.turn, cards))
            order.act(cards)

        for seat, cards in self.plays:
            while order.turn != seat:
                act(0)
            act(cards)
        for _ in range(self.passes):
            act(0)
        return actions


def record_of_key(key: tuple[int, ...]) -> KnownRecord:
    """Return what the words of a key say."""
    head = key[0]
    plays: dict[int, tuple[int, int]] = {}
    for card, went in enumerate(np.array(key[1:], "<u8").tobytes()):
        if went:
            _, cards = plays.get(went & 63, (0, 0))
            plays[went & 63] = (went >> 6, cards | 1 << card)
    return KnownRecord(
        head & (1 << PASSES_AT) - 1,
        head >> DEALT_AT,
        head >> FIRST_AT & 3,
        tuple(plays[number] for number in sorted(plays)),
        head >> PASSES_AT & 3,
    )
