"""`gs2 match` and `gs2 ladder`, as a person types them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from blueprint.guandan.arena import ladder
from gs2.cli import main
from gs2.commands.matches.endings import verdict
from tests.patience import PATIENCE

ONE = ("--processes", "1")


def gs2(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def refusal(result: Result) -> str:
    """Return the error of a refused command: exit code 2, nothing on stdout, no traceback."""
    assert result.exit_code == 2, result.output
    assert result.stdout == "" and "Traceback" not in result.stderr
    return result.stderr


def test_a_match_says_who_is_stronger_and_by_how_much() -> None:
    result = gs2("match", "greedy", "random", "--rounds", "100", *ONE)
    assert result.exit_code == 0, result.output
    for words in ("greedy against random", "levels a round", "rounds won", "greedy is the stronger one"):
        assert words in result.stdout
    assert "100 deals, each played twice" in result.stdout


@pytest.mark.parametrize("words", [("--rounds", "1"), ("--rounds", "60"), ("--games", "1")])
def test_on_a_few_deals_it_stays_open_who_is_stronger(words: tuple[str, ...]) -> None:
    result = gs2("match", "greedy", "random", *words, *ONE)
    assert result.exit_code == 0, result.output
    assert f"No winner yet: a verdict takes 100, and there are {words[1]}. Raise {words[0]}." in result.stdout


@pytest.mark.parametrize(("even", "word"), [(0.0, "0"), (0.5, "50 %")])
def test_a_verdict_names_the_stronger_one_or_says_why_it_is_open(even: float, word: str) -> None:
    rng = np.random.default_rng(0)
    for low, high in np.sort(rng.normal(even, 0.1, (200, 2))).tolist():
        count = int(rng.integers(1, 300))
        said = verdict(("a", "b"), count, (low, high), even=even, option="--pairs")
        if count < 100:
            assert said == f"No winner yet: a verdict takes 100, and there are {count}. Raise --pairs."
        elif low <= even <= high:
            assert said == f"No winner yet: the interval contains {word}. Raise --pairs to narrow it."
        else:
            assert said == f"{'a' if low > even else 'b'} is the stronger one."


def test_json_holds_what_the_table_shows() -> None:
    result = json.loads(
        gs2("match", "random", "greedy", "--rounds", "12", "--games", "1", "--json", *ONE).stdout
    )
    assert (result["deals"], result["whole_games"], result["complete"]) == (12, 1, True)
    assert result["net"]["low"] <= result["net"]["mean"] <= result["net"]["high"] < 0
    assert sum(result["outcomes"].values()) == pytest.approx(1)
    assert result["rounds_played"] > 24


def test_the_swapped_match_is_the_same_match() -> None:
    one, two = (
        json.loads(gs2("match", a, b, "--rounds", "10", "--level", "A", "--json", *ONE).stdout)
        for a, b in (("greedy", "balanced"), ("balanced", "greedy"))
    )
    assert one["net"]["mean"] == -two["net"]["mean"]
    assert one["won"]["mean"] == pytest.approx(1 - two["won"]["mean"])


def test_a_match_resumes_from_its_output(tmp_path: Path) -> None:
    path = str(tmp_path / "m.jsonl")
    words = ("match", "greedy", "random", "--json", *ONE, "-o", path)
    gs2(*words, "--rounds", "5")
    again = json.loads(gs2(*words, "--rounds", "8").stdout)
    assert again["deals"] == 8 and again["rounds_played"] == 6
    assert "with seed" in refusal(gs2(*words, "--rounds", "5", "--seed", "1"))


def test_ones_own_agent_is_named_by_its_file(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text("class Weakest:\n    def act(self, observation):\n        return 0\n")
    found = json.loads(gs2("match", f"{path}:Weakest", "random", "--rounds", "4", "--json", *ONE).stdout)
    assert found["complete"] and found["deals"] == 4 and found["a"] == f"{path}:Weakest"
    refused = gs2("match", f"{path}:Strongest", "random", *ONE)
    assert refused.exit_code == 2 and "must define Strongest" in refused.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("match", "gredy", "random"), "did you mean greedy"),
        (("match", "greedy", "blue print"), "did you mean blueprint"),
        (("match", "greedy", "none.safetensors"), "does not exist"),
        (("match", "gs2-quick", "greedy"), "the preset must be one of"),
        (("match", "gs2@none.safetensors", "greedy"), "does not exist"),
        (("match", "greedy"), "Missing argument"),
        (("match", "greedy", "random", "--rounds", "0"), "rounds or games"),
        (("match", "greedy", "random", "--level", "11"), "level"),
        (("match", "tic_tac_toe", "uniform", "uniform", "--pairs", "5"), "--pairs is for other games than"),
        (("ladder", "uniform", "cfr:5", "--pairs", "5"), "name the game: --game GAME"),
        (("match", "greedy", "random", "--round", "5"), "No such option"),
        (("ladder", "greedy"), "two or more"),
        (("ladder", "greedy", "greedy"), "different"),
        (("ladder", "greedy", "random", "--plot", "picture.gif"), ".svg"),
        (("ladder", "greedy", "random", "--plot", "no/folder/x.svg"), "must exist"),
    ],
)
def test_bad_input_is_refused_with_a_hint(words: tuple[str, ...], says: str) -> None:
    assert says in refusal(gs2(*words))


@pytest.mark.parametrize("named", [("--game", "guandan"), ("--game=GuanDan",)])
@pytest.mark.some(1)
def test_guandan_is_a_game_that_can_be_named(named: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ladder, "rate", partial(ladder.rate, resamples=10))
    for words in (("match", "random", "greedy"), ("ladder", "random", "greedy")):
        more = ("--rounds", "2", "--json", *ONE)
        found = gs2(words[0], *named, *words[1:], *more)
        assert found.exit_code == 0, found.output
        assert json.loads(found.stdout)["net"] == json.loads(gs2(*words, *more).stdout)["net"]
    assert "is for other games" in refusal(gs2("match", *named, "random", "greedy", "--pairs", "2"))


@pytest.mark.long
def test_a_ladder_rates_and_draws(tmp_path: Path) -> None:
    words = ("ladder", "random", "greedy", "balanced", "--rounds", "20", *ONE, "-o", str(tmp_path / "out"))
    result = gs2(*words, "--plot", str(tmp_path / "ladder.svg"))
    assert result.exit_code == 0, result.output
    assert result.stdout.index("greedy") < result.stdout.index("random")
    assert (tmp_path / "ladder.svg").read_text().startswith("<?xml")
    assert len(list((tmp_path / "out").iterdir())) == 3
    rows = json.loads(gs2(*words, "--json").stdout)
    assert rows["agents"] == ["random", "greedy", "balanced"] and rows["deals"] == 20


def test_an_interrupted_match_keeps_its_deals_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    words = [sys.executable, "-m", "gs2.cli", "match", "greedy", "random", "--rounds", "100000"]
    process = subprocess.Popen(
        [*words, "-o", str(path), "--processes", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    while process.poll() is None and (not path.exists() or len(path.read_bytes().splitlines()) < 2):
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, err
    assert b"interrupted" in err and b"levels a round" in out
    done = len(path.read_bytes().splitlines()) - 1
    result = json.loads(
        gs2("match", "greedy", "random", "--rounds", str(done), "--json", "-o", str(path), *ONE).stdout
    )
    assert result["deals"] == done and result["rounds_played"] <= 2 * done
    assert os.path.getsize(path) > 0
