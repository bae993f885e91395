"""Refine a strategy for an OpenSpiel game, and export it as an OpenSpiel policy.

    python examples/refine_openspiel_game.py

Needs: pip install 'gs2[openspiel]'. OpenSpiel's own best response measures both strategies.
Takes some seconds.
"""

from __future__ import annotations

import sys

import pyspiel

import cfr
import games
import gs2
from games.openspiel.direct import openspiel_game


def main(name: str = "openspiel:leduc_poker", iterations: int = 100) -> tuple[float, float]:
    """Return NashConv by OpenSpiel before and after the search at every infoset."""
    game = games.load_game(name)
    context = gs2.SearchContext(game)
    blueprint = cfr.solve(context.tree, variant="cfr", iterations=iterations).policy
    refined = gs2.refine_both(context, blueprint, gs2.preset("gs2+")).policy
    nash_conv = []
    for word, probs in (("blueprint", blueprint), ("refined", refined)):
        policy = cfr.tabular_policy(game.name, context.tree, probs).to_openspiel()
        nash_conv.append(pyspiel.nash_conv(openspiel_game(game), policy, True))
        print(f"{word:9}  a {type(policy).__name__} with NashConv {nash_conv[-1]:.6f}")
    return nash_conv[0], nash_conv[1]


if __name__ == "__main__":
    main(*sys.argv[1:2])
