"""What the trace of lambda-returns costs and gains: their noise, and how far they are from playing on.

    python -m studies.training.trace --pairs 4000 --playouts 32

A target of training is a lambda-return less the critic's value. A short trace leans on the critic's later
values: less noise, but the critic's errors come with it. Both are measured. The noise is the variance of the
targets in self-play. For the errors, at one decision of each of many rounds the network's best move and one
of the runners-up are played out many times from the full state; the difference of their mean returns,
D(lambda), is set against D(1), that of plain payoffs. Errors that differ from deal to deal average out over
what a player cannot see; only those that lean one way in a situation mislead. So both are printed: the mean
square of D(lambda) - D(1) over the mean square of D(1), and its mean where it might lean: passes and bombs.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from gs2.commands.common import SEED, CountType
from gs2.commands.groups import run_alone

if TYPE_CHECKING:
    from blueprint.guandan.play.network_play import InferenceAgent

__all__ = ["TraceRow", "ablate_trace", "agent_returns", "trace_rows"]

TRACES = (1.0, 0.98, 0.95, 0.9, 0.85, 0.8, 0.7, 0.5)
AT_ONCE = 8192
"""Playouts that run together."""
RUNNER_UP = 0.05
"""Temperature at which the other move is drawn, in levels."""


@dataclass(frozen=True)
class TraceRow:
    """One trace; differences are of the best move over a runner-up, in levels.

    target_variance: of the targets in self-play. noise: variance of a return from one full state and move.
    error: mean square of D(trace) - D(1) over that of D(1), sampling noise taken out.
    shifts: mean of D(trace) - D(1) and its standard error by situation, as in `SITUATIONS`; nan
        where no pair is of it.
    """

    trace: float
    target_variance: float
    noise: float
    error: float
    shifts: tuple[tuple[float, float], ...]


SITUATIONS = ("all", "near ties", "best is pass", "other is pass", "other is a bomb")
"""Near ties are those that the network holds for less than 0.15 levels apart."""


def trace_rows(
    checkpoint: Path | None,
    pairs: int,
    playouts: int,
    seed: int,
    *,
    temperature: float = 0.02,
    epsilon: float = 0.01,
) -> list[TraceRow]:
    """Return a row for each of TRACES.

    checkpoint: of a network with a critic; None for the shipped one. pairs: rounds, one pair of moves each.
    playouts: of each move, an even number: halves are multiplied to take the noise out of squares.
    temperature, epsilon: of the play, as in `TrainConfig`.
    Raises ValueError if the checkpoint holds no critic.
    """
    from blueprint.guandan.network.inference import load_inference
    from blueprint.guandan.play.deals import deal_rounds
    from blueprint.guandan.play.network_play import InferenceAgent
    from blueprint.guandan.play.selfplay import Scratch, play_rounds
    from blueprint.guandan.training.samples import lambda_returns
    from games.guandan.cards import BOMB, FOUR_KINGS, PASS, STRAIGHT_FLUSH
    from games.guandan.rounds.round import GuanDan, advance

    rng = np.random.default_rng(seed)
    network = load_inference(checkpoint)
    agent = InferenceAgent(network, temperature=temperature, epsilon=epsilon, rng=rng)
    record = play_rounds(deal_rounds(pairs, rng, tribute=0.5), [agent], Scratch())
    seats = record.states["player"].astype(np.int64)
    payoff = GuanDan().returns(record.final)[:, 0]
    values = network.critic_values(record.states, np.arange(len(seats)), seats)
    variance = [lambda_returns(record.round, seats, values, payoff, t).var() for t in TRACES]

    picked = np.array([rng.choice(np.flatnonzero(record.round == i)) for i in range(pairs)])
    roots, sides = record.states[picked], 1.0 - 2.0 * (seats[picked] & 1)
    moves, gap = _two_moves(agent, roots, rng)
    sums, squares = np.zeros((pairs, 2, 2, len(TRACES))), np.zeros((pairs, 2, len(TRACES)))
    block = max(1, AT_ONCE // (2 * playouts))
    for start in range(0, pairs, block):
        rows = np.arange(start, min(start + block, pairs)).repeat(2 * playouts)
        which = np.tile(np.arange(2).repeat(playouts), len(rows) // (2 * playouts))
        states = roots[rows]
        advance(states, moves[rows, which])
        found = agent_returns(agent, states) * sides[rows, None]
        np.add.at(sums, (rows, which, np.arange(len(rows)) % 2), found)
        np.add.at(squares, (rows, which), found**2)
    noise = (squares / playouts - (sums.sum(2) / playouts) ** 2).mean((0, 1)) * playouts / (playouts - 1)
    difference = (sums[:, 0] - sums[:, 1]) / (playouts / 2)  # [pairs, half, trace]
    kinds = moves["type"]
    masks = (  # as in SITUATIONS
        np.ones(pairs, bool),
        gap < 0.15,
        kinds[:, 0] == PASS,
        kinds[:, 1] == PASS,
        np.isin(kinds[:, 1], (STRAIGHT_FLUSH, BOMB, FOUR_KINGS)),
    )
    error = difference - difference[..., :1]
    signal = (difference[:, 0, 0] * difference[:, 1, 0]).mean()
    shifts = []
    for k in range(len(TRACES)):
        mean = error[..., k].mean(1)
        shifts.append(
            [(mean[m].mean(), mean[m].std() / m.sum() ** 0.5) if m.any() else (np.nan, np.nan) for m in masks]
        )
    return [
        TraceRow(
            trace,
            float(variance[k]),
            float(noise[k]),
            float((error[:, 0, k] * error[:, 1, k]).mean() / signal),
            tuple((float(a), float(b)) for a, b in shifts[k]),
        )
        for k, trace in enumerate(TRACES)
    ]


def _two_moves(
    agent: InferenceAgent, states: NDArray[Any], rng: np.random.Generator
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the best move and a runner-up at each state, [n, 2] ACTION, and the gap of their scores, [n].

    states: [n] STATE, each with a choice.
    """
    from blueprint.protocol import Decisions
    from blueprint.soft_choices import draw_soft
    from games.guandan.rounds.round import legal

    moves = legal(states, canonical=True)
    scores = agent.inference.advantages(Decisions.of(states, moves))
    at = moves.offsets[:-1]
    best = at + draw_soft(scores, moves.offsets, 0.0, 0.0, rng)[0]
    others = scores.copy()
    others[best] = -np.inf
    other = at + draw_soft(others, moves.offsets, RUNNER_UP, 0.0, rng)[0]
    chosen = moves.values[np.stack([best, other], 1)]
    return chosen, (scores[best] - scores[other]).astype(np.float64)


