"""How fast the match server is: plays a second through the socket, with random clients.

The server runs in one process, the clients in another. A client reads every frame, finds its request, picks
an entry of actionList at random and sends it back; it does nothing else, so that what is measured is
the server (its share of the work is reported beside the rate).
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection as Pipe
from typing import TYPE_CHECKING

from experiments.bench.bench import figures
from experiments.bench.guandan.table_clients import idle_clients, play_tables
from games.support.interruption import deaf_children

if TYPE_CHECKING:
    from rich.table import Table

__all__ = [
    "OFFICIAL_PLAYS_PER_SECOND",
    "Load",
    "TableBench",
    "measure_latency",
    "measure_server",
    "server_tables",
]

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
    trip_*: milliseconds that a table's clients wait from an answer to the next request at the table.
    server_rss_mb: memory of the server when the last game is over.
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
    trip_p50_ms: float
    trip_p99_ms: float


@dataclass(frozen=True)
class TableBench:
    """Loads measured one after the other. connection_kb: memory of a connection that says nothing."""

    loads: tuple[Load, ...]
    connection_kb: float


@dataclass(frozen=True)
class _Task:
    """What a server process is to serve; its fields are those of `measure_latency`."""

    dialect: str
    games: int
    seed: int
    record: str | None


def _serve(pipe: Pipe, task: _Task) -> None:
    """Serve until told to "stop"; tell the port first, and the memory in megabytes when asked for it."""
    from pathlib import Path

    from gs2.guandan.table.server.server import ServerConfig, TableServer, quiet_collector

    async def serve() -> None:
        config = ServerConfig(
            dialect=task.dialect,
            port=0,
            games=task.games,
            seed=task.seed,
            record=None if task.record is None else Path(task.record),
        )
        async with TableServer(config) as server:
            quiet_collector()
            pipe.send(server.port)
            before = time.process_time()
            heard = asyncio.Event()
            loop = asyncio.get_running_loop()
            while True:
                loop.add_reader(pipe.fileno(), heard.set)
                await heard.wait()
                loop.remove_reader(pipe.fileno())
                heard.clear()
                if pipe.recv() == "stop":
                    break
                pipe.send(_memory())
            pipe.send({**server.handling.summary(), "server_cpu": time.process_time() - before})

    os.environ.setdefault("NUMBA_NUM_THREADS", "1")
    # Whoever measures has ended, or was interrupted together with this process: nobody is left to tell.
    with contextlib.suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        asyncio.run(serve())


def _memory() -> float:
    """Return the memory of this process in megabytes: now, or where the system does not tell, at its most."""
    import resource
    from pathlib import Path

    now = Path("/proc/self/statm")
    if now.exists():
        return int(now.read_text().split()[1]) * resource.getpagesize() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure_latency(
    *, dialect: str = "openguandan", tables: int = 1, games: int = 1, seed: int = 0, record: str | None = None
) -> Load:
    """Return the speed of one server process with `tables` tables of four random clients each, at once.

    games: at each table. record: folder for records, to measure with recording.
    """
    with _serving(_Task(dialect, games, seed, record)) as (pipe, port):
        clients = asyncio.run(play_tables(dialect, port, tables, games, seed))
        pipe.send("memory")
        memory = pipe.recv()
        pipe.send("stop")
        server = pipe.recv()
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
        server_rss_mb=round(memory, 1),
    )


def measure_connection(connections: int = 1000) -> float:
    """Return the memory that a server takes for a connection that says nothing, in kilobytes."""

    async def opened(port: int) -> float:
        await idle_clients(port, 100)
        before = ask()
        await idle_clients(port, connections)
        return 1024 * (ask() - before) / connections

    with _serving(_Task("openguandan", 1, 0, None)) as (pipe, port):

        def ask() -> float:
            pipe.send("memory")
            megabytes: float = pipe.recv()
            return megabytes

        kilobytes = asyncio.run(opened(port))
        pipe.send("stop")
        pipe.recv()
    return round(kilobytes, 1)


@contextlib.contextmanager
def _serving(task: _Task) -> Iterator[tuple[Pipe, int]]:
    """Yield the pipe of a server process, and the port where it listens."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, task))
    with deaf_children():
        process.start()
    try:
        yield ours, ours.recv()
    except BaseException:
        process.kill()
        raise
    finally:
        process.join(10)
        if process.is_alive():
            process.kill()


def measure_server(
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
    progress("memory of a connection")
    return TableBench(tuple(loads), measure_connection())


def server_tables(result: TableBench) -> list[Table]:
    """Return the figures as tables to print."""
    heads = (
        "dialect | tables | finished | lost | plays | plays/s | × official | server µs a play | "
        "handling ms: mean | p99 | max | round trip ms: p50 | p99 | MB"
    )
    cells = (
        "{0.dialect} | {0.tables} | {0.finished} | {0.lost} | {0.plays:,} | {0.plays_per_second:,.0f} | "
        "{1:.1f} | {0.server_cpu_us:.0f} | {0.handling_mean_ms:.3f} | {0.handling_p99_ms:.2f} | "
        "{0.handling_max_ms:.1f} | {0.trip_p50_ms:.3f} | {0.trip_p99_ms:.2f} | {0.server_rss_mb:.0f}"
    )
    one, many = OFFICIAL_PLAYS_PER_SECOND.values()
    rows = [(load, load.plays_per_second / (one if load.tables == 1 else many)) for load in result.loads]
    title = "one server process, four random clients a table"
    caption = f"a connection that says nothing takes {result.connection_kb:.0f} kB of the server"
    return [figures(title, heads, cells, rows, box=None, title_justify="left", caption=caption)]
