"""Recipes at equal processor time: turns that go on after a break, a ladder, what models of others know."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from blueprint.guandan.training.dmc import Learner
from blueprint.guandan.training.recipe_book import RECIPES, named_recipe
from blueprint.guandan.training.trainer import Trainer
from experiments.training.equal_time import turns as turns_module
from experiments.training.equal_time.guandan_course import GuandanCourse
from experiments.training.equal_time.turns import Plan, train_in_turns
from experiments.training.opponent_model import bomb_counts, expected_bombs, opponent_model
from experiments.training.recipes import recipes
from experiments.training.type_recognition import type_recognition
from games.guandan.cards import parse_cards
from gs2.commands.common import Interruption

TINY = ("--rounds", "2", "--set", "rounds=4", "--set", "batch=64")


def trained(path: Path, name: str, **sizes: int) -> Path:
    recipe = named_recipe(name)
    network = recipe.network_config(state=16, blocks=4, **sizes)
    trainer = Trainer(network, recipe.train_config(rounds=4, batch=64), threads=1)
    for _ in range(2):
        trainer.run_generation()
    trainer.save(path)
    return path


@pytest.mark.long
def test_turns_go_on_and_end_in_a_ladder_with_a_row_a_recipe(tmp_path: Path) -> None:
    names = "danzero,sdmc"
    words = ["-o", str(tmp_path), "--recipes", names, "--turn", "0.01", *TINY]
    first = CliRunner().invoke(recipes, [*words, "--minutes", "0.01"])
    assert first.exit_code == 0, first.output + str(first.exception)
    rows = [json.loads(line) for line in (tmp_path / "turns.jsonl").read_text().splitlines()]
    assert [(row["recipe"], row["decisions"] > 0) for row in rows] == [
        *(("danzero", False), ("danzero", True), ("sdmc", False), ("sdmc", True))
    ]
    assert all(row["processor_seconds"] >= 0.6 for row in rows[1::2])
    second = CliRunner().invoke(recipes, [*words, "--minutes", "0.02"])
    assert second.exit_code == 0, second.output + str(second.exception)
    more = [json.loads(line) for line in (tmp_path / "turns.jsonl").read_text().splitlines()]
    assert more[: len(rows)] == rows and len(more) == len(rows) + 2
    assert more[-1]["decisions"] > rows[-1]["decisions"]
    longer = GuandanCourse().saved(tmp_path / "sdmc" / more[-1]["file"])  # schedules of these minutes
    assert longer.guide == pytest.approx(named_recipe("sdmc").train_config().guide * 0.02 / 120)
    table = (tmp_path / "recipes.md").read_text()
    assert all(f"| `{name}` |" in table and RECIPES[name].claim in table for name in names.split(","))
    assert (tmp_path / "ladder.svg").stat().st_size and (tmp_path / "curves.svg").stat().st_size


@pytest.mark.long
def test_turns_go_on_with_the_settings_they_were_begun_with_alone(tmp_path: Path) -> None:
    words = ["-o", str(tmp_path), "--recipes", "danzero", "--turn", "0.01", *TINY, "--minutes", "0.01"]
    begun = CliRunner().invoke(recipes, words)
    assert begun.exit_code == 0, begun.output + str(begun.exception)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for more, field in ((("--set", "epsilon=0.5"), "epsilon=0.01"), (("--set", "seed=1"), "seed=0")):
        for minutes in ("0.01", "0.02"):  # a finished run says so too
            done = CliRunner().invoke(recipes, [*words, *more, "--minutes", minutes])
            assert done.exit_code == 2 and f"danzero was begun with {field}" in " ".join(done.output.split())
    left_out = CliRunner().invoke(recipes, ["-o", str(tmp_path), "--recipes", "danzero", "--minutes", "0.02"])
    assert left_out.exit_code == 2 and "was begun with rounds=4" in " ".join(left_out.output.split())
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


class SmallCourse(GuandanCourse):
    """Trains a small network, and plays nobody."""

    def begin(self, plan: Plan, name: str) -> Trainer:
        network = named_recipe(name).network_config(state=16, blocks=1)
        return Trainer(network, self.wanted(plan, name), threads=1)

    def against_rule(self, name: str, path: Path, deals: int) -> dict[str, Any]:
        return {"net": 0.0, "net_interval": [0.0, 0.0], "won": 0.0}


def learned(folder: Path, turns: int, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Return how many generations were played and learned from in eight seconds of playing, in some turns.

    Whatever takes the processor takes a second of it.
    """
    seconds, calls = itertools.count(), []
    learn = Learner.learn

    def counted(self: Learner, *words: Any) -> dict[str, float]:
        calls.append(self)
        return learn(self, *words)

    with monkeypatch.context() as patched:
        patched.setattr(turns_module, "time", SimpleNamespace(process_time=lambda: float(next(seconds))))
        patched.setattr(Learner, "learn", counted)  # a generation is less than a batch
        minutes = (8 + turns) / 60
        plan = Plan(folder, ("danzero",), minutes, 8 / turns / 60, 2, {"rounds": 4, "seed": 0})
        with Interruption() as stop:
            rows = train_in_turns(SmallCourse(), plan, stop)["danzero"]
    assert len(rows) == 1 + turns and rows[-1]["processor_seconds"] == 8 + turns
    return rows[-1]["rounds"] // 4, len(calls)


