"""Solving a problem: its forest, its gadget and the solver, again while the opponents lack replies."""

from __future__ import annotations

import time

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
from gs2.search.histories.source import LeftAlone, Log, Problem, SubgameSolution
from gs2.search.subgame.cut import Subgame

__all__ = ["MISSED", "SubgameSolution", "note_lateness", "solve_subgame", "variant_of"]

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
        closed = missed <= tolerance or not problem.partial or problem.full()
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
