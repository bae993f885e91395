"""What a strategy is worth where more than two seats decide, and what each of them could gain alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.best_response import best_response_value
from cfr.tree import FlatTree
from cfr.values import root_values
from games.game import Game

ALONE = (
    "each seat deviates alone, also from its partners. With more than two deciding seats, or payoffs that do "
    "not sum to zero, 0 means that the profile is a Nash equilibrium; a small value does not mean that it is "
    "nearly as good as one"
)
"""What the figures of `profile_worth` mean."""


def profile_worth(tree: FlatTree, probs: NDArray[np.float64]) -> dict[str, Any]:
    """Return what every seat gets and could get, in payoffs, as JSON says it.

    values: of each seat. best_response: what it gets by best-responding alone. gains: the difference.
    nash_conv: their sum. mean_gain: their mean. exploitability: half the sum, as in a game of two. value: to
    the first team.
    """
    values = root_values(tree, probs)
    best = np.array([best_response_value(tree, probs, seat) for seat in range(tree.n_players)])
    gains = best - values
    return {
        "value": float(values[tree.teams.index(0)]),
        "values": values.tolist(),
        "best_response": best.tolist(),
        "gains": gains.tolist(),
        "nash_conv": float(gains.sum()),
        "mean_gain": float(gains.mean()),
        "exploitability": float(gains.sum()) / 2,
        "meaning": ALONE,
    }


def worth_of_two(value: float, best: Sequence[float]) -> dict[str, Any]:
    """Return what a strategy for two seats is worth, in payoffs, as JSON says it.

    value: to player 0. best: what each player gets by best-responding alone.
    """
    both = sum(best)
    return {"value": value, "best_response": list(best), "nash_conv": both, "exploitability": both / 2}


def no_promise(tree: FlatTree) -> str:
    """Return why CFR may find no equilibrium of a tree that has no sequence form."""
    why = "payoffs that do not sum to zero" if not tree.zero_sum else "more than two seats that decide"
    return f"no guarantee: with {why} CFR need not find an equilibrium; exploitability says how near it came"


def shifted(game: Game) -> dict[str, float]:
    """Return what was taken from every payoff to make them sum to zero, as JSON says it; empty if nothing."""
    shift = float(getattr(game, "shift", 0.0))
    return {"shift": shift} if shift else {}


def shift_line(found: dict[str, Any]) -> str:
    """Return how to read values if payoffs were shifted to sum to zero, as `shifted` says; "" if not."""
    shift = found.get("shift", 0.0)
    words = f"payoffs of a constant sum, shifted to sum to zero: add {shift:g} to a player's values"
    return words if shift else ""
