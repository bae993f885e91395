"""The pipeline of a search: consider, generate, subgame, gadget, solve, safety.

Bare and quick, meant to be called thousands of times on one `SearchContext`; `gs2.search.explain` runs it
once and explains the answer.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gs2.search.config.search import SearchConfig
from gs2.search.context import NO_OPTIONS, SearchContext, SearchOptions
from gs2.search.gadget.build import LIVE, Entry
from gs2.search.gadget.path import opponent_path
from gs2.search.histories.enumerated import Considered, choose_histories, consider_histories
from gs2.search.result import Kept, Log, Refinement
from gs2.search.safety import Proposal, certify, with_certified
from gs2.search.solve.mirror_descent import mirror_descent_step
from gs2.search.solve.subgame import Problem, solve_subgame
from gs2.search.strategy import Strategy

__all__ = ["action_values", "refine_infoset"]

SECONDS_PER_NODE = 2e-7
"""What building a subgame and solving it roughly takes at least; a closure with less time is left alone, or
fewer histories are kept. Certified solutions help however rough they are: at 100 ms twice and five times this
leave 0.54 and 0.73 of the blueprint's exploitability on Goofspiel 10, this 0.22."""
CERTIFY_SECONDS_PER_NODE = 1e-7
"""What a certificate takes, which a search keeps back from its time: the histories' trees and the opponent's
answers to a few mixtures, at 13 nanoseconds a node each; with time left it tries more."""

NOTHING = Kept(np.zeros(0, np.int64), np.zeros(0, bool), np.zeros(0, bool), np.zeros(0, np.int64))
"""What a search without a subgame keeps."""


def refine_infoset(
    context: SearchContext,
    strategy: Strategy,
    infoset: int,
    config: SearchConfig,
    rng: np.random.Generator,
    options: SearchOptions = NO_OPTIONS,
) -> Refinement:
    """Return a refined strategy for the player of an infoset, given the strategy of both players."""
    if config.time_limit is not None:
        limit = time.perf_counter() + config.time_limit
        sooner = limit if options.deadline is None else min(options.deadline, limit)
        options = replace(options, deadline=sooner)
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
    return replace(done[-1], slots=slots, probs=strategy.probs[slots], steps=tuple(done), late=late)


def _one_step(
    context: SearchContext,
    strategy: Strategy,
    infoset: int,
    config: SearchConfig,
    rng: np.random.Generator,
    options: SearchOptions,
) -> Refinement:
    log = Log()
    deadline = options.deadline
    hurried = config.subgame.rest == "summary" and _too_large(context, strategy, infoset, deadline, log)
    seen = strategy
    if hurried and config.generation.fallback_k:
        # Small searches of one level do not see each other's results, and are let through one after another:
        # if each had to improve on what the others made of the opponent's values, few would.
        config = config.fallback()
        if options.start is not None:
            seen = options.start.with_best_response(1 - int(context.tree.infoset_player[infoset]))
    considered = consider_histories(context, seen, infoset, config, options.leaf)
    if considered.unreached:
        log.notes.append(
            "the player's own strategy never leads here: histories are weighed by chance alone, and nothing "
            "that is played here can be exploited"
        )
        config = config.for_unreached()
    if considered.dropped:
        log.notes.append(
            f"{considered.dropped} opponent infosets were left out: chance and the player never lead there"
        )
    log.lap("knowledge")
    if config.solve.solver == "mirror-descent":
        return _mirror_descent(context, strategy, config, considered, log)
    size = context.nodes_below(considered.nodes)
    if config.subgame.rest == "summary":
        if hurried:
            log.notes.append("the strategy is left as it was")
            return _untouched(context, strategy, considered, NOTHING, log)
        if size <= config.subgame.whole:
            config = config.replace(generator="all")
    end = deadline
    if deadline is not None and config.safety.certificate != "none":
        deadline -= CERTIFY_SECONDS_PER_NODE * size
    if hurried:
        assert deadline is not None
        fitting = _fitting(context, considered, config, infoset, deadline - time.perf_counter())
        if fitting is None:
            log.notes.append("nor can those below any one of its histories: the strategy is left as it was")
            return _untouched(context, strategy, considered, NOTHING, log)
        # Ties fall the same way whenever the search is made, whatever the seed: it may have to be replayed.
        config, rng = fitting, np.random.default_rng(infoset)
        log.notes.append(f"the infoset is searched with at most {config.generation.k} histories instead")
    kept = _keep(considered, config, rng, log)
    log.lap("generation")
    if not np.any(considered.own_infoset[kept.rows[~kept.frozen]] == infoset):
        log.notes.append("no history of the infoset itself was generated: its strategy is left as it was")
        return _untouched(context, strategy, considered, kept, log)
    if deadline is not None and time.perf_counter() >= deadline:
        log.late = True
        log.notes.append(
            "the time was up before a subgame could be built, solved and certified: the strategy is left as "
            "it was"
        )
        return _untouched(context, strategy, considered, kept, log)

    kept, entry = _entry(context, seen, considered, kept, config, log)
    problem = Problem(considered, kept, entry)
    solution = solve_subgame(context, seen, problem, config, replace(options, deadline=deadline), log)
    if solution is None:
        log.late = True
        log.notes.append("the time was up before the LP was solved: the strategy is left as it was")
        return _untouched(context, strategy, considered, kept, log)
    subgame, gadget, policy, solved = solution.subgame, solution.gadget, solution.policy, solution.solved

    mine = subgame.tree.slot_player == considered.player
    proposal = Proposal(subgame.slot_origin[mine], policy[mine], solved)
    there = np.any(context.tree.slot_infoset[proposal.slots] == infoset)
    if not there and config.safety.scope != "block":
        log.notes.append("the depth limit comes before the infoset itself: its strategy is left as it was")
        return _untouched(context, strategy, considered, kept, log)
    against = replace(options, deadline=end, start=options.start if hurried else None)
    certified = certify(context, strategy, considered, proposal, config, against)
    log.late = log.late or (end is not None and time.perf_counter() >= end)
    if certified.weight == 0:
        log.notes.append("no mixture with the old strategy was certified: the strategy is left as it was")
    log.lap("safety")
    return Refinement(
        infoset=infoset,
        slots=certified.slots,
        probs=certified.probs,
        considered=considered,
        kept=kept,
        solved=solved,
        certified=certified,
        nodes=gadget.tree.n_nodes,
        decisions=int(np.count_nonzero(gadget.tree.player >= 0)),
        infosets=gadget.tree.n_infosets,
        iterations=solution.iterations,
        gap=solution.gap,
        cut_off=tuple(log.notes),
        anchor=certified.weight,
        seconds=log.seconds,
        complete=solution.missed <= solution.tolerance and not hurried,
        late=log.late,
    )


