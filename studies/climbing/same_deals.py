"""Two players on the same deals, the first as each team in turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from games.support.array_types import Array, Ints

if TYPE_CHECKING:
    from blueprint.climbing.move_inputs import MoveInputs
    from blueprint.climbing.training.climbing_play import MoveRecord
    from blueprint.protocol import Agent, Decisions

__all__ = ["as_each_team"]


def as_each_team(
    inputs: MoveInputs, one: Agent, other: Agent, deals: Array
) -> Iterator[tuple[NDArray[np.bool_], MoveRecord]]:
    """Yield for each team the seats that the first player has, [players], and the rounds played so.

    deals: of states at which nobody has moved. The second player has all other seats.
    """
    from blueprint.climbing.training.climbing_play import play_in_lockstep
    from blueprint.protocol import shared_out

    teams = np.array(inputs.game.teams)
    for team in range(int(teams.max()) + 1):
        ours = teams == team

        def choose(d: Decisions, ours: NDArray[np.bool_] = ours) -> Ints:
            return shared_out(d, ~ours[d.seats], (one, other))[0]

        yield ours, play_in_lockstep(inputs, deals.copy(), choose)
