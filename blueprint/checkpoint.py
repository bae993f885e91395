"""Checkpoints: one safetensors file with its description inside, replaced atomically.

The header holds the format, configurations, the features' hash, counters, the state of the random generator
and the last evaluation as JSON; the tensors are parameters and, for resuming, the optimiser's moments. The
same JSON is written beside the file for people to read, where no other file lies. Nothing is ever unpickled.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from games.support.array_types import Array
from games.support.files import FileProblem, open_regular, read_bytes, write_bytes, write_text

FORMAT = "gs2-blueprint-1"
MOST_HEADER = 1 << 23
"""Bytes of a header that is read: the library would take 100 MB, all of it as objects. Ours have 100 kB."""
ANEW = "train anew, or use the version that wrote it"
DESCRIPTION = ""
"""Name of the description among the check sums; no tensor is called so."""
_DAMAGED = (
    *(SafetensorError, OSError, ValueError, TypeError, AttributeError, KeyError, OverflowError),
    *(MemoryError, RecursionError),
)


class CheckpointError(ValueError):
    """A file that is no checkpoint, is damaged, or belongs to something else."""


def write_checkpoint(path: str | Path, tensors: dict[str, Array], description: dict[str, Any]) -> None:
    """Write tensors and their description; the file at `path` is whole at every moment.

    tensors: arrays by name. description: anything JSON can hold; "format" is added.
    Raises FileProblem if it cannot be written, CheckpointError as `check_beside`; the checkpoint itself is
    written then.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    description = {"format": FORMAT, **description}
    text = json.dumps(description)
    arrays = {k: np.asarray(v, order="C") for k, v in tensors.items()}
    checks = {DESCRIPTION: zlib.crc32(text.encode())} | {k: _check_sum(v) for k, v in arrays.items()}
    # whole in memory first: the library's own files can be read by their owner alone
    write_bytes(path, save(arrays, {"gs2": text, "checks": json.dumps(checks)}))
    check_beside(path)
    write_text(_description_file(path), json.dumps(description, indent=1) + "\n")


def check_beside(path: str | Path, *, new: Iterable[Path] = ()) -> None:
    """Raise CheckpointError where a checkpoint at `path` would write over a file that is not its own.

    Its description replaces that of a checkpoint, and nothing else. new: files that a run which begins there
    writes besides; none of them may exist.
    """
    for other in new:
        if other.exists():
            raise CheckpointError(
                f"{other}: a new run to {path} writes a file of this name, and there is one; move it away, "
                "or give another output"
            )
    beside = _description_file(Path(path))
    if beside == Path(path):
        raise CheckpointError(f"{path}: a checkpoint's description has this name; give another output")
    if beside.exists() and not _is_description(beside):
        raise CheckpointError(
            f"{beside}: the description of {path} is written there, and there is another file; move it away, "
            "or give another output"
        )


def _description_file(path: Path) -> Path:
    return path.with_suffix(".json")


def _is_description(path: Path) -> bool:
    try:
        found = json.loads(read_bytes(path))
    except (FileProblem, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.get("format") == FORMAT


def _check_sum(array: Array) -> int:
    return zlib.crc32(np.ascontiguousarray(array).data)


def read_checkpoint(
    path: str | Path, *, features: str | tuple[str, ...] | None = None, prefix: str = ""
) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the tensors whose names start with `prefix`, and the description.

    features: hash of the feature layout that the reader has, or of several; None accepts any.
    Raises CheckpointError if the file is missing, damaged, of another format or of another layout, or holds
    numbers that are not finite.
    """
    path = Path(path)
    if not path.is_file():
        raise CheckpointError(
            f"checkpoint: {path} must be a file; none exists there; give a path that exists"
        )
    try:
        with open_regular(path) as opened:
            length = int.from_bytes(opened.read(8), "little")
        if length > MOST_HEADER:
            raise ValueError(f"its header must have at most {MOST_HEADER:,} bytes; it has {length:,}")
        with safe_open(path, "numpy") as file:
            metadata = file.metadata() or {}
            text = metadata.get("gs2", "{}")
            description = json.loads(text)
            if not isinstance(description, dict):
                description = {}
            if description.get("format") != FORMAT:
                raise CheckpointError(
                    f"checkpoint: {path} must have the format {FORMAT}; "
                    f"got {description.get('format')!r}; it was not written by gs2 train"
                )
            if features is not None:
                check_features(path, description, features)
            tensors = {name: file.get_tensor(name) for name in file.keys() if name.startswith(prefix)}  # noqa: SIM118
        _verify(tensors, text, json.loads(metadata.get("checks", "{}")))
    except FileProblem as error:
        raise CheckpointError(f"checkpoint: {error}") from None
    except CheckpointError:
        raise
    except _DAMAGED as error:
        raise CheckpointError(
            f"checkpoint: {path} is damaged ({error}); delete it or use an older one"
        ) from error
    for name, value in tensors.items():
        if value.dtype.kind != "f" or not np.all(np.isfinite(value)):
            raise CheckpointError(
                f"checkpoint: {path} must hold finite numbers; {name} does not; use an older one"
            )
    return tensors, description


def _verify(tensors: dict[str, Array], text: str, checks: Any) -> None:
    """Raise ValueError where check sums, which files of older versions lack, do not agree."""
    if not isinstance(checks, dict):
        raise ValueError("its check sums are none")
    found = {DESCRIPTION: zlib.crc32(text.encode())} | {k: _check_sum(v) for k, v in tensors.items()}
    for name, value in found.items():
        if checks and checks.get(name) != value:
            raise ValueError(f"{name or 'its description'} has changed since it was written")


def tensors_behind(
    path: str | Path, tensors: Mapping[str, Array], prefix: str, shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, Array]:
    """Return the tensors whose names start with a prefix, without it.

    Raises CheckpointError unless there is one of each shape, by name, and no other.
    """
    found = {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
    for name in sorted({*shapes, *found}):
        shape = found[name].shape if name in found else "none"
        if shape != shapes.get(name):
            rule = f"must have shape {shapes[name]}" if name in shapes else "must not be there"
            raise CheckpointError(f"checkpoint: {path}: {prefix}{name} {rule}; got {shape}; {ANEW}")
    return found


def check_description(path: str | Path, description: dict[str, Any], kinds: dict[str, type]) -> None:
    """Raise CheckpointError unless a description has fields of these names and types.

    A float may be written as a whole number; numbers must be finite and at least 0.
    """
    for name, kind in kinds.items():
        if name not in description:
            raise CheckpointError(f"checkpoint: {path} must describe a run; {name} is missing; {ANEW}")
        value = description[name]
        numeric = kind in (int, float)
        fits = isinstance(value, int | float if kind is float else kind) and isinstance(value, bool) <= (
            kind in (bool, object)
        )
        if not fits or (numeric and not 0 <= value < float("inf")):
            wanted = "a number of at least 0" if numeric else kind.__name__
            raise CheckpointError(f"checkpoint: {path}: {name} must be {wanted}; got {str(value)[:80]}")


def check_features(path: str | Path, description: dict[str, Any], features: str | tuple[str, ...]) -> None:
    """Raise CheckpointError unless a checkpoint was trained on inputs of one of these names."""
    known = (features,) if isinstance(features, str) else features
    if description.get("features") not in known:
        raise CheckpointError(
            f"checkpoint: {path} was trained on features {description.get('features')!r}, this "
            f"version has {' and '.join(map(repr, known))}; {ANEW}"
        )
