"""The forest of a search: everything below its histories, as far as the configuration looks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gs2.search.config.search import SearchConfig
from gs2.search.context import Profile, SearchContext
from gs2.search.subgame.continuations import with_continuations
from gs2.search.subgame.cut import Subgame
from gs2.search.subgame.leaf import LeafEvaluator, rollout_leaf, value_leaf

__all__ = ["cut_forest"]

NodeLeaf = Callable[[NDArray[np.int32]], NDArray[np.float64]]


def cut_forest(
    context: SearchContext,
    profile: Profile,
    player: int,
    nodes: NDArray[np.int32],
    reach: NDArray[np.float64],
    config: SearchConfig,
    *,
    frozen: NDArray[np.bool_] | None = None,
    plans: NDArray[np.float64] | None = None,
    plan: NDArray[np.int32] | None = None,
    leaf: LeafEvaluator | None = None,
) -> Subgame:
    """Return the forest below some histories, with the configuration's depth limit and leaves.

    player: the searching seat. nodes: [r] int32; reach: [r] float64, weights of the roots.
    frozen: [r, P] bool, seats whose decisions below a root follow the profile's strategy, or the one of
        `plans` ([n, slots]) that `plan` ([r] int32) names. leaf: a leaf evaluator in place of the configured
        one.
    """
    at: Any = {"policy": profile.policy, "frozen": frozen, "plans": plans, "plan": plan}
    if config.subgame.depth is None:
        return context.cutter.cut(nodes, reach, **at)
    if config.subgame.leaf == "play-on" and leaf is None:
        return context.cutter.cut(nodes, reach, depth_limit=config.subgame.depth, play_on=player, **at)
    subgame = context.cutter.cut(
        nodes, reach, depth_limit=config.subgame.depth, leaf=_node_leaf(context, profile, config, leaf), **at
    )
    if config.subgame.leaf != "continuations" or leaf is not None or len(subgame.truncated) == 0:
        return subgame
    opponent = 1 - player
    ends = subgame.origin[subgame.truncated]
    assert context.tree.states is not None
    keys = context.game.infoset_key(context.tree.states[ends], opponent)
    if plan is not None:
        # The opponent knows which plan it follows.
        number = plan[subgame.root_of[subgame.truncated]] + 1
        keys = np.column_stack([keys, number.astype(keys.dtype)])
    known = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
    values = profile.continuations(opponent, config.subgame.continuations)[:, ends]
    return with_continuations(subgame, opponent, known, np.ascontiguousarray(values.swapaxes(0, 1)))


def _node_leaf(
    context: SearchContext, profile: Profile, config: SearchConfig, leaf: LeafEvaluator | None
) -> NodeLeaf:
    """Return what values the nodes of the full tree at the depth limit."""
    if leaf is None:
        if config.subgame.leaf in ("exact", "continuations"):
            return profile.exact_leaf
        if config.subgame.leaf == "value":
            leaf = value_leaf(profile.known_blueprint(context))
        else:
            # The same histories get the same rollouts wherever a search meets them.
            rng = np.random.default_rng(config.subgame.rollouts)
            leaf = rollout_leaf(profile.known_blueprint(context), rng, rollouts=config.subgame.rollouts)
    chosen = leaf
    states = context.tree.states
    assert states is not None
    return lambda nodes: chosen(context.game, states[nodes])
