"""What many searches in one game share: the full tree, who knows what, and what the opponent notices."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint
from cfr.policies.policy import Policy
from cfr.tree import FlatTree, TreeBudget, grow, require_states
from cfr.tree.memory import SEARCH_BYTES
from cfr.tree.recall import infoset_parent_slot, own_slots
from cfr.values import check_policy, check_probabilities
from games.game import Game, Infoset
from games.infosets.trail import Trail, trails_along
from games.ragged import Ragged
from games.support.configuration import ConfigError
from gs2.policies.tabulate import policy_of
from gs2.search.config.search import SearchConfig
from gs2.search.histories.cover import CoverMaker
from gs2.search.histories.knowledge import KnowledgeGraph, knowledge_graph
from gs2.search.strategy import Strategy
from gs2.search.subgame.cut import TreeCutter
from gs2.search.subgame.leaf import OWN_LEAVES, LeafEvaluator

__all__ = [
    "MAX_ENUMERATED",
    "MAX_LISTED",
    "NO_OPTIONS",
    "AnyStrategy",
    "SearchContext",
    "SearchOptions",
    "TrialSource",
    "check_asked",
    "check_two_seats",
]

AnyStrategy = NDArray[np.float64] | Policy | Blueprint | Strategy
"""A strategy in any shape: probabilities by slot of a tree, by infoset, by state, or ready for searches."""

MAX_LISTED = 200
"""Histories, and opponent infosets, that a result lists one by one."""
MAX_ENUMERATED = 8_000_000
"""Histories up to which a game is enumerated; the largest research game has 1.9 million."""


class TrialSource(Protocol):
    """What a statistical certificate plays out where the tree is only a part of the game."""

    def draw(self, n: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return up to n histories of the infoset and their weights, both [m], drawn for this alone."""
        ...

    def plays(self, strategies: tuple[Strategy, ...]) -> tuple[Blueprint, ...]:
        """Return what plays each of some strategies on the tree, and the blueprint everywhere else."""
        ...


@dataclass(frozen=True, eq=False)
class SearchOptions:
    """What one search is told besides its configuration.

    deadline: an instant of `time.perf_counter()`; what cannot be done by then is left undone.
    leaf: values histories at the depth limit in place of the configured evaluator; refused without a depth.
    start: where many searches change one level of the game one after another, the strategy before the first
        of them, to whose values small searches may hold the opponent down; None where none did.
    listed: histories that `solve_infoset` lists one by one; None for all.
    trials: where histories are drawn, those of a statistical certificate; None for those of the tree.
    luck: seed of the games that are played out, at a depth limit or for a statistical certificate; None to
        draw one from the search's generator. Searches with one seed share their luck.
    """

    deadline: float | None = None
    leaf: LeafEvaluator | None = None
    start: Strategy | None = None
    listed: int | None = MAX_LISTED
    trials: TrialSource | None = None
    luck: int | None = None

    @cached_property
    def alone(self) -> SearchOptions:
        """Return the same for a search that sees what the others of its level came to."""
        return self if self.start is None else replace(self, start=None)

    def within(self, config: SearchConfig) -> SearchOptions:
        """Return the same for a search that begins now, with its configuration's time limit in `deadline`."""
        if config.time_limit is None:
            return self
        limit = time.perf_counter() + config.time_limit
        return replace(self, deadline=limit if self.deadline is None else min(self.deadline, limit))

    def check_leaf(self, config: SearchConfig) -> None:
        """Raise ConfigError if there is a leaf, and no depth limit at which a search would ask it."""
        if self.leaf is not None and config.subgame.depth is None:
            raise ConfigError(
                "SearchOptions.leaf values histories at a depth limit, and this search has none; got depth = "
                f"None with method {config.name}; set depth in the configuration, or leave the leaf out"
            )

    def leaf_for(self, config: SearchConfig) -> LeafEvaluator | None:
        """Return the evaluator of one's own that values histories at the depth limit; None for gs2's."""
        return OWN_LEAVES.get(config.subgame.leaf) if self.leaf is None else self.leaf

    def dice(self, *words: int) -> np.random.Generator:
        """Return a generator of the search's luck, another one for other words; of seed 0 without luck."""
        return np.random.default_rng([self.luck or 0, *words])


