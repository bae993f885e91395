"""What a search keeps, what it comes to, and the log it writes on the way."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cfr.tree import FlatTree
from gs2.search.histories.enumerated import Considered
from gs2.search.safety import Certified

__all__ = ["Kept", "Log", "Refinement"]


@dataclass(frozen=True, eq=False)
class Kept:
    """The histories of a subgame; n of the considered ones, in the order of its roots.

    rows: [n] int64, rows of `Considered`. frozen: [n] bool, the searching player follows its old strategy
    below. summary: [n] bool, the opponent follows its best response below.
    generated: rows of `Considered` that the generator chose.
    """

    rows: NDArray[np.int64]
    frozen: NDArray[np.bool_]
    summary: NDArray[np.bool_]
    generated: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Refinement:
    """What one search came to, in the full tree's numbers.

    infoset: where. slots: [s] int64, slots of the searching player that the search replaces. probs: [s]
        float64, its policy there.
    considered, kept: the histories.
    solved: [g] float64, value to the opponent of its infosets against the subgame's solution, as the subgame
        sees it; nan outside the subgame.
    certified: what the certificate found; None if nothing was solved.
    nodes, decisions, infosets: size of the subgame with its gadget. iterations: run by the solver.
    gap: exploitability of the solution within the gadget, in payoffs.
    cut_off: what was left out or cut short, and why.
    anchor: weight of the subgame's solution in `probs`; 0 if the old strategy stands.
    seconds: wall-clock time of each stage.
    steps: the searches that this one was made of, if more than one; the fields above are the last one's.
    complete: whether the opponent's replies that a summary left out gain it nothing.
    late: whether the time limit cut anything short. If not, more time would have changed nothing.
    """

    infoset: int
    slots: NDArray[np.int64]
    probs: NDArray[np.float64]
    considered: Considered
    kept: Kept
    solved: NDArray[np.float64]
    certified: Certified | None
    nodes: int
    decisions: int
    infosets: int
    iterations: int
    gap: float
    cut_off: tuple[str, ...]
    anchor: float
    seconds: dict[str, float]
    steps: tuple[Refinement, ...] = ()
    complete: bool = True
    late: bool = False

    def at(self, tree: FlatTree, infoset: int) -> NDArray[np.float64]:
        """Return the refined probabilities of one infoset's actions, [a] float64.

        Raises KeyError if the search has no opinion on it.
        """
        start, end = tree.infoset_offset[infoset : infoset + 2]
        at = np.flatnonzero((self.slots >= start) & (self.slots < end))
        if len(at) != end - start:
            raise KeyError(f"the search solved nothing at infoset {infoset}")
        return self.probs[at[np.argsort(self.slots[at])]]


@dataclass
class Log:
    """Wall-clock time stage by stage, what was left out, and whether it was for want of time."""

    seconds: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    late: bool = False
    last: float = field(default_factory=time.perf_counter)

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self.last
        self.last = now
