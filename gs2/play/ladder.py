"""Ratings of many agents of any game: every pair of them meets on the same chance.

    ladder = play_ladder(LadderPlan("leduc_poker", ("cfr:100", "cfr:10", "uniform"), pairs=1000))
    ladder.order, ladder.points, ladder.elo

An agent has two ratings. Its points are the payoff a game against an agent drawn from the ladder, itself
included. Its Elo says how often it wins: it wins a game if no team is paid more than
its own, and a shared win counts in part. The two need not agree. A good poker player folds, and so loses many
games for little; hence the order is by points unless it is asked for otherwise.

In a game of two teams each pair of agents plays one match, in which they swap the teams. In one of more teams
each is once the one seat and once all the others, so a pair plays two.

Elo: agent i wins against j with probability 1 / (1 + exp(s_j - s_i)), by Bradley & Terry 1952. One seat
against several of the other agent's, each for itself: the winner is one of all seats with probability
proportional to exp(s), so that even agents win one game in as many as there are seats. Source of the latter:
Luce 1959, of which the former is the case of two. Strengths are on the scale of 400 points for odds of ten to
one, mean zero.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.support.array_types import Array
from games.support.bootstrap import Estimate, bootstrap_intervals
from games.support.files import check_folder
from games.support.interruption import Interrupted, breaking
from games.support.locks import hold
from gs2.play.arena import Arena, Meeting, MeetingResult, contest_of
from gs2.play.game_pairs import PlayedGames
from gs2.play.match_files import MeetingError

ORDERS = ("points", "elo")
"""What the agents of a ladder may be ordered by."""
RESAMPLES = 400


@dataclass(frozen=True)
class LadderPlan:
    """Who meets whom on a ladder, and how often.

    game: its string. agents: names (`gs2.play.agent_names`). pairs: of games of each match. seed: of chance,
    of the agents' choices, and of what each of them trains or searches, which is the same in every match.
    by: what the agents are ordered by, "points" or "elo". terms: as of a `Meeting`.
    Raises MeetingError for fewer than two agents, one that comes twice, or another order.
    """

    game: str
    agents: tuple[str, ...]
    pairs: int = 1000
    seed: int = 0
    by: str = "points"
    terms: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.by not in ORDERS:
            raise MeetingError(f"ladder: agents are ordered by {' or '.join(ORDERS)}; got {self.by!r}")
        if len(self.agents) < 2 or len(set(self.agents)) < len(self.agents):
            raise MeetingError(
                f"ladder: there must be two or more different agents; got {', '.join(self.agents) or 'none'}"
            )

    def meeting(self, i: int, j: int) -> Meeting:
        """Return the match between two agents, by their places."""
        a, b = self.agents[i], self.agents[j]
        return Meeting(self.game, a, b, self.pairs, self.seed, agent_seed=self.seed, terms=self.terms)

    def matches(self, teams: int) -> list[tuple[int, int]]:
        """Return the places of the agents of each match; of more than two teams the first is the one seat."""
        every = range(len(self.agents))
        return [(i, j) for i in every for j in every if i < j or (i > j and teams > 2)]


@dataclass(frozen=True, eq=False)
class Ladder:
    """A ladder and its ratings.

    labels: the agents' names, shortened for tables. points, elo: the ratings of each agent. net: [k, k]
    payoff a game of the row against the column, nan on the diagonal; with more than two teams that of the one
    seat of the row. won: [k, k], its share of the games, 1 / teams where both are as good. unit: of payoffs.
    """

    plan: LadderPlan
    labels: tuple[str, ...]
    points: tuple[Estimate, ...]
    elo: tuple[Estimate, ...]
    net: NDArray[np.float64]
    won: NDArray[np.float64]
    teams: int
    unit: str = "payoff a game"

    @property
    def order(self) -> list[int]:
        """Agents from the strongest to the weakest."""
        return sorted(range(len(self.labels)), key=lambda k: -self.ratings[k].mean)

    @property
    def ratings(self) -> tuple[Estimate, ...]:
        """The ratings that the agents are ordered by."""
        return self.points if self.plan.by == "points" else self.elo

    def won_of_all(self, k: int) -> float:
        """Return the share of its games that agent k wins, the mean over its opponents."""
        return float(np.nanmean(self.won[k]))

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON; None on the diagonals."""

        def plain(table: NDArray[np.float64]) -> list[list[float | None]]:
            return [[None if np.isnan(x) else float(x) for x in row] for row in table]

        return {
            "game": self.plan.game,
            "agents": list(self.plan.agents),
            "pairs": self.plan.pairs,
            "seed": self.plan.seed,
            "by": self.plan.by,
            **self.plan.terms,
            "unit": self.unit,
            "teams": self.teams,
            "points": [asdict(rating) for rating in self.points],
            "elo": [asdict(rating) for rating in self.elo],
            "net": plain(self.net),
            "won": plain(self.won),
        }


