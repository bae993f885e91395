"""What a client has to cope with at the official server, and copes with at ours in its official form."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from websockets.asyncio.client import connect

from gs2.guandan.table.agents import RandomAgent
from gs2.guandan.table.client.client import TableClient
from gs2.guandan.table.client.visit import ClientConfig, ClientError
from gs2.guandan.table.hosts import InstantHost
from gs2.guandan.table.server.server import ServerConfig, TableServer
from tests.gs2.guandan.table.protocol import heard_until, openguandan_client, until
from tests.gs2.guandan.table.scenario import first_request, run, table, tell


def test_a_move_out_of_turn_is_not_answered():
    async def scenario() -> None:
        async with table(official=True) as (_, sockets):
            seat, act = await first_request(sockets)
            assert seat == 0
            await tell(sockets[1], "PLAY", roomId=1, player=1, act=act["actionList"][0])
            await tell(sockets[1], "GET_ROOMPLAYER", roomId=1)
            told = await heard_until(sockets[1], lambda message: "code" in message)
            assert (told["type"], told["code"]) == ("GET_ROOMPLAYER", 200)

    run(scenario())


def test_whoever_was_cut_off_is_never_taken_back():
    async def scenario() -> None:
        async with table(official=True) as (server, sockets):
            await first_request(sockets)
            await sockets[1].close()
            await until(lambda: server.rooms[1].seats[1].lost is not None)
            async with connect(server.url) as again:
                await tell(again, "JOIN_ROOM", userId="u1", roomId=1)
                told = await heard_until(again, lambda message: "code" in message)
                assert told == {"type": "JOIN_ROOM", "code": -1, "data": {"msg": "房间已满"}}

    run(scenario())


def test_our_client_that_is_not_let_in_again_says_why():
    class Cut(InstantHost):
        """Loses the connection at the third decision."""

        def __init__(self, server: TableServer) -> None:
            super().__init__(RandomAgent)
            self.server, self.asked = server, 0

        def answer_now(self, key: Any, observation: Any) -> int:
            self.asked += 1
            if self.asked == 3:
                connection = self.server.rooms[1].seats[observation.seat].connection
                assert connection is not None
                connection.abort()
            return super().answer_now(key, observation)

    async def scenario() -> None:
        async with TableServer(ServerConfig(port=0, seed=1, official=True)) as server:
            config = ClientConfig(server.url, user="cut", reconnect=1)
            client = TableClient(config, Cut(server))
            ours = asyncio.create_task(client.run())
            room = await client.seated
            others = [
                asyncio.create_task(openguandan_client(server.url, f"bot{k}", None, room=room))
                for k in range(3)
            ]
            try:
                with pytest.raises(ClientError, match="not let in again: 房间已满"):
                    await ours
            finally:
                for other in others:
                    other.cancel()

    run(scenario())
