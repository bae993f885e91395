"""What the results of a round are worth to who plays it: levels, or in a match the chance of winning it.

A round that is part of a match says so in its state (`fails`). What its results are worth there follows from
how often rounds between equals end in each way; these frequencies are of the shipped network's own play.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from games.guandan.matches.chances import RESULTS, MatchChances, solve_chances
from games.guandan.rounds.state import NOBODY
from games.guandan.rules import RULING, Rules, ace_rules
from games.support.array_types import Array

OBJECTIVES = ("match", "levels")
"""What may be maximised in a match; in a round for itself it is levels."""
FREQUENCIES = (
    (2017, 807, 1034, 850, 445, 817),
    (898, 437, 580, 602, 293, 610),
    (2282, 1042, 1193, 1174, 551, 1066),
)
"""Rounds that ended with 3, 2, 1, -1, -2, -3 for the team that won the one before by 1, 2, 3 levels.

Of the shipped network against itself: `python -m studies.training.frequencies --matches 1500 --seed 5`.
One level leads to more wins than two: then the own team pays the tribute, and leads the next round.
"""
_LEVELS = np.asarray(RESULTS, np.float64)


@lru_cache(maxsize=8)
def match_chances(rules: Rules = RULING) -> MatchChances:
    """Return the chances of a match between equals that play like the shipped network."""
    often = np.array(FREQUENCIES, np.float64)
    return solve_chances(often / often.sum(1, keepdims=True), rules)


def in_match(states: Array) -> NDArray[np.bool_]:
    """Return which rounds are part of a match, [n] bool; states: [n] STATE."""
    found: NDArray[np.bool_] = states["fails"][:, 0] != NOBODY
    return found


def rounds_alone(states: Array) -> Array:
    """Return the rounds as if no match went on around them, [n] STATE."""
    alone = states.copy()
    alone["fails"] = NOBODY
    return alone


def result_worth(states: Array, seats: Array) -> NDArray[np.float64]:
    """Return what the results 3 to -3 of each round are worth to a seat's side, [n, 7], in levels.

    In a match they are worth what they add to the chance of winning it by its rules, scaled as levels are
    (`MatchChances.utilities`). states: [n] STATE; seats: [n].
    """
    worth = np.tile(_LEVELS, (len(states), 1))
    inside = in_match(states)
    for ace in np.unique(states["ace"][inside]).tolist():
        rows = np.flatnonzero(inside & (states["ace"] == ace))
        chances = match_chances(ace_rules(ace))
        worth[rows] = chances.utilities(states[rows], np.asarray(seats)[rows])
    return worth
