"""Our client against servers that are not ours: the official one's quirks, played by a script."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, serve

from gs2.guandan.table.agents import FirstSeat
from gs2.guandan.table.client.client import ClientConfig, ClientError, TableClient
from gs2.guandan.table.client.tracker import ClientResult
from gs2.guandan.table.hosts import InstantHost, ThreadHost
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
            host = (InstantHost if agent is FirstSeat else ThreadHost)(agent)
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
        await server.end()

    result = play(script)
    assert (result.unread, result.refused, result.decisions) == (3, 1, 2)


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
        await TableClient(ClientConfig("ws://127.0.0.1:1"), InstantHost(FirstSeat)).run()

    with pytest.raises(ClientError, match="cannot connect"):
        asyncio.run(nowhere())


def test_addresses_are_completed_for_the_competition_platform():
    config = ClientConfig("ws://h:1/", "njupt", user="a b")
    assert config.address() == "ws://h:1/game/a%20b"
    assert ClientConfig("ws://h:1/game/x", "njupt", token="t&").address() == "ws://h:1/game/x?token=t%26"
    assert ClientConfig("ws://h:1").address() == "ws://h:1"
