"""Search: refine the strategy at one infoset by solving a chosen part of the game below it, and explain."""

from __future__ import annotations

import time

import numpy as np

from games.game import Game, Infoset
from gs2.search.config.search import SearchConfig
from gs2.search.context import MAX_LISTED, NO_OPTIONS, AnyStrategy, SearchContext, SearchOptions
from gs2.search.pipeline import action_values, refine_infoset
from gs2.search.result import ActionRow, HistoryRow, InfosetRow, Refinement, SearchResult
from gs2.search.strategy import Strategy

__all__ = ["explain", "solve_infoset"]


def solve_infoset(
    game: Game | SearchContext,
    blueprint: AnyStrategy,
    infoset: Infoset | int,
    config: SearchConfig,
    rng: np.random.Generator,
    options: SearchOptions = NO_OPTIONS,
) -> SearchResult:
    """Return the refined strategy at one infoset and how it was found.

    game: one small enough to enumerate, whose tree is grown here, or its `SearchContext`.
    blueprint: a strategy in any shape, such as a `Blueprint`, or probabilities on the slots of the tree.
    infoset: by name, or by its number in the tree.
    Raises ValueError if the game cannot be enumerated or the infoset is not one of its decisions.
    """
    began = time.perf_counter()
    context = game if isinstance(game, SearchContext) else SearchContext(game)
    number = context.infoset_number(infoset)
    strategy = context.strategy(blueprint)
    prepared = time.perf_counter() - began
    refinement = refine_infoset(context, strategy, number, config, rng, options)
    return explain(context, strategy, refinement, config, prepared, most=options.listed)


def explain(
    context: SearchContext,
    strategy: Strategy,
    refinement: Refinement,
    config: SearchConfig,
    prepared: float = 0.0,
    *,
    most: int | None = MAX_LISTED,
) -> SearchResult:
    """Return a refinement in the game's words; `strategy` must still be the one it was searched with.

    most: histories listed one by one, None for all.
    """
    tree, game = context.tree, context.game
    infoset = refinement.infoset
    considered = refinement.considered
    slots = context.tree.slots(infoset)
    graph = context.graph(considered.player)
    first = graph.nodes[graph.of_infoset(infoset)[0]]
    state = tree.states[first]
    q = action_values(context, strategy, infoset)
    before = strategy.probs[slots]
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
