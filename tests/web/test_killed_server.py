"""A server of its own, with a token: what it holds outlives a kill, and nobody has it without the token."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.patience import PATIENCE
from tests.web.serving import Server
from tests.web.table_page import TablePage
from tests.web.test_security import PATHS

TOKEN = "abc_-+x%7"
SEATS = ["person", "random", "greedy", "random"]


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that only these tests use."""
    running = Server(tmp_path_factory.mktemp("own"), "--token", TOKEN).start()
    yield running
    running.end()


def test_a_token_is_asked_of_everything_and_leaves_the_address(own_server: Server) -> None:
    with httpx.Client(base_url=own_server.url, trust_env=False) as stranger:
        for path in PATHS:
            for headers in ({}, {"authorization": "Bearer wrong"}, {"cookie": "gs2_token=wrong"}):
                assert stranger.get(path, headers=headers).status_code == 401, path
        with pytest.raises(InvalidStatus):
            connect(f"{own_server.url.replace('http', 'ws')}/ws/tables/x?token=wrong")
        welcome = stranger.get("/", params={"token": TOKEN})
        assert welcome.status_code == 303 and welcome.headers["location"] == "/"
        cookie = welcome.headers["set-cookie"]
        assert "HttpOnly" in cookie and "samesite=strict" in cookie.lower()
        assert stranger.get("/").status_code == 200, "the cookie is kept"
    assert own_server.bearer == {"authorization": f"Bearer {TOKEN}"}, "as the printed address has it"
    assert own_server.get("/api/offers")


def children(server: Server) -> list[Path]:
    """Return a server's own processes, none where the system does not list them."""
    assert server.process is not None
    tasks = Path(f"/proc/{server.process.pid}/task")
    found = [task / "children" for task in tasks.iterdir()] if tasks.is_dir() else []
    return [Path("/proc") / pid for file in found for pid in file.read_text().split()]


COUNTED = ("version", "since")
"""Parts of a state that count anew when a server begins anew."""


def damage(folder: Path, match: Path, game: Path) -> set[str]:
    """Leave tables that cannot be read, made from those of a match and of a game; return their names."""
    first, *rest = match.read_text().splitlines(keepends=True)
    texts = {
        "without-a-setup": "".join(rest),
        "with-half-a-setup": '{"gs2":"web table","version":1,"id":"with-half-a-setup"}\n',
        "foreign-seat": first.replace(match.stem, "foreign-seat").replace('"greedy"', '"/etc/x.py:A"'),
        "foreign-game": game.read_text()
        .replace(game.stem, "foreign-game")
        .replace("leduc_poker", "/etc/passwd"),
        "no-such-choice": game.read_text().replace(game.stem, "no-such-choice") + '{"choose":[0,99]}\n',
    }
    for name, text in texts.items():
        (folder / f"{name}.jsonl").write_text(text)
    return set(texts)


def test_a_cut_line_and_a_killed_server_lose_nothing(own_server: Server) -> None:
    server, rng = own_server, random.Random(0)
    match = server.table(SEATS, seed=0, games=2)
    seat = server.seat(*match)
    seat.play_on(rng, 30)
    before = seat.my_turn_alone()

    def as_it_was() -> None:
        after = server.seat(*match).my_turn_alone()
        assert after["table"]["you"] == 0
        for part in ("match", "round", "turn", "results", "games_over", "waiting"):
            assert after[part] == before[part], part

    seat.line.socket.close()
    as_it_was()
    undone = server.table(SEATS, seed=2)
    mine = server.seat(*undone)
    first = mine.my_turn()["round"]
    mine.play(0)
    mine.say(type="undo", version=mine.my_turn()["version"])
    mine.until(lambda s: s["round"] == first)
    games = []
    for game, players in (("doudizhu", ["person", "rules", "random"]), ("leduc_poker", ["random", "person"])):
        table = server.table(players, game=game, seed=5, rotate=True)
        one = server.seat(*table)
        one.play_on(rng)
        one.go(type="next")
        one.play_on(rng, 2)
        games.append((table, one.my_turn()))
        assert server.seat(*table).my_turn() == one.state, "a reload keeps it"
    workers = children(server)
    assert workers or not Path("/proc/self/task").is_dir()
    server.kill()
    limit = time.monotonic() + PATIENCE
    while alive := [worker for worker in workers if worker.exists()]:
        assert time.monotonic() < limit, f"workers outlive their server: {alive}"
        time.sleep(0.1)
    files = [server.folder / f"{table[0]}.jsonl" for table in (match, games[1][0])]
    damaged = damage(server.folder, *files)
    for file in files:  # a kill in mid-line: only that line is lost
        file.write_bytes(file.read_bytes() + b'{"choose":[0,')
    server.start()
    told = "".join("".join(server.said).split())
    for name in damaged:
        assert f"{name}.jsonl" in told and (server.folder / f"{name}.jsonl").exists(), name
    listed = {row["id"] for row in server.get("/api/tables")["tables"]}
    assert listed == {match[0], undone[0], *(table[0] for table, _ in games)}
    as_it_was()
    assert server.seat(*undone).my_turn()["round"] == first
    for table, state in games:
        after = server.seat(*table)
        assert after.my_turn() | dict.fromkeys(COUNTED, 0) == state | dict.fromkeys(COUNTED, 0)
        assert after.play_on(rng)["rounds"] == 2


def test_the_page_waits_for_a_killed_server_and_goes_on(
    own_server: Server, people: Callable[..., Any]
) -> None:
    page = people(own_server.printed)
    table = TablePage.sit(page, *own_server.table(SEATS, seed=4))
    table.play_turns(2)
    table.until_turn()
    hand, moves = table.hand, table.moves
    version = page.locator("main").get_attribute("data-version")
    # Whatever a browser says of connections that are cut off or refused, and as late as it is closed.
    people.expected = re.compile("^WebSocket connection to|net::ERR_")  # type: ignore[attr-defined]
    own_server.kill()
    page.locator(".banner:has-text('Reconnecting')").wait_for()
    own_server.start()
    page.locator(".banner").wait_for(state="hidden")
    # The line is open before the table comes over it: until then the page shows what it knew before.
    page.wait_for_function("old => document.querySelector('main').dataset.version !== old", arg=version)
    assert (table.hand, table.moves) == (hand, moves)
    table.play_turns(1)
    assert table.moves > moves
