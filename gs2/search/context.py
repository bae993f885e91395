"""What searches in one game share: the tree, who knows what, covers (`histories.covers`), and strategies.

*Knowledge sets*: which histories a player has to think about, and how many there are. Two histories are
neighbours if some seat cannot tell them apart. Starting from the histories of an infoset (order 1), each
further order adds the neighbours; where nothing more is added stands the common-knowledge closure. A method
that works on order k never looks further, so these sizes say what a method would have to solve before it is
chosen. Source: Zhang and Sandholm 2021, "Subgame solving without common knowledge".

*Strategies*. There is one road: game -> tree -> Strategy -> refine -> policy. `SearchContext` grows the tree,
`SearchContext.strategy` takes a strategy of any shape, searches change it piece by piece, and
`refine_both(...).strategy` is what comes out. The shapes, and what each is for:

probabilities on slots, [slots]    what solvers return and `policy_from_spec` reads; `Strategy.probs`.
cfr.Policy                         by infoset key, for files and other trees; `tabular_policy`.
Blueprint                          by state, with values; networks, or `tabulate` of the probabilities.
Strategy                           on one tree, with everything that searches derive from it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint
from cfr.best_response import CounterfactualValues, counterfactual_values
from cfr.policies.policy import Policy
from cfr.tree import FlatTree, TreeBudget, grow, require_states
from cfr.tree.flat import infoset_parent_slot, own_slots
from cfr.tree.memory import SEARCH_BYTES
from cfr.values import Reach, best_responses, check_policy, check_probabilities, node_values, reach
from games.game import Game, GameError, Infoset
from games.infosets.nature import NatureView
from games.infosets.trail import Trail, trails_along
from games.infosets.two_seats import TwoSeatView
from games.ragged import Ragged
from games.support.configuration import ConfigError
from gs2.policies.tabulate import policy_of, tabulate
from gs2.search.config.search import SearchConfig
from gs2.search.histories.covers import Cover, Extension, turns_are_noticed
from gs2.search.subgame.cut import TreeCutter, root_numbers
from gs2.search.subgame.leaf import OWN_LEAVES, LeafEvaluator

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class KnowledgeGraph:
    """Which of the histories where one player acts each seat can tell apart; n histories.

    Only histories at which the player itself acts are compared: they are the roots a search can start from.

    player: the searching seat.
    nodes: [n] int32, rising nodes of the tree; a history is named by its position in here.
    group: [P, n] int32, number of the history's infoset for each seat; within a seat, equal numbers mean
        that the seat cannot tell the histories apart.
    members: for each seat, its groups as rows of rising positions.
    infoset_group: [I] int32, group of the player's own infosets, -1 for the infosets of others.
    level: [n] int32, depth of each history in the tree.
    """

    player: int
    nodes: NDArray[np.int32]
    group: NDArray[np.int32]
    members: tuple[Ragged, ...]
    infoset_group: NDArray[np.int32]
    level: NDArray[np.int32]

    def of_infoset(self, infoset: int) -> NDArray[np.int64]:
        """Return the positions of an infoset's histories, [k] int64, rising: its order-1 knowledge set.

        Raises ValueError if the infoset is not the player's.
        """
        group = self.infoset_group[infoset]
        if group < 0:
            raise ValueError(f"infoset must be one of player {self.player}; got {infoset}, another seat's")
        return self.members[self.player][group]

    def neighbours(
        self, positions: NDArray[np.int64], seats: tuple[int, ...] | None = None
    ) -> NDArray[np.int64]:
        """Return the histories that one of the seats cannot tell from one of these, themselves included.

        positions: [k] int64, rising; so is the result. seats: by default every seat.
        """
        found = [positions]
        for seat in range(len(self.members)) if seats is None else seats:
            groups = np.unique(self.group[seat, positions])
            found.append(self.members[seat].take(groups).values)
        return np.unique(np.concatenate(found))

    def order(self, infoset: int, k: int | None) -> NDArray[np.int64]:
        """Return the order-k knowledge set of an infoset, [m] int64, rising; k = None is the closure.

        Raises ValueError if k < 1 or the infoset is not the player's.
        """
        if k is not None and k < 1:
            raise ValueError(f"order must be at least 1, or None for common knowledge; got {k}")
        now = self.of_infoset(infoset)
        hops = 1
        while k is None or hops < k:
            wider = self.neighbours(now)
            if len(wider) == len(now):
                break
            now, hops = wider, hops + 1
        return now


def knowledge_graph(game: Game, tree: FlatTree, player: int) -> KnowledgeGraph:
    """Return who can tell which histories apart where `player` acts, from the game's infoset keys.

    Raises ValueError if the tree does not hold its states, or no such seat exists.
    """
    tree = require_states(tree, "knowledge")
    if not 0 <= player < tree.n_players:
        raise ValueError(f"player must be in [0, {tree.n_players}); got {player}")
    nodes = np.flatnonzero(tree.player == player).astype(np.int32)
    states = tree.states[nodes]
    group = np.zeros((tree.n_players, len(nodes)), np.int32)
    members = []
    for seat in range(tree.n_players):
        if seat == player:
            own = tree.infoset[nodes]
            known, number = np.unique(own, return_inverse=True)
        else:
            keys = np.ascontiguousarray(game.infoset_key(states, seat))
            words = keys[:, 0] if keys.shape[1] == 1 else keys.view(np.dtype((np.void, keys[0].nbytes)))[:, 0]
            known, number = np.unique(words, return_inverse=True)
        group[seat] = number.reshape(-1)
        counts = np.bincount(group[seat], minlength=len(known))
        members.append(Ragged.from_counts(counts, np.argsort(group[seat], kind="stable")))
    infoset_group = np.full(tree.n_infosets, -1, np.int32)
    infoset_group[tree.infoset[nodes]] = group[player]
    level = np.searchsorted(tree.level_offsets, nodes, side="right") - 1
    return KnowledgeGraph(player, nodes, group, tuple(members), infoset_group, level.astype(np.int32))


class CoverMaker:
    """Makes covers for one searching player; says once whether they ever need extending."""

    def __init__(
        self,
        tree: FlatTree,
        graph: KnowledgeGraph,
        own_slot: NDArray[np.int64],
        opponent_slot: NDArray[np.int64],
    ) -> None:
        """Take a tree, who can tell its histories apart, and each seat's last own slot at each node.

        own_slot, opponent_slot: [N] int64, of the searching player and of its opponent; -1 where they have
            not acted yet.
        Raises GameError if the opponent, while the player acts, confuses histories at which its own past
        differs: an infoset key of imperfect recall.
        """
        self._tree, self._graph, self._own_slot = tree, graph, own_slot
        self._opponent = 1 - graph.player
        self._extension = Extension(tree, graph.player)
        group = graph.group[self._opponent]
        last = opponent_slot[graph.nodes]
        first = np.zeros(len(graph.members[self._opponent]), np.int64)
        first[group] = np.arange(len(group))
        wrong = np.flatnonzero(last != last[first[group]])
        if len(wrong):
            a, b = graph.nodes[wrong[0]], graph.nodes[first[group[wrong[0]]]]
            raise GameError(
                f"infoset_key: what player {self._opponent} knows while player {graph.player} acts must tell "
                f"its own past apart; nodes {a} and {b} of the tree have one key and different actions of "
                "its own before them; run games.check_game on the game"
            )
        self.turns_are_noticed = turns_are_noticed(
            tree, self._opponent, graph.nodes, graph.group, graph.level
        )
        """Whether the opponent always knows how often the player has acted, and histories that anyone
        confuses are equally long: no cover needs extending then, and a search at one depth never changes the
        player's reach of another search of the same depth."""

    def make(
        self, infoset: int, top: NDArray[np.int64], every: NDArray[np.int64], *, whole: bool = False
    ) -> Cover:
        """Return the cover of some histories of the player's.

        top: [k] int64, positions in the knowledge graph, rising: the knowledge set.
        every: [m] int64, positions of these and of all others in the opponent infosets they touch.
        whole: extend until the player's own infosets below lie inside as well: all of them may change.
            Done anyway where the player decides between a root and a history asked for: a subgame in which
            some histories of an infoset follow that decision and others start below it has no perfect recall.
        """
        tree, graph = self._tree, self._graph
        if self.turns_are_noticed:
            every = every[np.argsort(graph.group[self._opponent, every], kind="stable")]
            nodes = graph.nodes[every]
            in_set = np.isin(every, top, assume_unique=True)
            return Cover(nodes, graph.group[self._opponent, every], tree.infoset[nodes], in_set)
        asked = infoset, graph.nodes[top], graph.nodes[every], graph.group[self._opponent, every]
        if not whole:
            found, roots = self._extension.extended(*asked, whole=False)
            if np.array_equal(self._own_slot[roots], self._own_slot[graph.nodes[top]]):
                return found
        return self._extension.extended(*asked, whole=True)[0]


