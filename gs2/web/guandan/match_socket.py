"""A browser at a table: one WebSocket, one line of JSON each way; the whole state after every change."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import numpy as np
from starlette.websockets import WebSocket

from games.guandan.cards import PASS, hand_text, unpack
from games.guandan.notation import action_list
from gs2.guandan.table.selection import Reason, fitting, why_not, wild_words
from gs2.web.arrangement import guandan_moves
from gs2.web.guandan.match_play import MatchPlay
from gs2.web.guandan.match_state import table_state
from gs2.web.guandan.suggestions import suggested_moves
from gs2.web.house import House
from gs2.web.person_socket import Message, PersonSocket
from gs2.web.tables.table import Refused, Table

__all__ = ["TableSocket"]

logger = logging.getLogger("gs2.web")


class TableSocket(PersonSocket):
    """One connection to one table."""

    def __init__(self, house: House, table: Table[MatchPlay], socket: WebSocket) -> None:
        super().__init__(socket)
        self.house, self.table = house, table
        self.seat = table.player_of(socket.query_params.get("key"))
        self.open = not table.people

    async def run(self) -> None:
        """Serve the connection until it ends."""
        self.table.look(self)  # before anything is waited for: the table stays open
        try:
            await self.socket.accept()
            await self._serve()
        finally:
            self.table.leave(self)

    def _state(self) -> str:
        hands = self.open and not self.table.people
        return json.dumps(table_state(self.table, self.seat, hands=hands))

    def _answers(self) -> dict[str, Callable[[Message], None]]:
        return {
            "select": self._select,
            "play": self._play,
            "pass": self._pass,
            "suggest": self._suggest,
            "arrange": self._arrange_hand,
            "hint": self._ask_hint,
            "undo": self._undo,
            "next": self._go_on,
            "pace": self._pace,
            "step": lambda message: self._step(),
            "open": self._open,
        }

    def _mine(self) -> int:
        if self.seat is None:
            raise Refused("not_you", "you watch; take a free seat to play")
        return self.seat

    def _due(self, message: Message | None = None) -> int:
        """Return the own seat if it is to act, on the state that the browser has seen."""
        seat = self._mine()
        if seat not in self.table.play.pending:
            raise Refused("not_your_turn", "it is not your turn")
        if message is not None:
            self._seen(message, self.table.versions, self.table.offer("choose", seat))
        return seat

    def _select(self, message: Message) -> None:
        cards = message["cards"]
        if not isinstance(cards, list) or len(cards) > 30 or not all(isinstance(c, str) for c in cards):
            raise Refused("wrong", "cards is a list of at most 30 names")
        seat, table = self._mine(), self.table
        answer: Message = {"type": "fits", "id": message.get("id"), "moves": [], "why": None}
        if seat not in table.play.pending:
            answer["why"] = Reason("not_your_turn").to_json()
        else:
            moves = table.play.session.choices(seat)
            found = fitting(moves, cards) if cards else []
            answer["moves"] = [self._move(moves, index) for index in found]
            if not found:
                reason = why_not(table.play.session.observe(seat), cards)
                answer["why"] = None if reason is None else reason.to_json()
        self._say(answer)

    def _since(self, seat: int) -> int:
        """Return since which version the seat is asked what it now is; its page may show another by then."""
        return self.table.versions.since(self.table.offer("choose", seat))

    def _move(self, moves: Any, index: int) -> Message:
        level = self.table.play.session.level
        words = action_list(moves[index], level)
        return {"index": int(index), "move": words, "wild": wild_words(moves[index], level)}

    def _play(self, message: Message) -> None:
        seat, index = self._due(message), message["index"]
        if isinstance(index, bool) or not isinstance(index, int):
            raise Refused("wrong", f"an index is a whole number; got {index!r:.40}")
        self.table.choose(seat, index)

    def _pass(self, message: Message) -> None:
        seat = self._due(message)
        found = (self.table.play.session.choices(seat)["type"] == PASS).nonzero()[0]
        if not len(found) or self.table.play.session.stage != "play":
            raise Refused("must_lead", "you lead, so you cannot pass")
        self.table.choose(seat, int(found[0]))

    def _suggest(self, message: Message) -> None:
        seat, session = self._due(), self.table.play.session
        moves = session.choices(seat)
        places = list(range(len(moves)))  # each card to pay or return is one
        if session.stage == "play":
            counts = unpack(np.array(session.hand(seat), np.uint64))
            places = suggested_moves(moves, hand_text(counts, session.level).split(), session.level)
        found = [self._move(moves, place) for place in places]
        self._say({"type": "suggestions", "since": self._since(seat), "moves": found})

    def _arrange_hand(self, message: Message) -> None:
        session = self.table.play.session
        hand, level = np.array(session.hand(self._mine()), np.uint64), session.level
        self._arrange(lambda: guandan_moves(hand, level))

    def _undo(self, message: Message) -> None:
        seat = self._mine()
        if self.table.can_undo(seat):
            self._seen(message, self.table.versions, self.table.offer("undo", seat))
        self.table.undo(seat)

    def _go_on(self, message: Message) -> None:
        seat = self._mine()
        if self.table.play.waiting:  # else another player has continued
            self._seen(message, self.table.versions, self.table.offer("next", seat))
            self.table.enter("next", 1)

    def _may_steer(self) -> None:
        """Raise Refused unless the connection may set the table's pace: people's tables obey people."""
        if self.table.people:
            self._mine()

    def _step(self) -> None:
        self._may_steer()
        self.table.step()

    def _pace(self, message: Message) -> None:
        self._may_steer()
        pace, paused = message.get("pace"), message.get("paused")
        if isinstance(pace, bool) or not isinstance(pace, int | float | None):
            raise Refused("wrong", f"a pace is a number of seconds; got {pace!r:.40}")
        if not isinstance(paused, bool | None):
            raise Refused("wrong", f"paused is true or false; got {paused!r:.40}")
        self.table.set_pace(None if pace is None else float(pace), paused)

    def _open(self, message: Message) -> None:
        if self.table.people:
            raise Refused("closed", "hands are open only at tables where no person sits")
        self.open = bool(message.get("open"))
        self.show()

    def _ask_hint(self, message: Message) -> None:
        seat = self._due()
        observation = self.table.play.session.observe(seat)
        self._advise({"since": self._since(seat)}, lambda: self.house.matches.hint(observation))
