"""Search: refine the strategy at one infoset by solving a chosen part of the game below it.

`refine_infoset` is the bare pipeline, meant to be called thousands of times on one `SearchContext`;
`solve_infoset` runs it once and explains the answer. The stages are those of the package, in its order:
consider, generate, subgame, gadget, solve, safety.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint
from cfr.solver import solve
from cfr.tree import FlatTree
from cfr.variants import variant
from games.game import Game, Infoset
from gs2.alternative import best_response_node_values, best_response_policy, group_values
from gs2.config import SearchConfig
from gs2.context import Profile, SearchContext, policy_of
from gs2.gadget import LIVE, Entry, build_gadget
from gs2.histories import Considered, choose_histories, consider_histories
from gs2.mirror_descent import mirror_descent_step
from gs2.path import opponent_path
from gs2.result import MAX_LISTED, ActionRow, HistoryRow, InfosetRow, SearchResult
from gs2.safety import Certified, certify
from gs2.subgame import Subgame

__all__ = ["Refinement", "refine_infoset", "solve_infoset"]


@dataclass(frozen=True, eq=False)
class Refinement:
    """What one search came to, in the full tree's numbers.

    infoset: where. slots: [s] int64, slots of the searching player that the search has an opinion on: those
        of the infoset and of everything else that was solved. probs: [s] float64, its policy there.
    considered: the histories; generated, kept: rows of them, as `choose_histories` returns them; frozen:
        [kept] bool.
    solved: [g] float64, value to the opponent of its infosets against `probs`, as the subgame sees it; nan
        outside the subgame.
    certified: what the certificate found; None if nothing was solved.
    gap: exploitability of the solution within the gadget, in payoffs.
    anchor: weight of the refined strategy at the infoset; 0 if the certificate kept the old one.
    """

    infoset: int
    slots: NDArray[np.int64]
    probs: NDArray[np.float64]
    considered: Considered
    generated: NDArray[np.int64]
    kept: NDArray[np.int64]
    frozen: NDArray[np.bool_]
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

    def at(self, tree: FlatTree, infoset: int) -> NDArray[np.float64]:
        """Return the refined probabilities of one infoset's actions, [a] float64.

        Raises KeyError if the search has no opinion on it.
        """
        start, end = tree.infoset_offset[infoset : infoset + 2]
        at = np.flatnonzero((self.slots >= start) & (self.slots < end))
        if len(at) != end - start:
            raise KeyError(f"the search solved nothing at infoset {infoset}")
        return self.probs[at[np.argsort(self.slots[at])]]


def refine_infoset(
    context: SearchContext,
    profile: Profile,
    infoset: int,
    config: SearchConfig,
    rng: np.random.Generator,
    deadline: float | None = None,
) -> Refinement:
    """Return a refined strategy for the player of an infoset, given the strategies in `profile`.

    deadline: an instant of `time.perf_counter()`; what cannot be done by then is left undone.
    """
    if config.time_limit is not None:
        limit = time.perf_counter() + config.time_limit
        deadline = limit if deadline is None else min(deadline, limit)
    steps = config.steps()
    if len(steps) == 1:
        return _one_step(context, profile, infoset, config, rng, deadline)
    # Each step starts from what the one before left; the profile is put back as it was at the end.
    before: dict[int, float] = {}
    done: list[Refinement] = []
    for step in steps:
        if done and deadline is not None and time.perf_counter() >= deadline:
            break
        found = _one_step(context, profile, infoset, step, rng, deadline)
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
    return replace(done[-1], slots=slots, probs=probs, steps=tuple(done))


def _one_step(
    context: SearchContext,
    profile: Profile,
    infoset: int,
    config: SearchConfig,
    rng: np.random.Generator,
    deadline: float | None = None,
) -> Refinement:
    clock = _Clock()
    notes: list[str] = []
    considered = consider_histories(context, profile, infoset, config)
    _note_considered(considered, context, infoset, notes)
    clock.lap("knowledge")
    if config.solver == "mirror-descent":
        return _mirror_descent(context, profile, infoset, config, considered, notes, clock)
    generated, kept = choose_histories(considered, config, rng)
    summary = np.zeros(len(considered.nodes), bool)
    if config.rest == "summary":
        summary[:] = True
        summary[kept] = False
        kept = np.arange(len(considered.nodes))
    outside = ~considered.in_set[kept]
    frozen = outside if config.freeze == "outside" else np.zeros(len(kept), bool)
    if len(generated) < np.count_nonzero(considered.in_set):
        notes.append(
            f"{np.count_nonzero(considered.in_set) - len(generated)} of the "
            f"{np.count_nonzero(considered.in_set)} histories considered were not generated (k = {config.k})"
        )
    clock.lap("generation")
    if not np.any(considered.own_infoset[kept[~frozen]] == infoset):
        notes.append("no history of the infoset itself was generated: its strategy is left as it was")
        return _unchanged(context, profile, infoset, considered, generated, kept, frozen, notes, clock)
    if deadline is not None and time.perf_counter() >= deadline:
        notes.append("the time was up before the subgame could be built: the strategy is left as it was")
        return _unchanged(context, profile, infoset, considered, generated, kept, frozen, notes, clock)

    kept, frozen, entry = _entry(context, profile, considered, kept, frozen, config, notes)
    subgame = _subgame(context, profile, considered, kept, frozen, summary[kept], config)
    if len(subgame.truncated):
        notes.append(
            f"{len(subgame.truncated)} histories at depth {config.depth} were valued, not played out"
        )
    clock.lap("subgame")
    gadget = build_gadget(
        config.gadget,
        subgame.tree,
        subgame.root_of,
        entry,
        floor=config.entry_floor if config.gadget != "unsafe" else 0.0,
    )
    clock.lap("gadget")
    row = variant(config.variant) if config.gamma is None else variant(config.variant, gamma=config.gamma)
    solution = solve(
        gadget.tree, variant=row, iterations=config.iterations, deadline=deadline, target=config.target
    )
    if solution.stopped == "deadline":
        notes.append(f"the time was up after {solution.iteration} of {config.iterations} iterations")
    clock.lap("solve")

    policy = gadget.to_forest(solution.policy, subgame.tree.n_slots)
    mine = np.repeat(subgame.tree.infoset_player == considered.player, np.diff(subgame.tree.infoset_offset))
    solved = _solved_values(subgame, considered, kept, policy)
    slots, probs = subgame.slot_origin[mine], policy[mine]
    certified = certify(context, profile, infoset, considered, slots, probs, config, solved)
    if certified.weight == 0:
        notes.append("no mixture with the old strategy could be certified: the strategy is left as it was")
    clock.lap("safety")
    return Refinement(
        infoset=infoset,
        slots=certified.slots,
        probs=certified.probs,
        considered=considered,
        generated=generated,
        kept=kept,
        frozen=frozen,
        solved=solved,
        certified=certified,
        nodes=gadget.tree.n_nodes,
        decisions=int(np.count_nonzero(gadget.tree.player >= 0)),
        infosets=gadget.tree.n_infosets,
        iterations=solution.iteration,
        gap=solution.exploitability,
        cut_off=tuple(notes),
        anchor=certified.weight,
        seconds=clock.laps,
    )


class _Clock:
    """Wall-clock time stage by stage."""

    def __init__(self) -> None:
        self.began = self.last = time.perf_counter()
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = now - self.last
        self.last = now


def _note_considered(considered: Considered, context: SearchContext, infoset: int, notes: list[str]) -> None:
    if considered.unreached:
        notes.append(
            "the player's own strategy never leads here: histories are weighed by chance alone, and whatever "
            "is played here cannot be exploited"
        )
    if considered.dropped:
        notes.append(
            f"{considered.dropped} opponent infosets were left out: chance and the player never lead there"
        )


def _subgame(
    context: SearchContext,
    profile: Profile,
    considered: Considered,
    kept: NDArray[np.int64],
    frozen: NDArray[np.bool_],
    summary: NDArray[np.bool_],
    config: SearchConfig,
) -> Subgame:
    """Return the forest below the histories kept, one root each."""
    seats = None
    policy = profile.policy
    if frozen.any() or summary.any():
        seats = np.zeros((len(kept), context.tree.n_players), bool)
        seats[:, considered.player] = frozen
        seats[:, considered.opponent] = summary
    if summary.any():
        rows = kept[summary]
        cut = context.cutter.cut(considered.nodes[rows], considered.reach[rows])
        policy = policy.copy()
        answer = best_response_policy(cut.tree, policy[cut.slot_origin], considered.opponent)
        policy[cut.slot_origin] = answer
    return context.cutter.cut(
        considered.nodes[kept],
        considered.reach[kept],
        policy=policy,
        frozen=seats,
        depth_limit=config.depth,
        leaf=profile.exact_leaf if config.depth is not None else None,
    )


def _entry(
    context: SearchContext,
    profile: Profile,
    considered: Considered,
    kept: NDArray[np.int64],
    frozen: NDArray[np.bool_],
    config: SearchConfig,
    notes: list[str],
) -> tuple[NDArray[np.int64], NDArray[np.bool_], Entry]:
    """Return the histories kept and frozen in the order the gadget needs, and how the opponent enters."""
    group, alternative = considered.take(kept)
    path = None
    if config.gadget == "path":
        values = considered.alternative[np.unique(considered.group[kept])]
        path = opponent_path(
            context,
            profile,
            considered.opponent,
            considered.nodes[kept],
            group,
            considered.reach[kept],
            values,
        )
        order = path.entry_order()
        path = path.reordered(order)
        group = np.argsort(order).astype(np.int32)[group]
        rows = np.argsort(group, kind="stable")
        kept, frozen, group, alternative = kept[rows], frozen[rows], group[rows], alternative[rows]
    reach, theirs = considered.reach[kept], considered.opponent_reach[kept]
    if config.gadget == "unsafe" and not np.sum(reach * theirs) > LIVE:
        notes.append("the opponent's strategy never leads here: its histories are weighed alike")
        theirs = np.ones(len(kept))
    gift = None
    if config.gadget == "reach-maxmargin":
        gift = profile.gifts(considered.opponent)[considered.nodes[kept]][None]
    entry = Entry(
        (considered.opponent,),
        group[None],
        alternative[None],
        reach,
        theirs,
        gift,
        _entry_prior(config.entry_prior, group, reach, theirs),
        path,
    )
    return kept, frozen, entry


def _entry_prior(
    kind: str, group: NDArray[np.int32], reach: NDArray[np.float64], theirs: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Return how forced entries are dealt, [r]; None for uniform over opponent infosets."""
    if kind == "uniform":
        return None
    if kind == "reach":
        return reach
    both = reach * theirs
    mass = np.bincount(group, reach)[group]
    uniform = reach / mass / (int(group[-1]) + 1)
    return uniform / 2 + both / both.sum() / 2 if both.sum() > LIVE else uniform


