"""What the pipeline asks of a game: a source of histories, and the problem that those kept make.

A tree that lists histories is one source (`gs2.search.histories.tree_source`): that of a whole game, or, in a
game that cannot be listed, that of what was drawn (`gs2.search.histories.sampled_source`). A game may
bring another, such as sampled deals.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from gs2.search.config.search import SearchConfig
from gs2.search.gadget.build import Gadget
from gs2.search.gadget.entry import Entry
from gs2.search.subgame.cut import Subgame

__all__ = ["HistorySource", "LeftAlone", "Log", "Problem", "SubgameSolution"]

ConsideredT = TypeVar("ConsideredT")
KeptT = TypeVar("KeptT")
ProblemT_co = TypeVar("ProblemT_co", covariant=True)
ForestT = TypeVar("ForestT", bound="Problem")


@dataclass
class Log:
    """Wall-clock time stage by stage, what was left out, and whether it was for want of time."""

    seconds: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    late: bool = False
    last: float = field(default_factory=time.perf_counter)

    def lap(self, stage: str) -> None:
        """Count the time since the last lap for a stage."""
        now = time.perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self.last
        self.last = now


class LeftAlone(Exception):
    """There is nothing to solve here: the strategy stays as it was; the message says why."""


class Problem(Protocol):
    """A subgame to be solved.

    config: of the search; its gadget and solve stages are read. deadline: an instant of
    `time.perf_counter()`, or None. payoff_range: of the game, (lowest, highest).
    entry: how the opponents come to the histories, in the order of the subgame's roots.
    """

    config: SearchConfig
    deadline: float | None
    payoff_range: tuple[float, float]
    entry: Entry

    @property
    def partial(self) -> bool:
        """Return whether opponents choose below some histories among replies that may lack a better one."""
        ...

    def grow(self) -> Subgame:
        """Return the forest below the histories, with the replies known so far."""
        ...

    def start(self, subgame: Subgame, gadget: Gadget) -> NDArray[np.float64]:
        """Return the strategies that a warm start begins with, on the gadget's slots."""
        ...

    def review(self, subgame: Subgame, policy: NDArray[np.float64], tolerance: float) -> float:
        """Return the most that opponents gain by replies the forest lacks, in payoffs; these are added.

        policy: on the forest's slots. tolerance: what is let pass.
        """
        ...

    def full(self) -> bool:
        """Return whether no reply can be added."""
        ...


@dataclass(frozen=True, eq=False)
class SubgameSolution:
    """A subgame solved.

    policy: on the forest's slots. iterations: of all solves together; gap: of the last. missed: the most that
    the opponents gain by replies that the forest lacks, in payoffs; tolerance: how much of that is let pass.
    """

    subgame: Subgame
    gadget: Gadget
    policy: NDArray[np.float64]
    iterations: int
    gap: float
    missed: float
    tolerance: float


class HistorySource(Protocol[ConsideredT, KeptT, ProblemT_co]):
    """Histories that one decision may be in, and what becomes of those that are kept.

    The three calls come in this order, once for a search; each may raise LeftAlone.
    """

    def consider(self) -> ConsideredT:
        """Return the histories considered, with their reach and what they are worth to the opponents."""
        ...

    def generate(self, considered: ConsideredT, rng: np.random.Generator) -> KeptT:
        """Return the histories that enter the subgame."""
        ...

    def problem(self, considered: ConsideredT, kept: KeptT) -> tuple[KeptT, ProblemT_co]:
        """Return the histories in the order of the subgame's roots, and the problem that they make."""
        ...
