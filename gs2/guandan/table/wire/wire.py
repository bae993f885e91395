"""WebSocket connections of the server: frames in, frames out, bounded both ways.

The protocol itself is `websockets`' (its Sans-I/O layer). What it leaves to the caller is done here for a
server that sends five frames a move to thousands of clients: a frame shared by four players is built once,
and what need not arrive at once leaves together with what must.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Protocol, cast
from urllib.parse import parse_qs, unquote, urlsplit

from websockets.exceptions import InvalidMessage, InvalidState
from websockets.frames import CloseCode, Frame, Opcode
from websockets.http11 import Request, Response
from websockets.protocol import State
from websockets.server import ServerProtocol

__all__ = ["LOOPBACK", "Connection", "ConnectionHandler", "WireLimits", "check_token", "text_frame"]

logger = logging.getLogger("gs2.guandan.table")

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Hosts that only this machine reaches."""

# websockets logs every frame at level DEBUG; its own logger keeps that out of ours
_wire_logger = logging.getLogger("gs2.guandan.table.wire.wire")
_wire_logger.setLevel(logging.WARNING)


def check_token(token: str) -> str:
    """Return a token that clients can show in a URL and in a header: visible ASCII, at least one character.

    Raises ValueError for any other. An empty one would be shown by everybody who shows none, and a header
    cannot carry blanks at its ends, nor every other character.
    """
    if token and all("!" <= letter <= "~" for letter in token):
        return token
    what = "one with other characters" if token.strip() else "an empty one"
    raise ValueError(
        f"a token is one or more visible ASCII characters, without blanks; got {what}; "
        "make one with: python -c 'import secrets; print(secrets.token_urlsafe())'"
    )


@dataclass(frozen=True)
class WireLimits:
    """What a connection may cost.

    message: bytes of one message from a client; a longer one closes the connection (1009).
    backlog: bytes waiting for a client that does not read; more aborts the connection.
    handshake: seconds from connecting to a finished handshake.
    silence: seconds without a byte, pings unanswered, until the connection counts as dead; 0 for never.
    gather: seconds that a notification may wait for company; a request never waits. A frame costs the system
    more than the play behind it, and with this most notifications leave together with a request.
    """

    message: int = 64 * 1024
    backlog: int = 8 * 1024 * 1024
    handshake: float = 10.0
    silence: float = 60.0
    gather: float = 0.1


class ConnectionHandler(Protocol):
    """What a connection tells the server; each is called on the event loop and must not block."""

    def connected(self, connection: Connection) -> None:
        """The handshake is done; `connection.path` and `.query` are known."""

    def received(self, connection: Connection, text: bytes) -> None:
        """A whole text message."""

    def received_binary(self, connection: Connection) -> None:
        """A binary message, which no dialect has."""

    def disconnected(self, connection: Connection) -> None:
        """The connection is gone; called once, and only after `connected`."""


def text_frame(payload: bytes) -> bytes:
    """Return one unmasked text frame, as a server sends it (RFC 6455, section 5.2)."""
    length = len(payload)
    if length < 126:
        return struct.pack("!BB", 0x81, length) + payload
    if length < 65536:
        return struct.pack("!BBH", 0x81, 126, length) + payload
    return struct.pack("!BBQ", 0x81, 127, length) + payload


