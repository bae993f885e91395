"""Tables that a server finds in its folder: which are open, and what is still known of them."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from gs2.web import house as house_module
from gs2.web.guandan.match_play import MatchPlay
from gs2.web.house import House
from gs2.web.tables.table import Refused, Table, Versions
from gs2.web.tables.table_log import TableLog, TableSetup, stored_table, stored_tables
from tests.web.serving import Server
from tests.web.tables.stored_tables import PEOPLE, Onlooker, game_table, reopened, stored_table_of_people


@pytest.fixture(scope="module")
def second_game(tmp_path_factory: pytest.TempPathFactory) -> tuple[Table[MatchPlay], list[str]]:
    """Two games of people, the second of them just dealt, and the keys of the seats."""
    folder = tmp_path_factory.mktemp("games")
    return stored_table_of_people(folder, lambda table: len(table.play.games) == 2, games=2)


def test_a_restored_table_still_knows_its_people(second_game: tuple[Table[MatchPlay], list[str]]) -> None:
    live, keys = second_game
    again = reopened(live)
    assert again.play.names == list(PEOPLE)
    assert [again.player_of(key) for key in keys] == [0, 1, 2, 3]
    for game in (1, 2):
        assert again.play.game_record(game) == live.play.game_record(game)
    again.close()


def stored_kuhn(folder: Path, key: str, rounds: int, choices: int = 0, at: float = 0) -> None:
    """Leave a table of Kuhn poker after some rounds.

    choices: made at most in each round, the first of what is legal, before the last is taken back.
    at: when it was played, in seconds.
    """
    table = game_table(folder, "kuhn_poker", ("person", "random"), id=key, seed=0)
    table.sit("Ann")
    for number in range(rounds):
        if number:
            table.enter(*table.play.next_round(0, None))
        for _ in range(choices):
            for seat in table.play.pending:
                table.choose(seat, 0)
        if choices:
            table.undo(table.play.order.index(0))
    table.close()
    os.utime(folder / f"{key}.jsonl", (1e9 + at, 1e9 + at))


def test_a_restored_game_counts_on_above_all_that_a_browser_has_seen(tmp_path: Path) -> None:
    seen = Versions().now + 100
    for at in range(3):
        stored_kuhn(tmp_path, "zzzzzzzz" + "z" * at, at + 1, choices=at)

    async def visit() -> None:
        house = House(tmp_path)
        await house.open()
        for at in range(3):
            table = await house.table("zzzzzzzz" + "z" * at)
            assert table.versions.now > seen
            for what in ("next", *["choose"] * (0 in table.play.pending), *["undo"] * table.can_undo(0)):
                offer = table.offer(what, 0)
                assert table.versions.means(offer, table.versions.now), what
                assert not any(table.versions.means(offer, version) for version in (0, 1, seen)), what
        house.close()

    asyncio.run(visit())


def test_a_table_that_lost_any_one_line_never_keeps_the_others_from_opening(tmp_path: Path) -> None:
    stored_kuhn(tmp_path / "whole", "zzzzzzzz", 2, choices=4)
    lines = (tmp_path / "whole" / "zzzzzzzz.jsonl").read_text().splitlines(keepends=True)
    assert [next(iter(json.loads(line))) for line in lines[1:4]] == ["round", "sit", "choose"]

    async def left_alone(folder: Path) -> int:
        house = House(folder)
        await house.open()
        assert "aaaaaaaa" in house.tables
        assert ("zzzzzzzz" in house.tables) != any("zzzzzzzz.jsonl" in told for told in house.damaged)
        house.close()
        return len(house.damaged)

    found = []
    for at in range(len(lines)):
        folder = tmp_path / str(at)
        stored_kuhn(folder, "aaaaaaaa", 1)
        (folder / "zzzzzzzz.jsonl").write_text("".join(lines[:at] + lines[at + 1 :]))
        found.append(asyncio.run(left_alone(folder)))
    assert found[:2] == [1, 1], "neither a setup nor the first round may be missing"
    assert 0 in found


def test_a_table_of_agents_that_was_cut_off_before_its_first_deal_is_dealt_when_it_is_opened(
    tmp_path: Path,
) -> None:
    setup = TableSetup(id="zzzzzzzz", game="kuhn_poker", seats=("random",) * 2)
    TableLog(tmp_path / "zzzzzzzz.jsonl", setup, new=True).close()
    with open(tmp_path / "zzzzzzzz.jsonl", "a") as file:
        file.write('{"round":[0,')

    async def opened() -> None:
        house = House(tmp_path)
        await house.open()
        assert house.damaged == [] and house.tables["zzzzzzzz"].play.number == 1
        house.close()

    asyncio.run(opened())


def test_tables_played_at_last_are_open_and_the_others_when_they_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(house_module, "MOST_TABLES", 2)
    old, newer, lasts = "zzzzzzzz-over", "mmmmmmmm-over", "aaaaaaaa-lasts"
    over, _ = stored_table_of_people(tmp_path, lambda table: table.play.over, id=old, seed=0)
    (tmp_path / f"{newer}.jsonl").write_text(over.log.path.read_text().replace(old, newer))
    stored_kuhn(tmp_path, lasts, 1, at=2)
    for at, key in enumerate((old, newer)):
        os.utime(tmp_path / f"{key}.jsonl", (1e9 + at, 1e9 + at))
    assert [path.stem for path in stored_tables(tmp_path)] == [lasts, newer, old]

    async def visit() -> None:
        house = House(tmp_path)
        await house.open()
        assert list(house.tables) == [newer, lasts] and house.damaged == []
        assert not house.tables[lasts].play.over
        found = await asyncio.gather(house.table(old), house.table(old))
        assert found[0] is found[1] and found[0].play.over
        assert list(house.tables) == [lasts, old], "of two that nobody looks at the one in play is kept"
        # one at which somebody is stays open, also where it is the only one that is over
        house.tables[old].watchers.add(Onlooker())
        await house.table(newer)
        assert list(house.tables) == [old, newer]
        house.tables[newer].watchers.add(Onlooker())
        with pytest.raises(Refused) as refused:
            await house.table(lasts)
        assert refused.value.code == "full"
        house.tables[old].watchers.clear()
        assert (await house.table(lasts)).play.number == 1
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
        for key in ("damaged1", "../outside1", "nowhere1"):
            with pytest.raises(Refused, match="no table has this address"):
                await house.table(key)
        house.close()

    asyncio.run(visit())


def test_a_table_whose_agent_is_not_known_here_is_left_alone(tmp_path: Path) -> None:
    for game, others in (("guandan", 3), ("kuhn_poker", 1)):
        setup = TableSetup(id=f"{game}-1", game=game, seats=(*["person"] * others, "gone.py:Agent"))
        TableLog(tmp_path / f"{setup.id}.jsonl", setup, new=True).close()

    async def visit() -> None:
        house = House(tmp_path)
        await house.open()
        assert not house.tables and len(house.damaged) == 2
        assert all("gone.py:Agent" in told and "--agent" in told for told in house.damaged)
        house.close()

    asyncio.run(visit())


def test_a_review_is_of_the_last_game_of_which_a_round_is_over(
    server: Server, second_game: tuple[Table[MatchPlay], list[str]]
) -> None:
    file = second_game[0].log.path
    (server.folder / file.name).write_bytes(file.read_bytes())
    address = f"/api/tables/{file.stem}/review"
    answer = server.http.post(address, json={})
    assert answer.status_code == 202, answer.text
    server.http.delete(f"/api/jobs/{answer.json()['id']}")
    closed = server.http.post(address, json={"game": 2})
    assert closed.status_code == 400 and closed.json()["code"] == "closed" and "game 2" in closed.text
    for wrong in (0, 3, 1.0, True, "1", None, [1]):
        refused = server.http.post(address, json={"game": wrong})
        assert refused.status_code == 400 and refused.json()["code"] == "wrong", wrong
    early, _ = stored_table_of_people(server.folder, lambda table: len(table.play.choices) == 9)
    answer = server.http.post(f"/api/tables/{early.setup.id}/review", json={})
    assert answer.status_code == 400 and answer.json()["code"] == "closed"


def test_a_seat_that_is_none_leaves_the_table_as_it_was(server: Server) -> None:
    table, _ = server.table(["person"] * 4)  # agents would go on meanwhile
    before = (server.folder / f"{table}.jsonl").read_bytes()
    for wrong in (1.0, True, "1", 4, -1, [1], {"seat": 1}):
        answer = server.http.post(f"/api/tables/{table}/seat", json={"name": "Bob", "seat": wrong})
        assert answer.status_code == 400 and answer.json()["code"] == "wrong", wrong
    assert (server.folder / f"{table}.jsonl").read_bytes() == before
