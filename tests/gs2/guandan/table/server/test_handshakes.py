"""Who may connect, and what a stranger's handshake can do: an answer and one line in the log, never more."""

from __future__ import annotations

import asyncio
import logging
import random
from typing import Any

import pytest
from click.testing import CliRunner
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from games.support.configuration import ConfigError
from gs2.cli import main
from gs2.commands.guandan.playing import play
from gs2.commands.guandan.serving import serve
from gs2.guandan.table.client.client import ClientConfig
from gs2.guandan.table.server.room import RoomConfig
from gs2.guandan.table.server.server import ServerConfig, TableServer
from gs2.guandan.table.wire.connection import WireLimits
from tests.gs2.guandan.table.scenario import with_a_limit
from tests.patience import PATIENCE, amount

HEADERS = [
    (b"Host", b"127.0.0.1"),
    (b"Upgrade", b"websocket"),
    (b"Connection", b"Upgrade"),
    (b"Sec-WebSocket-Key", b"dGhlIHNhbXBsZSBub25jZQ=="),
    (b"Sec-WebSocket-Version", b"13"),
]


def handshake(*more: tuple[bytes, bytes], path: bytes = b"/", without: bytes = b"") -> bytes:
    headers = [header for header in HEADERS if header[0] != without] + list(more)
    lines = [b"GET " + path + b" HTTP/1.1", *[name + b": " + value for name, value in headers]]
    return b"\r\n".join(lines) + b"\r\n\r\n"