def whole_text(data: bytes) -> bytes | None:
    """Return the text of `data` if it is exactly one whole text frame of a client, below 64 KiB; else None.

    Nearly everything a client sends is that; the protocol's own parser takes ten times as long over it.
    """
    size, key_at = len(data) - 6, 2
    if size > 125:
        size, key_at = size - 2, 4
        if size < 126 or data[:2] != b"\x81\xfe" or int.from_bytes(data[2:4], "big") != size:
            return None
    elif size < 0 or data[0] != 0x81 or data[1] != 0x80 | size:
        return None
    text = data[key_at + 4 :]
    key = data[key_at : key_at + 4]
    if key == b"\0\0\0\0":
        return text
    mask = int.from_bytes((key * (size // 4 + 1))[:size], "little")
    return (int.from_bytes(text, "little") ^ mask).to_bytes(size, "little")


def harmless_origin(request: Request) -> bool:
    """Return whether a request's Origin is none of a foreign web page.

    A page must not reach a server on loopback behind its user's back. Programs send no Origin, or, as the
    libraries of many GuanDan bots do, the server's own address.
    """
    for origin in request.headers.get_all("Origin"):
        try:
            parts = urlsplit(origin)
            if parts.scheme not in ("ws", "wss") and parts.hostname not in LOOPBACK:
                return False
        except ValueError:
            return False
    return True


def _wire_length(frame: Frame) -> int:
    """Return the bytes of a masked frame on the wire, its length in the shortest form."""
    size = len(frame.data)
    return size + (6 if size < 126 else 8 if size < 65536 else 14)


class Connection(asyncio.Protocol):
    """One client's connection.

    path: of the request, decoded, without the query. query: the query's values, first of each name.
    seat: for the server's use.
    """

    def __init__(
        self,
        handler: ConnectionHandler,
        limits: WireLimits,
        *,
        token: str | None = None,
        later: Callable[[Connection], None],
    ) -> None:
        """`later` is told once when frames begin to wait; whoever it is calls `flush`."""
        self.handler = handler
        self.limits = limits
        self.token = token
        self.path = ""
        self.query: dict[str, str] = {}
        self.seat: Any = None
        self.errors = 0
        self.last_heard = 0.0
        self._later = later
        self._protocol = ServerProtocol(max_size=limits.message, logger=_wire_logger)
        self._transport: asyncio.Transport | None = None
        self._waiting: list[bytes] = []
        self._parts: list[bytes] = []
        self._binary = False
        self._opened = False
        self._closing = False
        # whether anything came at all, and whether a handshake was refused
        self._spoken = self._answered = False
        # bytes given to the protocol that no frame has come out of yet: at 0 a frame begins
        self._inside = 0
        self._timer: asyncio.TimerHandle | None = None

    # --- asyncio calls these ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the clock of the handshake."""
        # no isinstance: other event loops have transports of their own
        self._transport = cast(asyncio.Transport, transport)
        self.last_heard = time.monotonic()
        self._timer = asyncio.get_running_loop().call_later(self.limits.handshake, self._handshake_late)

    def data_received(self, data: bytes) -> None:
        """Hand on what arrived: at once if it is one text frame, else through the protocol."""
        self.last_heard = time.monotonic()
        if self._inside == 0 and self.open and not self._parts:
            text = whole_text(data)
            if text is not None:
                self.handler.received(self, text)
                return
        protocol = self._protocol
        while data and not self._opened and not self._answered:
            # line by line: what comes behind a handshake is no frame until the handshake is accepted
            end = data.find(b"\n") + 1 or len(data)
            self._spoken = True
            protocol.receive_data(data[:end])
            data = data[end:]
            for event in protocol.events_received():
                assert isinstance(event, Request)
                self._handshake(event)
            if not self._opened and protocol.handshake_exc is not None:
                self._unreadable()
        if data:
            self._inside += len(data)
            protocol.receive_data(data)
            for event in protocol.events_received():
                assert isinstance(event, Frame)
                self._inside -= _wire_length(event)
                self._frame(event)
        self._pump()

    def eof_received(self) -> None:
        """The client closed its side."""
        self._protocol.receive_eof()
        if self._spoken and not self._opened and self._protocol.handshake_exc is not None:
            self._unreadable()
        self._pump()

    def connection_lost(self, error: Exception | None) -> None:
        """Tell the handler."""
        if self._timer is not None:
            self._timer.cancel()
        self._waiting.clear()
        self._transport = None
        if self._opened:
            self._opened = False
            self.handler.disconnected(self)

    # --- the server calls these ---

    @property
    def open(self) -> bool:
        """Whether messages can still be sent."""
        return self._opened and not self._closing

    def send(self, frame: bytes) -> None:
        """Send a frame now, after those that wait."""
        self._waiting.append(frame)
        self.flush()

    def queue(self, frame: bytes) -> None:
        """Send a frame within `limits.gather` seconds, or along with the next `send`."""
        if not self._waiting:
            self._later(self)
        self._waiting.append(frame)

    def flush(self) -> None:
        """Write the frames that wait; a client that has stopped reading is cut off."""
        waiting, transport = self._waiting, self._transport
        if not waiting:
            return
        if transport is None or not self.open:
            waiting.clear()
            return
        transport.write(waiting[0] if len(waiting) == 1 else b"".join(waiting))
        waiting.clear()
        if transport.get_write_buffer_size() > self.limits.backlog:
            logger.warning("a client reads too slowly: %d bytes wait, cut off", self.limits.backlog)
            transport.abort()

    def ping(self, within: float = 0.0) -> None:
        """Ask for a sign of life. within: seconds without one until the connection is dropped; 0: never."""
        if not self.open:
            return
        self._protocol.send_ping(b"")
        self._pump()
        if within:
            asyncio.get_running_loop().call_later(within, self._silent_since, time.monotonic())

    def _silent_since(self, moment: float) -> None:
        if self.last_heard < moment:
            self.abort()

    def close(self, code: int = CloseCode.NORMAL_CLOSURE, reason: str = "") -> None:
        """Close with a code and a reason of at most 123 bytes, after what waits is sent."""
        self.flush()
        try:
            self._protocol.send_close(code, reason.encode()[:120].decode(errors="ignore"))
        except InvalidState:
            self.abort()
            return
        self._pump()
        if self._transport is not None:
            self._timer = asyncio.get_running_loop().call_later(self.limits.handshake, self.abort)

    def abort(self) -> None:
        """Drop the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    # --- private ---

    def _handshake_late(self) -> None:
        if not self._opened:
            if not self._answered:
                self._answer_refused(self._protocol.reject(HTTPStatus.REQUEST_TIMEOUT, "no handshake came\n"))
            self.abort()

    def _handshake(self, request: Request) -> None:
        response = self._protocol.accept(request)
        if response.status_code == 101:
            response = self._checked(request) or response
        if response.status_code != 101:
            self._note_refused(response)
        self._protocol.send_response(response)
        self._pump()
        if response.status_code == 101:
            if self._timer is not None:
                self._timer.cancel()
            self._opened = True
            self.handler.connected(self)

    def _checked(self, request: Request) -> Response | None:
        """Read the request's path; return how it is refused, or None if it is not."""
        reject = self._protocol.reject
        try:
            parts = urlsplit(request.path)
            self.path = unquote(parts.path)
            self.query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        except ValueError as error:
            return reject(HTTPStatus.BAD_REQUEST, f"a path of no sense: {error}\n")
        for name in ("Host", "Authorization"):
            # which of two would count, two programs on the way might see differently
            if len(request.headers.get_all(name)) > 1:
                return reject(HTTPStatus.BAD_REQUEST, f"a handshake has one {name} header; got several\n")
        if self.token is None:
            if not harmless_origin(request):
                return reject(
                    HTTPStatus.FORBIDDEN,
                    "a page of another host may not connect to a server without a token\n",
                )
        elif not self._authorised(request, self.token):
            return reject(
                HTTPStatus.UNAUTHORIZED,
                "give the server's token as ?token=TOKEN or Authorization: Bearer TOKEN\n",
            )
        return None

    def _authorised(self, request: Request, token: str) -> bool:
        given = self.query.get("token", "")
        scheme, _, bearer = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            given = bearer.strip()
        return hmac.compare_digest(given.encode(errors="surrogatepass"), token.encode())

    def _unreadable(self) -> None:
        """Answer and note what is no handshake at all; the protocol answers only what is too long."""
        if self._answered:
            return
        problem = self._protocol.handshake_exc
        if isinstance(problem, InvalidMessage):
            reason = f"not the handshake of a WebSocket client: {problem.__cause__ or problem}\n"
            self._answer_refused(self._protocol.reject(HTTPStatus.BAD_REQUEST, reason))
        else:
            self._answered = True
            logger.warning("%s: handshake refused: %s", self._peer(), problem)

    def _answer_refused(self, response: Response) -> None:
        self._note_refused(response)
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(response.serialize())

    def _note_refused(self, response: Response) -> None:
        """Log a refusal in one line, without the path: a token may be in it."""
        self._answered = True
        reason = bytes(response.body).decode(errors="replace").split("\n")[0]
        # what a stranger wrote may be in the reason: no control characters, and not at any length
        shown = reason.encode("unicode_escape").decode()[:200]
        logger.warning("%s: handshake refused (%d): %s", self._peer(), response.status_code, shown)

    def _peer(self) -> str:
        """Return the client's address, for the log."""
        peer = self._transport.get_extra_info("peername") if self._transport is not None else None
        return f"{peer[0]}:{peer[1]}" if peer else "a client"

    def _frame(self, frame: Frame) -> None:
        opcode = frame.opcode
        if opcode is Opcode.TEXT and frame.fin and not self._parts:
            if self.open:
                self.handler.received(self, bytes(frame.data))
        elif opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
            # the protocol has checked the order of fragments and their total size
            self._parts.append(b"" if opcode is Opcode.BINARY else bytes(frame.data))
            binary = opcode is Opcode.BINARY or self._binary
            self._binary = binary and not frame.fin
            if frame.fin:
                text, self._parts = b"".join(self._parts), []
                if self.open and binary:
                    self.handler.received_binary(self)
                elif self.open:
                    self.handler.received(self, text)

    def _pump(self) -> None:
        """Send what the protocol wants sent: handshake, pongs, close frames, the end of the stream."""
        transport = self._transport
        self._closing = self._opened and self._protocol.state is not State.OPEN
        for data in self._protocol.data_to_send():
            if transport is None or transport.is_closing():
                return
            if data:
                transport.write(data)
            elif self._opened or not transport.can_write_eof():
                transport.close()
            else:
                # a refused client may still be sending: were its words left unread, the system would tell it
                # of a reset connection before it reads the answer; the handshake's clock ends the wait
                transport.write_eof()
