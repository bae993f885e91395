"""The histories of a search: which ones are considered, what they are worth to the opponent, which stay.

Stage 1 and 2 of a search, on a game that can be enumerated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from cfr.values import best_responses, group_values
from gs2.search.config.search import SearchConfig
from gs2.search.context import Log, Search, SearchContext, Strategy
from gs2.search.gadget.path import LIVE
from gs2.search.generation import generate
from gs2.search.histories.covers import Cover
from gs2.search.subgame.cut import Roots, Subgame
from gs2.search.subgame.forest import cut_to_depth

WHOLE_TREE = 8
"""Histories with more than one in so many of the tree's nodes below them are valued by a pass over the whole
tree: it copies nothing, and holds for every search until the strategy changes."""


UNREACHED = (
    "the player's own strategy never leads here: histories are weighed by chance alone, and nothing that is "
    "played here can be exploited"
)


@dataclass(frozen=True, eq=False)
class Considered:
    """The histories of a knowledge set and all others of the opponent infosets that they touch; b in all.

    They stand opponent infoset by opponent infoset; g of these. Where the opponent does not notice every
    turn of the player, opponent infosets that it may confuse later are merged, and histories at which the
    player does not act may belong to them (`gs2.search.histories.covers`).

    infoset: where the player stands.
    nodes: [b] int32, nodes of the full tree.
    own_infoset: [b] int32, the searching player's infoset at each; -1 where it does not act, unless
        the infoset searched lies below.
    in_set: [b] bool, True in the knowledge set, False where only an opponent infoset connects.
    group: [b] int32, number of the opponent's infoset, 0 … g - 1, rising.
    reach: [b] float64, probability that chance and the searching player lead there; where they never do
        (`off_path`), chance alone.
    opponent_reach: [b] float64, the opponent's own part.
    alternative: [g] float64, the opponent's alternative value of each of its infosets, in payoffs.
    dropped: opponent infosets left out because chance and the searching player never lead to them.
    off_path: whether the searching player's own strategy never leads to the infoset.
    """

    player: int
    opponent: int
    infoset: int
    nodes: NDArray[np.int32]
    own_infoset: NDArray[np.int32]
    in_set: NDArray[np.bool_]
    group: NDArray[np.int32]
    reach: NDArray[np.float64]
    opponent_reach: NDArray[np.float64]
    alternative: NDArray[np.float64]
    dropped: int
    off_path: bool

    def take(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return (group numbers 0 … without holes, alternative values) of some rows, [n] int32 and [n]."""
        group = np.unique(self.group[rows], return_inverse=True)[1].astype(np.int32)
        return group, self.alternative[self.group[rows]]


def consider_histories(search: Search, infoset: int) -> Considered:
    """Return what the player of an infoset considers there, with alternative values under the strategy."""
    context, config = search.context, search.config
    player = int(context.tree.infoset_player[infoset])
    opponent = 1 - player
    graph = context.graph(player)
    top = graph.order(infoset, config.histories.order)
    if config.subgame.rest == "summary":
        every = context.closure(infoset)
    elif config.histories.order is None:
        every = top
    else:
        every = graph.neighbours(top, None if config.histories.order > 1 else (opponent,))
    whole = (
        config.subgame.rest == "summary" or config.histories.order is None or config.subgame.freeze == "none"
    )
    cover = context.covers(player).make(infoset, top, every, whole=whole)
    if config.histories.order is None and not cover.in_set.all():
        # What an extension brought in belongs to the closure as well: the player's infosets lie there too.
        cover = replace(cover, in_set=np.ones(len(cover.nodes), bool))
    found = weigh_histories(search, cover, infoset)
    return replace(found, alternative=_alternatives(search, found))


def weigh_histories(search: Search, cover: Cover, infoset: int) -> Considered:
    """Return the histories of a cover with their reaches; alternative values are left nan.

    infoset: where the player stands, to see whether its strategy ever leads there.
    """
    strategy, player = search.strategy, int(search.context.tree.infoset_player[infoset])
    opponent = 1 - player
    nodes, group, own, in_set = cover.nodes, cover.group, cover.own_infoset, cover.in_set
    known = strategy.reach_at(nodes)
    chance, mine, theirs = known.chance, known.players[:, player], known.players[:, opponent]
    reach = chance * mine
    here = strategy.reach_at(histories_of(search.context, infoset))
    off_path = not np.any(here.chance * here.players[:, player] > LIVE)
    if off_path:
        reach = chance if np.any(here.chance > LIVE) else np.ones(len(nodes))
    live = np.bincount(group, reach) > LIVE
    dropped = int(len(np.unique(group)) - np.count_nonzero(live[np.unique(group)]))
    if dropped:
        stay = live[group]
        nodes, group, reach, own, in_set = nodes[stay], group[stay], reach[stay], own[stay], in_set[stay]
        theirs = theirs[stay]
    group = np.unique(group, return_inverse=True)[1].astype(np.int32)
    return Considered(
        player=player,
        opponent=opponent,
        infoset=infoset,
        nodes=nodes,
        own_infoset=own,
        in_set=in_set,
        group=group,
        reach=reach,
        opponent_reach=theirs,
        alternative=np.full(int(group.max()) + 1, np.nan),
        dropped=dropped,
        off_path=off_path,
    )


