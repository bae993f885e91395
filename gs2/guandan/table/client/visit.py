"""Where a client goes, what its seat lives through there, and the transcript of what it is told."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote

from games.guandan.rules import Rules
from games.support.files import create
from gs2.admission import check_token
from gs2.guandan.table.server.recording import RecordFolder, Timing
from gs2.guandan.table.wire.encode import DIALECTS

__all__ = ["ClientConfig", "ClientError", "ClientResult", "GameEnd", "Transcript"]


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
            check_token(self.token, ClientError)

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


@dataclass
class GameEnd:
    """A game that ended.

    rounds: that the seat saw of it. won: whether its team won; None for a draw, or where nobody said.
    """

    rounds: int
    won: bool | None


@dataclass
class ClientResult:
    """What a seat lived through.

    ended: games, in their order; games: how many. rounds: that ended; shares: those won by 3, 2, 1 levels
    (positive) or lost (negative).
    decisions: answered. timing: of the agent. refused: answers that the server refused. unread: messages that
    could not be read. reconnects: connections opened again. result: the server's gameResult, if it sent one.
    """

    user: str
    seat: int = -1
    room: int | None = None
    ended: list[GameEnd] = field(default_factory=list)
    rounds: int = 0
    shares: dict[int, int] = field(default_factory=lambda: dict.fromkeys((3, 2, 1, -1, -2, -3), 0))
    decisions: int = 0
    fallbacks: int = 0
    refused: int = 0
    unread: int = 0
    reconnects: int = 0
    timing: Timing = field(default_factory=Timing)
    result: dict[str, Any] | None = None

    @property
    def games(self) -> int:
        """Games that ended."""
        return len(self.ended)

    def summary(self) -> dict[str, Any]:
        """Return everything as plain data."""
        data = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "timing"}
        ended = [asdict(game) for game in self.ended]
        return {**data, "games": self.games, "ended": ended, "timing": self.timing.summary()}


class Transcript:
    """A new file `{run}-heard.jsonl` in a folder of records, whole after every message.

    path: the file; None until there is something to keep. Raises RecordFolderError if nothing can be written
    in the folder.
    """

    def __init__(self, folder: Path) -> None:
        self._records = RecordFolder(folder)
        self.path: Path | None = None
        self._file: TextIO | None = None

    def _open(self) -> TextIO:
        self.path = next(path for path in self._records.paths("heard") if not path.exists())
        return create(self.path)

    def hear(self, seat: int, text: str | bytes) -> None:
        """Add a message that came for a seat; one without a seat yet has -1. What is no JSON is left out."""
        try:
            message: Any = json.loads(text)
        except (ValueError, RecursionError):
            return
        inside = message.get("data") if isinstance(message, dict) else None
        for part in (message, inside):
            if isinstance(part, dict) and isinstance(part.get("actionList"), list):
                part["actionList"] = part["actionList"][:1]
        at = {} if seat < 0 else {"seat": seat}
        line = json.dumps({**at, "dir": "s2c", "message": message}, separators=(",", ":"), ensure_ascii=False)
        self._file = self._file or self._open()
        self._file.write(line + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
