"""The quick network plays rollouts where it lies beside the blueprint that taught it."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from blueprint.checkpoint import SHIPPED, CheckpointError, read_checkpoint, write_checkpoint
from gs2.guandan.agent.agent import Gs2Agent, make_agent
from gs2.guandan.agent.agent_presets import agent_preset
from gs2.guandan.agent.evaluator import BlueprintEvaluator, load_quick, quick_file
from gs2.guandan.agent_families import fingerprint
from tests.gs2.guandan.blueprints import CountBlueprint


def test_the_shipped_blueprint_has_one_and_agents_play_rollouts_by_it() -> None:
    quick = load_quick()
    assert quick is not None and quick_file().is_file() and not quick.sees_all
    agent = make_agent(config="fast")
    assert agent.rollouts.player is not agent.evaluator and agent.rollouts.evaluator is agent.evaluator
    for config in (agent_preset("fast").replace(playing="blueprint"), agent_preset("paper")):
        own = make_agent(config=config)
        assert own.rollouts.player is own.evaluator


def test_a_blueprint_without_one_plays_its_own_rollouts(tmp_path) -> None:
    path = tmp_path / "alone.safetensors"
    shutil.copy(SHIPPED, path)
    assert load_quick(path) is None
    agent = make_agent(path, "fast")
    assert agent.rollouts.player is agent.evaluator
    shutil.copy(quick_file(), quick_file(path))
    again = make_agent(path, "fast")
    assert again.rollouts.player is not again.evaluator


def test_one_that_another_network_taught_is_refused(tmp_path) -> None:
    path = tmp_path / "other.safetensors"
    shutil.copy(SHIPPED, path)
    tensors, description = read_checkpoint(quick_file())
    write_checkpoint(quick_file(path), tensors, description | {"teacher_decisions": 1})
    with pytest.raises(CheckpointError, match="must have been taught by the network beside it"):
        make_agent(path, "fast")
    quick_file(path).write_bytes(b"x")
    with pytest.raises(CheckpointError, match="damaged"):
        make_agent(path, "fast")


def test_results_are_of_the_quick_network_too(tmp_path) -> None:
    path = tmp_path / "two.safetensors"
    shutil.copy(SHIPPED, path)
    before = fingerprint(f"gs2@{path}")
    shutil.copy(quick_file(), quick_file(path))
    assert fingerprint(f"gs2@{path}") != before


def test_an_agent_without_a_network_takes_any_evaluator_for_its_rollouts() -> None:
    evaluator, quick = (BlueprintEvaluator(CountBlueprint(noise=noise)) for noise in (0.0, 1.0))
    evaluator.quick = quick
    agent = Gs2Agent(evaluator, "fast", np.random.default_rng(0))
    assert agent.rollouts.player is quick