@pytest.mark.parametrize("turns", [1, 4, 8])
def test_every_generation_is_learned_from_however_short_the_turns(
    turns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert learned(tmp_path, turns, monkeypatch) == (8, 8)


@pytest.mark.parametrize("game", ["guandan", "big2"])
@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(
            (name, value)
            for name in ("--minutes", "--turn", "--first")
            for value in ("0", "-1", "nan", "inf")
        ),
        *(("--rounds", value) for value in ("0", "1", "-3", "nan")),
    ],
)
def test_numbers_that_never_end_or_mean_nothing_are_refused_at_once(
    option: str, value: str, game: str, tmp_path: Path
) -> None:
    done = CliRunner().invoke(recipes, ["-o", str(tmp_path / "x"), "--game", game, option, value])
    assert done.exit_code == 2 and option in done.output and not (tmp_path / "x").exists()


def test_turns_of_another_game_are_refused(tmp_path: Path) -> None:
    row = {"recipe": "danzero", "file": "turn-0000.safetensors", "processor_seconds": 0.0}
    (tmp_path / "turns.jsonl").write_text(json.dumps(row) + "\n")
    done = CliRunner().invoke(recipes, ["-o", str(tmp_path), "--game", "big2", "--recipes", "ours"])
    assert done.exit_code == 2 and "holds turns of guandan" in done.output


def test_bombs_are_ranks_of_four_natural_cards_and_expected_ones_agree_with_draws() -> None:
    hand = parse_cards("H7 S7 C7 D7 H2 S2 C2 D2 H9 S9 C9")
    assert bomb_counts(hand[None], np.array([3])).tolist() == [2]
    assert bomb_counts(hand[None], np.array([0])).tolist() == [1]  # one of four is wild
    rng = np.random.default_rng(0)
    odds = rng.dirichlet([1, 1, 1], 54).T
    unseen = rng.integers(0, 3, 54)
    found = expected_bombs(odds[None], unseen[None], np.array([4]))[0]
    drawn = np.zeros((4000, 3, 54), np.uint8)
    for card in range(54):
        for _ in range(unseen[card]):
            who = rng.choice(3, 4000, p=odds[:, card])
            drawn[np.arange(4000), who, card] += 1
    mean = bomb_counts(drawn, np.full(4000, 4)).mean(0)
    assert np.allclose(found, mean, atol=0.06)


@pytest.mark.parametrize(
    ("command", "name", "sizes", "keys"),
    [
        (type_recognition, "pdhqn", {"personality": 8}, {"recognition", "action type"}),
        (opponent_model, "odmc", {"opponent": 8}, {"knowledge", "pruned", "microseconds"}),
    ],
)
def test_what_a_network_knows_of_the_others_is_measured_and_others_are_refused(
    command: Any, name: str, sizes: dict[str, int], keys: set[str], tmp_path: Path
) -> None:
    path = trained(tmp_path / "x.safetensors", name, **sizes)
    done = CliRunner().invoke(command, [str(path), "--rounds", "3", "--json"])
    assert done.exit_code == 0, done.output + str(done.exception)
    found = json.loads(done.stdout)
    assert set(found) == keys
    for row in found.get("recognition", []) + found.get("action type", []):
        assert 0 <= row["low"] <= row["mean"] <= row["high"] <= 1
    for allowed, moves, left, share in found.get("pruned", []):
        assert 0 < left <= moves and share == pytest.approx(1 - left / moves) and allowed >= 2
    plain = trained(tmp_path / "y.safetensors", "danzero")
    refused = CliRunner().invoke(command, [str(plain), "--rounds", "3"])
    assert refused.exit_code == 2 and f"train --recipe {name}" in refused.output
