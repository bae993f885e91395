"""Solving what was kept: the forest, its gadget and the solver, again while a summary lacks replies."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cfr.lp import LpTimeout, solve_lp
from cfr.solver import Start, Stop, solve
from cfr.tree import FlatTree
from cfr.variants import variant
from gs2.search.config.search import SearchConfig
from gs2.search.context import SearchContext, SearchOptions
from gs2.search.gadget.build import Entry, Gadget, build_gadget
from gs2.search.histories.alternative import best_response_node_values, group_values
from gs2.search.histories.enumerated import Considered
from gs2.search.result import Kept, Log
from gs2.search.strategy import Strategy
from gs2.search.subgame.cut import Subgame
from gs2.search.subgame.double_oracle import Summary, choose_plans
from gs2.search.subgame.forest import Roots, cut_forest
from gs2.search.subgame.leaf import LeafEvaluator

__all__ = ["MISSED", "Problem", "SubgameSolution", "solve_subgame"]

MISSED = 1e-4
"""Share of the payoff range by which a summary may underrate the opponent."""
ROUGH = 1e-3
"""Share of the payoff range to which a subgame is first solved where a summary still lacks plans."""


@dataclass(frozen=True, eq=False)
class SubgameSolution:
    """A subgame solved.

    policy: on the forest's slots. solved: as in `Refinement`. iterations: of all solves together; gap: of
    the last. missed: the most that the opponent gains where it was kept in summary, in payoffs; tolerance:
    how much of that is let pass.
    """

    subgame: Subgame
    gadget: Gadget
    policy: NDArray[np.float64]
    solved: NDArray[np.float64]
    iterations: int
    gap: float
    missed: float
    tolerance: float


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be solved: the histories considered, those kept, and how the opponent comes to these."""

    considered: Considered
    kept: Kept
    entry: Entry


def solve_subgame(
    context: SearchContext,
    strategy: Strategy,
    problem: Problem,
    config: SearchConfig,
    options: SearchOptions,
    log: Log,
) -> SubgameSolution | None:
    """Return the subgame below the histories kept, solved; again and again while a summary misses replies.

    None if the time was up before a linear programme was solved.
    """
    considered, kept, deadline = problem.considered, problem.kept, options.deadline
    low, high = context.game.payoff_range
    tolerance = MISSED * (high - low)
    summary = None
    if kept.summary.any():
        rows = np.sort(kept.rows[kept.summary])
        summary = Summary(context, strategy, considered, rows, config.subgame.plans)
    floor = config.gadget.entry_floor if config.gadget.kind != "unsafe" else 0.0
    # A target is met only once the plans suffice; until then a rough solution finds them as well.
    rough = ROUGH * (high - low) if summary is not None and config.solve.target is not None else 0.0
    spent = 0
    begun = time.perf_counter()
    while True:
        began = time.perf_counter()
        subgame = _forest(context, strategy, problem, config, options.leaf, summary)
        log.lap("subgame")
        gadget = build_gadget(config.gadget.kind, subgame.tree, subgame.root_of, problem.entry, floor=floor)
        log.lap("gadget")
        last = rough <= (config.solve.target or 0.0)
        start = _start(strategy, subgame, gadget) if config.solve.warm_start > 0 else None
        try:
            policy, iterations, gap = _solve(
                gadget.tree, config if last else config.replace(target=rough), deadline, log, start
            )
        except LpTimeout:
            return None
        policy = gadget.to_forest(policy, subgame.tree.n_slots)
        spent += iterations
        log.lap("solve")
        solved = _solved_values(subgame, considered, kept, policy)
        missed = 0.0
        if summary is not None:
            mine = subgame.tree.slot_player == considered.player
            missed = summary.complete(subgame.slot_origin[mine], policy[mine], solved, tolerance)
        log.lap("summary")
        now = time.perf_counter()
        closed = missed <= tolerance or summary is None or summary.full()
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
    if summary is not None and missed > tolerance:
        log.notes.append(
            f"the opponent has better replies than the {summary.count} plans it was given where its "
            f"histories stayed in summary, by up to {missed:.3g}"
        )
    return SubgameSolution(subgame, gadget, policy, solved, spent, gap, missed, tolerance)


def _forest(
    context: SearchContext,
    strategy: Strategy,
    problem: Problem,
    config: SearchConfig,
    leaf: LeafEvaluator | None,
    summary: Summary | None,
) -> Subgame:
    """Return the forest below the histories kept, one root each."""
    considered, kept = problem.considered, problem.kept
    frozen = None
    if kept.frozen.any() or summary is not None:
        frozen = np.zeros((len(kept.rows), context.tree.n_players), bool)
        frozen[:, considered.player] = kept.frozen
        frozen[:, considered.opponent] = kept.summary
    nodes, reach = considered.nodes[kept.rows], considered.reach[kept.rows]
    player = considered.player
    if summary is None:
        return cut_forest(context, strategy, player, Roots(nodes, reach, frozen), config, leaf)
    group = considered.group[kept.rows]
    counts, plan = summary.copies(group, kept.summary)
    copied = np.repeat(np.arange(len(nodes)), counts)
    assert frozen is not None
    roots = Roots(nodes[copied], reach[copied], frozen[copied], summary.plans, plan)
    forest = cut_forest(context, strategy, player, roots, config, leaf)
    return choose_plans(forest, counts, reach, group, considered.opponent)


def _start(strategy: Strategy, subgame: Subgame, gadget: Gadget) -> NDArray[np.float64]:
    """Return the strategies in `strategy` on the gadget's slots, uniform where they say nothing."""
    offset = gadget.tree.infoset_offset
    sizes = np.diff(offset)
    policy = np.repeat(1.0 / sizes, sizes)
    below = np.flatnonzero(gadget.slot_origin >= 0)
    origin = subgame.slot_origin[gadget.slot_origin[below]]
    known = origin >= 0
    slots = below[known]
    policy[slots] = strategy.probs[origin[known]]
    return policy


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
        exact = solve_lp(tree, time_limit=limit)
        return exact.policy, 0, exact.exploitability
    row = (
        variant(config.solve.variant)
        if config.solve.gamma is None
        else variant(config.solve.variant, gamma=config.solve.gamma)
    )
    found = solve(
        tree,
        variant=row,
        iterations=config.solve.iterations,
        target=config.solve.target,
        stop=Stop(deadline),
        start=None if start is None else Start(start, config.solve.warm_start),
    )
    if found.stopped == "deadline":
        log.late = True
        log.notes.append(f"the time was up after {found.iteration} of {config.solve.iterations} iterations")
    return found.policy, found.iteration, found.exploitability


def _solved_values(
    subgame: Subgame, considered: Considered, kept: Kept, policy: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what each opponent infoset is worth against `policy` in the forest, [g]; nan if not there."""
    values, _ = best_response_node_values(subgame.tree, policy, considered.opponent)
    group, _ = considered.take(kept.rows)
    out = np.full(len(considered.alternative), np.nan)
    rooted = group_values(values[: len(kept.rows)], considered.reach[kept.rows], group)
    out[np.unique(considered.group[kept.rows])] = rooted
    return out
