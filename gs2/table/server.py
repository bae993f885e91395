"""The match server: connections become seats, seats become tables, one process for all of them."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gs2.table import messages as m
from gs2.table.decode import find_move
from gs2.table.dialect import Dialect
from gs2.table.hosts import Host
from gs2.table.njupt import Njupt
from gs2.table.openguandan import OpenGuanDan, reply
from gs2.table.recording import SessionResult
from gs2.table.room import Room, RoomConfig, Seat, TableError
from gs2.table.seat import AgentError
from gs2.table.timing import Timing
from gs2.table.wire import Connection, WireLimits, text_frame

__all__ = ["DEFAULT_PORTS", "ServerConfig", "TableServer", "agent_names", "place_agents"]

logger = logging.getLogger("gs2.table")

DEFAULT_PORTS = {"openguandan": 8181, "njupt": 23456}
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_STAGES = {m.Play: "play", m.Tribute: "tribute", m.PayTribute: "back"}


@dataclass(frozen=True)
class ServerConfig:
    """A server's settings.

    dialect: "openguandan" or "njupt". official: the former with the official server's departures.
    host, port: where to listen; port 0 takes a free one. None: the dialect's usual port.
    games: of a session, where the client does not say (njupt; the upper limit for openguandan is none).
    agents: who fills the seats that clients leave, by name; see `place_agents`.
    rooms: tables at once. errors: refused messages after which a connection is closed.
    token: what clients must show; required unless host is a loopback address.
    record: folder for records and results. seed: of all deals; None for a fresh one.
    room: how tables treat players. limits: of connections.
    """

    dialect: str = "openguandan"
    official: bool = False
    host: str = "127.0.0.1"
    port: int | None = None
    games: int = 1
    agents: tuple[str, ...] = ()
    rooms: int = 4096
    errors: int = 1000
    token: str | None = None
    record: Path | None = None
    seed: int | None = None
    room: RoomConfig = field(default_factory=RoomConfig)
    limits: WireLimits = field(default_factory=WireLimits)

    def __post_init__(self) -> None:
        if self.dialect not in DEFAULT_PORTS:
            raise TableError(f"a dialect is one of {', '.join(DEFAULT_PORTS)}; got {self.dialect!r}")
        if self.official and self.dialect != "openguandan":
            raise TableError("only openguandan has an official server to imitate; leave that out")
        if self.token is None and self.host not in _LOOPBACK:
            raise TableError(
                f"host {self.host!r} is reachable by others, so clients must show a token; give one, "
                "or listen on 127.0.0.1"
            )
        if self.games < 1:
            raise TableError(f"games is at least 1; got {self.games}")
        place_agents(self.agents, 0)


def place_agents(agents: Sequence[str], client: int) -> dict[int, str]:
    """Return who sits where beside a client in seat `client`, by seat.

    One name takes the seat before the client's, two the opponents' seats, three all others. `SEAT:NAME` takes
    that very seat.
    Raises TableError if a seat is taken twice or no seat is left for a client.
    """
    placed: dict[int, str] = {}
    rest = []
    for agent in agents:
        seat, name = _seat_and_name(agent)
        if seat is None:
            rest.append(name)
        elif seat in placed:
            raise TableError(f"seat {seat} is given to two agents: {', '.join(agents)}")
        else:
            placed[seat] = name
    if len(placed) + len(rest) > 3:
        raise TableError(f"a table has four seats and a client needs one; got {len(agents)} agents")
    order = {1: (3, 1, 2), 2: (1, 3, 2), 3: (1, 2, 3)}.get(len(rest), ())
    free = [(client + step) % 4 for step in order if (client + step) % 4 not in placed]
    placed |= dict(zip(free, rest, strict=False))
    return placed


def agent_names(agents: Sequence[str]) -> list[str]:
    """Return the names in `NAME` and `SEAT:NAME`, each once."""
    return list(dict.fromkeys(_seat_and_name(agent)[1] for agent in agents))


class TableServer:
    """Serves tables until stopped.

        async with TableServer(ServerConfig(), hosts={}) as server:
            print(server.url)
            await server.finished.wait()

    hosts: where the agents named in the configuration, and "fallback" if given, think; closed at the end.
    rooms: open tables by number. results: of the sessions that ended, the last 1000; each is also passed to
    `on_result`.
    handling: seconds of work for each message of a client, from its arrival to all answers written.
    """

    def __init__(self, config: ServerConfig, hosts: Mapping[str, Host] | None = None) -> None:
        self.config = config
        self.hosts = dict(hosts or {})
        for name in agent_names(config.agents):
            if name not in self.hosts:
                raise TableError(f"agent {name!r} has no host; pass hosts={{{name!r}: …}}")
        self.rooms: dict[int, Room] = {}
        self.results: list[SessionResult] = []
        self.on_result: Callable[[SessionResult], None] = lambda result: None
        self.sessions = 0
        self.handling = Timing()
        self.finished = asyncio.Event()
        self._seeds = np.random.default_rng(config.seed)
        self._connections: set[Connection] = set()
        self._waiting: list[Connection] = []
        self._number = 0
        self._open_room: Room | None = None
        self._closing = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._server: asyncio.Server | None = None
        self._ticker: asyncio.Task[None] | None = None

    # --- life ---

    async def start(self) -> None:
        """Listen. Raises OSError if the address cannot be had."""
        if self.config.record is not None:
            self.config.record.mkdir(parents=True, exist_ok=True)
        loop = asyncio.get_running_loop()
        port = DEFAULT_PORTS[self.config.dialect] if self.config.port is None else self.config.port
        self._server = await loop.create_server(
            lambda: Connection(self, self.config.limits, token=self.config.token, later=self._flush_later),
            self.config.host,
            port,
            backlog=4096,
        )
        self._ticker = loop.create_task(self._tick())

    @property
    def port(self) -> int:
        """The port in use."""
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def url(self) -> str:
        """Where clients connect."""
        host = f"[{self.config.host}]" if ":" in self.config.host else self.config.host
        return f"ws://{host}:{self.port}" + ("/game/{name}" if self.config.dialect == "njupt" else "")

    async def stop(self, grace: float = 10.0) -> None:
        """Stop: no new tables, up to `grace` seconds for games to end; what was played stays recorded."""
        if self._closing:
            return
        self._closing = True
        if self._server is not None:
            self._server.close()
        for room in list(self.rooms.values()):
            if room.state != "playing":
                room.stop("the server stops")
        if self.rooms and grace > 0:
            try:
                await asyncio.wait_for(self._idle.wait(), grace)
            except TimeoutError:
                logger.warning("%d games are ended before their end", len(self.rooms))
        for room in list(self.rooms.values()):
            room.stop("the server stops")
        for connection in list(self._connections):
            connection.close(1001, "the server stops")
        for _ in range(100):
            if not self._connections:
                break
            await asyncio.sleep(0.01)
        for connection in list(self._connections):
            connection.abort()
        if self._ticker is not None:
            self._ticker.cancel()
        for host in self.hosts.values():
            host.close()
        self.finished.set()

    async def __aenter__(self) -> TableServer:
        """Start and return the server."""
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop at once."""
        await self.stop(grace=0.0)

    async def run(self, *, sessions: int | None = None, grace: float = 10.0) -> None:
        """Serve until SIGINT or SIGTERM, or until so many sessions have ended; then stop with `grace`."""
        loop = asyncio.get_running_loop()
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        self._last = (sessions, stop)
        await stop.wait()
        await self.stop(grace)

    _last: tuple[int | None, asyncio.Event] | None = None

    async def _tick(self) -> None:
        """Watch the clocks: of decisions twenty times a second, of silent connections now and then."""
        ticks = 0
        while True:
            await asyncio.sleep(0.05)
            now = time.monotonic()
            for room in list(self.rooms.values()):
                try:
                    room.tick(now)
                except Exception:
                    self._broken(room)
            ticks += 1
            silence = self.config.limits.silence
            if silence and ticks % max(int(silence / 3 / 0.05), 1) == 0:
                for connection in list(self._connections):
                    if now - connection.last_heard > silence:
                        connection.abort()
                    elif now - connection.last_heard > silence / 3:
                        connection.ping()

    # --- sending ---

    def _flush_later(self, connection: Connection) -> None:
        if not self._waiting:
            asyncio.get_running_loop().call_later(self.config.limits.gather, self._flush)
        self._waiting.append(connection)

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        for connection in waiting:
            connection.flush()

    def _refuse(self, connection: Connection, dialect: Dialect, message: str, kind: str = "ERROR") -> None:
        connection.errors += 1
        connection.send(text_frame(dialect.error(message, kind)))
        if connection.errors > self.config.errors:
            connection.close(1008, "too many refused messages")

    # --- the wire tells ---

    def connected(self, connection: Connection) -> None:
        """Welcome a client; on the NJUPT platform it gets the next seat."""
        self._connections.add(connection)
        if self.config.dialect == "njupt":
            self._sit_njupt(connection)

    def disconnected(self, connection: Connection) -> None:
        """Note that a client is gone."""
        self._connections.discard(connection)
        if connection.seat is not None:
            room, seat = connection.seat
            connection.seat = None
            if seat.connection is connection:
                self._guarded(room, room.lost, seat)

    def received_binary(self, connection: Connection) -> None:
        """Refuse what is no text."""
        self._refuse(connection, self._dialect(), "messages are JSON in text frames; this one was binary")

    def received(self, connection: Connection, text: bytes) -> None:
        """Handle a client's message."""
        began = time.perf_counter()
        if connection.seat is not None:
            connection.seat[1].missed = 0
        if self.config.dialect == "njupt":
            self._received_njupt(connection, text)
        else:
            self._received_openguandan(connection, text)
        self.handling.add(time.perf_counter() - began)

    def _guarded(self, room: Room, function: Any, *arguments: Any) -> None:
        """Do something at a table; whatever breaks there must not reach another."""
        try:
            function(*arguments)
        except (AgentError, TableError):
            raise
        except Exception:
            self._broken(room)

    def _broken(self, room: Room) -> None:
        logger.exception("room %d failed and is closed", room.number)
        try:
            room.stop("an error of the server")
        finally:
            self.rooms.pop(room.number, None)

    # --- rooms ---

    def _dialect(self) -> Dialect:
        return Njupt() if self.config.dialect == "njupt" else OpenGuanDan(official=self.config.official)

    def _new_room(self, games: int) -> Room:
        if self._closing:
            raise TableError("the server is about to stop; no new games")
        if len(self.rooms) >= self.config.rooms:
            raise TableError(f"the server has its {self.config.rooms} rooms; wait until one is done")
        self._number += 1
        room = Room(
            self._number,
            self._dialect(),
            self.config.room,
            games=games,
            seed=int(self._seeds.integers(0, 2**63)),
            fallback=self.hosts.get("fallback"),
            record=self.config.record,
            finished=self._room_done,
        )
        self.rooms[room.number] = room
        self._idle.clear()
        return room

    def _seat_agents(self, room: Room, client: int) -> None:
        for index, name in place_agents(self.config.agents, client).items():
            if not room.seats[index].taken:
                room.seat_agent(index, name, self.hosts[name])

    def _room_done(self, room: Room) -> None:
        self.rooms.pop(room.number, None)
        if self._open_room is room:
            self._open_room = None
        if room.result is not None:
            self.sessions += 1
            self.results = [*self.results[-999:], room.result]
            self.on_result(room.result)
            if self.config.dialect == "njupt":
                for seat in room.seats:
                    if seat.connection is not None:
                        seat.connection.close(1000, "the games are over")
        if not self.rooms:
            self._idle.set()
        if self._last is not None and self._last[0] is not None and self.sessions >= self._last[0]:
            self._last[1].set()

    # --- OpenGuanDan ---

    def _received_openguandan(self, connection: Connection, text: bytes) -> None:
        dialect = self._dialect()
        kind = "ERROR"
        try:
            command = m.decode_command(text)
            kind = type(command).__struct_config__.tag  # type: ignore[assignment]
            if isinstance(command, m.Play | m.Tribute | m.PayTribute):
                self._act(connection, command)
            elif isinstance(command, m.CreateRoom):
                self._create(connection, command.data)
            elif isinstance(command, m.JoinRoom):
                self._join(connection, command.data)
            else:
                self._who(connection, command.data.roomId)
        except (m.MessageError, TableError, AgentError) as error:
            self._refuse(connection, dialect, str(error), kind)
            if isinstance(error, AgentError) and connection.seat is not None:
                room, seat = connection.seat
                self._guarded(room, room.refused, seat)

    def _create(self, connection: Connection, data: m.CreateData) -> None:
        self._must_be_free(connection)
        wanted = 0 if data.seatNum is None else data.seatNum
        if wanted in place_agents(self.config.agents, wanted):
            raise TableError(f"seat {wanted} belongs to an agent of this server; choose another")
        room = self._new_room(data.round)
        room.sit(connection, str(data.userId), wanted)
        self._seat_agents(room, wanted)
        user = str(data.userId)
        connection.send(
            text_frame(reply("CREATE_ROOM", roomId=room.number, userNum=0, userId=user, userName=None))
        )
        self._guarded(room, room.start_if_full)

    def _must_be_free(self, connection: Connection) -> None:
        if connection.seat is not None:
            raise TableError(
                f"this connection sits in room {connection.seat[0].number}; use another for another seat"
            )

    def _join(self, connection: Connection, data: m.JoinData) -> None:
        room = self.rooms.get(data.roomId)
        if room is None:
            raise TableError(f"there is no room {data.roomId}; CREATE_ROOM opens one")
        user = str(data.userId)
        again = any(seat.user == user for seat in room.seats)
        if connection.seat is None or connection.seat[0] is not room or not again:
            self._must_be_free(connection)
        present = [seat for seat in room.seats if seat.connection is not None and seat.user != user]
        number = sum(seat.user is not None for seat in room.seats) - again
        seat = room.sit(connection, user, data.seatNum)
        connection.send(
            text_frame(reply("JOIN_ROOM", roomId=room.number, userNum=number, userId=user, userName=None))
        )
        for other in present:
            assert other.connection is not None
            other.connection.send(text_frame(reply("JOIN", roomId=room.number)))
        if again:
            self._guarded(room, room.catch_up, seat)
        self._guarded(room, room.start_if_full)

    def _act(self, connection: Connection, command: m.Play | m.Tribute | m.PayTribute) -> None:
        data = command.data
        number = data.roomID if data.roomId is m.UNSET else data.roomId
        if connection.seat is None:
            raise TableError("you sit nowhere; CREATE_ROOM or JOIN_ROOM first")
        room, seat = connection.seat
        if number is not m.UNSET and number != room.number:
            raise TableError(f"you sit in room {room.number}, not {number}")
        if data.player != seat.index:
            raise TableError(f"you sit in seat {seat.index}; you cannot act for seat {data.player}")
        stage = _STAGES[type(command)]
        due = seat.due
        if due is None:
            raise room.not_now(seat)
        if due.stage != stage:
            raise TableError(f"seat {seat.index} is asked for {due.stage}, not {stage}")
        index = find_move(data.act, due.actions)
        if index is None:
            raise AgentError(f"{str(data.act)[:120]} is not in actionList; send one of its entries")
        self._guarded(room, room.answer, seat, index)

    def _who(self, connection: Connection, number: int) -> None:
        room = self.rooms.get(number)
        if room is None:
            raise TableError(f"there is no room {number}")
        players = [
            {"userId": seat.name, "seatNum": seat.index, "connected": seat.lost is None}
            for seat in room.seats
            if seat.taken
        ]
        connection.send(text_frame(reply("GET_ROOMPLAYER", roomId=number, state=room.state, players=players)))
        if connection.seat is not None and connection.seat[0] is room:
            seat: Seat = connection.seat[1]
            if seat.asked is not None:
                connection.send(seat.asked)

    # --- NJUPT ---

    def _sit_njupt(self, connection: Connection) -> None:
        parts = connection.path.split("/")
        if len(parts) != 3 or parts[1] != "game" or not 1 <= len(parts[2]) <= 64:
            connection.close(1008, "connect to /game/{name}")
            return
        name = parts[2]
        for room in self.rooms.values():
            for seat in room.seats:
                if seat.user == name and seat.lost is not None:
                    room.sit(connection, name)
                    self._guarded(room, room.catch_up, seat)
                    return
        try:
            if self._open_room is None or self._open_room.state != "waiting":
                self._open_room = self._new_room(self.config.games)
                placed = place_agents(self.config.agents, 0)
                first = next(seat for seat in range(4) if seat not in placed)
                if not any(":" in agent for agent in self.config.agents):
                    first = 0
                self._seat_agents(self._open_room, first)
            room = self._open_room
            user = name
            while any(seat.user == user for seat in room.seats):
                user += "'"
            room.sit(connection, user)
            self._guarded(room, room.start_if_full)
        except TableError as error:
            connection.close(1013, str(error))

    def _received_njupt(self, connection: Connection, text: bytes) -> None:
        dialect = self._dialect()
        try:
            index = m.decode_act_index(text)
            if connection.seat is None:
                raise TableError("the games are over")
            room, seat = connection.seat
            self._guarded(room, room.answer, seat, index)
        except (m.MessageError, AgentError, TableError) as error:
            self._refuse(connection, dialect, str(error))
            if connection.seat is not None:
                room, seat = connection.seat
                self._guarded(room, room.refused, seat)


def _seat_and_name(agent: str) -> tuple[int | None, str]:
    """Return the parts of `SEAT:NAME`; no seat if there is only a name (which may have colons itself)."""
    seat, _, name = agent.partition(":")
    return (int(seat), name) if name and seat in ("0", "1", "2", "3") else (None, agent)
