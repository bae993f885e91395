"""Guidance: early in training a rule-based teacher makes a share of the decisions (SDMC, personality DMC).

The learner sees the teacher's actions and what they led to as its own, so that sensible lines of play are in
its data before its own values can find them. The share falls to zero, after which nothing of it remains.
Sources: OpenGuanDan's description of SDMC (Ge et al. 2024); personality-guided DMC (2025), section 3.4, which
draws the source of each action anew as we do. Neither gives the share or its course: those are ours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.chooser import Chooser, Decisions

__all__ = ["GuidedChooser", "guidance_share"]


def guidance_share(decisions: float, guide: float, share: float) -> float:
    """Return the probability that the teacher makes a decision: `share` at first, linearly 0 at `guide`.

    decisions: trained so far.
    """
    return share * max(0.0, 1.0 - decisions / guide) if guide > 0 else 0.0


class GuidedChooser:
    """A player whose decisions are each made by `teacher` with probability `share`, else by `chooser`."""

    def __init__(self, chooser: Chooser, teacher: Chooser, share: float, rng: np.random.Generator) -> None:
        self.chooser, self.teacher, self.share, self.rng = chooser, teacher, share, rng

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        """Return one action per decision, as an index within its row."""
        taught = self.rng.random(len(decisions)) < self.share
        choice = np.empty(len(decisions), np.int64)
        for mask, chooser in ((taught, self.teacher), (~taught, self.chooser)):
            if mask.any():
                choice[mask] = chooser(decisions.where(mask))
        return choice
