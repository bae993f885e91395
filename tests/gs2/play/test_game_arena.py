"""Matches by name: the same games in any pieces, kept in a file, gone on with."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from games import load_game
from games.support.locks import LockHeld, hold
from gs2.play.agent_names import load_game_agent
from gs2.play.game_arena import Meeting, MeetingError, play_match
from gs2.play.game_match import play_numbered

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


def test_a_match_goes_on_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "match.jsonl"
    asked = iter([False, True])
    short = Meeting("leduc_poker", "cfr:10+resolve:iterations=5", "uniform", pairs=12, seed=5)
    part = play_match(short, output=file, stop=lambda: next(asked, True))
    assert not part.complete and 0 < len(part.games.numbers) < 12
    file.write_bytes(file.read_bytes() + b'{"pair": 11, "pay')  # torn by a kill
    whole = play_match(short, output=file)
    assert whole.complete and len(file.read_text().splitlines()) == 13
    assert np.array_equal(whole.games.payoffs, play_match(short).games.payoffs)
    again = play_match(short, output=file)
    assert again.games.paces[0].decisions == 0 and again.net == whole.net


def test_processes_play_the_same_games() -> None:
    assert np.array_equal(play_match(MEETING, processes=2).games.payoffs, play_match(MEETING).games.payoffs)


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
    file.write_text(json.dumps({"format": "other"}) + "\n")
    with pytest.raises(MeetingError, match="must be a result of gs2 match"):
        play_match(MEETING, output=file)


def test_a_match_needs_games() -> None:
    with pytest.raises(MeetingError, match="at least 1 pair"):
        Meeting("kuhn_poker", "uniform", "uniform", pairs=0)
