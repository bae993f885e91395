"""What every learner holds, networks, running means of their weights and an optimiser; and how it learns."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from blueprint.checkpoint import tensors_behind
from blueprint.layers.bfloat import native_half
from blueprint.paper_parts import paper_part
from blueprint.soft_choices import TopChoices
from games.support.array_types import Array, Ints

Losses = dict[str, Tensor]
"""Mean losses of a part of a batch, by name."""


class BaseLearner:
    """A network, perhaps with a critic, and their optimiser.

    A kind of learner says what it learns from (`batches`), what is lost on it (`losses`), at which `rate`,
    and how far the means `follow` the weights. weighed: weights of losses by name, 1 if it is not there.
    config: of training. temperature: at which a policy plays and learns. half: whether passes take half
    precision, which pays where the processor multiplies it natively.
    mean_network, mean_critic: play and value; running means of the weights, or the modules that learn
    themselves. parameters: of both, in the order in which the optimiser has them.
    rng: of the batches of a generation. memory: generations that are learned from; replay: parts of those
    before. most: decisions of a pass at once, None for all. in_order: whether a batch is in the order of
    play. longest: length to which a gradient is cut.
    """

    config: Any
    rng: np.random.Generator
    temperature = 1.0
    longest = 5.0
    memory = 1
    most: int | None = None
    in_order = True

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
        self.half = self.device.type == "cuda" or native_half()
        self.mean_network = copy.deepcopy(network) if means[0] else network
        self.mean_critic = copy.deepcopy(critic) if means[1] else critic
        parts: list[dict[str, Any]] = [{"params": own, "factor": factor} for own, factor in groups if own]
        self.parameters: list[Tensor] = [value for part in parts for value in part["params"]]
        self.optimiser = torch.optim.Adam(parts, eps=eps, fused=True)
        self.replay: list[Any] = []
        self.weighed: dict[str, float] = {"value": 0.5}

    def _modules(self) -> Iterator[tuple[str, Any, Any]]:
        """Yield the name, the mean and the module of each part."""
        yield "network", self.mean_network, self.network
        if self.critic is not None:
            yield "critic", self.mean_critic, self.critic

    def precision(self) -> torch.autocast:
        """Return the context under which forward passes run."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.half)

    def tensor(self, array: Array) -> Tensor:
        """Return inputs as a tensor; bytes travel as bytes and widen on the device."""
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device).to(self.dtype)

    @property
    def dtype(self) -> torch.dtype:
        """Precision of inputs and of play."""
        return torch.bfloat16 if self.half else torch.float32

    def losses(self, samples: Any) -> Losses:
        """Return the mean losses of samples, of which a step lowers the weighted sum."""
        raise NotImplementedError

    def rate(self, samples: Any, decisions: int) -> float:
        """Return the learning rate of a batch. decisions: trained so far."""
        return float(self.config.rate_at(decisions))

    def batches(self, parts: Sequence[Any], number: int, rng: np.random.Generator) -> Iterator[Any]:
        """Yield so many batches of some generations."""
        size = min(self.config.batch, sum(map(len, parts)))
        return batches(parts, size, number, rng, in_order=self.in_order)

    def steps(self, fresh: Sequence[Any]) -> int:
        """Return how many gradient steps are taken for the parts of a generation."""
        return int(max(1, round(self.config.passes * sum(map(len, fresh)) / self.config.batch)))

    def remembered(self, fresh: list[Any]) -> list[Any]:
        """Return what is learned from: the parts of a generation, and of those before."""
        parts = [*self.replay, *fresh][-self.memory * len(fresh) :]
        self.replay = parts[max(0, len(parts) - (self.memory - 1) * len(fresh)) :]
        return parts

    def learn(
        self, fresh: list[Any], rng: np.random.Generator, decisions: int, span: int
    ) -> dict[str, float]:
        """Take the gradient steps of a generation; return mean losses.

        fresh: its parts. decisions: trained so far; span: of these, forced ones included, in this generation.
        """
        number, found, self.rng = self.steps(fresh), list[Losses](), rng
        for batch in self.batches(self.remembered(fresh), number, rng):
            found.append(self.descend(batch, self.rate(batch, decisions)))
            self.follow(self.lag(decisions, span / number))
        return {
            name: float(torch.stack([one[name] for one in found]).cpu().numpy().mean()) for name in found[0]
        }

    def descend(
        self, samples: Any, rate: float, losses: Callable[[Any], Losses] | None = None
    ) -> dict[str, Tensor]:
        """Take a gradient step on a batch; return its mean losses, float64. losses: of a part of it."""
        self.optimiser.zero_grad(set_to_none=True)
        n, sums = len(samples), dict[str, Any]()
        size = self.most or n
        for low in range(0, n, size):
            part = samples if n <= size else samples.take(slice(low, min(low + size, n)))
            share = len(part) / n
            with torch.enable_grad(), self.precision():
                found = (losses or self.losses)(part)
                total: Any = sum(self.weighed.get(name, 1.0) * loss for name, loss in found.items())
            (share * total).backward()
            for name, loss in found.items():
                sums[name] = sums.get(name, 0.0) + share * loss.detach().double()
        for group in self.optimiser.param_groups:
            group["lr"] = rate * group["factor"]
        if self.longest < math.inf:
            torch.nn.utils.clip_grad_norm_(self.parameters, self.longest)
        self.optimiser.step()
        return sums

    def played(
        self, h: Tensor, moves: Tensor, choices: TopChoices, target: Tensor, weight: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return A of the moves that a policy played, [n], and its loss over those that it chose among.

        h: [n, width] of the decisions. moves: [m, inputs] of `choices.there()`. target, weight: [n], as of
        `policy_loss`.
        """
        there = choices.there()
        of = torch.from_numpy(np.nonzero(there)[0]).to(self.device)
        found = self.network.advantages(h, moves, of).float()
        each = found.new_zeros(there.shape).masked_scatter(torch.from_numpy(there).to(self.device), found)
        picked = torch.from_numpy(choices.picked).to(self.device)[:, None]
        at = self.temperature, self.config.policy_clip, self.config.policy_price
        loss = paper_part("policy loss")(each, choices, target, at, weight).mean()
        return each.gather(1, picked)[:, 0], loss

    def lag(self, decisions: int, span: float) -> float:
        """Return the share of the way that the means move after a step; arguments as of `looking_back`."""
        return looking_back(self.config.average, decisions, span)

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

        Raises CheckpointError where they are not this learner's, or not all of them are known.
        """
        known = ("network.", "critic.", "learned.network.", "learned.critic.", "optimiser.")
        tensors_behind(path, {k: v for k, v in tensors.items() if not k.startswith(known)}, "", {})
        for name, mean, module in self._modules():
            learned = f"learned.{name}."
            moments = "optimiser." if mean is not module else learned  # of the weights that learn
            goes_on = any(key.startswith((learned, moments)) for key in tensors)
            load_module(mean, tensors, f"{name}.", path)
            load_module(module, tensors, learned if goes_on else f"{name}.", path)
        state = self.optimiser.state_dict()
        state["state"] = self._moments(tensors, path)
        self.optimiser.load_state_dict(state)

    def start_from(self, tensors: dict[str, Array]) -> bool:
        """Take the weights `network.*` of another network of the same layers; return whether it was one.

        Its critic, `critic.*`, comes along where it has the layers of the own one.
        """
        for name, mean, module in self._modules():
            own = module.state_dict()
            found = {key: tensors.get(f"{name}.{key}") for key in own}
            extra = sum(key.startswith(f"{name}.") for key in tensors) > len(own)
            if extra or any(v is None or v.shape != own[key].shape for key, v in found.items()):
                return name != "network"
            for part in (module, mean):
                part.load_state_dict({key: torch.tensor(np.array(v, np.float32)) for key, v in found.items()})
        return True

    def _moments(self, tensors: dict[str, Array], path: str | Path) -> dict[int, dict[str, Tensor]]:
        """Return the optimiser's moments in a checkpoint by parameter; none where it holds none."""
        moments: dict[int, dict[str, Tensor]] = {}
        if not any(name.startswith("optimiser.") for name in tensors):
            return moments
        shapes: dict[str, tuple[int, ...]] = {}
        for number, parameter in enumerate(self.parameters):
            shape = tuple(parameter.shape)
            shapes |= {f"{number}.step": (), f"{number}.exp_avg": shape, f"{number}.exp_avg_sq": shape}
        for name, array in tensors_behind(path, tensors, "optimiser.", shapes).items():
            of, _, moment = name.partition(".")
            moments.setdefault(int(of), {})[moment] = torch.from_numpy(np.array(array)).to(self.device)
        return moments


def arrays_of(module: torch.nn.Module, prefix: str = "") -> dict[str, Array]:
    """Return copies of a module's parameters in single precision, by their names behind a prefix."""
    return {f"{prefix}{name}": _copied(value) for name, value in module.state_dict().items()}


def _copied(value: Tensor) -> Array:
    return np.asarray(value.detach().to("cpu", torch.float32, copy=True).numpy())


def load_module(module: torch.nn.Module, tensors: dict[str, Array], prefix: str, path: str | Path) -> None:
    """Give a module the arrays behind a prefix; raise CheckpointError where they are not its own."""
    shapes = {name: tuple(value.shape) for name, value in module.state_dict().items()}
    found = tensors_behind(path, tensors, prefix, shapes)
    module.load_state_dict({k: torch.from_numpy(np.array(v)) for k, v in found.items()})


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


def batches(
    parts: Sequence[Any], size: int, number: int, rng: np.random.Generator, *, in_order: bool = True
) -> Iterator[Any]:
    """Yield `number` batches of `size` decisions of some `Columns` without repeats until all were seen."""
    ends = np.cumsum([len(part) for part in parts])
    for rows in drawn_rows(int(ends[-1]), size, number, rng):
        picked = np.sort(rows) if in_order else rows
        which = np.searchsorted(ends, picked, side="right")
        found = [
            part.take(picked[which == k] - (ends[k] - len(part)))
            for k, part in enumerate(parts)
            if np.any(which == k)
        ]
        yield found[0] if len(found) == 1 else type(found[0]).joined(found)
