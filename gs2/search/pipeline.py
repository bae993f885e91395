"""The search at one infoset of a tree that lists histories, stage by stage.

`TreeSource` has the stages of `gs2.search.stages`. `refine_infoset` is bare and quick, meant to be called
thousands of times on one `SearchContext`; `gs2.search.explain` picks the source, runs it once and explains
the answer.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gs2.search.config.search import SearchConfig
from gs2.search.context import NO_OPTIONS, SearchContext, SearchOptions
from gs2.search.gadget.build import Gadget
from gs2.search.gadget.entry import LIVE, Entry
from gs2.search.gadget.path import Arrivals, gifts, opponent_path
from gs2.search.histories.double_oracle import Summary, choose_plans
from gs2.search.histories.enumerated import (
    Considered,
    choose_histories,
    consider_histories,
    forest_below,
)
from gs2.search.mirror_descent import mirror_descent
from gs2.search.safety import Certified, Proposal, certify, with_certified
from gs2.search.stages import Kept, LeftAlone, Log, Refinement, refine_from, solve_subgame, untouched
from gs2.search.strategy import Strategy
from gs2.search.subgame.alternative import best_responses, group_values
from gs2.search.subgame.cut import Roots, Subgame

__all__ = ["TreeSource", "keep_histories", "refine_infoset", "with_all"]

SECONDS_PER_NODE = 2e-7
"""What building a subgame and solving it roughly takes at least; a closure with less time is left alone, or
fewer histories are kept. Certified solutions help however rough they are: at 100 ms twice and five times this
leave 0.54 and 0.73 of the blueprint's exploitability on Goofspiel 10, this 0.22."""
CERTIFY_SECONDS_PER_NODE = 1e-7
"""What a certificate takes, which a search keeps back from its time: the histories' trees and the opponent's
answers to a few mixtures, at 13 nanoseconds a node each; with time left it tries more."""


@lru_cache(maxsize=64)
def with_all(config: SearchConfig) -> SearchConfig:
    """Return the configuration with everything generated; kept, because most small searches ask for it."""
    return config.replace(generator="all")


