"""Tables that a server finds in its folder: which are open, and what is still known of them."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from gs2.web import house as house_module
from gs2.web.games.game_house import GameHouse
from gs2.web.house import House
from gs2.web.tables.person_table import PersonTable, Refused
from gs2.web.tables.table_log import TableLog, read_table, stored_table, stored_tables
from tests.web.serving import Server
from tests.web.tables.stored_tables import PEOPLE, stored_table_of_people


class Onlooker:
    """Looks at a table."""

    seat: int | None = None

    def show(self) -> None:
        """See nothing."""


def three_tables(folder: Path) -> list[str]:
    """Return the ids of three tables, that first which was played longest ago; only the last one lasts."""
    ids = ["zzzzzzzz-over", "mmmmmmmm-over", "aaaaaaaa-lasts"]
    for at, key in enumerate(ids):
        over = key.endswith("over")
        until = (lambda table: table.over) if over else (lambda table: len(table.choices) == 30)
        stored_table_of_people(folder, until, id=key, seed=at)
        os.utime(folder / f"{key}.jsonl", (1e9 + at, 1e9 + at))
    return ids


def test_a_restored_table_still_knows_its_people(tmp_path: Path) -> None:
    live, keys = stored_table_of_people(tmp_path, lambda table: len(table.account.games) == 2, games=2)
    setup, lines = read_table(live.log.path)
    again = PersonTable.restored(setup, lines, TableLog(live.log.path, setup, new=False), {})
    assert again.names == list(again.account.names) == list(PEOPLE)
    assert [again.seat_of(key) for key in keys] == [0, 1, 2, 3]
    for game in (0, 1):
        assert again.account.record(game) == live.account.record(game)


def test_a_restored_table_counts_on_above_all_that_a_browser_has_seen(tmp_path: Path) -> None:
    live, _ = stored_table_of_people(tmp_path, lambda table: len(table.choices) == 30)
    seen = live.versions.now
    setup, lines = read_table(live.log.path)
    again = PersonTable.restored(setup, lines, TableLog(live.log.path, setup, new=False), {})
    assert again.versions.now > seen
    for seat in again.session.pending:
        offer = again.offer("choose", seat)
        assert again.versions.means(offer, again.versions.now)
        assert not any(again.versions.means(offer, version) for version in (0, 1, seen))
    again.close()


def test_tables_played_at_last_are_open_and_the_others_when_they_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(house_module, "MOST_TABLES", 2)
    old, newer, lasts = three_tables(tmp_path)
    assert [path.stem for path in stored_tables(tmp_path)] == [lasts, newer, old]

    async def visit() -> None:
        house = House(tmp_path)
        await house.open()
        assert list(house.tables) == [newer, lasts] and house.damaged == []
        assert not house.tables[lasts].over and len(house.tables[lasts].choices) == 30
        found = await asyncio.gather(house.table(old), house.table(old))
        assert found[0] is not None and found[0] is found[1] and found[0].over
        assert list(house.tables) == [lasts, old], "of two that nobody looks at the one in play is kept"
        # one at which somebody is stays open, also where it is the only one that is over
        house.watchers[old].add(Onlooker())
        assert await house.table(newer) is not None
        assert list(house.tables) == [old, newer]
        house.watchers[newer].add(Onlooker())
        with pytest.raises(Refused) as refused:
            await house.table(lasts)
        assert refused.value.code == "full"
        house.watchers[old].clear()
        again = await house.table(lasts)
        assert again is not None and len(again.choices) == 30
        house.close()

    asyncio.run(visit())


def test_only_what_is_called_as_a_table_is_looked_for(tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    table, _ = stored_table_of_people(folder, lambda table: True, id="k3v9k3v9")
    (tmp_path / "outside1.jsonl").write_bytes(table.log.path.read_bytes())
    (folder / "damaged1.jsonl").write_text("{}\n")
    assert stored_table(folder, "k3v9k3v9") == table.log.path
    for key in ("../outside1", "..%2foutside1", "k3v9k3v", "k3v9k3v9.jsonl", "", "k3v9k3v9\n", "x" * 300):
        assert stored_table(folder, key) is None

    async def visit() -> None:
        house = House(folder)
        await house.open()
        assert list(house.tables) == ["k3v9k3v9"] and "damaged1" in house.damaged[0]
        assert await house.table("damaged1") is None and await house.table("../outside1") is None
        house.close()

    asyncio.run(visit())


def test_a_review_is_of_the_last_game_of_which_a_round_is_over(server: Server) -> None:
    table, _ = stored_table_of_people(server.folder, lambda table: len(table.account.games) == 2, games=2)
    address = f"/api/tables/{table.setup.id}/review"
    answer = server.http.post(address, json={})
    assert answer.status_code == 202, answer.text
    server.http.delete(f"/api/jobs/{answer.json()['id']}")
    closed = server.http.post(address, json={"game": 2})
    assert closed.status_code == 400 and closed.json()["code"] == "closed" and "game 2" in closed.text
    for wrong in (0, 3, 1.0, True, "1", None, [1]):
        refused = server.http.post(address, json={"game": wrong})
        assert refused.status_code == 400 and refused.json()["code"] == "wrong", wrong
    early, _ = stored_table_of_people(server.folder, lambda table: len(table.choices) == 9)
    answer = server.http.post(f"/api/tables/{early.setup.id}/review", json={})
    assert answer.status_code == 400 and answer.json()["code"] == "closed"


def test_a_seat_that_is_none_leaves_the_table_as_it_was(server: Server) -> None:
    table, _ = server.table(["person"] * 4)  # agents would go on meanwhile
    before = (server.folder / f"{table}.jsonl").read_bytes()
    for wrong in (1.0, True, "1", 4, -1, [1], {"seat": 1}):
        answer = server.http.post(f"/api/tables/{table}/seat", json={"name": "Bob", "seat": wrong})
        assert answer.status_code == 400 and answer.json()["code"] == "wrong", wrong
    assert (server.folder / f"{table}.jsonl").read_bytes() == before


def test_tables_of_earlier_versions_are_taken_up(tmp_path: Path) -> None:
    key, digest = "ann's key", "4a8c1eb8b2bbb2493bdc9ee3f7a3357b048de54a2dbc52301e88c39403cd6ce8"
    (tmp_path / "games").mkdir()
    (tmp_path / "guandan-1.jsonl").write_text(
        '{"gs2":"web table","version":1,"id":"guandan-1","seats":["person","person","person","person"],'
        '"games":1,"rules":"ruling","seed":5,"pace":0.7,"created":1.0}\n'
        f'{{"sit":[0,"Ann","{digest}"]}}\n'
        '{"choose":[2,1391]}\n{"choose":[3,453]}\n{"choose":[0,0]}\n{"choose":[1,1]}\n'
    )
    (tmp_path / "games" / "doudizhu-1.jsonl").write_text(
        '{"gs2":"web game","version":1,"id":"doudizhu-1","game":"doudizhu",'
        f'"players":["rules","person","rules"],"name":"Ann","key":"{digest}",'
        '"rotate":true,"seed":3,"pace":0.8,"created":0.0}\n'
        '{"round":[0,1,2]}\n{"choose":[0,0]}\n{"choose":[1,0]}\n{"choose":[2,0]}\n{"choose":[0,0]}\n'
        '{"choose":[1,0]}\n{"undo":19}\n'
    )

    async def visit() -> None:
        house, games = House(tmp_path), GameHouse(tmp_path / "games")
        await house.open()
        games.open()
        match, game = house.tables["guandan-1"], games.tables["doudizhu-1"]
        assert house.damaged == games.damaged == []
        assert match.seat_of(key) == 0 and match.names == ["Ann", "", "", ""] and len(match.choices) == 4
        assert game.opens(key) and game.names == ["rules 1", "Ann", "rules 2"] and game.setup.rotate
        assert game.to_act == 1 and len(game.playing.taken) == 19
        house.close()
        games.close()

    asyncio.run(visit())
