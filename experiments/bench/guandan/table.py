"""How fast the match server is: plays a second through the socket, with random clients.

The server runs in one process, the clients in another. A client reads every frame, finds its request, picks
an entry of actionList at random and sends it back; it does nothing else, so that what is measured is
the server.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import msgspec

from experiments.bench.bench import Progress, figures
from experiments.bench.served import served
from gs2.guandan.table.server.recording import Timing

if TYPE_CHECKING:
    from rich.table import Table

HANDSHAKE = (
    "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


class Request(msgspec.Struct):
    """What a random client reads of a request."""

    stage: str
    actionList: list[msgspec.Raw]
    tributePos: int = -1
    tribute: str = ""


READ = msgspec.json.Decoder(Request).decode
COMMANDS = {"play": b"PLAY", "tribute": b"TRIBUTE", "back": b"PAYTRIBUTE"}


class Meter:
    """What the clients together notice.

    span: [time, plays so far] where every table has begun, and where the first one ends.
    trips: from an answer to the next request that it leads to, at whatever seat of the table.
    """

    def __init__(self) -> None:
        self.clients: list[RandomClient] = []
        self.wanted = 0
        self.acting = 0
        self.span: list[tuple[float, int]] = []
        self.trips = Timing()
        self.answered: dict[int, float] = {}

    def first_request(self) -> None:
        """Note that one more client plays."""
        self.acting += 1
        if self.acting == self.wanted:
            self.mark()

    def mark(self) -> None:
        """Note where we are, at the begin and at the end."""
        if len(self.span) < 2:
            self.span.append((time.perf_counter(), sum(client.plays for client in self.clients)))

    def rate(self) -> float:
        """Return plays a second in the span; nan if some table ended before all had begun."""
        if self.acting < self.wanted or len(self.span) < 2:
            return float("nan")
        (begin, before), (end, after) = self.span
        return (after - before) / (end - begin)


class RandomClient(asyncio.Protocol):
    """A client in the least time that Python can do it in: frames cut by hand, JSON split, not read."""

    def __init__(self, dialect: str, rng: random.Random, place: tuple[int, int], meter: Meter) -> None:
        """place: table and seat."""
        self.dialect, self.rng, self.meter = dialect, rng, meter
        self.table, self.seat = place
        self.path = f"/game/t{self.table}s{self.seat}" if dialect == "njupt" else "/"
        self.heard = self.moves = 0
        self.buffer = b""
        self.room = 0
        self.plays = 0
        self.upgraded = False
        loop = asyncio.get_running_loop()
        self.welcome: asyncio.Future[int] = loop.create_future()
        self.done: asyncio.Future[bool] = loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.write(HANDSHAKE.format(path=self.path).encode())

    def connection_lost(self, error: Exception | None) -> None:
        for future in (self.welcome, self.done):
            if not future.done():
                future.set_exception(ConnectionError("the server closed the connection"))
                future.exception()

    def send(self, text: bytes) -> None:
        length = len(text)
        # a mask of zero is a mask
        head = b"\x81" + bytes([128 | length]) if length < 126 else b"\x81\xfe" + length.to_bytes(2, "big")
        self.transport.write(head + b"\0\0\0\0" + text)

    def data_received(self, data: bytes) -> None:
        if self.buffer:
            data = self.buffer + data
        at, end = 0, len(data)
        if not self.upgraded:
            at = data.find(b"\r\n\r\n") + 4
            if at == 3:
                self.buffer = data
                return
            self.upgraded = True
            if self.dialect == "njupt":
                self.welcome.set_result(0)
        while end - at >= 2:
            length, start = data[at + 1], at + 2
            if length == 126:
                length, start = int.from_bytes(data[at + 2 : at + 4], "big"), at + 4
            elif length == 127:
                length, start = int.from_bytes(data[at + 2 : at + 10], "big"), at + 10
            if start + length > end:
                break
            if data[at] == 0x81:
                self.message(data, start, start + length)
            at = start + length
        self.buffer = data[at:]

    def message(self, data: bytes, start: int, end: int) -> None:
        if data.startswith(b'{"type":"notify","stage":"play"', start):
            self.heard += 1
        elif data.startswith(b'{"type":"act"', start):
            self.plays += 1
            meter = self.meter
            if self.plays == 1:
                meter.first_request()
            answered = meter.answered.pop(self.table, None)
            if answered is not None:
                meter.trips.add(time.perf_counter() - answered)
            self.act(READ(data[start:end]))
        elif data.startswith(b'{"type":"notify","stage":"gameResult"', start):
            self.meter.mark()
            if not self.done.done():
                self.done.set_result(True)
        elif data.startswith(b'{"type":"notify"', start) or data.startswith(b'{"type":"JOIN"', start):
            return
        else:
            message = json.loads(data[start:end])
            if message["type"] == "error" or message["code"] != 200:
                raise AssertionError(message)
            self.room = message["data"]["roomId"]
            self.welcome.set_result(self.room)

    def act(self, request: Request) -> None:
        index = int(self.rng.random() * len(request.actionList))
        self.moves += request.stage == "play"
        self.meter.answered[self.table] = time.perf_counter()
        if self.dialect == "njupt":
            self.send(b'{"actIndex":%d}' % index)
            return
        told = b""
        if request.stage == "back":
            told = b'"tributePos":%d,"tribute":"%b",' % (request.tributePos, request.tribute.encode())
        self.send(
            b'{"type":"%b","data":{"roomId":%d,"player":%d,%b"act":%b}}'
            % (COMMANDS[request.stage], self.room, self.seat, told, request.actionList[index])
        )


async def play_tables(dialect: str, port: int, tables: int, games: int, seed: int) -> dict[str, Any]:
    """Play at so many tables at once; return what the clients noticed, by the names of a `Load`."""
    loop = asyncio.get_running_loop()
    rng = random.Random(seed)
    meter = Meter()
    meter.wanted = 4 * tables

    async def connect(table: int, seat: int) -> RandomClient:
        _, client = await loop.create_connection(
            lambda: RandomClient(dialect, random.Random(rng.random()), (table, seat), meter),
            "127.0.0.1",
            port,
        )
        meter.clients.append(client)
        return client

    async def table(number: int) -> list[RandomClient]:
        clients = [await connect(number, seat) for seat in range(4)]
        if dialect == "openguandan":
            room = None
            for seat, client in enumerate(clients):
                kind, extra = (
                    ("CREATE_ROOM", {"round": games}) if room is None else ("JOIN_ROOM", {"roomId": room})
                )
                data = {"userId": f"t{number}s{seat}", "seatNum": seat, **extra}
                client.send(json.dumps({"type": kind, "data": data}).encode())
                room = await client.welcome
        return clients

    began = time.perf_counter()
    if dialect == "njupt":
        seated = [await table(number) for number in range(tables)]
    else:
        seated = list(await asyncio.gather(*[table(number) for number in range(tables)]))
    clients = [client for four in seated for client in four]
    done = await asyncio.gather(*[client.done for client in clients], return_exceptions=True)
    seconds = time.perf_counter() - began
    fours = [slice(4 * k, 4 * k + 4) for k in range(tables)]
    lost = 0
    for four in fours:
        moves = sum(client.moves for client in clients[four])
        lost += sum(abs(moves - client.heard) for client in clients[four])
    return {
        "seconds": round(seconds, 3),
        "plays": sum(client.plays for client in clients),
        "plays_per_second": round(meter.rate(), 1),
        "finished": sum(all(end is True for end in done[four]) for four in fours),
        "lost": lost,
        "trip_p50_ms": meter.trips.summary()["p50_ms"],
        "trip_p99_ms": meter.trips.summary()["p99_ms"],
    }


OFFICIAL_PLAYS_PER_SECOND = {1: 2100, 200: 2700}
"""By tables at once, the official OpenGuanDan server with random clients, in one room and in two."""


@dataclass(frozen=True)
class Load:
    """One server process under one load.

    finished: tables whose four clients all heard the result. lost: moves that some client at a table did not
    hear of, over all clients. plays: moves and cards chosen by clients. seconds: from the first connection to
    the last result. plays_per_second: while every table plays, from the last client's first request to the
    first table's result. trip_*: milliseconds that a table's clients wait from an answer to the next request
    at the table.
    """

    dialect: str
    tables: int
    games: int
    finished: int
    lost: int
    plays: int
    seconds: float
    plays_per_second: float
    trip_p50_ms: float
    trip_p99_ms: float


def measure_latency(
    *, dialect: str, tables: int = 1, games: int = 1, seed: int = 0, record: str | None = None
) -> Load:
    """Return the speed of one server process with `tables` tables of four random clients each, at once.

    games: at each table. record: folder for records, to measure with recording.
    """
    words = ["serve", "--dialect", dialect, "--games", games, "--seed", seed, "--delay", 0, "--port", 0]
    with served(*words, *(() if record is None else ("--record", record))) as server:
        clients = asyncio.run(play_tables(dialect, server.port, tables, games, seed))
        server.stop()
    return Load(dialect, tables, games, **clients)


def measure_server(*, repeats: int, seed: int, progress: Progress) -> list[Load]:
    """Return one load for each dialect and number of tables: ten games in all, at least one a table.

    repeats: times that one table alone is measured; the fastest counts, as the others were disturbed.
    Raises ValueError if a game did not end or a message was lost in any of them.
    """
    loads = []
    for dialect, count in itertools.product(("openguandan", "njupt"), OFFICIAL_PLAYS_PER_SECOND):
        tries = []
        # one table waits for two processes in turn: what else the machine does disturbs it most
        for again in range(repeats if count == 1 else 1):
            progress(f"{dialect}, {count} tables, {again + 1}")
            tries.append(measure_latency(dialect=dialect, tables=count, games=max(1, 10 // count), seed=seed))
        if any(load.finished < count or load.lost for load in tries):
            raise ValueError(f"{dialect}, {count} tables: games unfinished or messages lost: {tries}")
        loads.append(max(tries, key=lambda load: load.plays_per_second))
    return loads


def server_tables(loads: list[Load]) -> list[Table]:
    """Return the figures as tables to print."""
    heads = "dialect | tables | finished | plays | plays/s | × official | round trip ms: p50 | p99"
    cells = (
        "{0.dialect} | {0.tables} | {0.finished} | {0.plays:,} | {0.plays_per_second:,.0f} | {1:.1f} | "
        "{0.trip_p50_ms:.3f} | {0.trip_p99_ms:.2f}"
    )
    rows = [(load, load.plays_per_second / OFFICIAL_PLAYS_PER_SECOND[load.tables]) for load in loads]
    title = "one server process, four random clients a table"
    return [figures(title, heads, cells, rows, box=None, title_justify="left")]
