"""Agents that fail, servers that stop, and what a killed one leaves behind."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import random
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from games.guandan.matches.match_game import match_events, read_match
from gs2.guandan.table.agents import RandomAgent
from gs2.guandan.table.hosts import InstantHost, ThreadHost
from gs2.guandan.table.server.place import RoomConfig
from gs2.guandan.table.server.server import ServerConfig, TableServer
from tests.gs2.guandan.table.protocol import heard_until, njupt_client, openguandan_client, until
from tests.gs2.guandan.table.scenario import (
    answer,
    first_request,
    is_error,
    near_the_end,
    play_on,
    run,
    table,
)
from tests.patience import PATIENCE


@pytest.fixture(autouse=True)
def short_games(monkeypatch):
    near_the_end(monkeypatch)


def test_an_agent_that_fails_or_dawdles_costs_its_seat_a_default_move_and_nobody_anything():
    class Breaks:
        def act(self, observation):
            raise RuntimeError("out of ideas")

    enough = threading.Event()

    class Dawdles:
        def act(self, observation):
            enough.wait(PATIENCE)
            return 0

    async def scenario(kind):
        hosts = {"bad": ThreadHost(kind), "random": InstantHost(RandomAgent)}
        limit = 0.05 if kind is Dawdles else PATIENCE  # a slow machine is late, too
        config = ServerConfig(
            port=0, seed=1, agents=("1:bad", "2:random", "3:random"), room=RoomConfig(decision=limit)
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
            wake.wait(PATIENCE)
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
    record = read_match(path)
    assert not record.complete
    assert sum(1 for _ in match_events(record)) > 0
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


@pytest.mark.long
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
        record = read_match(path)
        assert sum(1 for _ in match_events(record)) > 0
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        words = [word for line in lines for word in line.get("play", ()) if word[3] == "["]
        plays += [(int(word[1]), json.loads(word[3:])) for word in words]
    for moves in seen:
        assert moves == plays[: len(moves)]
    assert len(plays) >= max(map(len, seen)) >= 400
