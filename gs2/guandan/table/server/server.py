"""The table server: connections become seats, seats become tables, one process for all of them."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from websockets.asyncio.server import Server

from games.support.configuration import ConfigError, Configuration, flag, integer, one_of, text
from gs2.admission import LOOPBACK, check_token
from gs2.guandan.table.hosts import Host
from gs2.guandan.table.seat import AgentError
from gs2.guandan.table.server.lobby import Lobby, NjuptLobby, OpenGuanDanLobby
from gs2.guandan.table.server.recording import RecordFolder, SessionResult
from gs2.guandan.table.server.room import Room, RoomConfig, Seat, TableError, place_agents
from gs2.guandan.table.wire import messages as m
from gs2.guandan.table.wire.connection import Connection, WireLimits, listen
from gs2.guandan.table.wire.dialects import Njupt, OpenGuanDan
from gs2.guandan.table.wire.moves import warm_kernels

logger = logging.getLogger("gs2.guandan.table")

DEFAULT_PORTS = {"openguandan": 8181, "njupt": 23456}


@attrs.frozen(slots=False)
class ServerConfig(Configuration):
    """A server's settings.

    dialect: "openguandan" or "njupt". official: the former with the official server's departures.
    host, port: where to listen; port 0 takes a free one. None: the dialect's usual port.
    games: in a session, where the client does not say (njupt; an openguandan client asks for any number).
    agents: who fills the seats that clients leave, by name; see `place_agents`.
    rooms: tables at once. errors: refused messages after which a connection is closed.
    token: what clients must show; required unless host is a loopback address.
    record: folder for records and results. seed: of all deals; None for a fresh one.
    room: how tables treat players. limits: of connections.
    """

    dialect: str = attrs.field(default="openguandan", validator=one_of(DEFAULT_PORTS))
    official: bool = attrs.field(default=False, validator=flag)
    host: str = attrs.field(default="127.0.0.1", validator=text)
    port: int | None = attrs.field(default=None, validator=integer(0, 65535, optional=True))
    games: int = attrs.field(default=1, validator=integer(1))
    agents: tuple[str, ...] = ()
    rooms: int = attrs.field(default=4096, validator=integer(1))
    errors: int = attrs.field(default=1000, validator=integer(1))
    token: str | None = None
    record: Path | None = None
    seed: int | None = attrs.field(default=None, validator=integer(0, (1 << 64) - 1, optional=True))
    room: RoomConfig = attrs.field(factory=RoomConfig)
    limits: WireLimits = attrs.field(factory=WireLimits)

    def check(self) -> None:
        """Raise ConfigError for an address that all can reach without a token, TableError for its agents."""
        if self.official and self.dialect != "openguandan":
            raise ConfigError("only openguandan has an official server to imitate; leave `official` out")
        if not self.host.strip():
            # asyncio would listen everywhere
            raise ConfigError("a host must be a name or an address; got an empty one; write 127.0.0.1")
        if self.token is not None:
            check_token(self.token, ConfigError)
        elif self.host not in LOOPBACK:
            raise ConfigError(
                f"host {self.host!r} is reachable by others, so clients must show a token; give one, "
                "or listen on 127.0.0.1"
            )
        place_agents(self.agents, 0)


def quiet_collector() -> None:
    """Exempt what is loaded already from garbage collection, where a full one takes tens of milliseconds.

    For the start of a process that serves, once everything is loaded; the whole process is affected.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)


