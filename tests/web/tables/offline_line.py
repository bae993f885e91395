"""A browser's connection without a network."""

from __future__ import annotations

import asyncio
import json
from typing import Any

__all__ = ["OfflineLine"]


class OfflineLine:
    """Stands for a WebSocket: what the browser says comes in order, and what it is told is kept."""

    def __init__(self, key: str | None = None) -> None:
        self.query_params = {} if key is None else {"key": key}
        self.told: list[dict[str, Any]] = []
        self._said: asyncio.Queue[str] = asyncio.Queue()

    async def accept(self) -> None:
        """Begin."""

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """End."""

    async def receive_text(self) -> str:
        """Return the browser's next message."""
        return await self._said.get()

    async def send_text(self, text: str) -> None:
        """Keep a message to the browser."""
        self.told.append(json.loads(text))

    async def say(self, **message: Any) -> None:
        """Have the server hear a message."""
        self._said.put_nowait(json.dumps(message))
        await self.settle()

    async def settle(self) -> None:
        """Wait until what is ready has been done."""
        for _ in range(20):
            await asyncio.sleep(0)

    def hints(self) -> list[dict[str, Any]]:
        """Return what was said of hints."""
        return [message for message in self.told if message["type"] == "hint"]
