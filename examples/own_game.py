"""Your own game in one file: one player hides a coin, the other guesses which side is up.

    python examples/own_game.py
    gs2 solve examples/own_game.py:HideACoin

A right guess wins 2 chips on heads and 1 on tails. A state is any Python object; here, the sides chosen.
"""

import numpy as np

import cfr
import games
import gs2


class HideACoin(games.SimpleGame):
    """Player 0 hides, player 1 guesses."""

    payoff_range = (-2.0, 2.0)

    def start(self):
        return ()

    def turn(self, sides):
        return (0, 1, games.TERMINAL)[len(sides)]

    def choices(self, sides):
        return ("heads", "tails")

    def after(self, sides, side):
        return (*sides, side)

    def payoff(self, sides):
        hidden, guess = sides
        return 1.0 if guess != hidden else -2.0 if hidden == "heads" else -1.0  # player 0's chips

    def sees(self, sides, player):
        if not sides:
            return "before the coin is hidden"
        hidden, *guess = sides
        return " | guess ".join([f"hidden {hidden if player == 0 else 'coin'}", *guess])


def main() -> float:
    """Print how to hide and to guess; return how exploitable that is, in chips."""
    game = HideACoin()
    games.check_game(game, np.random.default_rng(0))  # names a broken rule, and how to mend it
    tree = cfr.grow(game)
    solution = cfr.solve(tree, iterations=1000)
    print("hide and guess heads, tails:", solution.policy.round(3))
    blueprint = cfr.solve(tree, variant="cfr", iterations=5).policy
    infoset = game.parse_infoset("P0 before the coin is hidden")
    result = gs2.solve_infoset(game, blueprint, infoset, gs2.preset("gs2+"), np.random.default_rng(0))
    for side in ("heads", "tails"):
        print(f"hide {side}: {result.blueprint[side]:.3f}, refined to {result.refined[side]:.3f}")
    return cfr.exploitability(tree, solution.policy)


if __name__ == "__main__":
    main()
