"""A search on the public tree in the game's words, as `gs2.search.explain` has one on listed histories."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cfr.public.policies.state_index import private_numbers
from cfr.public.sweep_kernels import VALUE
from cfr.public.tree import PublicTree
from games.game import CHANCE, Infoset
from games.infosets.sampling import sample_infoset
from games.support.array_types import Array
from gs2.public.pairs import PublicPlace, PublicSearchError
from gs2.public.public_search import PublicRefinement, refine_public
from gs2.public.public_strategy import PublicStrategy, TreeSweeper, public_states
from gs2.search.config.search import SearchConfig
from gs2.search.context import NO_OPTIONS, SearchOptions
from gs2.search.gadget.entry import LIVE
from gs2.search.result import ActionRow, HistoryRow, InfosetRow, SearchResult

__all__ = ["PublicBlueprint", "explain_public", "find_place", "public_action_values"]


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
        place = find_place(self.strategy.tree, infoset)
        found = refine_public(self.strategy, place, config, rng, options)
        return explain_public(found, config, most=options.listed)


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


def explain_public(found: PublicRefinement, config: SearchConfig, *, most: int | None = None) -> SearchResult:
    """Return a refinement in the game's words. most: histories listed one by one, None for all."""
    strategy, place, player = found.before, found.place, found.player
    tree = strategy.tree
    game = tree.game
    public = public_states(tree, place.node)
    q = public_action_values(strategy, place)
    before, after = strategy.at(place.node)[place.private], found.probs

    def dealt(own: NDArray[np.int64], other: NDArray[np.int64]) -> Array:
        pair = (own, other) if player == 0 else (other, own)
        return game.deal(np.repeat(public, len(own)), *pair)

    pairs = np.argwhere(found.considered > 0)
    # The infoset's own histories first, then those that the subgame holds.
    own_row = pairs[:, 0] == place.private
    inside = found.pairs[tuple(pairs.T)] > 0
    pairs = pairs[np.lexsort((pairs[:, 0], pairs[:, 1], ~inside, ~own_row))]
    histories = dealt(*pairs.T)
    at_infoset = histories[int(np.argmax(pairs[:, 0] == place.private))]
    weight = found.considered * found.reach[:, None]
    share = weight / weight.sum()
    free = found.lanes | (config.subgame.freeze == "none")
    rows = tuple(
        HistoryRow(
            history=game.state_text(histories[row]),
            opponent_infoset=other,
            reach=float(share[own, other]),
            opponent_reach=float(found.opponent_reach[other]),
            alternative=float(found.alternative[other]),
            generated=bool(found.generated[own, other]),
            kept=bool(found.pairs[own, other] > 0),
            frozen=bool(found.pairs[own, other] > 0 and not free[own]),
            summary=False,
        )
        for row, (own, other) in enumerate(pairs[:most].tolist())
    )
    opponents = []
    for other in sorted({row.opponent_infoset for row in rows}):
        alternative, solved = float(found.alternative[other]), float(found.solved[other])
        there = np.isfinite(solved)
        history = histories[int(np.argmax(pairs[:, 1] == other))]
        opponents.append(
            InfosetRow(
                number=other,
                infoset=game.infoset_text(history, 1 - player),
                alternative=alternative,
                solved=solved if there else None,
                margin=alternative - solved if there else None,
            )
        )
    actions = game.actions(public).values
    kept = found.pairs > 0
    return SearchResult(
        game=game.name,
        infoset=game.infoset_text(at_infoset, player),
        player=player,
        actions=tuple(
            ActionRow(game.action_text(at_infoset, action), *map(float, numbers))
            for action, *numbers in zip(actions, before, after, q, strict=True)
        ),
        value=float(after @ q),
        blueprint_value=float(before @ q),
        histories=rows,
        opponents=tuple(opponents),
        histories_considered=len(pairs),
        histories_generated=int(found.generated.sum()),
        histories_kept=int(kept.sum()),
        opponents_kept=int(kept.any(axis=0).sum()),
        nodes=found.nodes,
        decisions=found.nodes,
        infosets=found.nodes,
        iterations=found.iterations,
        gap=found.gap,
        cut_off=found.notes,
        kept_refined=found.weight > 0,
        anchor=found.weight,
        seconds=found.seconds,
        config=config,
        slots=np.zeros(0, np.int64),
        probs=np.zeros(0),
    )
