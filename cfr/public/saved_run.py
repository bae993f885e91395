"""Saving an unfinished run on a public tree or of private moves, and going on exactly where it stopped.

    save_checkpoint("liars.run", solver)
    load_checkpoint("liars.run", solver)        # a new solver of the same game, variant and dtype

The file holds regrets, predictions, sums and stamps as they are, and with which private states a player
learns, so the iterates after a break are the same to the bit. It appears whole or not at all, and neither way
is an array held twice.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cfr.engine.resume import StateError, check_iteration
from cfr.engine.simd import LEAST_EXPONENT, MOST_EXPONENT
from cfr.public.array_file import ArrayFile, ArrayFileError, Member, pieces_of, write_arrays
from cfr.public.public_solver import CHECKPOINT, FORMAT, SCALES


class Run(Protocol):
    """A solver whose run can be saved.

    describe: what must be the same for a run to go on; "magic" and "format" say what its file is. kept: the
    arrays that it goes on from, by name. resume_at: takes these for those after so many iterations.
    restart: begins anew.
    """

    iteration: int

    def describe(self) -> dict[str, Any]: ...

    def kept(self) -> dict[str, NDArray[Any]]: ...

    def resume_at(self, iteration: int) -> None: ...

    def restart(self) -> None: ...


def save_checkpoint(path: str | Path, solver: Run) -> None:
    """Write the state of a run. Raises FileProblem if it cannot be written."""
    members = [Member.of(name, array) for name, array in solver.kept().items()]
    write_arrays(path, solver.describe() | {"iteration": solver.iteration}, members)


def load_checkpoint(path: str | Path, solver: Run) -> None:
    """Bring a solver to the state in a file; `solver.run` then goes on as if there had been no break.

    Raises StateError for another game, tree, variant or dtype, or a damaged file, of which no number is kept:
    the solver is as it was, or begins anew. FileNotFoundError if there is no file, FileProblem if it may not
    be read.
    """
    told = solver.describe()
    file = _opened(path, told["magic"], told["format"])
    for name, value in told.items():
        mine, saved = _spelt(value), _spelt(value if name == "format" else file.meta.get(name))
        if saved != mine:
            shown, got = _shown(mine, saved), _shown(saved, mine)
            raise StateError(
                f"resume: {path}: {name} must be this run's, {shown}; got {got}; resume "
                "with what it was made for, or solve afresh"
            )
    iteration = check_iteration(file.meta.get("iteration"))
    arrays = solver.kept()
    if file.meta["format"] == 1:  # of public trees, where every private state learnt, and none said so
        arrays = {name: array for name, array in arrays.items() if not name.startswith("free")}
    try:
        file.require({name: (array.dtype, array.shape) for name, array in arrays.items()})
    except ArrayFileError as error:
        raise StateError(f"resume: {error}") from None
    solver.restart()
    try:
        for name, array in arrays.items():
            file.read_into(name, array)
            _require_sound(path, name, array, iteration)
        solver.resume_at(iteration)
    except BaseException as error:
        solver.restart()
        if isinstance(error, ArrayFileError):
            raise StateError(f"resume: {error}") from None
        raise


def saved_dtype(path: str | Path) -> np.dtype[Any]:
    """Return the type of what a saved run keeps, as of `PublicSolver`. Raises StateError if it is none."""
    kinds: dict[Any, np.dtype[Any]] = {"float32": np.dtype(np.float32), "int16": np.dtype(np.int16)}
    return kinds.get(_opened(path, CHECKPOINT, FORMAT).meta.get("dtype"), np.dtype(np.float64))


def _opened(path: str | Path, magic: str, newest: int) -> ArrayFile:
    try:
        return ArrayFile.open(path, magic, newest)
    except ArrayFileError as error:
        raise StateError(f"resume: {error}") from None


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
        elif name.endswith(SCALES):
            sound = piece.min() >= LEAST_EXPONENT and piece.max() <= MOST_EXPONENT
        else:
            sound = np.isfinite(piece).all()
        if not sound:
            raise StateError(f"resume: {path}: {name} must hold numbers of a run; solve afresh")