def agent_returns(agent: InferenceAgent, states: NDArray[Any]) -> NDArray[np.float64]:
    """Return the lambda-returns to side 0 of playing on from each state, [n, traces]; states: played out."""
    from blueprint.guandan.play.selfplay import Scratch, play_rounds
    from blueprint.guandan.training.samples import lambda_returns
    from games.guandan.rounds.round import GuanDan

    record = play_rounds(states, [agent], Scratch())
    payoff = GuanDan().returns(record.final)[:, 0]
    out = np.tile(payoff[:, None], len(TRACES))
    if not len(record.round):
        return out
    seats = record.states["player"].astype(np.int64)
    values = agent.inference.critic_values(record.states, np.arange(len(seats)), seats)
    rounds, first = np.unique(record.round, return_index=True)
    sign = 1.0 - 2.0 * (seats[first] & 1)
    for k, trace in enumerate(TRACES):
        later = lambda_returns(record.round, seats, values, payoff, trace)[first] + values[first]
        out[rounds, k] = sign * ((1.0 - trace) * values[first] + trace * later)
    return out


@click.command("trace")
@click.option("--checkpoint", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option("--pairs", type=CountType(2), default=4000, show_default=True, help="Pairs of moves.")
@click.option(
    "--playouts",
    type=CountType(4),
    default=32,
    show_default=True,
    help="Playouts of each move, an even number.",
)
@click.option("--seed", type=SEED, default=3, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
def ablate_trace(checkpoint: Path | None, pairs: int, playouts: int, seed: int, as_json: bool) -> None:
    """Print the noise and the error of lambda-returns for several traces."""
    import torch

    if playouts % 2:
        raise click.BadParameter(f"must be even; got {playouts}", param_hint="--playouts")
    torch.set_num_threads(1)
    from gs2.commands.common import print_json
    from gs2.commands.progress import working

    with working(f"playing {pairs:,} pairs on {playouts} times each …"):
        found = list(trace_rows(checkpoint, pairs, playouts, seed))
    if as_json:
        print_json([asdict(row) for row in found])
        return
    from experiments.markdown import markdown_table

    heads = ("trace", "variance of targets", "noise", "error", *SITUATIONS)
    table = [
        (
            f"{row.trace:g}",
            *(f"{x:.3f}" for x in (row.target_variance, row.noise, row.error)),
            *("–" if np.isnan(a) else f"{a:+.3f} ± {1.96 * b:.3f}" for a, b in row.shifts),
        )
        for row in found
    ]
    click.echo(markdown_table(heads, table, "r" * len(heads)))


if __name__ == "__main__":
    run_alone(ablate_trace)
