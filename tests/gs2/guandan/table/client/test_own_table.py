"""A table of one's own: choices taken back, records that stay, people who leave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from games.guandan.matches.match_game import match_events, read_match
from gs2.guandan.table.client.human import SeatLeft, UndoWanted
from gs2.guandan.table.client.own_table import OwnTable, play_games
from gs2.guandan.table.client.screen import CardFaces, PlayScreen
from gs2.guandan.table.hosts import FirstSeat
from gs2.guandan.table.seat import Observation
from tests.gs2.guandan.table.scenario import near_the_end
from tests.patience import amount


@pytest.fixture(autouse=True)
def short_games(monkeypatch):
    near_the_end(monkeypatch)


class Scripted:
    """A person who chooses as told, and keeps what was seen at each choice."""

    name = "person"

    def __init__(self, leave_after: int = 10**9, undo: float = 0.0, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.leave_after, self.undo = leave_after, undo
        self.seen: list[Observation] = []
        self.undone = 0

    def act(self, observation: Observation) -> int:
        free = len(observation.moves) > 1
        if free and self.seen and self.rng.random() < self.undo:
            self.undone += 1
            raise UndoWanted("back")
        if len(self.seen) >= self.leave_after:
            raise SeatLeft("enough")
        self.seen.append(observation)
        return _choice(observation)


def _choice(observation: Observation) -> int:
    """Return a choice that the situation alone decides: neither the first nor always the same."""
    return (int(observation.state["hand"][0].sum() % np.uint64(9973)) + len(observation.record)) % len(
        observation.moves
    )


class Decided:
    def act(self, observation: Observation) -> int:
        return _choice(observation)


def own_table(
    person: Any, agents: Any = Decided, seat: int = 0, **options: Any
) -> tuple[OwnTable, list[str]]:
    shown: list[str] = []
    screen = PlayScreen(lambda what: shown.append(str(what)), CardFaces(symbols=False), seat=seat)
    seats = [person if s == seat else agents() for s in range(4)]
    return OwnTable(seats, screen, **options), shown


def situation(observation: Observation) -> tuple[Any, ...]:
    return observation.state.tobytes(), observation.record.tobytes(), observation.tributes, observation.stage


@pytest.mark.parametrize("seat", [0, 3])
@pytest.mark.some(1)
def test_choices_taken_back_lead_to_the_very_situation_before_them_and_change_no_outcome(seat, tmp_path):
    games = amount(2, 1)
    plain, often = Scripted(), Scripted(undo=0.04, seed=seat)
    table, _ = own_table(plain, seat=seat, seed=5, games=games)
    assert table.play()
    again, shown = own_table(often, seat=seat, seed=5, games=games, record=tmp_path)
    assert again.play()
    assert often.undone > 2 and any("taken back" in text for text in shown)
    # each situation that was seen after a choice was taken back had been seen without
    first = {situation(seen) for seen in plain.seen}
    assert {situation(seen) for seen in often.seen} == first
    assert again.result.games == table.result.games and again.result.rounds == table.result.rounds
    assert again.result.shares == table.result.shares
    paths = sorted(tmp_path.glob("*.jsonl"))
    whole = [path for path in paths if path.name != "results.jsonl" and read_match(path).complete]
    for number in range(1, games + 1):
        assert sum(f"game{number:04d}" in path.name for path in whole) >= 1
    for path in whole:
        assert sum(1 for _ in match_events(read_match(path))) > 0
    assert again.record in whole


def test_agents_that_failed_before_a_choice_was_taken_back_are_counted():
    failed: list[int] = []

    class Fails:
        def act(self, observation: Observation) -> int:
            failed.append(observation.seat)
            raise ValueError("no")

    person = Scripted(undo=0.1, seed=1)
    table, _ = own_table(person, agents=Fails, seed=5)
    assert table.play() and person.undone
    assert table.result.fallbacks == [failed.count(seat) for seat in range(4)]


def test_the_same_seed_plays_what_the_runner_plays_and_it_is_told_in_the_order_of_play():
    table, shown = own_table(Scripted(), agents=FirstSeat, seed=9)
    assert table.play()
    result = play_games([Decided(), FirstSeat(), FirstSeat(), FirstSeat()], seed=9)
    assert result.games == table.result.games and result.shares == table.result.shares
    text = "\n".join(shown)
    assert text.count("=== round") == table.result.rounds == text.count("round over:")
    assert text.count("game over after") == 1
    assert "pay" in text or "no tribute" in text
    order = [text.index(word) for word in ("=== round 1", "round over:", "=== round 2", "game over after")]
    assert order == sorted(order)


def test_who_leaves_leaves_a_record_up_to_there_and_those_of_choices_taken_back_as_they_were(tmp_path):
    class Undoes(Scripted):
        """Takes back a choice before the first, where there is none, and the twelfth."""

        def act(self, observation: Observation) -> int:
            if len(self.seen) == 12 * self.undone and self.undone < 2:
                self.undone += 1
                self.kept = {path: path.read_bytes() for path in Path(tmp_path).glob("*game*")}
                raise UndoWanted("back")
            return super().act(observation)

    class Breaks:
        def act(self, observation: Observation) -> int:
            raise RuntimeError("out of ideas")

    person = Undoes(leave_after=20)
    table, shown = own_table(person, agents=Breaks, seed=2, record=tmp_path)
    assert not table.play() and table.left == "enough"
    assert any("no choice of yours" in text for text in shown)
    assert sum(table.result.fallbacks) > 3 and any("out of ideas" in text for text in shown)
    (old,) = person.kept
    assert old.read_bytes() == person.kept[old] and table.record != old
    assert table.record is not None and table.record.parent == tmp_path
    record = read_match(table.record)
    assert not record.complete and sum(1 for _ in match_events(record)) > 0
    (row,) = map(json.loads, (tmp_path / "results.jsonl").read_text().splitlines())
    assert row["ended"] == "left" and row["names"][0] == "person"
