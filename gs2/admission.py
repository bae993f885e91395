"""Who may connect to a server of ours: tokens, and the checks of a WebSocket handshake."""

from __future__ import annotations

import hmac
from http import HTTPStatus
from urllib.parse import parse_qs, unquote, urlsplit

from websockets.http11 import Request

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Hosts that only this machine can reach."""

Refusal = tuple[HTTPStatus, str]
"""The status and the text of the answer to a client that is not let in."""


def check_token(token: str, error: type[ValueError] = ValueError) -> str:
    """Return a token that clients can show in a URL and in a header: visible ASCII, at least one character.

    Raises `error` for any other. An empty token would be shown by everybody who shows none, and a header
    cannot carry blanks at its ends, nor most other characters.
    """
    if token and all("!" <= letter <= "~" for letter in token):
        return token
    what = "one with other characters" if token.strip() else "an empty one"
    raise error(
        f"a token is one or more visible ASCII characters, without blanks; got {what}; "
        "make one with: python -c 'import secrets; print(secrets.token_urlsafe())'"
    )


def read_path(request: Request) -> tuple[str, dict[str, str]]:
    """Return a request's path, decoded, and the first value of each name in its query.

    Raises ValueError if the path makes no sense.
    """
    parts = urlsplit(request.path)
    return unquote(parts.path), {name: values[0] for name, values in parse_qs(parts.query).items()}


def refusal(request: Request, token: str | None) -> Refusal | None:
    """Return how a valid WebSocket handshake is refused, or None if it is accepted.

    token: what clients must show; None if they need not.
    """
    try:
        _, query = read_path(request)
    except ValueError as error:
        return HTTPStatus.BAD_REQUEST, f"the path cannot be read: {error}\n"
    for name in ("Host", "Authorization"):
        # two programs along the way might disagree on which of two counts
        if len(request.headers.get_all(name)) > 1:
            return HTTPStatus.BAD_REQUEST, f"a handshake has one {name} header; got several\n"
    if token is None:
        if _harmless_origin(request):
            return None
        return HTTPStatus.FORBIDDEN, "a page of another host may not connect to a server without a token\n"
    if _shows(request, query, token):
        return None
    return (
        HTTPStatus.UNAUTHORIZED,
        "give the server's token as ?token=TOKEN or Authorization: Bearer TOKEN\n",
    )


def _harmless_origin(request: Request) -> bool:
    """Return whether a request comes from no foreign web page, by its Origin.

    A page must not reach a server on loopback behind its user's back. Programs send no Origin, or, as the
    libraries of many bots do, the server's own address.
    """
    for origin in request.headers.get_all("Origin"):
        try:
            parts = urlsplit(origin)
            if parts.scheme not in ("ws", "wss") and parts.hostname not in LOOPBACK:
                return False
        except ValueError:
            return False
    return True


def _shows(request: Request, query: dict[str, str], token: str) -> bool:
    """Return whether a request shows the token, in its query or, where there is one, in a Bearer header."""
    given = query.get("token", "")
    scheme, _, bearer = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        given = bearer.strip()
    return hmac.compare_digest(given.encode(errors="surrogatepass"), token.encode())
