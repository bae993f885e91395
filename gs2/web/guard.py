"""Who may talk to the server, how much at once and how slowly: an ASGI layer, and the server around it.

The rules are those of tables of WebSocket clients (`gs2.admission`), as far as a browser can keep them: on
loopback no page of another site, nor another name for this machine, may reach the server behind a person's
back; with a token, whoever shows it may. A page shows it by a cookie that it got for it once. A browser says
in `Sec-Fetch-Site` whose page sends a request, even without an `Origin`. Another site may link to the page
and do nothing else.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar
from urllib.parse import parse_qs, quote, unquote, urlsplit

import uvicorn
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from gs2.admission import LOOPBACK
from gs2.web.pages import csp

COOKIE = "gs2_token"
LARGEST = 8 << 20
"""Bytes of a request at most."""
FIXED = (
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-cache"),
)


KEEP_IDLE = 75
"""Seconds that a silent connection stays open.

Clients and proxies keep an idle line for their next request for 5 to 60 s. They are to close it: where both
ends do at about the same time, a request is lost.
"""
_LATE = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n"
    b"the request did not end in time\n"
)


class TooMuch(Exception):
    """A request is larger than `LARGEST`."""


def _part(address: str, part: str) -> str | None:
    try:
        found: str | None = getattr(urlsplit(address), part)
    except ValueError:
        return None
    return found


def _is_foreign(scope: Scope, headers: Headers) -> bool:
    """Return whether a browser sends this for a page of another origin, and not to open ours."""
    if headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
        return False
    opens = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    return not (opens and scope["path"] == "/" and scope.get("method") == "GET")


def too_much() -> Response:
    """Return the answer to a request that is larger than `LARGEST`."""
    return PlainTextResponse(f"a request is at most {LARGEST >> 20} MiB\n", 413)


class Guard:
    """Refuses what may not be asked, in words, and limits what may."""

    def __init__(self, app: ASGIApp, *, token: str | None) -> None:
        self.app, self.token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or hand it on."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        refused = self._refusal(scope)
        if refused is not None:
            if scope["type"] == "websocket":
                # before it is accepted, a close is a refused handshake
                await send({"type": "websocket.close", "code": 4403, "reason": "refused"})
            else:
                await refused(scope, receive, self._adding(send))
            return
        if scope["type"] == "websocket":
            await self.app(scope, receive, send)
            return
        length = Headers(scope=scope).get("content-length", "0")
        if not length.isdigit() or int(length) > LARGEST:
            await too_much()(scope, receive, self._adding(send))
            return
        await self.app(scope, self._counting(receive), self._adding(send))

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        for name in ("host", "origin", "authorization", "sec-fetch-site"):
            if len(headers.getlist(name)) > 1:
                return PlainTextResponse(f"a request has one {name} header; got several\n", 400)
        host, origin = headers.get("host", ""), headers.get("origin")
        if (origin is not None and _part(origin, "netloc") != host) or _is_foreign(scope, headers):
            return PlainTextResponse("a page of another site may not use this server\n", 403)
        if self.token is None:
            if _part(f"//{host}", "hostname") not in LOOPBACK:
                return PlainTextResponse(
                    "without a token this server answers to localhost only; start it with --token\n", 403
                )
            return None
        query = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [])
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        shown = [
            *query[:1],
            *([bearer.strip()] if scheme.lower() == "bearer" else []),
            *self._cookies(headers),
        ]
        if not any(hmac.compare_digest(text.encode(), self.token.encode()) for text in shown):
            return PlainTextResponse(
                "give the server's token: open the address that it printed, or send "
                "Authorization: Bearer TOKEN\n",
                401,
            )
        if query and scope["type"] == "http" and scope["path"] == "/" and scope["method"] == "GET":
            # the token leaves the address bar
            answer = RedirectResponse("/", 303)
            answer.set_cookie(COOKIE, quote(self.token, safe=""), httponly=True, samesite="strict")
            return answer
        return None

    @staticmethod
    def _cookies(headers: Headers) -> list[str]:
        """Return the values of our cookie. The others are of anybody on this host, and may be of any form."""
        parts = (part.partition("=") for part in ";".join(headers.getlist("cookie")).split(";"))
        return [unquote(value.strip()) for name, _, value in parts if name.strip() == COOKIE]

    @staticmethod
    def _counting(receive: Receive) -> Receive:
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > LARGEST:
                raise TooMuch
            return message

        return counted

    @staticmethod
    def _adding(send: Send) -> Send:
        async def adding(message: Message) -> None:
            if message["type"] == "http.response.start":
                fixed = (*FIXED, ("content-security-policy", csp()))
                message["headers"] = [
                    *message.get("headers", []),
                    *((name.encode(), value.encode()) for name, value in fixed),
                ]
            await send(message)

        return adding


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
