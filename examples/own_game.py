"""A game of one's own in one file: one player hides a coin, the other guesses which side is up.

    python examples/own_game.py

A right guess wins 2 chips on heads and 1 on tails; a wrong one loses 1. So hide heads two times in five. All
functions take a batch of states at once. Takes a second.
"""

from __future__ import annotations

import numpy as np

import cfr
import games
import gs2

SIDES = ("heads", "tails")
STATE = np.dtype([("hidden", np.int8), ("guess", np.int8)])  # -1: not yet


class HideACoin(games.TwoPlayerGame):
    """Player 0 hides, player 1 guesses."""

    name = "hide_a_coin"
    payoff_range = (-2.0, 2.0)

    def root(self):
        return np.array([(-1, -1)], STATE)

    def player(self, states):
        return np.select([states["hidden"] < 0, states["guess"] < 0], [0, 1], games.TERMINAL).astype(np.int8)

    def actions(self, states):
        counts = 2 * (self.player(states) >= 0)
        return games.Ragged.from_counts(counts, np.tile([0, 1], len(states))[: counts.sum()])

    def chance_probs(self, states, actions):
        return np.ones(len(actions.values))  # nothing is dealt

    def step(self, states, rows, actions):
        after, first = states[rows], self.player(states)[rows] == 0
        after["hidden"][first] = actions[first]
        after["guess"][~first] = actions[~first]
        return after

    def returns(self, states):
        right = states["hidden"] == states["guess"]
        chips = np.where(right, np.where(states["hidden"] == 0, -2.0, -1.0), 1.0)
        return np.stack([chips, -chips], axis=1)

    def infoset_key(self, states, player):
        seen = states["hidden"] if player == 0 else np.minimum(states["hidden"], 0)
        return ((seen.astype(np.int64) + 1) * 3 + states["guess"] + 1).astype(np.uint64)[:, None]

    def action_text(self, state, action):
        return SIDES[action]

    def state_text(self, state):
        return self.infoset_text(state, 0)

    def infoset_text(self, state, player):
        hidden = "nothing" if state["hidden"] < 0 else SIDES[state["hidden"]] if player == 0 else "a coin"
        guess = f" | guess {SIDES[state['guess']]}" if state["guess"] >= 0 else ""
        return f"P{player} | hidden {hidden}{guess}"


def main() -> float:
    """Print how to hide and to guess; return how exploitable that is, in chips."""
    game = HideACoin()
    games.check_game(game, np.random.default_rng(0))  # says what is wrong with a game, and how to mend it
    tree = cfr.grow(game)
    solution = cfr.solve(tree, iterations=1000)
    print("hide and guess heads, tails:", solution.policy.round(3))
    blueprint = cfr.solve(tree, variant="cfr", iterations=5).policy
    infoset = game.parse_infoset("P0 | hidden nothing")
    result = gs2.solve_infoset(game, blueprint, infoset, gs2.preset("gs2+"), np.random.default_rng(0))
    for side in SIDES:
        print(f"hide {side}: {result.blueprint[side]:.3f}, refined to {result.refined[side]:.3f}")
    return cfr.exploitability(tree, solution.policy)


if __name__ == "__main__":
    main()
