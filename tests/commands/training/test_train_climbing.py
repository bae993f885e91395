"""`gs2 train doudizhu` and `gs2 train big2`: files, resuming, recipes and refusals."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from blueprint.checkpoint import CheckpointError, read_checkpoint
from games.climbing.big2.big2 import Big2
from games.climbing.doudizhu.doudizhu import DouDizhu
from games.support.configuration import ConfigError
from gs2.cli import main
from gs2.commands.training.train import train
from gs2.wings import own_part

TINY = [
    *("--set", "rounds=8", "--set", "state=16", "--set", "action=8", "--set", "critic=8"),
    "--decisions",
    "1",
]


def invoke(*words: str) -> Result:
    group = click.Group(commands={"train": train})
    return CliRunner().invoke(group, list(words), catch_exceptions=True)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("climbing") / "run"
    result = invoke(
        "train", "doudizhu", "-o", str(folder), *TINY, "--set", "target=win", "--set", "guide=1000"
    )
    assert result.exit_code == 0, result.output
    assert "try: gs2 match --game 'doudizhu'" in result.output
    return folder


def test_a_folder_gets_a_checkpoint_and_a_curve_that_match_and_resume(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    first = read_checkpoint(folder / "last.safetensors", prefix="-")[1]
    assert first["config"]["rounds"] == 8 and first["config"]["target"] == "win"
    result = invoke("train", "doudizhu", "-o", str(folder), "--resume", "--decisions", "900", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["decisions"] >= 900 and found["complete"] and found["game"] == "doudizhu"
    rows = [json.loads(line) for line in (folder / "curve.jsonl").read_text().splitlines()]
    assert [row["generation"] for row in rows] == list(range(1, found["generation"] + 1))
    again = invoke("train", "doudizhu", "-o", str(folder), "--resume", "--decisions", "900")
    assert again.exit_code == 0 and "the training is complete" in again.output
    words = ["match", "--game", "doudizhu", str(folder / "last.safetensors"), "uniform", "--pairs", "3"]
    played = CliRunner().invoke(main, words)
    assert played.exit_code == 0, played.output


def test_minutes_of_a_resumed_run_are_those_of_each_call(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    for option in ("--minutes", "--processor-minutes"):
        before = read_checkpoint(folder / "last.safetensors", prefix="-")[1]["generation"]
        done = invoke("train", "doudizhu", "-o", str(folder), "--resume", option, "0.000001", "--json")
        assert done.exit_code == 0 and json.loads(done.stdout)["generation"] == before + 1


@pytest.mark.parametrize("game", ["big2(players=3,ranks=8,suits=3)", "doudizhu(landlord=bid,ranks=4)"])
def test_a_file_is_a_checkpoint_with_its_curve_beside_it(game: str, tmp_path: Path) -> None:
    output = tmp_path / "x.safetensors"
    result = invoke("train", game, "-o", str(output), *TINY, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["output"] == str(output)
    assert sorted(path.name for path in tmp_path.glob("[!.]*")) == [
        "x.curve.jsonl",
        "x.json",
        "x.safetensors",
    ]


@pytest.mark.parametrize(
    ("words", "kind", "message"),
    [
        (("doudizhu", "-o", "RUN"), CheckpointError, "pass --resume to continue it"),
        (("big2", "-o", "RUN", "--resume"), CheckpointError, "was trained on 'doudizhu'"),
        (("doudizhu", "-o", "RUN", "--resume", "--set", "rounds=3"), CheckpointError, "keeps its settings"),
        (("doudizhu", "-o", "NEW", "--set", "width=3"), SystemExit, "no field 'width'"),
        (("doudizhu", "-o", "NEW", "--set", "state=0"), ConfigError, "state must be"),
        (
            ("doudizhu", "-o", "NEW", "--set", "recipe=odmc"),
            SystemExit,
            "got --set recipe=odmc; use --recipe",
        ),
        (("doudizhu", "-o", "missing/x.safetensors"), Exception, "folder must exist"),
        (("doudizhu", "-o", "NEW", "--minutes", "-1"), SystemExit, "--minutes"),
    ],
)
def test_what_cannot_be_trained_is_refused(
    run: Path, tmp_path: Path, words: tuple[str, ...], kind: type[BaseException], message: str
) -> None:
    places = {"RUN": str(run), "NEW": str(tmp_path / "new")}
    result = invoke("train", *(places.get(word, word) for word in words))
    assert result.exit_code != 0 and isinstance(result.exception, kind)
    assert message in result.output + str(result.exception)


@pytest.mark.parametrize(("game", "recipe"), [("doudizhu", "danzero+"), ("big2", "pdhqn")])
@pytest.mark.long
def test_a_game_trains_by_a_recipe_and_goes_on(game: str, recipe: str, tmp_path: Path) -> None:
    words = ("train", game, "-o", str(tmp_path), "--minutes", "0.001", "--json")
    small = ("--set", "rounds=4", "--set", "batch=32", "--network", "state=8", "--network", "action=8")
    result = invoke(*words, "--recipe", recipe, *small)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["recipe"] == recipe and found["decisions"] > 0
    result = invoke(*words, "--recipe", recipe, *small)
    assert isinstance(result.exception, CheckpointError) and "pass --resume" in str(result.exception)
    for more in ((), ("--recipe", recipe, *small)):
        result = invoke(*words, "--resume", *more)
        assert result.exit_code == 0, result.output
        again = json.loads(result.stdout)
        assert again["decisions"] > found["decisions"] and again["recipe"] == recipe
    other = invoke(*words, "--resume", "--recipe", "ours")
    assert other.exit_code == 2 and f"begun with the recipe {recipe}; got ours" in other.output


def test_the_same_minutes_again_go_on_in_every_game(tmp_path: Path) -> None:
    small = {
        "big2": ("--set", "rounds=4", "--set", "state=8", "--set", "action=8", "--set", "critic=0"),
        "kuhn_poker": ("--set", "width=8", "--set", "episodes=32"),
    }
    for game, settings in small.items():
        words = ("train", game, "-o", str(tmp_path / f"{game}.safetensors"), "--minutes", "0", "--json")
        seen = []
        for more in (settings, ("--resume",), ("--resume",)):
            result = invoke(*words, *more)
            assert result.exit_code == 0, result.output
            seen.append(json.loads(result.stdout)["decisions"])
        assert seen[0] < seen[1] < seen[2]


def test_each_game_has_its_rule_agent() -> None:
    for game, name in ((DouDizhu(), "shedding"), (Big2(), "big2-shedding")):
        assert own_part(game.name, "teacher").name == name
