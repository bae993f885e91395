"""The pipeline of a search: histories → generation → subgame → gadget → solve → safety.

`search` is the whole of it up to the solution, for histories from any source. `refine_infoset` is the search
of a game that can be listed: bare and quick, meant to be called thousands of times on one `SearchContext`;
`gs2.search.explain` runs it once and explains the answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, Generic

import numpy as np
from numpy.typing import NDArray

from cfr.tree import FlatTree
from games.game import TERMINAL, Infoset, payoff_span
from games.infosets.trail import Trail
from games.ragged import ranges
from games.support.configuration import ConfigError
from gs2.search.config.search import SearchConfig
from gs2.search.context import NO_OPTIONS, SearchContext, SearchOptions
from gs2.search.gadget.entry import LIVE
from gs2.search.histories.enumerated import Considered
from gs2.search.histories.source import ConsideredT, HistorySource, KeptT, LeftAlone, Log, ProblemT_co
from gs2.search.histories.tree_source import NOTHING, TreeSource
from gs2.search.result import Kept, Refinement
from gs2.search.safety import Proposal, certify, with_certified
from gs2.search.solve.mirror_descent import ANSWERS, KeptValues, keep, step_from
from gs2.search.solve.subgame import SubgameSolution, solve_subgame
from gs2.search.strategy import Strategy

__all__ = ["Searched", "action_values", "check_asked", "keep_few", "refine_infoset", "search"]

SLIP = 0.02
"""How far a robust step takes the histories to be those of the strategy still, whatever an opponent does."""
TIED = 1e-10
"""Actions whose values differ by less, as a share of the payoff range, are equally good to an opponent."""


@dataclass(frozen=True, eq=False)
class Searched(Generic[ConsideredT, KeptT, ProblemT_co]):
    """What a search came to, before anything of it is kept.

    considered, kept: the histories; kept is None where none were generated. solved: the problem that those
    kept make, and its solution; None where the strategy is left alone, and why.
    """

    considered: ConsideredT
    kept: KeptT | None
    solved: tuple[ProblemT_co, SubgameSolution] | None
    why: str = ""


def search(
    source: HistorySource[ConsideredT, KeptT, ProblemT_co], rng: np.random.Generator, log: Log
) -> Searched[ConsideredT, KeptT, ProblemT_co]:
    """Return the solution of the subgame below some of a source's histories."""
    considered = source.consider()
    kept = None
    try:
        kept = source.generate(considered, rng)
        kept, problem = source.problem(considered, kept)
        solution = solve_subgame(problem, log)
    except LeftAlone as left:
        return Searched(considered, kept, None, str(left))
    return Searched(considered, kept, (problem, solution))


KINDS: dict[str, tuple[Callable[[object], bool], str]] = {
    "game": (
        lambda given: isinstance(given, SearchContext) or hasattr(given, "num_players"),
        "a game, as gs2.load_game(name) returns it, or its SearchContext",
    ),
    "infoset": (
        lambda given: isinstance(given, Infoset | Trail | Integral),
        "an Infoset, as game.parse_infoset(text) returns it, a Trail or a number",
    ),
    "config": (
        lambda given: isinstance(given, SearchConfig),
        'a SearchConfig, as gs2.preset("gs2+") returns it',
    ),
    "rng": (
        lambda given: isinstance(given, np.random.Generator),
        "a generator, as np.random.default_rng(seed) returns it",
    ),
}
"""What a search is asked for with: whether a thing is of the kind, and the words for it."""


def check_asked(**asked: object) -> None:
    """Raise ConfigError where a search is asked for with a thing of another kind, by the names of `KINDS`."""
    for name, given in asked.items():
        fits, wanted = KINDS[name]
        if not fits(given):
            shown = repr(given) if isinstance(given, str | int | float | None) else type(given).__name__
            raise ConfigError(f"{name} must be {wanted}; got {shown}")


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
    log = Log()
    source = TreeSource(context, strategy, infoset, config, options, log)
    if config.solve.solver == "mirror-descent":
        return _mirror_descent(context, strategy, config, source.consider(), rng, log)
    found = search(source, rng, log)
    considered, kept = found.considered, found.kept or NOTHING
    if found.solved is None:
        log.notes.append(f"{found.why}: " * bool(found.why) + "the strategy is left as it was")
        return _untouched(context, strategy, considered, kept, log)
    problem, solution = found.solved
    subgame, tree = solution.subgame, solution.gadget.tree
    if solution.missed > solution.tolerance and problem.summary is not None:
        log.notes.append(
            f"the opponent has better replies than the {problem.summary.count} plans it was given where its "
            f"histories stayed in summary, by up to {solution.missed:.3g}"
        )
    mine = subgame.tree.slot_player == considered.player
    proposal = Proposal(subgame.slot_origin[mine], solution.policy[mine], problem.solved)
    there = np.any(context.tree.slot_infoset[proposal.slots] == infoset)
    if not there:
        block = source.config.safety.scope == "block"
        log.notes.append(
            "the depth limit comes before the infoset itself: the strategy "
            f"{'there ' * block}is left as it was"
        )
        if not block or len(proposal.slots) == 0:
            return _untouched(context, strategy, considered, kept, log)
    against = options if source.hurried else options.alone
    certified = certify(context, strategy, considered, proposal, source.config, against)
    end = options.deadline
    log.late = log.late or (end is not None and time.perf_counter() >= end)
    if certified.said:
        log.notes.append(certified.said)
    if certified.weight == 0:
        log.notes.append("no mixture with the old strategy was certified: the strategy is left as it was")
    log.lap("safety")
    return Refinement(
        infoset=infoset,
        slots=certified.slots,
        probs=certified.probs,
        considered=considered,
        kept=kept,
        solved=problem.solved,
        certified=certified,
        nodes=tree.n_nodes,
        decisions=int(np.count_nonzero(tree.player >= 0)),
        infosets=tree.n_infosets,
        iterations=solution.iterations,
        gap=solution.gap,
        cut_off=tuple(log.notes),
        anchor=certified.weight,
        seconds=log.seconds,
        complete=solution.missed <= solution.tolerance and not source.hurried,
        late=log.late,
    )


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
    nodes, weight = _weighed(context, strategy, infoset)
    found: NDArray[np.float64] = weight @ _after_each(strategy, nodes)
    return found


