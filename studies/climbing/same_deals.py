"""Two players on the same deals, the first as each team in turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from games.support.array_types import Array

if TYPE_CHECKING:
    from blueprint.climbing.move_inputs import MoveInputs
    from blueprint.game_lockstep import PlayRecord
    from blueprint.protocol import Agent

__all__ = ["as_each_team"]


def as_each_team(
    inputs: MoveInputs, one: Agent, other: Agent, deals: Array
) -> Iterator[tuple[NDArray[np.bool_], PlayRecord]]:
    """Yield for each team the seats that the first player has, [players], and the rounds played so.

    deals: of states at which nobody has moved. The second player has all other seats.
    """
    from blueprint.climbing.move_inputs import InputLists
    from blueprint.game_lockstep import Seated, play_rounds

    teams = np.array(inputs.game.teams)
    for team in range(int(teams.max()) + 1):
        ours = teams == team
        seated = Seated((one, other), np.tile(~ours, (len(deals), 1)))
        yield ours, play_rounds(deals.copy(), seated, InputLists(inputs))
