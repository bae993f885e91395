"""Recorded rounds: the same states and payoffs again, and no damaged line passes."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from games import load_game
from games.game import CHANCE, Game
from games.infosets.naming import random_line
from games.record import (
    RECORDS_FORMAT,
    RoundNotes,
    RoundRecord,
    RoundRecordError,
    RoundsFile,
    read_rounds,
    replay_round,
    replayed_rounds,
    winners,
)
from games.support.array_types import Array
from gs2.play.game_pairs import play_numbered
from gs2.search.refine.policy_only import PolicyOnly, UniformPlay
from tests.games.random_games import RandomGame
from tests.patience import amount

GAMES = (
    "kuhn_poker",
    "leduc_poker(ranks=5,suits=2)",
    "liars_dice(dice=2,sides=3)",
    "goofspiel(cards=4,returns=total_points)",
    "doudizhu(landlord=bid,spring=true)",
    "doudizhu(ranks=4,returns=win_loss)",
    "big2(players=3,suit_order=scdh,straights=ladder,bombs=both,settling=pairs,double_from=8)",
    "big2(players=2,opening=holder,must_play=true,stays_out=true)",
    "guandan(moves=canonical)",
    "openspiel:kuhn_poker",
    "openspiel:phantom_ttt",
)


def loaded(name: str) -> Game:
    if name.startswith("openspiel:") and find_spec("pyspiel") is None:
        pytest.skip("needs gs2[openspiel]")
    return load_game(name, general_sum=True)


def played(game: Game, rng: np.random.Generator, name: str = "") -> tuple[RoundRecord, list[Array]]:
    """Return the record of a random round, and its states from the root to the end."""
    line, notes = list(random_line(game, rng)), RoundNotes()
    states = [found[0] for found in line]
    for state, who, _, taken in line[:-1]:
        notes.take(game, state[0], who, taken)
    agents = tuple(f"agent {seat}" for seat in range(game.num_players))
    words = (tuple(notes.chance), tuple(notes.play), tuple(game.returns(states[-1])[0].tolist()), notes.start)
    return RoundRecord(name or game.name, agents, *words, seed=4, pair=1, team=0), states


def again(record: RoundRecord) -> RoundRecord:
    """Return a record after it went through a line of text."""
    return RoundRecord.from_json(json.loads(json.dumps(record.to_json())))


@pytest.mark.parametrize("name", GAMES)
def test_a_round_that_was_written_is_the_same_round_again(name: str) -> None:
    game, rng = loaded(name), np.random.default_rng(7)
    for _ in range(amount(5, 1)):
        record, states = played(game, rng)
        assert again(record) == record
        row = record.to_json()  # case and spaces do not matter
        row["play"] = [f"{move[:2]}  {move[3:].lower()} " for move in row["play"]]
        moves = list(replay_round(RoundRecord.from_json(row), game))
        assert len(moves) == len(states)
        for move, state in zip(moves, states, strict=True):
            assert np.array_equal(move.states, state) and move.player == game.player(state)[0]
        chance = [move.words for move in moves if move.player == CHANCE]
        assert tuple(chance) == record.chance


def test_rounds_of_generated_games_are_the_same_again() -> None:
    for seed in range(6):
        game, rng = RandomGame(seed, public=seed % 2 == 0), np.random.default_rng(seed)
        for _ in range(4):
            record, states = played(game, rng)
            ends = [move.states for move in replay_round(again(record), game)]
            assert all(np.array_equal(a, b) for a, b in zip(ends, states, strict=True))


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.some(5)
def test_a_round_with_anything_changed_is_refused(name: str) -> None:
    game, rng = loaded(name), np.random.default_rng(11)
    record, _ = played(game, rng)
    whole = record.to_json()
    for change, says in damage(whole, game):
        with pytest.raises(RoundRecordError, match=says):
            list(replay_round(RoundRecord.from_json(change), game))


def damage(row: dict[str, Any], game: Game) -> list[tuple[dict[str, Any], str]]:
    """Return rows with one thing changed each, and a part of what the refusal says."""
    seat = int(row["play"][0][1])
    other = (seat + 1) % game.num_players
    first = row["play"][0].partition(" ")[2]
    found = [
        ({"play": row["play"][:-1]}, "played to its end"),
        ({"play": [*row["play"], "P0 pass"]}, "the round is over"),
        ({"play": [f"P{other} {first}", *row["play"][1:]]}, f"P{seat} is to act"),
        ({"play": [f"P{seat} nonsense", *row["play"][1:]]}, "must be legal"),
        ({"play": [first, *row["play"][1:]]}, "a move must be as"),
        ({"payoffs": [row["payoffs"][0] + 1, *row["payoffs"][1:]]}, "payoffs must be those"),
        ({"payoffs": row["payoffs"][:-1]}, "payoffs must be those"),
        ({"agents": row["agents"][:-1]}, "must name the"),
        ({"start": row["start"] + " and more"}, "start must be what chance"),
        ({"chance": [*row["chance"], "deal"]}, "the round is over"),
    ]
    if row["chance"]:
        found.append(({"chance": ["nonsense", *row["chance"][1:]]}, "must be legal"))
        found.append(({"chance": row["chance"][:-1]}, "chance never moved"))
    return [({**row, **change}, says) for change, says in found]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"game": ""}, "game must be a game string"),
        ({"agents": "uniform"}, "agents must be a list of texts"),
        ({"chance": [1]}, "chance must be a list of texts"),
        ({"play": None}, "play must be a list of texts"),
        ({"payoffs": [1.0, float("nan")]}, "payoffs must be a list of finite"),
        ({"payoffs": [10**400, 1]}, "payoffs must be a list of finite"),
        ({"game": "\ud800" * 999, "play": 3}, "play must be a list"),
        ({"\ud800" * 999: 3}, "a record has no"),
        ({"payoffs": [True, 1]}, "payoffs must be a list of finite"),
        ({"start": 1}, "start must be a text"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"pair": 1.5}, "pair must be a whole number"),
        ({"paiR": 1}, "did you mean pair"),
    ],
)
def test_what_is_no_record_is_told_why(change: dict[str, Any], says: str) -> None:
    row = played(load_game("kuhn_poker"), np.random.default_rng(0))[0].to_json()
    with pytest.raises(RoundRecordError, match=says):
        RoundRecord.from_json({**row, **change})
    for name in ("game", "agents", "chance", "play", "payoffs"):
        with pytest.raises(RoundRecordError, match=f"{name} is missing"):
            RoundRecord.from_json({k: v for k, v in row.items() if k != name})


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def test_a_file_of_several_games_is_replayed_and_bad_lines_are_named(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows = [
        played(loaded(name), rng)[0].to_json() for name in ("kuhn_poker", "doudizhu", "big2", "kuhn_poker")
    ]
    header = {"format": RECORDS_FORMAT, "game": "kuhn_poker"}
    file = write(tmp_path / "r.jsonl", header, rows[0], rows[1], header, rows[2], rows[3])
    found = list(replayed_rounds(file))
    assert [round_.line for round_ in found] == [2, 3, 5, 6]
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())  # a byte-order mark, as editors of Windows write
    assert [round_.line for round_ in replayed_rounds(file)] == [2, 3, 5, 6]
    assert [round_.game.name for round_ in found] == ["kuhn_poker", "doudizhu", "big2", "kuhn_poker"]
    assert found[0].game is found[3].game
    assert len(list(replayed_rounds(write(file, rows[0], rows[3]), load_game("kuhn_poker")))) == 2
    for lines, says in (
        ((rows[0], "nonsense"), "line 2: a record must be one object of JSON"),
        ((rows[0], []), "line 2: a record must be a JSON object"),
        ((rows[0], {**rows[1], "payoffs": [9, 9, 9]}), "line 2: payoffs must be those"),
        (({**rows[0], "game": "kun_poker"},), "line 1: no game is called"),
        (({"format": "gs2-match-1"},), "line 1: the format must be gs2-rounds-1"),
        ((header,), "must have a round"),
    ):
        with pytest.raises(RoundRecordError, match=says):
            list(replayed_rounds(write(file, *lines)))
    with pytest.raises(RoundRecordError, match="line 1: game must be big2; this round is of kuhn_poker"):
        list(replayed_rounds(write(file, rows[0]), load_game("big2")))
    file.write_text(json.dumps(rows[0]) + "\n" + json.dumps(rows[1])[:-9])
    with pytest.raises(RoundRecordError, match="line 2: a line must be whole"):
        read_rounds(file)
    file.write_bytes(b"\xff\n")
    with pytest.raises(RoundRecordError, match="must be UTF-8"):
        read_rounds(file)
    with pytest.raises(RoundRecordError, match="none does; check the path"):
        read_rounds(tmp_path / "none.jsonl")


def test_a_record_has_no_code_run_that_its_reader_did_not_name(tmp_path: Path) -> None:
    code = tmp_path / "mine.py"
    code.write_text(
        "from pathlib import Path\nfrom games.research.kuhn_poker import KuhnPoker\n"
        f"Path({str(tmp_path / 'ran')!r}).touch()\n"
        "class Mine(KuhnPoker):\n"
        "    def __init__(self):\n        super().__init__()\n        self.name = 'mine'\n"
    )
    name = f"{code}:Mine"
    record, _ = played(load_game("kuhn_poker"), np.random.default_rng(0), name)
    file = write(tmp_path / "r.jsonl", record.to_json())
    with pytest.raises(RoundRecordError, match="would run its file"):
        list(replayed_rounds(file))
    assert not (tmp_path / "ran").exists()
    (found,) = replayed_rounds(file, load_game(name), name=name)
    assert found.record.game == name and (tmp_path / "ran").exists()
    write(file, {**record.to_json(), "game": "mine.py:Mine"})  # as a table in the browser tells it
    assert len(list(replayed_rounds(file, load_game(name), name=name))) == 1


def test_rounds_of_a_match_say_who_sat_where_and_are_appended_in_one_way(tmp_path: Path) -> None:
    game = load_game("doudizhu(ranks=4)")
    rounds = play_numbered(
        game, (PolicyOnly(UniformPlay()), PolicyOnly(UniformPlay())), np.arange(3), 1, recorded=("a", "b")
    ).rounds
    assert [record.agents for record in rounds] == [("a", "b", "b"), ("b", "a", "a")] * 3
    for record in rounds:
        *_, last = replay_round(record, game)
        assert record.payoffs == tuple(game.returns(last.states)[0].tolist())
    header = {"game": "doudizhu"}
    with RoundsFile(tmp_path / "r.jsonl", header) as file:
        file.add(rounds[:3])
        file.add(rounds)
        assert [(row["pair"], row["team"]) for row in file.rows] == [(p, t) for p in range(3) for t in (0, 1)]
    changed = RoundRecord.from_json({**rounds[0].to_json(), "payoffs": [7, -7, 0]})
    with (
        RoundsFile(tmp_path / "r.jsonl", header) as file,
        pytest.raises(RoundRecordError, match="played in one way"),
    ):
        file.add([changed])
    assert [record for _, record in read_rounds(tmp_path / "r.jsonl")] == list(rounds)


def test_those_paid_most_share_a_win() -> None:
    paid = np.array([[3.0, 0.0, -1.0, -2.0], [1.0, 1.0, -1.0, -1.0], [0.0, 0.0, 0.0, 0.0]])
    assert winners(paid, (0, 1, 2, 3)).tolist() == [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.25] * 4]
    assert winners(np.array([[-1.0, 1.0, 1.0]]), (0, 1, 1)).tolist() == [[0, 1]]
