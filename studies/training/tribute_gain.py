"""What tribute by the network's values gains over tribute by rule, on the same cards.

    python -m studies.training.tribute_gain --deals 4096

Every deal begins after a round whose order is drawn, and is played twice: once side 0 gives tribute and
returns by value and side 1 by rule, once the other way round. All four seats then play the network's best
moves. Half the difference of the two payoffs is the gain in levels a round that starts with tribute.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from pathlib import Path

import click
import numpy as np

from gs2.commands.common import SEED, CountType
from gs2.commands.groups import run_alone

__all__ = ["TributeGain", "ablate_tribute", "tribute_gain"]

BLOCK = 256
"""Deals that are played together."""


@dataclass(frozen=True)
class TributeGain:
    """Net levels a round, gained by value over a rule, with a 95 % interval bootstrapped over deals.

    returns, tributes: share of return and of tribute cards that differ from the rule's.
    """

    deals: int
    net: float
    low: float
    high: float
    returns: float
    tributes: float


def tribute_gain(checkpoint: Path | None, deals: int, seed: int) -> TributeGain:
    """Return the gain over `blueprint.guandan.play.deals.card_choice`.

    checkpoint: of the network; None for the shipped one.
    """
    from blueprint.guandan.network.inference import load_inference
    from blueprint.guandan.play.deals import card_choice
    from blueprint.guandan.play.network_play import InferenceAgent
    from blueprint.guandan.play.network_tribute import NetworkTribute
    from blueprint.guandan.play.selfplay import Scratch, play_rounds
    from blueprint.structured import join
    from games.guandan.matches.lockstep import Matches
    from games.guandan.rounds.round import GuanDan
    from games.support.bootstrap import bootstrap_interval

    network = load_inference(checkpoint, critic=False)
    agent, by_value = InferenceAgent(network), NetworkTribute(network)
    rng = np.random.default_rng(seed)
    gains, changed = [], np.zeros((2, 2))
    for start in range(0, deals, BLOCK):
        n = min(BLOCK, deals - start)
        seeds, levels = rng.integers(0, 2**63, n, np.uint64), rng.integers(0, 13, (n, 2))
        order = rng.permuted(np.tile(np.arange(4, dtype=np.uint8), (n, 1)), axis=1)
        played = []
        for side in (0, 1):
            matches = Matches(seeds, levels=levels, order=order)
            while len(decisions := matches.card_decisions()):
                mine = decisions.seats & 1 == side
                value, plain = by_value(decisions), card_choice(decisions)
                matches.give(decisions, np.where(mine, value, plain))
                for back in (0, 1):
                    here = mine & (decisions.back == back)
                    changed[back] += (value != plain)[here].sum(), here.sum()
            played.append(matches.states)
        states = join(played)
        play_rounds(states, [agent], Scratch(), record=False)
        payoff = GuanDan().returns(states)[:, 0].reshape(2, n)
        gains.append((payoff[0] - payoff[1]) / 2)
    gain = np.concatenate(gains)
    low, high = bootstrap_interval(gain, np.random.default_rng([seed, 1]))
    tributes, returns = changed[:, 0] / np.maximum(changed[:, 1], 1)
    return TributeGain(deals, float(gain.mean()), low, high, float(returns), float(tributes))


@click.command("tribute")
@click.option("--checkpoint", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option("--deals", type=CountType(2), default=2048, show_default=True)
@click.option("--seed", type=SEED, default=11, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
def ablate_tribute(checkpoint: Path | None, deals: int, seed: int, as_json: bool) -> None:
    """Print what tribute by the network's values gains over the rule, in levels a round."""
    import torch

    torch.set_num_threads(1)
    from gs2.commands.common import print_json
    from gs2.commands.progress import working

    with working(f"playing {deals} deals …"):
        found = [tribute_gain(checkpoint, deals, seed)]
    if as_json:
        print_json([asdict(row) for row in found])
        return
    from experiments.markdown import markdown_table

    table = [
        (
            g.deals,
            *(f"{x:+.3f}" for x in (g.net, g.low, g.high)),
            f"{g.returns:.0%}",
            f"{g.tributes:.0%}",
        )
        for g in found
    ]
    click.echo(markdown_table([field.name for field in fields(TributeGain)], table, "rrrrrr"))


if __name__ == "__main__":
    run_alone(ablate_tribute)
