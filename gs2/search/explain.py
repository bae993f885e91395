"""Search: refine the strategy at one infoset by solving a chosen part of the game below it, and explain."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint
from games.game import Game, Infoset
from gs2.search.config.search import SearchConfig
from gs2.search.context import Profile, SearchContext
from gs2.search.pipeline import action_values, refine_infoset
from gs2.search.refinement import Refinement
from gs2.search.result import MAX_LISTED, ActionRow, HistoryRow, InfosetRow, SearchResult
from gs2.search.subgame.leaf import LeafEvaluator
from gs2.tabulate import policy_of

__all__ = ["explain", "solve_infoset"]


def solve_infoset(
    game: Game,
    blueprint: Blueprint | NDArray[np.float64],
    infoset: Infoset | int,
    config: SearchConfig,
    rng: np.random.Generator,
    deadline: float | None = None,
    *,
    context: SearchContext | None = None,
    leaf: LeafEvaluator | None = None,
) -> SearchResult:
    """Return the refined strategy at one infoset and how it was found.

    blueprint: any `Blueprint`, or probabilities on the slots of the context's tree.
    infoset: by name, or by its number in the context's tree.
    deadline: an instant of `time.perf_counter()` at which to stop with what there is.
    context: the game prepared before; without one its tree is grown here.
    leaf: values histories at the depth limit in place of the configured evaluator.
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
    refinement = refine_infoset(context, profile, number, config, rng, deadline, leaf=leaf)
    return explain(context, profile, refinement, config, prepared)


def explain(
    context: SearchContext,
    profile: Profile,
    refinement: Refinement,
    config: SearchConfig,
    prepared: float = 0.0,
    *,
    most: int | None = MAX_LISTED,
) -> SearchResult:
    """Return a refinement in the game's words; `profile` must still be the one it was searched with.

    most: histories listed one by one, None for all.
    """
    tree, game = context.tree, context.game
    assert tree.states is not None
    infoset = refinement.infoset
    considered = refinement.considered
    slots = context.slots_of(infoset)
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
    kept, frozen, summary, generated = np.zeros((4, len(considered.nodes)), bool)
    rows = refinement.kept
    kept[rows.rows] = True
    frozen[rows.rows[rows.frozen]] = True
    summary[rows.rows[rows.summary]] = True
    generated[rows.generated] = True
    share = considered.reach / considered.reach.sum()
    listed = np.sort(np.argsort(~kept, kind="stable")[:most])
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
            summary=bool(summary[row]),
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
        histories_generated=int(generated.sum()),
        histories_kept=len(rows.rows),
        opponents_kept=int(np.isfinite(refinement.solved).sum()),
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
        slots=refinement.slots,
        probs=refinement.probs,
    )
