"""Ratings of agents from who won how often against whom, and their picture; of any game.

Two sides: agent i wins against j with probability 1 / (1 + exp(s_j - s_i)), by Bradley & Terry 1952. One seat
against several of the other agent's, each for itself: the winner is one of all seats with probability
proportional to exp(s), so that even agents win one game in as many as there are seats. Source of the latter:
Luce 1959, of which the former is the case of two. Strengths are on the Elo scale of 400 points for odds of
ten to one, mean zero.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from games.support.array_types import Array

__all__ = [
    "ELO",
    "PENALTY",
    "Meetings",
    "RatingPicture",
    "draw_ratings",
    "luce_strengths",
    "short_names",
]

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


@dataclass(frozen=True, eq=False)
class RatingPicture:
    """Ratings to be drawn, the best agent first.

    names: [k]. ratings: [k, 3], each with the ends of its interval: mean, low, high. table: [k, k], payoffs
    of the row against the column, nan on the diagonal. title: of the table. most: the payoff of full colour.
    unit: of the ratings. digits: of theirs behind the point.
    """

    names: Sequence[str]
    ratings: NDArray[np.float64]
    table: NDArray[np.float64]
    title: str
    most: float
    unit: str = "Elo points"
    digits: int = 0


def draw_ratings(picture: RatingPicture, path: str | Path) -> None:
    """Draw ratings with their intervals, and what each pair paid; needs matplotlib.

    path: .svg, .png or .pdf.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    names, count = list(picture.names), len(picture.names)
    size = 1.2 + 0.42 * count
    figure = Figure(figsize=(5.5 + 0.62 * count, max(size, 2.4)), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, width_ratios=[4.0, 0.5 + 0.62 * count])
    y = np.arange(count)
    mean, low, high = picture.ratings.T
    ends = np.array([mean - low, high - mean])
    left.errorbar(mean, y, xerr=np.maximum(ends, 0), fmt="o", color="#1f4e79", capsize=3, markersize=5)
    for k, value in enumerate(mean):
        words = f"{value:.{picture.digits}f}"
        left.annotate(words, (value, k), (0, 6), textcoords="offset points", ha="center", fontsize=8)
    left.set_yticks(y, names)
    left.set_ylim(count - 0.5, -0.7)
    left.set_xlabel(f"rating in {picture.unit}, 95 % interval")
    left.grid(axis="x", alpha=0.3)
    table, most = picture.table, picture.most
    right.imshow(table, cmap="RdBu", vmin=-most, vmax=most)
    for i in range(count):
        for j in range(count):
            if i != j:
                color = "white" if abs(table[i, j]) > 2 / 3 * most else "black"
                right.text(j, i, f"{table[i, j]:+.2f}", ha="center", va="center", fontsize=8, color=color)
    right.set_xticks(y, names, rotation=45, ha="right")
    right.set_yticks(y, names)
    right.set_title(picture.title, fontsize=10)
    figure.savefig(path, dpi=150)
