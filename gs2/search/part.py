"""Which part of a game a search is made on: the one place that picks the source of its histories.

A game that is listed is searched on its whole tree, another one on a tree of what is drawn at the infoset.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from blueprint.protocol import Blueprint
from cfr.tree.memory import TooLarge
from games.game import Game, Infoset
from games.infosets.trail import Trail
from gs2.search.config.search import SearchConfig
from gs2.search.context import NO_OPTIONS, AnyStrategy, SearchContext, SearchOptions
from gs2.search.histories.sampled_source import Part, sample_tree
from gs2.search.histories.seats import trail_to
from gs2.search.pipeline import refine_infoset
from gs2.search.refine.policy_only import PlayedStrategy
from gs2.search.result import Refinement

__all__ = ["listed_context", "part_of", "refine_part"]


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
    if context is not None:
        config = config.where_listed()
        number = context.infoset_number(infoset.infoset if isinstance(infoset, Trail) else infoset)
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
    if part.trials is not None:
        options = replace(options, trials=part.trials)
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
