"""Does a review find the levels that a weak player loses? `python -m studies.agent.review_accuracy`

An agent plays rounds against the network, each deal from both sides. Played by the network in all four
seats, the same deals show what the agent's decisions cost: the difference of the payoffs. The review never
sees that; it judges every decision of the agent from what its seat knew. By the performance difference lemma
(Kakade and Langford 2002) its losses behind the network's own moves would add up to the same, were every one
exact.
"""

from __future__ import annotations

import json
import time
from typing import Any

import click
import numpy as np
import torch
from numpy.typing import NDArray

from blueprint.game_lockstep import Seated, play_rounds
from blueprint.guandan.play.duplicate import duplicate_deals
from blueprint.guandan.play.selfplay import Scratch
from blueprint.protocol import Agent, Decisions, Past
from blueprint.structured import join
from games.guandan.rounds.round import GuanDan
from games.support.array_types import Array
from games.support.bootstrap import bootstrap_intervals
from gs2.commands.common import COUNT, SEED
from gs2.commands.groups import run_alone
from gs2.guandan.agent.deals.dealing import load_networks
from gs2.guandan.agent_families import load_batched_agent
from gs2.guandan.review.judging import Judge, Judgement, choices_of
from gs2.guandan.review.match_review import REVIEW_PRESETS
from gs2.guandan.review.recorded_rounds import RecordedRound
from gs2.review.review_data import VERDICTS

__all__ = ["played_rounds", "review_accuracy", "reviewed_losses"]

AT_ONCE = 8
"""Rounds whose decisions are judged together."""


class _Noted(Seated):
    """Two agents, one a side, whose rounds are remembered move by move."""

    past: Past | None = None

    def __init__(self, agent: Agent, network: Agent, n: int) -> None:
        super().__init__((agent, network), (np.arange(4) & 1) != (np.arange(2 * n)[:, None] >= n))
        self.follows = True

    def draw(self, decisions: Decisions) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        self.past = decisions.past
        return super().draw(decisions)


def played_rounds(
    agent: Agent, network: Agent, deals: Array
) -> tuple[list[RecordedRound], NDArray[np.float64]]:
    """Return the rounds of an agent against the network, and what it lost in each, [2 n] in levels.

    deals: [n] STATE. In the first n rounds the agent has side 0, in the others side 1. Lost is what the
    network, in the agent's place, gets of the same deal, less what the agent gets.
    """
    n = len(deals)
    alone = deals.copy()
    play_rounds(alone, network, Scratch(), record=False)
    pair = _Noted(agent, network, n)
    states = join([deals, deals])
    play_rounds(states, pair, Scratch(), record=False)
    assert pair.past is not None
    rounds = []
    for k in range(2 * n):
        moves = pair.past.of(k)
        start = deals[k % n : k % n + 1].copy()
        rounds.append(RecordedRound(1, k + 1, start, (True,) * 4, moves.seats, moves.actions))
    game, side = GuanDan(), np.where(np.arange(2 * n) < n, 1.0, -1.0)
    lost = np.tile(game.returns(alone)[:, 0], 2) - game.returns(states)[:, 0]
    return rounds, side * lost


def reviewed_losses(rounds: list[RecordedRound], judge: Judge) -> tuple[NDArray[np.float64], list[Judgement]]:
    """Return what a review says the agent lost in each round, [2, n], and all its judgements of the agent.

    The first row is behind the search's best moves, of all that is worse than level, as a player's summary
    has it; the second behind the network's own, of everything. rounds: as of `played_rounds`.
    """
    lost = np.zeros((2, len(rounds)))
    told: list[Judgement] = []
    for low in range(0, len(rounds), AT_ONCE):
        choices, place = [], []
        for k in range(low, min(low + AT_ONCE, len(rounds))):
            mine = [c for c in choices_of(rounds[k]) if (c.seat & 1) == (2 * k >= len(rounds))]
            choices += mine
            place += [k] * len(mine)
        found = judge.judge(choices)
        for k, judgement in zip(place, found, strict=True):
            wrong = judgement.decision.verdict in VERDICTS[2:]
            lost[:, k] += judgement.decision.loss if wrong else 0.0, judgement.decision.behind_network
        told += found
    return lost, told


def accuracy_row(lost: NDArray[np.float64], found: NDArray[np.float64], seed: int) -> dict[str, Any]:
    """Return both losses a round, their ratio, and its 95 % interval over deals.

    lost, found: [2 n]; the two rounds of a deal are one observation.
    """
    deals = np.stack([lost.reshape(2, -1).mean(0), found.reshape(2, -1).mean(0)], 1)

    def ratio(samples: NDArray[Any]) -> NDArray[np.float64]:
        means = deals[samples].mean(1)
        out: NDArray[np.float64] = means[:, 1] / means[:, 0]
        return out

    low, high = bootstrap_intervals(np.arange(len(deals)), ratio, np.random.default_rng(seed))
    means = deals.mean(0)
    return {
        "lost": float(means[0]),
        "found": float(means[1]),
        "ratio": float(means[1] / means[0]),
        "interval": [float(low), float(high)],
    }


@click.command()
@click.option("--agent", default="greedy", show_default=True, help="Agent to review, by name.")
@click.option("--deals", type=COUNT, default=100, show_default=True, help="Deals, each played twice.")
@click.option("--preset", default="fast", show_default=True, help="fast or standard.")
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="FIELD=NUMBER",
    help="Change a field of the search; for ablations.",
)
@click.option("--seed", type=SEED, default=11, show_default=True)
def review_accuracy(agent: str, deals: int, preset: str, changes: tuple[str, ...], seed: int) -> None:
    """Compare the levels that a review finds lost with those that were, and print a line of JSON."""
    pairs = (change.partition("=") for change in changes)
    config = REVIEW_PRESETS[preset].replace(**{field: json.loads(value) for field, _, value in pairs})
    rng = np.random.default_rng(seed)
    dealt = duplicate_deals(np.arange(deals), seed)
    rounds, lost = played_rounds(load_batched_agent(agent, rng), load_batched_agent("blueprint"), dealt)
    torch.set_num_threads(1)
    began = time.perf_counter()
    found, told = reviewed_losses(rounds, Judge(load_networks(), config))
    seconds = time.perf_counter() - began
    verdicts: dict[str, int] = {}
    for judgement in told:
        verdict = judgement.decision.verdict
        verdicts[verdict] = verdicts.get(verdict, 0) + 1
    row = {
        "agent": agent,
        "rounds": len(rounds),
        "preset": preset,
        "changes": list(changes),
        "seed": seed,
        "decisions": len(told),
        "verdicts": verdicts,
        "best": accuracy_row(lost, found[0], seed) if lost.any() else {"found": float(found[0].mean())},
        "network": accuracy_row(lost, found[1], seed) if lost.any() else {"found": float(found[1].mean())},
        "milliseconds_a_decision": 1000 * seconds / max(len(told), 1),
    }
    click.echo(json.dumps(row))


if __name__ == "__main__":
    run_alone(review_accuracy)
