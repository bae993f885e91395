"""DanZero's preset: its function, its training and its checkpoints."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from blueprint.checkpoint import CheckpointError, read_checkpoint, write_checkpoint
from blueprint.guandan.chooser import Decisions
from blueprint.guandan.network.danzero import DANZERO_HASH, DanZeroNetwork
from blueprint.guandan.network.layout import FEATURE_HASH
from blueprint.guandan.network.q_network import make_network
from blueprint.guandan.play.deals import deal_rounds
from blueprint.guandan.play.selfplay import Scratch, play_rounds
from blueprint.guandan.train_config import NETWORKS, NetworkConfig, TrainConfig
from blueprint.guandan.training.trainer import Trainer
from games.guandan.views.danzero_features import action_features, state_features
from games.support.configuration import ConfigError

TOLERANCE = 1e-5
"""Rounding of single precision through five layers."""
SMALL = NetworkConfig(kind="danzero", state=16, blocks=3, action=1, action_blocks=0, critic=0)
FAST = TrainConfig(rounds=4, batch=64, seed=3)


def some_decisions() -> list[tuple[np.ndarray, Decisions]]:
    seen: list[tuple[np.ndarray, Decisions]] = []

    def first(decisions: Decisions) -> np.ndarray:
        # copies: the arrays are written again at the next step
        seen.append((decisions.states.copy(), decisions.where(np.ones(len(decisions), bool))))
        return np.zeros(len(decisions), np.int64)

    play_rounds(deal_rounds(3, np.random.default_rng(0)), [first], Scratch())
    return seen


def test_the_preset_has_the_published_sizes() -> None:
    network = make_network(NETWORKS["danzero"])
    assert isinstance(network, DanZeroNetwork)
    shapes = {name: tuple(p.shape) for name, p in network.named_parameters() if name.endswith("weight")}
    assert shapes["position.weight"][1] + shapes["action.weight"][1] == 567
    assert [s[0] for name, s in shapes.items() if name not in ("action.weight", "value.weight")] == [512] * 5
    assert shapes["value.weight"] == (1, 512)


def test_the_network_is_a_tanh_perceptron_over_one_row_of_567_inputs_per_action() -> None:
    torch.manual_seed(1)
    network = DanZeroNetwork(SMALL).eval()
    states, decisions = some_decisions()[5]
    x, a = network.encode(replace(decisions, states=states))
    rows = np.repeat(np.arange(len(decisions)), np.diff(decisions.offsets))
    with torch.inference_mode():
        h = network.states(torch.from_numpy(x).float())
        fast = network.advantages(h, torch.from_numpy(a).float(), torch.from_numpy(rows)).numpy()
    inputs = np.concatenate(
        [
            state_features(states[decisions.rows], decisions.seats)[rows],
            action_features(decisions.actions),
        ],
        1,
    ).astype(np.float64)
    assert inputs.shape[1] == 567
    p = {name: value.double().numpy() for name, value in network.state_dict().items()}
    z = np.tanh(inputs @ np.concatenate([p["position.weight"], p["action.weight"]], 1).T + p["position.bias"])
    for k in range(SMALL.blocks - 1):
        z = np.tanh(z @ p[f"hidden.{k}.weight"].T + p[f"hidden.{k}.bias"])
    assert np.allclose(fast, (z @ p["value.weight"].T + p["value.bias"])[:, 0], atol=TOLERANCE)


def test_training_learns_the_plain_return_and_resumes_from_a_checkpoint(tmp_path: Path) -> None:
    trainer = Trainer(SMALL, FAST)
    for _ in range(2):
        row = trainer.run_generation()
    assert row["advantage"] > 0
    assert set(np.unique(np.abs(trainer.replay[-1].target))) <= {1, 2, 3}
    trainer.save(tmp_path / "a.safetensors")
    again = Trainer.load(tmp_path / "a.safetensors")
    assert again.network_config == SMALL
    for name, value in trainer.learner.network.state_dict().items():
        assert np.array_equal(value.numpy(), again.learner.network.state_dict()[name].numpy())


def test_the_layout_has_a_name_of_its_own_and_others_are_refused(tmp_path: Path) -> None:
    assert DANZERO_HASH != FEATURE_HASH
    trainer = Trainer(SMALL, FAST)
    trainer.save(tmp_path / "a.safetensors")
    tensors, description = read_checkpoint(tmp_path / "a.safetensors", features=DANZERO_HASH)
    with pytest.raises(CheckpointError, match="features"):
        read_checkpoint(tmp_path / "a.safetensors", features=FEATURE_HASH)
    write_checkpoint(tmp_path / "b.safetensors", tensors, description | {"features": FEATURE_HASH})
    with pytest.raises(CheckpointError, match="features"):
        Trainer.load(tmp_path / "b.safetensors")


def test_a_critic_is_refused() -> None:
    with pytest.raises(ConfigError, match="critic"):
        NetworkConfig(kind="danzero")
