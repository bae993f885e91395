"""What every learner holds: networks, running means of their weights, their optimiser; and its schedules."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from blueprint.checkpoint import CheckpointError
from games.support.array_types import Array, Ints

__all__ = ["BaseLearner", "arrays_of", "decayed", "drawn_rows", "looking_back"]

LONGEST = 5.0
"""A gradient is cut to this length."""


class BaseLearner:
    """A network, perhaps with a critic, and their optimiser.

    mean_network, mean_critic: play and value; running means of the weights, or the modules that learn
    themselves. parameters: of both, in the order in which the optimiser has them.
    """

    def __init__(
        self,
        network: Any,
        critic: Any,
        groups: Sequence[tuple[Sequence[Tensor], float]],
        *,
        means: tuple[bool, bool],
        eps: float = 1e-6,
        device: torch.device | str = "cpu",
    ) -> None:
        """Take what learns on a device; a critic may be None.

        groups: parameters of the optimiser, with a factor of their learning rate. means: whether the weights
        of the network, and of the critic, have running means. eps: of Adam.
        """
        self.network, self.critic, self.device = network, critic, torch.device(device)
        self.mean_network = copy.deepcopy(network) if means[0] else network
        self.mean_critic = copy.deepcopy(critic) if means[1] else critic
        parts: list[dict[str, Any]] = [{"params": own, "factor": factor} for own, factor in groups if own]
        self.parameters: list[Tensor] = [value for part in parts for value in part["params"]]
        self.optimiser = torch.optim.Adam(parts, eps=eps, fused=True)

    def _modules(self) -> Iterator[tuple[str, Any, Any]]:
        """Yield the name, the mean and the module of each part."""
        yield "network", self.mean_network, self.network
        if self.critic is not None:
            yield "critic", self.mean_critic, self.critic

    def set_rate(self, rate: float) -> None:
        """Set the learning rate of the next steps."""
        for group in self.optimiser.param_groups:
            group["lr"] = rate * group["factor"]

    def step(self, rate: float) -> None:
        """Take a gradient step at a learning rate, along a gradient that is cut to `LONGEST`."""
        self.set_rate(rate)
        torch.nn.utils.clip_grad_norm_(self.parameters, LONGEST)
        self.optimiser.step()

    def follow(self, share: float) -> None:
        """Move the means of the weights by a share of the way to the weights."""
        with torch.no_grad():
            for _, mean, module in self._modules():
                if mean is not module:
                    for slow, fast in zip(mean.parameters(), module.parameters(), strict=True):
                        slow.lerp_(fast, share)

    def tensors(self) -> dict[str, Array]:
        """Return copies of everything that learning goes on from.

        `network.*` and `critic.*` play and value. Where they are means, the weights that learn are
        `learned.network.*` and `learned.critic.*`. `optimiser.K.*` are the moments of parameter K.
        """
        found: dict[str, Array] = {}
        for name, mean, module in self._modules():
            found |= arrays_of(mean, f"{name}.")
            if mean is not module:
                found |= arrays_of(module, f"learned.{name}.")
        for k, held in self.optimiser.state_dict()["state"].items():
            found |= {f"optimiser.{k}.{name}": _copied(value) for name, value in held.items()}
        return found

    def restore(self, tensors: dict[str, Array], path: str | Path) -> None:
        """Go on from the arrays of `tensors`; moments begin anew where there are none.

        Raises CheckpointError where they are not this learner's.
        """
        for name, mean, module in self._modules():
            learned = f"learned.{name}."
            has_learned = any(key.startswith(learned) for key in tensors)
            _load(mean, tensors, f"{name}.", path)
            _load(module, tensors, learned if has_learned else f"{name}.", path)
        state = self.optimiser.state_dict()
        state["state"] = self._moments(tensors, path)
        self.optimiser.load_state_dict(state)

    def _moments(self, tensors: dict[str, Array], path: str | Path) -> dict[int, dict[str, Tensor]]:
        """Return the optimiser's moments in a checkpoint by parameter; none where it holds none."""
        moments: dict[int, dict[str, Tensor]] = {}
        for name, array in tensors.items():
            found = re.fullmatch(r"optimiser\.(\d{1,6})\.(\w+)", name)
            if found:
                value = torch.from_numpy(np.array(array)).to(self.device)
                moments.setdefault(int(found[1]), {})[found[2]] = value
        if len(moments) not in (0, len(self.parameters)):
            raise CheckpointError(
                f"checkpoint: {path} must hold the moments of {len(self.parameters)} parameters; "
                f"got {len(moments)}"
            )
        for index, held in moments.items():
            shapes = {key: tuple(value.shape) for key, value in held.items()}
            wanted = tuple(self.parameters[index].shape) if index < len(moments) else None
            if shapes != {"step": (), "exp_avg": wanted, "exp_avg_sq": wanted}:
                raise CheckpointError(
                    f"checkpoint: {path} must hold step, exp_avg and exp_avg_sq of each parameter in its "
                    f"shape; those of parameter {index} have {shapes}"
                )
        return moments


def arrays_of(module: torch.nn.Module, prefix: str = "") -> dict[str, Array]:
    """Return copies of a module's parameters in single precision, by their names behind a prefix."""
    return {f"{prefix}{name}": _copied(value) for name, value in module.state_dict().items()}


def _copied(value: Tensor) -> Array:
    return np.asarray(value.detach().to("cpu", torch.float32, copy=True).numpy())


def _load(module: torch.nn.Module, tensors: dict[str, Array], prefix: str, path: str | Path) -> None:
    """Give a module the arrays behind a prefix; raise CheckpointError where they are not its own."""
    own = module.state_dict()
    found = {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
    if own.keys() != found.keys():
        raise CheckpointError(
            f"checkpoint: {path} must hold the tensors of its network; "
            f"{prefix}{sorted(own.keys() ^ found.keys())[0]} is missing or unknown"
        )
    for name, value in own.items():
        if tuple(value.shape) != found[name].shape:
            raise CheckpointError(
                f"checkpoint: {path}: {prefix}{name} must have shape {tuple(value.shape)}; "
                f"got {found[name].shape}"
            )
    module.load_state_dict({k: torch.from_numpy(np.array(v)) for k, v in found.items()})


def decayed(start: float, decisions: float, halving: float) -> float:
    """Return what falls as 1 / sqrt(1 + decisions / halving), after so many decisions."""
    return start / math.sqrt(1 + decisions / halving)


def looking_back(average: float, decisions: int, span: float) -> float:
    """Return the share by which a mean moves that looks back on a share `average` of the decisions trained.

    span: decisions played since it moved last.
    """
    return min(1.0, span / max(average * decisions, 1e-9))


def drawn_rows(total: int, size: int, number: int, rng: np.random.Generator) -> Iterator[Ints]:
    """Yield the rows of `number` batches of `size` out of `total`, without repeats until all were seen."""
    order, at = rng.permutation(total), 0
    for _ in range(number):
        if at + size > total:
            order, at = rng.permutation(total), 0
        yield order[at : at + size]
        at += size