async def answer_to(server: TableServer, request: bytes) -> int:
    """Return the status of the answer to what a stranger sends; 0 for no answer at all."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        writer.write(request)
        line = await asyncio.wait_for(reader.readline(), PATIENCE)
        return int(line.split()[1]) if line.startswith(b"HTTP/1.1 ") else 0
    finally:
        writer.close()


def statuses(requests: list[bytes], caplog: Any, *, again: bool = True, **config: Any) -> list[int]:
    """Return the answers of one server; fails if it logged a traceback, or a refusal not in one line.

    again: whether a client is to find the server as it was.
    """

    async def scenario() -> list[int]:
        async with TableServer(ServerConfig(port=0, **config)) as server:
            failures: list[Any] = []
            asyncio.get_running_loop().set_exception_handler(lambda loop, context: failures.append(context))
            found = [await answer_to(server, request) for request in requests]
            query = f"?token={config['token']}" if config.get("token") else ""
            if again:
                async with connect(server.url + query):
                    pass
            assert not failures, failures
            return found

    with caplog.at_level(logging.INFO):
        caplog.clear()
        found = asyncio.run(asyncio.wait_for(scenario(), PATIENCE))
    refused = [record for record in caplog.records if "handshake refused" in record.message]
    assert all(record.exc_info is None for record in caplog.records)
    assert all(record.message.isprintable() and len(record.message) < 400 for record in refused)
    assert len(refused) == sum(status != 101 for status in found)
    return found


EMPTY = ["", " ", "\t", "\n", "  \r\n ", "\u3000"]


def test_a_token_that_is_empty_or_cannot_be_shown_is_refused_by_server_client_and_commands():
    for token in (*EMPTY, "a b", "schlüssel", "x\n", "\udcff", "a\0"):
        for host in ("127.0.0.1", "0.0.0.0"):
            with pytest.raises(ConfigError, match="visible ASCII"):
                ServerConfig(token=token, host=host)
        with pytest.raises(ConfigError, match="visible ASCII"):
            ClientConfig("ws://127.0.0.1:1", token=token)
    for token in ("", " "):
        for words in (["serve", "--port", "0"], ["play", "--server", "ws://127.0.0.1:1", "--agent", "first"]):
            for given, variable in ((["--token", token], None), ([], token)):
                done = CliRunner().invoke(main, [*words, *given], env={"GS2_TABLE_TOKEN": variable})
                assert done.exit_code == 2 and len(done.stderr.splitlines()) == 1
                assert done.stderr.startswith("gs2: a token is") and "visible ASCII" in done.stderr


def test_no_option_is_switched_off_by_an_empty_or_impossible_value():
    there = ["--server", "ws://127.0.0.1:1"]
    for command, option, values in (
        (serve, "--host", ("", " ")),
        (serve, "--agents", ("", "random,,random")),
        (serve, "--rules", ("",)),
        (serve, "--fallback", ("",)),
        (serve, "--decision", ("nan", "inf")),
        (serve, "--reconnect", ("nan",)),
        (serve, "--delay", ("nan",)),
        (serve, "--grace", ("nan",)),
        (serve, "--seed", ("-1", str(10**20))),
        (serve, "--dialect", ("",)),
        (serve, "--port", ("",)),
        (play, "--server", ("",)),
        (play, "--user", ("",)),
        (play, "--agent", ("",)),
        (play, "--room", ("",)),
        (play, "--dialect", ("",)),
    ):
        for value in values:
            done = CliRunner().invoke(command, [*(there if command is play else ()), option, value])
            assert done.exit_code == 2, (option, value, done.output)
            assert option in done.output


def test_the_configuration_refuses_what_would_switch_a_limit_off():
    for wrong in ({"host": ""}, {"host": " ", "token": "x"}, {"rooms": 0}, {"errors": 0}, {"seed": -1}):
        with pytest.raises(ConfigError):
            ServerConfig(**wrong)
    for name in ("decision", "reconnect", "delay", "probe"):
        for value in (float("nan"), float("inf"), -1.0):
            with pytest.raises(ConfigError, match=name):
                RoomConfig(**{name: value})
    with pytest.raises(ConfigError, match="positive"):
        RoomConfig(probe=0.0)


def test_what_is_no_handshake_or_two_at_once_gets_an_answer_and_one_line(caplog):
    bearer = (b"Authorization", b"Bearer sesame")
    requests = {
        handshake(bearer): 101,
        handshake((b"authorization", b"bearer sesame")): 101,
        handshake(path=b"/?token=sesame"): 101,
        handshake(bearer, bearer): 400,
        handshake((b"Authorization", b"Bearer x"), bearer): 400,
        handshake((b"Authorization", b"")): 401,
        handshake((b"Authorization", b"Bearer")): 401,
        handshake((b"Authorization", b"Bearer ")): 401,
        handshake((b"Authorization", b"Basic c2VzYW1l")): 401,
        handshake((b"Authorization", b"Bearer \xe4\xff")): 401,
        handshake(path=b"/?token="): 401,
        handshake(path=b"/?token=%ff%fe"): 401,
        handshake(path=b"/?token=wrong&token=sesame"): 401,
        handshake(bearer, (b"Host", b"evil.example")): 400,
        handshake(bearer, (b"Origin", b"http://a"), (b"Origin", b"http://b")): 400,
        handshake(bearer, (b"Sec-WebSocket-Key", b"dGhlIHNhbXBsZSBub25jZQ==")): 400,
        handshake(bearer, (b"Sec-WebSocket-Version", b"13")): 400,
        handshake(bearer, (b"Upgrade", b"websocket")): 426,
        handshake(bearer, without=b"Upgrade"): 426,
        handshake(bearer, without=b"Sec-WebSocket-Key"): 400,
        handshake(bearer, (b"X", b"y" * 100_000)): 431,
        handshake(bearer, *[(b"X%d" % k, b"y") for k in range(1000)]): 431,
        handshake(bearer, (b"Content-Length", b"5")): 400,
        handshake(bearer, (b"Transfer-Encoding", b"chunked")): 400,
        handshake(bearer, (b"bad name", b"x")): 400,
        handshake(bearer, path=b"/" + b"x" * 100_000): 414,
        handshake(bearer, path=b"//[x"): 400,
        handshake(bearer, path=b"/\xff"): 400,
        b"POST / HTTP/1.1\r\nHost: x\r\n\r\n": 405,
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n": 426,
        b"GET / HTTP/3\r\n\r\n": 400,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n": 400,
        b"\x00\x01\x02 not http\r\n\r\n": 400,
        b"\r\n\r\n": 400,
        b"\x1b[31mred\r\n\r\n": 400,
        # and what comes behind a handshake in the same packet
        handshake(bearer) + b"\r\n\r\n\r\n": 101,
        handshake(bearer) + handshake(bearer): 101,
        handshake() + b"\x81\x80\0\0\0\0": 401,
        handshake() + handshake(bearer): 401,
    }
    found = statuses(list(requests), caplog, token="sesame")
    assert dict(zip(requests, found, strict=True)) == requests


def test_pages_of_other_hosts_are_refused_without_a_token(caplog):
    origins = {
        b"http://evil.example": 403,
        b"null": 403,
        b"": 403,
        b"http://[::1": 403,
        b"http://127.0.0.1.evil.example": 403,
        b"http://127.0.0.1@evil.example": 403,
        b"http://evil.example:8181": 403,
        b"http://\xff": 403,
        b"http://localhost:3000": 101,
        b"http://[::1]:3000": 101,
        b"ws://127.0.0.1:8181": 101,
    }
    found = statuses([handshake((b"Origin", origin)) for origin in origins], caplog)
    assert dict(zip(origins, found, strict=True)) == origins


@pytest.mark.parametrize("token", ["sesame", None])
def test_handshakes_mangled_at_random_never_reach_the_log_as_tracebacks(caplog, token):
    rng = random.Random(7)
    requests = []
    for _ in range(amount(300, 120)):
        more = rng.sample(
            [
                (b"Authorization", b"Bearer sesame"),
                (b"Authorization", b"Bearer sesame"),
                (b"Origin", b"http://localhost"),
                (b"Origin", bytes(rng.randrange(33, 256) for _ in range(9))),
                (b"Sec-WebSocket-Protocol", b",;="),
                (b"Sec-WebSocket-Extensions", b'permessage-deflate; x="'),
                (b"Cookie", b"a" * rng.choice([1, 5000, 9000])),
            ],
            rng.randrange(6),
        )
        request = bytearray(handshake(*more, path=rng.choice([b"/", b"/?token=sesame", b"/%", b"*"])))
        for _ in range(rng.choice([0, 0, 1, 3])):
            request[rng.randrange(len(request) - 4)] = rng.randrange(256)
        # a line end may have been hit: what follows ends any request
        requests.append(bytes(request) + (b"\r\n\r\n" * 2))
    found = statuses(requests, caplog, token=token)
    assert set(found) <= {101, 400, 401, 403, 405, 426, 431, 505}
    assert 101 in found and 400 in found


def test_a_client_that_says_nothing_is_told_so_when_its_time_is_up(caplog):
    found = statuses([b"", b"GET / HTTP/1.1\r\n"], caplog, again=False, limits=WireLimits(handshake=0.2))
    assert found == [408, 408]


@with_a_limit
async def test_a_refused_client_that_never_leaves_is_dropped():
    async with TableServer(ServerConfig(port=0, limits=WireLimits(handshake=2.0))) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"nonsense\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 400")
        with pytest.raises(ConnectionError):
            while True:
                writer.write(b"x" * 10_000)
                await writer.drain()
                await asyncio.sleep(0.01)


def test_tokens_are_wanted_beyond_this_machine():
    async def scenario() -> None:
        async with TableServer(ServerConfig(port=0, token="se/sa+me=?&")) as server:
            config = ClientConfig(server.url, token="se/sa+me=?&")
            async with connect(config.address()):
                pass
            async with connect(ClientConfig(server.url + "/?a=b", token="se/sa+me=?&").address()):
                pass
            with pytest.raises(InvalidStatus):
                await connect(ClientConfig(server.url, token="se").address())

    with pytest.raises(ConfigError, match="token"):
        ServerConfig(host="0.0.0.0")
    asyncio.run(asyncio.wait_for(scenario(), PATIENCE))