NO_OPTIONS = SearchOptions()
"""A search that takes its time and knows nothing of others."""


def check_two_seats(game: Game) -> None:
    """Raise ValueError unless a game has two players and is zero-sum: its whole tree can then be searched."""
    if game.num_players != 2:
        raise ValueError(
            f"{game.name}: a search by subgame solving needs two players; got {game.num_players}; see "
            "the game from two seats (gs2.search.histories.seats), as solve_infoset does"
        )
    if not getattr(game, "zero_sum", True):
        raise ValueError(
            f"{game.name}: a search by subgame solving needs payoffs that sum to zero; these do not; "
            "cfr.solve (gs2 blueprint) runs there without a guarantee, gs2 exploitability measures the result"
        )


class SearchContext:
    """One game small enough to enumerate, prepared once for any number of searches.

    game, tree: the game and its full tree, with states. cutter: cuts subgames out of the tree.
    """

    def __init__(self, game: Game, tree: FlatTree | None = None) -> None:
        """Grow the game's tree, or take one that holds its states.

        Raises ValueError if the game does not have two players or is not zero-sum; TooLarge if its tree, or a
        search on it, would take more memory than it may (see `cfr.tree.memory`).
        """
        check_two_seats(game)
        self.game = game
        if tree is None:
            budget = TreeBudget(max_nodes=MAX_ENUMERATED, history_bytes=SEARCH_BYTES)
            tree = grow(game, budget=budget)
        self.tree = require_states(tree, "search")
        self.cutter = TreeCutter(self.tree)
        self._graphs: dict[int, KnowledgeGraph] = {}
        self._covers: dict[int, CoverMaker] = {}
        self._parents: dict[int, NDArray[np.int64]] = {}
        self._own_slots: dict[int, NDArray[np.int64]] = {}
        self._closure: tuple[int, NDArray[np.int64]] | None = None
        self._plans = np.empty((0, self.tree.n_slots))

    def strategy(self, given: AnyStrategy) -> Strategy:
        """Return a strategy of any shape on this tree; a blueprint then values histories as well.

        Raises ValueError for one of another tree or size, or whose probabilities do not sum to 1; PolicyError
        (a ValueError) for another game's.
        """
        if isinstance(given, Strategy):
            if given.tree is not self.tree:
                raise ValueError(
                    f"{self.game.name}: a Strategy must be on the tree that is searched; got one on another; "
                    "make it with SearchContext.strategy"
                )
            return given
        if isinstance(given, Policy):
            return Strategy(self.tree, given.on(self.tree, self.game.name))
        if isinstance(given, Blueprint):
            return Strategy(self.tree, policy_of(given, self.game, self.tree), given)
        probs = check_probabilities(check_policy(self.tree, given), self.tree.infoset_offset)
        return Strategy(self.tree, probs)

    def plan_buffer(self, count: int) -> NDArray[np.float64]:
        """Return room for policies on the tree's slots, [count, slots] float64, shared by all searches.

        It holds whatever was written last: write what is read.
        """
        if len(self._plans) < count:
            self._plans = np.zeros((count, self.tree.n_slots))
        return self._plans[:count]

    def graph(self, player: int) -> KnowledgeGraph:
        """Return who can tell which histories apart where `player` acts; made on first use."""
        if player not in self._graphs:
            self._graphs[player] = knowledge_graph(self.game, self.tree, player)
        return self._graphs[player]

    def covers(self, player: int) -> CoverMaker:
        """Return what makes the covers of searches by `player`; made on first use.

        Raises GameError if the game's infoset keys are of imperfect recall.
        """
        if player not in self._covers:
            own, theirs = self.own_slot(player), self.own_slot(1 - player)
            self._covers[player] = CoverMaker(self.tree, self.graph(player), own, theirs)
        return self._covers[player]

    def closure(self, infoset: int) -> NDArray[np.int64]:
        """Return the common-knowledge closure of an infoset, [n] rising positions in its player's graph."""
        graph = self.graph(int(self.tree.infoset_player[infoset]))
        if (
            self._closure is None
            or not np.isin(graph.of_infoset(infoset)[0], self._closure[1])
            or (self._closure[0] != graph.player)
        ):
            self._closure = graph.player, graph.order(infoset, None)
        return self._closure[1]

    def infoset_number(self, infoset: Infoset | int) -> int:
        """Return the number of an infoset in the tree.

        Raises ValueError if it is not a decision infoset of this game.
        """
        if not isinstance(infoset, Infoset):
            if not isinstance(infoset, Integral) or not 0 <= infoset < self.tree.n_infosets:
                raise ValueError(
                    "infoset must be an Infoset, as game.parse_infoset(text) returns it, or a whole number "
                    f"in [0, {self.tree.n_infosets}); got {infoset!r}"
                )
            return int(infoset)
        key = np.array(infoset.key, np.uint64)
        found = np.flatnonzero(
            (self.tree.infoset_player == infoset.player) & np.all(self.tree.infoset_key == key, axis=1)
        )
        if len(found) == 0:
            raise ValueError(
                f"{self.game.name}: player {infoset.player} must have a decision at the infoset; "
                f"got {infoset.text!r}; list them with `gs2 infosets`"
            )
        return int(found[0])

    def nodes_below(self, nodes: NDArray[Any]) -> int:
        """Return how many nodes stand at and below some histories, [n] nodes, none below another."""
        return int(self.cutter.sizes[nodes].sum())

    def infoset_text(self, infoset: int) -> str:
        """Return the words that name an infoset of the tree."""
        node = self.tree.infoset_first_node()[infoset]
        return self.game.infoset_text(self.tree.states[node], int(self.tree.infoset_player[infoset]))

    def line_to(self, node: int) -> Ragged:
        """Return the actions that lead from the root to a node of the tree, as one row, [depth]."""
        way = []
        while self.tree.parent[node] >= 0:
            way.append(node)
            node = int(self.tree.parent[node])
        return Ragged.from_counts(np.array([len(way)]), self.tree.action[np.array(way[::-1], np.int64)])

    def trail_to(self, infoset: int) -> Trail:
        """Return what the player of an infoset sees on the way to the first of its histories."""
        line = self.line_to(int(self.tree.infoset_first_node()[infoset]))
        return trails_along(self.game, line, int(self.tree.infoset_player[infoset]))[0]

    def parent_slot(self, player: int) -> NDArray[np.int64]:
        """Return the player's own slot before each of its infosets, [I] int64; -1 if there is none."""
        if player not in self._parents:
            self._parents[player] = infoset_parent_slot(self.tree, player)
        return self._parents[player]

    def own_slot(self, player: int) -> NDArray[np.int64]:
        """Return the last slot that the player chose above each node, [N] int64; -1 if there is none."""
        if player not in self._own_slots:
            self._own_slots[player] = own_slots(self.tree, player)
        return self._own_slots[player]

    @cached_property
    def infoset_level(self) -> NDArray[np.int64]:
        """Depth of the shallowest history of each infoset, [I] int64."""
        first = self.tree.infoset_first_node()
        return np.searchsorted(self.tree.level_offsets, first, side="right") - 1


KINDS: dict[str, tuple[Callable[[object], bool], str]] = {
    "game": (
        lambda given: isinstance(given, SearchContext) or hasattr(given, "num_players"),
        "a game, as gs2.load_game(name) returns it, or its SearchContext",
    ),
    "infoset": (
        lambda given: isinstance(given, Infoset | Trail | Integral),
        "an Infoset, as game.parse_infoset(text) returns it, a Trail or a number",
    ),
    "config": (
        lambda given: isinstance(given, SearchConfig),
        'a SearchConfig, as gs2.preset("gs2+") returns it',
    ),
    "rng": (
        lambda given: isinstance(given, np.random.Generator),
        "a generator, as np.random.default_rng(seed) returns it",
    ),
}
"""What a search is asked for with: whether a thing is of the kind, and the words for it."""


def check_asked(**asked: object) -> None:
    """Raise ConfigError where a search is asked for with a thing of another kind, by the names of `KINDS`."""
    for name, given in asked.items():
        fits, wanted = KINDS[name]
        if not fits(given):
            shown = repr(given) if isinstance(given, str | int | float | None) else type(given).__name__
            raise ConfigError(f"{name} must be {wanted}; got {shown}")
