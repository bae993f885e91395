"""A browser at a table of a game: one WebSocket, a line of JSON each way; the whole state after a change."""

from __future__ import annotations

import json
from collections.abc import Callable

from starlette.websockets import WebSocket

from gs2.web.games.game_play import GamePlay
from gs2.web.games.seat_view import table_view
from gs2.web.house import House
from gs2.web.person_socket import Message, PersonSocket
from gs2.web.tables.table import Refused, Table

__all__ = ["GameSocket"]

MOST_CARDS = 52
NOT_YOURS = 4403
"""Close code for whoever has not the key of the seat."""


class GameSocket(PersonSocket):
    """One connection of the person to one table; there may be several, one for each page that is open."""

    def __init__(self, house: House, table: Table[GamePlay], socket: WebSocket) -> None:
        super().__init__(socket)
        self.house, self.table = house, table
        self.player = table.player_of(socket.query_params.get("key"))

    async def run(self) -> None:
        """Serve the connection until it ends."""
        await self.socket.accept()
        if self.player is None:
            await self.socket.close(NOT_YOURS, "this seat belongs to another browser")
            return
        self.table.look(self)
        try:
            await self._serve()
        finally:
            self.table.leave(self)

    @property
    def seat(self) -> int:
        """The person's seat in the present round."""
        assert self.player is not None
        return self.table.play.order.index(self.player)

    def _state(self) -> str:
        return json.dumps(table_view(self.table, self.seat), allow_nan=False)

    def _answers(self) -> dict[str, Callable[[Message], None]]:
        return {
            "select": self._select,
            "arrange": self._arrange_hand,
            "play": self._play,
            "undo": self._undo,
            "round": self._new_round,
            "pace": self._pace,
            "hint": self._ask_hint,
        }

    def _due(self, message: Message) -> int:
        """Return the person's seat if it is to act, on the state that the browser has seen."""
        seat = self.seat
        if seat not in self.table.play.pending:
            raise Refused("not_your_turn", "it is not your turn")
        self._seen(message, self.table.versions, self.table.offer("choose", seat))
        return seat

    def _undo(self, message: Message) -> None:
        if self.table.can_undo(self.seat):
            self._seen(message, self.table.versions, self.table.offer("undo", self.seat))
        self.table.undo(self.seat)

    def _new_round(self, message: Message) -> None:
        self._seen(message, self.table.versions, self.table.offer("round", self.seat))
        self.table.enter("round", self.table.play.next_order(self.seat, message.get("seat")))

    def _pace(self, message: Message) -> None:
        pace = message.get("pace")
        if isinstance(pace, bool) or not isinstance(pace, int | float):
            raise Refused("wrong", f"a pace is a number of seconds; got {pace!r:.40}")
        self.table.set_pace(float(pace), None)

    def _cards(self, message: Message) -> list[str]:
        cards = message.get("cards", [])
        named = isinstance(cards, list) and all(isinstance(card, str) for card in cards)
        if not named or len(cards) > MOST_CARDS:
            raise Refused("wrong", f"cards are a list of at most {MOST_CARDS} names")
        return list(cards)

    def _select(self, message: Message) -> None:
        """Say what cards make that are no move now."""
        cards, face = self._cards(message), self.table.play.face
        self._say({"type": "makes", "cards": cards, "kind": None if face is None else face.kind_of(cards)})

    def _arrange_hand(self, message: Message) -> None:
        table, face = self.table, self.table.play.face
        if face is None:
            raise Refused("wrong", f"{table.play.game.name} has no hand of cards")
        hand = face.seen(table.play.round, self.seat)["hand"]
        self._arrange(lambda: face.moves(hand))

    def _play(self, message: Message) -> None:
        seat = self._due(message)
        index = message["index"]
        if isinstance(index, bool) or not isinstance(index, int):
            raise Refused("wrong", f"an index is a whole number; got {index!r:.40}")
        self.table.choose(seat, index, self._cards(message))

    def _ask_hint(self, message: Message) -> None:
        self._due(message)
        label, history = message.get("agent"), self.table.play.round.history()
        self.house.games.offer(self.table.play.game, label)
        wanted = {"version": self.table.versions.now, "agent": label}
        self._advise(wanted, lambda: self.house.games.hint(self.table.play.game.name, label, history))
