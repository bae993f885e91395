"""GS2 and its relatives at an infoset of a factored game, on the public tree.

The stages are those of `gs2.search.pipeline`: the histories that the player considers, those generated, the
subgame with its gadget, its solution, the certificate. A history is a pair of private states here, and the
tree below is shared by all of them: a closure of hundreds of pairs costs what its public tree does.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from cfr.public.kernels import BEST, VALUE
from cfr.public.tree import PublicTree
from cfr.variants import variant
from gs2.public.strategy import PublicStrategy, TreeSweeper, cores, public_states
from gs2.public.subgame import PublicProblem, PublicSolution, solve_problem
from gs2.search.config.search import SearchConfig
from gs2.search.gadget.entry import LIVE
from gs2.search.generation import generator

__all__ = ["PublicPlace", "PublicRefinement", "PublicSearchError", "check_public", "refine_public"]

GADGETS = ("unsafe", "resolve", "maxmargin")
ROUNDING = 1e-12
"""Gain of the opponent, as a share of the payoff range, that counts as none."""
WEIGHTS_TRIED = 7
"""Bisections for the largest weight that certifies."""


class PublicSearchError(ValueError):
    """A search that the public form does not have: the rule, the value received and the next step."""


@dataclass(frozen=True)
class PublicPlace:
    """An infoset of a factored game. node: of the public tree. private: the acting player's private state."""

    node: int
    private: int


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
        (config.solve.solver != "cfr", "solver", config.solve.solver, "cfr"),
        (config.histories.alternative == "value", "alternative", "value", "best-response or profile"),
        (
            config.safety.certificate not in ("none", "margin", "anchored"),
            "certificate",
            config.safety.certificate,
            "none, margin or anchored",
        ),
        (config.safety.scope == "both", "scope", "both", "infoset, subtree or block"),
    )
    for wrong, name, value, instead in refused:
        if wrong:
            raise PublicSearchError(f"{name} on a public tree must be {instead}; got {value}")


