"""Who may talk to the server, and how much at once: an ASGI layer around everything.

The rules are those of tables of WebSocket clients (`gs2.admission`), as far as a browser can keep them: on
loopback no page of another site, nor another name for this machine, may reach the server behind a person's
back; with a token, whoever shows it may. A page shows it by a cookie that it got for it once. A browser says
in `Sec-Fetch-Site` whose page sends a request, even without an `Origin`. Another site may link to the page
and do nothing else.
"""

from __future__ import annotations

import hmac
from urllib.parse import parse_qs, quote, unquote, urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gs2.admission import LOOPBACK
from gs2.web.pages import csp

__all__ = ["COOKIE", "Guard", "TooMuch", "too_much"]

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


class TooMuch(Exception):
    """A request is larger than `LARGEST`."""


def _host(netloc: str) -> str:
    try:
        return (urlsplit(f"//{netloc}").hostname or "").lower()
    except ValueError:
        return ""


def _of(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


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
        if (origin is not None and _of(origin) != host) or _is_foreign(scope, headers):
            return PlainTextResponse("a page of another site may not use this server\n", 403)
        if self.token is None:
            if _host(host) not in LOOPBACK:
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
