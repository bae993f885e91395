"""A search at an infoset of a factored game, on the public tree: the pipeline over private states."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cfr.public.policies.state_index import private_numbers
from cfr.public.sweep_kernels import VALUE
from cfr.public.tree import PublicTree
from games.game import CHANCE, Infoset
from games.infosets.sampling import sample_infoset
from games.support.array_types import Array
from gs2.public.public_source import PublicPlace, PublicSearchError, PublicSource
from gs2.public.public_strategy import PublicStrategy, TreeSweeper, public_states
from gs2.search.config.search import SearchConfig
from gs2.search.context import NO_OPTIONS, SearchOptions
from gs2.search.explain import Seen, explain
from gs2.search.gadget.entry import LIVE
from gs2.search.result import SearchResult
from gs2.search.stages import Refinement, refine_from

__all__ = ["PublicBlueprint", "PublicRefinement", "find_place", "public_action_values", "refine_public"]


@dataclass(frozen=True, eq=False)
class PublicRefinement:
    """What one search came to.

    before: both players' strategies, as they were. place: where. found: the refinement; its histories and
    slots are numbered as by `PublicSource`.
    """

    before: PublicStrategy
    place: PublicPlace
    found: Refinement

    @property
    def policy(self) -> NDArray[np.float64]:
        """The player's policy below the public state, [rows, wide], the refined one spliced in."""
        policy = self.before.below(self.place.node)[self.found.considered.player].copy()
        policy.reshape(-1)[self.found.slots] = self.found.probs
        return policy

    @property
    def strategy(self) -> PublicStrategy:
        """Both players' strategies, the refined policy spliced in."""
        player = self.found.considered.player
        every = np.ones(self.before.tree.n_private[player], bool)
        return self.before.spliced(self.place.node, player, self.policy, every)

    @property
    def seen(self) -> Seen:
        """The infoset as its player sees it."""
        before, place, considered = self.before, self.place, self.found.considered
        game, public, player = before.tree.game, public_states(before.tree, place.node), considered.player
        own, other = np.divmod(considered.nodes, before.tree.n_private[1 - player])

        def dealt(rows: NDArray[np.int64]) -> Array:
            pair = (own[rows], other[rows]) if player == 0 else (other[rows], own[rows])
            return game.deal(np.repeat(public, len(rows)), *pair)

        weights = game.deal_weights(public)[0]
        met = np.argmax((weights if player == 0 else weights.T)[place.private])
        pair = np.array([[place.private], [met]])
        count = before.at(place.node).shape[1]
        return Seen(
            game=game,
            state=game.deal(public, *(pair if player == 0 else pair[::-1]))[0],
            actions=game.actions(public).values,
            before=before.at(place.node)[place.private],
            after=self.policy[:count, place.private],
            q=public_action_values(before, place),
            states=dealt,
        )


def refine_public(
    strategy: PublicStrategy,
    place: PublicPlace,
    config: SearchConfig,
    rng: np.random.Generator,
    options: SearchOptions = NO_OPTIONS,
    *,
    threads: int | None = None,
) -> PublicRefinement:
    """Return the strategy refined at an infoset for the player who acts there.

    config: a preset, `source` "sampled" for histories that are drawn (`samples` of the infoset and
        `companions` of each opponent infoset that they belong to), otherwise all of them are listed.
    options: only its deadline is read; it and `time_limit` end the solution, however little was solved.
    Raises what `PublicSource` raises.
    """
    source = PublicSource(strategy, place, config, rng, options.within(config), threads=threads)
    try:
        return PublicRefinement(strategy, place, refine_from(source, rng))
    finally:
        source.close()


class PublicBlueprint:
    """A strategy on a public tree that `gs2.search.explain.solve_infoset` searches with in its own form.

    strategy: both players' policies on the tree of the game that is searched.
    """

    def __init__(self, strategy: PublicStrategy) -> None:
        self.strategy = strategy

    def searched(
        self,
        infoset: Infoset,
        config: SearchConfig,
        rng: np.random.Generator,
        options: SearchOptions = NO_OPTIONS,
    ) -> SearchResult:
        """Return the refined strategy at an infoset and how it was found."""
        began = time.perf_counter()
        place = find_place(self.strategy.tree, infoset)
        prepared = time.perf_counter() - began
        refined = refine_public(self.strategy, place, config, rng, options)
        found = explain(refined.seen, refined.found, config, most=options.listed)
        return replace(found, seconds={"prepare": prepared, **found.seconds})


def find_place(tree: PublicTree, infoset: Infoset) -> PublicPlace:
    """Return where an infoset lies on a game's public tree.

    Raises PublicSearchError if its player has no choice there; GameError if it is no infoset of the game.
    """
    game = tree.game
    line = sample_infoset(game, infoset, 1, np.random.default_rng(0)).lines[0]
    states, node = game.root(), -1
    for action in line:
        if node < 0 and game.player(states)[0] != CHANCE:
            node = 0
        actions = game.actions(game.public_state(states) if node >= 0 else states).values
        if node >= 0 and len(actions) > 1:
            edge = int(tree.first_edge[node] + np.flatnonzero(actions == action)[0])
            node = int(tree.child[edge])
        states = game.step(states, np.zeros(1, np.int64), np.array([action], line.dtype))
    node = max(node, 0)
    own = private_numbers(game, game.public_state(states), states, infoset.player)[0]
    if game.player(states)[0] != infoset.player or len(game.actions(states).values) < 2 or own < 0:
        raise PublicSearchError(
            f"{game.name}: its player must have a choice at the infoset; {infoset.text!r} leaves none"
        )
    return PublicPlace(node, int(own))


def public_action_values(strategy: PublicStrategy, place: PublicPlace) -> NDArray[np.float64]:
    """Return the value to the infoset's player of each action when both go on by the strategy, [actions].

    Histories count by the reach of chance and the opponent; all alike where that is zero.
    """
    tree, node = strategy.tree, place.node
    player = int(tree.player[node])
    weights = tree.game.deal_weights(public_states(tree, node))[0]
    own = (weights if player == 0 else weights.T)[place.private]
    theirs = strategy.reach(node, 1 - player)
    if not own @ theirs > LIVE:
        theirs = np.ones(len(theirs))
    found = []
    for edge in range(int(tree.first_edge[node]), int(tree.first_edge[node + 1])):
        to = int(tree.child[edge])
        if to < 0:
            found.append(float(tree.payoffs.values(-1 - to, player, theirs)[place.private]))
            continue
        sweeper = TreeSweeper(tree.below(to))
        values = sweeper.values(player, VALUE, strategy.below(to), theirs)
        sweeper.close()
        found.append(float(values[place.private]))
    return np.array(found) / float(own @ theirs)
