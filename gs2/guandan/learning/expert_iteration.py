"""Teach a network what search found: its advantages move towards the searched ones, the rest stays.

`gs2 guandan learn CHECKPOINT POSITIONS... -o FILE`

The critic stays as it is. Source: expert iteration, Anthony, Tian and Barber 2017.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import attrs
import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from blueprint.checkpoint import read_checkpoint, write_checkpoint
from blueprint.guandan import SHIPPED
from blueprint.guandan.network.input_layout import LAYOUTS
from blueprint.guandan.network.q_network import QNetwork
from blueprint.guandan.train_config import NetworkConfig
from blueprint.layers.bfloat import native_half
from blueprint.protocol import Decisions
from games.support.configuration import Configuration, integer, real
from gs2.guandan.learning.searched_positions import SearchedPositions

__all__ = ["ExpertConfig", "expert_loss", "learn_from_search", "save_network", "trainable_network"]


@attrs.frozen(slots=False)
class ExpertConfig(Configuration):
    """How a network learns from searched positions.

    passes: over all of them. batch: decisions a gradient step. learning_rate: of Adam; it falls to zero along
    a cosine. value: weight of keeping the outcomes' probabilities as they were.
    held_out: share of the positions that is only looked at.
    """

    label: ClassVar[str] = "ExpertConfig"

    passes: float = attrs.field(default=3.0, validator=real(0, above=True))
    batch: int = attrs.field(default=1024, validator=integer(1))
    learning_rate: float = attrs.field(default=2e-4, validator=real(0, above=True))
    value: float = attrs.field(default=1.0, validator=real(0, 1000))
    held_out: float = attrs.field(default=0.05, validator=real(0, 0.5))


@dataclass(frozen=True, eq=False)
class _Inputs:
    """A batch as tensors. rows: [m], which decision each move belongs to."""

    states: Tensor
    actions: Tensor
    rows: Tensor
    target: Tensor
    weight: Tensor

    @classmethod
    def of(cls, network: QNetwork, positions: SearchedPositions, kind: torch.dtype) -> _Inputs:
        x, a = network.encode(Decisions.of(positions.states, positions.actions))
        rows = np.repeat(np.arange(len(positions)), positions.actions.counts)
        return cls(
            torch.from_numpy(x).to(kind),
            torch.from_numpy(a).to(kind),
            torch.from_numpy(rows),
            torch.from_numpy(positions.target),
            torch.from_numpy(positions.weight),
        )


def expert_loss(found: Tensor, target: Tensor, weight: Tensor, rows: Tensor, n: int) -> Tensor:
    """Return the squared distance of advantages from their targets, weighted, one number a decision, [n].

    found, target, weight: [m]. rows: [m], whose move each is. What is common to a decision's moves does not
    count: both are known up to it. With weights of one over the variance, a distance is in units of that.
    """
    zero = torch.zeros(n)
    total = zero.index_add(0, rows, weight)
    apart = found - target
    mean = zero.index_add(0, rows, weight * apart) / total
    return zero.index_add(0, rows, weight * (apart - mean[rows]) ** 2)


def learn_from_search(
    network: QNetwork,
    positions: SearchedPositions,
    rng: np.random.Generator,
    config: ExpertConfig | None = None,
    *,
    progress: Callable[[dict[str, float]], None] | None = None,
) -> tuple[QNetwork, dict[str, float]]:
    """Return a network that has learned from searched positions, and how far it came on those held out.

    The network given stays as it is. The score: squared distance from the searched advantages, in units of
    their variance and per decision searched, before and after.
    """
    config = config or ExpertConfig()
    torch.manual_seed(int(rng.integers(2**31)))
    student, teacher = copy.deepcopy(network), network
    optimiser = torch.optim.Adam(student.parameters(), lr=config.learning_rate, fused=True)
    half = native_half()
    kind = torch.bfloat16 if half else torch.float32
    order = rng.permutation(len(positions))
    cut = max(1, int(config.held_out * len(positions)))
    held_out, learnt = order[:cut], order[cut:]
    held_out = held_out[positions.searched[held_out]]

    def distance() -> float:
        parts = []
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=half):
            for rows in np.split(held_out, range(config.batch, len(held_out), config.batch)):
                batch = _Inputs.of(student, positions.take(rows), kind)
                found = student.advantages(student.states(batch.states), batch.actions, batch.rows).float()
                parts.append(expert_loss(found, batch.target, batch.weight, batch.rows, len(rows)))
        return float(torch.cat(parts).mean()) if parts else float("nan")

    steps = max(1, int(config.passes * len(learnt) / config.batch))
    began, before = time.perf_counter(), distance()
    score = {"before": before, "after": before}
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = config.learning_rate * 0.5 * (1 + np.cos(np.pi * step / steps))
        rows = rng.choice(learnt, min(config.batch, len(learnt)), replace=False)
        batch = _Inputs.of(student, positions.take(rows), kind)
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            with torch.no_grad():
                known = teacher.outcomes(teacher.states(batch.states)).float().softmax(1)
            h = student.states(batch.states)
            found = student.advantages(h, batch.actions, batch.rows).float()
            kept = F.cross_entropy(student.outcomes(h).float(), known)
        apart = expert_loss(found, batch.target, batch.weight, batch.rows, len(rows)).mean()
        loss = 0.01 * apart + config.value * kept
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]  # of torch
        torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        optimiser.step()
        if step % 100 == 99 or step == steps - 1:
            score = {
                "step": step + 1,
                "steps": steps,
                "learned": float(apart.detach()),
                "before": before,
                "after": distance(),
                "seconds": time.perf_counter() - began,
            }
            if progress is not None:
                progress(score)
    return student, score


def trainable_network(path: str | Path | None = None) -> QNetwork:
    """Return the network of a checkpoint, by default the shipped one, to learn further.

    Raises CheckpointError if the checkpoint is damaged or foreign.
    """
    tensors, description = read_checkpoint(SHIPPED if path is None else path, features=LAYOUTS)
    network = QNetwork(NetworkConfig.from_json(description["network"]))
    prefix = "network."
    network.load_state_dict(
        {
            name.removeprefix(prefix): torch.from_numpy(value.astype(np.float32))
            for name, value in tensors.items()
            if name.startswith(prefix)
        }
    )
    return network


def save_network(
    path: str | Path, network: QNetwork, source: str | Path | None, notes: dict[str, object]
) -> None:
    """Write a network in half precision, with all else that the checkpoint `source` holds for play."""
    tensors, description = read_checkpoint(SHIPPED if source is None else source)
    mine = {f"network.{name}": value.detach().numpy() for name, value in network.state_dict().items()}
    kept = {name: value for name, value in tensors.items() if name.startswith("critic.")} | mine
    halves = {name: value.astype(np.float16) for name, value in kept.items()}
    write_checkpoint(path, halves, description | notes)


if __name__ == "__main__":
    raise SystemExit("the program is gs2 guandan learn")
