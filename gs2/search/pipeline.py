"""A search at one infoset, stage by stage: consider → generate → solve → certify.

`refine_from` runs the stages of a `HistorySource`. `TreeSource` is that of a tree which lists histories: of a
whole game, or, in a game that cannot be listed, of what was drawn (`gs2.search.histories.sampled_source`).
Pairs of private states on a public tree are another. A game may bring problems of its own for
`solve_subgame`. `refine_infoset` is bare and quick, meant to be called thousands of times on one
`SearchContext`; `gs2.search.explain` picks the source, runs it once and explains the answer.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cfr.anchored import Anchor, solve_anchored
from cfr.lp import LpTimeout, solve_lp
from cfr.solver import Start, Stop, solve
from cfr.values import best_responses, group_values
from cfr.variants import Variant, variant
from gs2.search.config.search import ROLLED_OUT, SearchConfig, on_tree
from gs2.search.config.stages import SolveConfig
from gs2.search.context import NO_OPTIONS, Log, Search, SearchContext, SearchOptions, Strategy
from gs2.search.gadget.build import Gadget, build_gadget
from gs2.search.gadget.path import LIVE, Entry, gifts, opponent_path
from gs2.search.histories.double_oracle import Summary, choose_plans
from gs2.search.histories.enumerated import (
    NOTHING,
    UNREACHED,
    Considered,
    Kept,
    choose_histories,
    consider_histories,
    forest_below,
    keep_histories,
    with_all,
)
from gs2.search.mirror_descent import mirror_descent
from gs2.search.safety import Certified, Proposal, certify
from gs2.search.subgame.cut import Roots, Subgame


class LeftAlone(Exception):
    """There is nothing to solve here: the strategy stays as it was; the message says why."""


class Problem(Protocol):
    """A subgame to be solved.

    config: of the search, whose gadget and solve stages are read. deadline: an instant of
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
        return False

    def grow(self) -> Subgame:
        """Return the forest below the histories, with the replies known so far."""
        ...

    def start(self, subgame: Subgame, gadget: Gadget) -> NDArray[np.float64]:
        """Return what a warm start begins with, [gadget's slots] float64; uniform play unless it is known."""
        sizes = np.diff(gadget.tree.infoset_offset)
        return np.repeat(1.0 / sizes, sizes)

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
        once = config if last else config.replace(target=rough)
        policy, iterations, gap = _solve(problem, subgame, gadget, once, log)
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
            log.timed_out = True
            break
        if closed:
            rough = 0.0
        elif not last and deadline is not None and now - begun >= deadline - now:
            rough, log.timed_out = 0.0, True
        else:
            rough = min(rough, missed / 8)
    if len(subgame.truncated):
        log.notes.append(
            f"{len(subgame.truncated)} histories at depth {config.subgame.depth} were not played out: "
            f"{config.subgame.leaf}"
        )
    return SubgameSolution(subgame, gadget, policy, spent, gap, missed, tolerance)


def _solve(
    problem: Problem, subgame: Subgame, gadget: Gadget, config: SearchConfig, log: Log
) -> tuple[NDArray[np.float64], int, float]:
    """Return (policy on the gadget's slots, iterations, exploitability).

    With the solver anchored the last is the gap of the regularised game. Its magnet is what a warm start
    begins with; the gadget's own choices, and those of continuations and plans, are free.
    """
    tree, stage, deadline = gadget.tree, config.solve, problem.deadline
    if stage.solver == "lp":
        limit = None if deadline is None else max(0.001, deadline - time.perf_counter())
        try:
            exact = solve_lp(tree, time_limit=limit)
        except LpTimeout as error:
            log.timed_out = True
            raise LeftAlone("the time was up before the LP was solved") from error
        return exact.policy, 0, exact.exploitability
    limits: dict[str, Any] = {"iterations": stage.iterations, "target": stage.target, "stop": Stop(deadline)}
    if stage.solver == "anchored":
        magnet = problem.start(subgame, gadget).copy()
        free = gadget.infoset_origin < 0
        free[~free] = subgame.chosen[gadget.infoset_origin[~free]]
        magnet[np.repeat(free, np.diff(tree.infoset_offset))] = np.nan
        low, high = problem.payoff_range
        temperature = np.full(tree.n_players, stage.temperature * (high - low))
        temperature[list(problem.entry.seats)] = 0.0
        near = solve_anchored(tree, Anchor(magnet, tuple(temperature.tolist())), **limits)
        found, stopped = (near.policy, near.iteration, near.gap), near.stopped
    else:
        start = None
        if stage.warm_start > 0:
            start = Start(problem.start(subgame, gadget), stage.warm_start)
        done = solve(tree, variant=variant_of(stage), start=start, **limits)
        found, stopped = (done.policy, done.iteration, done.exploitability), done.stopped
    note_lateness(stopped, found[1], config, log)
    return found


