"""GuanDan in the arena: rounds and whole games by name, on the same cards, into files of any version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blueprint.guandan.play.duplicate import duplicate_deals, game_seeds, play_duplicate, play_games_duplicate
from blueprint.guandan.play.quick_agents import GreedyAgent, RandomAgent
from games.game import GameError
from games.record import replayed_rounds
from games.support.configuration import ConfigError
from gs2.guandan import contest
from gs2.play.arena import Meeting, MeetingError, play_match
from gs2.play.match_files import MatchFiles

WHOLE = {"whole": True}


def meeting(a: str, b: str, pairs: int, **how: Any) -> Meeting:
    return Meeting("guandan", a, b, pairs, **how)


def test_a_match_is_its_duplicate_deals_or_whole_games() -> None:
    found = play_match(meeting("greedy", "random", 5, seed=3, terms={"level": 4}))
    rng = np.random.default_rng([3, 0, 0, 1])
    deals = duplicate_deals(np.arange(5), 3, level=4)
    assert np.array_equal(found.games.payoffs, play_duplicate(GreedyAgent(), RandomAgent(rng), deals))
    assert found.unit == "levels a round" and found.games.lengths is None
    assert found.games.paces[0].decisions > 0 < found.games.paces[0].seconds
    games = play_match(meeting("greedy", "balanced", 1, terms=WHOLE)).games
    swapped = play_match(meeting("balanced", "greedy", 1, terms=WHOLE)).games
    assert np.array_equal(games.payoffs, -swapped.payoffs[:, ::-1]) and games.lengths is not None
    score, rounds = play_games_duplicate(GreedyAgent(), GreedyAgent(), game_seeds(np.arange(1), 0))
    same = play_match(meeting("greedy", "greedy", 1, terms=WHOLE)).games
    assert np.array_equal(same.payoffs, 2 * score - 1) and np.array_equal(same.lengths, rounds)
    assert not same.net.any()
    own = play_match(meeting("greedy", "greedy", 20, duplicate=False)).games
    assert own.net.any(), "games of a pair may have cards of their own"
    assert np.array_equal(play_match(meeting("greedy", "greedy", 20)).games.payoffs[:, 0], own.payoffs[:, 0])


TERMS: tuple[dict[str, Any], ...] = ({}, {"whole": True, "rules": "openguandan"})


@pytest.mark.parametrize("terms", TERMS, ids=str)
def test_rounds_and_whole_games_are_replayed_from_their_records(
    terms: dict[str, Any], tmp_path: Path
) -> None:
    files = MatchFiles(tmp_path / "match.jsonl", tmp_path / "rounds.jsonl")
    assert files.results is not None and files.records is not None
    asked = meeting("random", "greedy", 1 if terms else 3, seed=2, terms=terms)
    whole = play_match(asked, output=files).games
    assert np.array_equal(whole.payoffs, play_match(asked).games.payoffs)
    for found in replayed_rounds(files.records):
        record = found.record
        assert record.payoffs[record.team] == whole.payoffs[record.pair, record.team]
        assert record.agents == (("random", "greedy") * 2, ("greedy", "random") * 2)[record.team]
        if whole.lengths is not None:
            assert len(record.chance) == whole.lengths[record.pair, record.team]
    files.results.unlink()
    again = play_match(asked, output=files)
    assert again.played == 0 and np.array_equal(again.games.payoffs, whole.payoffs)


def test_a_file_of_results_is_gone_on_with_and_keeps_to_its_match(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    first = play_match(meeting("greedy", "random", 6, seed=1), output=path)
    found = play_match(meeting("greedy", "random", 9, seed=1), output=path)
    assert (first.played, found.played) == (6, 3) and len(found.games.payoffs) == 9
    again = play_match(meeting("greedy", "random", 6, seed=1), output=path)
    assert again.played == 0
    for kept in (found, again):
        assert np.array_equal(kept.games.payoffs[:6], first.games.payoffs)
    for other in (
        meeting("greedy", "random", 6, seed=1, terms={"tribute": 0.0}),
        meeting("greedy", "random", 6, seed=1, terms={"whole": True, "rules": "njupt"}),
        Meeting("kuhn_poker", "uniform", "uniform", 6, seed=1),
    ):
        with pytest.raises(MeetingError, match=r"it holds results with|must be a result of gs2 match"):
            play_match(other, output=path)
    three = ('{"pair": 9, "payoffs": [1, 0, -1]}', '{"pair": 9, "payoffs": [1, 0, -1], "won": [1, 0]}')
    for line in (
        '{"pair": 9, "payoffs": [1]}',
        '{"pair": -1, "payoffs": [1, 1]}',
        '{"pair": 9}',
        "[]",
        *three,
    ):
        kept = path.read_text()
        path.write_text(kept + line + "\n")
        with pytest.raises(MeetingError, match="not the result of a pair"):
            play_match(meeting("greedy", "random", 6, seed=1), output=path)
        path.write_text(kept)


def test_an_agent_that_changed_since_the_match_began_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    def changing(self: contest.GuanDanContest, name: str, *, named: bool = True) -> str:
        told.append(name)
        return f"{name}{told.count(name) if name == 'greedy' else 0}"

    monkeypatch.setattr(contest.GuanDanContest, "identity", changing)
    with pytest.raises(MeetingError, match="greedy changed while the processes were starting"):
        play_match(meeting("greedy", "balanced", 1))


class Dies:
    """Ends the process that makes it."""

    def __init__(self) -> None:
        import os

        os._exit(1)


def test_a_process_that_dies_ends_the_match_with_an_error() -> None:
    with pytest.raises(MeetingError, match="ended without an answer"):
        play_match(meeting(f"{__name__}:Dies", "greedy", 2), processes=2)


def test_terms_out_of_range_or_that_no_match_has_are_refused() -> None:
    for terms, error, says in (
        ({"level": 13}, ConfigError, "match: level must be"),
        ({"tribute": 1.5}, ConfigError, "match: tribute must be"),
        ({"whole": 2}, ConfigError, "match: whole must be"),
        ({"levle": 3}, ConfigError, "levle"),
        ({"whole": True, "rules": "none"}, GameError, "rules are one of"),
    ):
        with pytest.raises(error, match=says):
            play_match(meeting("greedy", "greedy", 1, terms=terms))
    with pytest.raises(MeetingError, match="level must be left out; kuhn_poker"):
        play_match(Meeting("kuhn_poker", "uniform", "uniform", 1, terms={"level": 3}))
