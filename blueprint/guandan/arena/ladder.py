"""Ratings from a round robin on duplicate deals, by the Bradley-Terry model.

Agent i wins a round against j with probability 1 / (1 + exp(s_j - s_i)); the strengths s are those of a
logistic regression without intercept, on the Elo scale of 400 points for odds of ten to one, mean zero.
Source: Bradley & Terry 1952.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.arena.arena import Arena, ArenaError, ArenaResult, Schedule
from blueprint.guandan.arena.statistics import rounds_won
from blueprint.ratings import (
    ELO,
    PENALTY,
    RatingPicture,
    bradley_terry,
    draw_ratings,
    short_names,
)
from games.support.array_types import Array
from games.support.bootstrap import Estimate, bootstrap_intervals
from games.support.files import check_folder
from games.support.interruption import Interrupted, breaking
from games.support.locks import hold

__all__ = ["ELO", "PENALTY", "Ladder", "bradley_terry", "play_ladder", "plot_ladder", "rate", "short_names"]

RESAMPLES = 400


@dataclass(frozen=True, eq=False)
class Ladder:
    """A round robin and its ratings.

    agents: names; labels: the same, shortened for tables. ratings: of each agent, in Elo points.
    net: [k, k] levels a round of the row against the column, nan on the diagonal. won: [k, k], share of
    rounds. deals: of each pair.
    """

    agents: tuple[str, ...]
    labels: tuple[str, ...]
    ratings: tuple[Estimate, ...]
    net: NDArray[np.float64]
    won: NDArray[np.float64]
    deals: int

    @property
    def order(self) -> list[int]:
        """Agents from the strongest to the weakest."""
        return sorted(range(len(self.agents)), key=lambda k: -self.ratings[k].mean)

    def against_all(self, k: int) -> tuple[float, float]:
        """Return (levels a round, share of rounds won) of agent k, the mean over its opponents."""
        return float(np.nanmean(self.net[k])), float(np.nanmean(self.won[k]))

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON; None on the diagonals."""

        def plain(table: Array) -> list[list[float | None]]:
            return [[None if np.isnan(x) else float(x) for x in row] for row in table]

        return {
            "agents": list(self.agents),
            "ratings": [asdict(rating) for rating in self.ratings],
            "net": plain(self.net),
            "won": plain(self.won),
            "deals": self.deals,
        }


def rate(
    agents: Sequence[str],
    payoffs: dict[tuple[int, int], Array],
    rng: np.random.Generator,
    *,
    resamples: int = RESAMPLES,
) -> Ladder:
    """Return the ladder of agents that played the same deals.

    payoffs: [n, 2] levels to agent i from either side of each deal, for every pair i < j.
    Intervals: 95 % percentile bootstrap over deals, one draw for all pairs, since they share the cards.
    Raises ValueError if pairs are missing or have different numbers of deals.
    """
    k = len(agents)
    pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
    sizes = {len(payoffs[pair]) for pair in pairs if pair in payoffs}
    if set(payoffs) != set(pairs) or len(sizes) != 1:
        raise ValueError(f"rate: every pair of {k} agents must have played the same number of deals")
    n = sizes.pop()
    net, won = np.full((k, k), np.nan), np.full((k, k), np.nan)
    taken = np.array([rounds_won(payoffs[pair]).sum(1) for pair in pairs])
    for (i, j), rounds in zip(pairs, taken, strict=True):
        net[i, j] = payoffs[i, j].mean()
        net[j, i] = -net[i, j]
        won[i, j] = rounds.mean() / 2
        won[j, i] = 1 - won[i, j]

    def strengths(samples: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.array([_strengths(k, pairs, taken[:, deals].sum(1), n) for deals in samples]).T

    low, high = bootstrap_intervals(np.arange(n), strengths, rng, resamples=resamples)
    best = _strengths(k, pairs, taken.sum(1), n)
    ratings = tuple(
        Estimate(float(x), float(a), float(b), n) for x, a, b in zip(best, low, high, strict=True)
    )
    return Ladder(tuple(agents), short_names(agents), ratings, net, won, n)


def _strengths(k: int, pairs: list[tuple[int, int]], taken: Array, n: int) -> NDArray[np.float64]:
    wins = np.zeros((k, k))
    for (i, j), rounds in zip(pairs, taken, strict=True):
        wins[i, j], wins[j, i] = rounds, 2 * n - rounds
    return bradley_terry(wins)


def play_ladder(
    arena: Arena,
    agents: Sequence[str],
    schedule: Schedule,
    *,
    output: str | Path | None = None,
    progress: Callable[[int, ArenaResult], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Ladder | None:
    """Return the ladder after every pair has played the same deals, None if it was stopped.

    schedule: of each pair, deals alone. output: folder of one result file per pair, to go on from.
    progress: called with the deals played so far and the result of the pair under way. stop: see
        `Arena.play`.
    Raises ArenaError for fewer than two agents, one that comes twice or whole games, LockHeld if another
    process plays in the folder, and what `Arena.play` raises.
    """
    if len(agents) < 2 or len(set(agents)) < len(agents):
        raise ArenaError(f"ladder: there must be two or more different agents; got {', '.join(agents)}")
    if schedule.games:
        raise ArenaError(f"ladder: ratings are of rounds, games must be 0; got {schedule.games}")
    folder = None if output is None else check_folder(output)
    with nullcontext() if folder is None else hold(folder, folder=True):
        payoffs = _payoffs(arena, agents, schedule, folder, progress, stop)
    if payoffs is None:
        return None
    try:
        with breaking(stop):
            return rate(agents, payoffs, np.random.default_rng([schedule.config.seed, 0x1ADD]))
    except Interrupted:
        return None


def _payoffs(
    arena: Arena,
    agents: Sequence[str],
    schedule: Schedule,
    folder: Path | None,
    progress: Callable[[int, ArenaResult], None] | None,
    stop: Callable[[], bool] | None,
) -> dict[tuple[int, int], NDArray[np.int8]] | None:
    """Return the payoffs of each pair of agents, by their places; None if it was stopped."""
    payoffs: dict[tuple[int, int], Array] = {}
    before = 0

    def report(result: ArenaResult) -> None:
        if progress is not None:
            progress(before + len(result.payoffs), result)

    for i in range(len(agents)):
        for j in range(i + 1, len(agents)):
            result = arena.play(
                agents[i],
                agents[j],
                schedule,
                output=None if folder is None else folder / _file_name(agents[i], agents[j]),
                progress=report,
                stop=stop,
            )
            if not result.complete:
                return None
            payoffs[i, j] = result.payoffs
            before += schedule.rounds
    return payoffs


def _file_name(a: str, b: str) -> str:
    return re.sub(r"[^\w.@-]+", "_", f"{a}--{b}.jsonl")


def plot_ladder(ladder: Ladder, path: str | Path) -> None:
    """Draw the ratings with their intervals, and levels a round of every pair; needs matplotlib.

    path: .svg, .png or .pdf.
    """
    order = ladder.order
    ratings = np.array([[r.mean, r.low, r.high] for r in (ladder.ratings[k] for k in order)])
    names, table = [ladder.labels[k] for k in order], ladder.net[np.ix_(order, order)]
    draw_ratings(RatingPicture(names, ratings, table, "levels a round, row against column", 3.0), path)
