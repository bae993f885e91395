"""How long a tree takes to grow and to solve here, from a few random plays, before it is grown."""

from __future__ import annotations

import time

import numpy as np

from games.game import CHANCE, Game

__all__ = ["CFR_SECONDS", "GROWTH_SECONDS", "seconds_per_history", "words_of_seconds"]

GROWTH_SECONDS = 2.5e-7
"""Seconds that growing takes for each history besides what the game itself takes; measured on Leduc poker,
Liar's Dice and Goofspiel of 300,000 to 1.6 million histories: 1e-7 to 3.5e-7 on a shared core."""
CFR_SECONDS = 1e-9
"""Seconds of a CFR+ iteration for each history. Measured on the same: 3e-11 to 1.4e-9."""
PLAYS = 2048


def seconds_per_history(game: Game, rng: np.random.Generator, *, plays: int = PLAYS) -> float:
    """Return the seconds that growing a game's tree takes for each history, on this machine as busy as it is.

    plays: random plays in which the game is asked what a tree asks it.
    """
    states = np.repeat(game.root(), plays, axis=0)
    spent, asked = 0.0, 0
    while len(states):
        began = time.perf_counter()
        players, actions = game.player(states), game.actions(states)
        for seat in range(game.num_players):
            game.infoset_key(states, seat)
        going = np.flatnonzero(players >= CHANCE)
        pick = actions.offsets[:-1][going] + (rng.random(len(going)) * actions.counts[going]).astype(np.int64)
        asked += len(states)
        states = game.step(states, going, actions.values[pick])
        spent += time.perf_counter() - began
    return spent / asked + GROWTH_SECONDS


def words_of_seconds(seconds: float) -> str:
    """Return a time in words: 3 ms, 12 s, 4 min, 2.5 h, 12 days, 3e+06 years."""
    if seconds >= 1e4 * 365 * 86400:
        return f"{seconds / (365 * 86400):.1g} years"
    for unit, size in (("years", 365 * 86400.0), ("days", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0)):
        if seconds >= 2 * size or (unit == "s" and seconds >= 1):
            return f"{seconds / size:.2g} {unit}" if seconds < 100 * size else f"{seconds / size:,.0f} {unit}"
    return f"{seconds * 1e3:.2g} ms"
