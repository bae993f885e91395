"""Rounds of DouDiZhu at RLCard's table: an agent of ours against RLCard's agents, as landlord and as farmers.

    python -m studies.climbing.rlcard_matches runs/ddz/last.safetensors --rounds 2000 --seed 1

WP is the share of rounds won; ADP is points a round as DouZero counts them, 2 doubled by each bomb and the
rocket, for the landlord or for both farmers together. Both sides play the same deals. RLCard carries one
agent for DouDiZhu, a rule agent; it has no trained one, and no Big2.
"""

from __future__ import annotations

import importlib.util
from dataclasses import asdict, dataclass
from typing import Any

import click
import numpy as np

from gs2.commands.common import SEED, CountType, print_json
from gs2.commands.groups import run_alone

__all__ = ["RlcardResult", "play_rlcard", "rlcard_matches"]

RULE = "doudizhu-rule-v1"
SIDES = ("landlord", "farmers")


@dataclass(frozen=True)
class RlcardResult:
    """What our agent came to on one side. wp, adp: with the ends of 95 % bootstrap intervals over rounds."""

    side: str
    rounds: int
    wp: float
    wp_low: float
    wp_high: float
    adp: float
    adp_low: float
    adp_high: float


def play_rlcard(agent: str, model: str, rounds: int, seed: int, side: str) -> RlcardResult:
    """Return what an agent of ours comes to against a model of RLCard's.

    agent: a name for `load_game_agent`, or a model of RLCard's as `rlcard:MODEL`. side: of SIDES.
    """
    import rlcard
    from rlcard import models

    from games.climbing.doudizhu.doudizhu import DouDizhu
    from games.support.bootstrap import bootstrap_interval
    from gs2.play.agent_names import load_game_agent
    from studies.climbing.rlcard_seat import RlcardSeat, round_points_of

    np.random.seed(seed)  # noqa: NPY002  # RLCard's rule agent draws from NumPy's own stream
    rng = np.random.default_rng(seed)
    game = DouDizhu()
    table = rlcard.make("doudizhu", config={"seed": seed})
    theirs = models.load(model).agents

    def seat(number: int) -> Any:
        name = agent if (number == 0) == (side == "landlord") else f"rlcard:{model}"
        kind, _, rest = name.partition(":")
        if kind == "rlcard":
            return (theirs if rest == model else models.load(rest).agents)[number]
        return RlcardSeat(game, load_game_agent(game, name, seed=seed), rng)

    table.set_agents([seat(number) for number in range(3)])
    won, points = np.empty(rounds), np.empty(rounds)
    sign = 1 if side == "landlord" else -1
    for k in range(rounds):
        _, payoffs = table.run(is_training=False)
        landlord = bool(payoffs[0] > 0)
        won[k] = landlord == (side == "landlord")
        points[k] = sign * round_points_of(table.game.state["trace"], landlord)
    ends = [bootstrap_interval(values, np.random.default_rng(seed)) for values in (won, points)]
    return RlcardResult(side, rounds, float(won.mean()), *ends[0], float(points.mean()), *ends[1])


@click.command("rlcard-matches")
@click.argument("agent")
@click.option("--against", default=RULE, show_default=True, help="A model of RLCard's.")
@click.option("--rounds", type=CountType(2), default=1000, show_default=True, help="Rounds for each side.")
@click.option("--seed", type=SEED, default=1, show_default=True, help="Seed of the deals and the agents.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
def rlcard_matches(agent: str, against: str, rounds: int, seed: int, as_json: bool) -> None:
    """Print the results of AGENT at RLCard's DouDiZhu table, as landlord and as farmers."""
    if importlib.util.find_spec("rlcard") is None:
        raise click.UsageError("RLCard is not installed; pip install 'rlcard>=1.2'")
    import torch

    torch.set_num_threads(1)
    if seed >= 1 << 32:
        raise click.UsageError(f"RLCard takes seeds below 2 ** 32; got {seed}")
    results = [play_rlcard(agent, against, rounds, seed, side) for side in SIDES]
    if as_json:
        told = {"agent": agent, "against": against, "seed": seed}
        print_json(told | {"results": [asdict(result) for result in results]})
        return
    click.echo(f"{agent} against {against}, {rounds} rounds a side, 95 % intervals")
    for found in results:
        click.echo(
            f"{found.side:9} WP {found.wp:.1%} [{found.wp_low:.1%}, {found.wp_high:.1%}]  "
            f"ADP {found.adp:+.3f} [{found.adp_low:+.3f}, {found.adp_high:+.3f}]"
        )


if __name__ == "__main__":
    run_alone(rlcard_matches)
