"""How fast the match server is: plays a second through the socket, with random clients.

The server runs in one process, the clients in another. A client reads every frame, finds its request, picks
an entry of actionList at random and sends it back; it does nothing else, so that what is measured is
the server (its share of the work is reported beside the rate).
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import random
import time
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection as Pipe
from typing import Any, cast

import msgspec

__all__ = ["OFFICIAL_PLAYS_PER_SECOND", "BenchResult", "run_bench"]

OFFICIAL_PLAYS_PER_SECOND = {"one room": 2100, "two rooms": 2700}
"""The official server's speed with random clients on a machine of this class."""


@dataclass(frozen=True)
class BenchResult:
    """One measurement.

    plays: moves and cards chosen by clients. seconds: from the first deal to the end of the last game.
    server_cpu: seconds of processor time of the server. handling_*: milliseconds of work for one message.
    """

    dialect: str
    tables: int
    games: int
    finished: int
    plays: int
    seconds: float
    plays_per_second: float
    server_cpu: float
    handling_mean_ms: float
    handling_p50_ms: float
    handling_p99_ms: float
    handling_max_ms: float
    server_rss_mb: float


# --- clients ---


class Request(msgspec.Struct):
    """What a random client reads of a request."""

    stage: str
    actionList: list[msgspec.Raw]
    tributePos: int = -1
    tribute: str = ""


READ = msgspec.json.Decoder(Request).decode
COMMANDS = {"play": b"PLAY", "tribute": b"TRIBUTE", "back": b"PAYTRIBUTE"}


class RandomClient(asyncio.Protocol):
    """A client in the least time that Python can do it in: frames cut by hand, JSON split, not read."""

    def __init__(self, dialect: str, rng: random.Random, seat: int, path: str) -> None:
        self.dialect, self.rng, self.seat, self.path = dialect, rng, seat, path
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
        if data.startswith(b'{"type":"act"', start):
            self.plays += 1
            self.act(READ(data[start:end]))
        elif data.startswith(b'{"type":"notify","stage":"gameResult"', start):
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

    async def connect(table: int, seat: int) -> RandomClient:
        path = f"/game/t{table}s{seat}" if dialect == "njupt" else "/"
        _, client = await loop.create_connection(
            lambda: RandomClient(dialect, random.Random(rng.random()), seat, path), "127.0.0.1", port
        )
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
    finished = sum(all(done[4 * k + s] is True for s in range(4)) for k in range(tables))
    return {
        "seconds": seconds,
        "plays": sum(client.plays for client in clients),
        "finished": finished,
        "client_cpu": time.process_time(),
    }


# --- server ---


def _serve(pipe: Pipe, dialect: str, games: int, seed: int, record: str | None) -> None:
    import resource
    from pathlib import Path

    from gs2.table.server import ServerConfig, TableServer, quiet_collector

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
    _warm(dialect)
    asyncio.run(serve())


def _warm(dialect: str) -> None:
    """Load the kernels, so that compiling is not measured."""
    from games.guandan.match import Match
    from gs2.table.encode import encode_moves

    match = Match(0)
    for _ in range(20):
        for due in match.pending():
            encode_moves(due.actions, match.level, dialect=dialect)
            match.apply(due.seat, len(due.actions) - 1)


def run_bench(
    *, dialect: str = "openguandan", tables: int = 1, games: int = 1, seed: int = 0, record: str | None = None
) -> BenchResult:
    """Return the speed of one server process with `tables` tables of four random clients each, at once.

    games: at each table. record: folder for records, to measure with recording.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, dialect, games, seed, record))
    process.start()
    try:
        port = ours.recv()
        clients = asyncio.run(_clients(dialect, port, tables, games, seed))
        ours.send("stop")
        server = ours.recv()
    finally:
        process.join(10)
        if process.is_alive():
            process.kill()
    return BenchResult(
        dialect=dialect,
        tables=tables,
        games=games,
        finished=clients["finished"],
        plays=clients["plays"],
        seconds=round(clients["seconds"], 3),
        plays_per_second=round(clients["plays"] / clients["seconds"], 1),
        server_cpu=round(server["server_cpu"], 3),
        handling_mean_ms=server["mean_ms"],
        handling_p50_ms=server["p50_ms"],
        handling_p99_ms=server["p99_ms"],
        handling_max_ms=server["max_ms"],
        server_rss_mb=round(server["server_rss_mb"], 1),
    )


if __name__ == "__main__":
    for count in (1, 2, 20, 200):
        print(json.dumps(asdict(run_bench(tables=count, games=max(1, 4 // count)))))