def play_ladder(
    plan: LadderPlan,
    *,
    arena: Arena | None = None,
    output: Path | None = None,
    progress: Callable[[int, MeetingResult], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Ladder | None:
    """Return the ladder after every match, None if it was stopped.

    arena: where the agents meet; None for one of this process, which loads each of them once. output: folder
        of one result file for each match, to go on from. progress: called with the pairs of games played so
        far and the match under way. stop: as of `Arena.play`.
    Raises LockHeld if another process plays in the folder, and what `Arena.play` raises.
    """
    folder = None if output is None else check_folder(output)
    played: dict[tuple[int, int], PlayedGames] = {}
    with (
        Arena(contest_of(plan.game, plan.terms)) if arena is None else nullcontext(arena) as place,
        nullcontext() if folder is None else hold(folder, folder=True),
    ):
        contest = place.contest
        for name in plan.agents:
            contest.check(name, plan.seed)
        for i, j in plan.matches(max(contest.teams) + 1):
            before = plan.pairs * len(played)
            found = place.play(
                plan.meeting(i, j),
                output=None if folder is None else _file(folder, plan.agents[i], plan.agents[j]),
                progress=None if progress is None else _ahead(progress, before),
                stop=stop,
            )
            if not found.complete:
                return None
            played[i, j] = found.games
    try:
        with breaking(stop):
            return rate(plan, played, np.random.default_rng([plan.seed, 0x1ADD]), unit=contest.unit)
    except Interrupted:
        return None


def rate(
    plan: LadderPlan,
    played: dict[tuple[int, int], PlayedGames],
    rng: np.random.Generator,
    *,
    resamples: int = RESAMPLES,
    unit: str = "payoff a game",
) -> Ladder:
    """Return the ladder of agents that played the same numbered games.

    played: of every match of the plan, by the places of its agents. unit: of payoffs, in words.
    Intervals: 95 % percentile bootstrap over pairs of games, one draw for all matches: they share chance.
    Raises MeetingError if a match is missing, is of other pairs, or does not tell who won.
    """
    k, n = len(plan.agents), plan.pairs
    teams = {games.payoffs.shape[1] for games in played.values()} or {2}
    matches = plan.matches(max(teams))
    same = all(np.array_equal(games.numbers, np.arange(n)) for games in played.values())
    if set(played) != set(matches) or len(teams) != 1 or not same:
        raise MeetingError(
            f"ladder: every match of {k} agents must have the pairs 0 to {n - 1}; got {len(played)} of "
            f"{len(matches)} matches; play the others"
        )
    sides = teams.pop()
    won = np.array([played[match].won.sum(1) for match in matches])
    one, others = np.array(matches).T
    meetings = Meetings(one, others, np.full(len(matches), float(sides * n)), sides - 1)

    paid = np.array([played[match].net for match in matches])

    def both(samples: NDArray[np.int64]) -> NDArray[np.float64]:
        elo = [luce_strengths(k, meetings, won[:, taken].sum(1)) for taken in samples]
        points = [_points(k, meetings, paid[:, taken].mean(1)) for taken in samples]
        return np.array([points, elo]).transpose(0, 2, 1)

    low, high = bootstrap_intervals(np.arange(n), both, rng, resamples=resamples)
    best = both(np.arange(n)[None])[:, :, 0]
    points, elo = (
        tuple(
            Estimate(float(x), float(a), float(b), n)
            for x, a, b in zip(best[what], low[what], high[what], strict=True)
        )
        for what in (0, 1)
    )
    net, share = np.full((k, k), np.nan), np.full((k, k), np.nan)
    for (i, j), wins in zip(matches, won, strict=True):
        net[i, j], share[i, j] = played[i, j].net.mean(), wins.mean() / sides
        if sides == 2:
            net[j, i], share[j, i] = -net[i, j], 1 - share[i, j]
    return Ladder(plan, short_names(plan.agents), points, elo, net, share, sides, unit)


def _points(agents: int, meetings: Meetings, paid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each agent's payoff a game against one drawn from all, [agents]. paid: [m] of the one seat.

    Source: least squares with paid = points of the one seat's agent - points of the others' (Massey 1997),
    which a whole round robin solves by means.
    """
    edge = np.zeros((agents, agents))
    edge[meetings.one, meetings.others] = paid
    # of two sides one match tells both; of more, half of what each seat alone came to
    edge = (edge - edge.T) / (1 if meetings.seats == 1 else 2)
    points: NDArray[np.float64] = edge.mean(1)
    return points


def plot_ladder(ladder: Ladder, path: Path) -> None:
    """Draw the ratings with their intervals, and the payoff a game of every pair; needs matplotlib.

    path: .svg, .png or .pdf.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    order = ladder.order
    names, count, y = [ladder.labels[k] for k in order], len(order), np.arange(len(order))
    by_points = ladder.plan.by == "points"
    unit, digits = (ladder.unit, 2) if by_points else ("Elo points", 0)
    figure = Figure(figsize=(5.5 + 0.62 * count, max(1.2 + 0.42 * count, 2.4)), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, width_ratios=[4.0, 0.5 + 0.62 * count])
    mean, low, high = np.array([[r.mean, r.low, r.high] for r in (ladder.ratings[k] for k in order)]).T
    ends = np.maximum([mean - low, high - mean], 0)
    left.errorbar(mean, y, xerr=ends, fmt="o", color="#1f4e79", capsize=3, markersize=5)
    for k, value in enumerate(mean):
        words = f"{round(value, digits) + 0.0:.{digits}f}"
        left.annotate(words, (value, k), (0, 6), textcoords="offset points", ha="center", fontsize=8)
    left.set_yticks(y, names)
    left.set_ylim(count - 0.5, -0.7)
    left.set_xlabel(f"rating in {unit}, 95 % interval")
    left.grid(axis="x", alpha=0.3)
    table = ladder.net[np.ix_(order, order)]
    most = max(float(np.nanmax(np.abs(table))), 1e-9)
    right.imshow(table, cmap="RdBu", vmin=-most, vmax=most)
    for i, j in zip(*np.nonzero(~np.isnan(table)), strict=True):
        color = "white" if abs(table[i, j]) > 2 / 3 * most else "black"
        right.text(
            j, i, f"{round(table[i, j], 2) + 0.0:+.2f}", ha="center", va="center", fontsize=8, color=color
        )
    right.set_xticks(y, names, rotation=45, ha="right")
    right.set_yticks(y, names)
    right.set_title(f"{ladder.unit}, row against column", fontsize=10)
    figure.savefig(path, dpi=150)


def _ahead(progress: Callable[[int, MeetingResult], None], before: int) -> Callable[[MeetingResult], None]:
    return lambda found: progress(before + len(found.games.numbers), found)


def _file(folder: Path, a: str, b: str) -> Path:
    """Return a match's file: named readably, and otherwise for every two agents."""
    readable = re.sub(r"[^\w.@-]+", "_", f"{a}--{b}")
    return folder / f"{readable[-120:]}-{zlib.crc32(f'{a} {b}'.encode()):08x}.jsonl"


ELO = 400 / np.log(10)
"""Points of one unit of log odds."""
PENALTY = 100.0
"""Variance of the strengths' prior, games counted one by one: a standard deviation of 10 in log odds (4,300
points). It keeps an agent that won or lost every game at a finite rating and moves no other by a point at
hundreds of games."""
STEPS, HALVINGS = 60, 40
"""Newton steps at most, and how often one is halved that leads down."""
FLAT = 1e-9
"""Largest part of a gradient, games counted one by one, at which the summit is reached."""


@dataclass(frozen=True, eq=False)
class Meetings:
    """Who played one seat against others in how many games.

    one, others: [m] int64, the agent of the one seat and that of all the others. games: [m] how many.
    seats: of the others, 1 in a game of two sides.
    """

    one: NDArray[np.int64]
    others: NDArray[np.int64]
    games: NDArray[np.float64]
    seats: int


def luce_strengths(agents: int, meetings: Meetings, won: Array) -> NDArray[np.float64]:
    """Return the strength of each agent, [agents] float64, in Elo points of mean zero.

    won: [m] games that the one seat won, shared wins in part.
    Raises ValueError for wins below zero or above the games played.
    """
    won, games = np.asarray(won, np.float64), meetings.games
    if won.shape != games.shape or won.min(initial=0) < 0 or np.any(won > games):
        raise ValueError(f"luce_strengths: wins must be in [0, games]; got {won} of {games}")
    rows = np.arange(len(won))
    design = np.zeros((len(won), agents))
    design[rows, meetings.one] = 1.0
    design[rows, meetings.others] -= 1.0

    def height(s: NDArray[np.float64]) -> float:
        x = design @ s - np.log(meetings.seats)
        return float((won * x - games * np.logaddexp(0, x)).sum() - (s @ s) / (2 * PENALTY))

    strengths = np.zeros(agents)
    for _ in range(STEPS):
        x = design @ strengths - np.log(meetings.seats)
        p = np.exp(-np.logaddexp(0, -x))
        slope = design.T @ (won - games * p) - strengths / PENALTY
        if np.abs(slope).max(initial=0) < FLAT * max(1.0, games.sum()):
            break
        bend = (design.T * (games * p * (1 - p))) @ design + np.eye(agents) / PENALTY
        step, here = np.linalg.solve(bend, slope), height(strengths)
        for _ in range(HALVINGS):
            if height(strengths + step) >= here:
                break
            step = step / 2
        strengths = strengths + step
    found: NDArray[np.float64] = ELO * (strengths - strengths.mean())
    return found


def short_names(agents: Sequence[str]) -> tuple[str, ...]:
    """Return the agents' names with paths cut to the file's stem, where that stays unique."""
    short = [re.sub(r"[^@]*/|\.safetensors$", "", name) for name in agents]
    return tuple(s if short.count(s) == 1 else name for s, name in zip(short, agents, strict=True))
