"""One decision refined from what its player saw, with nothing listed: what an agent calls in a match."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint
from games.game import Game
from games.infosets.trail import Trail
from games.infosets.two_seats import TwoSeatView
from gs2.search.config.search import SearchConfig
from gs2.search.context import NO_OPTIONS, SearchOptions
from gs2.search.explain import refine_part
from gs2.search.histories.enumerated import after_each, belief, histories_of
from gs2.search.histories.sampled_source import Part, sample_tree
from gs2.search.histories.seats import seen_by


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
    Actions beyond the configured `branches` get what `beyond` says. Of a game of more than two seats, two are
    seen at a time (`gs2.search.histories.seats`); `options.leaf` is then asked about such a view.
    Raises what `sample_tree` raises.
    """
    probs: NDArray[np.float64] = refine_and_judge(game, blueprint, trail, config, rng, options)[0]
    return probs


def refine_and_judge(
    game: Game,
    blueprint: Blueprint,
    trail: Trail,
    config: SearchConfig,
    rng: np.random.Generator,
    options: SearchOptions = NO_OPTIONS,
) -> NDArray[np.float64]:
    """Return `refine_at` and what each action gains over the blueprint's likeliest, [3, a] float64.

    The second row is the mean gain over the histories drawn, in payoffs of the player to act, before anything
    is solved; the third its standard error. Both are NaN for an action beyond the configured `branches`.
    """
    view, plays = seen_by(game, blueprint, trail.player, config)
    there = view.trail(trail) if isinstance(view, TwoSeatView) and view is not game else trail
    part = sample_tree(view, plays, there, config, rng, options.leaf)
    here = refine_part(part, rng, options).here(part.strategy)
    legal = part.legal()[1]
    found = np.full((3, len(legal.values)), np.nan)
    found[0] = part.whole(legal, here)
    found[1:, part.places(legal)] = _gains(part)
    return found


def _gains(part: Part) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what each action grown gains over the likeliest, and the standard error, [k] float64 each."""
    strategy, tree = part.strategy, part.context.tree
    player = int(tree.infoset_player[part.infoset])
    nodes = histories_of(part.context, part.infoset)
    weight, values = belief(strategy, nodes, player), after_each(strategy, nodes)
    usual = int(np.argmax(strategy.probs[tree.slots(part.infoset)]))
    gains = values - values[:, usual, None]
    mean: NDArray[np.float64] = weight @ gains
    return mean, np.sqrt(weight**2 @ (gains - mean) ** 2)
