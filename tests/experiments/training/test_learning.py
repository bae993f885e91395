"""Settings of training judged on one record of play: what starts equal, what the figures are of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from blueprint.guandan.train_config import TrainConfig
from blueprint.guandan.training.trainer import Trainer
from blueprint.guandan.training.training_run import RunConfig, train
from experiments.training.learning import ablate_learning, learning_rows, play
from tests.blueprint.guandan.positions import SMALL

CONFIG = TrainConfig(rounds=4, batch=64, seed=3)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("run")
    train(directory, RunConfig(minutes=0.001), network=SMALL, config=CONFIG)
    return directory / "last.safetensors"


def test_a_part_of_play_is_whole_rounds_numbered_anew(checkpoint: Path) -> None:
    whole = play(Trainer.load(checkpoint, threads=1), 6, np.random.default_rng(1))
    part = whole.part(2, 5)
    assert set(part.record.round) == {0, 1, 2}
    assert len(part.record.round) == ((whole.record.round >= 2) & (whole.record.round < 5)).sum()
    assert len(part.record.chance) == len(part.record.states) == len(part.record.actions)
    np.testing.assert_array_equal(part.payoff, whole.payoff[2:5])


def test_a_setting_that_learns_nothing_changes_nothing(checkpoint: Path) -> None:
    settings = {"still": CONFIG.replace(learning_rate=0.0), "moving": CONFIG.replace(learning_rate=0.01)}
    rows = list(learning_rows(checkpoint, settings, rounds=6, held_out=4, seed=2, window=100.0))
    still = [row for row in rows if row.setting == "still"]
    moving = [row for row in rows if row.setting == "moving"]
    assert len(still) == len(moving) == 3
    for row in still:
        assert (row.error, row.moved, row.value, row.critic) == ((0.0, 0.0), 0.0, 0.0, 0.0)
    assert [row.decisions for row in moving] == sorted(row.decisions for row in moving)
    assert moving[-1].moved > 0
    assert moving[-1].error[1] > 0


def test_the_command_prints_a_row_for_each_setting_and_mark(checkpoint: Path) -> None:
    options = ["--checkpoint", str(checkpoint), "--rounds", "4", "--held-out", "3"]
    result = CliRunner().invoke(ablate_learning, [*options, "--try", "trace=1", "--try", "trace=0.9,focus=2"])
    assert result.exit_code == 0, result.output
    assert result.output.count("| trace=") == 6
    wrong = CliRunner().invoke(ablate_learning, [*options, "--try", "tracing=1"])
    assert wrong.exit_code == 2
    assert "no field 'tracing' to set" in wrong.output
