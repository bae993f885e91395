"""A client in front of the wrong server is told soon; a person leaves with one Ctrl-C."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from typing import Any

import pytest
from websockets.asyncio.server import serve

from gs2.guandan.table.agents import FirstAgent
from gs2.guandan.table.client.client import TableClient
from gs2.guandan.table.client.visit import ClientConfig, ClientError
from gs2.guandan.table.hosts import InstantHost
from gs2.guandan.table.server.server import ServerConfig, TableServer
from tests.gs2.guandan.table.client.test_client import MOVES, act, notify
from tests.patience import PATIENCE

SILENCE = 2.0
"""Seconds until a server that stays silent is given up; one that answers has all the time it needs."""


def told(server: Any, dialect: str, path: str = "", **config: Any) -> str:
    """Return what a client is told of a server, an async context manager that yields a port."""

    async def scenario() -> None:
        async with server as port:
            options = {"patience": 300.0, "linger": 0.1, **config}
            url = f"ws://127.0.0.1:{port}{path}"
            await TableClient(ClientConfig(url, dialect, **options), InstantHost(FirstAgent)).run()

    with pytest.raises(ClientError) as error:
        asyncio.run(asyncio.wait_for(scenario(), PATIENCE))
    return str(error.value)


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
    text = told(ours("njupt"), "openguandan")
    assert "speaks njupt" in text and "--dialect njupt" in text
    text = told(ours("njupt"), "openguandan", "/game/somebody")
    assert "--dialect njupt" in text
    text = told(ours("openguandan"), "njupt")
    assert "speaks openguandan" in text and "--dialect openguandan" in text


def test_each_dialect_is_told_of_the_other_by_what_strangers_say():
    assert "--dialect njupt" in told(scripted(error_of_njupt), "openguandan")
    assert "--dialect openguandan" in told(scripted(error_of_openguandan), "njupt")
    text = told(scripted(silent), "openguandan", patience=SILENCE)
    assert "nothing within 2 s" in text and "--dialect njupt" in text


@pytest.mark.parametrize("dialect", ["openguandan", "njupt"])
def test_what_is_no_guandan_server_at_all_is_named(dialect):
    page = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
    assert "HTTP 404" in told(plain(page), dialect)
    assert "no WebSocket server" in told(plain(b"220 mail ready\r\n"), dialect)
    assert "no answer within 2 s" in told(plain(None), dialect, patience=SILENCE)


def test_an_echo_gives_no_seat():
    assert "without a room" in told(scripted(echo), "openguandan")


def test_a_silent_server_of_the_competition_is_waited_for_but_spoken_of(caplog):
    async def scenario() -> None:
        async with scripted(silent) as port:
            config = ClientConfig(f"ws://127.0.0.1:{port}", "njupt", patience=SILENCE)
            task = asyncio.create_task(TableClient(config, InstantHost(FirstAgent)).run())
            while not caplog.records:
                await asyncio.sleep(0.01)
            assert not task.done()
            task.cancel()

    with caplog.at_level(logging.WARNING):
        asyncio.run(asyncio.wait_for(scenario(), PATIENCE))
    assert "--dialect openguandan" in caplog.text


def test_a_person_is_told_within_ten_seconds_by_default():
    assert ClientConfig("ws://127.0.0.1:1").patience < 10


@pytest.mark.skipif(os.name == "nt", reason="input that can be called off")
@pytest.mark.parametrize("typed", [b"quit\n", b""])
@pytest.mark.some(1)
def test_quit_and_the_end_of_the_input_leave_the_table_with_success(typed):
    """A question that the server has replaced by another is not answered any more."""
    closed = asyncio.Event()

    async def table(socket: Any) -> None:
        await socket.recv()
        await socket.send('{"type":"CREATE_ROOM","code":200,"data":{"roomId":5}}')
        await socket.send(json.dumps(notify("beginning", handCards=["S2", "H3", "SB"], myPos=0)))
        await socket.send(json.dumps(act()))
        await again.wait()
        await socket.send(json.dumps(act(actionList=MOVES[::-1])))
        answers.append(json.loads(await socket.recv())["data"]["act"])
        await socket.send(json.dumps(act()))
        await socket.wait_closed()
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
                assert process.stdin is not None
                await until_asked(process)
                again.set()
                await until_asked(process)
                process.stdin.write(b"0\n")
                await until_asked(process)
                process.stdin.write(typed)
                process.stdin.close()
                await closed.wait()
                out, err = await process.communicate()
                assert process.returncode is not None
                return process.returncode, out, err
            finally:
                if process.returncode is None:
                    process.kill()

    again = asyncio.Event()
    answers: list[Any] = []
    code, out, err = asyncio.run(asyncio.wait_for(scenario(), PATIENCE))
    assert code == 0, err
    assert answers == [MOVES[1]]
    assert b"left the table" in err and b"Traceback" not in err and b"ERROR" not in err
    assert b"rounds" in out


@pytest.mark.skipif(os.name == "nt", reason="signals of a terminal")
@pytest.mark.parametrize("agent", ["human", "random"])
@pytest.mark.some(1)
def test_one_ctrl_c_leaves_the_table(agent):
    """The person is asked, presses Ctrl-C once, and is out: no traceback, and the server sees a close."""
    asked, closed = asyncio.Event(), asyncio.Event()
    codes = []

    async def table(socket: Any) -> None:
        await socket.recv()
        await socket.send('{"type":"CREATE_ROOM","code":200,"data":{"roomId":5}}')
        hand = ["S2", "H3", "SB"]

        await socket.send(json.dumps(notify("beginning", handCards=hand, myPos=0)))
        if agent == "human":
            await socket.send(json.dumps(act()))
        asked.set()
        await socket.wait_closed()
        codes.append(socket.close_code)
        closed.set()

    async def scenario() -> tuple[int, str, str]:
        async with serve(table, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "gs2.cli", "play", "--server", f"ws://127.0.0.1:{port}",
                "--agent", agent,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
            try:
                await asked.wait()
                assert process.stdout is not None and process.stdin is not None
                out = b""
                while agent == "human" and b"your move>" not in out:
                    out += await process.stdout.read(1000)
                if agent != "human":
                    # it says so when it is in its loop
                    assert process.stderr is not None
                    await process.stderr.readline()
                process.send_signal(signal.SIGINT)
                await closed.wait()
                # its input is still open: a thread that waited there would keep it
                code = await process.wait()
                assert process.stderr is not None
                return code, out.decode(), (await process.stderr.read()).decode()
            finally:
                if process.returncode is None:
                    process.kill()

    code, _, err = asyncio.run(asyncio.wait_for(scenario(), PATIENCE))
    assert code == 130
    assert "Traceback" not in err and "Fatal" not in err
    assert re.search("left the table", err)
    assert codes == [1000]
