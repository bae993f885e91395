"""Whole games over the socket, between strangers, our clients and our agents, and what their records say.

Servers share folders of records, one after the other, at once, and killed; nothing is ever lost.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import random
import signal
from collections import Counter
from io import FileIO
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect

from experiments.bench.guandan.table import measure_latency
from games.guandan.matches.match import Match, MatchOver, Played
from games.guandan.matches.match_game import match_events, read_match
from games.support.files import FileProblem
from gs2.guandan.table.client.client import ClientConfig, TableClient
from gs2.guandan.table.client.own_table import play_games
from gs2.guandan.table.hosts import RandomSeat, ThreadHost
from gs2.guandan.table.server import recording
from gs2.guandan.table.server.recording import RecordFolder, SessionResult
from gs2.guandan.table.server.server import ServerConfig, TableServer
from tests.gs2.guandan.table.protocol import Heard, check_message, njupt_client, openguandan_client
from tests.gs2.guandan.table.scenario import near_the_end
from tests.patience import PATIENCE, amount


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
        hosts = {name: ThreadHost(RandomSeat, 0) for name in agents}
        config = ServerConfig(dialect=dialect, port=0, seed=8, agents=agents)
        async with TableServer(config, hosts) as server:
            url, room = server.url.removesuffix("/game/{name}"), None
            tasks = []
            for k in range(4 - strangers - len(agents)):
                rules = config.room.rules
                visit = ClientConfig(url, dialect, user=f"c{k}", room=room, linger=0.05, rules=rules)
                client = TableClient(visit, ThreadHost(RandomSeat, 0))
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


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def read_results(path: Path) -> tuple[list[dict[str, Any]], int]:
    """Return the rows of a results file, and the number of unreadable lines, left by killed servers."""
    rows, damaged = [], 0
    for line in path.read_bytes().splitlines():
        try:
            rows.append(dict(json.loads(line)))
        except (TypeError, ValueError):
            damaged += bool(line.strip())
    return rows, damaged


def check_kept(before: dict[str, bytes], folder: Path) -> None:
    """Fail unless every file is still there, with all that was in it, and only results have grown."""
    after = contents(folder)
    for name, data in before.items():
        assert after[name][: len(data)] == data
        assert after[name] == data or name == "results.jsonl"


async def session(server: TableServer) -> None:
    url = server.url.removesuffix("/game/{name}")
    await njupt_client(url, "bot")


def a_server(folder: Path) -> TableServer:
    config = ServerConfig(dialect="njupt", port=0, seed=1, record=folder, agents=("random",) * 3, games=1)
    return TableServer(config, {"random": ThreadHost(RandomSeat, 0)})


def test_two_servers_at_once_and_a_third_after_them_leave_each_other_their_records(tmp_path, monkeypatch):
    # even started in the same second, with the same word
    monkeypatch.setattr(recording.secrets, "token_hex", lambda size: "abcdef")
    monkeypatch.setattr(recording.time, "strftime", lambda form, moment: "20200101T000000Z")

    async def scenario() -> None:
        async with a_server(tmp_path) as one, a_server(tmp_path) as two:
            await asyncio.gather(*[session(server) for server in (one, two)])
        before = contents(tmp_path)
        async with a_server(tmp_path) as three:
            await session(three)
        check_kept(before, tmp_path)

    asyncio.run(asyncio.wait_for(scenario(), PATIENCE))
    records = [read_match(path) for path in tmp_path.glob("*-room*-game*.jsonl")]
    assert len(records) == 3 and all(record.complete for record in records)
    assert all(len(list(match_events(record))) > 0 for record in records)
    rows, damaged = read_results(tmp_path / "results.jsonl")
    assert (len(rows), damaged) == (3, 0)
    assert len({row["run"] for row in rows}) == 1


def test_the_runner_leaves_earlier_records_alone(tmp_path):
    for games in (1, 2):
        before = contents(tmp_path)
        result = play_games([RandomSeat()] * 4, games=games, seed=1, record=tmp_path)
        check_kept(before, tmp_path)
        records = [read_match(path) for path in sorted(tmp_path.glob("*.jsonl")) if path.name not in before]
        assert [record.complete for record in records] == [True] * games
        winners = [list(match_events(record))[-1][0].winner for record in records]
        assert [game.winner for game in result.games] == winners
    assert len(contents(tmp_path)) == 3


def test_a_file_of_the_same_name_is_never_opened_again(tmp_path):
    path, link = tmp_path / "a.jsonl", tmp_path / "link.jsonl"
    path.write_text("mine")
    link.symlink_to(tmp_path / "elsewhere")
    for taken in (path, link):
        with pytest.raises(FileExistsError):
            recording.GameRecorder(taken, Match(1), ["a", "b", "c", "d"])
    assert path.read_text() == "mine" and not (tmp_path / "elsewhere").exists()


def test_a_folder_that_cannot_hold_records_is_refused_before_anybody_plays(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "dir" / "results.jsonl").mkdir(parents=True)
    for wrong in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / "dir", tmp_path / ("x" * 300)):
        with pytest.raises(FileProblem):
            asyncio.run(a_server(wrong).start())


def test_a_result_cut_short_spoils_no_other(tmp_path):
    folder = RecordFolder(tmp_path)
    results = tmp_path / "results.jsonl"
    folder.add_result(SessionResult("abcd"), room=1)
    whole = results.read_bytes()
    for cut in range(0, len(whole), 7):
        results.write_bytes(whole + whole[:cut])
        folder.add_result(SessionResult("abcd"), room=2)
        rows, damaged = read_results(results)
        assert [row["room"] for row in rows] == [1, 2]
        assert damaged == (cut > 0)


def test_a_full_disk_ends_the_record_and_not_the_game(tmp_path, monkeypatch, caplog):
    class Slow(FileIO):
        """Takes a part of what is written, and in the end nothing."""

        room = 2000

        def write(self, data: Any) -> int:
            if self.tell() > self.room:
                raise OSError(28, "No space left on device")
            return super().write(bytes(data)[:7])

    monkeypatch.setattr(recording, "FileIO", Slow)
    result = play_games([RandomSeat()] * 4, seed=1, record=tmp_path)
    assert len(result.games) == 1
    assert [record.message.count("No space left") for record in caplog.records] == [1]
    (path,) = tmp_path.glob("*.jsonl")
    record = read_match(path, repair=True)
    assert len(list(match_events(record))) > 0
    # with room enough, writes that take only a part are gone on with
    monkeypatch.setattr(Slow, "room", 10**9)
    play_games([RandomSeat()] * 4, seed=1, record=tmp_path / "roomy")
    (path,) = (tmp_path / "roomy").glob("*.jsonl")
    assert read_match(path).complete


def _serve_until_killed(folder: str, pipe: Any) -> None:
    async def forever() -> None:
        async with a_server(Path(folder)) as server:
            pipe.send(server.port)
            await asyncio.Event().wait()

    asyncio.run(forever())


def test_servers_killed_one_after_the_other_leave_whole_lines_and_lose_nothing(tmp_path):
    context = multiprocessing.get_context("spawn")
    rng = random.Random(3)

    async def play_until_killed(port: int, process: Any) -> list[Any]:
        seen: list[Any] = []
        left = rng.randrange(1, 900)
        while True:
            try:
                async with connect(f"ws://127.0.0.1:{port}/game/bot", max_size=None) as socket:
                    async for text in socket:
                        message = json.loads(text)
                        if message["type"] == "act":
                            index = rng.randint(0, message["indexRange"])
                            await socket.send(json.dumps({"actIndex": index}))
                        elif message.get("stage") == "play":
                            seen.append([message["curPos"], message["curAction"]])
                            if len(seen) == left:
                                os.kill(process.pid, signal.SIGKILL)
            except Exception:
                if len(seen) >= left:
                    return seen
                raise

    # what a server that was killed before them may have left
    play_games([RandomSeat()] * 4, seed=1, record=tmp_path)
    (path,) = tmp_path.glob("*.jsonl")
    path.write_bytes(path.read_bytes()[:-200])

    for _ in range(amount(10, 1)):
        before = contents(tmp_path)
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve_until_killed, args=(str(tmp_path), theirs), daemon=True)
        process.start()
        try:
            assert ours.poll(300), "the server did not start"
            seen = asyncio.run(asyncio.wait_for(play_until_killed(ours.recv(), process), PATIENCE))
        finally:
            process.kill()
            process.join(PATIENCE)
        check_kept(before, tmp_path)
        plays = []
        for path in sorted(path for path in tmp_path.glob("*-room*.jsonl") if path.name not in before):
            record = read_match(path, repair=True)
            assert sum(1 for _ in match_events(record)) > 0
            text = path.read_text().rpartition("\n")[0]
            lines = [json.loads(line) for line in text.splitlines()]
            words = [word for line in lines for word in line.get("play", ()) if word[3] == "["]
            plays += [[int(word[1]), json.loads(word[3:])] for word in words]
        assert seen == plays[: len(seen)]
    results = tmp_path / "results.jsonl"
    if results.exists():
        rows, damaged = read_results(results)
        assert len(rows) > 0 and damaged == 0
