"""How fast the match server is: plays a second through the socket, with random clients.

The server runs in one process, the clients in another. A client reads every frame, finds its request, picks
an entry of actionList at random and sends it back; it does nothing else, so that what is measured is
the server (its share of the work is reported beside the rate).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection as Pipe
from typing import TYPE_CHECKING, Any, cast

import msgspec

from games.support.interruption import deaf_children

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["OFFICIAL_PLAYS_PER_SECOND", "Load", "TableBench", "bench_tables", "measure_latency", "run_bench"]

OFFICIAL_PLAYS_PER_SECOND = {"one table": 2100, "many tables": 2700}
"""The official OpenGuanDan server's speed with random clients, in one room and in two, on such a machine."""


@dataclass(frozen=True)
class Load:
    """One server process under one load.

    finished: tables whose four clients all heard the result. lost: moves that some client at a table did not
    hear of, over all clients. plays: moves and cards chosen by clients. seconds: from the first connection to
    the last result. plays_per_second: while every table plays, from the last client's first request to the
    first table's result. server_cpu_us: of processor time of the server for one play.
    handling_*: milliseconds of work for one message, from its arrival to all answers written.
    """

    dialect: str
    tables: int
    games: int
    finished: int
    lost: int
    plays: int
    seconds: float
    plays_per_second: float
    server_cpu_us: float
    handling_mean_ms: float
    handling_p50_ms: float
    handling_p99_ms: float
    handling_max_ms: float
    server_rss_mb: float


@dataclass(frozen=True)
class TableBench:
    """Loads measured one after the other."""

    loads: tuple[Load, ...]


# --- clients ---


class Request(msgspec.Struct):
    """What a random client reads of a request."""

    stage: str
    actionList: list[msgspec.Raw]
    tributePos: int = -1
    tribute: str = ""


READ = msgspec.json.Decoder(Request).decode
COMMANDS = {"play": b"PLAY", "tribute": b"TRIBUTE", "back": b"PAYTRIBUTE"}


class Meter:
    """The span in which every table plays: [time, plays so far] at its begin and end."""

    def __init__(self) -> None:
        self.clients: list[RandomClient] = []
        self.wanted = 0
        self.acting = 0
        self.span: list[tuple[float, int]] = []

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

    def __init__(self, dialect: str, rng: random.Random, seat: int, path: str, meter: Meter) -> None:
        self.dialect, self.rng, self.seat, self.path, self.meter = dialect, rng, seat, path, meter
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
        self.transport.write(
            f"GET {self.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )

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
            if self.plays == 1:
                self.meter.first_request()
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


async def _clients(dialect: str, port: int, tables: int, games: int, seed: int) -> dict[str, Any]:
    loop = asyncio.get_running_loop()
    rng = random.Random(seed)
    meter = Meter()
    meter.wanted = 4 * tables

    async def connect(table: int, seat: int) -> RandomClient:
        path = f"/game/t{table}s{seat}" if dialect == "njupt" else "/"
        _, client = await loop.create_connection(
            lambda: RandomClient(dialect, random.Random(rng.random()), seat, path, meter), "127.0.0.1", port
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
    }


# --- server ---


def _serve(pipe: Pipe, dialect: str, games: int, seed: int, record: str | None) -> None:
    import resource
    from pathlib import Path

    from gs2.guandan.table.server.server import ServerConfig, TableServer, quiet_collector

    async def serve() -> None:
        config = ServerConfig(
            dialect=dialect, port=0, games=games, seed=seed, record=None if record is None else Path(record)
        )
        async with TableServer(config) as server:
            quiet_collector()
            pipe.send(server.port)
            before = time.process_time()
            loop = asyncio.get_running_loop()
            stop = asyncio.Event()
            loop.add_reader(pipe.fileno(), stop.set)
            await stop.wait()
            loop.remove_reader(pipe.fileno())
            pipe.recv()
            rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            pipe.send(
                {
                    **server.handling.summary(),
                    "server_cpu": time.process_time() - before,
                    "server_rss_mb": rss,
                }
            )

    os.environ.setdefault("NUMBA_NUM_THREADS", "1")
    # Whoever measures has ended, or was interrupted together with this process: nobody is left to tell.
    with contextlib.suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        asyncio.run(serve())


def measure_latency(
    *, dialect: str = "openguandan", tables: int = 1, games: int = 1, seed: int = 0, record: str | None = None
) -> Load:
    """Return the speed of one server process with `tables` tables of four random clients each, at once.

    games: at each table. record: folder for records, to measure with recording.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, dialect, games, seed, record))
    with deaf_children():
        process.start()
    try:
        port = ours.recv()
        clients = asyncio.run(_clients(dialect, port, tables, games, seed))
        ours.send("stop")
        server = ours.recv()
    except BaseException:
        process.kill()
        raise
    finally:
        process.join(10)
        if process.is_alive():
            process.kill()
    return Load(
        dialect=dialect,
        tables=tables,
        games=games,
        **clients,
        server_cpu_us=round(1e6 * server["server_cpu"] / clients["plays"], 1),
        handling_mean_ms=server["mean_ms"],
        handling_p50_ms=server["p50_ms"],
        handling_p99_ms=server["p99_ms"],
        handling_max_ms=server["max_ms"],
        server_rss_mb=round(server["server_rss_mb"], 1),
    )


def run_bench(
    tables: tuple[int, ...] = (1, 200),
    dialects: tuple[str, ...] = ("openguandan", "njupt"),
    *,
    repeats: int = 8,
    seed: int = 0,
    progress: Callable[[str], None] = lambda what: None,
) -> TableBench:
    """Return one load for each dialect and number of tables: ten games in all, at least one a table.

    repeats: times that one table alone is measured; the fastest counts, as the others were disturbed.
    Raises ValueError if a game did not end or a message was lost in any of them.
    """
    loads = []
    for dialect in dialects:
        for count in tables:
            tries = []
            # one table waits for two processes in turn: what else the machine does disturbs it most
            for again in range(repeats if count == 1 else 1):
                progress(f"{dialect}, {count} tables, {again + 1}")
                tries.append(
                    measure_latency(dialect=dialect, tables=count, games=max(1, 10 // count), seed=seed)
                )
            if any(load.finished < count or load.lost for load in tries):
                raise ValueError(f"{dialect}, {count} tables: games unfinished or messages lost: {tries}")
            loads.append(max(tries, key=lambda load: load.plays_per_second))
    return TableBench(tuple(loads))


def bench_tables(result: TableBench) -> list[Table]:
    """Return the figures as tables to print."""
    from rich.table import Table

    table = Table(title="one server process, four random clients a table", box=None, title_justify="left")
    for heading in (
        "dialect", "tables", "finished", "lost", "plays", "plays/s", "× official", "server µs a play",
        "handling ms: mean", "p99", "max", "MB",
    ):  # fmt: skip
        table.add_column(heading, justify="left" if heading == "dialect" else "right")
    for load in result.loads:
        official = OFFICIAL_PLAYS_PER_SECOND["one table" if load.tables == 1 else "many tables"]
        table.add_row(
            load.dialect,
            str(load.tables),
            str(load.finished),
            str(load.lost),
            f"{load.plays:,}",
            f"{load.plays_per_second:,.0f}",
            f"{load.plays_per_second / official:.1f}",
            f"{load.server_cpu_us:.0f}",
            f"{load.handling_mean_ms:.3f}",
            f"{load.handling_p99_ms:.2f}",
            f"{load.handling_max_ms:.1f}",
            f"{load.server_rss_mb:.0f}",
        )
    return [table]
