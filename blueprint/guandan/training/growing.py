"""Grow a network without changing what it plays: it remembers, knows hands or is wider, and learns on.

New inputs weigh nothing at first, and nothing listens to new units until training makes it; only a further
residual layer changes play a little from the start. All decisions trained so far stay counted.
Source: function-preserving growth, Chen, Goodfellow and Shlens 2016 (Net2Net).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import numpy as np
import torch

from blueprint.checkpoint import check_description, read_checkpoint, write_checkpoint
from blueprint.guandan import SHIPPED
from blueprint.guandan.network.inputs import LAYOUTS
from blueprint.guandan.network.q_network import Critic, QNetwork
from blueprint.guandan.train_config import NetworkConfig
from games.support.array_types import Array
from games.support.configuration import ConfigError


def grown_tensors(tensors: dict[str, Array], old: NetworkConfig, new: NetworkConfig) -> dict[str, Array]:
    """Return the tensors of a network of configuration `new` that plays and values as that of `old` does.

    tensors: those named `network.*` and `critic.*`.
    Raises ConfigError where something would have to shrink.
    """
    for name in ("state", "blocks", "action", "action_blocks", "critic", "past", "hands", "stakes"):
        if getattr(new, name) < getattr(old, name):
            raise ConfigError(
                f"growing: {name} must be at least {getattr(old, name)}; got {getattr(new, name)}"
            )
    if not old.kind == new.kind == "ours":
        raise ConfigError(f"growing: only networks of the kind 'ours' grow; got {old.kind!r}")
    if bool(old.critic) != bool(new.critic):
        raise ConfigError(f"growing: a critic that is not there cannot grow; got {new.critic}")
    torch.manual_seed(0)  # what new units begin with
    modules: dict[str, torch.nn.Module] = {"network": QNetwork(new)}
    if new.critic:
        modules["critic"] = Critic(new.critic)
    grown: dict[str, Array] = {}
    for prefix, module in modules.items():
        for name, begun in module.state_dict().items():
            key = f"{prefix}.{name}"
            value = begun.numpy().astype(np.float32)
            if key not in tensors:
                # a residual layer more adds little at first: one that added nothing would never learn
                value *= 0.01 if "blocks" in name or "head." in name else 1.0
            else:
                known = np.asarray(tensors[key], np.float32)
                if value.ndim == 2 and name not in ("tower.past", "tower.stakes"):
                    value[: known.shape[0], known.shape[1] :] = 0
                value[tuple(slice(size) for size in known.shape)] = known
            grown[key] = value
    return grown


def grow_checkpoint(source: str | Path | None, target: str | Path, changes: dict[str, Any]) -> NetworkConfig:
    """Write a grown checkpoint from which training goes on; return its configuration.

    source: a checkpoint of the kind "ours", by default the shipped one. changes: of its `NetworkConfig`.
    Raises CheckpointError if the source is damaged or foreign, ConfigError for changes that cannot be.
    """
    path = SHIPPED if source is None else Path(source)
    tensors, description = read_checkpoint(path, features=LAYOUTS)
    check_description(path, description, {"network": dict, "train": dict})
    old = NetworkConfig.from_json(description["network"])
    new = attrs.evolve(old, **changes)
    learned = {k.removeprefix("learned."): v for k, v in tensors.items() if k.startswith("learned.")}
    grown = grown_tensors(tensors, old, new)
    if learned:
        grown |= {f"learned.{k}": v for k, v in grown_tensors(learned, old, new).items()}
    described = description | {"network": new.to_json(), "features": QNetwork(new).features}
    write_checkpoint(target, grown, described)
    return new
