"""A run of CFR on a form of a whole game: what every form has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from cfr.policies.lock import load_lock
from cfr.policies.policy import Policy
from cfr.solver import Runs
from cfr.tree import FlatTree
from games.game import Game


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


S = TypeVar("S", bound=Runs)


class SolverRun(ABC, Generic[S]):
    """A run under way.

    run_file: where its state is saved; None where nothing is. resumed: whether it goes on from there.
    saving: most of the time that goes into saves on the way; where one takes long, they come less often.
    notice: what to know of it before it goes on, in words.
    """

    form: ClassVar[str]
    saving: ClassVar[float] = 0.2
    notice = ""

    def __init__(self, solver: S, run_file: Path | None) -> None:
        self._solver, self.run_file, self.resumed = solver, run_file, False
        self._worth: tuple[int, dict[str, Any]] | None = None

    @property
    def precision(self) -> int:
        """Return the bits of a number."""
        return 64

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
