"""Forests not simply cut out of a tree: down to a depth limit with its leaves, or grown from a game."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.tree import WHOLE, TreeBudget, TreeRules, grow
from cfr.tree.flat import own_slots
from games.game import TERMINAL, Game
from gs2.search.context import Search
from gs2.search.continuation_policies import continuation_blueprints, read_continuations, usual_continuations
from gs2.search.subgame.continuations import (
    LeafChooser,
    continuation_payoffs,
    exact_continuation_payoffs,
    known_at,
    with_choices,
)
from gs2.search.subgame.cut import NodeLeaf, Roots, Subgame, root_numbers
from gs2.search.subgame.leaf import checked_leaf, rollout_leaf, value_leaf

LEAVES = 0
"""Word of the luck at leaves; certificates have words of their own."""


def cut_to_depth(search: Search, player: int, roots: Roots) -> Subgame:
    """Return the forest below some histories, down to the configuration's depth limit with its leaves.

    player: the searching seat. roots: with a policy. Of the search's options are read `leaf`, in place of the
        configured evaluator, and `luck`, of the games that are played out there: histories that are valued
        together meet the same luck every time.
    """
    context, config = search.context, search.config
    assert config.subgame.depth is not None  # or nothing ends before the game does
    leaf = search.options.leaf_for(config)
    if config.subgame.leaf == "play-on" and leaf is None:
        return context.cutter.cut(roots, config.subgame.depth, play_on=player)
    subgame = context.cutter.cut(roots, config.subgame.depth, leaf=_node_leaf(search))
    several = config.subgame.leaf in ("continuations", "multi-valued")
    if not several or leaf is not None or len(subgame.truncated) == 0:
        return subgame
    opponent = 1 - player
    ends = subgame.origin[subgame.truncated]
    states = context.tree.states[ends]
    choosers = []
    for seat in (0, 1):
        # A seat remembers what it did since the roots; the game's key may tell it of another root's past.
        known = [known_at(context.game, states, seat), own_slots(subgame.tree, seat)[subgame.truncated]]
        if seat == opponent:  # which knows which plan it follows, and where it entered
            entered = subgame.root_of[subgame.truncated]
            told = [each for each in (roots.plan, roots.group) if each is not None]
            known += [each[entered].astype(np.int64) for each in told]
        choosers.append(LeafChooser(seat, np.stack(known, axis=1)))
    return with_choices(subgame, choosers, _choices(search, player, ends))


def _choices(search: Search, player: int, ends: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the payoffs of each combination of continuations at nodes of the full tree, [T, K0, K1, 2]."""
    context, strategy, stage = search.context, search.strategy, search.config.subgame
    usual = stage.leaf == "continuations"
    everyone = stage.choosers == "everyone" and not usual
    names = [stage.policies if everyone or seat != player else "blueprint" for seat in (0, 1)]
    if usual or stage.rollouts == 0:
        sets = [read_continuations(name) for name in names]
        if usual:
            sets[1 - player] = usual_continuations(stage.continuations)
        found = strategy.kept(
            ("choices", *sets),
            lambda: exact_continuation_payoffs(context.game, strategy.tree, strategy.raw, sets),
        )
        return np.ascontiguousarray(np.moveaxis(found[:, :, ends], 2, 0))
    base = strategy.known_blueprint(context.game)
    plays = [continuation_blueprints(base, name) for name in names]
    rng = search.options.dice(LEAVES)
    return continuation_payoffs(context.game, context.tree.states[ends], plays, rng, rollouts=stage.rollouts)


def _node_leaf(search: Search) -> NodeLeaf:
    """Return what values the nodes of the full tree at the depth limit."""
    context, strategy, stage = search.context, search.strategy, search.config.subgame
    own = search.options.leaf_for(search.config)
    if own is not None:
        leaf = checked_leaf(own)
    elif stage.leaf in ("exact", "continuations", "multi-valued"):
        return lambda nodes: strategy.values[nodes]
    elif stage.leaf == "value":
        leaf = value_leaf(strategy.known_blueprint(context.game))
    else:
        rng = search.options.dice(LEAVES)
        leaf = rollout_leaf(strategy.known_blueprint(context.game), rng, rollouts=stage.rollouts)
    return lambda nodes: leaf(context.game, context.tree.states[nodes])


def grow_subgame(
    game: Game,
    states: NDArray[Any],
    weights: NDArray[np.float64],
    *,
    rules: TreeRules = WHOLE,
    max_nodes: int = 50_000_000,
) -> Subgame:
    """Return the subgame below `states`, grown from the game.

    states: [r] histories. weights: [r] float64.
    rules: how far to grow, and whose decisions belong to chance, as in `cfr.tree.grow`.
    max_nodes: most histories.
    """
    tree = grow(game, states, weights, rules=rules, budget=TreeBudget(max_nodes=max_nodes))
    root_of = root_numbers(tree)
    leaves = tree.terminal[game.player(tree.states[tree.terminal]) != TERMINAL]
    return Subgame(
        tree,
        root_of,
        np.zeros(0, np.int32),
        np.full(tree.n_infosets, -1, np.int32),
        np.full(tree.n_slots, -1, np.int64),
        leaves.astype(np.int32),
    )
