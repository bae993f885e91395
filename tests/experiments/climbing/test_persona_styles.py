"""Personalities measured: rules against each other, and a network that plays in their manner."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from blueprint.climbing.inputs.move_inputs import move_inputs
from blueprint.climbing.training.move_trainer import MoveTrainer
from blueprint.guandan.training.recipe_book import named_recipe
from experiments.climbing.persona_styles import persona_styles, recognised, rounds_won_by
from experiments.climbing.pruning_shares import playing_agent
from games import load_game


@pytest.mark.parametrize(("game", "even"), [("doudizhu", 0.5), ("big2", 0.25)])
def test_an_agent_wins_its_share_against_itself(game: str, even: float) -> None:
    inputs = move_inputs(load_game(game))
    rule = playing_agent(inputs, "rule", np.random.default_rng(0))
    assert rounds_won_by(inputs, rule, rule, 3, 1).tolist() == pytest.approx([even] * 3)


@pytest.mark.parametrize("game", ["doudizhu", "big2"])
def test_rules_and_networks_are_measured(game: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(persona_styles, ["--game", game, "--rounds", "4", "--json"])
    assert done.exit_code == 0, done.output + str(done.exception)
    met = {(row["a"], row["b"]): row["mean"] for row in json.loads(done.stdout)["rounds won"]}
    assert len(met) == 6
    if game == "doudizhu":
        assert all(met[a, b] + met[b, a] == pytest.approx(1) for a, b in met)
    table = CliRunner().invoke(persona_styles, ["--game", game, "--rounds", "4"])
    assert table.exit_code == 0 and "| balanced |" in table.output
    config = named_recipe("pdhqn").climbing_config(rounds=4, state=8, action=8, batch=64)
    trainer = MoveTrainer(load_game(game), config)
    trainer.run_generation()
    path = tmp_path / "x.safetensors"
    trainer.save(path)
    done = CliRunner().invoke(persona_styles, [str(path), "--game", game, "--rounds", "3", "--json"])
    assert done.exit_code == 0, done.output + str(done.exception)
    told = json.loads(done.stdout)
    rows, known = told["action type"], told["types of others"]
    assert len(rows) == 9 and known and all(row["said"] > 0 for row in known)
    assert all(0 <= row["low"] <= row["mean"] <= row["high"] <= 1 for row in rows + known)
    right, played, true, of = recognised(path, move_inputs(load_game(game)), 3, 1)
    by_share = [row["said"] for row in known if row["of"].endswith("played")]
    assert sum(by_share) == len(right) and set(of) == {0, 1, 2}
    assert played.min() == 0 and played.max() < 1 and 0 <= true.min() <= true.max() <= 3
    deaf = MoveTrainer(load_game(game), config.replace(recognise=0.0))
    deaf.save(path := tmp_path / "y.safetensors")
    done = CliRunner().invoke(persona_styles, [str(path), "--game", game, "--rounds", "3"])
    assert done.exit_code == 0 and "the others' types" not in done.output
