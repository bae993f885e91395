"""Whole games over the socket, between strangers, our clients and our agents, and what their records say."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path

import pytest

from experiments.bench.guandan.table import measure_latency
from games.guandan.matches.match import MatchOver, Played
from games.guandan.matches.match_game import match_events, read_match
from gs2.guandan.table.agents import RandomSeat
from gs2.guandan.table.client.client import ClientConfig, TableClient
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


def check_folder(folder: Path, games: int) -> None:
    """Replay every record of a folder; compare with what the server said of its sessions."""
    results = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    assert sum(result["games"] for result in results) == games
    paths = sorted(folder.glob("*-room*-game*.jsonl"))
    assert len(paths) == games
    wins: Counter[int | None] = Counter()
    plays = 0
    for path in paths:
        record = read_match(path)
        assert record.complete
        replayed = list(match_events(record))
        plays += sum(isinstance(event, Played) for _, event in replayed)
        match, last = replayed[-1]
        assert match.over and isinstance(last, MatchOver)
        wins[last.winner] += 1
    for team in (0, 1):
        assert wins[team] == sum(result["wins"][team] for result in results)
    assert plays == sum(result["decisions"] for result in results)


@pytest.mark.parametrize(
    ("dialect", "official"),
    [pytest.param("openguandan", False, marks=pytest.mark.long), ("openguandan", True), ("njupt", False)],
)
@pytest.mark.some(1)
def test_four_strangers_play_two_games_and_every_message_fits_the_schemas(dialect, official, tmp_path):
    async def scenario():
        config = ServerConfig(dialect=dialect, official=official, port=0, games=2, seed=5, record=tmp_path)
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
    check_folder(tmp_path, 2)


@pytest.mark.parametrize("dialect", ["openguandan", "njupt"])
@pytest.mark.parametrize(
    ("strangers", "agents"), [(2, ()), (1, ("random", "first")), (0, ("first", "random", "first"))]
)
@pytest.mark.some(2)
def test_our_clients_play_with_strangers_and_agents_fill_the_seats_that_are_left(dialect, strangers, agents):
    async def scenario():
        hosts = {name: InstantHost(RandomSeat) for name in agents}
        config = ServerConfig(dialect=dialect, port=0, seed=8, agents=agents)
        async with TableServer(config, hosts) as server:
            url, room = server.url.removesuffix("/game/{name}"), None
            tasks = []
            for k in range(4 - strangers - len(agents)):
                visit = ClientConfig(url, dialect, user=f"c{k}", room=room, linger=0.05)
                client = TableClient(visit, InstantHost(RandomSeat))
                tasks.append(asyncio.create_task(client.run()))
                room = await client.seated if dialect == "openguandan" else None
            bots = [
                njupt_client(url, f"bot{k}")
                if dialect == "njupt"
                else openguandan_client(url, f"bot{k}", None, room=room)
                for k in range(strangers)
            ]
            await asyncio.wait_for(asyncio.gather(*tasks, *bots), PATIENCE)
            return [task.result() for task in tasks], server.results[0]

    results, session = asyncio.run(scenario())
    for result in results:
        assert result.rounds == session.rounds
        assert result.refused == result.unread == result.fallbacks == 0
        assert [game.rounds for game in result.ended] == [session.rounds]
        assert [game.won for game in result.ended] == [session.wins[result.seat % 2] == 1]
    people = [*(f"c{k}" for k in range(len(results))), *(f"bot{k}" for k in range(strangers))]
    assert sorted(session.names) == sorted([*agents, *people])
    if len(agents) == 2:
        assert {session.names[0], session.names[2]} == set(people)


@pytest.mark.long
@pytest.mark.parametrize("dialect", ["openguandan", "njupt"])
def test_two_hundred_tables_at_once_all_end_and_nobody_misses_a_move(dialect, tmp_path):
    load = measure_latency(dialect=dialect, tables=200, games=2, record=str(tmp_path))
    assert (load.finished, load.lost) == (200, 0)
    check_folder(tmp_path, 400)
