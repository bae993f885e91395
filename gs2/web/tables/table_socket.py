"""A browser at a table: one WebSocket, one line of JSON each way; the whole state after every change."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, Protocol

from starlette.websockets import WebSocket, WebSocketDisconnect

from gs2.web.tables.table import P, Refused, Table

__all__ = ["Dialect", "Hint", "Message", "TableSocket"]

LONGEST = 4096
"""Characters of a message from a browser."""
MOST_BAD = 20
"""Messages that make no sense, until the connection is closed."""
MOST_CARDS = 52
"""Cards that a message names."""
NOT_YOURS = 4403
"""Close code for a browser without the key of a seat, where only people at the table may look."""

Message = dict[str, Any]
Moves = list[list[str]]
Hint = tuple[Message, Callable[[], Awaitable[Message]]]
"""What a hint is about, part of every message of it, and what finds it."""


class Dialect(Protocol[P]):
    """What is said at one kind of table only. private: whether only those who sit there may look."""

    @property
    def private(self) -> bool: ...

    @property
    def answers(self) -> Mapping[str, Callable[[TableSocket[P], Message], None]]:
        """What is done on a message of each further type; it may raise Refused."""

    def state(self, line: TableSocket[P]) -> Message:
        """Return the whole state as this browser may see it."""

    def layout(self, line: TableSocket[P]) -> Callable[[], Moves]:
        """Return what lays the person's hand out in moves of card names; it may raise Refused."""

    def hint(self, line: TableSocket[P], message: Message) -> Hint:
        """Return what a hint is about and what finds it; both may raise Refused."""


