"""Search: refine the strategy at one infoset by solving a chosen part of the game below it, and explain.

`part_of` is the one place that picks the source of histories: a game that is listed is searched on its whole
tree, another one on a tree of what is drawn at the infoset.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint
from cfr.tree.memory import TooLarge
from games.game import Game, Infoset
from games.infosets import infoset_at
from games.infosets.trail import Trail
from gs2.search.config.search import SearchConfig
from gs2.search.context import MAX_LISTED, NO_OPTIONS, AnyStrategy, SearchContext, SearchOptions, check_asked
from gs2.search.histories.enumerated import action_values, histories_of
from gs2.search.histories.sampled_source import Part, sample_tree
from gs2.search.histories.seats import first_two, trail_to
from gs2.search.pipeline import Refinement, refine_infoset, where_listed
from gs2.search.refine.policy_only import PlayedStrategy
from gs2.search.result import ActionRow, HistoryRow, InfosetRow, SearchResult


def solve_infoset(
    game: Game | SearchContext,
    blueprint: AnyStrategy | OwnSearch,
    infoset: Infoset | Trail | int,
    config: SearchConfig,
    rng: np.random.Generator,
    options: SearchOptions = NO_OPTIONS,
) -> SearchResult:
    """Return the refined strategy at one infoset and how it was found.

    >>> import cfr, games, gs2, numpy as np
    >>> game = games.load_game("kuhn_poker")
    >>> blueprint = cfr.uniform_policy(cfr.grow(game))
    >>> infoset = game.parse_infoset("P1 holds Q | bet")
    >>> result = gs2.solve_infoset(game, blueprint, infoset, gs2.preset("gs2+"), np.random.default_rng(0))
    >>> {action: round(p, 2) for action, p in result.blueprint.items()}
    {'pass': 0.5, 'bet': 0.5}
    >>> {action: round(p, 2) for action, p in result.refined.items()}
    {'pass': 0.75, 'bet': 0.25}

    The `SearchResult` holds the probabilities before (`blueprint`) and after (`refined`), and `actions` with
    the value of each; the histories considered and those kept (`histories`); the opponent's infosets and what
    it lost there (`opponents`, `margins`); the size of the subgame (`nodes`, `infosets`) and how well it was
    solved (`gap`); what was left out (`cut_off`); the time of each stage (`seconds`). `slots` and `probs` are
    all that the search replaces, on the slots of the tree. `to_json` returns it as plain data.

    game: any, or the `SearchContext` of one of two players. Where its tree can be grown, it is, unless
        `config.histories.source` says otherwise; elsewhere histories of the infoset are drawn. One of more
        than two seats is seen from two of them (`gs2.search.histories.seats`), and wants a `Blueprint`.
    blueprint: a strategy in any shape, such as a `Blueprint`, or probabilities on the slots of the tree; a
        `Blueprint` where no tree is grown. One that is an `OwnSearch` is searched in its own form.
    infoset: an `Infoset`, what its player saw on the way, or its number in the tree.
    Raises ValueError if the infoset is not one of the game's decisions, if no history of it is found, for a
    configuration that needs the game listed where it cannot be, or for a leaf that it would not read.
    """
    check_asked(game=game, infoset=infoset, config=config, rng=rng)
    options.check_leaf(config)
    if isinstance(blueprint, OwnSearch):
        return blueprint.searched(_named(game, infoset), config, rng, options)
    return search_infoset(game, blueprint, infoset, config, rng, options)[0]


def search_infoset(
    game: Game | SearchContext,
    blueprint: AnyStrategy,
    infoset: Infoset | Trail | int,
    config: SearchConfig,
    rng: np.random.Generator,
    options: SearchOptions = NO_OPTIONS,
) -> tuple[SearchResult, Refinement]:
    """Return `solve_infoset` and the refinement that it explains, on the tree that was searched."""
    began = time.perf_counter()
    name, seats = "", None
    if not isinstance(game, SearchContext) and game.num_players > 2:
        name = game.name
        game, blueprint, infoset = first_two(game, blueprint, infoset, config)
        seats = game.seats[: 1 + game.decides]
    part = part_of(game, blueprint, infoset, config, rng, options)
    prepared = time.perf_counter() - began
    refinement = refine_part(part, rng, options)
    found = explain(seen_on_tree(part, refinement), refinement, part.asked, most=options.listed)
    found = replace(found, seconds={"sampling" if part.size else "prepare": prepared, **refinement.seconds})
    if part.size is not None:
        found = part.told(replace(found, sampled=part.size))
    if seats is not None:
        found = replace(found, game=name, player=seats[0], seats=seats)
    return found, refinement


def part_of(
    game: Game | SearchContext,
    blueprint: AnyStrategy,
    infoset: Infoset | Trail | int,
    config: SearchConfig,
    rng: np.random.Generator,
    options: SearchOptions = NO_OPTIONS,
) -> Part:
    """Return the part of a game of two seats that a search at an infoset is made on.

    Raises ValueError if the infoset is not one of the game's decisions, and for a number of one, or a
    strategy that is no `Blueprint`, where no tree is grown; what `sample_tree` raises.
    """
    context = listed_context(game, config)
    named = infoset.infoset if isinstance(infoset, Trail) else infoset
    if context is not None and not (config.histories.source == "auto" and context.lacks(named)):
        config, number = where_listed(config), context.infoset_number(named)
        return Part(context, context.strategy(blueprint), number, config, config)
    if isinstance(game, SearchContext):
        if isinstance(infoset, int | np.integer):
            infoset = game.trail_to(game.infoset_number(int(infoset)))
        if not isinstance(blueprint, Blueprint):
            blueprint = PlayedStrategy(game, game.strategy(blueprint))
        game = game.game
    if isinstance(infoset, int | np.integer) or not isinstance(blueprint, Blueprint):
        raise ValueError(
            f"{game.name}: where no tree is grown, the infoset must be an Infoset or a Trail and the "
            f"blueprint a Blueprint; got {type(infoset).__name__} and {type(blueprint).__name__}; "
            "a game that can be listed takes any strategy as gs2.SearchContext(game)"
        )
    trail = infoset if isinstance(infoset, Trail) else trail_to(game, infoset, rng)
    return sample_tree(game, blueprint, trail, config, rng, options.leaf)


def refine_part(part: Part, rng: np.random.Generator, options: SearchOptions = NO_OPTIONS) -> Refinement:
    """Return the refined strategy at the infoset of a part of a game."""
    if part.trail is not None:
        options = replace(options, trials=part)
    return refine_infoset(part.context, part.strategy, part.infoset, part.config, rng, options)


def listed_context(game: Game | SearchContext, config: SearchConfig) -> SearchContext | None:
    """Return the game with its whole tree; None where histories are to be sampled.

    Raises TooLarge for a game that cannot be listed and a configuration that asks for it.
    """
    if config.histories.source == "sampled":
        return None
    if isinstance(game, SearchContext):
        return game
    try:
        return SearchContext(game)
    except TooLarge:
        if config.histories.source == "enumerated":
            raise
        return None


@runtime_checkable
class OwnSearch(Protocol):
    """A strategy that is searched in a form of its own, such as one on a public tree."""

    def searched(
        self, infoset: Infoset, config: SearchConfig, rng: np.random.Generator, options: SearchOptions
    ) -> SearchResult:
        """Return the refined strategy at an infoset and how it was found."""
        ...


def _named(game: Game | SearchContext, infoset: Infoset | Trail | int) -> Infoset:
    """Return an infoset by its key."""
    if isinstance(infoset, Infoset):
        return infoset
    if isinstance(infoset, Trail):
        return infoset.infoset
    if not isinstance(game, SearchContext):
        raise ValueError(f"{game.name}: an infoset must be named by an Infoset or a Trail; got {infoset}")
    node = int(game.tree.infoset_first_node()[game.infoset_number(int(infoset))])
    return infoset_at(game.game, game.tree.states[node : node + 1], int(game.tree.player[node]))


AS_REFINED = (
    *("nodes", "decisions", "infosets", "iterations", "gap", "cut_off", "anchor", "seconds"),
    *("slots", "probs"),
)
"""Fields that a `SearchResult` has from its `Refinement`."""


@dataclass(frozen=True, eq=False)
class Seen:
    """An infoset before and after a search, as its player sees it; a actions.

    state: a history of it. actions: [a]. before, after: [a] float64, the strategies there. q: [a] float64,
    their values when both go on as before. states: gives the histories of some rows of `Considered`.
    """

    game: Game
    state: Any
    actions: NDArray[Any]
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    q: NDArray[np.float64]
    states: Callable[[NDArray[np.int64]], NDArray[Any]]


def seen_on_tree(part: Part, refinement: Refinement) -> Seen:
    """Return the infoset of a refinement made on a part of a game."""
    context, strategy, tree, infoset = part.context, part.strategy, part.context.tree, part.infoset
    first = int(histories_of(context, infoset)[0])
    children = slice(tree.first_child[first], tree.first_child[first] + tree.n_children[first])
    nodes = refinement.considered.nodes
    return Seen(
        game=context.game,
        state=tree.states[first],
        actions=tree.action[children],
        before=strategy.probs[tree.slots(infoset)],
        after=refinement.here(strategy),
        q=action_values(context, strategy, infoset),
        states=lambda rows: tree.states[nodes[rows]],
    )


def explain(
    seen: Seen,
    refinement: Refinement,
    config: SearchConfig,
    *,
    most: int | None = MAX_LISTED,
) -> SearchResult:
    """Return a refinement in the game's words. most: histories listed one by one, None for all."""
    game, considered = seen.game, refinement.considered
    numbers = zip(seen.actions, seen.before, seen.after, seen.q, strict=True)
    actions = tuple(
        ActionRow(game.action_text(seen.state, action), *map(float, row)) for action, *row in numbers
    )
    marks = refinement.kept.marks(len(considered.nodes))
    share = considered.reach / considered.reach.sum()
    listed = np.sort(np.argsort(~marks["kept"], kind="stable")[:most])
    histories = tuple(
        HistoryRow(
            history=game.state_text(state),
            opponent_infoset=int(considered.group[row]),
            reach=float(share[row]),
            opponent_reach=float(considered.opponent_reach[row]),
            alternative=float(considered.alternative[considered.group[row]]),
            **{name: bool(mark[row]) for name, mark in marks.items()},
        )
        for row, state in zip(listed, seen.states(listed), strict=True)
    )
    opponents = []
    groups = np.unique(considered.group[listed])
    firsts = seen.states(np.searchsorted(considered.group, groups))
    for group, state in zip(groups, firsts, strict=True):
        alternative, solved = considered.alternative[group], refinement.solved[group]
        there = bool(np.isfinite(solved))
        opponents.append(
            InfosetRow(
                number=int(group),
                infoset=game.infoset_text(state, considered.opponent),
                alternative=float(alternative),
                solved=float(solved) if there else None,
                margin=float(alternative - solved) if there else None,
            )
        )
    return SearchResult(
        game=game.name,
        infoset=game.infoset_text(seen.state, considered.player),
        player=considered.player,
        actions=actions,
        value=float(seen.after @ seen.q),
        blueprint_value=float(seen.before @ seen.q),
        histories=histories,
        opponents=tuple(opponents),
        histories_considered=len(considered.nodes),
        histories_generated=int(marks["generated"].sum()),
        histories_kept=len(refinement.kept.rows),
        opponents_kept=int(np.isfinite(refinement.solved).sum()),
        kept_refined=refinement.anchor > 0,
        config=config,
        **{name: getattr(refinement, name) for name in AS_REFINED},
    )
