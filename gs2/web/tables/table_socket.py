"""A browser at a table: one WebSocket, one line of JSON each way; the whole state after every change."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, Generic

from starlette.websockets import WebSocket, WebSocketDisconnect

from gs2.web.tables.table import P, Refused, Table, checked_pace

LONGEST = 4096
"""Characters of a message from a browser."""
MOST_BAD = 20
"""Messages that make no sense, until the connection is closed."""
MOST_CARDS = 52
"""Cards that a message names."""

Message = dict[str, Any]


class TableSocket(Generic[P]):
    """One connection to one table; a person may have several, one for each page that is open.

    open: whether hands are shown where no person sits.
    """

    def __init__(self, table: Table[P], socket: WebSocket) -> None:
        self.table, self.socket = table, socket
        self.player = table.player_of(socket.query_params.get("key"))
        self.open = True
        self._answers: dict[str, Callable[[Message], None]] = {
            "play": self._play,
            "undo": self._undo,
            "pace": self._pace,
            "step": self._step,
            "arrange": self._arrange,
            "hint": self._ask_hint,
            "select": self._select,
            "suggest": self._suggest,
            "next": self._next,
            "open": self._open,
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
        self.table.look(self)  # before anything is waited for: the table stays open
        try:
            await self.socket.accept()
            await self._serve()
        finally:
            self.table.leave(self)

    def show(self) -> None:
        """Have the state sent; several changes at once become one message."""
        self._changed.set()

    def _say(self, message: Message) -> None:
        """Send a message besides the state."""
        self._others.append(message)
        self._changed.set()

    # --- what a browser may ask ---

    def _mine(self) -> int:
        """Return the person's seat. Raises Refused if there is none."""
        if self.seat is None:
            raise Refused("not_you", "you watch; take a free seat to play")
        return self.seat

    def _due(self) -> int:
        """Return the person's seat if it is to act. Raises Refused otherwise."""
        seat = self._mine()
        if seat not in self.table.play.pending:
            raise Refused("not_your_turn", "it is not your turn")
        return seat

    def _since(self, seat: int) -> int:
        """Return since which version a seat is asked what it now is; its page may show another by then."""
        return self.table.versions.since(self.table.offer("choose", seat))

    def _seen(self, message: Message, what: str) -> None:
        """Raise Refused unless the browser had seen the offer that it takes up."""
        if not self.table.versions.means(self.table.offer(what, self._mine()), message.get("version")):
            raise Refused("stale", "the table has changed since; look again")

    @staticmethod
    def _cards(message: Message) -> list[str]:
        """Return the cards that a message names. Raises Refused at anything else."""
        cards = message.get("cards", [])
        named = isinstance(cards, list) and all(isinstance(card, str) for card in cards)
        if not named or len(cards) > MOST_CARDS:
            raise Refused("wrong", f"cards are a list of at most {MOST_CARDS} names")
        return list(cards)

    def _play(self, message: Message) -> None:
        seat, index = self._due(), message["index"]
        self._seen(message, "choose")
        if isinstance(index, bool) or not isinstance(index, int):
            raise Refused("wrong", f"an index is a whole number; got {index!r:.40}")
        self.table.choose(seat, index, self._cards(message))

    def _undo(self, message: Message) -> None:
        seat = self._mine()
        if self.table.can_undo(seat):
            self._seen(message, "undo")
        self.table.undo(seat)

    def _may_steer(self) -> None:
        """Raise Refused unless the connection may set the table's pace: people's tables obey people."""
        if self.table.people:
            self._mine()

    def _step(self, message: Message) -> None:
        self._may_steer()
        self.table.step()

    def _pace(self, message: Message) -> None:
        self._may_steer()
        pace, paused = message.get("pace"), message.get("paused")
        if not isinstance(paused, bool | None):
            raise Refused("wrong", f"paused is true or false; got {paused!r:.40}")
        self.table.set_pace(None if pace is None else checked_pace(pace), paused)

    def _open(self, message: Message) -> None:
        if self.table.people:
            raise Refused("closed", "hands are open only at tables where no person sits")
        self.open = bool(message.get("open"))
        self.show()

    def _next(self, message: Message) -> None:
        self._may_steer()
        line = self.table.play.next_round(self.seat, message.get("seat"))
        if line is None:
            return  # another player has continued
        if self.table.people:
            self._seen(message, "next")
        self.table.enter(*line)

    def _select(self, message: Message) -> None:
        cards, seat, play = self._cards(message), self._mine(), self.table.play
        moves, why = play.fits(seat, cards) if seat in play.pending else ([], {"code": "not_your_turn"})
        self._say({"type": "fits", "id": message.get("id"), "moves": moves, "why": why})

    def _suggest(self, message: Message) -> None:
        seat = self._due()
        moves = self.table.play.suggested(seat)
        self._say({"type": "suggestions", "since": self._since(seat), "moves": moves})

    def _ask_hint(self, message: Message) -> None:
        """Have a hint worked out, and given as a message: thinking, then done or failed.

        Asked for again meanwhile, the hint is only awaited; one about something else takes its place.
        """
        seat = self._due()
        find = self.table.agents.hint(self.table.play, seat, message.get("agent"))
        wanted = {"since": self._since(seat), "agent": message.get("agent")}
        if self._hint is not None and not self._hint.done():
            if self._wanted == wanted:
                return
            self._hint.cancel()
            given_up = "another hint was asked for meanwhile"
            self._say({"type": "hint", **self._wanted, "status": "failed", "error": given_up})
        self._wanted = wanted
        self._say({"type": "hint", **wanted, "status": "thinking"})

        async def wait() -> None:
            try:
                told = {"status": "done", **await find()}
            except Refused as error:
                told = {"status": "failed", "error": str(error)}
            self._say({"type": "hint", **wanted, **told})

        self._hint = asyncio.create_task(wait())

    def _arrange(self, message: Message) -> None:
        """Have a hand laid out beside the event loop: kernels may have to be compiled.

        Asked for again meanwhile, it is only awaited.
        """
        layout = self.table.play.layout(self._mine())
        if self._arranging is not None and not self._arranging.done():
            return

        async def wait() -> None:
            self._say({"type": "arranged", "moves": await asyncio.to_thread(layout)})

        self._arranging = asyncio.create_task(wait())

    # --- the line ---

    async def _send(self) -> None:
        shown = None
        while True:
            await self._changed.wait()
            self._changed.clear()
            hands = self.open and not self.table.people
            state = json.dumps(self.table.state(self.seat, hands=hands), allow_nan=False)
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
            self._say({"type": "error", "code": error.code, "text": str(error)})
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            self._bad += 1
            self._say({"type": "error", "code": "wrong", "text": f"{kind}: {error!r}"})

    def _answer(self, kind: Any, message: Message) -> None:
        if not isinstance(kind, str) or kind not in self._answers:
            raise Refused("wrong", f"a message is an object with a type; got {str(message)[:60]!r}")
        self._answers[kind](message)