def _solved_values(
    subgame: Subgame, considered: Considered, kept: NDArray[np.int64], policy: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what each opponent infoset is worth against `policy` in the forest, [g]; nan if not there."""
    values, _ = best_response_node_values(subgame.tree, policy, considered.opponent)
    group, _ = considered.take(kept)
    out = np.full(len(considered.alternative), np.nan)
    out[np.unique(considered.group[kept])] = group_values(values[: len(kept)], considered.reach[kept], group)
    return out


def _here(context: SearchContext, infoset: int) -> NDArray[np.int64]:
    return np.arange(*context.tree.infoset_offset[infoset : infoset + 2])


def _unchanged(
    context: SearchContext,
    profile: Profile,
    infoset: int,
    considered: Considered,
    generated: NDArray[np.int64],
    kept: NDArray[np.int64],
    frozen: NDArray[np.bool_],
    notes: list[str],
    clock: _Clock,
    probs: NDArray[np.float64] | None = None,
) -> Refinement:
    slots = _here(context, infoset)
    return Refinement(
        infoset=infoset,
        slots=slots,
        probs=profile.policy[slots] if probs is None else probs,
        considered=considered,
        generated=generated,
        kept=kept,
        frozen=frozen,
        solved=np.full(len(considered.alternative), np.nan),
        certified=None,
        nodes=0,
        decisions=0,
        infosets=0,
        iterations=0,
        gap=0.0,
        cut_off=tuple(notes),
        anchor=0.0 if probs is None else 1.0,
        seconds=clock.laps,
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
    notes: list[str],
    clock: _Clock,
) -> Refinement:
    low, high = context.game.payoff_range
    probs = mirror_descent_step(
        profile.policy[_here(context, infoset)],
        action_values(context, profile, infoset),
        step=config.step / (high - low),
        magnet=config.magnet * (high - low),
    )
    clock.lap("solve")
    none = np.zeros(0, np.int64)
    return _unchanged(
        context, profile, infoset, considered, none, none, np.zeros(0, bool), notes, clock, probs
    )


def solve_infoset(
    game: Game,
    blueprint: Blueprint | NDArray[np.float64],
    infoset: Infoset | int,
    config: SearchConfig,
    rng: np.random.Generator,
    deadline: float | None = None,
    *,
    context: SearchContext | None = None,
) -> SearchResult:
    """Return the refined strategy at one infoset and how it was found.

    blueprint: any `Blueprint`, or probabilities on the slots of the context's tree.
    infoset: by name, or by its number in the context's tree.
    deadline: an instant of `time.perf_counter()` at which to stop with what there is.
    context: the game prepared before; without one its tree is grown here.
    Raises ValueError if the game cannot be enumerated or the infoset is not one of its decisions.
    """
    began = time.perf_counter()
    context = SearchContext(game) if context is None else context
    number = context.infoset_number(infoset)
    if isinstance(blueprint, np.ndarray):
        profile = Profile(context.tree, blueprint)
    else:
        profile = Profile(context.tree, policy_of(blueprint, game, context.tree), blueprint)
    prepared = time.perf_counter() - began
    refinement = refine_infoset(context, profile, number, config, rng, deadline)
    return explain(context, profile, refinement, config, prepared)


def explain(
    context: SearchContext,
    profile: Profile,
    refinement: Refinement,
    config: SearchConfig,
    prepared: float = 0.0,
) -> SearchResult:
    """Return a refinement in the game's words; `profile` must still be the one it was searched with."""
    tree, game = context.tree, context.game
    assert tree.states is not None
    infoset = refinement.infoset
    considered = refinement.considered
    slots = _here(context, infoset)
    graph = context.graph(considered.player)
    first = graph.nodes[graph.of_infoset(infoset)[0]]
    state = tree.states[first]
    q = action_values(context, profile, infoset)
    before = profile.policy[slots]
    after = refinement.at(tree, infoset)
    actions = tuple(
        ActionRow(game.action_text(state, tree.action[tree.first_child[first] + k]), *map(float, numbers))
        for k, numbers in enumerate(zip(before, after, q, strict=True))
    )
    generated = np.zeros(len(considered.nodes), bool)
    generated[refinement.generated] = True
    kept = np.zeros(len(considered.nodes), bool)
    kept[refinement.kept] = True
    frozen = np.zeros(len(considered.nodes), bool)
    frozen[refinement.kept[refinement.frozen]] = True
    share = considered.reach / considered.reach.sum()
    listed = np.sort(np.argsort(~kept, kind="stable")[:MAX_LISTED])
    histories = tuple(
        HistoryRow(
            history=game.state_text(tree.states[considered.nodes[row]]),
            opponent_infoset=int(considered.group[row]),
            reach=float(share[row]),
            opponent_reach=float(considered.opponent_reach[row]),
            alternative=float(considered.alternative[considered.group[row]]),
            generated=bool(generated[row]),
            kept=bool(kept[row]),
            frozen=bool(frozen[row]),
        )
        for row in listed
    )
    opponents = []
    for group in np.unique(considered.group[listed]):
        alternative, solved = considered.alternative[group], refinement.solved[group]
        node = considered.nodes[np.searchsorted(considered.group, group)]
        there = bool(np.isfinite(solved))
        opponents.append(
            InfosetRow(
                number=int(group),
                infoset=game.infoset_text(tree.states[node], considered.opponent),
                alternative=float(alternative),
                solved=float(solved) if there else None,
                margin=float(alternative - solved) if there else None,
            )
        )
    return SearchResult(
        game=game.name,
        infoset=game.infoset_text(state, considered.player),
        player=considered.player,
        actions=actions,
        value=float(after @ q),
        blueprint_value=float(before @ q),
        histories=histories,
        opponents=tuple(opponents),
        histories_considered=len(considered.nodes),
        histories_kept=len(refinement.kept),
        nodes=refinement.nodes,
        decisions=refinement.decisions,
        infosets=refinement.infosets,
        iterations=refinement.iterations,
        gap=refinement.gap,
        cut_off=refinement.cut_off,
        kept_refined=refinement.anchor > 0,
        anchor=refinement.anchor,
        seconds={"prepare": prepared, **refinement.seconds},
        config=config,
    )
