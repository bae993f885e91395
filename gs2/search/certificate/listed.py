"""The statistical certificate of a search on a tree: the same test, on its histories or on new ones."""

from __future__ import annotations

import numpy as np

from blueprint.protocol import Blueprint
from games.game import payoff_span
from gs2.policies.tabulate import tabulate
from gs2.search.certificate.paired_rollouts import columns_against, strategy_payoffs
from gs2.search.certificate.sampled_gains import GainRule, Verdict, decide, mixture_gains
from gs2.search.config.search import SearchConfig
from gs2.search.context import NO_OPTIONS, SearchContext, SearchOptions
from gs2.search.continuation_policies import continuation_blueprints
from gs2.search.histories.enumerated import Considered
from gs2.search.strategy import Strategy

__all__ = ["SHARES", "sampled_verdict"]

SHARES = (1.0, 0.75, 0.5, 0.25)
"""Shares of the anchor that are tried where a tolerance lets losses pass; without one all pass or none."""
TRIALS = 1
"""Word of the luck in trials, which is not that at the leaves of what they judge."""


def sampled_verdict(
    context: SearchContext,
    strategies: tuple[Strategy, Strategy],
    considered: Considered,
    config: SearchConfig,
    options: SearchOptions = NO_OPTIONS,
) -> Verdict:
    """Return whether paired rollouts prove that a refined strategy gains at an infoset, and its weight.

    strategies: the old and the refined one. Histories of the infoset are drawn by the reach of chance and
    everyone under the old strategy, so that samples count alike.
    options: `luck` seeds what is drawn and played; `trials` draws the histories in place of that, where the
        tree is only a part of the game.
    """
    game, tree, safety = context.game, context.tree, config.safety
    player = considered.player
    rng = options.dice(TRIALS, considered.infoset)
    importance = None
    if options.trials is None:
        plays: tuple[Blueprint, ...] = tuple(tabulate(game, tree, one.raw) for one in strategies)
        nodes = considered.nodes[considered.own_infoset == considered.infoset]
        reach = strategies[0].reach_at(nodes)
        weight = reach.without(player)
        share = weight / weight.sum() if weight.sum() > 0 else np.full(len(nodes), 1 / len(nodes))
        states = tree.states[rng.choice(nodes, safety.trials, p=share)]
    else:
        states, importance = options.trials.draw(safety.trials)
        plays = options.trials.plays(strategies)
    old, refined = plays
    columns = columns_against(game, player, old, continuation_blueprints(old, safety.against))
    payoffs = strategy_payoffs(game, states, player, (old, refined), columns, rng)
    weights = safety.anchor * np.array(SHARES if safety.tolerance > 0 else SHARES[:1])
    span = payoff_span(game)
    rule = GainRule(span, safety.confidence, safety.tolerance * span)
    gains = mixture_gains(payoffs[:, 0], payoffs[:, 1], weights)
    return decide(gains, weights, rule, importance=importance)
