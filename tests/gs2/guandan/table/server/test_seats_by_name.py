"""Clients of the competition's dialect, known by name alone: who gets which seat, and gets it back."""

from __future__ import annotations

from contextlib import asynccontextmanager

from websockets.asyncio.client import connect

from gs2.guandan.table.agents import RandomSeat
from gs2.guandan.table.hosts import InstantHost
from gs2.guandan.table.server.place import RoomConfig
from gs2.guandan.table.server.server import ServerConfig, TableServer
from tests.gs2.guandan.table.protocol import heard_until, until
from tests.gs2.guandan.table.scenario import is_act, with_a_limit


@asynccontextmanager
async def tables(*, agents: tuple[str, ...] = (), **room: float):
    """Yield a server, and a function that connects a client of a name; at the end all are cut off."""
    config = ServerConfig(dialect="njupt", port=0, seed=3, agents=agents, room=RoomConfig(**room))
    sockets = []
    async with TableServer(config, {name: InstantHost(RandomSeat) for name in agents}) as server:

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
