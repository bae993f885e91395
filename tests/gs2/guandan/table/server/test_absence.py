"""Clients that are silent, lost or dead, and those that come back; our server in its official form, too.

Those of the competition's dialect are known by name alone: who gets which seat, and gets it back.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import random
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.asyncio.client import connect

from gs2.guandan.table.client.client import ClientConfig, ClientError, TableClient
from gs2.guandan.table.hosts import RandomSeat, ThreadHost, host_for
from gs2.guandan.table.server.room import Room, RoomConfig
from gs2.guandan.table.server.server import ServerConfig, TableServer
from gs2.guandan.table.wire.connection import WireLimits
from gs2.guandan.table.wire.dialects import OpenGuanDan
from tests.gs2.guandan.table.protocol import heard_until, openguandan_client, until
from tests.gs2.guandan.table.scenario import (
    Ear,
    answer,
    first_request,
    is_act,
    is_error,
    near_the_end,
    play_on,
    run,
    table,
    tell,
    with_a_limit,
)
from tests.patience import amount


@pytest.fixture(autouse=True)
def short_games(monkeypatch):
    near_the_end(monkeypatch)


def test_whoever_takes_the_place_of_a_lost_client_gets_the_whole_delay_before_the_deal():
    timers: list[tuple[SimpleNamespace, Any]] = []

    def call_later(delay: float, call: Any) -> SimpleNamespace:
        timer = SimpleNamespace(delay=delay, cancelled=False)
        timer.cancel = lambda: setattr(timer, "cancelled", True)
        timers.append((timer, call))
        return timer

    room = Room(1, OpenGuanDan(), RoomConfig(delay=1.0))
    with patch("asyncio.get_running_loop", lambda: SimpleNamespace(call_later=call_later)):
        for seat in range(4):
            room.take(Ear(), f"u{seat}")
        room.start_if_full()
        room.lost(room.seats[3])
        room.take(Ear(), "late")
        room.start_if_full()
        assert [(timer.delay, timer.cancelled) for timer, _ in timers] == [(1.0, True), (1.0, False)]
        timers[1][1]()
    assert room.state == "playing" and room.result.names == ["u0", "u1", "u2", "late"]


@with_a_limit
async def test_a_client_that_never_answers_is_decided_for_and_told():
    async with table(room={"decision": 300.0, "missed": 1}) as (server, sockets):
        silent = sockets[3]
        players = [asyncio.create_task(play_on(sockets[s], s, random.Random(s))) for s in range(3)]
        await until(lambda: 3 in server.rooms[1].session.pending)
        # its time is up at once; that of the others is not, however busy the machine
        server.rooms[1].seats[3].deadline = 0.0
        told = await heard_until(silent, is_error)
        assert "no answer within 300 s" in told["data"]["msg"]
        result = server.rooms[1].result
        await until(lambda: result.fallbacks[3] > 10)
        assert result.fallbacks[:3] == [0, 0, 0]
        for player in players:
            player.cancel()


@with_a_limit
async def test_a_silent_client_gains_no_time_by_joining_again():
    hosts = {"first": host_for("first")}
    config = ServerConfig(port=0, seed=1, agents=("first",) * 3, room=RoomConfig(decision=0.3))
    async with TableServer(config, hosts) as server:
        socket = await connect(server.url, max_size=None, max_queue=None)
        await tell(socket, "CREATE_ROOM", userId="x", seatNum=0)
        await until(lambda: server.rooms and server.rooms[1].state == "playing")
        room = server.rooms[1]
        await until(lambda: 0 in room.session.pending)
        # it would go on for ever if every return began the clock anew, with the old connection or another
        for turn in itertools.count():
            if room.result.fallbacks[0]:
                break
            if turn % 2:
                await socket.close()
                await until(lambda: room.seats[0].connection is None)
                socket = await connect(server.url, max_size=None, max_queue=None)
            await tell(socket, "JOIN_ROOM", userId="x", roomId=1)
            assert (await heard_until(socket, lambda m: m["type"] == "JOIN_ROOM"))["code"] == 200
        await socket.close()


@settings(max_examples=amount(60), deadline=None)
@given(
    decision=st.floats(1, 100),
    reconnect=st.floats(0, 100),
    away=st.booleans(),
    steps=st.lists(st.tuples(st.floats(0, 40), st.sampled_from(["leave", "join"])), max_size=12),
)
def test_the_clock_of_a_request_begins_once_when_its_client_is_there(decision, reconnect, away, steps):
    async def scenario():
        config = RoomConfig(decision=decision, reconnect=reconnect)
        room = Room(1, OpenGuanDan(), config, seed=1)
        for k in range(4):
            room.take(Ear(), f"u{k}")
        room.start_if_full()
        await until(lambda: room.state == "playing")
        (leader,) = room.session.pending
        seat = room.seats[(leader + 1) % 4]
        lost = now
        if away:
            room.lost(seat)
        room.session.choose(leader, 0)
        begun = None if away else now
        for seconds, step in steps:
            clock.value += seconds
            if step == "join":
                room.give_back(seat, seat.connection or Ear())
                begun = clock.value if begun is None else begun
            elif seat.connection is not None:
                room.lost(seat)
                lost = clock.value
            if seat.connection is None:
                assert seat.deadline == min(lost + reconnect, math.inf if begun is None else begun + decision)
            else:
                assert seat.deadline == begun + decision

    clock = SimpleNamespace(value=(now := 1000.0))
    with patch("gs2.guandan.table.server.room.time", SimpleNamespace(monotonic=lambda: clock.value)):
        run(scenario())


@with_a_limit
async def test_the_seat_of_a_killed_client_goes_to_the_fallback_agent_and_the_others_play_on():
    hosts = {"fallback": ThreadHost(RandomSeat, 0)}
    async with table(room={"reconnect": 0.1}, hosts=hosts) as (server, sockets):
        await first_request(sockets)
        server.rooms[1].seats[2].connection.abort()
        sockets[2].transport.abort()
        players = [asyncio.create_task(play_on(sockets[s], s, random.Random(s))) for s in (0, 1, 3)]
        for seat in server.rooms[1].seats:
            server.rooms[1].ask_again(seat)
        await asyncio.gather(*players)
        assert server.results[0].fallbacks[2] > 0 and server.results[0].fallbacks[0] == 0


@with_a_limit
async def test_a_client_that_returns_gets_its_seat_the_round_so_far_and_its_request():
    async with table() as (server, sockets):
        seat, act = await first_request(sockets)
        await answer(sockets[seat], seat, act, 0)
        nxt = (seat + 1) % 4
        act = await heard_until(sockets[nxt], is_act)
        await sockets[nxt].close()
        await until(lambda: server.rooms[1].seats[nxt].connection is None)
        async with connect(server.url, max_size=None) as socket:
            await tell(socket, "JOIN_ROOM", userId=f"u{nxt}", roomId=1)
            heard = [json.loads(await socket.recv()) for _ in range(4)]
            stages = [message.get("stage", message["type"]) for message in heard]
            assert stages == ["JOIN_ROOM", "beginning", "play", "play"]
            assert heard[1]["myPos"] == nxt
            assert heard[2]["curPos"] == seat
            assert heard[3] == act
            await answer(socket, nxt, act, 0)
            notice = await heard_until(sockets[seat], lambda m: m.get("curPos") == nxt)
            assert notice["curAction"] == act["actionList"][0]
            assert server.rooms[1].result.fallbacks == [0, 0, 0, 0]


@with_a_limit
async def test_a_seat_whose_connection_is_dead_goes_back_to_its_user_and_a_living_one_stays():
    async with table(room={"probe": 300.0}) as (server, sockets):
        await until(lambda: server.rooms[1].state == "playing")
        room = server.rooms[1]
        old = room.seats[2].connection
        heard = old.last_heard
        async with connect(server.url, max_size=None) as socket:
            # the living one answers the ping and keeps its seat
            await tell(socket, "JOIN_ROOM", userId="u2", roomId=1)
            assert "is connected" in (await heard_until(socket, is_error))["data"]["msg"]
            await until(lambda: old.last_heard > heard)
            await sockets[2].send("x")
            await heard_until(sockets[2], is_error)
            assert room.seats[2].connection is old
            # a machine that is gone answers nothing
            sockets[2].transport.pause_reading()
            room.config = room.config.replace(probe=0.2)
            await tell(socket, "JOIN_ROOM", userId="u2", roomId=1)
            await heard_until(socket, is_error)
            await until(lambda: server.rooms[1].seats[2].connection is None)
            await tell(socket, "JOIN_ROOM", userId="u2", roomId=1)
            assert (await heard_until(socket, lambda m: m["type"] == "JOIN_ROOM"))["code"] == 200
        sockets[2].transport.abort()


@with_a_limit
async def test_a_connection_that_is_dead_without_having_ended_is_dropped():
    async with TableServer(ServerConfig(port=0, limits=WireLimits(silence=0.3))) as server:
        socket = await connect(server.url, ping_interval=None)
        await tell(socket, "CREATE_ROOM", userId="gone")
        await heard_until(socket, lambda message: message["type"] == "CREATE_ROOM")
        # a machine that is gone reads no pings
        socket.transport.pause_reading()
        await until(lambda: not server.rooms)
        socket.transport.abort()


@with_a_limit
async def test_a_move_out_of_turn_is_not_answered_and_whoever_was_cut_off_is_never_taken_back():
    async with table(official=True) as (server, sockets):
        seat, act = await first_request(sockets)
        assert seat == 0
        await tell(sockets[1], "PLAY", roomId=1, player=1, act=act["actionList"][0])
        await tell(sockets[1], "GET_ROOMPLAYER", roomId=1)
        told = await heard_until(sockets[1], lambda message: "code" in message)
        assert (told["type"], told["code"]) == ("GET_ROOMPLAYER", 200)
        await sockets[1].close()
        await until(lambda: server.rooms[1].seats[1].lost is not None)
        async with connect(server.url) as again:
            await tell(again, "JOIN_ROOM", userId="u1", roomId=1)
            told = await heard_until(again, lambda message: "code" in message)
            assert told == {"type": "JOIN_ROOM", "code": -1, "data": {"msg": "房间已满"}}


@with_a_limit
async def test_our_client_that_is_not_let_in_again_says_why():
    class Cut(ThreadHost):
        """Loses the connection at the third decision."""

        def __init__(self, server: TableServer) -> None:
            super().__init__(RandomSeat, 0)
            self.server, self.asked = server, 0

        async def answer(self, key: Any, observation: Any) -> int:
            self.asked += 1
            if self.asked == 3:
                connection = self.server.rooms[1].seats[observation.seat].connection
                assert connection is not None
                connection.abort()
            return await super().answer(key, observation)

    async with TableServer(ServerConfig(port=0, seed=1, official=True)) as server:
        config = ClientConfig(server.url, user="cut", reconnect=1)
        client = TableClient(config, Cut(server))
        ours = asyncio.create_task(client.run())
        room = await client.seated
        others = [
            asyncio.create_task(openguandan_client(server.url, f"bot{k}", None, room=room)) for k in range(3)
        ]
        try:
            with pytest.raises(ClientError, match="not let in again: 房间已满"):
                await ours
        finally:
            for other in others:
                other.cancel()


@asynccontextmanager
async def tables(*, agents: tuple[str, ...] = (), **room: float):
    """Yield a server, and a function that connects a client of a name; at the end all are cut off."""
    config = ServerConfig(dialect="njupt", port=0, seed=3, agents=agents, room=RoomConfig(**room))
    sockets = []
    async with TableServer(config, {name: ThreadHost(RandomSeat, 0) for name in agents}) as server:

        async def arrive(name: str):
            url = server.url.replace("{name}", name)
            sockets.append(await connect(url, max_size=None, max_queue=None, ping_interval=None))
            return sockets[-1]

        try:
            yield server, arrive
        finally:
            for socket in sockets:
                socket.transport.abort()


def names(server: TableServer) -> dict[int, list[str]]:
    return {room.number: [seat.name for seat in room.seats] for room in server.rooms.values()}


@with_a_limit
async def test_of_two_who_come_back_while_the_old_connection_is_dead_the_one_that_lives_gets_the_seat():
    async with tables(agents=("random", "random"), probe=0.5) as (server, arrive):
        old = await arrive("alice")
        await arrive("bob")
        await until(lambda: server.rooms[1].state == "playing")
        seat = server.rooms[1].seats[0]
        before = seat.connection
        # a machine that is gone reads nothing, and so answers no ping
        old.transport.pause_reading()
        hasty = await arrive("alice")
        hasty.transport.pause_reading()
        again = await arrive("alice")
        assert (await heard_until(again, lambda m: m.get("stage") == "beginning"))["myPos"] == 0
        assert seat.connection not in (None, before) and seat.lost is None
        assert names(server) == {1: ["alice", "random", "bob", "random"]}


@with_a_limit
async def test_a_living_client_keeps_its_seat_and_the_next_of_its_name_gets_another():
    async with tables(agents=("random", "random"), probe=1.0) as (server, arrive):
        await arrive("alice")
        await arrive("bob")
        await until(lambda: server.rooms[1].state == "playing")
        first = server.rooms[1].seats[0].connection
        await arrive("alice")
        await until(lambda: 2 in server.rooms)
        assert names(server) == {
            1: ["alice", "random", "bob", "random"],
            2: ["alice", "random", "", "random"],
        }
        assert server.rooms[1].seats[0].connection is first


@with_a_limit
async def test_who_leaves_while_it_waits_to_be_seated_gets_no_seat():
    async with tables(probe=1.0) as (server, arrive):
        await arrive("alice")
        impatient = await arrive("alice")
        await impatient.close()
        await arrive("bob")
        # one more, which waits longer than the one that left would have
        await arrive("bob")
        await until(lambda: server.rooms[1].seats[2].taken)
        assert names(server) == {1: ["alice", "bob", "bob'", ""]}


@with_a_limit
async def test_the_second_client_of_a_name_gets_its_own_seat_back():
    async with tables(agents=("random", "random"), probe=1.0) as (server, arrive):
        await arrive("twin")
        second = await arrive("twin")
        await until(lambda: 1 in server.rooms and server.rooms[1].state == "playing")
        room = server.rooms[1]
        assert names(server) == {1: ["twin", "random", "twin'", "random"]}
        await second.close()
        await until(lambda: room.seats[2].connection is None)
        again = await arrive("twin")
        act = await heard_until(again, lambda message: is_act(message) or message.get("myPos") == 2)
        assert act["myPos"] == 2
        assert room.seats[2].connection is not None
        assert len(server.rooms) == 1


@with_a_limit
async def test_a_table_that_lost_players_before_its_games_began_is_filled_again():
    """With a delay, others may have opened the next table when somebody leaves the one that was full."""
    async with tables(delay=300.0) as (server, arrive):
        sockets = [await arrive(f"bot{k}") for k in range(4)]
        await until(lambda: server.rooms[1].state == "starting")
        await arrive("bot4")
        await until(lambda: 2 in server.rooms)
        for left in ([2], [0, 3]):
            for k in left:
                await sockets[k].close()
            stay = 4 - len(left)
            await until(lambda stay=stay: sum(seat.taken for seat in server.rooms[1].seats) == stay)
            assert server.rooms[1].state == "waiting"
            for k in left:
                sockets[k] = await arrive(f"new{k}")
            await until(lambda: server.rooms[1].full)
            assert server.rooms[1].state == "starting"
        assert [seat.name for seat in server.rooms[2].seats] == ["bot4", "", "", ""]


@with_a_limit
async def test_an_answer_without_a_seat_is_refused_in_words():
    async with tables(probe=300.0) as (_server, arrive):
        await arrive("alice")
        waiting = await arrive("alice")
        await waiting.send('{"actIndex": 0}')
        told = await heard_until(waiting, lambda message: message["type"] == "error")
        assert "no seat" in told["msg"]
