"""Matches by name: the same games in any pieces, kept in a file, gone on with."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from games import load_game
from games.record import RoundRecordError, replayed_rounds
from games.support.locks import LockHeld, hold
from gs2.play.agent_names import load_game_agent
from gs2.play.arena import GameContest, Meeting, MeetingError, play_match
from gs2.play.game_pairs import play_numbered
from gs2.play.match_files import MatchFiles

MEETING = Meeting("leduc_poker", "cfr:10", "uniform", pairs=40, seed=5)


def test_a_match_is_its_numbered_games() -> None:
    result = play_match(MEETING)
    game = load_game("leduc_poker")
    agents = (load_game_agent(game, "cfr:10"), load_game_agent(game, "uniform"))
    played = play_numbered(game, agents, np.arange(40), 5)
    assert result.complete and np.array_equal(result.games.payoffs, played.payoffs)
    told = result.to_json()
    assert told["net"] == pytest.approx(played.net.mean()) and told["low"] <= told["net"] <= told["high"]
    assert told["games"] == 80 and told["decisions"][0] == played.paces[0].decisions


def test_processes_play_the_same_games(tmp_path: Path) -> None:
    files = [MatchFiles(tmp_path / f"match{k}.jsonl", tmp_path / f"rounds{k}.jsonl") for k in (1, 2)]
    alone, two = (play_match(MEETING, output=files[k - 1], processes=k) for k in (1, 2))
    assert np.array_equal(two.games.payoffs, alone.games.payoffs)
    for name in ("match", "rounds"):  # pieces of work may end in another order
        one, other = ((tmp_path / f"{name}{k}.jsonl").read_bytes().splitlines() for k in (1, 2))
        assert sorted(one) == sorted(other) and len(one) > 40


def test_a_file_of_another_match_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "match.jsonl"
    play_match(Meeting("kuhn_poker", "cfr:10", "uniform", pairs=4), output=file)
    for other in (
        Meeting("kuhn_poker", "cfr:11", "uniform", pairs=4),
        Meeting("kuhn_poker", "cfr:10", "uniform", pairs=4, seed=1),
        Meeting("kuhn_poker", "cfr:10", "uniform", pairs=4, duplicate=False),
        Meeting("kuhn_poker(cards=4)", "cfr:10", "uniform", pairs=4),
    ):
        with pytest.raises(MeetingError, match="it holds results with"):
            play_match(other, output=file)
    with hold(file), pytest.raises(LockHeld):
        play_match(Meeting("kuhn_poker", "cfr:10", "uniform", pairs=8), output=file)
    for line in ('{"pair": 9}', '{"pair": -1, "payoffs": [0, 0]}', '{"pair": 9, "payoffs": [0, NaN]}', "[]"):
        text = file.read_text()
        file.write_text(text + line + "\n")
        with pytest.raises(MeetingError, match="line 6: not the result of a pair"):
            play_match(Meeting("kuhn_poker", "cfr:10", "uniform", pairs=8), output=file)
        file.write_text(text)
    with pytest.raises(MeetingError, match="at least 1 pair"):
        Meeting("kuhn_poker", "uniform", "uniform", pairs=0)
    file.write_text(json.dumps({"format": "other"}) + "\n")
    with pytest.raises(MeetingError, match="must be a result of gs2 match"):
        play_match(MEETING, output=file)


@pytest.mark.parametrize("game", ["leduc_poker", "doudizhu(ranks=4)", "big2(players=3,ranks=3,suits=3)"])
def test_records_and_results_of_a_match_say_the_same(game: str, tmp_path: Path) -> None:
    files = MatchFiles(tmp_path / "match.jsonl", tmp_path / "rounds.jsonl")
    meeting = Meeting(game, "uniform", "uniform", pairs=6, seed=2)
    whole = play_match(meeting, output=files)
    teams = load_game(game).teams
    rounds = [found.record for found in replayed_rounds(tmp_path / "rounds.jsonl")]
    assert [(r.pair, r.team) for r in rounds] == [(p, t) for p in range(6) for t in range(max(teams) + 1)]
    for record in rounds:
        assert record.payoffs[teams.index(record.team)] == whole.games.payoffs[record.pair, record.team]
        assert (record.game, record.seed) == (game, 2)
    assert np.array_equal(whole.games.payoffs, play_match(meeting).games.payoffs)


def test_a_match_goes_on_from_whatever_its_files_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gs2.play.arena.QUICK", 3)
    files = MatchFiles(tmp_path / "match.jsonl", tmp_path / "rounds.jsonl")
    assert files.results is not None and files.records is not None
    meeting = Meeting("big2(players=3,ranks=3,suits=3)", "uniform", "uniform", pairs=8, seed=3)
    asked = iter([False, True])
    part = play_match(meeting, output=files, stop=lambda: next(asked, True))
    assert not part.complete and 0 < len(part.games.numbers) < 8
    whole = play_match(meeting, output=files)
    results, records = files.results.read_bytes(), files.records.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(5):
        for path, data in ((files.results, results), (files.records, records)):
            path.write_bytes(data[: rng.integers(len(data) + 1)])  # cut off by a kill
            if rng.random() < 0.2:
                path.unlink()
        again = play_match(meeting, output=files)
        assert again.complete and np.array_equal(again.games.payoffs, whole.games.payoffs)
        assert np.array_equal(again.games.won, whole.games.won)
        for path, data in ((files.results, results), (files.records, records)):
            assert sorted(path.read_bytes().splitlines()) == sorted(data.splitlines())
    alone = play_match(meeting, output=MatchFiles(records=files.records))
    assert alone.games.paces[0].decisions == 0 and alone.net == whole.net
    files.results.unlink()
    told = play_match(meeting, output=files)
    assert told.games.paces[0].decisions == 0 and len(files.results.read_bytes().splitlines()) == 9


def test_results_and_records_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    files = MatchFiles(tmp_path / "match.jsonl", tmp_path / "rounds.jsonl")
    assert files.results is not None and files.records is not None
    meeting = Meeting("kuhn_poker", "uniform", "uniform", pairs=4)
    play_match(meeting, output=files)
    first, *rows = files.results.read_text().splitlines()
    changed = [{**json.loads(row), "payoffs": [7.0, 7.0]} for row in rows]
    files.results.write_text("\n".join([first, *map(json.dumps, changed)]) + "\n")
    with pytest.raises(MeetingError, match="must end as its results say"):
        play_match(meeting, output=files)
    files.records.unlink()
    with pytest.raises(MeetingError, match="must end as its results say"):
        play_match(meeting, output=files)
    for row in ({"team": 2}, {"payoffs": [1.0, -1.0, 0.0]}):
        files.records.unlink(missing_ok=True)
        play_match(meeting, output=MatchFiles(records=files.records))
        text = files.records.read_text()
        wrong = {**json.loads(text.splitlines()[1]), "pair": 9, **row}
        files.records.write_text(text + json.dumps(wrong) + "\n")
        with pytest.raises(MeetingError, match="rounds must be of 2 teams and 2 seats"):
            play_match(meeting, output=MatchFiles(records=files.records))
    files.records.write_text(json.dumps({"format": "gs2-match-1"}) + "\n")
    with pytest.raises(RoundRecordError, match="must be a result of gs2 match --game"):
        play_match(meeting, output=MatchFiles(records=files.records))
    with hold(files.records), pytest.raises(LockHeld):
        play_match(meeting, output=MatchFiles(records=files.records))


def test_agents_of_one_room_are_loaded_once_and_seeded_as_asked() -> None:
    game = load_game("kuhn_poker")
    contest = GameContest(game)
    assert contest.agent("dmc:30", 1) is contest.agent("dmc:30", 1)
    assert contest.agent("dmc:30", 1) is not contest.agent("dmc:30", 2)
    meeting = Meeting("kuhn_poker", "dmc:30", "dmc:30", pairs=200)
    even = play_match(Meeting("kuhn_poker", "dmc:30", "dmc:30", pairs=200, agent_seed=4), game=game)
    assert not even.games.net.any() and play_match(meeting, game=game).games.net.any()
