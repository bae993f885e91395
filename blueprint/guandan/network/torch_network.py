"""Networks as torch runs them, for those without a fast path: play and values.

It answers what `Inference` does, so the same agents play by either.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from blueprint.checkpoint import check_description, check_features, read_checkpoint
from blueprint.guandan.network.input_layout import OUTCOMES
from blueprint.guandan.network.q_network import make_network
from blueprint.guandan.train_config import NetworkConfig
from blueprint.learning.learner import load_module
from blueprint.paper_parts import paper_part
from blueprint.protocol import Decisions
from games.support.array_types import Array

if TYPE_CHECKING:
    from blueprint.guandan.network.inference import Inference

SPAN = 64
"""Decisions whose actions go through a processor at once: layers of more do not stay in its cache."""
CPU = torch.device("cpu")


class TorchNetwork:
    """A snapshot of a network: later training leaves it alone."""

    sees_stakes = False

    def __init__(
        self,
        network: nn.Module,
        *,
        name: str = "network",
        device: torch.device = CPU,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        config: Any = network.config
        self.network: Any = make_network(config).to(device, dtype).eval()
        self.network.load_state_dict(network.state_dict())
        self.name, self.device, self.dtype = name, device, dtype
        self.has_value = bool(self.network.has_value)

    def advantages(self, decisions: Decisions) -> NDArray[np.float32]:
        """Return the score of each action, [m] float32: comparable within a decision."""
        return self.each(decisions, self.network.advantages)

    def each(self, decisions: Decisions, head: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Array:
        """Return a head's output for each action, in order."""
        found = []
        size = SPAN if self.device.type == "cpu" else max(1, len(decisions))
        for part in decisions.spans(size):
            x, a = self.network.encode(part)
            rows = np.repeat(np.arange(len(part)), np.diff(part.offsets))
            with torch.inference_mode():
                h = self.network.states(self._tensor(x))
                out = head(h, self._tensor(a), torch.from_numpy(rows).to(self.device))
            found.append(out.float().cpu().numpy())
        return np.concatenate(found) if found else np.zeros(0, np.float32)

    def values(self, states: Array, rows: NDArray[np.int64], seats: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return V(I) of states[rows] to the seats, [k] float64; raise ValueError if there is none."""
        if not self.has_value:
            raise ValueError(f"{self.name}: there is no value of positions; train a network that has one")
        out = np.empty(len(rows))
        payoffs = torch.tensor(OUTCOMES, device=self.device)
        for low in range(0, len(rows), 1024):
            part = slice(low, low + 1024)
            x = self._tensor(self.network.encode_seen(states, seats[part], rows[part]))
            with torch.inference_mode():
                logits = self.network.outcomes(self.network.states(x)).float()
                out[part] = (logits.softmax(1) * payoffs).sum(1).cpu().numpy()
        return out

    def _tensor(self, array: Array) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device).to(self.dtype)


def load_any_network(path: str | Path | None = None, *, heeds: bool = True) -> Inference | TorchNetwork:
    """Return the network of any checkpoint, to play by: its fast path where there is one.

    path: None for the shipped one. heeds: whether it listens to its models of the others, where it has any.
    Raises CheckpointError if the file is missing, damaged or foreign.
    """
    from blueprint.guandan.network.inference import load_inference

    if path is None:
        return load_inference(critic=False)
    path = Path(path)
    _, description = read_checkpoint(path, prefix="-")
    told = description.get("network")
    if not isinstance(told, dict) or told.get("kind", "ours") == "ours":
        return load_inference(path, critic=False)
    config = NetworkConfig.from_json(told)
    check_description(path, description, {"decisions": int})
    network: Any = make_network(config)
    check_features(path, description, network.features)
    tensors, _ = read_checkpoint(path, prefix="network.")
    load_module(network, tensors, "network.", path)
    name = f"{path.stem}@{description['decisions']}"
    found: TorchNetwork = paper_part("GuanDan network in play")(network, name=name, heeds=heeds)
    return found
