"""`gs2 train GAME` and `gs2 match --game GAME`, as a person types them; GuanDan's own matches stay."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.commands.runner import as_json, gs2, ran, refused

TINY = ("--set", "width=16", "--set", "episodes=32", "--set", "batch=32")


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    path = tmp_path / "kuhn.safetensors"
    result = gs2("train", "kuhn_poker", "-o", str(path), "--decisions", "200", *TINY)
    assert result.exit_code == 0 and "gs2 match --game 'kuhn_poker'" in result.stdout, result.output
    return path


def test_a_trained_network_plays_and_is_measured(trained: Path) -> None:
    words = ("--pairs", "30", "--seed", "3", "--json")
    told = json.loads(gs2("match", "kuhn_poker", str(trained), "uniform", *words).stdout)
    assert told == told | {"game": "kuhn_poker", "pairs": 30, "complete": True, "b": "uniform"}
    again = json.loads(gs2("match", "--game", "kuhn_poker", str(trained), "uniform", *words).stdout)
    assert again["net"] == told["net"] and told["low"] <= told["net"] <= told["high"]
    assert told["memory"] > 0 and min(told["seconds_a_decision"]) >= 0
    exact = as_json("exploitability", "kuhn_poker", str(trained))
    assert 0 < exact["exploitability"] < 1
    solved = json.loads(
        gs2(*["solve", "kuhn_poker", "--iterations", "5", "--json", "--blueprint"], str(trained)).stdout
    )
    assert solved["blueprint_spec"] == str(trained)


def test_training_goes_on_where_it_stopped(trained: Path) -> None:
    words = ("train", "kuhn_poker", "-o", str(trained), "--json")
    first = json.loads(gs2(*words, "--decisions", "400", "--resume").stdout)
    assert first["decisions"] >= 400 and first["complete"]
    done = gs2("train", "kuhn_poker", "-o", str(trained), "--decisions", "400", "--resume")
    assert done.exit_code == 0 and "the training is complete" in done.stdout
    assert "keeps its settings; got width=8" in refused(*words, "--resume", *TINY, "--set", "width=8")
    ran(*words, "--resume", *TINY, "--seed", "0", "--decisions", "400")
    other = refused("train", "leduc_poker", "-o", str(trained), "--resume")
    assert "must be a network for leduc_poker" in other


def test_a_match_keeps_its_rounds_and_they_are_replayed(tmp_path: Path) -> None:
    file = tmp_path / "rounds.jsonl"
    words = ("match", "leduc_poker", "cfr:10", "uniform", "--pairs", "3", "--records", str(file))
    result = gs2(*words)
    assert result.exit_code == 0 and "gs2 games --replay" in result.stdout
    assert len(file.read_text().splitlines()) == 7
    told = gs2("games", "--replay", str(file)).stdout
    assert told.count("paid P0 ") == 6 and "6 rounds checked" in told and "P0 holds" in told
    one = gs2("games", "leduc_poker", "--replay", str(file), "--round", "2").stdout
    assert one.startswith("round 2: leduc_poker, seed 0, pair 0: P0 uniform, P1 cfr:10")
    rounds = as_json("games", "--replay", str(file))
    assert rounds["checked"] == 6 and [row["round"] for row in rounds["rounds"]] == [1, 2, 3, 4, 5, 6]
    first = json.loads(file.read_text().splitlines()[1])
    assert rounds["rounds"][0] == rounds["rounds"][0] | first
    again = as_json(*words)
    assert sum(again["decisions"]) == 0 and again["pairs"] == 3
    assert "it holds results with" in refused(*words[:3], "cfr:2", *words[4:])
    assert "--round must be at most 6" in refused("games", "--replay", str(file), "--round", "7")
    assert "game must be big2" in refused("games", "big2", "--replay", str(file))
    assert "--records and --output must name two files" in refused(*words, "-o", f"{tmp_path}/./rounds.jsonl")
    file.write_text(file.read_text().replace('["P0 ', '["P1 ', 1))
    assert f"{file}, line 2: play 1: P0 is to act" in refused("games", "--replay", str(file))


def test_what_a_record_says_cannot_move_the_cursor(tmp_path: Path) -> None:
    file = tmp_path / "rounds.jsonl"
    assert (
        gs2("match", "kuhn_poker", "cfr:10", "uniform", "--pairs", "1", "--records", str(file)).exit_code == 0
    )
    file.write_text(file.read_text().replace('["cfr:10",', '["\\u001b[2J\\ud800",'))
    told = gs2("games", "--replay", str(file))
    assert told.exit_code == 0 and "\x1b" not in told.stdout and "[2J" in told.stdout


def test_a_ladder_of_any_game_is_printed_drawn_and_gone_on_with(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    words = ("ladder", "--game", "kuhn_poker", "cfr:50", "uniform", "cfr:2", "-o", str(tmp_path / "run"))
    result = gs2(*words, "--pairs", "50", "--plot", str(tmp_path / "x.svg"))
    for said in ("points", "Elo", "games won", "50 pairs of games a match", "Drawn in"):
        assert said in result.stdout, result.output
    assert (tmp_path / "x.svg").stat().st_size > 10_000
    assert len(list((tmp_path / "run").glob("*.jsonl"))) == 3
    ran(*words, "--pairs", "50", "--by", "elo", "--plot", tmp_path / "elo.svg")
    assert (tmp_path / "elo.svg").stat().st_size > 10_000
    told = as_json("ladder", "kuhn_poker", *words[3:], "--pairs", "50")
    assert told["agents"] == ["cfr:50", "uniform", "cfr:2"] and told["points"][0]["mean"] > 0
    assert "it holds results with" in refused(*words, "--seed", "1")
    several = gs2("ladder", "big2(players=3,ranks=3,suits=2)", "uniform", "cfr:3", "--pairs", "5").stdout
    assert "one of 3 seats" in several and "33.3 % of games won is even" in several


def test_sizes_are_told_with_time_and_memory() -> None:
    words = gs2("games", "liars_dice(dice=5)", "--size").stdout
    for said in (
        "time to grow it",
        "1,000 iterations",
        "does not fit",
        "gs2 train 'liars_dice(dice=5)' -o FILE",
    ):
        assert said in words
    told = as_json("games", "leduc_poker", "--size")
    assert told["growth_seconds"] > 0 and told["cfr_iteration_seconds"] > 0


def test_infosets_of_a_game_too_large_to_list_are_shown_from_plays() -> None:
    result = gs2("infosets", "liars_dice(dice=5)", "--limit", "3", "--player", "1")
    assert "random plays" in result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) == 3 and all(line.startswith("P1 holds") for line in lines)
    words = refused("solve", "liars_dice(dice=5)", "--infoset", "P0 holds 9")
    assert 'did you mean "P0 holds' in words


@pytest.mark.parametrize("after", [(), ("--json",), ("--no-such-option",), ("another_game", "too", "many")])
def test_the_memory_of_one_command_is_not_the_next_ones(
    after: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for before in (None, "3G"):
        monkeypatch.delenv("GS2_MEMORY", raising=False)
        if before is not None:
            monkeypatch.setenv("GS2_MEMORY", before)
        gs2("games", "kuhn_poker", "--memory", "unlimited", *after)
        assert os.environ.get("GS2_MEMORY") == before
    assert "3 GB" in gs2("games", "liars_dice", "--size").stdout
    assert "unlimited" in gs2("games", "liars_dice", "--size", "--memory", "unlimited").stdout
