"""`gs2 train GAME` and `gs2 match --game GAME`, as a person types them; GuanDan's own forms stay."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gs2.cli import main

TINY = ("--set", "width=16", "--set", "episodes=32", "--set", "batch=32")


def gs2(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def refusal(result: Result) -> str:
    """Return the error of a refused command: exit code 2 and no traceback."""
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.stderr
    return result.stderr


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
    exact = json.loads(gs2("exploitability", "kuhn_poker", str(trained), "--json").stdout)
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
    assert done.exit_code == 0 and "was done already" in done.stdout
    assert "there is a file already; --resume goes on" in refusal(gs2(*words))
    assert "keeps its settings" in refusal(gs2(*words, "--resume", "--set", "width=8"))
    other = refusal(gs2("train", "leduc_poker", "-o", str(trained), "--resume"))
    assert "must be a network for leduc_poker" in other


def test_a_match_prints_what_it_came_to_and_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "match.jsonl"
    words = ("match", "--game", "kuhn_poker", "cfr:50", "uniform", "-o", str(file))
    result = gs2(*words, "--pairs", "300")
    for said in ("payoff a game", "decisions", "a second", "of memory at most", "cfr:50 is the stronger one"):
        assert said in result.stdout, result.output
    assert len(file.read_text().splitlines()) == 301
    more = json.loads(gs2(*words, "--pairs", "310", "--json").stdout)
    assert more["pairs"] == 310 and sum(more["decisions"]) < 200
    assert "it holds results with seed" in refusal(gs2(*words, "--seed", "1"))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("match --game kuhn_pokr uniform uniform", "did you mean kuhn_poker"),
        ("match kuhn_poker uniform unifrm", "did you mean uniform"),
        ("match kuhn_poker uniform uniform+gs3", "did you mean gs2"),
        ("match liars_dice(dice=5) cfr:10 uniform", "must fit into"),
        ("match liars_dice(dice=5) uniform+gs2+ uniform", "train a network (gs2 train GAME)"),
        ("train kuhn_poker", "Missing option '-o'"),
        ("train kuhn_poker -o x.npz", "must name a .safetensors file"),
        ("train kuhn_poker -o x.safetensors --set widht=3", "did you mean width"),
        ("train kuhn_poker -o x.safetensors --set width=0", "width must be an integer"),
        ("train guandan -o x.safetensors", "Usage"),
    ],
)
def test_what_cannot_be_is_refused_with_the_next_step(
    words: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert says in refusal(gs2(*words.split()))


def test_guandans_forms_stay() -> None:
    assert "GuanDan agents A and B" in " ".join(gs2("match", "--help").stdout.split())
    assert "GuanDan network" in gs2("train", "--help").stdout
    assert "of any game" in " ".join(gs2("match", "leduc_poker", "--help").stdout.split())
    assert "never listed" in " ".join(gs2("train", "leduc_poker", "--help").stdout.split())
    assert "agent" in refusal(gs2("match", "guandan", "nobody", "random"))


def test_sizes_are_told_with_time_and_memory() -> None:
    words = gs2("games", "liars_dice(dice=5)", "--size").stdout
    for said in (
        "time to grow it",
        "1,000 iterations",
        "does not fit",
        "gs2 train 'liars_dice(dice=5)' -o FILE",
    ):
        assert said in words
    told = json.loads(gs2("games", "leduc_poker", "--size", "--json").stdout)
    assert told["growth_seconds"] > 0 and told["cfr_iteration_seconds"] > 0


def test_infosets_of_a_game_too_large_to_list_are_shown_from_plays() -> None:
    result = gs2("infosets", "liars_dice(dice=5)", "--limit", "3", "--player", "1")
    assert "random plays" in result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) == 3 and all(line.startswith("P1 holds") for line in lines)
    words = refusal(gs2("solve", "liars_dice(dice=5)", "--infoset", "P0 holds 9"))
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