def _alternatives(search: Search, found: Considered) -> NDArray[np.float64]:
    """Return what the opponent can get without the subgame at each of its infosets, [g] float64, in payoffs.

    The exact one is the counterfactual best response against the player's strategy. Two cheaper stand-ins:
    what both strategies together give, and whatever the blueprint says a history is worth.
    """
    context, strategy, config = search.context, search.strategy, search.config
    nodes, reach, group, opponent = found.nodes, found.reach, found.group, found.opponent
    if config.histories.alternative == "value":
        known = strategy.known_blueprint(context.game)
        return group_values(known.value(context.game, context.tree.states[nodes], opponent), reach, group)
    if config.histories.alternative == "profile":
        return group_values(strategy.values[nodes, opponent], reach, group)
    if config.subgame.depth is None and not found.off_path:
        # Where the player never leads, best responses to its whole strategy have nothing to choose by.
        large = WHOLE_TREE * context.nodes_below(nodes) > context.tree.n_nodes
        if large or opponent in strategy.whole:
            return group_values(strategy.best_response(opponent)[nodes], reach, group)
    cut = forest_below(search, found.player, Roots(nodes, reach, strategy.raw))
    values = best_responses(cut.tree, strategy.probs[cut.slot_origin], opponent)[0]
    return group_values(values[: len(nodes)], reach, group)


def forest_below(search: Search, player: int, roots: Roots) -> Subgame:
    """Return everything below some histories, as far as the configuration looks (`cut_to_depth`)."""
    if search.config.subgame.depth is None:
        return search.context.cutter.cut(roots)
    return cut_to_depth(search, player, roots)


