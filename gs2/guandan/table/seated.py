"""An agent of a table's seat as a chooser, so that the arena can compare it with any other.

`ChooserSeat` in `gs2.guandan.table.agents` is the way back.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.chooser import Decisions
from games.guandan.cards import ACTION
from gs2.guandan.table.seat import AgentError, Observation, Seats

__all__ = ["ArenaObservation", "SeatedChooser"]


class ArenaObservation(Observation):
    """What a seat knows in the arena: as at a table, but for the order in which the round was played.

    Rounds are played in lockstep and nobody keeps their records: `actors` and `record` are empty, and `plays`
    is refused. What each seat played, in all and last, is in `state`. Of moves that have the same effect one
    is listed.
    """

    @property
    def plays(self) -> list[tuple[int, list[Any]]]:
        """Raise AgentError: there is none."""
        raise AgentError(
            "an agent in the arena cannot ask for the record of a round; use observation.state, or let it "
            "play at a table: gs2 serve"
        )


class SeatedChooser:
    """Plays the seats of each round by `seats`, as a table would. Tribute in whole games goes by rule."""

    def __init__(self, name: str, seats: Seats) -> None:
        self.name, self.seats = name, seats

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        """Return one action per decision, as an index within its row.

        Raises AgentError for an answer that is no index.
        """
        seen = [_observation(decisions.span(j, j + 1)) for j in range(len(decisions))]
        rows = decisions.rows.tolist()
        answers = self.seats.answers([((row, one.seat), one) for row, one in zip(rows, seen, strict=True)])
        try:
            return np.array([operator.index(answer) for answer in answers], np.int64)
        except TypeError:
            raise AgentError(
                f"agent {self.name}: it must answer with an index; got {answers!r:.80}"
            ) from None


def _observation(decision: Decisions) -> ArenaObservation:
    """Return what the seat of a single decision knows; the others' hands are empty."""
    seat = int(decision.seats[0])
    state = decision.states[decision.rows].copy()
    own = state["hand"][0, seat].copy()
    state["hand"] = 0
    state["hand"][0, seat] = own
    nobody, nothing = np.zeros(0, np.uint8), np.zeros(0, ACTION)
    return ArenaObservation(seat, "play", state, decision.actions, nobody, nothing)
