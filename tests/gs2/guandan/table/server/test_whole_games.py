"""Whole games over the socket, in both dialects, between strangers, our clients and our agents."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from experiments.bench.table import measure_latency
from gs2.guandan.table.agents import RandomAgent
from gs2.guandan.table.client.client import TableClient
from gs2.guandan.table.client.visit import ClientConfig
from gs2.guandan.table.hosts import InstantHost
from gs2.guandan.table.server.server import ServerConfig, TableServer
from tests.gs2.guandan.table.protocol import Heard, check_message, njupt_client, openguandan_client
from tests.gs2.guandan.table.scenario import near_the_end
from tests.patience import PATIENCE


@pytest.fixture(autouse=True)
def short_games(monkeypatch):
    near_the_end(monkeypatch)


async def four_strangers(server: TableServer, games: int) -> list[Heard]:
    if server.config.dialect == "njupt":
        url = server.url.removesuffix("/game/{name}")
        return list(await asyncio.gather(*[njupt_client(url, f"bot{k}") for k in range(4)]))
    room = asyncio.get_running_loop().create_future()
    last = "gameOver" if server.config.official else "gameResult"
    first = openguandan_client(server.url, "bot0", 0, created=room, games=games, last=last)
    others = [
        openguandan_client(server.url, f"bot{k}", k, room=room, compact=k == 3, last=last) for k in (1, 2, 3)
    ]
    return list(await asyncio.gather(first, *others))


def client(server: TableServer, user: str, *, room: int | None = None, games: int = 1) -> TableClient:
    config = ClientConfig(
        server.url.removesuffix("/game/{name}"),
        server.config.dialect,
        user=user,
        room=room,
        games=games,
        linger=0.05,
    )
    return TableClient(config, InstantHost(RandomAgent))


@pytest.mark.parametrize(
    ("dialect", "official"),
    [pytest.param("openguandan", False, marks=pytest.mark.long), ("openguandan", True), ("njupt", False)],
)
@pytest.mark.some(1)
def test_four_strangers_play_two_games_and_every_message_fits_the_schemas(dialect, official):
    async def scenario():
        config = ServerConfig(dialect=dialect, official=official, port=0, games=2, seed=5)
        async with TableServer(config) as server:
            heard = await asyncio.wait_for(four_strangers(server, 2), PATIENCE)
            return heard, server.results

    heard, results = asyncio.run(scenario())
    for messages in heard:
        for message in messages:
            check_message("official" if official else dialect, message)
        stages = Counter(message.get("stage") for message in messages)
        assert stages["gameResult"] == (2 if official else 1)
        assert stages["gameOver"] == (1 if official else 2)
        assert stages["episodeOver"] == stages["beginning"] == results[0].rounds
        seats = {message["myPos"] for message in messages if message.get("stage") == "beginning"}
        payers = sum(message.get("stage") == "tribute" and message["type"] == "act" for message in messages)
        assert sum(message["type"] == "tribute" for message in messages) == (payers if official else 0)
        assert len(seats) == 1
        assert not any(message.get("code") == -1 or message["type"] == "error" for message in messages)
    plays = [[m for m in messages if m["type"] == "notify" and m["stage"] == "play"] for messages in heard]
    assert plays[0] == plays[1] == plays[2] == plays[3]
    assert len(plays[0]) == results[0].decisions
    assert sum(results[0].wins) == 2


@pytest.mark.parametrize("dialect", ["openguandan", "njupt"])
@pytest.mark.some(1)
def test_two_of_our_clients_and_two_strangers_play_a_game(dialect):
    async def scenario():
        async with TableServer(ServerConfig(dialect=dialect, port=0, seed=8)) as server:
            ours = [client(server, "ours0")]
            tasks = [asyncio.create_task(ours[0].run())]
            if dialect == "openguandan":
                room = await ours[0].seated
                ours.append(client(server, "ours1", room=room))
                strangers = [openguandan_client(server.url, f"bot{k}", None, room=room) for k in range(2)]
            else:
                ours.append(client(server, "ours1"))
                url = server.url.removesuffix("/game/{name}")
                strangers = [njupt_client(url, f"bot{k}") for k in range(2)]
            tasks.append(asyncio.create_task(ours[1].run()))
            await asyncio.wait_for(asyncio.gather(*tasks, *strangers), PATIENCE)
            return [one.result for one in ours], server.results[0]

    results, session = asyncio.run(scenario())
    for result in results:
        assert result.rounds == session.rounds
        assert result.refused == result.unread == result.fallbacks == 0
        assert result.games == 1


@pytest.mark.parametrize(
    ("dialect", "official"), [("openguandan", False), ("openguandan", True), ("njupt", False)]
)
@pytest.mark.long
def test_our_clients_count_every_game_of_three_whatever_words_end_them(dialect, official):
    async def scenario():
        config = ServerConfig(dialect=dialect, official=official, port=0, seed=8, games=3)
        async with TableServer(config) as server:
            clients = [client(server, "c0", games=3)]
            tasks = [asyncio.create_task(clients[0].run())]
            room = await clients[0].seated if dialect == "openguandan" else None
            for k in (1, 2, 3):
                # who joins a room is not told of how many games
                clients.append(client(server, f"c{k}", room=room))
                tasks.append(asyncio.create_task(clients[k].run()))
            results = await asyncio.wait_for(asyncio.gather(*tasks), PATIENCE)
            return results, server.results[0]

    results, session = asyncio.run(scenario())
    assert [result.games for result in results] == [3] * 4
    assert [result.rounds for result in results] == [session.rounds] * 4
    assert all(result.refused == result.unread == result.reconnects == 0 for result in results)


@pytest.mark.parametrize("dialect", ["openguandan", "njupt"])
@pytest.mark.parametrize("agents", [("random",), ("random", "first"), ("first", "random", "first")])
@pytest.mark.some(2)
def test_agents_fill_the_seats_that_clients_leave(dialect, agents):
    async def scenario():
        hosts = {name: host for name in set(agents) for host in [InstantHost(RandomAgent)]}
        config = ServerConfig(dialect=dialect, port=0, seed=2, agents=agents)
        async with TableServer(config, hosts) as server:
            clients = [client(server, "c0")]
            tasks = [asyncio.create_task(clients[0].run())]
            room = await clients[0].seated if dialect == "openguandan" else None
            for k in range(1, 4 - len(agents)):
                clients.append(client(server, f"c{k}", room=room))
                tasks.append(asyncio.create_task(clients[-1].run()))
            await asyncio.wait_for(asyncio.gather(*tasks), PATIENCE)
            return server.results[0].names

    names = asyncio.run(scenario())
    assert sorted(names) == sorted([*agents, *(f"c{k}" for k in range(4 - len(agents)))])
    if len(agents) == 2:
        assert {names[0], names[2]} == {"c0", "c1"}


@pytest.mark.long
def test_a_server_plays_many_tables_at_once():
    async def scenario():
        async with TableServer(ServerConfig(dialect="njupt", port=0, seed=4)) as server:
            url = server.url.removesuffix("/game/{name}")
            bots = [njupt_client(url, f"bot{k}") for k in range(24)]
            await asyncio.wait_for(asyncio.gather(*bots), PATIENCE)
            return len(server.results), server.rooms

    sessions, rooms = asyncio.run(scenario())
    assert sessions == 6
    assert rooms == {}


@pytest.mark.long
@pytest.mark.parametrize("dialect", ["openguandan", "njupt"])
def test_two_hundred_tables_at_once_all_end_and_nobody_misses_a_move(dialect):
    load = measure_latency(dialect=dialect, tables=200)
    assert load.finished == 200
    assert load.lost == 0
