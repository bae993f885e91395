"""How often rounds end in each way in matches of an agent against itself, by who won the round before.

    python -m studies.training.frequencies --matches 600 --seed 5

The chances of winning a match rest on these numbers (`blueprint.guandan.objective`).
"""

from __future__ import annotations

import click
import numpy as np
from numpy.typing import NDArray

from gs2.commands.common import COUNT, SEED
from gs2.commands.groups import run_alone

__all__ = ["count_results", "frequencies"]


def count_results(agent: str, matches: int, seed: int) -> NDArray[np.int64]:
    """Return how often a round ended with 3, 2, 1, -1, -2, -3 for the team that won the one before, [3, 6].

    Rows: it had won by 1, 2 or 3 levels. agent: a name for `load_batched_agent`; tribute is paid by rule, or
    by the agent's `cards`.
    """
    from blueprint.game_lockstep import play_rounds
    from blueprint.guandan.play.deals import card_choice
    from blueprint.guandan.play.selfplay import Scratch
    from games.guandan.matches.lockstep import Matches
    from games.guandan.rounds.round import GuanDan
    from games.guandan.rounds.state import NOBODY
    from gs2.guandan.agent_families import load_batched_agent

    rng = np.random.default_rng(seed)
    player = load_batched_agent(agent, rng)
    cards = getattr(player, "cards", None) or card_choice
    running = Matches(rng.integers(0, 2**63, matches).astype(np.uint64))
    count, scratch = np.zeros((3, 6), np.int64), Scratch()
    while not running.over.all():
        while len(decisions := running.card_decisions()):
            running.give(decisions, cards(decisions))
        before = running.table["order"].copy()
        play_rounds(running.states, player, scratch, record=False)
        ended = running.settle()
        payoff = GuanDan().returns(ended.states)[:, 0].astype(np.int64)
        order = before[ended.rows]
        known = order[:, 0] != NOBODY
        order, payoff = order[known], payoff[known]
        margin = 4 - np.argmax(order == (order[:, :1] + 2) % 4, 1)
        own = np.where(order[:, 0] % 2 == 0, payoff, -payoff)
        np.add.at(count, (margin - 1, np.where(own > 0, 3 - own, 2 - own)), 1)
    return count


@click.command("frequencies")
@click.option("--agent", default="blueprint", show_default=True)
@click.option("--matches", type=COUNT, default=600, show_default=True)
@click.option("--seed", type=SEED, default=5, show_default=True)
def frequencies(agent: str, matches: int, seed: int) -> None:
    """Print how often rounds end with 3, 2, 1, -1, -2, -3 for the team that won the one before."""
    import torch

    torch.set_num_threads(1)
    count = count_results(agent, matches, seed)
    for margin, row in enumerate(count, 1):
        shares = ", ".join(f"{share:.1%}" for share in row / max(1, row.sum()))
        click.echo(f"won by {margin}: {', '.join(map(str, row))} of {row.sum()} rounds ({shares})")


if __name__ == "__main__":
    run_alone(frequencies)
