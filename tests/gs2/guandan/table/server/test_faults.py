"""What clients and agents can do wrong at a table, and servers that stop: what it costs, and whom."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import threading

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from games.guandan.matches.match_game import match_events, read_match
from gs2.guandan.table.hosts import RandomSeat, ThreadHost
from gs2.guandan.table.server.room import RoomConfig, Seat, TableError, place_agents
from gs2.guandan.table.server.server import ServerConfig, TableServer
from gs2.guandan.table.wire.connection import WireLimits
from tests.gs2.guandan.table.protocol import heard_until, njupt_client, openguandan_client, until
from tests.gs2.guandan.table.scenario import (
    Ear,
    answer,
    first_request,
    is_act,
    is_error,
    play_on,
    run,
    table,
    tell,
    with_a_limit,
)
from tests.gs2.guandan.table.server.test_handshakes import handshake
from tests.patience import PATIENCE

HANDSHAKE = handshake()


@with_a_limit
async def test_bad_answers_are_explained_and_asked_again_and_nobody_else_hears_of_them():
    async with table() as (_server, sockets):
        seat, act = await first_request(sockets)
        socket, other = sockets[seat], sockets[(seat + 1) % 4]
        bad = [
            json.dumps({"type": "PLAY", "data": {"roomId": 1, "player": seat, "act": a}})
            for a in (["Pair", "2", ["H2", "H2", "H2"]], ["PASS"] * 3, ["x", [], {}], [1, None, "SB"])
        ]
        errors = []
        for text in bad:
            await socket.send(text)
            errors.append((await heard_until(socket, is_error))["data"]["msg"])
            assert (await heard_until(socket, is_act))["actionList"] == act["actionList"]
        card = act["actionList"][0]
        for text in (
            "",
            "{",
            "[1, 2]",
            "null",
            '{"type":"DANCE","data":{}}',
            '{"type":"PLAY"}',
            '{"type":"PLAY","data":{"roomId":1,"player":"x","act":[]}}',
            f'{{"type":"PLAY","data":{{"roomId":1,"player":{seat}}}}}',
            f'{{"type":"PLAY","data":{{"roomId":1,"player":{seat},"act":"\\x"}}}}',
            f'{{"type":"PLAY","data":{{"roomId":1,"player":{seat},"act":{"[" * 5000}{"]" * 5000}}}}}',
            json.dumps({"type": "PLAY", "data": {"roomId": 7, "player": seat, "act": card}}),
            json.dumps({"type": "PLAY", "data": {"roomId": 1, "player": 5, "act": card}}),
            json.dumps({"type": "TRIBUTE", "data": {"roomId": 1, "player": seat, "act": ["tribute"] * 3}}),
            '{"type":"GET_ROOMPLAYER","data":{"roomId":99}}',
            '{"type":"CREATE_ROOM","data":{"userId":"again"}}',
            '{"type":"CREATE_ROOM","data":{"userId":"u","round":0}}',
            '{"type":"JOIN_ROOM","data":{"userId":"u","roomId":1,"seatNum":4}}',
            "[" * 50_000,
            "é" * 1000,
        ):
            await socket.send(text)
            errors.append((await heard_until(socket, is_error))["data"]["msg"])
        await socket.send(b"\x00\xff binary")
        errors.append((await heard_until(socket, is_error))["data"]["msg"])
        assert all(len(text) > 10 for text in errors)
        # the seat before it is asked cannot play, and nothing of all this was heard elsewhere
        await answer(other, (seat + 1) % 4, act, 0)
        assert "not to act" in (await heard_until(other, is_error))["data"]["msg"]
        await answer(socket, seat, act, 0)
        notice = await heard_until(other, lambda message: message.get("stage") == "play")
        assert notice["type"] == "notify" and notice["curPos"] == seat
        # a duplicate of an answer comes too late
        await answer(socket, seat, act, 0)
        assert "not to act" in (await heard_until(socket, is_error))["data"]["msg"]


@with_a_limit
async def test_a_message_that_is_huge_unmasked_or_no_utf_8_closes_its_connection_alone():
    async with table() as (server, _sockets):
        for text, code in (("x" * 200_000, 1009), (b"\xff\xfe", 1007)):
            async with connect(server.url) as stranger:
                with pytest.raises(ConnectionClosed) as closed:
                    await stranger.send(text, text=True)
                    await stranger.recv()
                assert closed.value.rcvd.code == code
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(HANDSHAKE)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"\x81\x05hello")  # a client must mask
        assert (await reader.read())[:1] == b"\x88"
        writer.close()
        assert len(server.rooms) == 1
        assert all(seat.connection is not None for seat in server.rooms[1].seats)


@with_a_limit
async def test_messages_in_fragments_and_in_one_packet_are_read_like_any_other():
    async with TableServer(ServerConfig(port=0)) as server, connect(server.url) as socket:
        await socket.send(['{"type":"CREATE_', 'ROOM","data":{"user', 'Id":"a"}}'])
        made = json.loads(await socket.recv())
        assert made["data"]["roomId"] == 1
        text = json.dumps({"type": "GET_ROOMPLAYER", "data": {"roomId": 1}}).encode()
        frame = bytes([0x81, 0x80 | len(text), 1, 2, 3, 4])
        frame += bytes(byte ^ (1 + k % 4) for k, byte in enumerate(text))
        for packets in ([frame * 3], [frame[:1], frame[1:9], frame[9:] + frame[:20], frame[20:]]):
            for packet in packets:
                socket.transport.write(packet)
                await asyncio.sleep(0.02)
        kinds = [json.loads(await socket.recv())["type"] for _ in range(5)]
        assert kinds == ["GET_ROOMPLAYER"] * 5
        await socket.send(json.dumps({"type": "GET_ROOMPLAYER", "data": {"roomId": 1}}) + " " * 5000)
        assert json.loads(await socket.recv())["code"] == 200


@with_a_limit
async def test_rooms_are_refused_when_full_unknown_taken_or_too_many():
    async with table(rooms=1) as (server, _sockets), connect(server.url) as socket:
        for kind, data, word in (
            ("JOIN_ROOM", {"userId": "x", "roomId": 1}, "full"),
            ("JOIN_ROOM", {"userId": "x", "roomId": 12}, "no room 12"),
            ("JOIN_ROOM", {"userId": "u1", "roomId": 1}, "is connected"),
            ("CREATE_ROOM", {"userId": "x"}, "1 rooms"),
            ("PLAY", {"roomId": 1, "player": 0, "act": ["PASS"] * 3}, "sit nowhere"),
        ):
            await tell(socket, kind, **data)
            message = json.loads(await socket.recv())
            assert message["type"] == kind and message["code"] == -1
            assert word in message["data"]["msg"]


@with_a_limit
async def test_wrong_indices_are_asked_again_until_the_limit():
    config = ServerConfig(dialect="njupt", port=0, seed=6, room=RoomConfig(wrong=5))
    async with TableServer(config) as server:
        url = server.url.removesuffix("/game/{name}")
        bad = await connect(f"{url}/game/bad", max_size=None)
        bots = [asyncio.create_task(njupt_client(url, f"bot{k}")) for k in range(3)]
        act = await heard_until(bad, is_act)
        for text in ('{"actIndex": 99999}', '{"actIndex": -1}', '{"actIndex": "a"}', "nonsense"):
            await bad.send(text)
            assert len((await heard_until(bad, is_error))["msg"]) > 10
            assert await heard_until(bad, is_act) == act
        await bad.send("{}")
        await heard_until(bad, lambda message: message.get("stage") == "play")
        assert server.rooms[1].result.fallbacks == [1, 0, 0, 0]
        for bot in bots:
            bot.cancel()


@with_a_limit
async def test_the_fallback_is_asked_once_whatever_a_client_says_while_it_thinks():
    asked: list[int] = []
    go_on = threading.Event()

    class Thinks:
        def act(self, observation):
            asked.append(observation.seat)
            go_on.wait(PATIENCE)
            return 0

    config = ServerConfig(dialect="njupt", port=0, seed=6, room=RoomConfig(wrong=1))
    async with TableServer(config, {"fallback": ThreadHost(Thinks)}) as server:
        url = server.url.removesuffix("/game/{name}")
        bad = await connect(f"{url}/game/bad", max_size=None)
        bots = [asyncio.create_task(njupt_client(url, f"bot{k}")) for k in range(3)]
        await heard_until(bad, is_act)
        for _ in range(4):
            await bad.send("nonsense")
            await heard_until(bad, is_error)
        go_on.set()
        await heard_until(bad, lambda message: message.get("stage") == "play")
        assert server.rooms[1].result.fallbacks == [1, 0, 0, 0] and asked == [0]
        for bot in bots:
            bot.cancel()


@pytest.mark.long
@with_a_limit
async def test_a_client_that_reads_nothing_is_cut_off_before_it_fills_the_memory():
    limits = WireLimits(backlog=100_000)
    async with TableServer(ServerConfig(port=0, limits=limits, errors=10**9)) as server:
        # a small window, and a reader that stops at once
        plain = socket.socket()
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        plain.connect(("127.0.0.1", server.port))
        _reader, writer = await asyncio.open_connection(sock=plain, limit=1)
        writer.write(HANDSHAKE)
        await until(lambda: server._connections)
        text = b'{"type":"CREATE_ROOM"}'
        frame = bytes([0x81, 0x80 | len(text), 0, 0, 0, 0]) + text
        with pytest.raises(ConnectionError):
            for _ in range(2000):
                writer.write(frame * 100)
                await writer.drain()
                await asyncio.sleep(0)
        assert not server._connections


def test_agents_take_the_seats_their_names_ask_for():
    assert place_agents(("a",), 0) == {3: "a"}
    assert place_agents(("a", "b"), 0) == {1: "a", 3: "b"}
    assert place_agents(("a", "b"), 1) == {2: "a", 0: "b"}
    assert place_agents(("a", "b", "c"), 2) == {3: "a", 0: "b", 1: "c"}
    assert place_agents(("2:a", "b"), 0) == {2: "a", 3: "b"}
    assert place_agents(("my.module:Class",), 0) == {3: "my.module:Class"}
    for wrong in (("a",) * 4, ("1:a", "1:b")):
        with pytest.raises(TableError):
            place_agents(wrong, 0)


def said(kind: str, user: str, **data: object) -> str:
    return json.dumps({"type": kind, "data": {"userId": user, **data}})


@pytest.mark.parametrize(
    ("agents", "seat"), [("0:random", 1), ("random", 0), ("1:random,0:random", 2), ("0:random,random", 1)]
)
def test_a_client_that_asks_for_no_seat_gets_the_first_that_no_agent_has(agents: str, seat: int):
    config = ServerConfig(port=0, agents=tuple(agents.split(",")))
    ear, lobby = Ear(), TableServer(config, {"random": ThreadHost(RandomSeat, 0)}).lobby
    lobby.received(ear, said("CREATE_ROOM", "a"))
    assert ear.seat[1].index == seat and ear.heard[0]["code"] == 200
    if seat:
        with pytest.raises(TableError, match="seat 0 belongs to an agent"):
            lobby.received(Ear(), said("CREATE_ROOM", "b", seatNum=0))


def test_a_client_in_a_seat_does_not_get_that_of_a_lost_one_as_well():
    server, ears = TableServer(ServerConfig(port=0)), [Ear() for _ in range(3)]
    server.lobby.received(ears[0], said("CREATE_ROOM", "u0"))
    for k in (1, 2):
        server.lobby.received(ears[k], said("JOIN_ROOM", f"u{k}", roomId=1))
    room = server.rooms[1]
    room.state = "playing"
    server.disconnected(ears[1])
    with pytest.raises(TableError, match="sits in room 1; use another"):
        server.lobby.received(ears[0], said("JOIN_ROOM", "u1", roomId=1))
    assert room.seats[1].connection is None and ears[0].seat[1] is room.seats[0]


def test_a_name_in_the_path_may_hold_slashes_and_one_that_is_too_long_is_called_so():
    lobby = TableServer(ServerConfig(port=0, dialect="njupt")).lobby
    for path, name in (("/game/a/b", "a/b"), ("/game/" + "x" * 64, "x" * 64)):
        ear = Ear()
        ear.path = path
        lobby.connected(ear)
        assert ear.seat[1].name == name
    for path, why in (("/game/" + "x" * 65, "at most 64 characters; got 65"), ("/game/", "speaks njupt")):
        ear.path = path
        with pytest.raises(TableError, match=why):
            lobby.connected(ear)


def test_an_agent_that_fails_or_dawdles_costs_its_seat_a_default_move_and_nobody_anything():
    enough = threading.Event()

    class Breaks:
        def act(self, observation):
            raise RuntimeError("out of ideas")

    class Dawdles:
        def act(self, observation):
            enough.wait(PATIENCE)
            return 0

    async def scenario(kind):
        hosts = {"bad": ThreadHost(kind), "random": ThreadHost(RandomSeat, 0)}
        limit = 0.05 if kind is Dawdles else PATIENCE  # a slow machine is late, too
        config = ServerConfig(
            port=0, seed=1, agents=("1:bad", "2:random", "3:random"), room=RoomConfig(decision=limit)
        )
        async with TableServer(config, hosts) as server:
            player = asyncio.create_task(openguandan_client(server.url, "a", 0))
            await until(lambda: server.rooms and server.rooms[1].result.names)
            result = server.rooms[1].result
            await until(lambda: result.fallbacks[1] >= 5)
            enough.set()
            player.cancel()

    for kind in (Breaks, Dawdles):
        enough.clear()
        run(scenario(kind))


@with_a_limit
async def test_an_agent_that_thinks_for_ever_keeps_its_own_table_waiting_and_no_other():
    wake = threading.Event()

    class Thinks:
        def act(self, observation):
            wake.wait(PATIENCE)
            return 0

    hosts = {"thinks": ThreadHost(Thinks)}
    async with TableServer(ServerConfig(dialect="njupt", port=0, seed=1), hosts) as server:
        url = server.url.removesuffix("/game/{name}")
        waiting = [asyncio.create_task(njupt_client(url, f"a{k}")) for k in range(3)]
        await until(lambda: server.rooms and sum(s.taken for s in server.rooms[1].seats) == 3)
        server.rooms[1].seats[3] = Seat(3, "thinks", host=hosts["thinks"])
        server.rooms[1].start_if_full()
        await until(lambda: server.rooms[1].state == "playing")
        await until(lambda: 3 in server.rooms[1].session.pending)
        await asyncio.gather(*[njupt_client(url, f"b{k}") for k in range(4)])
        assert len(server.results) == 1 and 1 in server.rooms
        assert 3 in server.rooms[1].session.pending
        wake.set()
        for client in waiting:
            client.cancel()


def test_a_server_that_stops_tells_everyone_and_keeps_the_record(tmp_path):
    async def scenario():
        async with table(record=tmp_path) as (server, sockets):
            seat, act = await first_request(sockets)
            await answer(sockets[seat], seat, act, 0)
            await heard_until(sockets[0], lambda message: message.get("stage") == "play")
            await server.stop(grace=0.1)
            for socket in sockets:
                told = await heard_until(socket, is_error)
                assert "the server stops" in told["data"]["msg"]
                with pytest.raises(ConnectionClosed) as closed:
                    while True:
                        await socket.recv()
                assert closed.value.rcvd.code == 1001

    run(scenario())
    (path,) = tmp_path.glob("*-room00001-game0001.jsonl")
    record = read_match(path)
    assert not record.complete
    assert sum(1 for _ in match_events(record)) > 0
    result = json.loads((tmp_path / "results.jsonl").read_text())
    assert result["ended"] == "the server stops"


@with_a_limit
async def test_a_server_that_stops_lets_games_end_within_its_grace():
    async with table() as (server, sockets):
        players = [asyncio.create_task(play_on(sockets[s], s, random.Random(s))) for s in range(4)]
        await until(lambda: 1 in server.rooms and server.rooms[1].state == "playing")
        stop = asyncio.create_task(server.stop(grace=60))
        await asyncio.gather(*players, stop)
        assert len(server.results) == 1
