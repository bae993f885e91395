"""Ratings of many agents of any game: every pair of them meets on the same chance.

    ladder = play_game_ladder(GameLadderPlan("leduc_poker", ("cfr:100", "cfr:10", "uniform"), pairs=1000))
    ladder.order, ladder.points, ladder.elo

An agent has two ratings. Its points are the payoff a game against an agent drawn from the ladder, itself
included. Its Elo says how often it wins (`blueprint.ratings`): it wins a game if no team is paid more than
its own, and a shared win counts in part. The two need not agree. A good poker player folds, and so loses many
games for little; hence the order is by points unless it is asked for otherwise.

In a game of two teams each pair of agents plays one match, in which they swap the teams. In one of more teams
each is once the one seat and once all the others, so a pair plays two.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blueprint.ratings import Meetings, RatingPicture, draw_ratings, luce_strengths, short_names
from games.game import Game
from games.registry import load_game
from games.support.bootstrap import Estimate, bootstrap_intervals
from games.support.files import check_folder
from games.support.interruption import Interrupted, breaking
from games.support.locks import hold
from games.support.work.where import Place
from gs2.play.game_arena import AgentRoom, Meeting, MeetingError, MeetingResult, play_match
from gs2.play.game_match import PlayedGames, playing_teams

__all__ = ["ORDERS", "GameLadder", "GameLadderPlan", "play_game_ladder", "plot_game_ladder", "rate_games"]

ORDERS = ("points", "elo")
"""What the agents of a ladder may be ordered by."""
RESAMPLES = 400


@dataclass(frozen=True)
class GameLadderPlan:
    """Who meets whom on a ladder, and how often.

    game: its string. agents: names (`gs2.play.agent_names`). pairs: of games of each match. seed: of chance,
    of the agents' choices, and of what each of them trains or searches, which is the same in every match.
    by: what the agents are ordered by, "points" or "elo".
    Raises MeetingError for fewer than two agents, one that comes twice, or another order.
    """

    game: str
    agents: tuple[str, ...]
    pairs: int = 1000
    seed: int = 0
    by: str = "points"

    def __post_init__(self) -> None:
        if self.by not in ORDERS:
            raise MeetingError(f"ladder: agents are ordered by {' or '.join(ORDERS)}; got {self.by!r}")
        if len(self.agents) < 2 or len(set(self.agents)) < len(self.agents):
            raise MeetingError(
                f"ladder: there must be two or more different agents; got {', '.join(self.agents) or 'none'}"
            )

    def matches(self, teams: int) -> list[tuple[int, int]]:
        """Return the places of the agents of each match; of more than two teams the first is the one seat."""
        every = range(len(self.agents))
        return [(i, j) for i in every for j in every if i < j or (i > j and teams > 2)]


@dataclass(frozen=True, eq=False)
class GameLadder:
    """A ladder and its ratings.

    labels: the agents' names, shortened for tables. points, elo: the ratings of each agent. net: [k, k]
    payoff a game of the row against the column, nan on the diagonal; with more than two teams that of the one
    seat of the row. won: [k, k], its share of the games, 1 / teams where both are as good.
    """

    plan: GameLadderPlan
    labels: tuple[str, ...]
    points: tuple[Estimate, ...]
    elo: tuple[Estimate, ...]
    net: NDArray[np.float64]
    won: NDArray[np.float64]
    teams: int

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
            **asdict(self.plan),
            "agents": list(self.plan.agents),
            "teams": self.teams,
            "points": [asdict(rating) for rating in self.points],
            "elo": [asdict(rating) for rating in self.elo],
            "net": plain(self.net),
            "won": plain(self.won),
        }


def play_game_ladder(
    plan: GameLadderPlan,
    *,
    game: Game | None = None,
    output: Path | None = None,
    processes: int | Place = 1,
    progress: Callable[[int, MeetingResult], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> GameLadder | None:
    """Return the ladder after every match, None if it was stopped.

    game: the one that the plan names, where it is loaded already. output: folder of one result file for each
        match, to go on from. processes: as of `play_match`; one process loads each agent once. progress:
        called with the pairs of games played so far and the match under way. stop: asked between pieces.
    Raises LockHeld if another process plays in the folder, and what `play_match` raises.
    """
    room = AgentRoom(load_game(plan.game, general_sum=True) if game is None else game)
    folder = None if output is None else check_folder(output)
    played: dict[tuple[int, int], PlayedGames] = {}
    with nullcontext() if folder is None else hold(folder, folder=True):
        for i, j in plan.matches(max(playing_teams(room.game)) + 1):
            before = plan.pairs * len(played)
            names = plan.agents[i], plan.agents[j]
            found = play_match(
                Meeting(plan.game, *names, plan.pairs, plan.seed, agent_seed=plan.seed),
                game=room,
                output=None if folder is None else folder / _file_name(*names),
                processes=processes,
                progress=None if progress is None else _ahead(progress, before),
                stop=stop,
            )
            if not found.complete:
                return None
            played[i, j] = found.games
    try:
        with breaking(stop):
            return rate_games(plan, played, np.random.default_rng([plan.seed, 0x1ADD]))
    except Interrupted:
        return None


def rate_games(
    plan: GameLadderPlan,
    played: dict[tuple[int, int], PlayedGames],
    rng: np.random.Generator,
    *,
    resamples: int = RESAMPLES,
) -> GameLadder:
    """Return the ladder of agents that played the same numbered games.

    played: of every match of the plan, by the places of its agents.
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
    if np.isnan(won).any():
        raise MeetingError(
            "ladder: results must say who won; those of an earlier version do not; name another folder"
        )
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
    return GameLadder(plan, short_names(plan.agents), points, elo, net, share, sides)


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


def plot_game_ladder(ladder: GameLadder, path: Path) -> None:
    """Draw the ratings with their intervals, and the payoff a game of every pair; needs matplotlib."""
    order = ladder.order
    ratings = np.array([[r.mean, r.low, r.high] for r in (ladder.ratings[k] for k in order)])
    table = ladder.net[np.ix_(order, order)]
    most = max(float(np.nanmax(np.abs(table))), 1e-9)
    names, title = [ladder.labels[k] for k in order], "payoff, row against column"
    by_points = ladder.plan.by == "points"
    unit, digits = ("payoff a game", 2) if by_points else ("Elo points", 0)
    draw_ratings(RatingPicture(names, ratings, table, title, most, unit, digits), path)


def _ahead(progress: Callable[[int, MeetingResult], None], before: int) -> Callable[[MeetingResult], None]:
    return lambda found: progress(before + len(found.games.numbers), found)


def _file_name(a: str, b: str) -> str:
    """Return the name of a match's file: readable, and another one for every two agents."""
    readable = re.sub(r"[^\w.@-]+", "_", f"{a}--{b}")[-120:]
    return f"{readable}-{zlib.crc32(f'{a} {b}'.encode()):08x}.jsonl"
