"""Everything a client can do wrong, and what a server's death leaves behind."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import multiprocessing
import os
import random
import signal
import socket
import threading
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from games.guandan.matches.record import read_record, replay
from gs2.guandan.table.agents import RandomAgent
from gs2.guandan.table.hosts import InstantHost, ThreadHost
from gs2.guandan.table.server.place import RoomConfig, TableError
from gs2.guandan.table.server.seating import place_agents
from gs2.guandan.table.server.server import ServerConfig, TableServer
from gs2.guandan.table.wire.connection import WireLimits
from tests.gs2.guandan.table.protocol import heard_until, njupt_client, openguandan_client, until


def is_act(message: dict[str, Any]) -> bool:
    return message["type"] == "act"


def is_error(message: dict[str, Any]) -> bool:
    return message.get("code") == -1 or message["type"] == "error"


async def tell(socket: ClientConnection, kind: str, **data: Any) -> None:
    await socket.send(json.dumps({"type": kind, "data": data}))


@asynccontextmanager
async def table(**options: Any):
    """Yield a server, and four sockets in the seats of its room 1, the game begun."""
    room = RoomConfig(**options.pop("room", {}))
    hosts = options.pop("hosts", {})
    config = ServerConfig(port=0, seed=1, room=room, **options)
    async with TableServer(config, hosts) as server:
        sockets = [await connect(server.url, max_size=None, max_queue=None) for _ in range(4)]
        await tell(sockets[0], "CREATE_ROOM", userId="u0", round=1, seatNum=0)
        await heard_until(sockets[0], lambda message: message["type"] == "CREATE_ROOM")
        for seat in (1, 2, 3):
            await tell(sockets[seat], "JOIN_ROOM", userId=f"u{seat}", roomId=1, seatNum=seat)
        try:
            yield server, sockets
        finally:
            for socket in sockets:
                await socket.close()


async def first_request(sockets: list[ClientConnection]) -> tuple[int, dict[str, Any]]:
    """Return the seat that leads and its request."""
    tasks = [asyncio.create_task(heard_until(socket, is_act)) for socket in sockets]
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    seat = tasks.index(next(iter(done)))
    return seat, tasks[seat].result()


async def play_on(socket: ClientConnection, seat: int, rng: random.Random) -> dict[str, Any]:
    """Play at random from here to the end; return the result."""
    while True:
        message = json.loads(await socket.recv())
        if message["type"] == "act":
            await answer(socket, seat, message, rng.randint(0, message["indexRange"]))
        elif message.get("stage") == "gameResult":
            return message


async def answer(socket: ClientConnection, seat: int, act: dict[str, Any], index: int) -> None:
    kind = {"play": "PLAY", "tribute": "TRIBUTE", "back": "PAYTRIBUTE"}[act["stage"]]
    data = {"roomId": 1, "player": seat, "act": act["actionList"][index]}
    if kind == "PAYTRIBUTE":
        data |= {"tributePos": act["tributePos"], "tribute": act["tribute"]}
    await tell(socket, kind, **data)


def run(scenario: Any, seconds: float = 300) -> Any:
    return asyncio.run(asyncio.wait_for(scenario, seconds))


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


def test_a_client_that_never_answers_is_decided_for_and_told():
    async def scenario():
        async with table(room={"decision": 300.0, "missed": 1}) as (server, sockets):
            silent = sockets[3]
            players = [asyncio.create_task(play_on(sockets[s], s, random.Random(s))) for s in range(3)]
            await until(lambda: server.rooms[1].seats[3].due is not None)
            # its time is up at once; that of the others is not, however busy the machine
            server.rooms[1].seats[3].deadline = 0.0
            told = await heard_until(silent, is_error)
            assert "no answer within 300 s" in told["data"]["msg"]
            result = server.rooms[1].result
            await until(lambda: result.fallbacks[3] > 10)
            for player in players:
                player.cancel()
            return result

    result = run(scenario())
    assert result.fallbacks[3] > 10
    assert result.fallbacks[:3] == [0, 0, 0]


def test_the_seat_of_a_killed_client_goes_to_the_fallback_agent_and_the_others_play_on():
    async def scenario():
        hosts = {"fallback": InstantHost(RandomAgent)}
        async with table(room={"reconnect": 0.1}, hosts=hosts) as (server, sockets):
            await first_request(sockets[:1] + sockets[1:])
            server.rooms[1].seats[2].connection.abort()
            sockets[2].transport.abort()
            players = [asyncio.create_task(play_on(sockets[s], s, random.Random(s))) for s in (0, 1, 3)]
            for seat in server.rooms[1].seats:
                if seat.asked is not None and seat.connection is not None:
                    seat.connection.send(seat.asked)
            await asyncio.gather(*players)
            return server.results[0]

    result = run(scenario())
    assert result.fallbacks[2] > 0 and result.fallbacks[0] == 0


def test_a_client_that_returns_gets_its_seat_the_round_so_far_and_its_request():
    async def scenario():
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
                assert [m.get("stage", m["type"]) for m in heard] == [
                    "JOIN_ROOM",
                    "beginning",
                    "play",
                    "play",
                ]
                assert heard[1]["myPos"] == nxt
                assert heard[2]["curPos"] == seat
                assert heard[3] == act
                others = [s for s in range(4) if s != nxt]
                tasks = [asyncio.create_task(play_on(sockets[s], s, random.Random(s))) for s in others]
                await answer(socket, nxt, act, 0)
                await play_on(socket, nxt, random.Random(9))
                await asyncio.gather(*tasks)
            assert server.results[0].fallbacks == [0, 0, 0, 0]

    run(scenario())


def test_a_seat_whose_connection_is_dead_goes_back_to_its_user_and_a_living_one_stays():
    async def scenario():
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
                room.config = dataclasses.replace(room.config, probe=0.2)
                await tell(socket, "JOIN_ROOM", userId="u2", roomId=1)
                await heard_until(socket, is_error)
                await until(lambda: server.rooms[1].seats[2].connection is None)
                await tell(socket, "JOIN_ROOM", userId="u2", roomId=1)
                assert (await heard_until(socket, lambda m: m["type"] == "JOIN_ROOM"))["code"] == 200
            sockets[2].transport.abort()

    run(scenario())


def test_a_bot_of_the_competition_that_returns_by_name_gets_its_seat():
    async def scenario():
        async with TableServer(ServerConfig(dialect="njupt", port=0, seed=6)) as server:
            url = server.url.removesuffix("/game/{name}")
            lost = await connect(f"{url}/game/lost", max_size=None)
            bots = [asyncio.create_task(njupt_client(url, f"bot{k}")) for k in range(3)]
            act = await heard_until(lost, is_act)
            await lost.close()
            await until(lambda: server.rooms[1].seats[0].connection is None)
            again = await asyncio.gather(njupt_client(url, "lost"), *bots)
            beginning = next(m for m in again[0] if m.get("stage") == "beginning")
            request = next(m for m in again[0] if m["type"] == "act")
            assert beginning["myPos"] == 0
            assert request == act
            assert server.results[0].fallbacks == [0, 0, 0, 0]

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


def test_an_agent_that_fails_or_dawdles_costs_its_seat_a_default_move_and_nobody_anything():
    class Breaks:
        def act(self, observation):
            raise RuntimeError("out of ideas")

    enough = threading.Event()

    class Dawdles:
        def act(self, observation):
            enough.wait(300)
            return 0

    async def scenario(kind):
        hosts = {"bad": ThreadHost(kind), "random": InstantHost(RandomAgent)}
        config = ServerConfig(
            port=0, seed=1, agents=("1:bad", "2:random", "3:random"), room=RoomConfig(decision=0.05)
        )
        async with TableServer(config, hosts) as server:
            if kind is Breaks:
                await openguandan_client(server.url, "a", 0)
                return server.results[0]
            socket = await connect(server.url, max_size=None)
            player = asyncio.create_task(openguandan_client(server.url, "a", 0))
            await until(lambda: server.rooms and server.rooms[1].result is not None)
            result = server.rooms[1].result
            await until(lambda: result.fallbacks[1] >= 5)
            enough.set()
            player.cancel()
            await socket.close()
            return result

    assert run(scenario(Breaks)).fallbacks[1] > 50
    assert run(scenario(Dawdles)).fallbacks[1] >= 5


def test_an_agent_that_thinks_for_ever_keeps_its_own_table_waiting_and_no_other():
    wake = threading.Event()

    class Thinks:
        def act(self, observation):
            wake.wait(300)
            return 0

    async def scenario():
        hosts = {"thinks": ThreadHost(Thinks)}
        async with TableServer(ServerConfig(dialect="njupt", port=0, seed=1), hosts) as server:
            url = server.url.removesuffix("/game/{name}")
            waiting = [asyncio.create_task(njupt_client(url, f"a{k}")) for k in range(3)]
            await until(lambda: server.rooms and sum(s.taken for s in server.rooms[1].seats) == 3)
            server.rooms[1].seat_agent(3, "thinks", hosts["thinks"])
            server.rooms[1].start_if_full()
            await until(lambda: server.rooms[1].state == "playing")
            await until(lambda: 3 in server.rooms[1].session.pending)
            await asyncio.gather(*[njupt_client(url, f"b{k}") for k in range(4)])
            assert len(server.results) == 1 and 1 in server.rooms
            assert 3 in server.rooms[1].session.pending
            wake.set()
            for client in waiting:
                client.cancel()

    run(scenario())


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
    record = read_record(path)
    assert not record.complete
    assert sum(1 for _ in replay(record)) == len(record.events)
    result = json.loads((tmp_path / "results.jsonl").read_text())
    assert result["ended"] == "the server stops"


def test_a_server_that_stops_lets_games_end_within_its_grace():
    async def scenario():
        async with table() as (server, sockets):
            players = [asyncio.create_task(play_on(sockets[s], s, random.Random(s))) for s in range(4)]
            await until(lambda: 1 in server.rooms and server.rooms[1].state == "playing")
            stop = asyncio.create_task(server.stop(grace=60))
            await asyncio.gather(*players)
            await stop
            return len(server.results)

    assert run(scenario()) == 1


def _serve_until_killed(folder: str, pipe: Any) -> None:
    async def serve() -> None:
        config = ServerConfig(dialect="njupt", port=0, seed=1, record=Path(folder), games=100)
        async with TableServer(config) as server:
            pipe.send(server.port)
            await asyncio.sleep(300)

    asyncio.run(serve())


def test_a_killed_server_leaves_records_up_to_the_last_move_anybody_saw(tmp_path):
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve_until_killed, args=(str(tmp_path), theirs), daemon=True)
    process.start()
    assert ours.poll(300), "the server did not start"
    port = ours.recv()
    seen: list[list[Any]] = [[] for _ in range(4)]

    async def bot(k: int) -> None:
        rng = random.Random(k)
        async with connect(f"ws://127.0.0.1:{port}/game/bot{k}", max_size=None) as socket:
            while True:
                message = json.loads(await socket.recv())
                if message["type"] == "act":
                    await socket.send(json.dumps({"actIndex": rng.randint(0, message["indexRange"])}))
                elif message.get("stage") == "play":
                    seen[k].append((message["curPos"], message["curAction"]))
                    if len(seen[k]) == 400:
                        os.kill(process.pid, signal.SIGKILL)

    async def scenario() -> None:
        await asyncio.gather(*[bot(k) for k in range(4)], return_exceptions=True)

    run(scenario())
    process.join(10)
    plays = []
    for path in sorted(tmp_path.glob("*-room*.jsonl")):
        record = read_record(path)
        assert sum(1 for _ in replay(record)) == len(record.events)
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        plays += [(line["play"][0], line["play"][1]) for line in lines if "play" in line]
    for moves in seen:
        assert moves == plays[: len(moves)]
    assert len(plays) >= max(map(len, seen)) >= 400


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
