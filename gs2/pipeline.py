"""The pipeline of a search: consider, generate, subgame, gadget, solve, safety.

Bare and quick, meant to be called thousands of times on one `SearchContext`; `gs2.search` runs it once and
explains the answer.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from cfr.lp import LpTimeout, solve_lp
from cfr.solver import solve
from cfr.tree import FlatTree
from cfr.variants import variant
from gs2.alternative import best_response_node_values, group_values
from gs2.config import SearchConfig
from gs2.context import Profile, SearchContext
from gs2.forest import cut_forest
from gs2.gadget import LIVE, Entry, Gadget, build_gadget
from gs2.histories import Considered, choose_histories, consider_histories
from gs2.leaf import LeafEvaluator
from gs2.mirror_descent import mirror_descent_step
from gs2.path import opponent_path
from gs2.safety import Certified, certify
from gs2.subgame import Subgame
from gs2.summary import Summary, choose_plans

__all__ = ["Refinement", "action_values", "refine_infoset"]

MISSED = 1e-4
"""Share of the payoff range by which a summary may underrate the opponent."""
ROUGH = 1e-3
"""Share of the payoff range to which a subgame is first solved where a summary still lacks plans."""
SECONDS_PER_NODE = 1e-6
"""What solving and certifying a closure takes at least; a search that has less time leaves it alone."""


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
class _Log:
    """Wall-clock time stage by stage, what was left out, and whether it was for want of time."""

    seconds: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    late: bool = False
    last: float = field(default_factory=time.perf_counter)

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self.last
        self.last = now


def refine_infoset(
    context: SearchContext,
    profile: Profile,
    infoset: int,
    config: SearchConfig,
    rng: np.random.Generator,
    deadline: float | None = None,
    *,
    leaf: LeafEvaluator | None = None,
) -> Refinement:
    """Return a refined strategy for the player of an infoset, given the strategies in `profile`.

    deadline: an instant of `time.perf_counter()`; what cannot be done by then is left undone.
    leaf: values histories at the depth limit in place of the configured evaluator.
    """
    if config.time_limit is not None:
        limit = time.perf_counter() + config.time_limit
        deadline = limit if deadline is None else min(deadline, limit)
    steps = config.steps()
    if len(steps) == 1:
        return _one_step(context, profile, infoset, steps[0], rng, deadline, leaf)
    # Each step starts from what the one before left; the profile is put back as it was at the end.
    before: dict[int, float] = {}
    done: list[Refinement] = []
    late = False
    for step in steps:
        if done and deadline is not None and time.perf_counter() >= deadline:
            late = True
            break
        found = _one_step(context, profile, infoset, step, rng, deadline, leaf)
        for slot, prob in zip(found.slots.tolist(), profile.policy[found.slots].tolist(), strict=True):
            before.setdefault(slot, prob)
        profile.update(found.slots, found.probs, reach_kept=True)
        profile.take_note(context, found.certified, 1.0)
        done.append(found)
    slots = np.array(sorted(before), np.int64)
    probs = profile.policy[slots]
    profile.update(slots, np.array([before[slot] for slot in slots.tolist()]), reach_kept=True)
    for found in reversed(done):
        profile.take_note(context, found.certified, -1.0)
    late = late or any(found.late for found in done)
    return replace(done[-1], slots=slots, probs=probs, steps=tuple(done), late=late)


def _one_step(
    context: SearchContext,
    profile: Profile,
    infoset: int,
    config: SearchConfig,
    rng: np.random.Generator,
    deadline: float | None,
    leaf: LeafEvaluator | None,
) -> Refinement:
    log = _Log()
    considered = consider_histories(context, profile, infoset, config, leaf)
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
    if config.solver == "mirror-descent":
        return _mirror_descent(context, profile, infoset, config, considered, log)
    if config.rest == "summary":
        nodes = int(context.cutter.sizes[considered.nodes].sum())
        if deadline is not None and nodes * SECONDS_PER_NODE > deadline - time.perf_counter():
            log.late = True
            log.notes.append(
                f"the closure's {nodes:,} nodes cannot be solved and certified in the time: the strategy is "
                "left as it was"
            )
            none = np.zeros(0, np.int64)
            kept = Kept(none, np.zeros(0, bool), np.zeros(0, bool), none)
            return _untouched(context, profile, infoset, considered, kept, log)
        if nodes <= config.whole:
            config = replace(config, generator="all", k=None)
    kept = _keep(considered, config, rng, log)
    log.lap("generation")
    if not np.any(considered.own_infoset[kept.rows[~kept.frozen]] == infoset):
        log.notes.append("no history of the infoset itself was generated: its strategy is left as it was")
        return _untouched(context, profile, infoset, considered, kept, log)
    if deadline is not None and time.perf_counter() >= deadline:
        log.late = True
        log.notes.append("the time was up before the subgame could be built: the strategy is left as it was")
        return _untouched(context, profile, infoset, considered, kept, log)

    kept, entry = _entry(context, profile, considered, kept, config, log)
    solution = _solution(context, profile, considered, kept, entry, config, deadline, leaf, log)
    if solution is None:
        log.late = True
        log.notes.append("the time was up before the LP was solved: the strategy is left as it was")
        return _untouched(context, profile, infoset, considered, kept, log)
    subgame, gadget, policy, solved = solution.subgame, solution.gadget, solution.policy, solution.solved

    mine = np.repeat(subgame.tree.infoset_player == considered.player, np.diff(subgame.tree.infoset_offset))
    certified = certify(
        context, profile, infoset, considered, subgame.slot_origin[mine], policy[mine], solved, config
    )
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
        complete=solution.missed <= solution.tolerance,
        late=log.late,
    )


@dataclass(frozen=True, eq=False)
class _Solution:
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


def _solution(
    context: SearchContext,
    profile: Profile,
    considered: Considered,
    kept: Kept,
    entry: Entry,
    config: SearchConfig,
    deadline: float | None,
    leaf: LeafEvaluator | None,
    log: _Log,
) -> _Solution | None:
    """Return the subgame below the histories kept, solved; again and again while a summary misses replies.

    None if the time was up before a linear programme was solved.
    """
    low, high = context.game.payoff_range
    tolerance = MISSED * (high - low)
    summary = None
    if kept.summary.any():
        rows = np.sort(kept.rows[kept.summary])
        summary = Summary(context, profile, considered, rows, config.plans)
    floor = config.entry_floor if config.gadget != "unsafe" else 0.0
    # A target is met only once the plans suffice; until then a rough solution finds them as well.
    rough = ROUGH * (high - low) if summary is not None and config.target is not None else 0.0
    spent = 0
    start = time.perf_counter()
    while True:
        began = time.perf_counter()
        subgame = _forest(context, profile, considered, kept, config, leaf, summary)
        log.lap("subgame")
        gadget = build_gadget(config.gadget, subgame.tree, subgame.root_of, entry, floor=floor)
        log.lap("gadget")
        last = rough <= (config.target or 0.0)
        try:
            policy, iterations, gap = _solve(
                gadget.tree, config if last else replace(config, target=rough), deadline, log
            )
        except LpTimeout:
            return None
        policy = gadget.to_forest(policy, subgame.tree.n_slots)
        spent += iterations
        log.lap("solve")
        solved = _solved_values(subgame, considered, kept, policy)
        missed = 0.0
        if summary is not None:
            mine = np.repeat(
                subgame.tree.infoset_player == considered.player, np.diff(subgame.tree.infoset_offset)
            )
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
        elif not last and deadline is not None and now - start >= deadline - now:
            rough, log.late = 0.0, True
        else:
            rough = min(rough, missed / 8)
    if len(subgame.truncated):
        log.notes.append(
            f"{len(subgame.truncated)} histories at depth {config.depth} were not played out: {config.leaf}"
        )
    if summary is not None and missed > tolerance:
        log.notes.append(
            f"the opponent has better replies than the {summary.count} plans it was given where its "
            f"histories stayed in summary, by up to {missed:.3g}"
        )
    return _Solution(subgame, gadget, policy, solved, spent, gap, missed, tolerance)


def _keep(considered: Considered, config: SearchConfig, rng: np.random.Generator, log: _Log) -> Kept:
    """Return the histories that enter the subgame, and in which role."""
    generated, rows = choose_histories(considered, config, rng)
    if config.rest == "summary" and config.generator == "all":
        generated = rows = np.arange(len(considered.nodes))
    candidates = int(np.count_nonzero(considered.in_set))
    summary = np.zeros(len(rows), bool)
    if config.rest == "summary" and len(rows) < len(considered.nodes):
        full = np.zeros(len(considered.nodes), bool)
        full[rows] = True
        rows, summary = np.arange(len(full)), ~full
    if len(generated) < candidates:
        how = "the opponent's replies are fixed there" if summary.any() else "they are left out"
        log.notes.append(
            f"{candidates - len(generated)} of the {candidates} histories considered were not generated "
            f"(k = {config.k}): {how}"
        )
    frozen = np.zeros(len(rows), bool)
    if config.freeze == "outside":
        # With a summary the closure is considered, and the infoset alone is what may change.
        own = considered.own_infoset[rows] == considered.infoset
        frozen = ~own if config.rest == "summary" else ~considered.in_set[rows]
    return Kept(rows, frozen, summary, generated)


def _entry(
    context: SearchContext,
    profile: Profile,
    considered: Considered,
    kept: Kept,
    config: SearchConfig,
    log: _Log,
) -> tuple[Kept, Entry]:
    """Return the histories in the order that the gadget needs, and how the opponent comes to them."""
    rows = kept.rows
    group, alternative = considered.take(rows)
    opponent = considered.opponent
    path = None
    if config.gadget == "path":
        values = considered.alternative[np.unique(considered.group[rows])]
        path = opponent_path(
            context, profile, opponent, considered.nodes[rows], group, considered.reach[rows], values
        )
        order = path.entry_order()
        path = path.reordered(order)
        group = np.argsort(order).astype(np.int32)[group]
        by_path = np.argsort(group, kind="stable")
        group, alternative = group[by_path], alternative[by_path]
        rows = rows[by_path]
        kept = Kept(rows, kept.frozen[by_path], kept.summary[by_path], kept.generated)
    reach, theirs = considered.reach[rows], considered.opponent_reach[rows]
    if config.gadget == "unsafe" and not np.sum(reach * theirs) > LIVE:
        log.notes.append("the opponent's strategy never leads here: its histories are weighed alike")
        theirs = np.ones(len(rows))
    gift = None
    if config.gadget == "reach-maxmargin":
        gift = profile.gifts(opponent)[considered.nodes[rows]][None]
    prior = _entry_prior(config.entry_prior, group, reach, theirs)
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


def _forest(
    context: SearchContext,
    profile: Profile,
    considered: Considered,
    kept: Kept,
    config: SearchConfig,
    leaf: LeafEvaluator | None,
    summary: Summary | None,
) -> Subgame:
    """Return the forest below the histories kept, one root each."""
    frozen = None
    if kept.frozen.any() or summary is not None:
        frozen = np.zeros((len(kept.rows), context.tree.n_players), bool)
        frozen[:, considered.player] = kept.frozen
        frozen[:, considered.opponent] = kept.summary
    nodes, reach = considered.nodes[kept.rows], considered.reach[kept.rows]
    player = considered.player
    if summary is None:
        return cut_forest(context, profile, player, nodes, reach, config, frozen=frozen, leaf=leaf)
    group = considered.group[kept.rows]
    counts, plan = summary.copies(group, kept.summary)
    copied = np.repeat(np.arange(len(nodes)), counts)
    assert frozen is not None
    forest = cut_forest(
        context,
        profile,
        player,
        nodes[copied],
        reach[copied],
        config,
        frozen=frozen[copied],
        plans=summary.plans,
        plan=plan,
        leaf=leaf,
    )
    return choose_plans(forest, counts, reach, group, considered.opponent)


def _solve(
    tree: FlatTree, config: SearchConfig, deadline: float | None, log: _Log
) -> tuple[NDArray[np.float64], int, float]:
    """Return (policy on the gadget's slots, iterations, exploitability)."""
    if config.solver == "lp":
        limit = None if deadline is None else max(0.001, deadline - time.perf_counter())
        exact = solve_lp(tree, time_limit=limit)
        return exact.policy, 0, exact.exploitability
    row = variant(config.variant) if config.gamma is None else variant(config.variant, gamma=config.gamma)
    found = solve(tree, variant=row, iterations=config.iterations, deadline=deadline, target=config.target)
    if found.stopped == "deadline":
        log.late = True
        log.notes.append(f"the time was up after {found.iteration} of {config.iterations} iterations")
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


def _untouched(
    context: SearchContext,
    profile: Profile,
    infoset: int,
    considered: Considered,
    kept: Kept,
    log: _Log,
    probs: NDArray[np.float64] | None = None,
) -> Refinement:
    """Return a refinement without a subgame: the old strategy, or `probs` at the infoset."""
    slots = context.slots_of(infoset)
    return Refinement(
        infoset=infoset,
        slots=slots,
        probs=profile.policy[slots] if probs is None else probs,
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


def action_values(context: SearchContext, profile: Profile, infoset: int) -> NDArray[np.float64]:
    """Return the value to the infoset's player of each action when everyone goes on by `profile`, [a].

    Histories count by the reach of chance and the opponent; all alike where that is zero.
    """
    tree = context.tree
    player = int(tree.infoset_player[infoset])
    graph = context.graph(player)
    nodes = graph.nodes[graph.of_infoset(infoset)]
    weight = profile.reach.chance[nodes] * profile.reach.players[nodes, 1 - player]
    weight = weight / weight.sum() if weight.sum() > LIVE else np.full(len(nodes), 1 / len(nodes))
    children = tree.first_child[nodes][:, None] + np.arange(tree.n_children[nodes[0]])
    return weight @ profile.values[children, player]


def _mirror_descent(
    context: SearchContext,
    profile: Profile,
    infoset: int,
    config: SearchConfig,
    considered: Considered,
    log: _Log,
) -> Refinement:
    low, high = context.game.payoff_range
    probs = mirror_descent_step(
        profile.policy[context.slots_of(infoset)],
        action_values(context, profile, infoset),
        step=config.step / (high - low),
        magnet=config.magnet * (high - low),
    )
    log.lap("solve")
    none = np.zeros(0, np.int64)
    kept = Kept(none, np.zeros(0, bool), np.zeros(0, bool), none)
    return _untouched(context, profile, infoset, considered, kept, log, probs)
