"""Saving an unfinished run of a `PublicSolver`, and going on exactly where it stopped.

    save_checkpoint("liars.run", solver)
    load_checkpoint("liars.run", solver)        # a new solver of the same game, variant and dtype

The file holds regrets, predictions, sums and stamps as they are, and with which private states a player
learns, so the iterates after a break are the same to the bit. It appears whole or not at all, and neither way
is an array held twice.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.engine.resume import StateError, check_iteration
from cfr.engine.simd import LEAST_EXPONENT, MOST_EXPONENT
from cfr.public.array_file import ArrayFile, ArrayFileError, Member, pieces_of, raw_bytes, write_arrays
from cfr.public.public_solver import PublicSolver
from cfr.public.tree import PublicTree

__all__ = ["CHECKPOINT", "load_checkpoint", "save_checkpoint", "saved_dtype", "tree_digest"]

CHECKPOINT = "gs2-public-cfr"
"""What a checkpoint says that it is."""
FORMAT = 2
"""In format 1 every private state learnt, and none said so."""
_KEPT = ("regret", "prediction", "sums", "stamp", "free")
_SCALES = "_exponents"


def tree_digest(tree: PublicTree) -> str:
    """Return a fingerprint of a public tree's shape: who acts where, with how many actions, leading where."""
    found = 0
    for array in (tree.player, tree.first_edge, tree.child):
        found = zlib.crc32(raw_bytes(np.ascontiguousarray(array)), found)
    return f"{found:08x}"


def save_checkpoint(path: str | Path, solver: PublicSolver) -> None:
    """Write the state of a run. Raises FileProblem if it cannot be written."""
    members = [Member.of(name, array) for name, array in _arrays(solver).items()]
    write_arrays(path, _description(solver) | {"iteration": solver.iteration}, members)


def load_checkpoint(path: str | Path, solver: PublicSolver) -> None:
    """Bring a solver to the state in a file; `solver.run` then goes on as if there had been no break.

    Raises StateError for another game, tree, variant or dtype, or a damaged file, of which no number is kept:
    the solver is as it was, or begins anew. FileNotFoundError if there is no file, FileProblem if it may not
    be read.
    """
    file = _opened(path)
    for name, mine in _description(solver).items():
        saved = FORMAT if name == "format" else _spelt(file.meta.get(name))
        if saved != mine:
            shown, got = _shown(mine, saved), _shown(saved, mine)
            raise StateError(
                f"resume: {path}: {name} must be this run's, {shown}; got {got}; resume "
                "with what it was made for, or solve afresh"
            )
    iteration = check_iteration(file.meta.get("iteration"))
    arrays = _arrays(solver)
    if file.meta["format"] == 1:
        arrays = {name: array for name, array in arrays.items() if not name.startswith("free")}
    try:
        file.require({name: (array.dtype, array.shape) for name, array in arrays.items()})
    except ArrayFileError as error:
        raise StateError(f"resume: {error}") from None
    try:
        for side in solver.sides:
            side[5][:] = 1
        for name, array in arrays.items():
            file.read_into(name, array)
            _require_sound(path, name, array, iteration)
        solver.resume_at(iteration)
    except BaseException as error:
        for name, array in arrays.items():
            array[:] = name.startswith("free")
        solver.resume_at(0)
        if isinstance(error, ArrayFileError):
            raise StateError(f"resume: {error}") from None
        raise


def saved_dtype(path: str | Path) -> np.dtype[Any]:
    """Return the type of what a saved run keeps, as of `PublicSolver`. Raises StateError if it is none."""
    kinds: dict[Any, np.dtype[Any]] = {"float32": np.dtype(np.float32), "int16": np.dtype(np.int16)}
    return kinds.get(_opened(path).meta.get("dtype"), np.dtype(np.float64))


def _opened(path: str | Path) -> ArrayFile:
    try:
        return ArrayFile.open(path, CHECKPOINT, FORMAT)
    except ArrayFileError as error:
        raise StateError(f"resume: {error}") from None


def _description(solver: PublicSolver) -> dict[str, Any]:
    """Return what must be the same for a run to go on."""
    tree, variant = solver.tree, solver.variant
    numbers = {
        **{name: repr(float(getattr(variant, name))) for name in ("alpha", "beta", "gamma")},
        **{name: repr(bool(getattr(variant, name))) for name in ("clip", "predictive", "alternating")},
    }
    return {
        "magic": CHECKPOINT,
        "format": FORMAT,
        "game": tree.game.name,
        "variant": {"name": variant.name, **numbers},
        "dtype": solver.dtype.name,
        "nodes": len(tree),
        "private states": list(tree.n_private),
        "tree": tree_digest(tree),
    }


def _arrays(solver: PublicSolver) -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = {}
    for player, (regret, prediction, sums, stamp, _, free, *_) in enumerate(solver.sides):
        for name, array in zip(_KEPT, (regret, prediction, sums, stamp, free), strict=True):
            if isinstance(array, tuple):
                array, found[f"{name}{player}{_SCALES}"], _ = array
            found[f"{name}{player}"] = array
    return found


def _spelt(value: Any) -> Any:
    """Return what a file says of a run with whole numbers spelt as floats, as they once were not."""
    if not isinstance(value, dict):
        return value
    found = {}
    for name, text in value.items():
        try:
            found[name] = repr(float(text))
        except (TypeError, ValueError):
            found[name] = text
    return found


def _shown(value: Any, other: Any) -> str:
    """Return a value in words: a variant's name, with the numbers that another of that name has otherwise."""
    if not isinstance(value, dict) or "name" not in value:
        return repr(value)
    if not isinstance(other, dict) or other.get("name") != value["name"]:
        return str(value["name"])
    own = [f"{name}={value.get(name)}" for name in value | other if other.get(name) != value.get(name)]
    return f"{value['name']} with {', '.join(own)}"


def _require_sound(path: str | Path, name: str, array: NDArray[Any], iteration: int) -> None:
    """Raise StateError unless an array holds what a run can."""
    for piece in pieces_of(array):
        if name.startswith("stamp"):
            sound = piece.min() >= 0 and piece.max() <= iteration
        elif name.startswith("free"):
            sound = np.isin(piece, (0, 1)).all()
        elif name.endswith(_SCALES):
            sound = piece.min() >= LEAST_EXPONENT and piece.max() <= MOST_EXPONENT
        else:
            sound = np.isfinite(piece).all()
        if not sound:
            raise StateError(f"resume: {path}: {name} must hold numbers of a run; solve afresh")