NOTHING_KNOWN: Mapping[int, CounterfactualValues] = {}


@dataclass(eq=False)
class _Derived:
    """The array behind a strategy, and what was derived from it so far.

    reach: right at nodes of lower numbers than `until`; elsewhere it may be that of an earlier strategy.
    kept: all else, by name (`Strategy.kept`).
    """

    raw: NDArray[np.float64] | None = None
    reach: Reach | None = None
    until: int = 0
    kept: dict[Hashable, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Strategy:
    """A strategy of every player on a tree; it never changes, and what follows from it is derived once.

    tree: of the whole game. probs: [slots] float64, action probabilities; a copy, read-only.
    blueprint: what values histories where a search asks `Blueprint.value`; None for the strategy itself.
    whole: seats whose alternative values searches take from their best response to the whole strategy, found
        once for all of them. Those of other seats are found below the histories of each search, unless these
        are much of the game.
    above: [roots, P] float64, how likely every player's own part leads to the roots of a tree that is only a
        part of the game (`gs2.search.histories.sampled_source`); None for 1.
    Raises ValueError unless there is one probability per slot.
    """

    tree: FlatTree
    probs: NDArray[np.float64]
    blueprint: Blueprint | None = None
    whole: frozenset[int] = frozenset()
    above: NDArray[np.float64] | None = None
    _derived: _Derived = field(default_factory=_Derived, repr=False)
    _origin: Strategy | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self._derived.raw is None:
            self._derived.raw = check_policy(self.tree, self.probs).copy()
        object.__setattr__(self, "probs", _read_only(self._derived.raw.view()))

    @property
    def raw(self) -> NDArray[np.float64]:
        """Return the array behind `probs`, [slots] float64, for compiled functions alone: never write to it.

        Numba compiles a function a second time for an array that is marked read-only.
        """
        assert self._derived.raw is not None  # since __post_init__
        return self._derived.raw

    def with_changes(
        self,
        slots: NDArray[np.int64],
        probs: NDArray[np.float64],
        opponent: Mapping[int, CounterfactualValues] = NOTHING_KNOWN,
    ) -> Strategy:
        """Return the strategy with other probabilities at some slots; itself where nothing is different.

        slots: [s] int64. probs: [s] float64.
        opponent: best-response values of a seat after the change, as far as they are known (`until`).
        What was derived from this one is shared where it still holds: the reach of nodes above the changes.
        """
        known = self._derived
        told: dict[Hashable, Any] = {("opponent", seat): values for seat, values in opponent.items()}
        if np.array_equal(self.raw[slots], probs):
            return replace(self, _derived=replace(known, kept={**known.kept, **told})) if told else self
        changed = self.raw.copy()
        changed[slots] = probs
        until = min(known.until, self.first_below(slots))
        shared = _Derived(changed, known.reach if until else None, until, told)
        origin = self if self._origin is None else self._origin
        return Strategy(self.tree, changed, self.blueprint, frozenset(), self.above, shared, origin)

    def with_best_response(self, seat: int) -> Strategy:
        """Return the same strategy, with a seat's best response to the whole of it shared by all searches."""
        return self if seat in self.whole else replace(self, whole=self.whole | {seat})

    def first_below(self, slots: NDArray[np.int64]) -> int:
        """Return a number of nodes, all before the first that some slots, [s] int64, lead to."""
        first = int(self.tree.infoset_first_node()[self.tree.slot_infoset[slots]].min())
        return int(self.tree.first_child[first])

    @property
    def reach(self) -> Reach:
        """Return the reach of each node of the tree."""
        known = self._derived
        if known.reach is None or known.until < self.tree.n_nodes:
            made = reach(self.tree, self.raw)
            if self.above is not None:
                made = Reach(made.players * self.above[root_numbers(self.tree)], made.chance)
            known.reach = Reach(_read_only(made.players), _read_only(made.chance))
            known.until = self.tree.n_nodes
        return known.reach

    def reach_at(self, nodes: NDArray[np.int32]) -> Reach:
        """Return the reach of some nodes; of those above all recent changes without deriving it anew.

        nodes: [n] int32; the arrays of the result have n rows.
        """
        found = self._derived.reach
        if found is None or (len(nodes) and nodes.max() >= self._derived.until):
            found = self.reach
        return Reach(found.players[nodes], found.chance[nodes])

    def kept(self, name: Hashable, make: Callable[[], T]) -> T:
        """Return what is derived from the strategy under a name, made on first use; arrays are read-only."""
        known = self._derived.kept
        if name not in known:
            made = make()
            known[name] = _read_only(made) if isinstance(made, np.ndarray) else made
        found: T = known[name]
        return found

    @property
    def values(self) -> NDArray[np.float64]:
        """Return the expected payoffs at each node, [N, P] float64."""
        return self.kept("values", lambda: node_values(self.tree, self.raw))

    def best_response(self, seat: int) -> NDArray[np.float64]:
        """Return the payoff to `seat` from each node when it best-responds to the whole strategy, [N]."""
        return self.kept(("best", seat), lambda: best_responses(self.tree, self.raw, seat)[0])

    def opponent_values(self, seat: int, nodes: NDArray[np.int32] | None = None) -> CounterfactualValues:
        """Return the counterfactual best-response values of `seat` against the others' strategy.

        nodes: [n] int32; those at the infosets above these nodes must hold; by default all.
        """
        tree = self.tree
        found = self.known_opponent_values(seat)
        until = None if found is None else found.until
        stale = until is not None and (nodes is None or bool(len(nodes) and nodes.max() >= until))
        if found is None or stale:
            best = counterfactual_values(tree, self.raw, seat, best_response=True)
            values, others, _ = best_responses(tree, self.raw, seat)
            found = replace(best, root=float(values[: tree.n_roots] @ others[: tree.n_roots]))
            self._derived.kept["opponent", seat] = found
        return found

    def known_opponent_values(self, seat: int) -> CounterfactualValues | None:
        """Return `opponent_values` as far as they are known (see `CounterfactualValues.until`), or None."""
        found: CounterfactualValues | None = self._derived.kept.get(("opponent", seat))
        return found

    def known_blueprint(self, game: Game) -> Blueprint:
        """Return the blueprint that values histories: the one given, or one made of the strategy itself.

        After changes, of the strategy before the first of them.
        """
        if self.blueprint is not None:
            return self.blueprint
        if self._origin is not None:
            return self._origin.known_blueprint(game)
        return self.kept("tabulated", lambda: tabulate(game, require_states(self.tree, "search"), self.raw))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array, which nobody may write to from now on."""
    array.flags.writeable = False
    return array


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


@dataclass
class Log:
    """Wall-clock time stage by stage, what was left out, and whether it was for want of time."""

    seconds: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    timed_out: bool = False
    last: float = field(default_factory=time.perf_counter)

    def lap(self, stage: str) -> None:
        """Count the time since the last lap for a stage."""
        now = time.perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self.last
        self.last = now


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
        self._made: dict[tuple[str, int], Any] = {}
        self._closure: tuple[int, NDArray[np.int64]] | None = None

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

    def _once(self, what: str, player: int, make: Callable[[], T]) -> T:
        """Return what there is one of for each player, made on first use."""
        if (what, player) not in self._made:
            self._made[what, player] = make()
        found: T = self._made[what, player]
        return found

    def graph(self, player: int) -> KnowledgeGraph:
        """Return who can tell which histories apart where `player` acts."""
        return self._once("graph", player, lambda: knowledge_graph(self.game, self.tree, player))

    def covers(self, player: int) -> CoverMaker:
        """Return what makes the covers of searches by `player`.

        Raises GameError if the game's infoset keys are of imperfect recall.
        """
        slots = self.own_slot(player), self.own_slot(1 - player)
        return self._once("covers", player, lambda: CoverMaker(self.tree, self.graph(player), *slots))

    def closure(self, infoset: int) -> NDArray[np.int64]:
        """Return the common-knowledge closure of an infoset, [n] rising positions in its player's graph."""
        graph = self.graph(int(self.tree.infoset_player[infoset]))
        known = self._closure
        if known is None or known[0] != graph.player or graph.of_infoset(infoset)[0] not in known[1]:
            known = self._closure = graph.player, graph.order(infoset, None)
        return known[1]

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
        found = self._numbers(infoset)
        if len(found) == 0:
            hint = "list them with `gs2 infosets`"
            if isinstance(self.game, NatureView):
                hint = "what is played for others there may never lead to it"
            if isinstance(self.game, TwoSeatView):
                hint += "; source = auto draws histories there"
            raise ValueError(
                f"{self.game.name}: player {infoset.player} must have a decision at the infoset; "
                f"got {infoset.text!r}; {hint}"
            )
        return int(found[0])

    def lacks(self, infoset: object) -> bool:
        """Return whether seats that play the blueprint never lead to an infoset of a game seen from two."""
        if not isinstance(self.game, TwoSeatView) or not isinstance(infoset, Infoset):
            return False
        return len(self._numbers(infoset)) == 0

    def _numbers(self, infoset: Infoset) -> NDArray[np.int64]:
        known = np.all(self.tree.infoset_key == np.array(infoset.key, np.uint64), axis=1)
        return np.flatnonzero((self.tree.infoset_player == infoset.player) & known)

    def nodes_below(self, nodes: NDArray[Any]) -> int:
        """Return how many nodes stand at and below some histories, [n] nodes, none below another."""
        return int(self.cutter.sizes[nodes].sum())

    def infoset_text(self, infoset: int) -> str:
        """Return the words that name an infoset of the tree."""
        node = self.tree.infoset_first_node()[infoset]
        return self.game.infoset_text(self.tree.states[node], int(self.tree.infoset_player[infoset]))

    def trail_to(self, infoset: int) -> Trail:
        """Return what the player of an infoset sees on the way to the first of its histories."""
        way = self.tree.way_to(int(self.tree.infoset_first_node()[infoset]))
        line = Ragged.from_counts(np.array([len(way)]), self.tree.action[way])
        return trails_along(self.game, line, int(self.tree.infoset_player[infoset]))[0]

    def parent_slot(self, player: int) -> NDArray[np.int64]:
        """Return the player's own slot before each of its infosets, [I] int64; -1 if there is none."""
        return self._once("parents", player, lambda: infoset_parent_slot(self.tree, player))

    def own_slot(self, player: int) -> NDArray[np.int64]:
        """Return the last slot that the player chose above each node, [N] int64; -1 if there is none."""
        return self._once("slots", player, lambda: own_slots(self.tree, player))

    @cached_property
    def infoset_level(self) -> NDArray[np.int64]:
        """Depth of the shallowest history of each infoset, [I] int64."""
        first = self.tree.infoset_first_node()
        return np.searchsorted(self.tree.level_offsets, first, side="right") - 1


@dataclass(frozen=True, eq=False)
class Search:
    """What one search is made with.

    context, strategy: the game's tree, and the strategy of both players on it. config: which search it is.
    """

    context: SearchContext
    strategy: Strategy
    config: SearchConfig
    options: SearchOptions = NO_OPTIONS


KINDS: dict[str, tuple[Any, str]] = {
    "game": (SearchContext, "a game, as gs2.load_game(name) returns it, or its SearchContext"),
    "infoset": (
        Infoset | Trail | Integral,
        "an Infoset, as game.parse_infoset(text) returns it, a Trail or a number",
    ),
    "config": (SearchConfig, 'a SearchConfig, as gs2.preset("gs2+") returns it'),
    "rng": (np.random.Generator, "a generator, as np.random.default_rng(seed) returns it"),
}
"""What a search is asked for with: the class of each thing, and the words for it."""


def check_asked(**asked: object) -> None:
    """Raise ConfigError where a search is asked for with a thing of another kind, by the names of `KINDS`."""
    for name, given in asked.items():
        kind, wanted = KINDS[name]
        if not isinstance(given, kind) and not (name == "game" and hasattr(given, "num_players")):
            shown = repr(given) if isinstance(given, str | int | float | None) else type(given).__name__
            raise ConfigError(f"{name} must be {wanted}; got {shown}")
