"""Play rounds of GuanDan between the searching agent and its own network, and print how they end.

    python examples/play_guandan.py [ROUNDS]

The agent sits at seats 0 and 2. A few rounds say nothing about strength: `gs2 match gs2-fast blueprint` plays
duplicate deals. Kernels compile at the first start, which takes some twenty seconds.
"""

from __future__ import annotations

import sys

import numpy as np

from games.guandan.rounds.round import advance, deal
from gs2.guandan.agent.agent import make_agent


def main(rounds: int = 1, preset: str = "fast") -> int:
    """Return how many rounds the searching team won."""
    searching = make_agent(config=preset, rng=np.random.default_rng(0))
    network = make_agent(config="blueprint", rng=np.random.default_rng(0))
    won = 0
    for number in range(rounds):
        state = deal(1, np.random.default_rng(number))
        moves = 0
        while (seat := int(state["player"][0])) >= 0:
            agent = searching if seat % 2 == 0 else network
            advance(state, agent.act(state))
            moves += 1
        order = state["order"][0]
        won += int(order[0]) % 2 == 0
        print(f"round {number}: {moves} moves; seats went out in the order {order.tolist()}")
    print(f"the searching team won {won} of {rounds} rounds")
    return won


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
