"""Checkpoints: one safetensors file with its description inside, replaced atomically.

The header holds the format, configurations, the features' hash, counters, the state of the random generator
and the last evaluation as JSON; the tensors are parameters and, for resuming, the optimiser's moments. The
same JSON is written beside the file for people to read. Nothing is ever unpickled.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

__all__ = ["FORMAT", "SHIPPED", "CheckpointError", "check_features", "read_checkpoint", "write_checkpoint"]

FORMAT = "gs2-blueprint-1"
SHIPPED = Path(__file__).parent / "weights" / "guandan.safetensors"
"""The checkpoint that comes with the package."""


class CheckpointError(ValueError):
    """A file that is no checkpoint, is damaged, or belongs to something else."""


def write_checkpoint(path: str | Path, tensors: dict[str, NDArray], description: dict[str, Any]) -> None:
    """Write tensors and their description; the file at `path` is whole at every moment.

    tensors: arrays by name. description: anything JSON can hold; "format" is added.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    description = {"format": FORMAT, **description}
    text = json.dumps(description)
    temporary = path.with_name(path.name + ".part")
    # whole in memory first: the library's own files can be read by their owner alone
    content = save({k: np.asarray(v, order="C") for k, v in tensors.items()}, {"gs2": text})
    with open(temporary, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    readable = path.with_suffix(".json.part")
    readable.write_text(json.dumps(description, indent=1) + "\n")
    os.replace(readable, path.with_suffix(".json"))


def read_checkpoint(
    path: str | Path, *, features: str | None = None, prefix: str = ""
) -> tuple[dict[str, NDArray], dict[str, Any]]:
    """Return the tensors whose names start with `prefix`, and the description.

    features: hash of the feature layout that the reader has; None accepts any.
    Raises CheckpointError if the file is missing, damaged, of another format or of another layout.
    """
    path = Path(path)
    if not path.is_file():
        raise CheckpointError(f"checkpoint: {path} must be a file; there is none; give a path that exists")
    try:
        with safe_open(path, "numpy") as file:
            metadata = file.metadata() or {}
            description = json.loads(metadata.get("gs2", "{}"))
            if description.get("format") != FORMAT:
                raise CheckpointError(
                    f"checkpoint: {path} must have the format {FORMAT}; "
                    f"got {description.get('format')!r}; it was not written by gs2 train"
                )
            if features is not None:
                check_features(path, description, features)
            tensors = {name: file.get_tensor(name) for name in file.keys() if name.startswith(prefix)}  # noqa: SIM118
    except (SafetensorError, OSError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise CheckpointError(
            f"checkpoint: {path} is damaged ({error}); delete it or use an older one"
        ) from error
    return tensors, description


def check_features(path: str | Path, description: dict[str, Any], features: str) -> None:
    """Raise CheckpointError unless a checkpoint was trained on the inputs called `features`."""
    if description.get("features") != features:
        raise CheckpointError(
            f"checkpoint: {path} was trained on features {description.get('features')!r}, this "
            f"version has {features!r}; train anew or use the version that wrote it"
        )
