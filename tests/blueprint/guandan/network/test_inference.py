"""The fast path gives what the training network gives, in every precision, batch and width."""

from __future__ import annotations

import functools
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from numba import njit
from numba.extending import intrinsic

from blueprint.checkpoint import CheckpointError, read_checkpoint, write_checkpoint
from blueprint.guandan import SHIPPED
from blueprint.guandan.network.inference import Inference, load_inference
from blueprint.guandan.network.inputs import FEATURE_HASH, OUTCOMES, encode_full
from blueprint.guandan.network.q_network import Critic, QNetwork
from blueprint.guandan.train_config import NetworkConfig
from blueprint.layers import half_rows as layers
from blueprint.layers.fast_moves import CHUNK, pieces
from blueprint.networks import LIMIT, export_checkpoint
from blueprint.protocol import Decisions
from tests.blueprint.guandan.positions import SMALL, random_tensors, some_decisions


@functools.cache
def decisions() -> Decisions:
    """Return the positions of this module, played once and not before they are needed."""
    return some_decisions()


SINGLE, HALF = 2e-3, 3e-2
"""Tolerances: the kernels read weights in half precision; bfloat16 has eight bits."""


def trained_as(tensors: dict, config: NetworkConfig):
    """Return advantages, values and critic's values by the modules that training uses."""
    network, critic = QNetwork(config), Critic(config.critic)
    for name, module in (("network.", network), ("critic.", critic)):
        own = {k.removeprefix(name): torch.from_numpy(v) for k, v in tensors.items() if k.startswith(name)}
        module.load_state_dict(own)
    d = decisions()
    x, a = network.encode(d)
    rows = torch.from_numpy(np.repeat(d.rows, np.diff(d.offsets)))
    payoffs = torch.tensor(OUTCOMES)
    with torch.inference_mode():
        h = network.states(torch.from_numpy(x).float())
        advantages = network.advantages(h, torch.from_numpy(a).float(), rows).numpy()
        values = network.outcomes(h).softmax(1) @ payoffs
        full = torch.from_numpy(encode_full(d.states, d.seats)).float()
        judged = critic(full).softmax(1) @ payoffs
    return advantages, values.numpy(), judged.numpy()


@pytest.mark.parametrize(
    "config",
    [SMALL, NetworkConfig(state=10, blocks=0, action=6, action_blocks=0, critic=5)],
)
def test_it_agrees_with_the_training_network(config: NetworkConfig) -> None:
    tensors, d = random_tensors(config), decisions()
    wanted = trained_as(tensors, config)
    for half, tolerance in ((False, SINGLE), (True, HALF)):
        inference = Inference(tensors, half=half)
        assert np.allclose(inference.advantages(d), wanted[0], atol=tolerance)
        assert np.allclose(inference.values(d.states, d.rows, d.seats), wanted[1], atol=tolerance)
        assert np.allclose(inference.critic_values(d.states, d.rows, d.seats), wanted[2], atol=tolerance)


def test_pieces_cover_every_decision_once_whatever_their_sizes() -> None:
    rng = np.random.default_rng(1)
    for top in (3, 50, 9000):
        offsets = np.concatenate([[0], np.cumsum(rng.integers(1, top, 200))])
        found = [*pieces(offsets, slice(0, 200))]
        assert [low for low, _ in found] == [0] + [high for _, high in found[:-1]]
        assert found[-1][1] == 200
        for low, high in found:
            assert high == low + 1 or offsets[high] - offsets[low] <= CHUNK


def test_neither_threads_nor_the_tensors_it_was_made_of_disturb_a_snapshot() -> None:
    tensors = {name: value.copy() for name, value in random_tensors().items()}
    inference, d = Inference(tensors), decisions()
    before = inference.advantages(d)
    for value in tensors.values():
        value += 1
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: inference.advantages(d), range(8)))
    assert all(np.array_equal(before, answer) for answer in answers)


@pytest.mark.parametrize("instruction", [True, False])
def test_every_half_is_widened_exactly(instruction: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if instruction and not layers._widens():
        pytest.skip("this processor has no such instruction")
    monkeypatch.setattr(layers, "_widens", lambda: instruction)
    widen = intrinsic(layers._widen_bits)

    @njit
    def widen_all(bits, out):
        for i in range(len(bits)):
            out[i] = widen(bits[i])

    bits = np.arange(1 << 16, dtype=np.uint16)
    bits = bits[np.isfinite(bits.view(np.float16))]
    out = np.empty(len(bits), np.float32)
    widen_all(bits, out)
    assert np.array_equal(out, bits.view(np.float16).astype(np.float32))


def test_the_shipped_network_is_small_and_loads_without_training_code() -> None:
    assert SHIPPED.stat().st_size <= LIMIT
    code = (
        "import sys, blueprint.guandan.network.inference as i; n = i.load_inference(); assert n.sees_all; "
        "here = 'blueprint.guandan.'; learning = {'network.q_network', 'training.dmc', 'training.trainer'}; "
        "assert not {here + name for name in learning} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_export_plays_as_its_source(tmp_path) -> None:
    tensors = random_tensors() | {"optimiser.0.exp_avg": np.zeros(3, np.float32)}
    source, target = tmp_path / "run.safetensors", tmp_path / "out" / "small.safetensors"
    described = {"features": FEATURE_HASH, "network": SMALL.to_json(), "decisions": 9, "rng": {}}
    write_checkpoint(source, tensors, described)
    export_checkpoint(source, target, notes={"gate": "better"})
    kept, description = read_checkpoint(target)
    assert all(value.dtype == np.float16 for value in kept.values())
    assert not any(name.startswith("optimiser.") for name in kept)
    assert description["gate"] == "better" and "rng" not in description
    one, two = load_inference(source, half=False), load_inference(target, half=False)
    assert two.name == "small@9"
    assert np.allclose(one.advantages(decisions()), two.advantages(decisions()), atol=SINGLE)


def test_what_cannot_be_shipped_is_refused(tmp_path) -> None:
    for tensors, rule in (
        ({"network.x": np.full(3, 1e6, np.float32)}, "within"),
        ({"network.x": np.full(3, np.nan, np.float32)}, "finite numbers"),
        ({"other": np.zeros(3, np.float32)}, "must hold a network"),
        ({"network.x": np.zeros(LIMIT, np.float32)}, "at most|may have"),
    ):
        write_checkpoint(tmp_path / "a.safetensors", tensors, {})
        with pytest.raises(CheckpointError, match=rule):
            export_checkpoint(tmp_path / "a.safetensors", tmp_path / "b.safetensors")
        assert not (tmp_path / "b.safetensors").exists()


def test_tensors_that_do_not_fit_are_refused() -> None:
    tensors = random_tensors()
    narrow = tensors | {"network.tower.input.weight": np.zeros((24, 5), np.float32)}
    with pytest.raises(CheckpointError, match="inputs; got 5"):
        Inference(narrow)
    del tensors["network.context.bias"]
    with pytest.raises(CheckpointError, match=r"network\.context must be a layer"):
        Inference(tensors)
    with pytest.raises(ValueError, match="no critic"):
        d = decisions()
        Inference(random_tensors(), critic=False).critic_values(d.states, d.rows, d.seats)