def _too_large(
    context: SearchContext, strategy: Strategy, infoset: int, deadline: float | None, log: Log
) -> bool:
    """Return whether an infoset's closure cannot be solved and certified in the time, and note it."""
    if deadline is None:
        return False
    player = int(context.tree.infoset_player[infoset])
    at = context.closure(infoset)
    cover = context.covers(player).make(infoset, at, at, whole=True)
    known = strategy.reach_at(cover.nodes)
    live = np.bincount(cover.group, known.chance * known.players[:, player]) > LIVE
    size = context.nodes_below(cover.nodes[live[cover.group]])
    if size * SECONDS_PER_NODE <= deadline - time.perf_counter():
        return False
    log.late = True
    log.notes.append(f"the closure's {size:,} nodes cannot be solved and certified in the time")
    return True


def _fitting(
    context: SearchContext, considered: Considered, config: SearchConfig, infoset: int, seconds: float
) -> SearchConfig | None:
    """Return a configuration with the largest k, up to its own, that can be solved in the time, or None."""
    assert config.generation.k is not None
    for k in range(config.generation.k, 0, -1):
        tried = config.replace(k=k)
        _, rows = choose_histories(considered, tried, np.random.default_rng(infoset))
        if context.nodes_below(considered.nodes[rows]) * SECONDS_PER_NODE < seconds:
            return tried
    return None


def _keep(considered: Considered, config: SearchConfig, rng: np.random.Generator, log: Log) -> Kept:
    """Return the histories that enter the subgame, and in which role."""
    generated, rows = choose_histories(considered, config, rng)
    if config.subgame.rest == "summary" and config.generation.generator == "all":
        generated = rows = np.arange(len(considered.nodes))
    candidates = int(np.count_nonzero(considered.in_set))
    summary = np.zeros(len(rows), bool)
    if config.subgame.rest == "summary" and len(rows) < len(considered.nodes):
        full = np.zeros(len(considered.nodes), bool)
        full[rows] = True
        rows, summary = np.arange(len(full)), ~full
    if len(generated) < candidates:
        how = "the opponent's replies are fixed there" if summary.any() else "they are left out"
        log.notes.append(
            f"{candidates - len(generated)} of the {candidates} histories considered were not generated "
            f"(k = {config.generation.k}): {how}"
        )
    frozen = np.zeros(len(rows), bool)
    if config.subgame.freeze == "outside":
        # With a summary the closure is considered, and the infoset alone is what may change.
        own = considered.own_infoset[rows] == considered.infoset
        frozen = ~own if config.subgame.rest == "summary" else ~considered.in_set[rows]
    return Kept(rows, frozen, summary, generated)


