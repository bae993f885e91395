"""What a dialect must be able to say: the seam between a table and the words on its wire."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from games.guandan.cards import RANKS
from gs2.guandan.table.seat import Transfer
from gs2.guandan.table.session import GameCount, RoundView
from gs2.guandan.table.wire.encode import PASS_JSON, MoveList

__all__ = ["NULL", "Choices", "Dialect", "Trick", "notify", "rank_words"]

NULL = b"null"
_RANK_JSON = [f'"{rank}"'.encode() for rank in RANKS]


@dataclass
class Trick:
    """The moves on the table, in JSON, as the next to act sees them.

    last_seat, last: who acted last, and how; a pass counts. greatest_seat, greatest: the move to beat.
    Seats are -1 and moves None where there is none. areas: each seat's last move in this trick.
    """

    last_seat: int = -1
    last: bytes | None = None
    greatest_seat: int = -1
    greatest: bytes | None = None
    areas: list[bytes | None] = field(default_factory=lambda: [None] * 4)

    def play(self, seat: int, move: bytes) -> None:
        """Note a move."""
        self.last_seat, self.last = seat, move
        self.areas[seat] = move
        if move != PASS_JSON:
            self.greatest_seat, self.greatest = seat, move


def rank_words(view: RoundView, seat: int) -> tuple[bytes, bytes, bytes]:
    """Return selfRank, oppoRank and curRank in JSON, for one seat."""
    own, other = view.levels[seat & 1], view.levels[1 - (seat & 1)]
    return _RANK_JSON[own], _RANK_JSON[other], _RANK_JSON[view.level]


@dataclass(frozen=True, slots=True)
class Choices:
    """What a request offers: the list in JSON, and how long it is."""

    json: bytes
    count: int


class Dialect(abc.ABC):
    """Builds every message of a server in one dialect, as JSON bytes."""

    name: str
    """Also the name of the form of moves: see `encode_moves`."""
    tribute_in_hand = True
    """Whether the hand in a request for a return card holds the tribute already."""

    # --- requests ---

    @abc.abstractmethod
    def ask_play(self, seat: int, hand: bytes, view: RoundView, trick: Trick, moves: MoveList) -> bytes:
        """Return the request for a move."""

    @abc.abstractmethod
    def ask_card(
        self, stage: str, seat: int, hand: bytes, view: RoundView, cards: Choices, paid: Transfer | None
    ) -> bytes:
        """Return the request for a tribute ("tribute") or return card ("back").

        paid: the tribute that is answered, for "back".
        """

    # --- notifications ---

    @abc.abstractmethod
    def beginning(self, seat: int, hand: bytes, view: RoundView) -> bytes:
        """Return the start of a round."""

    @abc.abstractmethod
    def played(self, before: Trick, seat: int, move: bytes) -> bytes:
        """Return the notification of a move; `before` is the trick without it."""

    def tribute_begins(self, cards: Choices) -> bytes | None:
        """Return what a payer is sent before its request for tribute, if anything."""
        return None

    def exchanged(self, stage: str, transfers: Sequence[Transfer]) -> bytes:
        """Return the notification of tribute paid ("tribute") or cards returned ("back")."""
        return notify(stage, result=transfers)

    def anti_tribute(self, seats: Sequence[int]) -> bytes:
        """Return the notification that these seats hold both big jokers, so that no tribute is paid."""
        return notify("anti-tribute", antiNums=len(seats), antiPos=list(seats))

    def episode_over(
        self, order: Sequence[int], level: int, left: Sequence[tuple[int, Sequence[str]]]
    ) -> bytes:
        """Return the end of a round: finishing order, and the cards [seat, names] that were left."""
        return notify("episodeOver", order=list(order), curRank=RANKS[level], restCards=left)

    @abc.abstractmethod
    def error(self, message: str, kind: str = "ERROR") -> bytes:
        """Return what a client is told when its message of type `kind` was refused, or decided for it."""

    @abc.abstractmethod
    def game_over(self, count: GameCount) -> list[bytes]:
        """Return the messages at the end of a game; the last game's include the session's result."""


def notify(stage: str, **fields: Any) -> bytes:
    """Return a notification."""
    return msgspec.json.encode({"type": "notify", "stage": stage, **fields})