class TableSocket(Generic[P]):
    """One connection to one table; a person may have several, one for each page that is open.

    open: whether hands are shown where no person sits.
    """

    def __init__(self, table: Table[P], socket: WebSocket, dialect: Dialect[P]) -> None:
        self.table, self.socket, self.dialect = table, socket, dialect
        self.player = table.player_of(socket.query_params.get("key"))
        self.open = True
        self._answers: dict[str, Callable[[Message], None]] = {
            "play": self._play,
            "undo": self._undo,
            "pace": self._pace,
            "step": self._step,
            "arrange": self._arrange,
            "hint": self._ask_hint,
        }
        self._changed = asyncio.Event()
        self._others: list[Message] = []
        self._hint: asyncio.Task[None] | None = None
        self._arranging: asyncio.Task[None] | None = None
        self._wanted: Message = {}
        self._bad = 0

    @property
    def seat(self) -> int | None:
        """The person's seat, None for somebody who only looks."""
        return None if self.player is None else list(self.table.play.order).index(self.player)

    async def run(self) -> None:
        """Serve the connection until it ends."""
        if self.player is None and self.dialect.private:
            await self.socket.accept()
            await self.socket.close(NOT_YOURS, "this seat belongs to another browser")
            return
        self.table.look(self)  # before anything is waited for: the table stays open
        try:
            await self.socket.accept()
            await self._serve()
        finally:
            self.table.leave(self)

    def show(self) -> None:
        """Have the state sent; several changes at once become one message."""
        self._changed.set()

    # --- what dialects use ---

    def say(self, message: Message) -> None:
        """Send a message besides the state."""
        self._others.append(message)
        self._changed.set()

    def mine(self) -> int:
        """Return the person's seat. Raises Refused if there is none."""
        if self.seat is None:
            raise Refused("not_you", "you watch; take a free seat to play")
        return self.seat

    def due(self, message: Message | None = None) -> int:
        """Return the person's seat if it is to act; a message must have seen its choices.

        Raises Refused otherwise.
        """
        seat = self.mine()
        if seat not in self.table.play.pending:
            raise Refused("not_your_turn", "it is not your turn")
        if message is not None:
            self.seen(message, "choose")
        return seat

    def seen(self, message: Message, what: str) -> None:
        """Raise Refused unless the browser had seen the offer that it takes up."""
        if not self.table.versions.means(self.table.offer(what, self.mine()), message.get("version")):
            raise Refused("stale", "the table has changed since; look again")

    @staticmethod
    def cards(message: Message) -> list[str]:
        """Return the cards that a message names. Raises Refused at anything else."""
        cards = message.get("cards", [])
        named = isinstance(cards, list) and all(isinstance(card, str) for card in cards)
        if not named or len(cards) > MOST_CARDS:
            raise Refused("wrong", f"cards are a list of at most {MOST_CARDS} names")
        return list(cards)

    # --- what is said at every table ---

    def _play(self, message: Message) -> None:
        seat, index = self.due(message), message["index"]
        if isinstance(index, bool) or not isinstance(index, int):
            raise Refused("wrong", f"an index is a whole number; got {index!r:.40}")
        self.table.choose(seat, index, self.cards(message))

    def _undo(self, message: Message) -> None:
        seat = self.mine()
        if self.table.can_undo(seat):
            self.seen(message, "undo")
        self.table.undo(seat)

    def _may_steer(self) -> None:
        """Raise Refused unless the connection may set the table's pace: people's tables obey people."""
        if self.table.people:
            self.mine()

    def _step(self, message: Message) -> None:
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

    def _ask_hint(self, message: Message) -> None:
        """Have a hint worked out, and given as a message: thinking, then done or failed.

        Asked for again meanwhile, the hint is only awaited; one about something else takes its place.
        """
        wanted, find = self.dialect.hint(self, message)
        if self._hint is not None and not self._hint.done():
            if self._wanted == wanted:
                return
            self._hint.cancel()
            given_up = "another hint was asked for meanwhile"
            self.say({"type": "hint", **self._wanted, "status": "failed", "error": given_up})
        self._wanted = wanted
        self.say({"type": "hint", **wanted, "status": "thinking"})

        async def wait() -> None:
            try:
                told = {"status": "done", **await find()}
            except Refused as error:
                told = {"status": "failed", "error": str(error)}
            self.say({"type": "hint", **wanted, **told})

        self._hint = asyncio.create_task(wait())

    def _arrange(self, message: Message) -> None:
        """Have a hand laid out beside the event loop: kernels may have to be compiled.

        Asked for again meanwhile, it is only awaited.
        """
        layout = self.dialect.layout(self)
        if self._arranging is not None and not self._arranging.done():
            return

        async def wait() -> None:
            self.say({"type": "arranged", "moves": await asyncio.to_thread(layout)})

        self._arranging = asyncio.create_task(wait())

    # --- the line ---

    async def _send(self) -> None:
        shown = None
        while True:
            await self._changed.wait()
            self._changed.clear()
            state = json.dumps(self.dialect.state(self), allow_nan=False)
            others, self._others = self._others, []  # now: while the state goes out, more may be answered
            if state != shown:
                shown = state
                await self.socket.send_text(state)
            for message in others:
                await self.socket.send_text(json.dumps(message))

    async def _serve(self) -> None:
        """Send and hear until the connection ends, or makes no sense too often."""
        sending = asyncio.create_task(self._send())
        try:
            while self._bad < MOST_BAD:
                self._hear(await self.socket.receive_text())
            await self.socket.close(1008, "too many messages that make no sense")
        except (WebSocketDisconnect, RuntimeError, KeyError):
            pass  # gone, or a message that is not text
        finally:
            sending.cancel()
            for task in (self._hint, self._arranging):
                if task is not None:
                    task.cancel()

    def _hear(self, text: str) -> None:
        kind = None
        try:
            if len(text) > LONGEST:
                raise Refused("wrong", f"a message has at most {LONGEST} characters")
            message = json.loads(text)
            kind = message.get("type") if isinstance(message, dict) else None
            self._answer(kind, message)
        except Refused as error:
            self._bad += error.code == "wrong"
            self.say({"type": "error", "code": error.code, "text": str(error)})
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            self._bad += 1
            self.say({"type": "error", "code": "wrong", "text": f"{kind}: {error!r}"})

    def _answer(self, kind: Any, message: Message) -> None:
        if isinstance(kind, str) and kind in self._answers:
            self._answers[kind](message)
        elif isinstance(kind, str) and kind in self.dialect.answers:
            self.dialect.answers[kind](self, message)
        else:
            raise Refused("wrong", f"a message is an object with a type; got {str(message)[:60]!r}")
