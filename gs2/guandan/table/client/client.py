"""A seat at somebody else's table: our agents as clients of a server in either dialect.

Servers differ in what they send and in what they get wrong. Whatever arrives, the client goes on: what it
cannot read it leaves out, what is repeated it answers again, a connection that breaks it opens anew, and a
server that has fallen silent is asked whether it is still there, which wakes the official one.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import (
    ConnectionClosed,
    InvalidMessage,
    InvalidStatus,
    InvalidURI,
    WebSocketException,
)

from games.guandan.rules import PRESETS
from gs2.guandan.table.client.tracker import Tracker
from gs2.guandan.table.client.visit import ClientConfig, ClientError, ClientResult, Transcript
from gs2.guandan.table.hosts import Host
from gs2.guandan.table.seat import AgentError
from gs2.guandan.table.wire import messages as m

__all__ = ["TableClient"]

logger = logging.getLogger("gs2.guandan.table")

FRAME = 16 * 1024 * 1024
"""Bytes of a message from a server; a lead with two wild cards has over 300,000."""
PASS = ["PASS", "PASS", "PASS"]
CLOSE = 1.0
"""Seconds that a server has to answer when we leave."""
_COMMANDS = {"play": "PLAY", "tribute": "TRIBUTE", "back": "PAYTRIBUTE"}


class TableClient:
    """Plays one seat until the games are over.

        client = TableClient(ClientConfig("ws://127.0.0.1:8181"), ThreadHost(MyAgent))
        result = await client.run()

    seated: resolves to the room's number when the server has given a seat (openguandan).
    listeners: told of every message, too, but requests. transcript: hears every message that can be read.
    """

    def __init__(self, config: ClientConfig, host: Host) -> None:
        self.config, self.host = config, host
        self.result = ClientResult(config.user)
        usual = PRESETS["njupt" if config.dialect == "njupt" else "ruling"]
        self.tracker = Tracker(config.rules or usual, self.result)
        self.listeners: list[Callable[[m.ServerMessage], None]] = []
        self.transcript: Transcript | None = None
        self.seated: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._room = config.room
        # of the whole visit: whether the server has ever given us a seat; of this connection: whether it has
        self._joined = False
        self._seated = False
        self._strange = ""
        self._refusal = ""
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
        """Talk over one connection until it ends or the games do."""
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
        """Send a command of openguandan."""
        await self._socket.send(m.encode({"type": kind, "data": data}).decode())

    def _nothing_came(self) -> None:
        """Say that the server has given no seat in time.

        Raises ClientError where it should have; an njupt server may still wait for players.
        """
        config = self.config
        heard = f"only {self._strange}" if self._strange else "nothing"
        if config.dialect == "openguandan":
            command = "CREATE_ROOM" if self._room is None else "JOIN_ROOM"
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
        if self._room is None:
            await self._say("CREATE_ROOM", **data, round=self.config.games)
        else:
            await self._say("JOIN_ROOM", **data, roomId=self._room)

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
        for listener in self.listeners:
            listener(message)
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
        self._request = act
        self._waits = False
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
        observation, places = self.tracker.observe(act)
        began = time.perf_counter()
        try:
            chosen = await self.host.answer(self.config.user, observation)
        except AgentError as error:
            logger.warning("%s: %s; a default move is played", self.config.user, error)
            self.result.fallbacks += 1
            chosen = 0
        self.result.timing.add(time.perf_counter() - began)
        index = places[chosen]
        return (PASS if index < 0 else list(act.actionList[index])), max(index, 0)

    async def _answer(self, act: m.Act, move: Any, index: int) -> None:
        self.result.decisions += 1
        if self.config.dialect == "njupt":
            await self._socket.send(m.encode({"actIndex": index}).decode())
        else:
            back = act.stage == "back"
            paid = {"tributePos": act.tributePos, "tribute": act.tribute} if back else {}
            data = {"roomId": self._room, "player": self.tracker.seat, "act": move}
            await self._say(_COMMANDS[act.stage], **data, **paid)
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
            room = data.get("roomId", self._room)
            if not isinstance(room, int) or (message.type == "CREATE_ROOM" and "round" in data):
                # some echo what they are sent
                raise self._lost(
                    f"{self.config.url} answers {message.type} without a room; is it a GuanDan server?"
                )
            self._room = room
            self._joined = self._seated = True
            self.result.room = room
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
            if self._waits and self._room is not None and silent:
                self._heard = time.monotonic()
                logger.info("%s: the server is silent; asking for the room", self.config.user)
                try:
                    await self._say("GET_ROOMPLAYER", roomId=self._room)
                except ConnectionClosed:
                    return
