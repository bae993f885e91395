"""DanZero's preset: its function, its training and its checkpoints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from blueprint.checkpoint import CheckpointError, read_checkpoint, write_checkpoint
from blueprint.guandan.network.input_layout import FEATURE_HASH
from blueprint.guandan.network.q_network import make_network
from blueprint.guandan.train_config import NetworkConfig
from blueprint.guandan.training.trainer import Trainer
from blueprint.papers.danzero import DANZERO_HASH, DanZeroNetwork
from blueprint.papers.recipes import named_recipe
from games.guandan.views.features import action_features, state_features
from tests.blueprint.guandan.positions import FAST, some_decisions

TOLERANCE = 1e-5
"""Rounding of single precision through five layers."""
SMALL = NetworkConfig(kind="danzero", state=16, blocks=3, action=1, action_blocks=0, critic=0)


def test_the_preset_has_the_published_sizes() -> None:
    network = make_network(named_recipe("danzero").network_config())
    assert isinstance(network, DanZeroNetwork)
    shapes = {name: tuple(p.shape) for name, p in network.named_parameters() if name.endswith("weight")}
    assert shapes["position.weight"][1] + shapes["action.weight"][1] == 567
    assert [s[0] for name, s in shapes.items() if name not in ("action.weight", "value.weight")] == [512] * 5
    assert shapes["value.weight"] == (1, 512)


def test_the_network_is_a_tanh_perceptron_over_one_row_of_567_inputs_per_action() -> None:
    torch.manual_seed(1)
    network = DanZeroNetwork(SMALL).eval()
    decisions = some_decisions(2)
    states = decisions.states
    x, a = network.encode(decisions)
    rows = np.repeat(np.arange(len(decisions)), np.diff(decisions.offsets))
    with torch.inference_mode():
        h = network.states(torch.from_numpy(x).float())
        fast = network.advantages(h, torch.from_numpy(a).float(), torch.from_numpy(rows)).numpy()
    seen, moves = state_features(states, decisions.seats), action_features(decisions.actions)
    inputs = np.concatenate([seen[rows], moves], 1).astype(np.float64)
    assert inputs.shape[1] == 567
    p = {name: value.double().numpy() for name, value in network.state_dict().items()}
    z = np.tanh(inputs @ np.concatenate([p["position.weight"], p["action.weight"]], 1).T + p["position.bias"])
    for k in range(SMALL.blocks - 1):
        z = np.tanh(z @ p[f"hidden.{k}.weight"].T + p[f"hidden.{k}.bias"])
    assert np.allclose(fast, (z @ p["value.weight"].T + p["value.bias"])[:, 0], atol=TOLERANCE)


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
