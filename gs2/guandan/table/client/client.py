"""A seat at somebody else's table: our agents, or a person, as clients of a server in either dialect.

Servers differ in what they send and in what they get wrong. Whatever arrives, the client goes on: what it
cannot read it leaves out, what is repeated it answers again, a connection that breaks it opens anew, and a
server that has fallen silent is asked whether it is still there, which wakes the official one.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote

import attrs
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import (
    ConnectionClosed,
    InvalidMessage,
    InvalidStatus,
    InvalidURI,
    WebSocketException,
)

from games.guandan.rules import PRESETS, Rules
from games.support.configuration import ConfigError, Configuration, integer, one_of, real
from games.support.files import create
from gs2.admission import check_token
from gs2.guandan.table.client.human import HumanAgent, SeatLeft
from gs2.guandan.table.client.tracker import ClientResult, Tracker
from gs2.guandan.table.hosts import Host, ThreadHost
from gs2.guandan.table.seat import AgentError, Observation
from gs2.guandan.table.server.recording import RecordFolder
from gs2.guandan.table.wire import messages as m
from gs2.guandan.table.wire.moves import DIALECTS

logger = logging.getLogger("gs2.guandan.table")

FRAME = 16 * 1024 * 1024
"""Bytes of a message from a server; a lead with two wild cards has over 300,000."""
PASS = ["PASS", "PASS", "PASS"]
CLOSE = 1.0
"""Seconds that a server has to answer when we leave."""
_COMMANDS = {stage: command for command, stage in m.STAGES.items()}


class ClientError(ValueError):
    """A server that cannot be reached, or does not give us a seat."""


@attrs.frozen(slots=False)
class ClientConfig(Configuration):
    """One seat at a server.

    url: `ws://HOST:PORT`; for njupt the path `/game/NAME` is added if there is none.
    user: userId, or the name in the path. games: to play. room: to join; None to create one. seat: wanted;
    None for the first free (both openguandan). token: of a gs2 server.
    reconnect: tries to come back after a lost connection. silence: seconds without a word from the server,
    after which it is asked for one (openguandan). linger: seconds to wait for last words after the result.
    between: seconds to wait for another game after an end that may not be the last. patience: seconds until
    the server must have let us in, and for openguandan given a seat; an njupt server may be silent as long as
    it waits for players, so there it is only said that nothing was heard.
    rules: by which the server plays, as messages do not tell them; None for the dialect's usual ones. What an
    agent is after at level A follows from them.
    """

    url: str
    dialect: str = attrs.field(default="openguandan", validator=one_of(DIALECTS))
    user: str = "gs2"
    games: int = attrs.field(default=1, validator=integer(1))
    room: int | None = attrs.field(default=None, validator=integer(0, optional=True))
    seat: int | None = attrs.field(default=None, validator=integer(0, 3, optional=True))
    token: str | None = None
    reconnect: int = attrs.field(default=5, validator=integer(0))
    silence: float = attrs.field(default=5.0, validator=real(0, above=True, unit="seconds"))
    linger: float = attrs.field(default=1.0, validator=real(0, above=True, unit="seconds"))
    between: float = attrs.field(default=10.0, validator=real(0, above=True, unit="seconds"))
    patience: float = attrs.field(default=8.0, validator=real(0, above=True, unit="seconds"))
    rules: Rules | None = None

    def check(self) -> None:
        """Raise ConfigError for no name, a token that cannot be shown, or a place where none is chosen."""
        if not self.user:
            raise ConfigError("user must be a name; got an empty one; leave it out for the default")
        if self.dialect == "njupt" and (self.room, self.seat) != (None, None):
            got = f"seat {self.seat}" if self.room is None else f"room {self.room}"
            raise ConfigError(f"seat and room must be left out for njupt, which seats in order; got {got}")
        if self.token is not None:
            check_token(self.token, ConfigError)

    def address(self) -> str:
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


class Transcript:
    """A new file `{run}-heard.jsonl` in a folder of records, whole after every message.

    path: the file; None until there is something to keep. Raises FileProblem if nothing can be written
    in the folder.
    """

    def __init__(self, folder: Path) -> None:
        self._records = RecordFolder(folder)
        self.path: Path | None = None
        self._file: TextIO | None = None

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
        if self._file is None:
            self.path = next(path for path in self._records.paths("heard") if not path.exists())
            self._file = create(self.path)
        self._file.write(line + "\n")
        self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


class TableClient:
    """Plays one seat until the games are over.

        client = TableClient(ClientConfig("ws://127.0.0.1:8181"), ThreadHost(MyAgent))
        result = await client.run()

    seated: resolves to the room's number when the server has given a seat (openguandan).
    transcript: hears every message that can be read.
    """

    def __init__(self, config: ClientConfig, host: Host) -> None:
        self.config, self.host = config, host
        self.result = ClientResult(config.user, room=config.room)
        usual = PRESETS["njupt" if config.dialect == "njupt" else "ruling"]
        self.tracker = Tracker(config.rules or usual, self.result)
        self.transcript: Transcript | None = None
        self.seated: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        # of the whole visit: whether the server has ever given us a seat; of this connection: whether it has
        self._joined = self._seated = False
        self._strange = self._refusal = ""
        self._tries = 0
        self._heard = 0.0
        self._waits = False
        self._request: m.Act | None = None
        self._thinking: asyncio.Task[None] | None = None
        self._socket: ClientConnection

    async def run(self) -> ClientResult:
        """Play, and return what came of it.

        Raises ClientError if the server cannot be reached, gives no seat, or is lost for good.
        """
        while True:
            problem = await self._visit()
            if self._last_words() is not None:
                return self.result
            self._tries += 1
            if not self._joined or self._tries > self.config.reconnect:
                why = self._refusal or problem
                raise self._lost(f"the games at {self.config.url} were cut off: {why}")
            self.result.reconnects += 1
            logger.info("%s: %s; connecting again", self.config.user, problem)
            await asyncio.sleep(min(0.1 * 2**self._tries, 5.0))

    def _last_words(self) -> float | None:
        """Return the seconds to wait for another word, once the games seem to be over; None before.

        It is the number of games that tells, where we have asked for it ourselves; else both words of the
        end, or a gameOver that counts as many games as were agreed on. The official server counts games
        finished there, so what looks like the last game is, unless another begins.
        """
        over, told, config = self.tracker.over, self.tracker.told, self.config
        if not told and (over is None or over.curTimes < over.settingTimes):
            return None
        ours = config.dialect == "openguandan" and config.room is None
        if ours or not told:
            return config.linger if self.result.games >= config.games else config.between
        return config.linger if over is not None else config.between

    def _unreachable(self, error: Exception) -> str:
        """Return what is wrong with an address at which no connection was opened, and what to do."""
        config = self.config
        if isinstance(error, InvalidStatus):
            status = error.response.status_code
            if status in (401, 403):
                said = bytes(error.response.body or b"").decode(errors="replace").strip()[:200]
                if status == 403 and not said:  # a table's own refusal says why
                    return (
                        "what answers there lets nobody in (HTTP 403): no GuanDan table, for a server of "
                        "pages is none, or one that wants a --token"
                    )
                return f"the server lets nobody in without its token (HTTP {status}: {said}); pass --token"
            return (
                f"what answers there is no GuanDan table (HTTP {status}); check host, port and path; "
                f"{config.other_dialect}"
            )
        if isinstance(error, InvalidMessage):
            return "what answers there is no WebSocket server; check host and port"
        if isinstance(error, TimeoutError) and not getattr(error, "errno", None):
            return f"no answer within {config.patience:g} s; check host and port"
        if isinstance(error, InvalidURI | UnicodeError) or type(error) is ValueError:
            return f"an address is ws://HOST:PORT ({error})"
        return str(error)

    async def _visit(self) -> str:
        """Play over one connection until it ends or the games do; return how it ended."""
        try:
            self._socket = await connect(
                self.config.address(),
                max_size=FRAME,
                compression=None,
                ping_interval=None,
                proxy=None,
                open_timeout=self.config.patience,
                close_timeout=CLOSE,
            )
        except (OSError, WebSocketException, TimeoutError, ValueError) as error:
            problem = self._unreachable(error)
            if isinstance(error, InvalidURI | UnicodeError) or not self._joined:
                raise self._lost(f"cannot connect to {self.config.url}: {problem}") from None
            return problem
        try:
            try:
                await self._play()
            finally:
                # leaving is no error of ours, as the context manager would say when we are called off
                await self._socket.close()
        except ConnectionClosed as error:
            refusal = error.rcvd.reason if error.rcvd is not None and error.rcvd.code == 1008 else ""
            if not self._joined and (refusal or self.config.dialect == "openguandan"):
                said = f": {refusal}" if refusal else f" before it gave a seat ({error})"
                raise self._lost(
                    f"{self.config.url} closed the connection{said}; {self.config.other_dialect}"
                ) from None
            return str(error)
        except (OSError, TimeoutError) as error:
            return str(error)
        return "the server closed the connection"

    def _lost(self, text: str) -> ClientError:
        error = ClientError(text)
        if not self.seated.done():
            self.seated.set_exception(error)
            self.seated.exception()
        return error

    async def _play(self) -> None:
        self._waits, self._request, self._seated = False, None, False
        self._heard = time.monotonic()
        patience: float | None = self._heard + self.config.patience
        watch = asyncio.get_running_loop().create_task(self._watch())
        try:
            if self.config.dialect == "openguandan":
                await self._ask_for_seat()
            while True:
                if self._seated:
                    patience = None
                limit = self._last_words()
                if limit is None and patience is not None:
                    limit = patience - time.monotonic()
                try:
                    async with asyncio.timeout(limit):
                        text = await self._socket.recv()
                except TimeoutError:
                    if patience is None:
                        return
                    self._nothing_came()
                    patience = None
                    continue
                self._heard = time.monotonic()
                await self._received(text)
        finally:
            watch.cancel()
            if self._thinking is not None:
                self._thinking.cancel()

    async def _say(self, kind: str, **data: Any) -> None:
        await self._socket.send(m.encode({"type": kind, "data": data}).decode())

    def _nothing_came(self) -> None:
        """Say that the server has given no seat in time.

        Raises ClientError where it should have; an njupt server may still wait for players.
        """
        config = self.config
        heard = f"only {self._strange}" if self._strange else "nothing"
        if config.dialect == "openguandan":
            command = "CREATE_ROOM" if self.result.room is None else "JOIN_ROOM"
            text = f"{config.url} gives no seat: {heard} within {config.patience:g} s after {command}"
            if self._joined:
                raise TimeoutError(text)
            raise self._lost(f"{text}; is it a GuanDan server? {config.other_dialect}")
        logger.warning(
            "%s: %s from %s within %g s: it waits for more players, or is another kind of server; %s",
            config.user,
            heard,
            config.url,
            config.patience,
            config.other_dialect,
        )

    async def _ask_for_seat(self) -> None:
        data: dict[str, Any] = {"userId": self.config.user}
        seat = self.result.seat if self._joined else self.config.seat
        if seat is not None and seat >= 0:
            data["seatNum"] = seat
        if self.result.room is None:
            await self._say("CREATE_ROOM", **data, round=self.config.games)
        else:
            await self._say("JOIN_ROOM", **data, roomId=self.result.room)

    async def _received(self, text: str | bytes) -> None:
        try:
            message = m.decode_server_message(text)
        except m.MessageError as error:
            self.result.unread += 1
            self._strange = self._strange or repr(text[:60])
            logger.warning("%s: %s", self.config.user, error)
            return
        if not isinstance(message, m.Reply):
            self._tries = 0
        if not self._seated:
            self._check_dialect(message)
        self.tracker.note(message)
        if self.transcript is not None:
            self.transcript.hear(self.result.seat, text)
        if isinstance(message, m.Act):
            self._asked(message)
            return
        if isinstance(message, m.Reply):
            await self._replied(message)

    def _check_dialect(self, message: m.ServerMessage) -> None:
        """Take what a server says before it has given us a seat as a sign of its dialect.

        Raises ClientError if it is the other one.
        """
        config = self.config
        if config.dialect == "njupt":
            if not isinstance(message, m.Reply):
                self._seated = self._joined = True
            elif message.code != 200:
                raise self._lost(f"{config.url} answers as OpenGuanDan servers do; {config.other_dialect}")
        elif not self._joined and (not isinstance(message, m.Reply) or message.type == "error"):
            said = message.msg if isinstance(message, m.Reply) else "it deals before it is asked for a room"
            raise self._lost(
                f"{config.url} does not answer as OpenGuanDan servers do ({said}); {config.other_dialect}"
            )

    # --- being asked ---

    def _asked(self, act: m.Act) -> None:
        if self._thinking is not None and not self._thinking.done():
            if self._request == act:
                return
            self._thinking.cancel()
        self._request, self._waits = act, False
        # the reader must go on reading: the server may end the game, or ask something else, meanwhile
        self._thinking = asyncio.get_running_loop().create_task(self._think(act))

    async def _think(self, act: m.Act) -> None:
        try:
            await self._answer(act, *await self._choose(act))
        except ConnectionClosed:
            return
        except Exception:
            logger.exception("%s: no answer to a request", self.config.user)

    async def _choose(self, act: m.Act) -> tuple[Any, int]:
        """Return the chosen entry of the list and its index; a default if the agent fails."""
        if len(act.actionList) <= 1 and (act.greaterPos < 0 or not act.handCards or act.stage != "play"):
            # asked without a choice: also what the official server does to players who have finished
            return (list(act.actionList[0]) if act.actionList else PASS), 0
        began, chosen, places = time.perf_counter(), 0, [0]
        try:
            observation, places = self.tracker.observe(act)
            began = time.perf_counter()
            chosen = await self.host.answer(self.config.user, observation)
        except ValueError as error:  # of the agent, or of a request in which cards clash
            logger.warning("%s: %s; a default move is played", self.config.user, error)
            self.result.fallbacks += 1
        self.result.timing.add(time.perf_counter() - began)
        index = places[chosen] if places else 0  # of a list in which nothing can be read
        return (PASS if index < 0 else list(act.actionList[index])), max(index, 0)

    async def _answer(self, act: m.Act, move: Any, index: int) -> None:
        self.result.decisions += 1
        if self.config.dialect == "njupt":
            await self._socket.send(m.encode({"actIndex": index}).decode())
        else:
            data = {"roomId": self.result.room, "player": self.tracker.seat, "act": move}
            if act.stage == "back" and act.tributePos is not None:
                data |= {"tributePos": act.tributePos, "tribute": act.tribute}
            await self._say(_COMMANDS[act.stage], **data)
        self._waits = True

    # --- replies, errors, silence ---

    async def _replied(self, message: m.Reply) -> None:
        data = message.data if isinstance(message.data, dict) else {}
        if message.type in ("CREATE_ROOM", "JOIN_ROOM"):
            if message.code != 200:
                if self._joined:
                    self._refusal = f"not let in again: {data.get('msg')}"
                    logger.warning("%s: %s", self.config.user, self._refusal)
                    await self._socket.close()
                    return
                raise self._lost(f"{self.config.url} gives no seat: {data.get('msg', 'no reason given')}")
            room = data.get("roomId", self.result.room)
            if not isinstance(room, int) or (message.type == "CREATE_ROOM" and "round" in data):
                # some echo what they are sent
                raise self._lost(
                    f"{self.config.url} answers {message.type} without a room; is it a GuanDan server?"
                )
            self.result.room = room
            self._joined = self._seated = True
            if not self.seated.done():
                self.seated.set_result(room)
        elif message.code != 200 or message.type == "error":
            self.result.refused += 1
            said = data.get("msg") or message.msg or message
            logger.warning("%s: the server says: %s", self.config.user, said)
        elif not self._seated:
            self._strange = self._strange or repr(message.type)

    async def _watch(self) -> None:
        """Wake a server that has said nothing since our last answer."""
        while self.config.dialect == "openguandan":
            await asyncio.sleep(self.config.silence / 2)
            silent = time.monotonic() - self._heard > self.config.silence
            if self._waits and self.result.room is not None and silent:
                self._heard = time.monotonic()
                logger.info("%s: the server is silent; asking for the room", self.config.user)
                with suppress(ConnectionClosed):
                    await self._say("GET_ROOMPLAYER", roomId=self.result.room)


# --- a person in the seat ---


class PersonHost(ThreadHost):
    """Where a person answers: one question at a time, dropped when nobody waits for it any more.

    left: resolves to what was said when the person left. Made on a running event loop.
    """

    def __init__(self, make: Callable[[], HumanAgent]) -> None:
        super().__init__(make, threads=1)
        self.left: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def answer(self, key: Hashable, observation: Observation) -> int:
        """Return the person's choice; never, once the person has left."""
        try:
            return await super().answer(key, observation)
        except asyncio.CancelledError:
            agent = self.seats.agents.get(key)
            if agent is not None and isinstance(agent.agent, HumanAgent):
                agent.agent.call_off()
            raise
        except AgentError as error:
            if not isinstance(error.__cause__, SeatLeft):
                raise
            if not self.left.done():
                self.left.set_result(str(error.__cause__))
            # whoever hears of it calls off this visit
            await asyncio.Event().wait()
            raise
