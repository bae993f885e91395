"""`gs2 train` and `gs2 gate`: runs that end in time, survive kill -9, and refuse what is not theirs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blueprint.checkpoint import read_checkpoint, write_checkpoint
from blueprint.guandan import SHIPPED
from blueprint.guandan.train_config import NetworkConfig, TrainConfig
from blueprint.guandan.training.trainer import Trainer
from blueprint.learning.run import RunLimits, RunManner, RunPlace
from blueprint.learning.run import train as train_run
from blueprint.learning.self_play import Setup
from blueprint.networks import load_network
from blueprint.papers.recipes import RECIPES
from games import load_game
from games.climbing.big2.big2 import Big2
from games.climbing.doudizhu.doudizhu import DouDizhu
from gs2.play import arena
from gs2.wings import own_part
from tests.commands.runner import TINY, as_json, gs2, ran, refused

EVALUATED = (*TINY, "--evaluate-minutes", "10", "--rounds", "2", "--against", "greedy")
QUIET = ("--evaluate-minutes", "0")
SHORT = ("--minutes", "0", *TINY[:8])
SMALL = ("--network", "state=16", "--network", "blocks=3")
SIZES = ("--set", "state=16", "--set", "action=8", "--set", "critic=8")
FEW = ("--set", "rounds=8", *SIZES, "--decisions", "1")


def generations(run: Path) -> list[int]:
    lines = (run / "curve.jsonl").read_text().splitlines()
    return [json.loads(line)["generation"] for line in lines]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("trained") / "run"
    ran("train", "--minutes", "0.015", "-o", str(directory), *EVALUATED)
    return directory


def test_a_run_leaves_a_checkpoint_and_a_curve_and_reports_its_strength(run: Path) -> None:
    _, description = read_checkpoint(run / "last.safetensors", prefix="-")
    assert description["train"]["rounds"] == 4 and description["network"]["state"] == 16
    assert 0 <= description["evaluation"]["won"]["greedy"] <= 1
    seen = generations(run)
    assert seen == list(range(1, description["generation"] + 1))
    rows = [json.loads(line) for line in (run / "curve.jsonl").read_text().splitlines()]
    assert rows[0]["won"].keys() == {"greedy"} and all(np.isfinite(row["decisions"]) for row in rows)


def test_a_run_resumes_with_its_own_settings_and_new_ones(run: Path) -> None:
    before = generations(run)[-1]
    assert (
        as_json("train", "--minutes", "0", *QUIET, "-o", str(run), "--resume", "--set", "passes=2")[
            "generation"
        ]
        == before + 1
    )
    _, description = read_checkpoint(run / "last.safetensors", prefix="-")
    assert description["train"]["passes"] == 2 and description["train"]["rounds"] == 4


@pytest.mark.parametrize("game", ["guandan", pytest.param("leduc_poker", marks=pytest.mark.long)])
def test_a_killed_run_goes_on_from_its_last_checkpoint(game: str, tmp_path: Path) -> None:
    place, options, number = RunPlace.of(tmp_path / "killed"), TINY, "generation"
    if game == "leduc_poker":
        place, number = RunPlace.with_state(tmp_path / "killed.safetensors"), "generations"
        options = ("--set", "width=16", "--set", "episodes=64")

    def seen() -> dict[str, int]:
        kept = place.state.exists()
        return read_checkpoint(place.state, prefix="-")[1] if kept else {number: 0}

    words = ["-m", "gs2", "train", game, "--minutes", "10", "-o", str(place.output), *options]
    with subprocess.Popen(
        [sys.executable, *words, "--checkpoint-minutes", "0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    ) as process:
        while seen()[number] < 3:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    before = seen()
    load_network(place.checkpoint, load_game(game))  # whole, whenever the kill came
    if place.curve is not None:
        assert generations(place.output)[-1] - before[number] in (0, 1)
        with place.curve.open("a") as file:
            file.write('{"generation": 99')  # a line torn by the kill
    quiet = QUIET if place.curve is not None else ()
    ran("train", game, "--minutes", "0", *quiet, "-o", str(place.output), "--resume")
    assert seen()[number] == before[number] + 1 and seen()["decisions"] > before["decisions"]
    if place.curve is not None:
        assert generations(place.output) == list(range(1, before[number] + 2))


def test_a_new_run_is_saved_after_its_first_generation(tmp_path: Path) -> None:
    held: list[int] = []

    def look(row: dict[str, object]) -> None:
        if (tmp_path / "last.safetensors").exists():
            held.append(read_checkpoint(tmp_path / "last.safetensors", prefix="-")[1]["generation"])

    small = NetworkConfig(state=16, blocks=1, action=16, action_blocks=1, critic=16)
    config, setup = TrainConfig(rounds=4, batch=64), Setup(evaluate_minutes=0, threads=1)
    train_run(
        tmp_path,
        lambda path: Trainer.begun(path, small, config, setup),
        RunLimits(generations=2),
        RunManner(every=3600, progress=look),
    )
    assert held == [1, 1]


def test_no_other_network_is_resumed_into_a_run(run: Path) -> None:
    words = ("train", "--minutes", "0", "-o", str(run), "--resume", "--preset", "danzero")
    assert ", got NetworkConfig" in refused(*words)
    assert "critic must stay True in a resumed run; got False" in refused(
        *words[:-2], "--set", "critic=false"
    )


def test_a_worse_network_does_not_pass_the_gate(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    target = tmp_path / "shipped.safetensors"
    words = ("--pairs", "100", "--batch", "100", "--processes", "1", "--export", str(target), "--json")
    # not greedy: on a fast machine seconds of training come near it
    result = gs2("gate", str(run / "last.safetensors"), "--against", "blueprint", *words)
    assert result.exit_code == 1, result.output
    assert json.loads(result.stdout)["verdict"] == "worse" and not target.exists()


def test_a_gate_prints_no_zero_below_zero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = arena.GateResult("undecided", -1e-17, -4e-4, 0.25, 100)
    monkeypatch.setattr(arena, "gate", lambda *_, **__: found)
    said = gs2("gate", str(SHIPPED), "--against", "random", "--pairs", "100", "--processes", "1").stdout
    assert "undecided: +0.000 [-4.0e-04, +0.250]" in said


def test_what_a_worker_process_refuses_is_one_line(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.safetensors"
    damaged.write_bytes(b"\xff" * 100)
    words = ["match", str(damaged), "greedy", "--pairs", "2", "--processes", "2"]
    result = gs2(*words)
    assert result.exit_code != 0 and "is damaged" in result.output
    assert isinstance(result.exception, SystemExit) and "Traceback" not in result.output


def test_a_cluster_that_does_not_answer_is_named(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    words = ("--on", "ray:127.0.0.1:1", "--actors", "1", "--network", "state=16", "--minutes", "0")
    assert "a cluster must answer at 127.0.0.1:1" in refused("train", "-o", tmp_path / "run", *words)


@pytest.fixture(scope="module")
def odmc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("recipes") / "odmc"
    words = ("--network", "opponent=8", *SMALL)
    ran("train", "guandan", "-o", str(directory), "--recipe", "odmc", *SHORT, *words)
    return directory


def test_help_lists_every_recipe_with_its_source_and_claim() -> None:
    result = gs2("train", "--recipe", "help")
    assert result.exit_code == 0
    for name, recipe in RECIPES.items():
        assert f"{name}: " in result.output and recipe.source in result.output
        assert recipe.claim in result.output


def test_a_run_keeps_its_recipe_goes_on_by_it_and_plays(odmc: Path) -> None:
    _, description = read_checkpoint(odmc / "last.safetensors", prefix="-")
    assert description["train"]["recipe"] == "odmc" and description["train"]["prune"] == 2
    assert description["network"]["opponent"] == 8
    before = description["generation"]
    for words in (("--recipe", "odmc"), ("--set", "batch=32"), ("--set", "seed=0")):
        ran("train", "guandan", "-o", str(odmc), "--resume", "--minutes", "0", *QUIET, *words)
    _, description = read_checkpoint(odmc / "last.safetensors", prefix="-")
    assert description["generation"] == before + 3
    assert (description["train"]["recipe"], description["train"]["batch"]) == ("odmc", 32)
    agent = f"blueprint:prune=2,heeds=false@{odmc / 'last.safetensors'}"
    ran("match", agent, str(odmc / "last.safetensors"), "--pairs", "2", "--processes", "1", "--json")


def test_a_resumed_run_keeps_its_recipe(odmc: Path) -> None:
    kept = (odmc / "last.safetensors").read_bytes()
    again = ("train", "guandan", "-o", str(odmc), "--resume", "--minutes", "0", *QUIET)
    assert "begun with the recipe odmc; got danzero" in refused(*again, "--recipe", "danzero")
    assert (odmc / "last.safetensors").read_bytes() == kept


@pytest.mark.long
def test_a_network_of_a_game_with_an_auction_is_gated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "x.safetensors"
    small = ("--set", "rounds=4", "--set", "state=8", "--set", "action=8", "--decisions", "1")
    result = ran("train", "doudizhu(landlord=bid,ranks=4)", "-o", str(path), *small)
    shutil.copy(path, tmp_path / "y.safetensors")
    words = ("--against", str(tmp_path / "y.safetensors"), "--pairs", "100", "--batch", "100", "--json")
    result = gs2("gate", str(path), *words, "--processes", "2")
    assert result.exit_code == 1, result.output
    found = json.loads(result.stdout)
    assert (found["verdict"], found["net"], found["deals"]) == ("undecided", 0, 100)


@pytest.fixture(scope="module")
def climbing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("climbing") / "run"
    result = ran("train", "doudizhu", "-o", str(folder), *FEW, "--set", "target=win", "--set", "guide=1000")
    assert "try: gs2 match --game 'doudizhu'" in result.output
    return folder


def test_a_folder_gets_a_checkpoint_and_a_curve_that_match_and_resume(climbing: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(climbing, folder)
    first = read_checkpoint(folder / "last.safetensors", prefix="-")[1]
    assert first["config"]["rounds"] == 8 and first["config"]["target"] == "win"
    found = as_json("train", "doudizhu", "-o", str(folder), "--resume", "--decisions", "900")
    assert found["decisions"] >= 900 and found["complete"] and found["game"] == "doudizhu"
    assert generations(folder) == list(range(1, found["generation"] + 1))
    again = gs2("train", "doudizhu", "-o", str(folder), "--resume", "--decisions", "900")
    assert again.exit_code == 0 and "the training is complete" in again.output
    ran("match", "--game", "doudizhu", folder / "last.safetensors", "uniform", "--pairs", "3")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("doudizhu",), "pass --resume to continue it"),
        (("big2", "--resume"), "was trained on 'doudizhu'"),
        (("doudizhu", "--resume", "--set", "rounds=3"), "keeps its settings"),
    ],
)
def test_another_training_does_not_go_on_in_a_run(
    climbing: Path, words: tuple[str, ...], message: str
) -> None:
    assert message in refused("train", *words, "-o", climbing)


@pytest.mark.parametrize(
    ("game", "told", "unknown"),
    [
        ("kuhn_poker", {"config": {"gamma": 1}}, "GameNetworkConfig has no field gamma"),
        ("kuhn_poker", {"config": 3}, "fields must be an object of names and values; got 3"),
        ("doudizhu", {"kind": "climbing", "stake": 1.0, "config": {"gamma": 1}}, "ClimbingConfig has no"),
        ("guandan", {"train": {"gamma": 1}}, "TrainConfig has no field gamma"),
    ],
)
def test_settings_that_no_version_of_today_has_are_refused_with_their_file(
    game: str, told: dict[str, Any], unknown: str, tmp_path: Path
) -> None:
    output = tmp_path / ("run" if game == "guandan" else "x.safetensors")
    place = (RunPlace.with_state if game == "kuhn_poker" else RunPlace.of)(output)
    write_checkpoint(place.state, {"network.x": np.zeros(1, np.float32)}, {"game": game, **told})
    said = refused("train", game, "-o", output, "--resume")
    assert f"checkpoint: {place.state}: {unknown}" in said.replace("GameNetworkConfig: f", "f")
    assert said.rstrip().endswith("train anew, or use the version that wrote it")


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
