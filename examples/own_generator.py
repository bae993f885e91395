"""Choose the histories of a subgame by your own rule, and see what it is worth.

    python examples/own_generator.py

The rule keeps the histories in which the opponent has most to lose. Takes some seconds.
"""

from __future__ import annotations

import sys

import numpy as np

import cfr
import games
import gs2


def highest(values: np.ndarray, weights: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Return which k histories to keep, rising: those of the highest alternative value."""
    worth = values if values.ndim == 1 else values.mean(axis=1)
    return np.sort(np.argsort(-worth, kind="stable")[:k]).astype(np.int64)


def main(name: str = "leduc_poker", k: int = 3) -> dict[str, float]:
    """Return what the opponent wins at best against the strategy made by each rule, in payoffs."""
    gs2.check_generator(highest, np.random.default_rng(0))
    gs2.register_generator("highest", highest)
    context = gs2.SearchContext(games.load_game(name))
    blueprint = cfr.solve(context.tree, variant="cfr", iterations=100).policy
    wins = {"blueprint": float(cfr.best_response_values(context.tree, blueprint)[0])}
    for rule in ("random", "diverse", "highest"):
        config = gs2.preset("gs2+", generator=rule, k=k, whole=0)
        refined = gs2.refine_policy(context, blueprint, player=1, config=config)
        wins[rule] = float(cfr.best_response_values(context.tree, refined.policy)[0])
    for rule, value in wins.items():
        print(f"{rule:9}  the opponent's best response wins {value:+.5f}")
    return wins


if __name__ == "__main__":
    main(*sys.argv[1:2])
