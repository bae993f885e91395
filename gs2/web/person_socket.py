"""What a browser's connection to a table sends: the state when it has changed, and answers in between."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from starlette.websockets import WebSocket

__all__ = ["PersonSocket"]


class PersonSocket:
    """A WebSocket that is told what changes; who serves it runs `_send` beside its own hearing."""

    def __init__(self, socket: WebSocket) -> None:
        self.socket = socket
        self._changed = asyncio.Event()
        self._others: list[dict[str, Any]] = []
        self._hint: asyncio.Task[None] | None = None
        self._bad = 0

    def _state(self) -> str:
        """Return the whole state as this browser may see it, a line of JSON."""
        raise NotImplementedError

    def show(self) -> None:
        """Have the state sent; several changes at once become one message."""
        self._changed.set()

    def _say(self, message: dict[str, Any]) -> None:
        self._others.append(message)
        self._changed.set()

    async def _send(self) -> None:
        shown = None
        while True:
            await self._changed.wait()
            self._changed.clear()
            state = self._state()
            if state != shown:
                shown = state
                await self.socket.send_text(state)
            others, self._others = self._others, []
            for message in others:
                await self.socket.send_text(json.dumps(message))
