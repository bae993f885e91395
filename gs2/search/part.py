"""Which part of a game a search is made on: the one place that picks the source of its histories.

A game that is listed is searched on its whole tree, another one on a tree of what is drawn at the infoset.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint
from blueprint.tabular import KeyIndex
from cfr.tree import FlatTree
from cfr.tree.memory import TooLarge
from games.game import Game, Infoset
from games.infosets.trail import Trail
from games.ragged import Ragged
from games.support.array_types import Array
from games.support.configuration import ConfigError
from gs2.search.config.search import SearchConfig
from gs2.search.context import NO_OPTIONS, AnyStrategy, SearchContext, SearchOptions
from gs2.search.histories.infoset_values import values_histories
from gs2.search.histories.sampled_source import Part, sample_tree
from gs2.search.histories.seats import trail_to
from gs2.search.pipeline import refine_infoset
from gs2.search.result import Refinement
from gs2.search.strategy import Strategy

__all__ = ["PlayedStrategy", "listed_context", "part_of", "refine_part"]


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


class PlayedStrategy:
    """A strategy on a full tree as a `Blueprint` that may change from search to search.

    name: what to call it. probs: [slots] float64, read whenever it is asked.
    """

    name = "the strategy refined so far"

    def __init__(self, context: SearchContext, strategy: Strategy) -> None:
        """Take a tree and the strategy on it; what values histories is the strategy's own blueprint."""
        self._tree: FlatTree = context.tree
        self._context, self._strategy = context, strategy
        self.probs = strategy.probs
        self._places: dict[int, tuple[KeyIndex, NDArray[np.int64]]] = {}
        self._slots = Ragged(self._tree.infoset_offset, np.arange(self._tree.n_slots))

    @property
    def values_histories(self) -> bool:
        """Return whether the values are those of single histories."""
        return values_histories(self._valued())

    def policy(self, game: Game, states: Array, player: int, actions: Ragged) -> NDArray[np.float64]:
        """Return the probability of each action, [m] float64."""
        keys = game.infoset_key(states, player)
        return self.probs[self._slots.take(self.numbers(keys, player)).values]

    def q(self, game: Game, states: Array, player: int, actions: Ragged) -> NDArray[np.float64]:
        """Return the value of each action by the blueprint that values histories, [m] float64."""
        found: NDArray[np.float64] = self._valued().q(game, states, player, actions)
        return found

    def value(self, game: Game, states: Array, player: int) -> NDArray[np.float64]:
        """Return the value of each state by the blueprint that values histories, [n] float64."""
        found: NDArray[np.float64] = self._valued().value(game, states, player)
        return found

    def numbers(self, keys: NDArray[np.uint64], player: int) -> NDArray[np.int64]:
        """Return the number in the tree of a player's infosets by their keys, [n] int64.

        Raises ValueError for a key that the tree does not have.
        """
        if player not in self._places:
            mine = np.flatnonzero(self._tree.infoset_player == player)
            self._places[player] = KeyIndex(self._tree.infoset_key[mine]), mine
        index, mine = self._places[player]
        row = index.find(keys)
        if np.any(row < 0):
            raise ValueError(
                f"{self._context.game.name}: the tree must have every infoset asked for; it lacks one"
            )
        return mine[row]

    def slots_of(self, part: FlatTree, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the full tree's slots for slots of a tree of the same game, [s] int64, of one player.

        Raises ConfigError where that tree holds only some of the actions.
        """
        infoset = part.slot_infoset[slots]
        if len(slots) == 0:
            return slots
        there = np.unique(infoset)
        number = self.numbers(part.infoset_key[there], int(part.infoset_player[there[0]]))
        whole = np.diff(self._tree.infoset_offset)[number]
        if np.any(whole != np.diff(part.infoset_offset)[there]):
            raise ConfigError(
                f"{self._context.game.name}: branches must be at least {whole.max()} where a whole strategy "
                "is refined, for every action to have a probability; got fewer; set branches = None"
            )
        at = number[np.searchsorted(there, infoset)]
        found: NDArray[np.int64] = self._tree.infoset_offset[at] + slots - part.infoset_offset[infoset]
        return found

    def _valued(self) -> Blueprint:
        return self._strategy.known_blueprint(self._context.game)
