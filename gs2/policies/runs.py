"""Runs of CFR on a whole game: begun or resumed, saved now and then, on each exact form that a game has.

The listed tree may have locked infosets. Runs on a public tree write their policy last, into a file of its
own; those on private moves save it with their state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from cfr.policies.lock import LockedTree, load_lock
from cfr.policies.policy import Policy, PolicyError, load_policy, load_state, save_policy, tabular_policy
from cfr.policies.policy_words import policy_words, save_policy_json
from cfr.private_moves.form import list_private_moves
from cfr.private_moves.solver import PrivateMovesSolver, is_private_run
from cfr.public.array_file import is_array_file
from cfr.public.policies.policy_file import is_public_policy, save_public_policy
from cfr.public.public_solver import CHECKPOINT, PublicSolver, require_memory, solver_bytes
from cfr.public.saved_run import load_checkpoint, save_checkpoint, saved_dtype
from cfr.public.tree import grow_public
from cfr.sequence_form import is_two_sided, sequence_form
from cfr.solver import Solver
from cfr.tree import FlatTree
from cfr.tree.memory import memory_limit
from cfr.tree_cfr import TreeSolver
from cfr.variants import Variant
from games.game import Game, GameError
from games.infosets.factored import FactoredGame
from games.infosets.private_moves import PrivateMovesGame
from gs2.policies.profile_worth import no_promise, profile_worth, worth_of_two


@dataclass(frozen=True)
class LockChoice:
    """What --lock and --lock-seat say.

    file: a policy. seat: whose infosets are locked; None for all that the file has.
    """

    file: Path
    seat: int | None

    def read(self, game: Game, tree: FlatTree | None = None) -> Policy:
        """Return the lock. tree: the game's, with its states. Raises as `load_lock`."""
        return load_lock(self.file, game, tree, seat=self.seat)


@dataclass(frozen=True)
class Settings:
    """How a run is done.

    precision: bits of a number on a public tree, 16, 32 or 64; None for those of a resumed run, else 64, or
    32 where that alone fits.
    bits: of a probability in a public policy's file. threads: None for all cores. fresh: begin anew,
    whatever the output holds. lock: of a run on the listed tree, None for none.
    """

    precision: int | None = None
    bits: int = 32
    threads: int | None = None
    fresh: bool = False
    lock: LockChoice | None = None


S = TypeVar("S", bound=Solver | TreeSolver | PublicSolver | PrivateMovesSolver)


class SolverRun(ABC, Generic[S]):
    """A run under way.

    run_file: where its state is saved; None where nothing is. resumed: whether it goes on from there.
    saving: most of the time that goes into saves on the way; where one takes long, they come less often.
    notice: what to know of it before it goes on, in words. precision: bits of a number.
    """

    form: ClassVar[str]
    saving: ClassVar[float] = 0.2
    notice = ""
    precision = 64

    def __init__(self, solver: S, run_file: Path | None) -> None:
        self._solver, self.run_file, self.resumed = solver, run_file, False
        self._worth: tuple[int, dict[str, Any]] | None = None

    @property
    def iteration(self) -> int:
        """Return the iterations done so far."""
        return self._solver.iteration

    @property
    def about(self) -> dict[str, Any]:
        """Return what there is to say of the run itself, as JSON says it."""
        return {"precision": self.precision, "run_file": str(self.run_file) if self.run_file else None}

    def run(self, n: int) -> None:
        """Run `n` more iterations."""
        self._solver.run(n)

    def worth(self) -> dict[str, Any]:
        """Return what the average policies are worth now, as JSON says it."""
        if self._worth is None or self._worth[0] != self.iteration:
            self._worth = self.iteration, self._measured()
        return self._worth[1]

    def exploitability(self) -> float:
        """Return the average policies' NashConv / 2, in payoffs."""
        return float(self.worth()["exploitability"])

    @abstractmethod
    def _measured(self) -> dict[str, Any]: ...

    @abstractmethod
    def save(self) -> None:
        """Save the state."""

    def finish(self, tell: Callable[[str], None] = lambda words: None) -> None:
        """Save the state, and write the policy. tell: hears what is being written."""
        if self.run_file is not None:
            tell(f"saving {self.run_file} …")
        self.save()