class TreeSource:
    """The histories of one infoset of a full tree, under one strategy of both players, and their problem.

    config: of the search, as it came to be: with little time, or where the player's own strategy never leads,
    it is not the one given. strategy: that is refined; seen: the one that the search starts from.
    hurried: whether a closure is too large for the time. deadline: until when the subgame must be solved, so
    that a certificate is made in time.
    The fields of the problem (`gs2.search.stages.Problem`) are there once histories are kept. summary: those
    of them that start with one reply each. solved: [g] float64, what each opponent infoset is worth against
    the last policy reviewed; nan where the subgame does not have it.
    """

    def __init__(
        self,
        context: SearchContext,
        strategy: Strategy,
        infoset: int,
        config: SearchConfig,
        options: SearchOptions,
    ) -> None:
        """Look at the time and the closure's size, and choose the search that fits.

        Raises ConfigError for a leaf that would not be asked.
        """
        if options.trials is None:  # a tree of drawn histories has been cut at the depth limit already
            options.check_leaf(config)
        self.context, self.strategy, self.infoset, self.options = context, strategy, infoset, options
        self.config, self.seen, self.deadline, self.log = config, strategy, options.deadline, Log()
        self.payoff_range = context.game.payoff_range
        self.considered: Considered
        self.kept: Kept
        self.entry: Entry
        self.solved: NDArray[np.float64]
        self.summary: Summary | None = None
        self.hurried = config.subgame.rest == "summary" and _too_large(
            context, strategy, infoset, options.deadline, self.log
        )
        if self.hurried and config.generation.fallback_k:
            # Small searches of one level do not see each other's results, and are let through one after
            # another: if each had to improve on what the others made of the opponent's values, few would.
            self.config = config.fallback()
            if options.start is not None:
                self.seen = options.start.with_best_response(1 - int(context.tree.infoset_player[infoset]))

    def consider(self) -> Considered:
        """Return the histories of the knowledge set, with their reach and alternative values."""
        log = self.log
        found = consider_histories(self.context, self.seen, self.infoset, self.config, self.options)
        if found.unreached:
            log.notes.append(
                "the player's own strategy never leads here: histories are weighed by chance alone, and "
                "nothing that is played here can be exploited"
            )
            self.config = self.config.for_unreached()
        if found.dropped:
            log.notes.append(
                f"{found.dropped} opponent infosets were left out: chance and the player never lead there"
            )
        log.lap("knowledge")
        return found

    def generate(self, considered: Considered, rng: np.random.Generator) -> Kept:
        """Return the histories that enter the subgame, and in which role.

        Raises LeftAlone if a closure does not fit into the time and no smaller search is allowed or fits.
        """
        log, summary = self.log, self.config.subgame.rest == "summary"
        size = self.context.nodes_below(considered.nodes)
        if summary:
            if self.hurried:
                raise LeftAlone("")
            if size <= self.config.subgame.whole:
                self.config = with_all(self.config)
        if self.deadline is not None and self.config.safety.certificate != "none":
            self.deadline -= CERTIFY_SECONDS_PER_NODE * size
        if self.hurried:
            assert self.deadline is not None  # or nothing would be too large
            fitting = self._fitting(considered, self.deadline - time.perf_counter())
            if fitting is None:
                raise LeftAlone("nor can those below any one of its histories")
            # Ties fall the same way whenever the search is made, whatever the seed: it may be replayed.
            self.config, rng = fitting, np.random.default_rng(self.infoset)
            most = fitting.generation.k
            log.notes.append(f"the infoset is searched with at most {most} histories instead")
        kept = keep_histories(considered, self.config, rng, log)
        log.lap("generation")
        return kept

    def problem(self, considered: Considered, kept: Kept) -> tuple[Kept, TreeSource]:
        """Return the histories in the order of the subgame's roots, and the problem that they make.

        Raises LeftAlone if none of them is the infoset's own, or the time is up.
        """
        if not np.any(considered.own_infoset[kept.rows[~kept.frozen]] == self.infoset):
            raise LeftAlone("no history of the infoset itself was generated")
        if self.deadline is not None and time.perf_counter() >= self.deadline:
            self.log.late = True
            raise LeftAlone("the time was up before a subgame could be built, solved and certified")
        kept, self.entry = _entry(self.context, self.seen, considered, kept, self.config, self.log)
        self.considered, self.kept = considered, kept
        self.solved = np.full(len(considered.alternative), np.nan)
        if kept.summary.any():
            rows = np.sort(kept.rows[kept.summary])
            self.summary = Summary(self.context, self.seen, considered, rows, self.config.subgame.plans)
        return kept, self

    @property
    def partial(self) -> bool:
        """Return whether histories are kept in summary, and plans can be added."""
        return self.summary is not None and not self.summary.full()

    def grow(self) -> Subgame:
        """Return the forest below the histories kept, one root each, or one for each plan in summary."""
        considered, kept, summary = self.considered, self.kept, self.summary
        frozen = None
        if kept.frozen.any() or summary is not None:
            frozen = np.zeros((len(kept.rows), self.context.tree.n_players), bool)
            frozen[:, considered.player] = kept.frozen
            frozen[:, considered.opponent] = kept.summary
        nodes, reach = considered.nodes[kept.rows], considered.reach[kept.rows]
        group = considered.group[kept.rows]
        if summary is None:
            return self._cut(Roots(nodes, reach, self.seen.raw, frozen, group=group))
        counts, plan = summary.copies(group, kept.summary)
        copied = np.repeat(np.arange(len(nodes)), counts)
        assert frozen is not None  # histories in summary are
        below = nodes[copied], reach[copied], self.seen.raw, frozen[copied]
        roots = Roots(*below, summary.plans, plan, group[copied])
        forest = self._cut(roots)
        return choose_plans(forest, counts, reach, group, considered.opponent)

    def _cut(self, roots: Roots) -> Subgame:
        player = self.considered.player
        return forest_below(self.context, self.seen, player, roots, self.config, self.options)

    def start(self, subgame: Subgame, gadget: Gadget) -> NDArray[np.float64]:
        """Return the strategies being refined, [gadget's slots], uniform where they say nothing."""
        sizes = np.diff(gadget.tree.infoset_offset)
        policy = np.repeat(1.0 / sizes, sizes)
        below = np.flatnonzero(gadget.slot_origin >= 0)
        origin = subgame.slot_origin[gadget.slot_origin[below]]
        known = origin >= 0
        policy[below[known]] = self.seen.probs[origin[known]]
        return policy

    def review(self, subgame: Subgame, policy: NDArray[np.float64], tolerance: float) -> float:
        """Return the opponent's most gain on `policy`, [slots], by replies that its plans lack; adds them."""
        considered, rows = self.considered, self.kept.rows
        values, *_ = best_responses(subgame.tree, policy, considered.opponent)
        group, _ = considered.take(rows)
        rooted = group_values(values[: len(rows)], considered.reach[rows], group)
        self.solved = np.full(len(considered.alternative), np.nan)
        self.solved[np.unique(considered.group[rows])] = rooted
        if self.summary is None:
            return 0.0
        mine = subgame.tree.slot_player == considered.player
        return self.summary.complete(subgame.slot_origin[mine], policy[mine], self.solved, tolerance)

    def solve(self, problem: TreeSource) -> Proposal:
        """Return what the subgame's solution proposes to the searching player."""
        solution = solve_subgame(self, self.log)
        subgame, tree = solution.subgame, solution.gadget.tree
        if solution.missed > solution.tolerance and self.summary is not None:
            self.log.notes.append(
                f"the opponent has better replies than the {self.summary.count} plans it was given where "
                f"its histories stayed in summary, by up to {solution.missed:.3g}"
            )
        mine = subgame.tree.slot_player == self.considered.player
        return Proposal(
            slots=subgame.slot_origin[mine],
            probs=solution.policy[mine],
            solved=self.solved,
            nodes=tree.n_nodes,
            decisions=int(np.count_nonzero(tree.player >= 0)),
            infosets=tree.n_infosets,
            iterations=solution.iterations,
            gap=solution.gap,
            complete=solution.missed <= solution.tolerance and not self.hurried,
        )

    def certify(self, considered: Considered, proposal: Proposal) -> Certified | None:
        """Return what of a proposal is kept; None where a depth limit comes before the infoset itself."""
        log, end = self.log, self.options.deadline
        if not np.any(self.context.tree.slot_infoset[proposal.slots] == self.infoset):
            block = self.config.safety.scope == "block"
            log.notes.append(
                "the depth limit comes before the infoset itself: the strategy "
                f"{'there ' * block}is left as it was"
            )
            if not block or len(proposal.slots) == 0:
                return None
        against = self.options if self.hurried else self.options.alone
        certified = certify(self.context, self.strategy, considered, proposal, self.config, against)
        log.late = log.late or (end is not None and time.perf_counter() >= end)
        return certified

    def here(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the slots of the infoset, [a] int64, and the strategy refined there, [a] float64."""
        slots = self.context.tree.slots(self.infoset)
        return slots, self.strategy.probs[slots]

    def _fitting(self, considered: Considered, seconds: float) -> SearchConfig | None:
        """Return a configuration with the largest k, up to its own, that can be solved in time, or None."""
        assert self.config.generation.k is not None  # a fallback has one
        for k in range(self.config.generation.k, 0, -1):
            tried = self.config.replace(k=k)
            _, rows = choose_histories(considered, tried, np.random.default_rng(self.infoset))
            if self.context.nodes_below(considered.nodes[rows]) * SECONDS_PER_NODE < seconds:
                return tried
        return None


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


def keep_histories(considered: Considered, config: SearchConfig, rng: np.random.Generator, log: Log) -> Kept:
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
        arrivals = Arrivals(considered.nodes[rows], group, considered.reach[rows], values)
        path = opponent_path(context, strategy, opponent, arrivals)
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
        gift = gifts(strategy, opponent)[considered.nodes[rows]][None]
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
    source = TreeSource(context, strategy, infoset, config, options)
    if config.solve.solver == "mirror-descent":
        considered = source.consider()
        kept, probs = mirror_descent(context, strategy, config, considered, rng, source.log)
        return untouched(source, considered, kept, probs)
    return refine_from(source, rng)
