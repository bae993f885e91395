"""`gs2 train doudizhu` and `gs2 train big2`: which command takes them, what it leaves, what it refuses."""

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
from gs2.commands.training.train_climbing import rule_agent

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
    told = json.loads(result.stdout)
    assert told["decisions"] >= 900 and told["complete"] and told["game"] == "doudizhu"
    rows = [json.loads(line) for line in (folder / "curve.jsonl").read_text().splitlines()]
    assert [row["generation"] for row in rows] == list(range(1, told["generation"] + 1))
    again = invoke("train", "doudizhu", "-o", str(folder), "--resume", "--decisions", "900")
    assert again.exit_code == 0 and "the training is complete" in again.output
    words = ["match", "--game", "doudizhu", str(folder / "last.safetensors"), "uniform", "--pairs", "3"]
    played = CliRunner().invoke(main, words)
    assert played.exit_code == 0, played.output


@pytest.mark.parametrize("option", ["--minutes", "--processor-minutes"])
def test_minutes_of_a_resumed_run_are_those_of_each_call(run: Path, tmp_path: Path, option: str) -> None:
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    for _ in range(2):
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
        (("doudizhu", "-o", "RUN", "--resume", "--set", "rounds=3"), SystemExit, "keeps its settings"),
        (
            ("doudizhu", "-o", "RUN", "--resume", "--seed", "77"),
            SystemExit,
            "keeps its seed, 0; got --seed 77",
        ),
        (("doudizhu", "-o", "NEW", "--set", "width=3"), SystemExit, "no field 'width'"),
        (("doudizhu", "-o", "NEW", "--set", "state=0"), ConfigError, "state must be"),
        (("doudizhu", "-o", "NEW", "--set", "recipe=odmc"), SystemExit, "does not make a recipe"),
        (("doudizhu", "-o", "missing/x.safetensors"), Exception, "folder must exist"),
        (("doudizhu", "-o", "NEW", "--minutes", "0"), SystemExit, "--minutes"),
        (
            ("doudizhu", "-o", "NEW", "--seed", "3", "--set", "seed=5"),
            SystemExit,
            "--seed 3 and --set seed=5",
        ),
        (
            ("kuhn_poker", "-o", "NEW.safetensors", "--seed", "3", "--set", "seed=5"),
            SystemExit,
            "--seed 3 and --set seed=5",
        ),
    ],
)
def test_what_cannot_be_trained_is_refused(
    run: Path, tmp_path: Path, words: tuple[str, ...], kind: type[BaseException], message: str
) -> None:
    places = {"RUN": str(run), "NEW": str(tmp_path / "new")}
    places["NEW.safetensors"] = str(tmp_path / "new.safetensors")
    result = invoke("train", *(places.get(word, word) for word in words))
    assert result.exit_code != 0 and isinstance(result.exception, kind)
    assert message in result.output + str(result.exception)


def test_a_game_with_a_column_for_each_action_is_trained_as_before(tmp_path: Path) -> None:
    found = train.make_context("train", ["kuhn_poker", "-o", str(tmp_path / "k.safetensors")])
    assert found.command.name == "train" and "width" in str(found.command.help)
    found = train.make_context("train", ["doudizhu", "-o", str(tmp_path / "d.safetensors")])
    assert "effect of a move" in str(found.command.help)
    with pytest.raises(ValueError, match="ranks must be"):
        train.make_context("train", ["doudizhu(ranks=99)", "-o", str(tmp_path / "d.safetensors")])


@pytest.mark.parametrize("words", [("--seed", "3"), ("--set", "seed=3"), ("--seed", "3", "--set", "seed=3")])
@pytest.mark.some(2)
def test_a_seed_is_given_by_either_option(words: tuple[str, ...], tmp_path: Path) -> None:
    for game, *small in (("big2", *TINY), ("kuhn_poker", "--set", "width=8", "--decisions", "1")):
        output = tmp_path / f"{game}.safetensors"
        assert invoke("train", game, "-o", str(output), *small, *words).exit_code == 0
        assert read_checkpoint(output, prefix="-")[1]["config"]["seed"] == 3


def test_each_game_has_its_rule_agent() -> None:
    assert rule_agent(DouDizhu()).name == "shedding"
    assert rule_agent(Big2()).name == "big2-shedding"
