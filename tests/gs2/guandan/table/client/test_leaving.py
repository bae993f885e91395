"""A client in front of the wrong server is told soon; a person leaves with one Ctrl-C."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from typing import Any

import pytest
from websockets.asyncio.server import serve

from gs2.guandan.table.agents import FirstSeat
from gs2.guandan.table.client.client import ClientConfig, ClientError, TableClient
from gs2.guandan.table.hosts import InstantHost
from gs2.guandan.table.server.server import ServerConfig, TableServer
from tests.gs2.guandan.table.client.test_client import HAND, MOVES, act, notify
from tests.patience import PATIENCE

SILENCE = 2.0
"""Seconds until a server that stays silent is given up; one that answers has all the time it needs."""


def told(*cases: tuple[Any, str], path: str = "", **config: Any) -> list[str]:
    """Return what clients of a dialect are told of servers, async context managers that yield a port."""

    async def meet(server: Any, dialect: str) -> str:
        async with server as port:
            options = {"patience": 300.0, "linger": 0.1, **config}
            url = f"ws://127.0.0.1:{port}{path}"
            with pytest.raises(ClientError) as error:
                await TableClient(ClientConfig(url, dialect, **options), InstantHost(FirstSeat)).run()
            return str(error.value)

    async def scenario() -> list[str]:
        return await asyncio.gather(*[meet(server, dialect) for server, dialect in cases])

    return asyncio.run(asyncio.wait_for(scenario(), PATIENCE))


@asynccontextmanager
async def ours(dialect: str) -> Any:
    async with TableServer(ServerConfig(dialect=dialect, port=0)) as server:
        yield server.port


@asynccontextmanager
async def plain(answer: bytes | None) -> Any:
    """Yield the port of a server of bytes: an answer to whatever comes, or none ever."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        if answer is not None:
            writer.write(answer)
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


@asynccontextmanager
async def scripted(handler: Any) -> Any:
    async with serve(handler, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


async def silent(socket: Any) -> None:
    await socket.wait_closed()


async def echo(socket: Any) -> None:
    async for text in socket:
        await socket.send(text)


async def error_of_njupt(socket: Any) -> None:
    await socket.recv()
    await socket.send('{"type":"error","msg":"an answer is an index"}')


async def error_of_openguandan(socket: Any) -> None:
    await socket.send('{"type":"ERROR","code":-1,"data":{"msg":"who are you?"}}')


def test_each_dialect_is_told_of_the_other_by_our_servers():
    for speaks, other in (("njupt", "openguandan"), ("openguandan", "njupt")):
        (text,) = told((ours(speaks), other))
        assert f"speaks {speaks}" in text and f"--dialect {speaks}" in text
    (text,) = told((ours("njupt"), "openguandan"), path="/game/somebody")
    assert "--dialect njupt" in text


def test_each_dialect_is_told_of_the_other_by_what_strangers_say():
    one, other, round_trip = told(
        (scripted(error_of_njupt), "openguandan"),
        (scripted(error_of_openguandan), "njupt"),
        (scripted(echo), "openguandan"),
    )
    assert "--dialect njupt" in one and "--dialect openguandan" in other and "without a room" in round_trip


def test_what_is_no_guandan_server_at_all_is_named():
    dialects = ("openguandan", "njupt")
    page = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
    assert all("HTTP 404" in text for text in told(*((plain(page), dialect) for dialect in dialects)))
    mail = told(*((plain(b"220 mail ready\r\n"), dialect) for dialect in dialects))
    assert all("no WebSocket server" in text for text in mail)
    refusals = (b"403 Forbidden\r\nContent-Length: 0\r\n\r\n", b"401 No\r\nContent-Length: 5\r\n\r\ntoken")
    nobody, stranger = told(*((plain(b"HTTP/1.1 " + page), "openguandan") for page in refusals))
    assert "no GuanDan table" in nobody and "its token" in stranger, "not each lacks a token"
    mute = [(plain(None), dialect) for dialect in dialects]
    *none, nothing = told(*mute, (scripted(silent), "openguandan"), patience=SILENCE)
    assert all("no answer within 2 s" in text for text in none)
    assert "nothing within 2 s" in nothing and "--dialect njupt" in nothing
    assert ClientConfig("ws://127.0.0.1:1").patience < 10, "a person is told soon by default"


def test_a_silent_server_of_the_competition_is_waited_for_but_spoken_of(caplog):
    async def scenario() -> None:
        async with scripted(silent) as port:
            config = ClientConfig(f"ws://127.0.0.1:{port}", "njupt", patience=SILENCE)
            task = asyncio.create_task(TableClient(config, InstantHost(FirstSeat)).run())
            while not caplog.records:
                await asyncio.sleep(0.01)
            assert not task.done()
            task.cancel()

    with caplog.at_level(logging.WARNING):
        asyncio.run(asyncio.wait_for(scenario(), PATIENCE))
    assert "--dialect openguandan" in caplog.text


@pytest.mark.skipif(os.name == "nt", reason="input that can be called off, signals of a terminal")
@pytest.mark.parametrize("leave", ["quit\n", "", "Ctrl-C"])
@pytest.mark.some(2)
def test_a_person_leaves_by_quit_the_end_of_the_input_or_one_ctrl_c(leave):
    """Without a traceback, and the server sees a close.

    A question that the server has replaced by another is not answered any more. With Ctrl-C the input stays
    open: a thread that waited there would keep the process.
    """

    async def table(socket: Any) -> None:
        await socket.recv()
        await socket.send('{"type":"CREATE_ROOM","code":200,"data":{"roomId":5}}')
        await socket.send(json.dumps(notify("beginning", handCards=HAND, myPos=0)))
        await socket.send(json.dumps(act()))
        await again.wait()
        await socket.send(json.dumps(act(actionList=MOVES[::-1])))
        answers.append(json.loads(await socket.recv())["data"]["act"])
        await socket.send(json.dumps(act()))
        await socket.wait_closed()
        answers.append(socket.close_code)
        closed.set()

    async def until_asked(process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        heard = b""
        while not heard.endswith(b"your move> "):
            heard += await process.stdout.readexactly(1)

    async def scenario() -> tuple[int, bytes, bytes]:
        async with serve(table, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "gs2.cli", "play", "--server", f"ws://127.0.0.1:{port}",
                "--agent", "human",
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
            try:
                assert process.stdin is not None and process.stdout is not None and process.stderr is not None
                await until_asked(process)
                again.set()
                await until_asked(process)
                process.stdin.write(b"0\n")
                await until_asked(process)
                if leave == "Ctrl-C":
                    process.send_signal(signal.SIGINT)
                else:
                    process.stdin.write(leave.encode())
                    process.stdin.close()
                await closed.wait()
                code = await process.wait()
                return code, await process.stdout.read(), await process.stderr.read()
            finally:
                if process.returncode is None:
                    process.kill()

    again, closed = asyncio.Event(), asyncio.Event()
    answers: list[Any] = []
    code, out, err = asyncio.run(asyncio.wait_for(scenario(), PATIENCE))
    assert answers == [MOVES[1], 1000]
    assert b"left the table" in err
    assert not any(word in err for word in (b"Traceback", b"ERROR", b"Fatal"))
    assert (code, b"rounds" in out) == ((130, False) if leave == "Ctrl-C" else (0, True)), err