class OpponentResponse:
    """The opponent's counterfactual best response from some histories on, to any strategy of the player."""

    def __init__(self, search: Search, considered: Considered, rows: NDArray[np.int64]) -> None:
        """Take rows of the histories considered, rising: all of every opponent infoset that they touch."""
        self._opponent = considered.opponent
        self._cut = search.context.cutter.cut(Roots(considered.nodes[rows], considered.reach[rows]))
        self._base = search.strategy.probs[self._cut.slot_origin]
        self._order = np.argsort(self._cut.slot_origin)
        self._ranked = self._cut.slot_origin[self._order]
        self._reach = considered.reach[rows]
        self.groups, number = np.unique(considered.group[rows], return_inverse=True)
        self._group = number.reshape(-1).astype(np.int32)
        tree = self._cut.tree
        self._theirs = tree.slot_player == self._opponent

    @property
    def slots(self) -> NDArray[np.int64]:
        """Slots of the full tree at which `respond` gives a plan, [s] int64."""
        slots: NDArray[np.int64] = self._cut.slot_origin[self._theirs]
        return slots

    def places(self, slots: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (which of the slots can be met here, where): two [n] int64."""
        at = np.minimum(np.searchsorted(self._ranked, slots), len(self._ranked) - 1)
        present = np.flatnonzero(self._ranked[at] == slots)
        return present, self._order[at[present]]

    def respond(
        self, places: NDArray[np.int64], probs: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return (value of each of `groups` to the opponent, [g]; its pure response on `slots`, [s]).

        places, probs: [n], where the player's strategy differs from the one held at construction.
        """
        policy = self._base
        if len(places):
            policy = policy.copy()
            policy[places] = probs
        return self._values(policy)

    def respond_to(self, policy: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the value of each of `groups` to the opponent, [g], against a policy of the full tree."""
        return self._values(policy[self._cut.slot_origin])[0]

    def _values(self, policy: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        values, _, pure = best_responses(self._cut.tree, policy, self._opponent)
        rooted = group_values(values[: len(self._reach)], self._reach, self._group)
        return rooted, pure[self._theirs]


def choose_histories(
    considered: Considered, config: SearchConfig, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (rows generated, rows of the subgame), both [n] int64, rising.

    The first are the generator's choice among the knowledge set; the second adds every other history of the
    opponent infosets touched. Source: GS2, algorithm 1.
    """
    candidates = np.flatnonzero(considered.in_set)
    if config.generation.generator == "all":
        chosen = candidates
    else:
        assert config.generation.k is not None  # SearchConfig requires it with every other generator
        picked, _ = generate(
            config.generation.generator,
            considered.alternative[considered.group[candidates]],
            considered.reach[candidates],
            config.generation.k,
            rng,
        )
        chosen = candidates[picked]
    touched = np.zeros(len(considered.alternative), bool)
    touched[considered.group[chosen]] = True
    return chosen, np.flatnonzero(touched[considered.group])


@dataclass(frozen=True, eq=False)
class Kept:
    """The histories of a subgame; n of the considered ones.

    rows: [n] int64, rows of `Considered`. frozen: [n] bool, the searching player follows its old strategy
    below. summary: [n] bool, the opponent follows its best response below.
    generated: rows of `Considered` that the generator chose.
    """

    rows: NDArray[np.int64]
    frozen: NDArray[np.bool_]
    summary: NDArray[np.bool_]
    generated: NDArray[np.int64]

    def marks(self, n: int) -> dict[str, NDArray[np.bool_]]:
        """Return which of n histories are generated, kept, frozen and in summary, [n] bool by name."""
        frozen, summary = self.rows[self.frozen], self.rows[self.summary]
        rows = {"generated": self.generated, "kept": self.rows, "frozen": frozen, "summary": summary}
        return {name: np.isin(np.arange(n), some) for name, some in rows.items()}


NOTHING = Kept(np.zeros(0, np.int64), np.zeros(0, bool), np.zeros(0, bool), np.zeros(0, np.int64))
"""What a search without a subgame keeps."""


@lru_cache(maxsize=64)
def with_all(config: SearchConfig) -> SearchConfig:
    """Return the configuration with everything generated; kept, because most small searches ask for it."""
    return config.replace(generator="all")


def keep_histories(considered: Considered, config: SearchConfig, rng: np.random.Generator, log: Log) -> Kept:
    """Return the histories that enter the subgame, and in which role."""
    generated, rows = choose_histories(considered, config, rng)
    if config.subgame.rest == "summary" and config.generation.generator == "all":
        generated = rows = np.arange(len(considered.nodes))
    candidates = int(np.count_nonzero(considered.in_set))
    summary = np.zeros(len(rows), bool)
    if config.subgame.rest == "summary":
        summary = ~np.isin(np.arange(len(considered.nodes)), rows)
        rows = np.arange(len(summary))
    if len(generated) < candidates:
        how = "the opponent's replies are fixed there" if summary.any() else "they are left out"
        log.notes.append(
            f"{candidates - len(generated)} of the {candidates} histories considered were not generated "
            f"(k = {config.generation.k}): {how}"
        )
    frozen = np.zeros(len(rows), bool)
    if config.subgame.freeze == "outside":
        # With a summary the closure is considered, and the infoset alone is what may change.
        own = considered.own_infoset[rows] == considered.infoset
        frozen = ~own if config.subgame.rest == "summary" else ~considered.in_set[rows]
    return Kept(rows, frozen, summary, generated)


def histories_of(context: SearchContext, infoset: int) -> NDArray[np.int32]:
    """Return the histories of an infoset, rising nodes of the tree, [n]."""
    graph = context.graph(int(context.tree.infoset_player[infoset]))
    return graph.nodes[graph.of_infoset(infoset)]


def belief(strategy: Strategy, nodes: NDArray[np.int32], player: int) -> NDArray[np.float64]:
    """Return the share of each history by the reach of chance and the other seat, [n]; alike if that is 0."""
    known = strategy.reach_at(nodes)
    weight = known.chance * known.players[:, 1 - player]
    return weight / weight.sum() if weight.sum() > LIVE else np.full(len(nodes), 1 / len(nodes))


def after_each(strategy: Strategy, nodes: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the value of each action at histories of one infoset to its player, [n, a] float64."""
    tree = strategy.tree
    children = tree.first_child[nodes][:, None] + np.arange(tree.n_children[nodes[0]])
    found: NDArray[np.float64] = strategy.values[children, int(tree.player[nodes[0]])]
    return found


def action_values(context: SearchContext, strategy: Strategy, infoset: int) -> NDArray[np.float64]:
    """Return the value to the infoset's player of each action when everyone goes on by the strategy, [a].

    Histories count by the reach of chance and the opponent; all alike where that is zero.
    """
    nodes = histories_of(context, infoset)
    weight = belief(strategy, nodes, int(context.tree.infoset_player[infoset]))
    found: NDArray[np.float64] = weight @ after_each(strategy, nodes)
    return found
