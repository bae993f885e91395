"""Rounds of DouDiZhu with an auction as rounds of the game in which seat 0 is the landlord.

After the auction the two games are one, but for the numbers of the seats. So what was trained where seat 0 is
the landlord can play at a table with calls; it knows nothing of what the calls said of the hands.
"""

from __future__ import annotations

import numpy as np

from games.climbing.doudizhu.doudizhu import DouDizhu
from games.climbing.doudizhu.round_state import CALLS, DEALS, NO_SEAT
from games.game import Game
from games.support.array_types import Array

__all__ = ["fixed_form", "fixed_history", "points_of_payoff"]


def fixed_form(game: Game) -> str | None:
    """Return the name of the game without the auction that a game has; None if it has none."""
    if not isinstance(game, DouDizhu) or not game.by_bid:
        return None
    return DouDizhu(ranks=game.ranks, spring=game.spring, returns=game.scoring).name


def fixed_history(history: Array, landlord: int) -> Array | None:
    """Return the actions of a round with an auction as those of `fixed_form`; None before it has a landlord.

    history: [steps] int64 actions from the root. landlord: its seat, NO_SEAT before there is one. Seat s is
        then seat (s - landlord) % 3.
    """
    if landlord == NO_SEAT:
        return None
    deals = history[history >= DEALS] - DEALS
    shares = deals[:, None] // np.array([1, 5, 25]) % 5
    turned = DEALS + np.roll(shares, -landlord, axis=1) @ np.array([1, 5, 25])
    return np.concatenate([turned, history[history < CALLS]]).astype(history.dtype)


def points_of_payoff(table: Game, played_as: Game, state: Array, seat: int) -> float:
    """Return by what a payoff of a game makes the points of the table (`Face.points`).

    played_as: the table's game, or that without its auction, in which no call has been a factor and the
    landlord's payoff is what one farmer pays. state: [1] at the table. seat: of the table.
    """
    if not isinstance(table, DouDizhu) or not isinstance(played_as, DouDizhu) or played_as.by_bid:
        return 1.0
    counted = table.scoring == "points"
    doubled = int(state["landlord"][0]) == seat and (counted or table.by_bid)
    called = max(int(state["bid"][0]), 1) if counted and table.by_bid else 1
    return float((1 + doubled) * called)
