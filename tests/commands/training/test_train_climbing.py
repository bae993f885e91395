"""`gs2 train doudizhu` and `gs2 train big2`: files, resuming, recipes and refusals."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from blueprint.checkpoint import read_checkpoint
from games.climbing.big2.big2 import Big2
from games.climbing.doudizhu.doudizhu import DouDizhu
from gs2.wings import own_part
from tests.commands.runner import as_json, gs2, ran, refused

TINY = [
    *("--set", "rounds=8", "--set", "state=16", "--set", "action=8", "--set", "critic=8"),
    "--decisions",
    "1",
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("climbing") / "run"
    result = ran("train", "doudizhu", "-o", str(folder), *TINY, "--set", "target=win", "--set", "guide=1000")
    assert "try: gs2 match --game 'doudizhu'" in result.output
    return folder


def test_a_folder_gets_a_checkpoint_and_a_curve_that_match_and_resume(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    first = read_checkpoint(folder / "last.safetensors", prefix="-")[1]
    assert first["config"]["rounds"] == 8 and first["config"]["target"] == "win"
    found = as_json("train", "doudizhu", "-o", str(folder), "--resume", "--decisions", "900")
    assert found["decisions"] >= 900 and found["complete"] and found["game"] == "doudizhu"
    rows = [json.loads(line) for line in (folder / "curve.jsonl").read_text().splitlines()]
    assert [row["generation"] for row in rows] == list(range(1, found["generation"] + 1))
    again = gs2("train", "doudizhu", "-o", str(folder), "--resume", "--decisions", "900")
    assert again.exit_code == 0 and "the training is complete" in again.output
    words = ["match", "--game", "doudizhu", str(folder / "last.safetensors"), "uniform", "--pairs", "3"]
    ran(*words)


@pytest.mark.parametrize("game", ["big2(players=3,ranks=8,suits=3)", "doudizhu(landlord=bid,ranks=4)"])
def test_a_file_is_a_checkpoint_with_its_curve_beside_it(game: str, tmp_path: Path) -> None:
    output = tmp_path / "x.safetensors"
    assert as_json("train", game, "-o", str(output), *TINY)["output"] == str(output)
    assert sorted(path.name for path in tmp_path.glob("[!.]*")) == [
        "x.curve.jsonl",
        "x.json",
        "x.safetensors",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("doudizhu",), "pass --resume to continue it"),
        (("big2", "--resume"), "was trained on 'doudizhu'"),
        (("doudizhu", "--resume", "--set", "rounds=3"), "keeps its settings"),
    ],
)
def test_another_training_does_not_go_on_in_a_run(run: Path, words: tuple[str, ...], message: str) -> None:
    assert message in refused("train", *words, "-o", run)


@pytest.mark.parametrize(("game", "recipe"), [("doudizhu", "danzero+"), ("big2", "pdhqn")])
@pytest.mark.long
def test_a_game_trains_by_a_recipe_and_goes_on(game: str, recipe: str, tmp_path: Path) -> None:
    words = ("train", game, "-o", str(tmp_path), "--minutes", "0.001", "--json")
    small = ("--set", "rounds=4", "--set", "batch=32", "--network", "state=8", "--network", "action=8")
    result = ran(*words, "--recipe", recipe, *small)
    found = json.loads(result.stdout)
    assert found["recipe"] == recipe and found["decisions"] > 0
    assert "pass --resume" in refused(*words, "--recipe", recipe, *small)
    for more in ((), ("--recipe", recipe, *small)):
        result = ran(*words, "--resume", *more)
        again = json.loads(result.stdout)
        assert again["decisions"] > found["decisions"] and again["recipe"] == recipe
    assert f"begun with the recipe {recipe}; got ours" in refused(*words, "--resume", "--recipe", "ours")


def test_each_game_has_its_rule_agent() -> None:
    for game, name in ((DouDizhu(), "shedding"), (Big2(), "big2-shedding")):
        assert own_part(game.name, "teacher").name == name
