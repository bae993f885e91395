"""The stages of a search, for histories of any source: consider → generate → problem → solve → certify.

A tree that lists histories is one source (`gs2.search.pipeline`): that of a whole game, or, in a game that
cannot be listed, that of what was drawn (`gs2.search.histories.sampled_source`). Pairs of private states on a
public tree are another. A game may bring its own problems for `solve_subgame`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cfr.anchored import Anchor, solve_anchored
from cfr.lp import LpTimeout, solve_lp
from cfr.solver import Start, Stop, solve
from cfr.tree import FlatTree
from cfr.variants import Variant, variant
from gs2.search.config.search import SearchConfig
from gs2.search.config.stages import SolveConfig
from gs2.search.gadget.build import Gadget, build_gadget
from gs2.search.gadget.entry import Entry
from gs2.search.histories.enumerated import Considered
from gs2.search.safety import Certified, Proposal
from gs2.search.strategy import Strategy
from gs2.search.subgame.cut import Subgame

__all__ = [
    "MISSED",
    "NOTHING",
    "HistorySource",
    "Kept",
    "LeftAlone",
    "Log",
    "Problem",
    "Refinement",
    "SubgameSolution",
    "note_lateness",
    "refine_from",
    "solve_subgame",
    "untouched",
    "variant_of",
]


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
        """Return whether opponents choose below some histories among replies to which more can be added."""
        ...

    def grow(self) -> Subgame:
        """Return the forest below the histories, with the replies known so far."""
        ...

    def start(self, subgame: Subgame, gadget: Gadget) -> NDArray[np.float64]:
        """Return the strategies that a warm start begins with, [gadget's slots] float64."""
        ...

    def review(self, subgame: Subgame, policy: NDArray[np.float64], tolerance: float) -> float:
        """Return the most that opponents gain by replies the forest lacks, in payoffs; these are added.

        policy: [slots] float64, on the forest's. tolerance: what is let pass.
        """
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


MISSED = 1e-4
"""Share of the payoff range by which a summary may underrate the opponent."""
ROUGH = 1e-3
"""Share of the payoff range to which a subgame is first solved where a summary still lacks plans."""


def solve_subgame(problem: Problem, log: Log) -> SubgameSolution:
    """Return the subgame of a problem, solved; again and again while the opponents lack a better reply.

    Raises LeftAlone if the time was up before a linear programme was solved.
    """
    config, deadline = problem.config, problem.deadline
    low, high = problem.payoff_range
    tolerance = MISSED * (high - low)
    floor = config.gadget.entry_floor if config.gadget.kind != "unsafe" else 0.0
    # A target is met only once the replies suffice; until then a rough solution finds them as well.
    rough = ROUGH * (high - low) if problem.partial and config.solve.target is not None else 0.0
    spent = 0
    begun = time.perf_counter()
    while True:
        began = time.perf_counter()
        subgame = problem.grow()
        log.lap("subgame")
        gadget = build_gadget(config.gadget.kind, subgame.tree, subgame.root_of, problem.entry, floor=floor)
        log.lap("gadget")
        last = rough <= (config.solve.target or 0.0)
        start = problem.start(subgame, gadget) if config.solve.warm_start > 0 else None
        once = config if last else config.replace(target=rough)
        if config.solve.solver == "anchored":
            policy, iterations, gap = _solve_anchored(problem, subgame, gadget, once, log)
        else:
            policy, iterations, gap = _solve(gadget.tree, once, deadline, log, start)
        policy = gadget.to_forest(policy, subgame.tree.n_slots)
        spent += iterations
        log.lap("solve")
        missed = problem.review(subgame, policy, tolerance)
        log.lap("summary")
        now = time.perf_counter()
        closed = missed <= tolerance or not problem.partial
        if closed and last:
            break
        if deadline is not None and 2 * now - began >= deadline:
            log.late = True
            break
        if closed:
            rough = 0.0
        elif not last and deadline is not None and now - begun >= deadline - now:
            rough, log.late = 0.0, True
        else:
            rough = min(rough, missed / 8)
    if len(subgame.truncated):
        log.notes.append(
            f"{len(subgame.truncated)} histories at depth {config.subgame.depth} were not played out: "
            f"{config.subgame.leaf}"
        )
    return SubgameSolution(subgame, gadget, policy, spent, gap, missed, tolerance)


def _solve(
    tree: FlatTree,
    config: SearchConfig,
    deadline: float | None,
    log: Log,
    start: NDArray[np.float64] | None,
) -> tuple[NDArray[np.float64], int, float]:
    """Return (policy on the gadget's slots, iterations, exploitability)."""
    if config.solve.solver == "lp":
        limit = None if deadline is None else max(0.001, deadline - time.perf_counter())
        try:
            exact = solve_lp(tree, time_limit=limit)
        except LpTimeout as error:
            log.late = True
            raise LeftAlone("the time was up before the LP was solved") from error
        return exact.policy, 0, exact.exploitability
    found = solve(
        tree,
        variant=variant_of(config.solve),
        iterations=config.solve.iterations,
        target=config.solve.target,
        stop=Stop(deadline),
        start=None if start is None else Start(start, config.solve.warm_start),
    )
    note_lateness(found.stopped, found.iteration, config, log)
    return found.policy, found.iteration, found.exploitability


def _solve_anchored(
    problem: Problem, subgame: Subgame, gadget: Gadget, config: SearchConfig, log: Log
) -> tuple[NDArray[np.float64], int, float]:
    """Return (policy on the gadget's slots, iterations, gap of the regularised game).

    The magnet is what a warm start begins with; the gadget's own choices, and those of continuations and
    plans, are free.
    """
    tree = gadget.tree
    magnet = problem.start(subgame, gadget).copy()
    free = gadget.infoset_origin < 0
    free[~free] = subgame.chosen[gadget.infoset_origin[~free]]
    magnet[np.repeat(free, np.diff(tree.infoset_offset))] = np.nan
    low, high = problem.payoff_range
    temperature = np.full(tree.n_players, config.solve.temperature * (high - low))
    temperature[list(problem.entry.seats)] = config.solve.opponent_temperature * (high - low)
    found = solve_anchored(
        tree,
        Anchor(magnet, tuple(temperature.tolist())),
        iterations=config.solve.iterations,
        target=config.solve.target,
        stop=Stop(problem.deadline),
    )
    note_lateness(found.stopped, found.iteration, config, log)
    return found.policy, found.iteration, found.gap


def variant_of(stage: SolveConfig) -> Variant:
    """Return the row of CFR that a configuration asks for."""
    return variant(stage.variant) if stage.gamma is None else variant(stage.variant, gamma=stage.gamma)


def note_lateness(stopped: str, iteration: int, config: SearchConfig, log: Log) -> None:
    """Note that the time was up, if that ended a run."""
    if stopped == "deadline":
        log.late = True
        log.notes.append(f"the time was up after {iteration} of {config.solve.iterations} iterations")


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


NOTHING = Kept(np.zeros(0, np.int64), np.zeros(0, bool), np.zeros(0, bool), np.zeros(0, np.int64))
"""What a search without a subgame keeps."""


class HistorySource(Protocol):
    """The histories that one decision may be in, and what becomes of those that are kept.

    Its methods are called in this order, once for a search; `generate`, `problem` and `solve` may raise
    LeftAlone. Slots are those of the strategy refined, in whatever form it has. log: of the search.
    """

    log: Log

    def consider(self) -> Considered:
        """Return the histories considered, with their reach and what they are worth to the opponents."""
        ...

    def generate(self, considered: Considered, rng: np.random.Generator) -> Kept:
        """Return the histories that enter the subgame."""
        ...

    def problem(self, considered: Considered, kept: Kept) -> tuple[Kept, Any]:
        """Return the histories in the order of the subgame's roots, and the problem that they make."""
        ...

    def solve(self, problem: Any) -> Proposal:
        """Return what the solution of a problem proposes to the searching player."""
        ...

    def certify(self, considered: Considered, proposal: Proposal) -> Certified | None:
        """Return what of a proposal is kept; None where it has nothing to say of the decision."""
        ...

    def here(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the slots of the decision itself, [a] int64, and the strategy refined there, [a] float64."""
        ...


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
    steps: the searches that this one was made of, if more than one. The fields above are then the last one's,
        but for `slots`, `probs`, `cut_off` and `seconds`, which are of all of them, and `anchor`, which is
        that of the last which changed anything.
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

    def here(self, strategy: Strategy) -> NDArray[np.float64]:
        """Return the probabilities at the infoset searched, [a] float64.

        strategy: the one searched with, which stands where the depth limit comes before the infoset.
        """
        start, end = strategy.tree.infoset_offset[self.infoset : self.infoset + 2]
        there = (self.slots >= start) & (self.slots < end)
        found: NDArray[np.float64] = strategy.probs[start:end].copy()
        found[self.slots[there] - start] = self.probs[there]
        return found


def refine_from(source: HistorySource, rng: np.random.Generator) -> Refinement:
    """Return the refined strategy of a source's player, as far as it is certified."""
    log = source.log
    considered, kept = source.consider(), NOTHING
    try:
        kept = source.generate(considered, rng)
        kept, problem = source.problem(considered, kept)
        proposal = source.solve(problem)
    except LeftAlone as left:
        why = str(left)
        log.notes.append(f"{why}: " * bool(why) + "the strategy is left as it was")
        return untouched(source, considered, kept)
    certified = source.certify(considered, proposal)
    if certified is None:
        return untouched(source, considered, kept)
    if certified.said:
        log.notes.append(certified.said)
    if certified.weight == 0:
        log.notes.append("no mixture with the old strategy was certified: the strategy is left as it was")
    log.lap("safety")
    return _refinement(source, considered, kept, proposal, certified)


def untouched(
    source: HistorySource,
    considered: Considered,
    kept: Kept,
    probs: NDArray[np.float64] | None = None,
) -> Refinement:
    """Return a refinement without a subgame: the old strategy, or `probs`, [a] float64, at the decision."""
    slots, old = source.here()
    unsolved = np.full(len(considered.alternative), np.nan)
    nothing = Proposal(slots, old if probs is None else probs, unsolved, 0, 0, 0, 0, 0.0)
    return _refinement(source, considered, kept, nothing, None, weight=0.0 if probs is None else 1.0)


def _refinement(
    source: HistorySource,
    considered: Considered,
    kept: Kept,
    proposal: Proposal,
    certified: Certified | None,
    *,
    weight: float = 0.0,
) -> Refinement:
    """Return what a search came to. weight: of the proposal where nothing was certified."""
    found = proposal if certified is None else certified
    return Refinement(
        infoset=considered.infoset,
        slots=found.slots,
        probs=found.probs,
        considered=considered,
        kept=kept,
        solved=proposal.solved,
        certified=certified,
        nodes=proposal.nodes,
        decisions=proposal.decisions,
        infosets=proposal.infosets,
        iterations=proposal.iterations,
        gap=proposal.gap,
        cut_off=tuple(source.log.notes),
        anchor=weight if certified is None else certified.weight,
        seconds=source.log.seconds,
        complete=proposal.complete,
        late=source.log.late,
    )
