"""Ratings of agents from who won how often against whom.

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

import numpy as np
from numpy.typing import NDArray

from games.support.array_types import Array

__all__ = [
    "ELO",
    "PENALTY",
    "Meetings",
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
