"""The server's WebSocket connections: messages in, messages out, bounded both ways.

The connections are those of `websockets.asyncio.server`. Two things are added. A handshake that cannot be
read gets an HTTP answer and a line in the log, where the library says nothing. And messages are sent without
waiting: a notification leaves together with what must go at once, and a client that does not read is cut off.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed, InvalidMessage
from websockets.frames import CloseCode
from websockets.http11 import Request, Response
from websockets.protocol import State

from gs2.admission import read_path, refusal

logger = logging.getLogger("gs2.guandan.table")

# the library tells of every connection at level INFO, and of every frame at DEBUG; that stays out of our log
_library_logger = logging.getLogger("gs2.guandan.table.wire")
_library_logger.setLevel(logging.WARNING)


@dataclass(frozen=True)
class WireLimits:
    """What a connection may cost.

    message: bytes of one message from a client; a longer one closes the connection (1009).
    backlog: bytes waiting for a client that does not read; more aborts the connection.
    handshake: seconds from connecting to a finished handshake, and again for a close to be answered.
    silence: seconds without a byte, pings unanswered, until the connection counts as dead; 0 for never.
    gather: seconds that a notification may wait for company; a request never waits. A write costs the system
    more than the play behind it, and with this most notifications leave together with a request.
    """

    message: int = 64 * 1024
    backlog: int = 8 * 1024 * 1024
    handshake: float = 10.0
    silence: float = 60.0
    gather: float = 0.1


class _AnsweringConnection(ServerConnection):
    """A connection that answers, and logs in one line, every handshake that it does not accept."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # whether anything came at all; whether a handshake was refused; what came behind one
        self._spoken = self._refused = False
        self._early = b""
        self.last_heard = time.monotonic()

    def data_received(self, data: bytes) -> None:
        """Hand on what arrived; what comes behind a handshake waits until that is answered."""
        self._spoken = True
        self.last_heard = time.monotonic()
        # line by line: the library would read frames behind a handshake that it has not accepted yet
        while data and self.state is State.CONNECTING and self.request is None and not self._refused:
            end = data.find(b"\n") + 1 or len(data)
            super().data_received(data[:end])
            data = data[end:]
        if self.request is not None and self.response is None:
            self._early += data
        elif data:
            super().data_received(data)

    async def handshake(self, *arguments: Any, **options: Any) -> None:
        """Perform the opening handshake; a client that has sent none in time is told so."""
        try:
            await super().handshake(*arguments, **options)
        except asyncio.CancelledError:
            if self.request is None and not self._refused and self.server.is_serving():
                self._answer(self.respond(HTTPStatus.REQUEST_TIMEOUT, "no handshake came\n"))
            raise
        early, self._early = self._early, b""
        if early and self.state is State.OPEN:
            super().data_received(early)

    def send_data(self) -> None:
        """Send what the protocol wants sent; before it ends the stream over what is no handshake, say why."""
        problem = self.protocol.handshake_exc
        if self.request is None and problem is not None and self._spoken and not self._refused:
            if isinstance(problem, InvalidMessage):
                reason = f"not the handshake of a WebSocket client: {problem.__cause__ or problem}\n"
                self._answer(self.respond(HTTPStatus.BAD_REQUEST, reason))
            else:
                # what is too long, the library answers itself
                self._note(f"handshake refused: {problem}")
        super().send_data()

    def note_refusal(self, response: Response) -> None:
        """Log a refusal that is sent, without the path: a token may be in it."""
        reason = bytes(response.body or b"").decode(errors="replace").split("\n")[0]
        self._note(f"handshake refused ({response.status_code}): {reason}")

    def _answer(self, response: Response) -> None:
        self.note_refusal(response)
        if not self.transport.is_closing():
            self.transport.write(response.serialize())

    def _note(self, text: str) -> None:
        self._refused = True
        # what a stranger wrote may be in the text: no control characters, and not at any length
        shown = text.encode("unicode_escape").decode()[:250]
        peer = self.remote_address
        logger.warning("%s: %s", f"{peer[0]}:{peer[1]}" if peer else "a client", shown)


