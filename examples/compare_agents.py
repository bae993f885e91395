"""Compare two agents of one game: what the first wins, on the same chance with the seats swapped.

    python examples/compare_agents.py leduc_poker cfr:100 uniform

An agent is any name that `gs2 match --game GAME` accepts: a policy file, a network, or FILE.py:NAME. Trust
the interval, not the mean: if it holds 0, no difference was shown. Takes some seconds.
"""

from __future__ import annotations

import sys

import numpy as np

import games
from gs2.play.agent_names import load_game_agent
from gs2.play.game_pairs import play_agents


def main(name: str = "leduc_poker", a: str = "cfr:100", b: str = "uniform", pairs: int = 500) -> float:
    """Print the mean payoff of agent `a` a game, with its 95 % interval; return the lower end."""
    game = games.load_game(name)
    agents = load_game_agent(game, a), load_game_agent(game, b)
    played = play_agents(game, agents, np.random.default_rng(0), pairs)
    low, high = played.interval()
    print(f"{a} against {b} at {game.name}: {played.net.mean():+.3f} [{low:+.3f}, {high:+.3f}] a game")
    return low


if __name__ == "__main__":
    main(*sys.argv[1:4])
