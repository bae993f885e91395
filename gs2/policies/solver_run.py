"""A run of CFR on a form of a whole game: what every form has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Generic, Protocol, TypeVar

from cfr.public.sweeper import Evaluation

__all__ = ["Settings", "SolverRun"]


@dataclass(frozen=True)
class Settings:
    """How a run is done.

    precision: bits of a number on a public tree, 16, 32 or 64; None for those of a resumed run, else 64, or
    32 where that alone fits.
    bits: of a probability in a public policy's file. threads: None for all cores. fresh: begin anew,
    whatever the output holds.
    """

    precision: int | None = None
    bits: int = 32
    threads: int | None = None
    fresh: bool = False


class _Solver(Protocol):
    @property
    def iteration(self) -> int: ...

    def run(self, n: int) -> None: ...

    def evaluate(self) -> Evaluation: ...


S = TypeVar("S", bound=_Solver)


class SolverRun(ABC, Generic[S]):
    """A run under way.

    run_file: where its state is saved; None where nothing is. resumed: whether it goes on from there.
    """

    form: ClassVar[str]

    def __init__(self, solver: S, run_file: Path | None) -> None:
        self._solver, self.run_file, self.resumed = solver, run_file, False
        self._evaluated: tuple[int, Evaluation] | None = None

    @property
    def iteration(self) -> int:
        """Return the iterations done so far."""
        return self._solver.iteration

    @property
    @abstractmethod
    def precision(self) -> int:
        """Return the bits of a number."""

    def run(self, n: int) -> None:
        """Run `n` more iterations."""
        self._solver.run(n)

    def evaluate(self) -> Evaluation:
        """Return what the average policies are worth now."""
        if self._evaluated is None or self._evaluated[0] != self.iteration:
            self._evaluated = self.iteration, self._solver.evaluate()
        return self._evaluated[1]

    def exploitability(self) -> float:
        """Return the average policies' NashConv / 2, in payoffs."""
        return self.evaluate().exploitability

    @abstractmethod
    def save(self) -> None:
        """Save the state."""

    @abstractmethod
    def finish(self, tell: Callable[[str], None] = lambda words: None) -> None:
        """Save the state, and write the policy. tell: hears what is being written."""
