"""How the server runs: uvicorn, with limits on what a client leaves unfinished."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["KEEP_IDLE", "LimitedProtocol", "web_server"]

KEEP_IDLE = 75
"""Seconds that a silent connection stays open.

Clients and proxies keep an idle line for their next request for 5 to 60 s. They are to close it: where both
ends do at about the same time, a request is lost.
"""
_LATE = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n"
    b"the request did not end in time\n"
)


class LimitedProtocol(H11Protocol):
    """A connection that is closed where a request does not arrive in time, however slowly it comes.

    A WebSocket's handshake is such a request.
    """

    LIMITS: ClassVar[dict[str, float]] = {"silent": KEEP_IDLE, "head": 10.0, "body": 30.0}
    """Seconds for each part of a request: before its first byte, until its head has ended, and its body."""
    _part = ""
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait_for("silent")

    def data_received(self, data: bytes) -> None:
        """Read on, and wait for the part that is arriving now."""
        super().data_received(data)
        self._wait_for(self._arriving())

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._wait_for("")
        super().connection_lost(exc)

    def _arriving(self) -> str:
        """Return which part of a request has begun and not ended; "" for none."""
        if self.transport.get_protocol() is not self:
            return ""  # it is a WebSocket by now
        if self.cycle is None:
            return "head"
        if self.cycle.more_body:
            return "body"
        return "head" if self.cycle.response_complete else ""

    def _wait_for(self, part: str) -> None:
        if part == self._part:
            return  # each byte that comes would give a slow client more time
        self._part = part
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(self.LIMITS[part], self._late) if part else None

    def _late(self) -> None:
        answered = self.cycle is not None and self.cycle.response_started and self._part == "body"
        if self._part != "silent" and not answered:
            self.transport.write(_LATE)
        self.transport.close()


def web_server(app: Callable[..., Awaitable[None]], **options: Any) -> uvicorn.Server:
    """Return the server of an application. options: further ones of `uvicorn.Config`."""
    config = uvicorn.Config(
        app,
        http=LimitedProtocol,
        log_level="warning",
        access_log=False,
        ws_max_size=64 << 10,
        timeout_graceful_shutdown=3,
        timeout_keep_alive=KEEP_IDLE,
        server_header=False,
        **options,
    )
    return uvicorn.Server(config)
