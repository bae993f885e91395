"""What a session tells, said to the clients at its table and to its record."""

from __future__ import annotations

import abc
import logging
from collections.abc import Sequence

import numpy as np

from games.guandan.cards import CARD_NAMES
from games.guandan.matches.events import Event
from games.guandan.matches.match import Match, Pending
from games.guandan.rounds.state import NOBODY
from gs2.guandan.table.seat import Transfer
from gs2.guandan.table.server.place import Seat
from gs2.guandan.table.server.recording import RecordedGames, RecordFolder
from gs2.guandan.table.session import GameCount, RoundResult, Session
from gs2.guandan.table.wire.dialects import Choices, Dialect, Trick
from gs2.guandan.table.wire.encode import encode_hand, encode_moves

__all__ = ["Announcer", "encode_card"]

logger = logging.getLogger("gs2.guandan.table")

_PACKED = {name: (1 << 2 * c, 0) if c < 28 else (0, 1 << 2 * (c - 28)) for c, name in enumerate(CARD_NAMES)}
_CARD_OF = {packed: name for name, packed in _PACKED.items()}


class Announcer(RecordedGames, abc.ABC):
    """The listener of a table's session: what `Room` says to its clients and to its record.

    A move is recorded before it is sent to anybody. What everybody heard since the deal is kept, for a client
    that comes back.
    """

    session: Session

    def __init__(self, number: int, dialect: Dialect, folder: RecordFolder | None) -> None:
        super().__init__([], folder)
        self.number, self.dialect = number, dialect
        self.seats = [Seat(index) for index in range(4)]
        self.log: list[bytes] = []
        self._trick = Trick()
        self._move: bytes | None = None

    @abc.abstractmethod
    def ask(self, seats: Sequence[int]) -> None:
        """Have these seats asked."""

    @abc.abstractmethod
    def finish(self, reason: str) -> None:
        """End the room."""

    def broadcast(self, payload: bytes, *, log: bool = True) -> None:
        """Send a message to every client at the table."""
        if log:
            self.log.append(payload)
        for seat in self.seats:
            connection = seat.connection
            if connection is not None:
                connection.queue(payload)

    def _hand(self, seat: int, without: str | None = None) -> bytes:
        """Return a seat's cards in JSON. without: a card to leave out."""
        lo, hi = self.session.hand(seat)
        if without is not None:
            less_lo, less_hi = _PACKED[without]
            lo, hi = lo - less_lo, hi - less_hi
        return encode_hand(lo, hi, self.session.level, dialect=self.dialect.name)

    def request(self, seat: Seat) -> bytes:
        """Return the request to a seat that is to act; its moves in JSON are kept in `seat.moves`."""
        session, due = self.session, seat.due
        assert due is not None
        view = session.view()
        if due.stage == "play":
            # the cards change only as they become fewer
            left = view.rest[seat.index]
            if seat.hand[0] != left:
                seat.hand = left, self._hand(seat.index)
            hand = seat.hand[1]
            seat.moves = encode_moves(due.actions, session.level, dialect=self.dialect.name)
            return self.dialect.ask_play(seat.index, hand, view, self._trick, seat.moves)
        paid = session.paid_to(seat.index) if due.stage == "back" else None
        hand = self._hand(seat.index, None if paid is None or self.dialect.tribute_in_hand else paid[2])
        return self.dialect.ask_card(due.stage, seat.index, hand, view, _choices(due), paid)

    # --- the session tells ---

    def game_begun(self, number: int, match: Match) -> None:
        """Open the game's record."""
        self.recorder = None
        if self.folder is not None:
            name = f"room{self.number:05d}-game{number:04d}"
            try:
                self.recorder = self.folder.begin(name, match, self.result.names, dialect=self.dialect.name)
            except OSError as error:
                logger.error("no record of %s in %s: %s", name, self.folder.path, error)

    def happened(self, events: list[Event]) -> None:
        """Write the record."""
        if self.recorder is not None:
            self.recorder.write(events, self._move)
        self._move = None

    def round_begun(self) -> None:
        """Deal to every seat."""
        self._trick = Trick()
        self.log.clear()
        view = self.session.view()
        for seat in self.seats:
            seat.hand = (-1, b"")
            if seat.user is None:
                continue
            seat.beginning = self.dialect.beginning(seat.index, self._hand(seat.index), view)
            if seat.connection is not None:
                seat.connection.queue(seat.beginning)

    def anti_tribute(self, seats: Sequence[int]) -> None:
        """Tell everybody that no tribute is paid."""
        self.broadcast(self.dialect.anti_tribute(seats))

    def chosen(self, seat: int, due: Pending, index: int) -> None:
        """Tell everybody of a move."""
        place = self.seats[seat]
        moves, place.moves = place.moves, None
        place.due = place.asked = None
        place.thinking = False
        if due.stage != "play":
            return
        if moves is not None:
            move = moves[index]
        else:
            move = encode_moves(
                due.actions[index : index + 1], self.session.level, dialect=self.dialect.name
            )[0]
        self._move = move
        self.broadcast(self.dialect.played(self._trick, seat, move))
        self._trick.play(seat, move)

    def asked(self, seats: Sequence[int]) -> None:
        """Have the seats asked that are to act."""
        session = self.session
        if session.stage == "tribute":
            for payer in seats:
                word = self.dialect.tribute_begins(_choices(session.pending[payer]))
                connection = self.seats[payer].connection
                if word is not None and connection is not None:
                    connection.queue(word)
        elif session.stage == "play" and session.match.state["leader"][0] == NOBODY:
            self._trick = Trick()
        self.ask(seats)

    def exchanged(self, stage: str, transfers: Sequence[Transfer]) -> None:
        """Tell everybody who paid or returned what."""
        self.broadcast(self.dialect.exchanged(stage, transfers))

    def round_over(self, result: RoundResult) -> None:
        """Tell everybody how the round ended."""
        super().round_over(result)
        self.broadcast(self.dialect.episode_over(result.order, result.level, result.left))

    def game_over(self, count: GameCount) -> None:
        """Tell everybody how the game ended; the last game ends the room."""
        super().game_over(count)
        for payload in self.dialect.game_over(count):
            self.broadcast(payload)
        if count.played >= count.wanted:
            self.finish("played")


def _choices(due: Pending) -> Choices:
    """Return tribute or return cards in JSON."""
    cards = [encode_card(due.stage, action) for action in due.actions]
    return Choices(b"[" + b",".join(cards) + b"]", len(cards))


def encode_card(stage: str, action: np.void) -> bytes:
    """Return the JSON of a tribute or return card."""
    name = _CARD_OF[int(action["lo"]), int(action["hi"])]
    return f'["{stage}","{stage}",["{name}"]]'.encode()
