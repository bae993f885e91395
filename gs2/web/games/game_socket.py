"""A browser at a table of a game: one WebSocket, a line of JSON each way; the whole state after a change."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from gs2.web.games.game_house import GameHouse
from gs2.web.games.game_table import GameTable
from gs2.web.games.seat_view import table_view
from gs2.web.person_socket import PersonSocket
from gs2.web.tables.person_table import Refused

__all__ = ["GameSocket"]

LONGEST = 4096
"""Characters of a message from a browser."""
MOST_BAD = 20
"""Messages that make no sense, until the connection is closed."""
MOST_CARDS = 52
NOT_YOURS = 4403
"""Close code for whoever has not the key of the seat."""

Message = dict[str, Any]


class GameSocket(PersonSocket):
    """One connection of the person to one table; there may be several, one for each page that is open."""

    def __init__(self, house: GameHouse, table: GameTable, socket: WebSocket) -> None:
        super().__init__(socket)
        self.house, self.table = house, table

    async def run(self, watchers: set[GameSocket]) -> None:
        """Serve the connection until it ends. watchers: all connections to this table."""
        await self.socket.accept()
        if not self.table.opens(self.socket.query_params.get("key")):
            await self.socket.close(NOT_YOURS, "this seat belongs to another browser")
            return
        watchers.add(self)

        def changed() -> None:
            for one in list(watchers):
                one.show()

        self.table.changed = changed
        self.show()
        sending = asyncio.create_task(self._send())
        try:
            self.table.look(True)
            while self._bad < MOST_BAD:
                self._hear(await self.socket.receive_text())
            await self.socket.close(1008, "too many messages that make no sense")
        except (WebSocketDisconnect, RuntimeError, KeyError):
            pass  # gone, or a message that is not text
        finally:
            sending.cancel()
            if self._hint is not None:
                self._hint.cancel()
            watchers.discard(self)
            if not watchers:
                self.table.look(False)

    def _state(self) -> str:
        return json.dumps(table_view(self.table), allow_nan=False)

    # --- what the browser says ---

    def _hear(self, text: str) -> None:
        kind = None
        try:
            if len(text) > LONGEST:
                raise Refused("wrong", f"a message has at most {LONGEST} characters")
            message = json.loads(text)
            kind = message.get("type") if isinstance(message, dict) else None
            answer = self._answers().get(kind) if isinstance(kind, str) else None
            if answer is None:
                raise Refused("wrong", f"a message is an object with a type; got {text[:60]!r}")
            answer(message)
        except Refused as error:
            self._bad += error.code == "wrong"
            self._say({"type": "error", "code": error.code, "text": str(error)})
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            self._bad += 1
            self._say({"type": "error", "code": "wrong", "text": f"{kind}: {error}"})

    def _answers(self) -> dict[str, Callable[[Message], None]]:
        return {
            "play": self._play,
            "undo": lambda message: self.table.undo(),
            "round": lambda message: self.table.new_round(message.get("seat")),
            "pace": lambda message: self.table.set_pace(message.get("pace")),
            "hint": self._ask_hint,
        }

    def _due(self, message: Message) -> int:
        """Return the person's seat if it is to act, on the state that the browser has seen."""
        seat = self.table.you
        if self.table.to_act != seat:
            raise Refused("not_your_turn", "it is not your turn")
        if not self.table.means(message.get("version")):
            raise Refused("stale", "the table has changed since; look again")
        return seat

    def _play(self, message: Message) -> None:
        seat = self._due(message)
        cards = message.get("cards", [])
        named = isinstance(cards, list) and all(isinstance(card, str) for card in cards)
        if not named or len(cards) > MOST_CARDS:
            raise Refused("wrong", f"cards are a list of at most {MOST_CARDS} names")
        self.table.choose(seat, message["index"], cards)

    def _ask_hint(self, message: Message) -> None:
        self._due(message)
        label, version = message.get("agent"), self.table.version
        self.house.offer(self.table.game, label)
        if self._hint is not None and not self._hint.done():
            return
        self._say({"type": "hint", "status": "thinking", "version": version, "agent": label})

        async def wait() -> None:
            told: Message = {"type": "hint", "version": version, "agent": label}
            try:
                self._say({**told, "status": "done", **await self.house.hint(self.table, label)})
            except Refused as error:
                self._say({**told, "status": "failed", "error": str(error)})

        self._hint = asyncio.create_task(wait())
