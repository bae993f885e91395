"""Where a client goes, what its seat lives through there, and the transcript of what it is told."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote

from msgspec import UNSET

from games.guandan.rules import PRESETS, Rules
from games.support.files import create
from gs2.admission import check_token
from gs2.guandan.table.client.tracker import opens_a_game
from gs2.guandan.table.server.recording import RecordFolder, Timing
from gs2.guandan.table.wire import messages as m
from gs2.guandan.table.wire.encode import DIALECTS

__all__ = ["ClientConfig", "ClientError", "ClientResult", "Ending", "GameEnd", "Transcript"]


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

    def note(self, message: m.ServerMessage) -> None:
        """Take in the seat that a deal gives us, and the end of a round."""
        if isinstance(message, m.Beginning):
            self.seat = message.myPos
        elif isinstance(message, m.EpisodeOver):
            self.rounds += 1
            order = message.order
            if sorted(order) == [0, 1, 2, 3]:
                gain = 4 - order.index((order[0] + 2) % 4)
                self.shares[gain if (order[0] - self.seat) % 2 == 0 else -gain] += 1


class Ending:
    """What was said of the end of a game since the last deal, and whether it was that of the last game.

    Some servers end every game with gameOver and the last with gameResult too, the official one every game
    with gameResult and the last with gameOver too: between two deals one game ends. Others say one word after
    all games: there a game has ended where a round begins as only first rounds do.
    """

    def __init__(self, config: ClientConfig, result: ClientResult) -> None:
        """Games that end, and what the server says of them, are added to `result`."""
        self._config, self._seat_result = config, result
        self._over: m.GameOver | None = None
        self._told = False
        self._exchanged = False
        self._rounds = 0
        self._winner: int | None = None

    def note(self, message: m.ServerMessage) -> None:
        """Take in a deal, a request, or the end of a round or a game."""
        if isinstance(message, m.Beginning):
            self._over, self._told, self._exchanged = None, False, False
        elif isinstance(message, m.TributeNotice | m.AntiTributeNotice):
            self._exchanged = True
        elif isinstance(message, m.Act):
            self._exchanged = self._exchanged or message.stage != "play"
            if self._rounds and opens_a_game(message, self._exchanged):
                self._game_over()
        elif isinstance(message, m.EpisodeOver):
            self._rounds += 1
            # a game is won by winning a round at A
            self._winner = message.order[0] & 1 if message.order and message.curRank == "A" else None
        elif isinstance(message, m.GameOver | m.GameResult):
            if self._over is None and not self._told:
                self._game_over()
            self._note_winner(message.victory)
            if isinstance(message, m.GameOver):
                self._over = message
            else:
                self._told = True
                fields = {name: getattr(message, name) for name in message.__struct_fields__}
                self._seat_result.result = {k: value for k, value in fields.items() if value is not UNSET}

    def _game_over(self) -> None:
        """Count a game; who won its last round won it, unless the server says otherwise."""
        won = None if self._winner is None else self._winner == self._seat_result.seat % 2
        self._seat_result.ended.append(GameEnd(self._rounds, won))
        self._rounds, self._winner = 0, None

    def _note_winner(self, victory: Any) -> None:
        """Take a server's word for who won the game that ended last."""
        if victory in (0, 1):
            self._seat_result.ended[-1].won = victory == self._seat_result.seat % 2
        elif victory == -1:
            self._seat_result.ended[-1].won = None

    @property
    def last_words(self) -> float | None:
        """Seconds to wait for another word, once the games seem to be over; None while they are not.

        It is the number of games that tells, where we have asked for it ourselves; else both words of the
        end, or a gameOver that counts as many games as were agreed on. The official server counts games
        finished there, so what looks like the last game is, unless another begins.
        """
        over, config = self._over, self._config
        if over is None and not self._told:
            return None
        if over is not None and not self._told and over.curTimes < over.settingTimes:
            return None
        ours = config.dialect == "openguandan" and config.room is None
        if ours or (over is not None and not self._told):
            return config.linger if self._seat_result.games >= config.games else config.between
        return config.linger if over is not None else config.between


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
        run, folder = self._records.run, self._records.path
        names = (f"{run}-heard{'' if k == 1 else f'-{k}'}.jsonl" for k in itertools.count(1))
        self.path = next(path for path in map(folder.joinpath, names) if not path.exists())
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