class ListedRun(SolverRun[Solver | TreeSolver]):
    """A run on the listed tree. Its policy is saved with its state, or alone, in words, in a .json file."""

    form = "listed"

    def __init__(
        self, game: Game, row: Variant, tree: FlatTree, settings: Settings, output: Path | None
    ) -> None:
        lock = settings.lock
        self._locked = None if lock is None else LockedTree(tree, lock.read(game, tree))
        solved = tree if self._locked is None else self._locked.tree
        two = is_two_sided(solved)
        solver = Solver(sequence_form(solved, game), row) if two else TreeSolver(solved, row)
        self._game, self._tree, self._output = game, tree, output
        in_words = output is not None and output.suffix == ".json"
        self._words = policy_words(game, tree) if in_words else None
        self._note = "" if lock is None else f", {lock.file} locked"
        super().__init__(solver, None if in_words else output)
        self.notice = "" if two else f"{game.name}: {no_promise(tree)}"

    @classmethod
    def begin(
        cls, game: Game, row: Variant, tree: FlatTree, settings: Settings, output: Path | None
    ) -> ListedRun:
        """Return a run, resumed if its file is there and the settings do not forbid it.

        tree: the game's, with its states for a lock or a policy in words.
        Raises PolicyError for an output that holds no run of this game, StateError for another variant's.
        """
        run = cls(game, row, tree, settings, output)
        if output is not None and output.exists() and not settings.fresh:
            load_policy(output, game.name, tree)
            state = load_state(output, tree)
            if state is None:
                raise PolicyError(
                    f"{output}: it holds a policy but no run to resume; use --fresh to replace it"
                )
            try:
                run._solver.load_state_dict(state)
            except ValueError as error:
                raise type(error)(f"{output}: {error}; use --fresh to begin anew") from None
            run.resumed = True
        run.save()  # before the work: an unwritable place is better known now
        if output is not None and settings.fresh and is_array_file(run_file(output), CHECKPOINT):
            run_file(output).unlink()  # of a run on a public tree that the output held before
        return run

    @property
    def about(self) -> dict[str, Any]:
        """Return how many infosets are locked, if any are to be."""
        return {} if self._locked is None else {"locked": self._locked.n_locked}

    def save(self) -> None:
        """Save the policy, with the state unless it is in words."""
        if self._output is None:
            return
        solver, average = self._solver, self._solver.average_policy()
        whole = average if self._locked is None else self._locked.whole(average)
        note = f"{solver.variant.name}, {solver.iteration} iterations{self._note}"
        policy = tabular_policy(self._game.name, self._tree, whole, note)
        if self._words is None:
            save_policy(self._output, policy, solver.state_dict())
        else:
            save_policy_json(self._output, policy, self._tree, self._words)

    def _measured(self) -> dict[str, Any]:
        solver = self._solver
        if isinstance(solver, TreeSolver):
            return profile_worth(solver.tree, solver.average_policy())
        return worth_of_two(*solver.evaluate())


def run_file(output: Path) -> Path:
    """Return the file with the state of the run whose policy goes to `output`."""
    return output.with_name(output.name + ".run")


def is_public_output(output: Path) -> bool:
    """Return whether a run goes on on the public tree: by what the output is, else by what is beside it."""
    return is_public_policy(output) if output.exists() else is_array_file(run_file(output), CHECKPOINT)


F = TypeVar("F", bound=PublicSolver | PrivateMovesSolver)


class FormRun(SolverRun[F]):
    """A run on a form that is not listed, whose state is a file of arrays."""

    def _measured(self) -> dict[str, Any]:
        found = self._solver.evaluate()
        return worth_of_two(found.value, found.best_response)

    def save(self) -> None:
        """Save the state."""
        if self.run_file is not None:
            save_checkpoint(self.run_file, self._solver)


class PublicRun(FormRun[PublicSolver]):
    """A run on a public tree. Its policy has a file of its own, written last."""

    form, saving = "public", 0.05

    def __init__(self, solver: PublicSolver, settings: Settings, output: Path | None) -> None:
        super().__init__(solver, None if output is None else run_file(output))
        self._settings, self._output = settings, output
        self.precision = 8 * int(solver.dtype.itemsize)

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

    def finish(self, tell: Callable[[str], None] = lambda words: None) -> None:
        """Save the state, and write the policy."""
        super().finish(tell)
        if self._output is not None:
            tell(f"writing {self._output} …")
            save_public_policy(self._output, self._solver, bits=self._settings.bits)


class PrivateRun(FormRun[PrivateMovesSolver]):
    """A run on private moves. Its policy is saved with its state."""

    form = "private"

    @classmethod
    def begin(cls, game: Game, row: Variant, settings: Settings, output: Path | None) -> PrivateRun:
        """Return a run, resumed if its file is there and the settings do not forbid it.

        Raises GameError for a game without private moves, TooLarge for one that does not fit, PolicyError for
        an output that holds no such run, StateError for another game's or variant's.
        """
        if not isinstance(game, PrivateMovesGame):
            raise GameError(
                f"{game.name}: the private form is of games whose players see their own tries alone; "
                "this one has no `placements`; use --form listed (see games.infosets.private_moves)"
            )
        there = output is not None and output.exists() and not settings.fresh
        if there and not is_private_run(str(output)):
            raise PolicyError(
                f"{output}: it holds no run on the form of private moves; use --fresh to replace it"
            )
        run = cls(PrivateMovesSolver(list_private_moves(game), row, threads=settings.threads), output)
        if there and output is not None:
            load_checkpoint(output, run._solver)
            run.resumed = True
        else:
            run.save()
        return run
