"""Solve Kuhn poker, and see its bluffs.

    python examples/solve_kuhn.py

An equilibrium bets with the jack, which can never win a showdown, a third as often as with the king.
Takes a second.
"""

from __future__ import annotations

import sys

import numpy as np

import cfr
import games


def main(iterations: int = 1000) -> float:
    """Print the equilibrium and return its exploitability, in chips."""
    game = games.load_game("kuhn_poker")
    tree = cfr.grow(game)
    solution = cfr.solve(tree, iterations=iterations)
    policy = cfr.tabular_policy(game.name, tree, solution.policy)
    for infoset in games.decision_infosets(game):
        probs = policy.at(np.array([infoset.key], np.uint64), infoset.player).values
        print(f"{infoset.text:22}  pass {probs[0]:.3f}  bet {probs[1]:.3f}")
    exploitability = cfr.exploitability(tree, solution.policy)
    print(f"value to player 0: {cfr.expected_value(tree, solution.policy):+.5f} (exactly -1/18 = -0.05556)")
    print(f"exploitability:    {exploitability:.6f}")
    return exploitability


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
