"""Clients that leave something unfinished: half requests, broken uploads, answers that nobody waits for."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from gs2.jobs import Job
from gs2.web import app as web_app
from gs2.web.app import make_app
from gs2.web.guard import LimitedProtocol, web_server
from gs2.web.house import House
from tests.patience import PATIENCE

AT_HOME = b"Host: 127.0.0.1\r\n"
UPGRADE = (
    b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)
BODY = json.dumps({"seats": ["random"] * 4, "pace": 10}).encode()
JSON = b"Content-Type: application/json\r\nContent-Length: %d\r\n" % len(BODY)
REQUESTS = {
    "a page": b"GET / HTTP/1.1\r\n" + AT_HOME + b"\r\n",
    "a table": b"POST /api/tables HTTP/1.1\r\n" + AT_HOME + JSON + b"\r\n" + BODY,
    "a table of a game": b"POST /api/tables HTTP/1.1\r\n" + AT_HOME + JSON + b"\r\n" + BODY,
    "a review": b"POST /api/reviews HTTP/1.1\r\n"
    + AT_HOME
    + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    "too much": b"POST /api/reviews HTTP/1.1\r\n" + AT_HOME + b"Content-Length: 99999999\r\n\r\nhello",
    "a seat": b"GET /ws/tables/none HTTP/1.1\r\n" + AT_HOME + UPGRADE + b"\r\n",
}


class Running:
    """A server in a thread of this process."""

    def __init__(self, folder: Path) -> None:
        self.house = House(folder)
        folder.mkdir(parents=True, exist_ok=True)
        app = make_app(self.house)
        self.server = web_server(app, log_config=None)
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.started = threading.Event()

    def run(self) -> None:
        async def serve() -> None:
            self.loop = asyncio.get_running_loop()
            startup = self.server.startup

            async def begun(sockets: Any = None) -> None:
                await startup(sockets)
                self.started.set()

            self.server.startup = begun  # type: ignore[method-assign]
            await self.server.serve([self.listening])

        asyncio.run(serve())

    def line(self) -> socket.socket:
        """Return a connection."""
        return socket.create_connection(self.listening.getsockname(), timeout=PATIENCE)

    def answer(self, request: bytes) -> bytes:
        """Return what is answered to a request."""
        with self.line() as line:
            line.sendall(request.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
            return read_all(line)


@contextmanager
def running(folder: Path) -> Iterator[Running]:
    one = Running(folder)
    thread = threading.Thread(target=one.run)
    thread.start()
    try:
        assert one.started.wait(PATIENCE)
        yield one
    finally:
        one.server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive()


def read_all(line: socket.socket) -> bytes:
    """Return what comes until the other side closes."""
    found = b""
    with suppress(ConnectionError):
        while piece := line.recv(1 << 16):
            found += piece
    return found


def break_off(line: socket.socket, how: str) -> None:
    """End a connection: politely, or as a process that is killed."""
    if how == "reset":
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    line.close()


def test_a_request_that_does_not_end_is_closed_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(LimitedProtocol, "LIMITS", {"silent": 0.3, "head": 0.3, "body": 0.3})
    with running(tmp_path) as server:
        lines = []
        for request in REQUESTS.values():
            end = request.index(b"\r\n\r\n") + 4
            cuts = {0, 1, end // 2, end - 1, end, (end + len(request)) // 2, len(request) - 1}
            for cut in cuts - {len(request)}:
                line = server.line()
                line.sendall(request[:cut])
                lines.append((request[:cut], line))
        for sent, line in lines:
            answer = read_all(line)
            line.close()
            assert sent == b"" or answer.startswith(b"HTTP/1.1 4"), (sent, answer)
        with server.line() as slow:
            slow.settimeout(0.02)
            trickled = 0
            with suppress(ConnectionError):
                while True:
                    slow.sendall(b"GET / HTTP/1.1\r\nX: "[trickled : trickled + 1] or b"x")
                    trickled += 1
                    with suppress(TimeoutError):
                        if not slow.recv(1 << 16):
                            break
        assert server.answer(REQUESTS["a page"]).startswith(b"HTTP/1.1 200")
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def test_a_line_is_kept_for_longer_than_clients_keep_it_idle(tmp_path: Path) -> None:
    """They keep it for 5 to 60 s; where both ends close it at about the same time, a request is lost."""
    assert web_server(make_app(House(tmp_path))).config.timeout_keep_alive > 60
    assert LimitedProtocol.LIMITS["silent"] > 60


def test_a_client_that_breaks_off_leaves_no_line_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO), running(tmp_path) as server:
        table = json.loads(server.answer(REQUESTS["a table"]).split(b"\r\n\r\n", 1)[1])["id"]
        seat = REQUESTS["a seat"].replace(b"none", table.encode())
        for request in (*REQUESTS.values(), seat):
            cuts = {*range(0, len(request), 40), request.index(b"\r\n\r\n") + 4, len(request)}
            for cut in cuts:
                for how in ("closed", "reset"):
                    line = server.line()
                    line.sendall(request[:cut])
                    break_off(line, how)
        for how in ("closed", "reset"):
            line = server.line()
            line.sendall(seat)
            assert line.recv(12) == b"HTTP/1.1 101"
            line.sendall(b"\x81\xfe")  # half a frame
            break_off(line, how)
        assert server.answer(REQUESTS["a page"]).startswith(b"HTTP/1.1 200")
    lines = [record.getMessage() + (record.exc_text or "") for record in caplog.records]
    assert not lines, lines


def test_searches_end_with_the_clients_that_wait_for_them(tmp_path: Path) -> None:
    ask = b"GET /api/games/kuhn_poker/infosets HTTP/1.1\r\n" + AT_HOME + b"\r\n"
    with running(tmp_path) as server:
        jobs, begun, made = server.house.jobs, threading.Semaphore(0), list[Job]()
        start = jobs.start

        def started(*arguments: Any, **options: Any) -> Job:
            made.append(start(*arguments, **options))
            begun.release()
            return made[-1]

        jobs.start = started  # type: ignore[method-assign]
        lines = [server.line() for _ in range(20)]
        for line in lines:
            line.sendall(ask)
        for _ in lines:
            assert begun.acquire(timeout=PATIENCE)
        for line in lines:
            break_off(line, "closed")

        async def ended() -> list[str]:
            await asyncio.gather(*(job.ended.wait() for job in made))
            return [job.status for job in made]

        found = asyncio.run_coroutine_threadsafe(ended(), server.loop).result(PATIENCE)
        assert found == ["cancelled"] * 20  # the worker has not even begun: it loads for seconds
        jobs.start = start  # type: ignore[method-assign]
        assert b"P1 holds" in server.answer(ask), "who waits is answered"


def test_a_search_that_nobody_asks_about_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_app, "UNASKED", {"solve": 0.01, "review": 0.01})
    search = (
        b"POST /api/solve HTTP/1.1\r\n"
        + AT_HOME
        + b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    )
    with running(tmp_path) as server:
        answer = server.answer(search)
        job = server.house.jobs.jobs[json.loads(answer.split(b"\r\n\r\n", 1)[1])["id"]]
        asyncio.run_coroutine_threadsafe(job.ended.wait(), server.loop).result(PATIENCE)
        assert job.status == "cancelled" and job.error is not None and "nobody asked" in job.error
