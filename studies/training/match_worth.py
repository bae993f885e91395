"""What one agent gains over another in the chance of winning a match, a round of matches at a time.

    python -m studies.training.match_worth blueprint blueprint:objective=levels --rounds 4096 --seed 1

Rounds begin as they do in matches of the shipped network against itself: levels, owner, failures at A and
who pays tribute are drawn from these. Each is played twice with the seats swapped, and scored by what its
result makes of the chance of winning (`blueprint.guandan.objective`). Whole games say the same with far
more noise: `gs2 match A B --whole --pairs 1000`.
"""

from __future__ import annotations

from dataclasses import dataclass

import click
import numpy as np
from numpy.typing import NDArray

from gs2.commands.common import COUNT, NOT_NEGATIVE, SEED, CountType
from gs2.commands.groups import run_alone

__all__ = ["MatchWorth", "match_situations", "match_worth", "play_worth"]


@dataclass(frozen=True)
class MatchWorth:
    """The gain of agent a: mean and 95 % half-width. chance: of winning the match, a round, in points of a
    hundred. levels: net levels a round. won: share of rounds won, in hundredths.
    """

    rounds: int
    chance: tuple[float, float]
    levels: tuple[float, float]
    won: float


def match_situations(n: int, seed: int, *, most: int = 400) -> NDArray[np.void]:
    """Return rows of MATCH of n rounds of matches, in which tribute has not been paid yet.

    They are drawn from `most` matches of the shipped network, which maximises levels.
    """
    from blueprint.game_lockstep import play_rounds
    from blueprint.guandan.play.deals import card_choice
    from blueprint.guandan.play.quick_agents import load_quick_agent
    from blueprint.guandan.play.selfplay import Scratch
    from games.guandan.matches.lockstep import Matches

    rng = np.random.default_rng([seed, 1])
    player, scratch = load_quick_agent("blueprint", rng), Scratch()
    running = Matches(rng.integers(0, 2**63, most).astype(np.uint64))
    found = []
    while not running.over.all():
        found.append(running.table[~running.over].copy())
        while len(decisions := running.card_decisions()):
            running.give(decisions, card_choice(decisions))
        play_rounds(running.states, player, scratch, record=False)
        running.settle()
    rows = np.concatenate(found)
    return rows[rng.integers(0, len(rows), n)]


def play_worth(
    a: str, b: str, rounds: int, seed: int, *, at_once: int = 512, apart: float = 0.0
) -> MatchWorth:
    """Return what agent a gains over agent b in rounds of matches; names for `load_batched_agent`.

    apart: play only rounds whose results are worth so much else than their levels, root mean square.
    Raises ValueError where fewer than two of those drawn are that far apart.
    """
    from blueprint.guandan.objective import match_chances
    from blueprint.guandan.play.duplicate import play_duplicate
    from blueprint.guandan.play.selfplay import Scratch
    from gs2.guandan.agent_families import load_batched_agent

    rng = np.random.default_rng(seed)
    agents = load_batched_agent(a, rng), load_batched_agent(b, rng)
    chances, scratch = match_chances(), Scratch()
    situations = match_situations(rounds if apart == 0 else 20 * rounds, seed)
    if apart:
        distance = _distance(situations)
        situations = situations[distance >= apart][:rounds]
        rounds = len(situations)
        if rounds < 2:
            raise ValueError(
                f"--apart must leave 2 rounds; got {apart:g}, and the furthest of {len(distance):,} is "
                f"{distance.max():.3g} from its levels; name less, or draw more --rounds"
            )
    gains, levels = [], []
    for start in range(0, rounds, at_once):
        states = _begun(situations[start : start + at_once], rng)
        payoff = play_duplicate(*agents, states, scratch)
        worth = chances.worth(states)
        rows = np.arange(len(states))
        side0 = worth[rows, 3 - payoff[:, 0].astype(np.int64)]
        side1 = 1 - worth[rows, 3 + payoff[:, 1].astype(np.int64)]
        gains.append((side0 + side1 - 1) / 2)
        levels.append(payoff)
    gain, paid = np.concatenate(gains), np.concatenate(levels)
    half = 1.96 / np.sqrt(len(gain))
    mean = paid.mean(1)
    return MatchWorth(
        rounds,
        (100 * float(gain.mean()), 100 * float(gain.std() * half)),
        (float(mean.mean()), float(mean.std() * half)),
        100 * float((paid > 0).mean()),
    )


def _begun(table: NDArray[np.void], rng: np.random.Generator) -> NDArray[np.void]:
    """Return rounds ready to play in these situations, tribute paid by rule, [n] STATE; table: [n] MATCH."""
    from blueprint.guandan.play.deals import card_choice
    from games.guandan.matches.lockstep import Matches
    from games.guandan.rounds.state import NOBODY, STATE

    states = np.zeros(len(table), STATE)
    first = table["order"][:, 0] == NOBODY
    for rows in (np.flatnonzero(first), np.flatnonzero(~first)):
        begun = table[rows]
        order = None if not len(rows) or first[rows[0]] else begun["order"]
        matches = Matches(rng.integers(0, 2**63, len(rows), np.uint64), levels=begun["levels"], order=order)
        while len(decisions := matches.card_decisions()):
            matches.give(decisions, card_choice(decisions))
        matches.states["fails"] = begun["fails"]
        states[rows] = matches.states
    return states


def _distance(table: NDArray[np.void]) -> NDArray[np.float64]:
    """Return how far the worth of results lies from their levels, root mean square, [n]; table: [n] MATCH."""
    from blueprint.guandan.objective import result_worth
    from games.guandan.matches.chances import RESULTS
    from games.guandan.rounds.state import STATE

    states = np.zeros(len(table), STATE)
    for name in ("levels", "owner", "fails"):
        states[name] = table[name]
    beyond = result_worth(states, np.zeros(len(table), np.int64)) - np.array(RESULTS)
    found: NDArray[np.float64] = np.sqrt((beyond**2).mean(1))
    return found


@click.command("match-worth")
@click.argument("a")
@click.argument("b")
@click.option("--rounds", type=CountType(2), default=2048, show_default=True)
@click.option("--seed", type=SEED, default=1, show_default=True)
@click.option("--at-once", type=COUNT, default=512, show_default=True)
@click.option("--apart", type=NOT_NEGATIVE, default=0.0, show_default=True)
def match_worth(a: str, b: str, rounds: int, seed: int, at_once: int, apart: float) -> None:
    """Print what agent A gains over agent B in rounds of matches, each played twice."""
    import torch

    torch.set_num_threads(1)
    found = play_worth(a, b, rounds, seed, at_once=at_once, apart=apart)
    (chance, chance_half), (levels, levels_half) = found.chance, found.levels
    click.echo(f"{a} against {b}, {found.rounds} rounds of matches, each played twice:")
    click.echo(f"{chance:+.2f} ± {chance_half:.2f} points of winning the match a round")
    click.echo(f"{levels:+.3f} ± {levels_half:.3f} levels a round, {found.won:.1f} % of rounds won")


if __name__ == "__main__":
    run_alone(match_worth)