def _entry(
    context: SearchContext,
    strategy: Strategy,
    considered: Considered,
    kept: Kept,
    config: SearchConfig,
    log: Log,
) -> tuple[Kept, Entry]:
    """Return the histories in the order that the gadget needs, and how the opponent comes to them."""
    rows = kept.rows
    group, alternative = considered.take(rows)
    opponent = considered.opponent
    path = None
    if config.gadget.kind == "path":
        values = considered.alternative[np.unique(considered.group[rows])]
        path = opponent_path(
            context, strategy, opponent, considered.nodes[rows], group, considered.reach[rows], values
        )
        order = path.entry_order()
        path = path.reordered(order)
        group = np.argsort(order).astype(np.int32)[group]
        by_path = np.argsort(group, kind="stable")
        group, alternative = group[by_path], alternative[by_path]
        rows = rows[by_path]
        kept = Kept(rows, kept.frozen[by_path], kept.summary[by_path], kept.generated)
    reach, theirs = considered.reach[rows], considered.opponent_reach[rows]
    if config.gadget.kind == "unsafe" and not np.sum(reach * theirs) > LIVE:
        log.notes.append("the opponent's strategy never leads here: its histories are weighed alike")
        theirs = np.ones(len(rows))
    gift = None
    if config.gadget.kind == "reach-maxmargin":
        gift = strategy.gifts(opponent)[considered.nodes[rows]][None]
    prior = _entry_prior(config.gadget.entry_prior, group, reach, theirs)
    return kept, Entry((opponent,), group[None], alternative[None], reach, theirs, gift, prior, path)


def _entry_prior(
    kind: str, group: NDArray[np.int32], reach: NDArray[np.float64], theirs: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Return how forced entries are dealt, [n]; None for uniform over opponent infosets."""
    if kind == "uniform":
        return None
    if kind == "reach":
        return reach
    both = reach * theirs
    uniform = reach / np.bincount(group, reach)[group] / (int(group.max()) + 1)
    return uniform / 2 + both / both.sum() / 2 if both.sum() > LIVE else uniform


def _untouched(
    context: SearchContext,
    strategy: Strategy,
    considered: Considered,
    kept: Kept,
    log: Log,
    probs: NDArray[np.float64] | None = None,
) -> Refinement:
    """Return a refinement without a subgame: the old strategy, or `probs` at the infoset."""
    slots = context.tree.slots(considered.infoset)
    return Refinement(
        infoset=considered.infoset,
        slots=slots,
        probs=strategy.probs[slots] if probs is None else probs,
        considered=considered,
        kept=kept,
        solved=np.full(len(considered.alternative), np.nan),
        certified=None,
        nodes=0,
        decisions=0,
        infosets=0,
        iterations=0,
        gap=0.0,
        cut_off=tuple(log.notes),
        anchor=0.0 if probs is None else 1.0,
        seconds=log.seconds,
        late=log.late,
    )


def action_values(context: SearchContext, strategy: Strategy, infoset: int) -> NDArray[np.float64]:
    """Return the value to the infoset's player of each action when everyone goes on by the strategy, [a].

    Histories count by the reach of chance and the opponent; all alike where that is zero.
    """
    tree = context.tree
    player = int(tree.infoset_player[infoset])
    graph = context.graph(player)
    nodes = graph.nodes[graph.of_infoset(infoset)]
    known = strategy.reach_at(nodes)
    weight = known.chance * known.players[:, 1 - player]
    weight = weight / weight.sum() if weight.sum() > LIVE else np.full(len(nodes), 1 / len(nodes))
    children = tree.first_child[nodes][:, None] + np.arange(tree.n_children[nodes[0]])
    found: NDArray[np.float64] = weight @ strategy.values[children, player]
    return found


def _mirror_descent(
    context: SearchContext,
    strategy: Strategy,
    config: SearchConfig,
    considered: Considered,
    log: Log,
) -> Refinement:
    infoset = considered.infoset
    low, high = context.game.payoff_range
    probs = mirror_descent_step(
        strategy.probs[context.tree.slots(infoset)],
        action_values(context, strategy, infoset),
        step=config.solve.step / (high - low),
        magnet=config.solve.magnet * (high - low),
    )
    log.lap("solve")
    return _untouched(context, strategy, considered, NOTHING, log, probs)
