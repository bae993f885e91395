"""Our client against servers that are not ours: the official one's quirks, played by a script; wrong servers.

A client in front of the wrong server is told soon; a person leaves with one Ctrl-C.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, serve

from games.support.configuration import ConfigError
from gs2.guandan.table.client.client import ClientConfig, ClientError, TableClient
from gs2.guandan.table.client.tracker import ClientResult, Tracker
from gs2.guandan.table.hosts import FirstSeat, ThreadHost
from gs2.guandan.table.server.server import ServerConfig, TableServer
from gs2.guandan.table.wire import messages as m
from tests.patience import PATIENCE

HAND = ["S2", "H3", "SB"]
MOVES = [["Single", "3", ["H3"]], ["Single", "B", ["SB"]]]


def act(**fields: Any) -> dict[str, Any]:
    asked = {"type": "act", "stage": "play", "handCards": HAND, "publicInfo": [{"rest": 3}] * 4}
    asked |= {"selfRank": "2", "oppoRank": "2", "curRank": "2", "actionList": MOVES, "indexRange": 1}
    nothing = {"curPos": -1, "curAction": None, "greaterPos": -1, "greaterAction": None}
    return asked | nothing | fields


def notify(stage: str, **fields: Any) -> dict[str, Any]:
    return {"type": "notify", "stage": stage, **fields}


class Script:
    """One connection of a scripted server."""

    def __init__(self, socket: ServerConnection) -> None:
        self.socket = socket

    async def say(self, *messages: Any) -> None:
        for message in messages:
            await self.socket.send(message if isinstance(message, str | bytes) else json.dumps(message))

    async def hear(self) -> dict[str, Any]:
        return json.loads(await asyncio.wait_for(self.socket.recv(), PATIENCE))

    async def seat(self) -> None:
        """Let the client create a room, and deal."""
        assert (await self.hear())["type"] == "CREATE_ROOM"
        await self.say({"type": "CREATE_ROOM", "code": 200, "data": {"roomId": 5, "userNum": 0}})
        await self.say(notify("beginning", handCards=HAND, myPos=0))

    async def end(self) -> None:
        await self.say(
            notify("gameResult", victory=0, victoryRank=["A", "2"]),
            notify("gameOver", curTimes=1, settingTimes=1),
        )


def play(script: Callable[[Script], Awaitable[None]], agent: Any = FirstSeat, **config: Any) -> ClientResult:
    """Return what became of a client; fails if the script did."""
    failures: list[Any] = []

    async def handler(socket: ServerConnection) -> None:
        try:
            await script(Script(socket))
            await socket.wait_closed()
        except Exception as error:
            failures.append(error)
            raise

    async def scenario() -> ClientResult:
        async with serve(handler, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            # a server is woken only where a test asks for it: a busy machine is silent, too
            options = {"linger": 0.1, "silence": 300.0, "patience": 300.0, **config}
            host = ThreadHost(agent, 0 if agent is FirstSeat else 64)
            return await TableClient(ClientConfig(f"ws://127.0.0.1:{port}", **options), host).run()

    result = asyncio.run(asyncio.wait_for(scenario(), PATIENCE))
    assert not failures, failures
    return result


def test_a_pass_is_played_though_the_list_lacks_it_or_the_player_has_finished():
    nine = ["Single", "9", ["S9"]]

    async def script(server: Script) -> None:
        await server.seat()
        for request in (
            act(curPos=3, curAction=nine, greaterPos=3, greaterAction=nine),
            *(
                act(handCards=[], actionList=moves, indexRange=0, greaterPos=1, greaterAction=nine)
                for moves in ([["PASS", "PASS", "PASS"]], [])
            ),
        ):
            await server.say(request)
            assert (await server.hear())["data"]["act"] == ["PASS", "PASS", "PASS"]
        await server.end()

    assert play(script).decisions == 3


def test_tribute_and_return_are_answered_in_their_own_forms():
    async def script(server: Script) -> None:
        await server.seat()
        await server.say({"type": "tribute", "code": 200, "data": None})
        paid = ["tribute", "tribute", ["SB"]]
        await server.say(act(stage="tribute", actionList=[paid, paid], indexRange=1))
        assert (await server.hear()) == {"type": "TRIBUTE", "data": {"roomId": 5, "player": 0, "act": paid}}
        back = ["back", "back", ["H3"]]
        await server.say(act(stage="back", actionList=[back, back], indexRange=1, tributePos=3, tribute="HR"))
        data = (await server.hear())["data"]
        assert (data["act"], data["tributePos"], data["tribute"]) == (back, 3, "HR")
        for untold in ({}, {"tributePos": None, "tribute": None}):
            await server.say(act(stage="back", actionList=[back, back], indexRange=1, **untold))
            assert (await server.hear())["data"] == {"roomId": 5, "player": 0, "act": back}
        await server.end()

    play(script)


def test_what_cannot_be_read_is_left_out_and_what_is_repeated_is_answered_again():
    async def script(server: Script) -> None:
        await server.seat()
        await server.say("not json", b"\x00\x01", "[]", notify("chat", text="hello"))
        await server.say(act(actionList=[["Wizardry", "9", ["S2"]], *MOVES], indexRange=2))
        assert (await server.hear())["data"]["act"] == MOVES[0]
        await server.say({"type": "PLAY", "code": -1, "data": {"msg": "no"}})
        await server.say(act())
        assert (await server.hear())["data"]["act"] == MOVES[0]
        await server.say(act(actionList=[["Wizardry", "9", ["S2"]]] * 2, indexRange=1))
        assert (await server.hear())["data"]["act"] == ["Wizardry", "9", ["S2"]]
        await server.end()

    result = play(script)
    assert (result.unread, result.refused, result.decisions) == (3, 1, 3)


def test_a_move_that_cannot_be_read_is_missing_from_what_was_played():
    tracker, nine = Tracker(), ["Single", "9", ["S9"]]
    strange = notify("play", curPos=2, curAction=["Wizardry", "9", ["D9"]])
    for told in (
        notify("beginning", handCards=HAND, myPos=0),
        strange,
        notify("play", curPos=3, curAction=nine),
    ):
        tracker.note(m.decode_server_message(json.dumps(told)))
    asked = m.decode_server_message(
        json.dumps(act(curPos=3, curAction=nine, greaterPos=3, greaterAction=nine))
    )
    assert isinstance(asked, m.Act)
    assert tracker.observe(asked)[0].plays == [(3, nine)]


def test_the_last_game_is_known_by_its_result_or_by_silence():
    async def script(server: Script) -> None:
        await server.seat()
        for game in (1, 2):
            # the official server counts finished games in settingTimes
            await server.say(notify("gameOver", curTimes=game, settingTimes=game))
            if game == 1:
                await server.say(notify("beginning", handCards=HAND, myPos=0), act())
                assert (await server.hear())["type"] == "PLAY"

    assert play(script, linger=3.0).games == 2


def test_a_lost_connection_is_opened_again_and_the_seat_asked_for():
    calls = []

    async def script(server: Script) -> None:
        calls.append(1)
        if len(calls) == 1:
            await server.seat()
            server.socket.transport.abort()
            return
        told = await server.hear()
        assert told == {"type": "JOIN_ROOM", "data": {"userId": "gs2", "seatNum": 0, "roomId": 5}}
        await server.say({"type": "JOIN_ROOM", "code": 200, "data": {"roomId": 5}})
        # in the middle of a round of which it heard nothing
        two = ["Single", "2", ["S2"]]
        await server.say(act(greaterPos=3, greaterAction=two, curPos=3, curAction=two))
        assert (await server.hear())["data"]["act"] == ["PASS", "PASS", "PASS"]
        await server.end()

    assert play(script).reconnects == 1


def test_an_agent_that_fails_is_replaced_by_a_default_move_and_a_server_that_hangs_is_woken():
    class Breaks:
        def act(self, observation: Any) -> int:
            raise RuntimeError("no idea")

    async def script(server: Script) -> None:
        await server.seat()
        await server.say(act())
        assert (await server.hear())["data"]["act"] == MOVES[0]
        for _ in range(2):
            assert await server.hear() == {"type": "GET_ROOMPLAYER", "data": {"roomId": 5}}
        await server.say(
            notify("play", curPos=0, curAction=MOVES[0], greaterPos=-1, greaterAction=["PASS"] * 3)
        )
        await server.end()

    assert play(script, Breaks, silence=0.2).fallbacks == 1


@pytest.mark.parametrize("clash", [{"handCards": ["S4"] * 3}, {"publicInfo": [{"rest": 3}] * 3}])
def test_a_request_whose_cards_clash_is_answered_by_a_default_move(clash: dict[str, Any]):
    async def script(server: Script) -> None:
        await server.seat()
        await server.say(act(**clash))
        assert (await server.hear())["data"]["act"] == MOVES[0]
        await server.end()

    assert play(script).fallbacks == 1


def test_a_new_request_overtakes_one_still_being_thought_about():
    second = threading.Event()

    class Slow:
        def act(self, observation: Any) -> int:
            if len(observation.actions) == 2:
                second.set()
            second.wait(PATIENCE)
            return len(observation.actions) - 1

    async def script(server: Script) -> None:
        await server.seat()
        await server.say(act(), act(), act(actionList=MOVES[:2][::-1]))
        assert (await server.hear())["data"]["act"] == MOVES[0]
        await server.end()

    assert play(script, Slow).decisions == 1


def test_a_server_that_gives_no_seat_or_is_not_there_is_named():
    async def script(server: Script) -> None:
        await server.hear()
        await server.say({"type": "CREATE_ROOM", "code": -1, "data": {"msg": "room is full"}})

    with pytest.raises(ClientError, match="room is full"):
        play(script)

    async def nowhere() -> None:
        await TableClient(ClientConfig("ws://127.0.0.1:1"), ThreadHost(FirstSeat, 0)).run()

    with pytest.raises(ClientError, match="cannot connect"):
        asyncio.run(nowhere())


def test_addresses_are_completed_for_the_competition_platform():
    config = ClientConfig("ws://h:1/", "njupt", user="a b")
    assert config.address() == "ws://h:1/game/a%20b"
    assert ClientConfig("ws://h:1/game/x", "njupt", token="t&").address() == "ws://h:1/game/x?token=t%26"
    assert ClientConfig("ws://h:1").address() == "ws://h:1"
    for room in (-1, "a"):
        with pytest.raises(ConfigError, match="room must be an integer"):
            ClientConfig("ws://h:1", room=room)


SILENCE = 2.0
"""Seconds until a server that stays silent is given up; one that answers has all the time it needs."""


def told(*cases: tuple[Any, str], path: str = "", **config: Any) -> list[str]:
    """Return what clients of a dialect are told of servers, async context managers that yield a port."""

    async def meet(server: Any, dialect: str) -> str:
        async with server as port:
            options = {"patience": 300.0, "linger": 0.1, **config}
            url = f"ws://127.0.0.1:{port}{path}"
            with pytest.raises(ClientError) as error:
                await TableClient(ClientConfig(url, dialect, **options), ThreadHost(FirstSeat, 0)).run()
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
            task = asyncio.create_task(TableClient(config, ThreadHost(FirstSeat, 0)).run())
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
