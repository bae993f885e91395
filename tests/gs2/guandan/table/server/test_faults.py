"""What clients can do wrong at a table, and what that costs them alone."""

from __future__ import annotations

import asyncio
import json
import socket

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from gs2.guandan.table.server.place import RoomConfig, TableError
from gs2.guandan.table.server.seating import place_agents
from gs2.guandan.table.server.server import ServerConfig, TableServer
from gs2.guandan.table.wire.connection import WireLimits
from tests.gs2.guandan.table.protocol import heard_until, njupt_client, until
from tests.gs2.guandan.table.scenario import answer, first_request, is_act, is_error, run, table, tell


def test_bad_answers_are_explained_and_asked_again_and_nobody_else_hears_of_them():
    async def scenario():
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
                json.dumps(
                    {"type": "PLAY", "data": {"roomId": 7, "player": seat, "act": act["actionList"][0]}}
                ),
                json.dumps({"type": "PLAY", "data": {"roomId": 1, "player": 5, "act": act["actionList"][0]}}),
                json.dumps(
                    {"type": "TRIBUTE", "data": {"roomId": 1, "player": seat, "act": ["tribute"] * 3}}
                ),
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

    run(scenario())


def test_a_huge_message_closes_its_connection_alone():
    async def scenario():
        async with table() as (server, _sockets):
            stranger = await connect(server.url)
            await stranger.send("x" * 200_000)
            with pytest.raises(ConnectionClosed) as closed:
                await stranger.recv()
            assert closed.value.rcvd.code == 1009
            assert len(server.rooms) == 1
            assert all(seat.connection is not None for seat in server.rooms[1].seats)

    run(scenario())


def test_a_frame_that_breaks_the_websocket_protocol_closes_its_connection():
    async def scenario():
        async with TableServer(ServerConfig(port=0)) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(
                b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
            )
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"\x81\x05hello")  # a client must mask
            assert (await reader.read())[:1] == b"\x88"
            writer.close()
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(b"\x00\x01\x02 not http\r\n\r\n")
            assert (await reader.read()).startswith(b"HTTP/1.1 400 ")
            writer.close()

    run(scenario())


def test_text_that_is_no_utf_8_closes_its_connection():
    async def scenario():
        async with TableServer(ServerConfig(port=0)) as server, connect(server.url) as socket:
            await socket.send(b"\xff\xfe", text=True)
            with pytest.raises(ConnectionClosed) as closed:
                await socket.recv()
            assert closed.value.rcvd.code == 1007

    run(scenario())


def test_messages_in_fragments_and_in_one_packet_are_read_like_any_other():
    async def scenario():
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

    run(scenario())


def test_rooms_are_refused_when_full_unknown_taken_or_too_many():
    async def scenario():
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

    run(scenario())


@pytest.mark.long
def test_a_thousand_rooms_open_and_close():
    async def scenario():
        async with TableServer(ServerConfig(port=0)) as server:
            sockets = [await connect(server.url) for _ in range(1000)]
            for k, socket in enumerate(sockets):
                await tell(socket, "CREATE_ROOM", userId=f"u{k}")
            numbers = {json.loads(await socket.recv())["data"]["roomId"] for socket in sockets}
            assert numbers == set(range(1, 1001)) == set(server.rooms)
            await asyncio.gather(*[socket.close() for socket in sockets])
            await until(lambda: not server.rooms)

    run(scenario())


def test_a_seat_left_before_the_game_is_free_again():
    async def scenario():
        async with TableServer(ServerConfig(port=0)) as server:
            first = await connect(server.url)
            await tell(first, "CREATE_ROOM", userId="a")
            await first.recv()
            second = await connect(server.url)
            await tell(second, "JOIN_ROOM", userId="b", roomId=1, seatNum=2)
            await second.recv()
            assert server.rooms[1].seats[2].taken
            await second.close()
            await until(lambda: not server.rooms[1].seats[2].taken)
            await first.close()
            await until(lambda: not server.rooms)

    run(scenario())


def test_wrong_indices_are_asked_again_until_the_limit():
    async def scenario():
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

    run(scenario())


@pytest.mark.long
def test_a_client_that_reads_nothing_is_cut_off_before_it_fills_the_memory():
    async def scenario():
        limits = WireLimits(backlog=100_000)
        async with TableServer(ServerConfig(port=0, limits=limits, errors=10**9)) as server:
            # a small window, and a reader that stops at once
            plain = socket.socket()
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            plain.connect(("127.0.0.1", server.port))
            _reader, writer = await asyncio.open_connection(sock=plain, limit=1)
            writer.write(
                b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
            )
            await until(lambda: server._connections)
            text = b'{"type":"CREATE_ROOM"}'
            frame = bytes([0x81, 0x80 | len(text), 0, 0, 0, 0]) + text
            with pytest.raises(ConnectionError):
                for _ in range(2000):
                    writer.write(frame * 100)
                    await writer.drain()
                    await asyncio.sleep(0)
            assert not server._connections

    run(scenario())


def test_the_server_wants_a_token_beyond_this_machine_and_no_browsers_without_one():
    with pytest.raises(TableError, match="token"):
        ServerConfig(host="0.0.0.0")

    async def scenario():
        async with TableServer(ServerConfig(port=0, token="sesame")) as server:
            for url in (server.url, server.url + "?token=wrong"):
                with pytest.raises(InvalidStatus) as refused:
                    await connect(url)
                assert refused.value.response.status_code == 401
            async with connect(server.url + "?token=sesame"):
                pass
            async with connect(server.url, additional_headers={"Authorization": "Bearer sesame"}):
                pass
        async with TableServer(ServerConfig(port=0)) as server:
            for origin in ("http://evil.example", "null", "http://[::1"):
                with pytest.raises(InvalidStatus) as refused:
                    await connect(server.url, origin=origin)
                assert refused.value.response.status_code == 403
            # what the WebSocket libraries of the competition bots send
            for origin in (f"ws://127.0.0.1:{server.port}", f"http://localhost:{server.port}"):
                async with connect(server.url, origin=origin):
                    pass

    run(scenario())


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