def refine_public(
    strategy: PublicStrategy,
    place: PublicPlace,
    config: SearchConfig,
    rng: np.random.Generator,
    *,
    threads: int | None = None,
) -> PublicRefinement:
    """Return the strategy refined at an infoset for the player who acts there.

    config: a preset, `source` "sampled" for histories that are drawn (`samples` of the infoset and
        `companions` of each opponent infoset that they belong to), otherwise all of them are listed.
    Raises PublicSearchError for stages that the public form does not have.
    """
    check_public(config)
    began = time.perf_counter()
    seconds: dict[str, float] = {}

    def lap(stage: str) -> None:
        nonlocal began
        now = time.perf_counter()
        seconds[stage] = now - began
        began = now

    tree, player = strategy.tree, int(strategy.tree.player[place.node])
    below = tree.below(place.node)
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
    listed = _listed(pairs, reach, theirs, place, config, rng)
    base = PublicProblem(
        below,
        player,
        pairs * listed,
        reach,
        theirs,
        np.zeros(pairs.shape[1]),
        _free(listed, place, config),
        np.ascontiguousarray(old),
        config.gadget.kind,
    )
    lap("knowledge")
    sweeper = TreeSweeper(base.masked_tree(weights), threads)
    policies = (old, reply) if player == 0 else (reply, old)
    alternative = _alternatives(sweeper, base, policies, config)
    lap("alternative")
    kept = _generated(base, alternative, place, config, rng)
    if not (reach @ (base.pairs * kept)).max(initial=0.0) > LIVE:
        sweeper.close()
        return _untouched(strategy, base, place, notes)
    problem = replace(base, pairs=base.pairs * kept, alternative=alternative)
    problem = replace(problem, tree=problem.masked_tree(weights))
    lap("generation")
    v = variant(config.solve.variant, **({} if config.solve.gamma is None else {"gamma": config.solve.gamma}))
    deadline = None if config.time_limit is None else time.perf_counter() + config.time_limit
    solution = solve_problem(problem, v, config.solve.iterations, threads or cores(), deadline)
    lap("solve")
    lanes = base.free & ((config.safety.scope == "block") | (np.arange(len(reach)) == place.private))
    new = solution.policy if config.safety.scope != "infoset" else _only_here(below, player, old, solution)
    weight, mixed = _certified(sweeper, base, (old, new, reply), lanes, config)
    sweeper.close()
    lap("safety")
    return PublicRefinement(
        before=strategy,
        place=place,
        considered=base.pairs,
        pairs=problem.pairs,
        generated=_chosen(problem, place, config),
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


def _takes_closure(config: SearchConfig) -> bool:
    """Return whether every history of the common-knowledge closure is generated, whatever the generator."""
    return config.histories.order != 1 or config.subgame.rest == "summary"


def _listed(
    pairs: NDArray[np.float64],
    reach: NDArray[np.float64],
    theirs: NDArray[np.float64],
    place: PublicPlace,
    config: SearchConfig,
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """Return which pairs are considered, [own, opponent's]: those drawn, or all that the method asks for."""
    if config.histories.source == "sampled":
        return _drawn(pairs, reach, theirs, place, config, rng)
    listed: NDArray[np.bool_] = pairs > 0
    if config.histories.order == 1 and not _takes_closure(config):
        # Opponent infosets that the infoset's histories do not belong to are no neighbours of it.
        listed &= listed[place.private]
    _check_order(pairs > 0, place, config.histories.order)
    return listed


def _check_order(pairs: NDArray[np.bool_], place: PublicPlace, order: int | None) -> None:
    """Raise PublicSearchError for a knowledge set between the infoset and the closure: its boundary runs
    through infosets of the player's, whose policy here is solved whole or not at all."""
    if order is None or order == 1:
        return
    known = pairs & (np.arange(len(pairs)) == place.private)[:, None]
    for _ in range(order - 1):
        known = pairs & (known.any(axis=1)[:, None] | known.any(axis=0))
    if not np.array_equal(known, pairs):
        raise PublicSearchError(
            f"order on a public tree must be 1, none, or one that reaches the closure; here order {order} "
            f"holds {known.sum()} of its {pairs.sum()} histories; list the game, or take a higher order"
        )


def _free(listed: NDArray[np.bool_], place: PublicPlace, config: SearchConfig) -> NDArray[np.bool_]:
    """Return the own private states with which the player's policy is solved, [own] bool.

    With one of which no history is listed nothing can be learnt.
    """
    there: NDArray[np.bool_] = np.asarray(listed.any(axis=1))
    closure = config.histories.order != 1 and config.subgame.rest != "summary"
    if config.subgame.freeze == "none" or closure:
        return there
    here: NDArray[np.bool_] = there & (np.arange(len(there)) == place.private)
    return here


def _drawn(
    pairs: NDArray[np.float64],
    reach: NDArray[np.float64],
    theirs: NDArray[np.float64],
    place: PublicPlace,
    config: SearchConfig,
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """Return which pairs were drawn: histories of the infoset, and companions in their opponent infosets."""
    belief = pairs[place.private] * theirs**config.histories.belief
    chance = pairs[place.private]
    likely = _shares(belief) * (1 - config.histories.explore) + _shares(chance) * config.histories.explore
    out = np.zeros(pairs.shape, bool)
    if likely.sum() <= 0:
        return out
    others = np.unique(rng.choice(len(likely), config.histories.samples, p=_shares(likely)))
    for other in others[chance[others] > 0].tolist():
        out[place.private, other] = True
        mine = _shares(reach * pairs[:, other])
        if config.histories.companions and mine.sum() > 0:
            out[rng.choice(len(mine), config.histories.companions, p=mine), other] = True
    return out & (pairs > 0)


def _shares(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    total = weights.sum()
    return weights / total if total > 0 else np.zeros(len(weights))


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


def _generated(
    base: PublicProblem,
    alternative: NDArray[np.float64],
    place: PublicPlace,
    config: SearchConfig,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return the pairs that enter the subgame, [own, opponent's] of 0 and 1."""
    kept = np.ones(base.pairs.shape)
    own = base.pairs[place.private]
    if config.generation.generator == "all" or _takes_closure(config):
        return kept
    if config.generation.k is None:
        raise PublicSearchError(f"k must be given with the generator {config.generation.generator}; got none")
    candidates = np.flatnonzero(own > 0)
    if not len(candidates):
        return np.zeros(base.pairs.shape)
    weights = base.reach[place.private] * own[candidates]
    chosen = candidates[
        generator(config.generation.generator)(alternative[candidates], weights, config.generation.k, rng)
    ]
    touched = np.zeros(base.pairs.shape[1], bool)
    touched[chosen] = True
    if config.generation.close:
        return kept * touched
    kept[:] = 0.0
    kept[place.private, chosen] = 1.0
    return kept


def _chosen(problem: PublicProblem, place: PublicPlace, config: SearchConfig) -> NDArray[np.bool_]:
    """Return which pairs the generator chose, [own, opponent's]; the others complete opponent infosets."""
    chosen: NDArray[np.bool_] = problem.pairs > 0
    if not _takes_closure(config):
        chosen = chosen & (np.arange(len(chosen)) == place.private)[:, None]
    return chosen


def _only_here(
    below: PublicTree, player: int, old: NDArray[np.float64], solution: PublicSolution
) -> NDArray[np.float64]:
    """Return the old policy with the solution at the public state itself."""
    new = old.copy()
    count = int(below.first_edge[1] - below.first_edge[0])
    first = int(below.row[0])
    new[first : first + count] = solution.policy[first : first + count]
    return new


def _certified(
    sweeper: TreeSweeper,
    base: PublicProblem,
    policies: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    lanes: NDArray[np.bool_],
    config: SearchConfig,
) -> tuple[float, NDArray[np.float64]]:
    """Return (weight of the solution, the policy below the state): the best mixture that no private state of
    the opponent's gains by, as far as the histories listed show. policies: old, new, the opponent's."""
    old, new, reply = policies
    player, kind = base.player, config.safety.certificate
    new = new.copy()
    new[:, : len(lanes)] = np.where(lanes, new[:, : len(lanes)], old[:, : len(lanes)])
    if kind == "none" and config.safety.anchor == 1:
        return 1.0, new
    before, after = sweeper.plans(player, old), sweeper.plans(player, new)

    def mix(weight: float) -> NDArray[np.float64]:
        plans = (1 - weight) * before + weight * after
        return _as_policy(sweeper.tree, player, plans, new)

    if kind == "none":
        return config.safety.anchor, mix(config.safety.anchor)
    mass = base.mass
    live = mass > LIVE
    low, high = base.tree.game.payoff_range
    slack = ROUNDING * (high - low)

    def values(policy: NDArray[np.float64]) -> NDArray[np.float64]:
        pair = (policy, reply) if player == 0 else (reply, policy)
        found = sweeper.values(1 - player, BEST, pair, base.reach)
        return np.where(live, found / np.where(live, mass, 1), 0.0)

    start = values(old)
    return _best_weight(values, mix, start, start + slack, mass, config)


def _best_weight(
    values: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    mix: Callable[[float], NDArray[np.float64]],
    start: NDArray[np.float64],
    most: NDArray[np.float64],
    mass: NDArray[np.float64],
    config: SearchConfig,
) -> tuple[float, NDArray[np.float64]]:
    """Return (weight, policy) of the mixture that costs the opponent most among the sound ones tried."""
    found: dict[float, tuple[float, NDArray[np.float64]]] = {}

    def sound(weight: float) -> bool:
        policy = mix(weight)
        now = values(policy)
        good = bool(np.all(now <= most))
        if good:
            found[weight] = float(mass @ now), policy
        return good

    top = config.safety.anchor
    if sound(top) or config.safety.certificate == "margin":
        below = 0.0
    else:
        below, above = 0.0, top
        for _ in range(WEIGHTS_TRIED):
            middle = (below + above) / 2
            if sound(middle):
                below = middle
            else:
                above = middle
        top = below
    if config.safety.certificate == "anchored" and top > 0:
        for share in (0.25, 0.5, 0.75):
            sound(top * share)
    if not found:
        return 0.0, mix(0.0)
    cost, policy = min(found.values(), key=lambda entry: entry[0])
    weight = next(w for w, entry in found.items() if entry[1] is policy)
    return (weight, policy) if cost < float(mass @ start) else (0.0, policy)


def _as_policy(
    tree: PublicTree, player: int, plans: NDArray[np.float64], instead: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return plans [rows, wide] as a policy, `instead` where they never lead."""
    nodes = np.flatnonzero(tree.player == player)
    starts = tree.row[nodes]
    total = np.add.reduceat(plans, starts, axis=0)
    counts = np.diff(np.append(starts, len(plans)))
    total = np.repeat(total, counts, axis=0)
    return np.where(total > 0, plans / np.where(total > 0, total, 1), instead)
