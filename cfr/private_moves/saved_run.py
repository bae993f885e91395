"""Files of runs on the form of private moves: a run goes on exactly, its policy can be read alone."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.engine.resume import StateError, check_iteration
from cfr.private_moves.form import Both, PrivateMovesForm
from cfr.private_moves.kernels import normalize
from cfr.private_moves.solver import PrivateMovesSolver
from cfr.public.array_file import ArrayFile, ArrayFileError, Member, is_array_file, write_arrays

__all__ = ["is_private_run", "load_private_policy", "load_private_run", "save_private_run"]

MAGIC, FORMAT = "gs2-private-moves-cfr", 1


def is_private_run(path: str | Path) -> bool:
    """Return whether a file holds a run on the form of private moves."""
    return is_array_file(path, MAGIC)


def save_private_run(path: str | Path, solver: PrivateMovesSolver) -> None:
    """Write the state of a run. Raises FileProblem if it cannot be written."""
    variant = {name: repr(value) for name, value in asdict(solver.variant).items() if name != "source"}
    meta = {**_description(solver.form), "variant": variant, "iteration": solver.iteration}
    write_arrays(path, meta, [Member.of(name, array) for name, array in _arrays(solver).items()])


def load_private_run(path: str | Path, solver: PrivateMovesSolver) -> None:
    """Bring a solver to the state in a file.

    Raises StateError for another game's or variant's, or a damaged file; the solver is then as it was.
    """
    file = _opened(path, solver.form)
    mine = {name: repr(value) for name, value in asdict(solver.variant).items() if name != "source"}
    if file.meta.get("variant") != mine:
        saved = file.meta.get("variant")
        got = saved.get("name") if isinstance(saved, dict) else saved
        raise StateError(
            f"resume: {path}: variant must be this run's, {mine['name']}; got {got}; resume with what it was "
            "made for, or solve afresh"
        )
    iteration = check_iteration(file.meta.get("iteration"))
    arrays = _arrays(solver)
    found = {name: np.empty_like(array) for name, array in arrays.items()}
    try:
        file.require({name: (array.dtype, array.shape) for name, array in arrays.items()})
        for name, array in found.items():
            file.read_into(name, array)
            if not np.isfinite(array).all():
                raise ArrayFileError(f"{path}: {name} must hold numbers of a run; solve afresh")
    except ArrayFileError as error:
        raise StateError(f"resume: {error}") from None
    for name, array in arrays.items():
        array[:] = found[name]
    solver.resume_at(iteration)


def load_private_policy(path: str | Path, form: PrivateMovesForm) -> Both:
    """Return the average policy of a run in a file, checked. Raises StateError, or names a bad row."""
    file = _opened(path, form)
    found = []
    try:
        for player, side in enumerate(form.sides):
            policy, sums = np.empty(side.n_slots), np.empty(side.n_slots)
            file.read_into(f"policy{player}", policy)
            file.read_into(f"sums{player}", sums)
            normalize(side.first, sums, policy)
            found.append(policy)
    except (ArrayFileError, ValueError) as error:
        raise StateError(f"{error}") from None
    form.check((found[0], found[1]))
    return found[0], found[1]


def _opened(path: str | Path, form: PrivateMovesForm) -> ArrayFile:
    try:
        file = ArrayFile.open(path, MAGIC, FORMAT)
    except ArrayFileError as error:
        raise StateError(f"resume: {error}") from None
    for name, mine in _description(form).items():
        if file.meta.get(name) != mine:
            raise StateError(
                f"{path}: {name} must be {mine!r}; got {file.meta.get(name)!r}; name another file"
            )
    return file


def _description(form: PrivateMovesForm) -> dict[str, Any]:
    return {"magic": MAGIC, "format": FORMAT, "game": form.game.name, "infosets": form.digest()}


def _arrays(solver: PrivateMovesSolver) -> dict[str, NDArray[np.float64]]:
    kept = {"regret": solver.regret, "sums": solver.sums, "policy": solver.policy}
    if solver.variant.predictive:
        kept["prediction"] = solver.prediction
    return {f"{name}{player}": both[player] for name, both in kept.items() for player in (0, 1)}