class Connection:
    """One client's connection, after its handshake.

    path: of the request, decoded, without the query. seat: for the server's use. errors: messages refused.
    """

    def __init__(self, socket: _AnsweringConnection, limits: WireLimits) -> None:
        assert socket.request is not None
        self.limits = limits
        self.path, _ = read_path(socket.request)
        self.seat: Any = None
        self.errors = 0
        self._socket = socket
        self._waiting: list[bytes] = []
        self._closing: asyncio.Task[None] | None = None

    @property
    def last_heard(self) -> float:
        """When the last byte came, on the monotonic clock in seconds."""
        return self._socket.last_heard

    @property
    def open(self) -> bool:
        return self._closing is None and self._socket.state is State.OPEN

    async def messages(self) -> AsyncIterator[str | bytes]:
        """Yield what the client says, until it is gone; what comes after `close` is dropped."""
        with suppress(ConnectionClosed):
            async for message in self._socket:
                if self.open:
                    yield message

    def send(self, payload: bytes) -> None:
        """Send a text message now, after those that wait."""
        self._waiting.append(payload)
        self.flush()

    def queue(self, payload: bytes) -> None:
        """Send a text message within `limits.gather` seconds, or along with the next `send`."""
        if not self._waiting:
            asyncio.get_running_loop().call_later(self.limits.gather, self.flush)
        self._waiting.append(payload)

    def flush(self) -> None:
        """Write the messages that wait, in one call; a client that has stopped reading is cut off."""
        waiting, self._waiting = self._waiting, []
        if not waiting or not self.open:
            return
        for payload in waiting:
            self._socket.protocol.send_text(payload)
        self._write()
        if self._socket.transport.get_write_buffer_size() > self.limits.backlog:
            logger.warning("a client reads too slowly: %d bytes wait, cut off", self.limits.backlog)
            self.abort()

    def _write(self) -> None:
        self._socket.transport.write(b"".join(self._socket.protocol.data_to_send()))

    def ping(self) -> None:
        """Ask for a sign of life; an answer shows in `last_heard`."""
        if self.open:
            self._socket.protocol.send_ping(b"")
            self._write()

    def close(self, code: int = CloseCode.NORMAL_CLOSURE, reason: str = "") -> None:
        """Close with a code and a reason, cut to the 123 bytes that fit, after what waits is sent."""
        self.flush()
        if self.open:
            end = self._socket.close(code, reason.encode()[:120].decode(errors="ignore"))
            self._closing = asyncio.get_running_loop().create_task(end)

    def abort(self) -> None:
        self._socket.transport.abort()


async def listen(
    talk: Callable[[Connection], Awaitable[None]],
    host: str,
    port: int,
    limits: WireLimits,
    *,
    token: str | None,
) -> Server:
    """Return a server that listens at an address; `talk` deals with each of its clients.

    token: what clients must show.
    Raises OSError if the address cannot be had.
    """

    async def shaken(socket: ServerConnection) -> None:
        assert isinstance(socket, _AnsweringConnection)
        await talk(Connection(socket, limits))

    def admit(socket: ServerConnection, request: Request, response: Response) -> Response | None:
        assert isinstance(socket, _AnsweringConnection)
        refused = None
        if response.status_code == HTTPStatus.SWITCHING_PROTOCOLS:
            refused = refusal(request, token)
            if refused is None:
                return None
            response = socket.respond(*refused)
        socket.note_refusal(response)
        return response

    return await serve(
        shaken,
        host,
        port,
        process_response=admit,
        create_connection=_AnsweringConnection,
        compression=None,
        server_header=None,
        open_timeout=limits.handshake,
        close_timeout=limits.handshake,
        ping_interval=None,
        max_size=limits.message,
        logger=_library_logger,
        backlog=4096,
    )
