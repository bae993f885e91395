"""One decision refined from what its player saw, with nothing listed: what an agent calls in a match."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint
from blueprint.tabular import KeyIndex
from cfr.tree import FlatTree, require_states
from games.game import Game
from games.infosets.trail import Trail
from games.ragged import Ragged
from games.support.array_types import Array
from games.support.configuration import ConfigError
from gs2.search.config.search import SearchConfig
from gs2.search.context import NO_OPTIONS, SearchContext, SearchOptions
from gs2.search.histories.enumerated import after_each, belief, histories_of
from gs2.search.histories.infoset_values import values_histories
from gs2.search.histories.sampled_growth import places_among
from gs2.search.histories.sampled_source import SampledTree, sample_tree
from gs2.search.histories.seats import seat_views
from gs2.search.pipeline import refine_infoset
from gs2.search.result import Refinement
from gs2.search.strategy import Strategy

__all__ = ["PlayedStrategy", "refine_and_judge", "refine_at", "refine_sampled"]


def refine_at(
    game: Game,
    blueprint: Blueprint,
    trail: Trail,
    config: SearchConfig,
    rng: np.random.Generator,
    options: SearchOptions = NO_OPTIONS,
) -> NDArray[np.float64]:
    """Return the refined probability of each legal action where a trail ends, [a] float64, in their order.

    trail: what the player to act saw, such as a `games.infosets.trail.Watcher` makes of a game in progress.
    config: of the search; `depth` with `leaf` value or rollout keeps it quick in a large game.
    options: `leaf` values histories at the depth limit in place of the configured evaluator.
    Actions beyond the configured `branches` get 0. Of a game of more than two seats, two are seen at a time
    (`gs2.search.histories.seats`); `options.leaf` is then asked about such a view.
    Raises what `sample_tree` raises.
    """
    search = partial(refine_sampled, config=config, rng=rng, options=options)
    probs: NDArray[np.float64] = _searched(game, blueprint, trail, config, search, gains=False)[0]
    return probs


def refine_and_judge(
    game: Game, blueprint: Blueprint, trail: Trail, config: SearchConfig, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return `refine_at` and what each action gains over the blueprint's likeliest, [3, a] float64.

    The second row is the mean gain over the histories drawn, in payoffs of the player to act, before anything
    is solved; the third its standard error. Both are NaN for an action beyond the configured `branches`.
    """
    search = partial(refine_sampled, config=config, rng=rng)
    return _searched(game, blueprint, trail, config, search, gains=True)


def _searched(
    game: Game,
    blueprint: Blueprint,
    trail: Trail,
    config: SearchConfig,
    search: Callable[[Game, Blueprint, Trail], tuple[SampledTree, Refinement]],
    *,
    gains: bool,
) -> NDArray[np.float64]:
    """Return the rows of `refine_and_judge`, the first alone where no gains are wanted."""
    if game.num_players > 2:
        each = np.array(
            [
                _searched(seen.view, seen, seen.view.trail(trail), config, search, gains=gains)
                for seen in seat_views(game, blueprint, trail.player, config)
            ]
        )
        mean: NDArray[np.float64] = each.mean(axis=0)
        if gains:
            mean[2] = np.sqrt(np.sum(each[:, 2] ** 2, axis=0)) / len(each)
        return mean
    part, found = search(game, blueprint, trail)
    tree = require_states(part.context.tree, "refine_at")
    rows = [found.here(part.strategy), *(_gains(part) if gains else ())]
    first = int(tree.infoset_first_node()[part.infoset])
    legal = game.actions(tree.states[first : first + 1]).values
    if len(legal) == len(rows[0]):
        return np.array(rows)
    grown = tree.slot_actions()[tree.slots(part.infoset)]
    out = np.full((len(rows), len(legal)), np.nan)
    out[0] = 0
    out[:, places_among(legal, grown)] = rows
    return out


def _gains(part: SampledTree) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what each action grown gains over the likeliest, and the standard error, [k] float64 each."""
    strategy, tree = part.strategy, part.context.tree
    player = int(tree.infoset_player[part.infoset])
    nodes = histories_of(part.context, part.infoset)
    weight, values = belief(strategy, nodes, player), after_each(strategy, nodes)
    usual = int(np.argmax(strategy.probs[tree.slots(part.infoset)]))
    gains = values - values[:, usual, None]
    mean: NDArray[np.float64] = weight @ gains
    return mean, np.sqrt(weight**2 @ (gains - mean) ** 2)


def refine_sampled(
    game: Game,
    blueprint: Blueprint,
    trail: Trail,
    config: SearchConfig,
    rng: np.random.Generator,
    options: SearchOptions = NO_OPTIONS,
) -> tuple[SampledTree, Refinement]:
    """Return what was drawn where a trail ends, as a tree, and what the search on it came to.

    Arguments and errors as of `refine_at`.
    """
    part = sample_tree(game, blueprint, trail, config, rng, options.leaf)
    options = replace(options, trials=part.trials)
    return part, refine_infoset(part.context, part.strategy, part.infoset, part.config, rng, options)


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