class TableServer:
    """Serves tables until stopped.

        async with TableServer(ServerConfig(), hosts={}) as server:
            print(server.url)
            await server.finished.wait()

    hosts: where the agents named in the configuration, and "fallback" if given, think; closed at the end.
    rooms: open tables by number. results: of the sessions that ended, the last 1000; each is also passed to
    `on_result`.
    stopping: set when a signal came, stopped_by, or when as many sessions have ended as `run` is to serve.
    """

    def __init__(self, config: ServerConfig, hosts: Mapping[str, Host] | None = None) -> None:
        self.config = config
        self.hosts = dict(hosts or {})
        for name in place_agents(config.agents, 0).values():
            if name not in self.hosts:
                raise TableError(f"agent {name!r} has no host; pass hosts={{{name!r}: …}}")
        self.rooms: dict[int, Room] = {}
        self.results: list[SessionResult] = []
        self.on_result: Callable[[SessionResult], None] = lambda result: None
        self.sessions = 0
        self.stopping, self.finished = asyncio.Event(), asyncio.Event()
        self.lobby: Lobby = (
            NjuptLobby(Njupt(), self.rooms, self._new_room, games=config.games, probe=config.room.probe)
            if config.dialect == "njupt"
            else OpenGuanDanLobby(OpenGuanDan(official=config.official), self.rooms, self._new_room)
        )
        self._seeds = np.random.default_rng(config.seed)
        self._connections: set[Connection] = set()
        self._number = 0
        self._folder: RecordFolder | None = None
        self._closing = False
        self.stopped_by: int | None = None
        self._most: int | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self._server: Server | None = None
        self._ticker: asyncio.Task[None] | None = None

    # --- life ---

    async def start(self) -> None:
        """Load what games need, then listen.

        Raises OSError if the address cannot be had, FileProblem if records cannot be written.
        """
        if self.config.record is not None:
            self._folder = RecordFolder(self.config.record)
        warm_kernels(self.lobby.dialect.name)
        port = DEFAULT_PORTS[self.config.dialect] if self.config.port is None else self.config.port
        config = self.config
        self._server = await listen(self._talk, config.host, port, config.limits, token=config.token)
        self._ticker = asyncio.get_running_loop().create_task(self._tick())

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
            self._server.close(close_connections=False)
        for room in list(self.rooms.values()):
            if room.state != "playing":
                room.stop("the server stops")
        if self.rooms and grace > 0:
            try:
                await asyncio.wait_for(self._idle.wait(), grace)
            except TimeoutError:
                logger.warning("%d games are cut short: their grace is over", len(self.rooms))
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

    def hear_signals(self) -> None:
        """From now on SIGINT and SIGTERM end `run`; a second one ends games under way too."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                loop.add_signal_handler(number, self._signalled, number)
            except NotImplementedError:
                # Windows
                signal.signal(number, lambda n, _: loop.call_soon_threadsafe(self._signalled, n))

    def _signalled(self, number: int) -> None:
        if self.stopped_by is not None:
            self._idle.set()
        self.stopped_by = self.stopped_by or number
        self.stopping.set()

    async def run(
        self,
        *,
        sessions: int | None = None,
        grace: float = 10.0,
        on_signal: Callable[[], None] = lambda: None,
    ) -> int | None:
        """Serve until SIGINT or SIGTERM, or until so many sessions have ended; then stop with `grace`.

        Returns the signal, None if it was none. on_signal: called at once when one came.
        """
        self.hear_signals()
        self._most = sessions
        await self.stopping.wait()
        if self.stopped_by is not None:
            on_signal()
        await self.stop(grace)
        return self.stopped_by

    async def _tick(self) -> None:
        """Watch the clocks: of decisions twenty times a second, of silent connections now and then."""
        silence = self.config.limits.silence
        looked = time.monotonic()
        while True:
            await asyncio.sleep(0.05)
            now = time.monotonic()
            for room in list(self.rooms.values()):
                self._guarded(room, room.tick, now)
            if silence and now - looked > silence / 3:
                looked = now
                for connection in list(self._connections):
                    # what any byte shows, the library's own keepalive believes of answered pings alone
                    if now - connection.last_heard > silence:
                        connection.abort()
                    elif now - connection.last_heard > silence / 3:
                        connection.ping()

    def _refuse(self, connection: Connection, error: Exception, kind: str) -> None:
        """Explain a refusal to its sender; repeat the request if it was a bad answer."""
        connection.errors += 1
        connection.send(self.lobby.dialect.error(str(error), kind))
        if connection.errors > self.config.errors:
            connection.close(1008, "too many refused messages")
        elif connection.seat is not None and not isinstance(error, TableError):
            room, seat = connection.seat
            self._guarded(room, room.refused, seat)

    # --- the wire tells ---

    async def _talk(self, connection: Connection) -> None:
        """Deal with a client until it is gone."""
        self.connected(connection)
        try:
            async for message in connection.messages():
                if isinstance(message, str):
                    self.received(connection, message)
                else:
                    refused = TableError("messages are JSON in text frames; this one was binary")
                    self._refuse(connection, refused, "ERROR")
        finally:
            self.disconnected(connection)

    def connected(self, connection: Connection) -> None:
        self._connections.add(connection)
        try:
            self.lobby.connected(connection)
        except TableError as error:
            connection.close(1008, str(error))

    def disconnected(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if connection.seat is not None:
            room, seat = connection.seat
            connection.seat = None
            if seat.connection is connection:
                self._guarded(room, room.lost, seat)

    def received(self, connection: Connection, text: str) -> None:
        place = connection.seat
        if place is not None:
            place[1].missed = 0
        try:
            self.lobby.received(connection, text)
        except (m.MessageError, TableError, AgentError) as error:
            self._refuse(connection, error, self.lobby.kind)
        except Exception:
            # whatever breaks at a table must not reach another
            if place is None:
                raise
            self._broken(place[0])

    def _guarded(self, room: Room, function: Callable[..., None], *arguments: Any) -> None:
        """Call a function; what it breaks at a table must not reach another."""
        try:
            function(*arguments)
        except Exception:
            self._broken(room)

    def _broken(self, room: Room) -> None:
        logger.exception("room %d failed and is closed", room.number)
        try:
            room.stop("an error of the server")
        finally:
            self.rooms.pop(room.number, None)

    # --- rooms ---

    def _new_room(self, games: int, client: int | None = None) -> Room:
        """Return a new table, agents in their seats. client: seat that a client wants, None for any."""
        placed = place_agents(self.config.agents, client or 0)
        if client in placed:
            raise TableError(f"seat {client} belongs to an agent of this server; choose another")
        if self._closing:
            raise TableError("the server is about to stop; no new games")
        if len(self.rooms) >= self.config.rooms:
            raise TableError(f"all {self.config.rooms} rooms of the server are taken; wait until one is free")
        self._number += 1
        room = Room(
            self._number,
            self.lobby.dialect,
            self.config.room,
            games=games,
            seed=int(self._seeds.integers(0, 2**63)),
            fallback=self.hosts.get("fallback"),
            record=self._folder,
            finished=self._room_done,
        )
        for index, name in placed.items():
            room.seats[index] = Seat(index, name, host=self.hosts[name])
        self.rooms[room.number] = room
        self._idle.clear()
        return room

    def _room_done(self, room: Room) -> None:
        self.rooms.pop(room.number, None)
        if room.result.names:
            self.sessions += 1
            self.results = [*self.results[-999:], room.result]
            self.on_result(room.result)
            if self.config.dialect == "njupt":
                for seat in room.seats:
                    if seat.connection is not None:
                        seat.connection.close(1000, "the games are over")
        if not self.rooms:
            self._idle.set()
        if self._most is not None and self.sessions >= self._most:
            self.stopping.set()
