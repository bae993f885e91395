"""A browser's connection to a table: the state is sent when it has changed, and messages are heard."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from gs2.web.tables.table import Refused
from gs2.web.tables.versions import Offer, Versions

__all__ = ["Message", "PersonSocket"]

LONGEST = 4096
"""Characters of a message from a browser."""
MOST_BAD = 20
"""Messages that make no sense, until the connection is closed."""

Message = dict[str, Any]


class PersonSocket:
    """A WebSocket, a line of JSON each way; who extends it says what is shown and what is answered."""

    def __init__(self, socket: WebSocket) -> None:
        self.socket = socket
        self._changed = asyncio.Event()
        self._others: list[Message] = []
        self._hint: asyncio.Task[None] | None = None
        self._arranging: asyncio.Task[None] | None = None
        self._wanted: Message = {}
        self._bad = 0

    def _state(self) -> str:
        """Return the whole state as this browser may see it, a line of JSON."""
        raise NotImplementedError

    def _answers(self) -> dict[str, Callable[[Message], None]]:
        """Return what is done on a message of each type; it may raise Refused."""
        raise NotImplementedError

    def _seen(self, message: Message, versions: Versions, offer: Offer) -> None:
        """Raise Refused unless the browser had seen what it asks for."""
        if not versions.means(offer, message.get("version")):
            raise Refused("stale", "the table has changed since; look again")

    def show(self) -> None:
        """Have the state sent; several changes at once become one message."""
        self._changed.set()

    def _say(self, message: Message) -> None:
        self._others.append(message)
        self._changed.set()

    def _advise(self, wanted: Message, find: Callable[[], Awaitable[Message]]) -> None:
        """Have a hint worked out, and given as a message: thinking, then done or failed.

        wanted: what it is about, part of every message; asked for again meanwhile, the hint is only awaited,
        and one about something else takes its place. find: finds it; it may raise Refused.
        """
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

    def _arrange(self, hand: Callable[[], list[list[str]]]) -> None:
        """Have a hand laid out by its moves beside the event loop: kernels may have to be compiled.

        hand: returns the moves, each a list of card names. Asked for again meanwhile, it is only awaited.
        """
        if self._arranging is not None and not self._arranging.done():
            return

        async def wait() -> None:
            self._say({"type": "arranged", "moves": await asyncio.to_thread(hand)})

        self._arranging = asyncio.create_task(wait())

    async def _send(self) -> None:
        shown = None
        while True:
            await self._changed.wait()
            self._changed.clear()
            state = self._state()
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
            answer = self._answers().get(kind) if isinstance(kind, str) else None
            if answer is None:
                raise Refused("wrong", f"a message is an object with a type; got {text[:60]!r}")
            answer(message)
        except Refused as error:
            self._bad += error.code == "wrong"
            self._say({"type": "error", "code": error.code, "text": str(error)})
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            self._bad += 1
            self._say({"type": "error", "code": "wrong", "text": f"{kind}: {error!r}"})
