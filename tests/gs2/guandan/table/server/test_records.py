"""Games recorded on a server replay on the engine to the same result."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from experiments.bench.table import measure_latency
from games.guandan.matches.events import MatchOver, Played
from games.guandan.matches.match_game import match_events, read_match
from gs2.guandan.table.agents import RandomAgent
from gs2.guandan.table.hosts import InstantHost
from gs2.guandan.table.runner import play_games
from gs2.guandan.table.server.server import ServerConfig, TableServer
from tests.gs2.guandan.table.protocol import njupt_client, openguandan_client
from tests.patience import amount


def check_folder(folder: Path, games: int, decisions: int | None = None) -> None:
    """Replay every record of a folder; compare with what the server said of its sessions."""
    results = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    assert sum(result["games"] for result in results) == games
    paths = sorted(folder.glob("*-room*-game*.jsonl"))
    assert len(paths) == games
    wins = {0: 0, 1: 0, None: 0}
    plays = 0
    for path in paths:
        record = read_match(path)
        assert record.complete
        replayed = list(match_events(record))
        plays += sum(isinstance(event, Played) for _, event in replayed)
        match, last = replayed[-1]
        assert match.over and isinstance(last, MatchOver)
        wins[last.winner] += 1
    assert wins[0] == sum(result["wins"][0] for result in results)
    assert wins[1] == sum(result["wins"][1] for result in results)
    assert plays == sum(result["decisions"] for result in results)
    assert decisions is None or decisions == plays


async def play(folder: Path, dialect: str, games: int, rules: str = "ruling") -> int:
    """Play games at one table: strangers against our agents. Returns the decisions in play."""
    from games.guandan.rules import as_rules
    from gs2.guandan.table.server.place import RoomConfig

    config = ServerConfig(
        dialect=dialect,
        port=0,
        seed=games,
        games=games,
        agents=("random", "random"),
        record=folder,
        room=RoomConfig(rules=as_rules(rules)),
    )
    async with TableServer(config, {"random": InstantHost(RandomAgent)}) as server:
        if dialect == "njupt":
            url = server.url.removesuffix("/game/{name}")
            await asyncio.gather(*[njupt_client(url, f"bot{k}") for k in range(2)])
        else:
            room = asyncio.get_running_loop().create_future()
            await asyncio.gather(
                openguandan_client(server.url, "a", 1, created=room, games=games),
                openguandan_client(server.url, "b", None, room=room),
            )
        return server.results[0].decisions


@pytest.mark.parametrize("rules", ["ruling", "njupt", "openguandan", "paper"])
@pytest.mark.some(2)
def test_recorded_games_replay_to_the_same_result(tmp_path, rules):
    games = amount(2, 1)
    decisions = asyncio.run(play(tmp_path, "njupt" if rules == "njupt" else "openguandan", games, rules))
    check_folder(tmp_path, games, decisions)


@pytest.mark.long
@pytest.mark.parametrize("dialect", ["openguandan", "njupt"])
def test_five_hundred_recorded_games_replay_to_the_same_result(tmp_path, dialect):
    load = measure_latency(dialect=dialect, tables=50, games=10, record=str(tmp_path))
    assert (load.finished, load.lost) == (50, 0)
    check_folder(tmp_path, 500)


def test_the_runner_records_too(tmp_path):
    games = amount(2, 1)
    result = play_games([RandomAgent()] * 4, games=games, seed=1, record=tmp_path)
    records = [read_match(path) for path in sorted(tmp_path.glob("*.jsonl"))]
    assert [record.complete for record in records] == [True] * games
    winners = [list(match_events(record))[-1][0].winner for record in records]
    assert [game.winner for game in result.games] == winners
