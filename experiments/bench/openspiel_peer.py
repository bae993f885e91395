"""OpenSpiel's C++ CFR+ on the research games, to be timed beside ours."""

from __future__ import annotations

import time
from typing import Any

__all__ = ["OPENSPIEL", "Peer", "has_openspiel"]

_GOOFSPIEL = (
    "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards={},num_turns=3,points_order={},"
    "returns_type=point_difference))"
)
OPENSPIEL = {
    "leduc_poker": "leduc_poker",
    "liars_dice_6": "liars_dice(dice_sides=6)",
    "liars_dice_7": "liars_dice(dice_sides=7)",
    "goofspiel_5_random_3": _GOOFSPIEL.format(5, "random"),
    "goofspiel_10_ascending_3": _GOOFSPIEL.format(10, "ascending"),
    "goofspiel_12_ascending_3": _GOOFSPIEL.format(12, "ascending"),
}
"""The same games in OpenSpiel's terms."""


def has_openspiel() -> bool:
    """Return whether the extra is installed."""
    try:
        import pyspiel  # noqa: F401
    except ImportError:
        return False
    return True


class Peer:
    """OpenSpiel's C++ CFR+ on one game."""

    def __init__(self, name: str) -> None:
        import pyspiel

        self._pyspiel: Any = pyspiel
        self._game = pyspiel.load_game(name)
        self._solver: Any = None

    def fitting(self, seconds: float) -> int:
        """Return how many iterations fit, at least 1, judged by the first."""
        return max(1, min(1000, int(seconds * 1e3 / self.run_ms(1))))

    def run_ms(self, iterations: int) -> float:
        """Return processor milliseconds per iteration, from the start."""
        self._solver = self._pyspiel.CFRPlusSolver(self._game)
        began = time.process_time()
        for _ in range(iterations):
            self._solver.evaluate_and_update_policy()
        return (time.process_time() - began) / iterations * 1e3

    def exploitability_ms(self) -> float:
        """Return processor milliseconds of one NashConv of the last run's average policy."""
        policy = self._solver.average_policy()
        began = time.process_time()
        self._pyspiel.nash_conv(self._game, policy, True)
        return (time.process_time() - began) * 1e3
