"""Tables of games in a server's folder: which are open, and the others when they are asked for."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from gs2.web.games import game_house
from gs2.web.games.game_house import GameHouse
from gs2.web.tables.person_table import Refused
from gs2.web.tables.versions import Versions
from tests.web.tables.stored_tables import game_table


def stored(folder: Path, key: str, at: float, choices: int = 0) -> None:
    """Leave a table of which the person has dealt as many rounds as its place in time says.

    choices: that are made at most in each round, the first of what is legal, before the last is taken back.
    """
    table = game_table(folder, "kuhn_poker", ("person", "random"), id=key, seed=0)
    for _ in range(int(at)):
        table.new_round()
        for _ in range(choices):
            if table.to_act is not None:
                table.choose(table.to_act, 0)
        if choices:
            table.undo()
    table.close()
    os.utime(folder / f"{key}.jsonl", (1e9 + at, 1e9 + at))


def test_games_played_at_last_are_open_and_the_others_when_they_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(game_house, "MOST_TABLES", 2)
    for at, key in enumerate(("zzzzzzzz", "mmmmmmmm", "aaaaaaaa"), 1):
        stored(tmp_path, key, at)

    async def visit() -> None:
        house = GameHouse(tmp_path)
        house.open()
        assert list(house.tables) == ["mmmmmmmm", "aaaaaaaa"] and house.damaged == []
        old, same = await asyncio.gather(house.table("zzzzzzzz"), house.table("zzzzzzzz"))
        assert old is not None and old is same and old.number == 1
        assert list(house.tables) == ["aaaaaaaa", "zzzzzzzz"]
        for table in house.tables.values():
            table.looked_at = True
        with pytest.raises(Refused) as refused:
            await house.table("mmmmmmmm")
        assert refused.value.code == "full"
        old.looked_at = False
        again = await house.table("mmmmmmmm")
        assert again is not None and again.number == 2
        assert await house.table("nowhere1") is None and await house.table("../mmmmmmmm") is None
        house.close()

    asyncio.run(visit())


def test_a_restored_game_counts_on_above_all_that_a_browser_has_seen(tmp_path: Path) -> None:
    seen = Versions().now + 100
    for at in range(3):
        stored(tmp_path, "zzzzzzzz" + "z" * at, at + 1, choices=at)
        house = GameHouse(tmp_path)
        house.open()
        table = house.tables["zzzzzzzz" + "z" * at]
        assert table.versions.now > seen
        for what in ("choose", "undo", "round")[table.to_act != table.you :]:
            assert table.versions.means(table.offer(what), table.versions.now), what
            assert not any(table.versions.means(table.offer(what), version) for version in (0, 1, seen)), what
        house.close()


def test_a_table_that_lost_any_one_line_never_keeps_the_others_from_opening(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    stored(whole, "zzzzzzzz", 2, choices=4)
    lines = (whole / "zzzzzzzz.jsonl").read_text().splitlines(keepends=True)
    assert [next(iter(json.loads(line))) for line in lines[1:3]] == ["round", "choose"]
    left_alone = 0
    for at in range(len(lines)):
        folder = tmp_path / str(at)
        folder.mkdir()
        stored(folder, "aaaaaaaa", 1)
        (folder / "zzzzzzzz.jsonl").write_text("".join(lines[:at] + lines[at + 1 :]))
        house = GameHouse(folder)
        house.open()
        assert "aaaaaaaa" in house.tables
        assert ("zzzzzzzz" in house.tables) != any("zzzzzzzz.jsonl" in told for told in house.damaged)
        left_alone += len(house.damaged)
        assert at > 1 or house.damaged, "neither a setup nor the first round may be missing"
        house.close()
    assert 2 <= left_alone < len(lines)
