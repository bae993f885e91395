"""GS2 and its relatives at an infoset of a factored game, on the public tree.

The stages are those of `gs2.search.pipeline`: the histories that the player considers, those generated, the
subgame with its gadget, its solution, the certificate. A history is a pair of private states here, and the
tree below is shared by all of them: a closure of hundreds of pairs costs what its public tree does.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from cfr.public.sweep_kernels import BEST, VALUE
from cfr.public.sweeper import usable_cores
from cfr.public.tree import PublicTree
from cfr.variants import variant
from gs2.public.certified import certified_mixture
from gs2.public.pairs import (
    PublicPlace,
    PublicSearchError,
    certified_pairs,
    chosen_pairs,
    free_states,
    generated_pairs,
    listed_pairs,
)
from gs2.public.public_strategy import PublicStrategy, TreeSweeper, public_states
from gs2.public.public_subgame import PublicProblem, PublicSolution, solve_problem
from gs2.search.config.search import SearchConfig
from gs2.search.config.stages import HistoriesConfig
from gs2.search.context import NO_OPTIONS, SearchOptions
from gs2.search.gadget.entry import LIVE

__all__ = ["PublicRefinement", "check_public", "refine_public"]

GADGETS = ("unsafe", "resolve", "maxmargin")
OF_DRAWS = ("samples", "companions", "belief", "explore")
"""Fields that a search reads where histories are drawn alone."""
UNSET = HistoriesConfig()


@dataclass(frozen=True, eq=False)
class PublicRefinement:
    """What one search came to.

    before: both players' strategies, as they were. place: where. pairs: [own private states, the opponent's]
        float64, probability by chance of the histories in the subgame.
    considered: the same of those considered. generated: [opponent's] bool, chosen by the generator.
    reach: [own], opponent_reach: [opponent's] float64, their own parts in how they come there.
    alternative, solved: [opponent's] float64, in payoffs; nan where the subgame has none.
    policy: [rows below, wide] float64, the player's policy. lanes: [own] bool, where it is meant.
    weight: of the solution in it; 0 leaves all as it was.
    gap: exploitability of the solution within the gadget, in payoffs.
    nodes: public states solved. iterations: run. seconds: wall-clock time of each stage.
    """

    before: PublicStrategy
    place: PublicPlace
    considered: NDArray[np.float64]
    pairs: NDArray[np.float64]
    generated: NDArray[np.bool_]
    reach: NDArray[np.float64]
    opponent_reach: NDArray[np.float64]
    alternative: NDArray[np.float64]
    solved: NDArray[np.float64]
    policy: NDArray[np.float64]
    lanes: NDArray[np.bool_]
    weight: float
    gap: float
    nodes: int
    iterations: int
    seconds: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def player(self) -> int:
        """Who searched."""
        return int(self.before.tree.player[self.place.node])

    @property
    def probs(self) -> NDArray[np.float64]:
        """The refined policy of the infoset, [actions]."""
        private = self.place.private
        at: NDArray[np.float64] = self.before.at(self.place.node)[private]
        if self.weight == 0 or not self.lanes[private]:
            return at
        return np.asarray(self.policy[: len(at), private])

    @property
    def strategy(self) -> PublicStrategy:
        """Both players' strategies, the refined policy spliced in."""
        if self.weight == 0:
            return self.before
        return self.before.spliced(self.place.node, self.player, self.policy, self.lanes)


def check_public(config: SearchConfig) -> None:
    """Raise PublicSearchError for a configuration whose stages the public form does not have."""
    refused = (
        (config.gadget.kind not in GADGETS, "gadget", config.gadget.kind, f"one of {', '.join(GADGETS)}"),
        (config.gadget.entry_floor > 0, "entry_floor", config.gadget.entry_floor, "0"),
        (config.subgame.depth is not None, "depth", config.subgame.depth, "none: public trees go to the end"),
        (config.subgame.branches is not None, "branches", config.subgame.branches, "none"),
        (_may_summarise(config) and not config.subgame.whole, "whole", 0, "above 0"),
        (config.solve.solver != "cfr", "solver", config.solve.solver, "cfr"),
        (config.solve.warm_start > 0, "warm_start", config.solve.warm_start, "0"),
        (config.solve.target is not None, "target", config.solve.target, "none"),
        (config.safety.shrink < 1, "shrink", config.safety.shrink, "1"),
        (config.histories.alternative == "value", "alternative", "value", "best-response or profile"),
        (config.histories.slip > 0, "slip", config.histories.slip, "0"),
        (
            config.safety.certificate not in ("none", "margin", "anchored"),
            "certificate",
            config.safety.certificate,
            "none, margin or anchored",
        ),
        (config.safety.scope == "both", "scope", "both", "infoset, subtree or block"),
        (config.rounds > 1, "rounds", config.rounds, "1"),
    )
    for wrong, name, value, instead in refused:
        if wrong:
            raise PublicSearchError(f"{name} on a public tree must be {instead}; got {value}")
    for name in OF_DRAWS if config.histories.source != "sampled" else ():
        value, unset = getattr(config.histories, name), getattr(UNSET, name)
        if value != unset:
            raise PublicSearchError(
                f"{name} on a public tree must be {unset} where nothing is drawn; got {value}; "
                "set source = sampled"
            )


def _may_summarise(config: SearchConfig) -> bool:
    """Return whether a closure of more than `whole` nodes would be kept in summary, were it listed."""
    return config.subgame.rest == "summary" and config.generation.generator != "all"


def refine_public(
    strategy: PublicStrategy,
    place: PublicPlace,
    config: SearchConfig,
    rng: np.random.Generator,
    options: SearchOptions = NO_OPTIONS,
    *,
    threads: int | None = None,
) -> PublicRefinement:
    """Return the strategy refined at an infoset for the player who acts there.

    config: a preset, `source` "sampled" for histories that are drawn (`samples` of the infoset and
        `companions` of each opponent infoset that they belong to), otherwise all of them are listed.
    options: only its deadline is read; it and `time_limit` end the solution, however little was solved.
    Raises PublicSearchError for stages that the public form does not have, and for more public states below
    than the configuration lets be solved whole.
    """
    check_public(config)
    began = time.perf_counter()
    ends = [options.deadline, None if config.time_limit is None else began + config.time_limit]
    deadline = min((end for end in ends if end is not None), default=None)
    seconds: dict[str, float] = {}

    def lap(stage: str) -> None:
        nonlocal began
        now = time.perf_counter()
        seconds[stage] = now - began
        began = now

    tree, player = strategy.tree, int(strategy.tree.player[place.node])
    below = tree.below(place.node)
    if _may_summarise(config) and len(below) > config.subgame.whole:
        raise PublicSearchError(
            f"whole on a public tree must be at least its public states, {len(below):,} here, for nothing is "
            f"kept in summary; got {config.subgame.whole:,}; raise it, or take maxmargin"
        )
    weights = tree.game.deal_weights(public_states(tree, place.node))[0]
    pairs = weights if player == 0 else weights.T
    reach, theirs = strategy.reach(place.node, player), strategy.reach(place.node, 1 - player)
    unreached = not (reach[place.private] > 0 and pairs[place.private].sum() > LIVE)
    notes = []
    if unreached:
        reach, config = np.ones(len(reach)), config.for_unreached()
        notes.append("the player's own strategy never leads here: histories are weighed by chance alone")
    old, reply = strategy.below(place.node)
    if player == 1:
        old, reply = reply, old
    listed = listed_pairs(pairs, reach, theirs, place, config, rng)
    base = PublicProblem(
        below,
        player,
        pairs * listed,
        reach,
        theirs,
        np.zeros(pairs.shape[1]),
        free_states(listed, place, config),
        np.ascontiguousarray(old),
        config.gadget.kind,
    )
    lap("knowledge")
    sweeper = TreeSweeper(base.masked_tree(weights), threads)
    policies = (old, reply) if player == 0 else (reply, old)
    alternative = _alternatives(sweeper, base, policies, config)
    lap("alternative")
    kept = generated_pairs(base, alternative, place, config, rng)
    if not (reach @ (base.pairs * kept)).max(initial=0.0) > LIVE:
        sweeper.close()
        return _untouched(strategy, base, place, notes)
    problem = replace(base, pairs=base.pairs * kept, alternative=alternative)
    problem = replace(problem, tree=problem.masked_tree(weights))
    lap("generation")
    v = variant(config.solve.variant, **({} if config.solve.gamma is None else {"gamma": config.solve.gamma}))
    solution = solve_problem(problem, v, config.solve.iterations, threads or usable_cores(), deadline)
    lap("solve")
    lanes = base.free & ((config.safety.scope == "block") | (np.arange(len(reach)) == place.private))
    new = solution.policy if config.safety.scope != "infoset" else _only_here(below, player, old, solution)
    judged = replace(base, pairs=certified_pairs(base.pairs, pairs, lanes, config))
    if not np.array_equal(judged.pairs, base.pairs):
        sweeper.close()
        sweeper = TreeSweeper(judged.masked_tree(weights), threads)
    weight, mixed = certified_mixture(sweeper, judged, (old, new, reply), lanes, config)
    sweeper.close()
    if weight == 0:
        notes.append("no mixture with the old strategy was certified: the strategy is left as it was")
    lap("safety")
    return PublicRefinement(
        before=strategy,
        place=place,
        considered=base.pairs,
        pairs=problem.pairs,
        generated=chosen_pairs(problem, place, config),
        reach=reach,
        opponent_reach=theirs,
        alternative=np.where(base.mass > LIVE, alternative, np.nan),
        solved=solution.solved,
        policy=mixed,
        lanes=lanes,
        weight=weight,
        gap=solution.gap,
        nodes=len(below),
        iterations=solution.iterations,
        seconds=seconds,
        notes=tuple(notes),
    )


def _untouched(
    strategy: PublicStrategy, base: PublicProblem, place: PublicPlace, notes: list[str]
) -> PublicRefinement:
    """Return a refinement that changes nothing."""
    nothing = np.full(base.pairs.shape[1], np.nan)
    notes = [*notes, "no history was generated that chance deals: the strategy is left as it was"]
    return PublicRefinement(
        before=strategy,
        place=place,
        considered=base.pairs,
        pairs=np.zeros(base.pairs.shape),
        generated=np.zeros(base.pairs.shape, bool),
        reach=base.reach,
        opponent_reach=base.opponent_reach,
        alternative=nothing,
        solved=nothing,
        policy=base.old,
        lanes=np.zeros(len(base.reach), bool),
        weight=0.0,
        gap=0.0,
        nodes=0,
        iterations=0,
        notes=tuple(notes),
    )


def _alternatives(
    sweeper: TreeSweeper,
    base: PublicProblem,
    policies: tuple[NDArray[np.float64], NDArray[np.float64]],
    config: SearchConfig,
) -> NDArray[np.float64]:
    """Return what each of the opponent's private states is worth to it now, in payoffs; 0 out of reach."""
    mode = VALUE if config.histories.alternative == "profile" else BEST
    values = sweeper.values(1 - base.player, mode, policies, base.reach)
    mass = base.mass
    return np.where(mass > LIVE, values / np.where(mass > LIVE, mass, 1), 0.0)


def _only_here(
    below: PublicTree, player: int, old: NDArray[np.float64], solution: PublicSolution
) -> NDArray[np.float64]:
    """Return the old policy with the solution at the public state itself."""
    new = old.copy()
    count = int(below.first_edge[1] - below.first_edge[0])
    first = int(below.row[0])
    new[first : first + count] = solution.policy[first : first + count]
    return new