def _weighed(
    context: SearchContext, strategy: Strategy, infoset: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the histories of an infoset, and the share of its reach that each has, [n]."""
    player = int(context.tree.infoset_player[infoset])
    graph = context.graph(player)
    nodes = graph.nodes[graph.of_infoset(infoset)]
    known = strategy.reach_at(nodes)
    weight = known.chance * known.players[:, 1 - player]
    return nodes, weight / weight.sum() if weight.sum() > LIVE else np.full(len(nodes), 1 / len(nodes))


def _valued(
    strategy: Strategy,
    nodes: NDArray[np.int32],
    carried: NDArray[np.float64],
    unkept: NDArray[np.float64] | None = None,
) -> KeptValues:
    """Return what the actions are worth at histories of one infoset when everyone goes on by the strategy."""
    squares = strategy.squares[nodes, int(strategy.tree.player[nodes[0]])]
    none = np.zeros(len(nodes)) if unkept is None else unkept
    return KeptValues(_after_each(strategy, nodes), squares, carried, none)


def _after_each(strategy: Strategy, nodes: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the value of each action at histories of one infoset to its player, [n, a]."""
    tree = strategy.tree
    children = tree.first_child[nodes][:, None] + np.arange(tree.n_children[nodes[0]])
    found: NDArray[np.float64] = strategy.values[children, int(tree.player[nodes[0]])]
    return found


def keep_few(
    context: SearchContext,
    strategy: Strategy,
    considered: Considered,
    config: SearchConfig,
    rng: np.random.Generator,
) -> tuple[Kept, KeptValues, NDArray[np.int32]]:
    """Return the histories of the infoset that the generator keeps, what they say of actions, and where."""
    nodes, weight = _weighed(context, strategy, considered.infoset)
    here = _rows_of(context, nodes, considered)
    alternative = considered.alternative[considered.group[here]]
    rows, carried, unkept = keep(alternative, weight, config.generation, rng)
    none = np.zeros(len(rows), bool)
    kept = Kept(here[rows], none, none, here[np.sort(rows)])
    nodes = nodes[rows]
    return kept, _valued(_answered(context, strategy, config, nodes), nodes, carried, unkept), nodes


def _against_others(
    context: SearchContext,
    strategy: Strategy,
    config: SearchConfig,
    nodes: NDArray[np.int32],
    carried: NDArray[np.float64],
) -> list[NDArray[np.float64]]:
    """Return the action values against the answers that a robust step meets beside the first, [a] each.

    nodes, carried: histories of the infoset, and the share of its reach that each carries.
    """
    tree = context.tree
    seat = 1 - int(tree.player[nodes[0]])
    below = _infosets_below(tree, nodes, seat)
    met = np.union1d(below, _infosets_above(tree, nodes, seat))
    found = []
    for share, infosets in ((1.0, below), (0.5, met)):
        answered = strategy.answered(
            ("best", share, config.generation, seat),
            infosets,
            partial(_best, context, strategy, config, share),
        )
        weight = carried
        if share < 1.0:
            before, after = (one.reach_at(nodes) for one in (strategy, answered))
            likely = before.chance * before.players[:, seat]
            # A part of a game does not hold what the opponent did before, which may have been anything.
            otherwise = after.chance * (after.players[:, seat] if strategy.above is None else 1.0)
            likelier = (1 - SLIP) * otherwise + SLIP * likely
            everything = len(nodes) == len(_weighed(context, strategy, int(tree.infoset[nodes[0]]))[0])
            ratio = np.divide(likelier, likely, out=np.ones(len(nodes)), where=likely > 0)
            weight = likelier if everything else carried * ratio
            weight = weight / weight.sum() if weight.sum() > LIVE else carried
        found.append(weight @ _after_each(answered, nodes))
    return found


def _best(
    context: SearchContext, strategy: Strategy, config: SearchConfig, share: float, infoset: int
) -> NDArray[np.float64]:
    """Return the policy that plays the best actions at an infoset by a share, else the strategy's, [a]."""
    value = _seen_by_answers(context, strategy, config, infoset).mean
    best = value >= value.max() - TIED * payoff_span(context.game)
    old = strategy.probs[context.tree.slots(infoset)]
    found: NDArray[np.float64] = share * best / best.sum() + (1 - share) * old
    return found


def _answered(
    context: SearchContext, strategy: Strategy, config: SearchConfig, nodes: NDArray[np.int32]
) -> Strategy:
    """Return the strategy that a step is taken against: the opponent's as it answers below some histories.

    Its answer at an infoset is a step of its own from the strategy, from as many histories. The histories are
    drawn by the infoset's number, so that all searches of a strategy meet the same answers.
    """
    if not config.solve.extragradient:
        return strategy
    tree, seat = context.tree, 1 - int(context.tree.player[nodes[0]])
    below = _infosets_below(tree, nodes, seat)
    return strategy.answered(
        (config.solve, config.generation, seat), below, partial(_step, context, strategy, config)
    )


def _step(
    context: SearchContext, strategy: Strategy, config: SearchConfig, infoset: int
) -> NDArray[np.float64]:
    """Return the policy after a step at an infoset when everyone goes on by the strategy, [a]."""
    seen = _seen_by_answers(context, strategy, config, infoset)
    return step_from(
        seen, strategy.probs[context.tree.slots(infoset)], config.solve, payoff_span(context.game)
    )


def _seen_by_answers(
    context: SearchContext, strategy: Strategy, config: SearchConfig, infoset: int
) -> KeptValues:
    """Return what the actions of an opponent that answers are worth when everyone goes on by the strategy."""
    nodes, weight = _weighed(context, strategy, infoset)
    rows, unkept = np.arange(len(nodes)), np.zeros(len(nodes))
    if config.generation.generator != "all":
        theirs = strategy.values[nodes, 1 - int(context.tree.player[nodes[0]])]
        rows, weight, unkept = keep(
            theirs, weight, config.generation, np.random.default_rng([ANSWERS, infoset])
        )
    return _valued(strategy, nodes[rows], weight, unkept)


def _infosets_above(tree: FlatTree, nodes: NDArray[np.int32], seat: int) -> NDArray[np.int64]:
    """Return the infosets of a seat on the way to some nodes, rising, [i]."""
    found, here = [np.zeros(0, np.int64)], tree.parent[nodes]
    while len(here := here[here >= 0]):
        found.append(tree.infoset[here[tree.player[here] == seat]].astype(np.int64))
        here = tree.parent[here]
    return np.unique(np.concatenate(found))


def _infosets_below(tree: FlatTree, nodes: NDArray[np.int32], seat: int) -> NDArray[np.int64]:
    """Return the infosets of a seat below some nodes, rising, [i]."""
    found, here = [np.zeros(0, np.int64)], nodes.astype(np.int64)
    while len(here):
        here = ranges(tree.first_child[here], tree.n_children[here])
        found.append(tree.infoset[here[tree.player[here] == seat]].astype(np.int64))
        here = here[tree.player[here] != TERMINAL]
    return np.unique(np.concatenate(found))


def _rows_of(context: SearchContext, nodes: NDArray[np.int32], considered: Considered) -> NDArray[np.int64]:
    """Return the row of each history of the infoset among those considered, [n]; 0 where chance never leads.

    Where a later confusion of the opponent's is considered as well, a history stands for those below it.
    """
    order = np.argsort(considered.nodes)
    there = considered.nodes[order]
    at, found = nodes.astype(np.int64), np.zeros(len(nodes), np.int64)
    missing = np.ones(len(nodes), bool)
    while missing.any():
        place = np.minimum(np.searchsorted(there, at), len(there) - 1)
        met = missing & (there[place] == at)
        found[met] = order[place[met]]
        missing &= ~met
        at[missing] = context.tree.parent[at[missing]]
        missing &= at >= 0
    return found


def _mirror_descent(
    context: SearchContext,
    strategy: Strategy,
    config: SearchConfig,
    considered: Considered,
    rng: np.random.Generator,
    log: Log,
) -> Refinement:
    infoset = considered.infoset
    old = strategy.probs[context.tree.slots(infoset)]
    span = payoff_span(context.game)
    if config.generation.generator == "all":
        nodes, weight = _weighed(context, strategy, infoset)
        kept, seen = NOTHING, _valued(_answered(context, strategy, config, nodes), nodes, weight)
    else:
        kept, seen, nodes = keep_few(context, strategy, considered, config, rng)
        weight = seen.carried
    log.lap("generation")
    others = _against_others(context, strategy, config, nodes, weight) if config.solve.robust else ()
    probs = step_from(seen, old, config.solve, span, others)
    log.lap("solve")
    return _untouched(context, strategy, considered, kept, log, probs)
