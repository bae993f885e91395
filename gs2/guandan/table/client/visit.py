"""Where a client goes, and what it wants there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from urllib.parse import quote

from games.guandan.rules import PRESETS, Rules
from gs2.admission import check_token

__all__ = ["DIALECTS", "ClientConfig", "ClientError"]

DIALECTS = ("openguandan", "njupt")


class ClientError(ValueError):
    """A server that cannot be reached, or does not give us a seat."""


@dataclass(frozen=True)
class ClientConfig:
    """One seat at a server.

    url: `ws://HOST:PORT`; for njupt the path `/game/NAME` is added if there is none.
    user: userId, or the name in the path. games: to play. room: to join; None to create one (openguandan).
    seat: wanted; None for the first free. token: of a gs2 server.
    reconnect: tries to come back after a lost connection. silence: seconds without a word from the server,
    after which it is asked for one (openguandan). linger: seconds to wait for last words after the result.
    between: seconds to wait for another game after an end that may not be the last. patience: seconds until
    the server must have let us in, and for openguandan given a seat; an njupt server may be silent as long as
    it waits for players, so there it is only said that nothing was heard.
    rules: by which the server plays, as messages do not tell them; None for the dialect's usual ones. What an
    agent is after at level A follows from them.
    """

    url: str
    dialect: str = "openguandan"
    user: str = "gs2"
    games: int = 1
    room: int | None = None
    seat: int | None = None
    token: str | None = None
    reconnect: int = 5
    silence: float = 5.0
    linger: float = 1.0
    between: float = 10.0
    patience: float = 8.0
    rules: Rules | None = None

    def __post_init__(self) -> None:
        if self.dialect not in DIALECTS:
            raise ClientError(f"a dialect is one of {', '.join(DIALECTS)}; got {self.dialect!r}")
        if not self.user:
            raise ClientError("a user has a name; got an empty one; leave it out for the default")
        if self.games < 1:
            raise ClientError(f"games is at least 1; got {self.games}")
        for name in ("silence", "linger", "between", "patience"):
            seconds = getattr(self, name)
            if not (math.isfinite(seconds) and seconds > 0):
                raise ClientError(f"{name} is a number of seconds above 0; got {seconds:g}")
        if self.token is not None:
            try:
                check_token(self.token)
            except ValueError as error:
                raise ClientError(str(error)) from None

    def played_rules(self) -> Rules:
        """Return the rules by which the server is taken to play."""
        return self.rules or PRESETS["njupt" if self.dialect == "njupt" else "ruling"]

    def address(self) -> str:
        """Return the URL to connect to."""
        url, mark, query = self.url.partition("?")
        url = url.rstrip("/")
        if self.dialect == "njupt" and "/game/" not in url:
            url = f"{url}/game/{quote(self.user, safe='')}"
        if self.token is not None:
            query, mark = "&".join(filter(None, (query, f"token={quote(self.token, safe='')}"))), "?"
        return f"{url}{mark}{query}"

    @property
    def other_dialect(self) -> str:
        """What to try if the server speaks the other dialect."""
        other = next(name for name in DIALECTS if name != self.dialect)
        return f"if it is a server of the {other} dialect, pass --dialect {other}"
