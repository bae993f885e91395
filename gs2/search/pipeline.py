"""The pipeline of a search: histories → generation → subgame → gadget → solve → safety.

`search` is the whole of it up to the solution, for histories from any source. `refine_from` keeps of that of
one player's decision what is certified, on a tree or on a public tree. `refine_infoset` is the search on a
tree: bare and quick, meant to be called thousands of times on one `SearchContext`; `gs2.search.explain` picks
the source, runs it once and explains the answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from gs2.search.config.search import SearchConfig
from gs2.search.context import NO_OPTIONS, SearchContext, SearchOptions
from gs2.search.histories.enumerated import Considered
from gs2.search.histories.source import (
    ConsideredT,
    ForestT,
    HistorySource,
    KeptT,
    LeftAlone,
    Log,
    ProblemT_co,
    SubgameSolution,
)
from gs2.search.histories.tree_source import TreeSource
from gs2.search.result import NOTHING, Kept, Refinement
from gs2.search.safety import Certified, Proposal, with_certified
from gs2.search.solve.mirror_descent import mirror_descent
from gs2.search.solve.subgame import solve_subgame
from gs2.search.strategy import Strategy

__all__ = ["DecisionSource", "Searched", "refine_from", "refine_infoset", "search", "searched"]


SolutionT = TypeVar("SolutionT")


@dataclass(frozen=True, eq=False)
class Searched(Generic[ConsideredT, KeptT, ProblemT_co, SolutionT]):
    """The outcome of a search before certification.

    considered, kept: the histories; kept is None where none were generated. solved: the problem that those
    kept make, and its solution; None where the strategy is left alone, and why.
    """

    considered: ConsideredT
    kept: KeptT | None
    solved: tuple[ProblemT_co, SolutionT] | None
    why: str = ""


def search(
    source: HistorySource[ConsideredT, KeptT, ForestT], rng: np.random.Generator, log: Log
) -> Searched[ConsideredT, KeptT, ForestT, SubgameSolution]:
    """Return the solution of the subgame below some of a source's histories."""
    return searched(source, solve_subgame, rng, log)


def searched(
    source: HistorySource[ConsideredT, KeptT, ProblemT_co],
    solve: Callable[[ProblemT_co, Log], SolutionT],
    rng: np.random.Generator,
    log: Log,
) -> Searched[ConsideredT, KeptT, ProblemT_co, SolutionT]:
    """Return `search` of problems that `solve` solves."""
    considered = source.consider()
    kept = None
    try:
        kept = source.generate(considered, rng)
        kept, problem = source.problem(considered, kept)
        solution = solve(problem, log)
    except LeftAlone as left:
        return Searched(considered, kept, None, str(left))
    return Searched(considered, kept, (problem, solution))


