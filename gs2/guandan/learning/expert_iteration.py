"""Teach a network what search found: its advantages move towards the searched ones, the rest stays.

`gs2 guandan learn CHECKPOINT POSITIONS... -o FILE`

The critic stays as it is. Source: expert iteration, Anthony, Tian and Barber 2017.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import ClassVar

import attrs
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from blueprint.checkpoint import read_checkpoint, write_checkpoint
from blueprint.guandan import SHIPPED
from blueprint.guandan.network.inputs import LAYOUTS
from blueprint.guandan.network.q_network import QNetwork
from blueprint.guandan.train_config import NetworkConfig
from blueprint.guandan.training.supervised import Progress, fit, half_precision, tensors_of
from blueprint.learning.learner import arrays_of, load_module
from blueprint.protocol import Decisions
from games.support.configuration import Configuration, integer, real
from gs2.guandan.learning.searched_positions import PositionsError, SearchedPositions


@attrs.frozen(slots=False)
class ExpertConfig(Configuration):
    """How a network learns from searched positions.

    passes: over all of them. batch: decisions a gradient step. learning_rate: of Adam; it falls to zero along
    a cosine. value: weight of keeping the outcomes' probabilities as they were.
    held_out: share of the searched positions that is only looked at, one at least.
    """

    label: ClassVar[str] = "ExpertConfig"

    passes: float = attrs.field(default=3.0, validator=real(0, above=True))
    batch: int = attrs.field(default=1024, validator=integer(1))
    learning_rate: float = attrs.field(default=2e-4, validator=real(0, above=True))
    value: float = attrs.field(default=1.0, validator=real(0, 1000))
    held_out: float = attrs.field(default=0.05, validator=real(0, 0.5))


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
    progress: Progress | None = None,
) -> tuple[QNetwork, dict[str, float]]:
    """Return a network that has learned from searched positions, and how far it came on those held out.

    The network given stays as it is. The score: squared distance from the searched advantages, in units of
    their variance and per decision searched, before and after.
    Raises PositionsError where nothing can be held out or learned.
    """
    config = config or ExpertConfig()
    torch.manual_seed(int(rng.integers(2**31)))
    student, teacher = copy.deepcopy(network), network
    optimiser = torch.optim.Adam(student.parameters(), lr=config.learning_rate, fused=True)
    searched = rng.permutation(np.flatnonzero(positions.searched))
    held_out = searched[: max(1, int(config.held_out * len(searched)))]
    learnt = np.setdiff1d(np.arange(len(positions)), held_out)
    if not len(held_out) or not len(learnt):
        raise PositionsError(
            "learn: there must be two positions at least, one of them searched, which is held out; got "
            f"{len(positions)}, {len(searched)} searched; search more"
        )

    def apart(at: NDArray[np.int64]) -> tuple[Tensor, Tensor, Tensor]:
        """Return the states of some positions, the student's of them, and the loss of each."""
        some = positions.take(at)
        x, a, rows = tensors_of(student, Decisions.of(some.states, some.actions))
        h = student.states(x)
        found = student.advantages(h, a, rows).float()
        target, weight = (torch.from_numpy(part) for part in (some.target, some.weight))
        return x, h, expert_loss(found, target, weight, rows, len(some))

    def distance() -> float:
        with torch.inference_mode(), half_precision():
            spans = np.split(held_out, range(config.batch, len(held_out), config.batch))
            parts = [apart(rows)[2] for rows in spans]
        return float(torch.cat(parts).mean())

    def loss() -> Tensor:
        rows = rng.choice(learnt, min(config.batch, len(learnt)), replace=False)
        with half_precision():
            x, h, missed = apart(rows)
            with torch.no_grad():
                known = teacher.outcomes(teacher.states(x)).float().softmax(1)
            kept = F.cross_entropy(student.outcomes(h).float(), known)
        learned[0] = missed.mean()
        return 0.01 * learned[0] + config.value * kept

    def rate(step: int) -> float:
        return float(config.learning_rate * 0.5 * (1 + np.cos(np.pi * step / steps)))

    def evaluate(losses: list[float]) -> dict[str, float]:
        told = {"step": len(losses), "steps": steps, "learned": float(learned[0].detach())}
        return {**told, "before": before, "after": distance()}

    learned = [torch.zeros(())]
    steps, before = max(1, int(config.passes * len(learnt) / config.batch)), distance()
    score = fit(optimiser, rate, loss, evaluate, steps, every=100, progress=progress, longest=1.0)
    return student, score


def trainable_network(path: str | Path | None = None) -> QNetwork:
    """Return the network of a checkpoint, by default the shipped one, to learn further.

    Raises CheckpointError if the checkpoint is damaged or foreign.
    """
    path = SHIPPED if path is None else path
    tensors, description = read_checkpoint(path, features=LAYOUTS)
    network = QNetwork(NetworkConfig.from_json(description["network"]))
    load_module(network, tensors, "network.", path)
    return network


def save_taught(
    path: str | Path, network: QNetwork, source: str | Path | None, notes: dict[str, object]
) -> None:
    """Write a network in half precision, with all else that the checkpoint `source` holds for play."""
    tensors, description = read_checkpoint(SHIPPED if source is None else source)
    mine = arrays_of(network, "network.")
    critic = {name: value for name, value in tensors.items() if name.startswith("critic.")}
    halves = {name: value.astype(np.float16) for name, value in (critic | mine).items()}
    write_checkpoint(path, halves, description | notes)
