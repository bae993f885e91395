"""The Q-network in torch: a state tower run once per decision, a head run once per action.

Q(I, a) = V(I) + A(I, a). V comes from the tower as probabilities of the seven outcomes of a round; A comes
from a small residual head over the action's features and the tower's output. The critic sees all four hands
and is used in training alone. `TorchNetwork` plays by networks without a fast path: it answers what
`Inference` does, so the same agents play by either.
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
from blueprint.guandan.network.inputs import (
    ACTION_WIDTH,
    HIDDEN_WIDTH,
    OUTCOMES,
    PAST_WIDTH,
    STAKES_SCALE,
    STAKES_WIDTH,
    STATE_WIDTH,
    encode_actions,
    encode_past,
    encode_stakes,
    encode_states,
    layout_hash,
    state_scale,
)
from blueprint.guandan.train_config import NetworkConfig
from blueprint.layers.fused import MoveHead, Tower, joined, recalled, rectified
from blueprint.learning.learner import load_module
from blueprint.paper_parts import paper_part
from blueprint.protocol import Decisions
from games.guandan.cards import NUM_CARDS
from games.support.array_types import Array

if TYPE_CHECKING:
    from blueprint.guandan.network.inference import Inference


class SeatTower(Tower):
    """A tower that may also see what the others did, and what is at stake.

    past: further inputs of 0 and 1 of which few are set. stakes: still further ones, in STAKES_SCALE parts.
    What these weigh begins at zero.
    """

    def __init__(self, inputs: int, width: int, blocks: int, past: int = 0, stakes: int = 0) -> None:
        super().__init__(inputs, width, blocks)
        self.past = nn.Parameter(torch.zeros(past, width)) if past else None
        self.stakes = nn.Parameter(torch.zeros(stakes, width)) if stakes else None

    def first(self, x: Tensor, scale: Tensor | None) -> Tensor:
        """Return what the input layer makes of x [n, inputs + past + stakes], [n, width]."""
        if self.past is None and self.stakes is None:
            return super().first(x, scale)
        seen, rest = x[:, : self.input.in_features], x[:, self.input.in_features :]
        seen = seen if scale is None else seen * scale.to(seen.dtype)
        parts = []
        if self.past is not None:
            parts.append(recalled(rest[:, : len(self.past)], self.past))
        if self.stakes is not None:
            stakes = rest[:, -len(self.stakes) :] * (1 / STAKES_SCALE)
            parts.append(stakes @ self.stakes.to(stakes.dtype))
        return joined(seen, self.input, parts[0] if len(parts) == 1 else parts[0] + parts[1])


class QNetwork(MoveHead):
    """V(I) and A(I, a)."""

    has_value = True
    grown = ("tower.past", "tower.stakes", "hands.")
    """How the names of parameters begin that a network grows, which may learn faster than what was there
    (`TrainConfig.fresh`)."""
    scale: Tensor

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        self.register_buffer("scale", torch.from_numpy(state_scale()), persistent=False)
        past, stakes = PAST_WIDTH if config.past else 0, STAKES_WIDTH if config.stakes else 0
        self.tower = SeatTower(STATE_WIDTH, config.state, config.blocks, past, stakes)
        self.value_hidden = nn.Linear(config.state, 128)
        self.value = nn.Linear(128, len(OUTCOMES))
        self._begin_head(config.state, ACTION_WIDTH, config.action, config.action_blocks)
        self.hands = nn.Linear(config.state, 3 * NUM_CARDS) if config.hands else None
        with torch.no_grad():
            self.action.weight.mul_(2.0)

    @property
    def features(self) -> str:
        """Name of the inputs."""
        return layout_hash(past=self.config.past, stakes=self.config.stakes)

    def encode(self, decisions: Decisions) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Return the inputs of `states`, [n, inputs], and of `advantages`, [m, ACTION_WIDTH]."""
        seen = self.encode_seen(decisions.states, decisions.seats, decisions.rows)
        return seen, encode_actions(decisions)

    def encode_seen(
        self, states: Array, seats: Array, rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.uint8]:
        """Return the inputs of `states`, [n, inputs]; the arguments are those of `encode_states`."""
        parts = [encode_states(states, seats, rows)]
        if self.config.past:
            parts.append(encode_past(states, seats, rows))
        if self.config.stakes:
            parts.append(encode_stakes(states, seats, rows))
        return np.concatenate(parts, 1) if len(parts) > 1 else parts[0]

    def states(self, x: Tensor) -> Tensor:
        """Return the tower's output, [n, state], from inputs [n, inputs]."""
        found: Tensor = self.tower(x, self.scale)
        return found

    def outcomes(self, h: Tensor) -> Tensor:
        """Return the logits of the outcomes, [n, 7], from the tower's output."""
        found: Tensor = self.value(rectified(h, self.value_hidden))
        return found

    def held(self, h: Tensor) -> Tensor:
        """Return log odds, [n, 3, 54], that the next, the opposite and the previous seat hold each card."""
        assert self.hands is not None
        found: Tensor = self.hands(h).view(-1, 3, NUM_CARDS)
        return found


class Critic(nn.Module):
    """Logits of the outcomes from all four hands, the rows of `encode_full`."""

    scale: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        scale = torch.cat([torch.from_numpy(state_scale()), torch.ones(HIDDEN_WIDTH)])
        self.register_buffer("scale", scale, persistent=False)
        self.tower = SeatTower(STATE_WIDTH + HIDDEN_WIDTH, width, 2)
        self.value = nn.Linear(width, len(OUTCOMES))

    def forward(self, x: Tensor) -> Tensor:
        """Return [n, 7] logits from [n, STATE_WIDTH + HIDDEN_WIDTH]."""
        found: Tensor = self.value(self.tower(x, self.scale))
        return found


def held_nats(odds: Tensor, hands: NDArray[np.uint8]) -> Tensor:
    """Return the nats a hidden card that log odds miss, [n]; odds: [n, 3, 54], hands: [n, 3, 54] counts."""
    held = torch.from_numpy(hands).to(odds.device).float()
    missed: Tensor = -(odds.log_softmax(1) * held).sum((1, 2)) / held.sum((1, 2)).clamp(min=1)
    return missed


def make_network(config: NetworkConfig) -> nn.Module:
    """Return a new network of the configured kind.

    Every kind has `features` (the name of its inputs), `has_value`, `grown`, `encode`, `states`, `outcomes`
    and `advantages` as `QNetwork` has them; without a value, `advantages` are action values.
    """
    if config.kind != "ours":
        other: nn.Module = paper_part("GuanDan network")(config)
        return other
    return QNetwork(config)


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