def variant_of(stage: SolveConfig) -> Variant:
    """Return the row of CFR that a configuration asks for."""
    return variant(stage.variant) if stage.gamma is None else variant(stage.variant, gamma=stage.gamma)


def note_lateness(stopped: str, iteration: int, config: SearchConfig, log: Log) -> None:
    """Note that the time was up, if that ended a run."""
    if stopped == "deadline":
        log.timed_out = True
        log.notes.append(f"the time was up after {iteration} of {config.solve.iterations} iterations")


class HistorySource(Protocol):
    """The histories that one decision may be in, and what becomes of those that are kept.

    Its methods are called in this order, once for a search; `generate` and `solve` may raise LeftAlone. Slots
    are those of the strategy refined, in whatever form it has. log: of the search.
    """

    log: Log

    def consider(self) -> Considered:
        """Return the histories considered, with their reach and what they are worth to the opponents."""
        ...

    def generate(self, considered: Considered, rng: np.random.Generator) -> Kept:
        """Return the histories that enter the subgame."""
        ...

    def solve(self, considered: Considered, kept: Kept) -> Proposal:
        """Return what the solution of the histories kept proposes to the searching player."""
        ...

    def certify(self, considered: Considered, proposal: Proposal) -> Certified | None:
        """Return what of a proposal is kept; None where it has nothing to say of the decision."""
        ...

    def here(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the slots of the decision itself, [a] int64, and the strategy refined there, [a] float64."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class Refinement(Proposal):
    """The outcome of one search, in the numbers of the tree that was searched.

    slots: [s] int64, slots of the searching player that the search replaces. probs: [s] float64, its policy
        there. The other fields of a proposal say how its subgame was solved.
    considered, kept: the histories.
    certified: what the certificate found; None if nothing was solved.
    cut_off: what was left out or cut short, and why.
    anchor: weight of the subgame's solution in `probs`; 0 if the old strategy stands.
    seconds: wall-clock time of each stage.
    timed_out: whether the time limit cut anything short. If not, more time would have changed nothing.
    """

    considered: Considered
    kept: Kept
    certified: Certified | None
    cut_off: tuple[str, ...]
    anchor: float
    seconds: dict[str, float]
    timed_out: bool = False

    @property
    def infoset(self) -> int:
        """Return where the search was made."""
        return self.considered.infoset

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
    log, considered = source.log, source.consider()
    kept, certified = NOTHING, None
    try:
        kept = source.generate(considered, rng)
        proposal = source.solve(considered, kept)
        certified = source.certify(considered, proposal)
    except LeftAlone as left:
        why = str(left)
        log.notes.append(f"{why}: " * bool(why) + "the strategy is left as it was")
    if certified is None:
        return untouched(source, considered, kept)
    if certified.said:
        log.notes.append(certified.said)
    if certified.weight == 0:
        log.notes.append("no mixture with the old strategy was certified: the strategy is left as it was")
    log.lap("safety")
    proposal = replace(proposal, slots=certified.slots, probs=certified.probs)
    return _refinement(source, considered, kept, proposal, certified.weight, certified)


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
    return _refinement(source, considered, kept, nothing, 0.0 if probs is None else 1.0)


def _refinement(
    source: HistorySource,
    considered: Considered,
    kept: Kept,
    proposal: Proposal,
    weight: float,
    certified: Certified | None = None,
) -> Refinement:
    """Return the outcome of a search whose proposal, with this weight in it, is what it keeps."""
    return Refinement(
        **vars(proposal),
        considered=considered,
        kept=kept,
        certified=certified,
        cut_off=tuple(source.log.notes),
        anchor=weight,
        seconds=source.log.seconds,
        timed_out=source.log.timed_out,
    )


SECONDS_PER_NODE = 2e-7
"""What building a subgame and solving it roughly takes at least; a closure with less time is left alone, or
fewer histories are kept. Certified solutions help however rough they are: at 100 ms twice and five times this
leave 0.54 and 0.73 of the blueprint's exploitability on Goofspiel 10, this 0.22."""
CERTIFY_SECONDS_PER_NODE = 1e-7
"""What a certificate takes, which a search keeps back from its time: the histories' trees and the opponent's
answers to a few mixtures, at 13 nanoseconds a node each; with time left it tries more."""


class TreeSource(HistorySource, Problem):
    """The histories of one infoset of a full tree, under one strategy of both players, and their problem.

    search: as it came to be: with little time, or where the player's own strategy never leads, its
    configuration is not the one given, nor its strategy the one that is refined, which is `strategy`.
    reduced: whether a closure is too large for the time. deadline: until when the subgame must be solved, so
    that a certificate is made in time.
    The fields of the `Problem` are there once histories are kept. kept: these, in the order of the subgame's
    roots. summary: those of them that start with one reply each. solved: [g] float64, what each opponent
    infoset is worth against the last policy reviewed; nan where the subgame does not have it.
    """

    def __init__(self, search: Search, infoset: int) -> None:
        """Look at the time and the closure's size, and choose the search that fits.

        Raises ConfigError for a leaf that would not be asked.
        """
        context, config, options = search.context, search.config, search.options
        if options.trials is None:  # a tree of drawn histories has been cut at the depth limit already
            options.check_leaf(config)
        self.search, self.config, self.context, self.infoset = search, config, context, infoset
        self.strategy, self.deadline, self.log = search.strategy, options.deadline, Log()
        self.payoff_range = context.game.payoff_range
        self.considered: Considered
        self.kept: Kept
        self.entry: Entry
        self.solved: NDArray[np.float64]
        self.summary: Summary | None = None
        self.reduced = config.subgame.rest == "summary" and self._too_large()
        if self.reduced and config.generation.fallback_k:
            # Small searches of one level do not see each other's results, and are let through one after
            # another: if each had to improve on what the others made of the opponent's values, few would.
            self._configure(config.fallback())
            if options.start is not None:
                opponent = 1 - int(context.tree.infoset_player[infoset])
                self.search = replace(self.search, strategy=options.start.with_best_response(opponent))

    def _configure(self, config: SearchConfig) -> None:
        self.config, self.search = config, replace(self.search, config=config)

    def consider(self) -> Considered:
        log = self.log
        found = consider_histories(self.search, self.infoset)
        if found.off_path:
            log.notes.append(UNREACHED)
            self._configure(self.config.for_unreached())
        if found.dropped:
            log.notes.append(
                f"{found.dropped} opponent infosets were left out: chance and the player never lead there"
            )
        log.lap("knowledge")
        return found

    def generate(self, considered: Considered, rng: np.random.Generator) -> Kept:
        """Return the histories that enter the subgame.

        Raises LeftAlone if a closure does not fit into the time and no smaller search is allowed or fits.
        """
        log, summary = self.log, self.config.subgame.rest == "summary"
        size = self.context.nodes_below(considered.nodes)
        if summary:
            if self.reduced:
                raise LeftAlone("")
            if size <= self.config.subgame.whole:
                self._configure(with_all(self.config))
        if self.deadline is not None and self.config.safety.certificate != "none":
            self.deadline -= CERTIFY_SECONDS_PER_NODE * size
        if self.reduced:
            assert self.deadline is not None  # or nothing would be too large
            fitting = self._fitting(considered, self.deadline - time.perf_counter())
            if fitting is None:
                raise LeftAlone("nor can those below any one of its histories")
            # Ties fall the same way whenever the search is made, whatever the seed: it may be replayed.
            self._configure(fitting)
            rng = np.random.default_rng(self.infoset)
            most = fitting.generation.k
            log.notes.append(f"the infoset is searched with at most {most} histories instead")
        kept = keep_histories(considered, self.config, rng, log)
        log.lap("generation")
        return kept

    def solve(self, considered: Considered, kept: Kept) -> Proposal:
        """Return what the subgame's solution proposes to the searching player.

        Raises LeftAlone if no history kept is the infoset's own, or the time is up.
        """
        if not np.any(considered.own_infoset[kept.rows[~kept.frozen]] == self.infoset):
            raise LeftAlone("no history of the infoset itself was generated")
        if self.deadline is not None and time.perf_counter() >= self.deadline:
            self.log.timed_out = True
            raise LeftAlone("the time was up before a subgame could be built, solved and certified")
        self.considered = considered
        self.kept, self.entry = self._entry(considered, kept)
        if self.kept.summary.any():
            self.summary = Summary(self.search, considered, np.sort(self.kept.rows[self.kept.summary]))
        solution = solve_subgame(self, self.log)
        subgame, tree = solution.subgame, solution.gadget.tree
        if solution.missed > solution.tolerance and self.summary is not None:
            self.log.notes.append(
                f"the opponent has better replies than the {self.summary.count} plans it was given where "
                f"its histories stayed in summary, by up to {solution.missed:.3g}"
            )
        mine = subgame.slots_of(considered.player)
        return Proposal(
            slots=subgame.slot_origin[mine],
            probs=solution.policy[mine],
            solved=self.solved,
            nodes=tree.n_nodes,
            decisions=int(np.count_nonzero(tree.player >= 0)),
            infosets=tree.n_infosets,
            iterations=solution.iterations,
            gap=solution.gap,
            complete=solution.missed <= solution.tolerance and not self.reduced,
        )

    @property
    def partial(self) -> bool:
        return self.summary is not None and not self.summary.full()

    def grow(self) -> Subgame:
        """Return the forest below the histories kept, one root each, or one for each plan in summary."""
        considered, kept, summary, old = self.considered, self.kept, self.summary, self.search.strategy.raw
        frozen = None
        if kept.frozen.any() or summary is not None:
            frozen = np.zeros((len(kept.rows), self.context.tree.n_players), bool)
            frozen[:, considered.player] = kept.frozen
            frozen[:, considered.opponent] = kept.summary
        nodes, reach = considered.nodes[kept.rows], considered.reach[kept.rows]
        group = considered.group[kept.rows]
        if summary is None:
            roots = Roots(nodes, reach, old, frozen, group=group)
            return forest_below(self.search, considered.player, roots)
        counts, plan = summary.copies(group, kept.summary)
        copied = np.repeat(np.arange(len(nodes)), counts)
        assert frozen is not None  # histories in summary are
        below = nodes[copied], reach[copied], old, frozen[copied]
        forest = forest_below(
            self.search, considered.player, Roots(*below, summary.plans, plan, group[copied])
        )
        return choose_plans(forest, counts, reach, group, considered.opponent)

    def start(self, subgame: Subgame, gadget: Gadget) -> NDArray[np.float64]:
        policy = super().start(subgame, gadget)
        below = np.flatnonzero(gadget.slot_origin >= 0)
        origin = subgame.slot_origin[gadget.slot_origin[below]]
        known = origin >= 0
        policy[below[known]] = self.search.strategy.probs[origin[known]]
        return policy

    def review(self, subgame: Subgame, policy: NDArray[np.float64], tolerance: float) -> float:
        considered, rows = self.considered, self.kept.rows
        values, *_ = best_responses(subgame.tree, policy, considered.opponent)
        group, _ = considered.take(rows)
        rooted = group_values(values[: len(rows)], considered.reach[rows], group)
        self.solved = np.full(len(considered.alternative), np.nan)
        self.solved[np.unique(considered.group[rows])] = rooted
        if self.summary is None:
            return 0.0
        mine = subgame.slots_of(considered.player)
        return self.summary.complete(subgame.slot_origin[mine], policy[mine], self.solved, tolerance)

    def certify(self, considered: Considered, proposal: Proposal) -> Certified | None:
        """Return what of a proposal is kept; None where a depth limit comes before the infoset itself."""
        log, options = self.log, self.search.options
        if not np.any(self.context.tree.slot_infoset[proposal.slots] == self.infoset):
            block = self.config.safety.scope == "block"
            log.notes.append(
                "the depth limit comes before the infoset itself: the strategy "
                f"{'there ' * block}is left as it was"
            )
            if not block or len(proposal.slots) == 0:
                return None
        # Who sees what the others of its level came to is held to that, not to the strategy before them.
        against = options if self.reduced or options.start is None else replace(options, start=None)
        judged = Search(self.context, self.strategy, self.config, against)
        certified = certify(judged, considered, proposal)
        end = options.deadline
        log.timed_out = log.timed_out or (end is not None and time.perf_counter() >= end)
        return certified

    def here(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        slots = self.context.tree.slots(self.infoset)
        return slots, self.strategy.probs[slots]

    def _too_large(self) -> bool:
        """Return whether the infoset's closure cannot be solved and certified in the time, and note it."""
        context, infoset, log = self.context, self.infoset, self.log
        if self.deadline is None:
            return False
        player = int(context.tree.infoset_player[infoset])
        at = context.closure(infoset)
        cover = context.covers(player).make(infoset, at, at, whole=True)
        known = self.strategy.reach_at(cover.nodes)
        live = np.bincount(cover.group, known.chance * known.players[:, player]) > LIVE
        size = context.nodes_below(cover.nodes[live[cover.group]])
        if size * SECONDS_PER_NODE <= self.deadline - time.perf_counter():
            return False
        log.timed_out = True
        log.notes.append(f"the closure's {size:,} nodes cannot be solved and certified in the time")
        return True

    def _entry(self, considered: Considered, kept: Kept) -> tuple[Kept, Entry]:
        """Return the histories in the order that the gadget needs, and how the opponent comes to them."""
        gadget, strategy, rows = self.config.gadget, self.search.strategy, kept.rows
        group, alternative = considered.take(rows)
        opponent = considered.opponent
        path = None
        if gadget.kind == "path":
            values = considered.alternative[np.unique(considered.group[rows])]
            nodes, reach = considered.nodes[rows], considered.reach[rows]
            path = opponent_path(self.context, strategy, opponent, nodes, group, reach, values)
            order = path.entry_order()
            path = path.reordered(order)
            group = np.argsort(order).astype(np.int32)[group]
            by_path = np.argsort(group, kind="stable")
            group, alternative = group[by_path], alternative[by_path]
            rows = rows[by_path]
            kept = Kept(rows, kept.frozen[by_path], kept.summary[by_path], kept.generated)
        reach, theirs = considered.reach[rows], considered.opponent_reach[rows]
        if gadget.kind == "unsafe" and not np.sum(reach * theirs) > LIVE:
            self.log.notes.append("the opponent's strategy never leads here: its histories are weighed alike")
            theirs = np.ones(len(rows))
        gift = None
        if gadget.kind == "reach-maxmargin":
            gift = gifts(strategy, opponent)[considered.nodes[rows]][None]
        prior = _entry_prior(gadget.entry_prior, group, reach, theirs)
        return kept, Entry((opponent,), group[None], alternative[None], reach, theirs, gift, prior, path)

    def _fitting(self, considered: Considered, seconds: float) -> SearchConfig | None:
        """Return a configuration with the largest k, up to its own, that can be solved in time, or None."""
        assert self.config.generation.k is not None  # a fallback has one
        for k in range(self.config.generation.k, 0, -1):
            tried = self.config.replace(k=k)
            _, rows = choose_histories(considered, tried, np.random.default_rng(self.infoset))
            if self.context.nodes_below(considered.nodes[rows]) * SECONDS_PER_NODE < seconds:
                return tried
        return None


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


def plays_out(config: SearchConfig) -> bool:
    """Return whether games are played out at random on a tree: at a depth limit, or for a certificate."""
    if config.solve.solver == "mirror-descent":
        return False
    stage = config.subgame
    rolls = stage.depth is not None and stage.leaf in ROLLED_OUT and stage.rollouts > 0
    return rolls or config.safety.certificate == "statistical"


def where_listed(config: SearchConfig) -> SearchConfig:
    """Return the configuration where the game's tree is listed: a step takes values to the game's end."""
    steps = config.solve.solver == "mirror-descent" and config.histories.source == "auto"
    return on_tree(config) if steps else config


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
    config = where_listed(config)
    if options.luck is None and plays_out(config):
        options = replace(options, luck=int(rng.integers(1 << 62)))
    search = Search(context, strategy, config, options.within(config))
    source = TreeSource(search, infoset)
    if config.solve.solver != "mirror-descent":
        return refine_from(source, rng)
    considered = source.consider()
    kept, probs = mirror_descent(search, considered, rng, source.log)
    return untouched(source, considered, kept, probs)
