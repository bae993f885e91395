"""A run of CFR on a whole public tree: begun or resumed, saved now and then, its policy written last.
Or computed once, in memory, by its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from cfr.policies.policy import PolicyError
from cfr.public.array_file import is_array_file
from cfr.public.policies.policy_file import is_public_policy, save_public_policy
from cfr.public.policies.public_policy import PublicPolicy
from cfr.public.public_solver import CHECKPOINT, PublicSolver, require_memory, solver_bytes
from cfr.public.saved_run import load_checkpoint, save_checkpoint, saved_dtype
from cfr.public.tree import grow_public
from cfr.tree.memory import memory_limit
from cfr.variants import Variant
from games.game import Game, GameError
from games.infosets.factored import FactoredGame
from gs2.policies.policy_spec import computed_by, is_computed
from gs2.policies.profile_worth import worth_of_two
from gs2.policies.solver_run import Settings, SolverRun


def run_file(output: Path) -> Path:
    """Return the file with the state of the run whose policy goes to `output`."""
    return output.with_name(output.name + ".run")


def is_public_output(output: Path) -> bool:
    """Return whether a run goes on on the public tree: by what the output is, else by what is beside it."""
    return is_public_policy(output) if output.exists() else is_array_file(run_file(output), CHECKPOINT)


def forget_run(output: Path) -> None:
    """Delete the state of a run on a public tree beside an output that holds another run now."""
    if is_array_file(run_file(output), CHECKPOINT):
        run_file(output).unlink()


class PublicRun(SolverRun[PublicSolver]):
    """A run on a public tree. Its policy has a file of its own, written last."""

    form, saving = "public", 0.05

    def __init__(self, solver: PublicSolver, settings: Settings, output: Path | None) -> None:
        super().__init__(solver, None if output is None else run_file(output))
        self._settings, self._output = settings, output

    @classmethod
    def begin(cls, game: Game, row: Variant, settings: Settings, output: Path | None) -> PublicRun:
        """Return a run, resumed if its state is there and the settings do not forbid it.

        Raises GameError for a game without a factored form, TooLarge for one that does not fit, PolicyError
        for an output that holds no run to go on with, StateError for another run's state.
        """
        if not isinstance(game, FactoredGame):
            why = getattr(game, "not_factored", "") or "this one has none"
            raise GameError(
                f"{game.name}: the public form is of games that deal each player one secret at the start; "
                f"{why}; use --form listed (see games.infosets.factored)"
            )
        state = None if output is None or settings.fresh else run_file(output)
        there = state is not None and state.exists()
        if output is not None and output.exists() and not settings.fresh:
            if not there:
                raise PolicyError(
                    f"{output}: it holds no run to resume on a public tree; use --fresh to replace it"
                )
            if not is_public_policy(output):
                raise PolicyError(
                    f"{output}: it must be a policy on a public tree for {run_file(output).name} to go on "
                    "from there; it is none; name another output, or use --fresh to replace both"
                )
        tree = grow_public(game)
        dtype = np.dtype({16: np.int16, 32: np.float32}.get(settings.precision or 64, np.float64))
        if settings.precision is None and state is not None and there:
            dtype = saved_dtype(state)
        elif settings.precision is None and solver_bytes(tree, row, dtype) > memory_limit():
            dtype = np.dtype(np.float32)
        require_memory(tree, row, dtype)
        run = cls(PublicSolver(tree, row, dtype=dtype, threads=settings.threads), settings, output)
        if state is not None and there:
            load_checkpoint(state, run._solver)
            run.resumed = True
        return run

    @property
    def precision(self) -> int:
        """Return the bits of a number."""
        return 8 * int(self._solver.dtype.itemsize)

    def _measured(self) -> dict[str, Any]:
        found = self._solver.evaluate()
        return worth_of_two(found.value, found.best_response)

    def save(self) -> None:
        """Save the state."""
        if self.run_file is not None:
            save_checkpoint(self.run_file, self._solver)

    def finish(self, tell: Callable[[str], None] = lambda words: None) -> None:
        """Save the state, and write the policy."""
        super().finish(tell)
        if self._output is not None:
            tell(f"writing {self._output} …")
            save_public_policy(self._output, self._solver, bits=self._settings.bits)


def is_computed_there(game: Game, spec: str) -> TypeGuard[FactoredGame]:
    """Return whether a name stands for a strategy that the public tree of this game can compute."""
    return isinstance(game, FactoredGame) and is_computed(spec)


def computed_policy(
    spec: str, game: FactoredGame, tell: Callable[[str], None] = lambda words: None
) -> PublicPolicy:
    """Return the strategy that `uniform`, `VARIANT:ITERATIONS` or `noise:EPSILON` names, in memory.

    Up to rounding it is the strategy that `policy_from_spec` finds on the listed tree. tell: hears of the
    progress.
    Raises PolicySpecError for another name, TooLarge if the public tree or its solver does not fit.
    """
    wanted = computed_by(spec)
    tree = grow_public(game)
    fits = solver_bytes(tree, wanted.variant, np.float64) <= memory_limit()
    dtype = np.dtype(np.float64 if fits else np.float32)
    blueprint = "a policy file that `gs2 blueprint --form public --precision 16` wrote, "
    require_memory(tree, wanted.variant, dtype, blueprint)
    solver = PublicSolver(tree, wanted.variant, dtype=dtype)
    uniform = PublicPolicy.of(solver) if wanted.even else None
    wanted.run(solver, f"{spec} on the public tree", tell)
    policy = PublicPolicy.of(solver)
    if uniform is None:
        return policy
    first, second = map(wanted.mixed, policy.rows, uniform.rows)
    return PublicPolicy(tree, (first, second), policy.index, note=spec)
