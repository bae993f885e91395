"""Inference-only checkpoints: what a network needs to play and to value, a sixth of a training checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from blueprint.checkpoint import GUANDAN, CheckpointError, read_checkpoint, write_checkpoint
from blueprint.climbing.move_config import CLIMBING
from games.support.array_types import Array

__all__ = ["LIMIT", "check_export", "export_checkpoint"]

LIMIT = 8_000_000
"""Most bytes that a shipped file may have."""
PARTS = {GUANDAN: ("network.", "critic."), CLIMBING: ("network.",)}
"""What is shipped, by the kind of network; GuanDan's critic lets others go on with its training."""
KEPT = (
    "kind",
    "game",
    "features",
    "network",
    "train",
    "config",
    "stake",
    "generation",
    "decisions",
    "rounds",
    "seconds",
    "processor_seconds",
    "machine",
    "evaluation",
)


def export_checkpoint(
    source: str | Path, target: str | Path, *, notes: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the description of the inference-only checkpoint written to `target`.

    source: a checkpoint of training, of GuanDan or of a climbing game. What plays, and GuanDan's critic, are
    kept in half precision (11 bits, more than the 8 that inference multiplies with where the processor has
    such units); the optimiser's moments and the state of the random generator are not.
    notes: added to the description, for example results of matches.
    Raises CheckpointError if the source is damaged or foreign, holds weights that half precision cannot, or
    would not fit in `LIMIT` bytes.
    """
    halves, description = _halves(source)
    kept = {key: description[key] for key in KEPT if key in description} | {"export": "float16"}
    write_checkpoint(target, halves, kept | (notes or {}))
    return kept | (notes or {})


def check_export(source: str | Path) -> None:
    """Raise what `export_checkpoint` would raise of its source."""
    _halves(source)


def _halves(source: str | Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return what is shipped of a checkpoint, in half precision, and its description."""
    tensors, description = read_checkpoint(source)
    kind = description.get("kind", description.get("game", GUANDAN))
    if kind not in PARTS:
        raise CheckpointError(
            f"export: {source} must be a network of {', '.join(PARTS)}; got {kind!r}; others play from their "
            "own files"
        )
    parts = PARTS[kind]
    halves: dict[str, Array] = {}
    for name, value in tensors.items():
        if not name.startswith(parts):
            continue
        if not np.all(np.abs(value) < np.finfo(np.float16).max):
            raise CheckpointError(f"export: {name} of {source} must be within ±65504; train with less rate")
        halves[name] = value.astype(np.float16)
    if not halves:
        raise CheckpointError(f"export: {source} must hold a network; it has no tensor {parts[0]}*")
    size = sum(value.nbytes for value in halves.values())
    if size > LIMIT:
        raise CheckpointError(
            f"export: a shipped network may have {LIMIT} bytes; got {size}; train a smaller one"
        )
    return halves, description