class DecisionSource(HistorySource[Considered, Kept, Any], Protocol):
    """The histories of one player's decision, whose solution is certified and replaces its strategy.

    log: of the search. Slots are those of the strategy refined, in whatever form it has.
    """

    log: Log

    def here(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the slots of the decision itself, [a] int64, and the strategy refined there, [a] float64."""
        ...

    def proposal(self, problem: Any, solution: Any) -> Proposal:
        """Return what a solution proposes to the searching player."""
        ...

    def certify(self, considered: Considered, proposal: Proposal) -> Certified | None:
        """Return what of a proposal is kept; None where it has nothing to say of the decision."""
        ...


def refine_from(
    source: DecisionSource, solve: Callable[[Any, Log], Any], rng: np.random.Generator
) -> Refinement:
    """Return the refined strategy of a source's player, as far as it is certified. solve: of `searched`."""
    log = source.log
    found = searched(source, solve, rng, log)
    considered, kept = found.considered, found.kept or NOTHING
    if found.solved is None:
        log.notes.append(f"{found.why}: " * bool(found.why) + "the strategy is left as it was")
        return _untouched(source, considered, kept)
    proposal = source.proposal(*found.solved)
    certified = source.certify(considered, proposal)
    if certified is None:
        return _untouched(source, considered, kept)
    if certified.said:
        log.notes.append(certified.said)
    if certified.weight == 0:
        log.notes.append("no mixture with the old strategy was certified: the strategy is left as it was")
    log.lap("safety")
    return Refinement(
        infoset=considered.infoset,
        slots=certified.slots,
        probs=certified.probs,
        considered=considered,
        kept=kept,
        solved=proposal.solved,
        certified=certified,
        nodes=proposal.nodes,
        decisions=proposal.decisions,
        infosets=proposal.infosets,
        iterations=proposal.iterations,
        gap=proposal.gap,
        cut_off=tuple(log.notes),
        anchor=certified.weight,
        seconds=log.seconds,
        complete=proposal.complete,
        late=log.late,
    )


def _untouched(
    source: DecisionSource,
    considered: Considered,
    kept: Kept,
    probs: NDArray[np.float64] | None = None,
) -> Refinement:
    """Return a refinement without a subgame: the old strategy, or `probs` at the decision."""
    slots, old = source.here()
    return Refinement(
        infoset=considered.infoset,
        slots=slots,
        probs=old if probs is None else probs,
        considered=considered,
        kept=kept,
        solved=np.full(len(considered.alternative), np.nan),
        certified=None,
        nodes=0,
        decisions=0,
        infosets=0,
        iterations=0,
        gap=0.0,
        cut_off=tuple(source.log.notes),
        anchor=0.0 if probs is None else 1.0,
        seconds=source.log.seconds,
        late=source.log.late,
    )


def refine_infoset(
    context: SearchContext,
    strategy: Strategy,
    infoset: int,
    config: SearchConfig,
    rng: np.random.Generator,
    options: SearchOptions = NO_OPTIONS,
) -> Refinement:
    """Return a refined strategy for the player of an infoset, given the strategy of both players.

    rng: of every random choice; only what the configuration needs is drawn.
    """
    config = config.where_listed()
    if options.luck is None and config.plays_out:
        options = replace(options, luck=int(rng.integers(1 << 62)))
    options = options.within(config)
    steps = config.steps()
    if len(steps) == 1:
        return _one_step(context, strategy, infoset, steps[0], rng, options)
    changed: set[int] = set()
    done: list[Refinement] = []
    late = False
    for step in steps:
        if done and options.deadline is not None and time.perf_counter() >= options.deadline:
            late = True
            break
        found = _one_step(context, strategy, infoset, step, rng, options)
        changed.update(found.slots.tolist())
        # Each step starts from what the one before left.
        strategy = with_certified(context, strategy, found.slots, found.probs, found.certified)
        done.append(found)
    slots = np.array(sorted(changed), np.int64)
    late = late or any(found.late for found in done)
    joined = replace(done[-1], slots=slots, probs=strategy.probs[slots], steps=tuple(done), late=late)
    return replace(joined, **_of_all(done, len(steps)))


def _of_all(done: list[Refinement], planned: int) -> dict[str, Any]:
    """Return what steps say together: the weight of the last that changed anything, their notes and times."""
    seconds: dict[str, float] = {}
    for found in done:
        for stage, taken in found.seconds.items():
            seconds[stage] = seconds.get(stage, 0.0) + taken
    return {
        "anchor": next((found.anchor for found in reversed(done) if found.anchor > 0), 0.0),
        "cut_off": tuple(
            f"search {number} of {planned}: {note}"
            for number, found in enumerate(done, 1)
            for note in found.cut_off
        ),
        "seconds": seconds,
    }


def _one_step(
    context: SearchContext,
    strategy: Strategy,
    infoset: int,
    config: SearchConfig,
    rng: np.random.Generator,
    options: SearchOptions,
) -> Refinement:
    source = TreeSource(context, strategy, infoset, config, options, Log())
    if config.solve.solver == "mirror-descent":
        considered = source.consider()
        kept, probs = mirror_descent(context, strategy, config, considered, rng, source.log)
        return _untouched(source, considered, kept, probs)
    return refine_from(source, solve_subgame, rng)
