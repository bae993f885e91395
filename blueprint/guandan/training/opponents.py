"""Sparring: in a share of the rounds others play one side, and only the network's own moves are learned.

A network that has only ever met itself goes on getting better against itself, not always against others. What
is learned stays what a move is worth to the network's side; the share says how often strangers sit opposite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.chooser import Chooser, Decisions, drawn
from blueprint.guandan.play.selfplay import PlayRecord
from games.support.array_types import Array

__all__ = ["SparringChooser"]

NOBODY = -1


class SparringChooser:
    """Plays all four seats of a batch of rounds, one side of some by strangers.

    strangers: those to be met, each as often as the others.
    """

    def __init__(
        self,
        chooser: Chooser,
        strangers: Sequence[Chooser],
        share: float,
        rounds: int,
        rng: np.random.Generator,
    ) -> None:
        """Draw in which of `rounds` rounds there is a stranger (`share` of them), who and on which side."""
        self.chooser, self.strangers = chooser, strangers
        who = rng.integers(len(strangers), size=rounds)
        self.who = np.where(rng.random(rounds) < share, who, NOBODY)
        self.side = rng.integers(2, size=rounds)

    def _playing(self, rows: NDArray[np.int64], seats: Array) -> NDArray[np.int64]:
        """Return which stranger decides in each of these rounds and seats, or NOBODY: the network."""
        return np.where(np.asarray(seats, np.int64) & 1 == self.side[rows], self.who[rows], NOBODY)

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        """Return one action per decision, as an index within its row."""
        return self.draw(decisions)[0]

    def draw(self, decisions: Decisions) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return one action per decision, as an index within its row, and its probability (0: not known)."""
        playing = self._playing(decisions.rows, decisions.seats)
        choice, chance = np.empty(len(decisions), np.int64), np.empty(len(decisions), np.float32)
        for k, chooser in enumerate((self.chooser, *self.strangers), NOBODY):
            mask = playing == k
            if mask.any():
                choice[mask], chance[mask] = drawn(chooser, decisions.where(mask))
        return choice, chance

    def own(self, record: PlayRecord) -> PlayRecord:
        """Return a record of these rounds without what strangers decided, neither kept nor counted.

        Their forced moves, of which a record only has the number, stay in it.
        """
        kept = self._playing(record.round, record.states["player"]) == NOBODY
        return replace(
            record,
            states=record.states[kept],
            actions=record.actions[kept],
            round=record.round[kept],
            chance=record.chance[kept],
            steps=record.steps - int((~kept).sum()),
        )
