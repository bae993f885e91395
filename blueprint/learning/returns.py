"""What decisions led to: lambda-returns through a critic's values, of games with any teams."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from games.game import Game
from games.support.array_types import Array, Ints
from games.support.kernel import kernel


def shared_worth(game: Game) -> NDArray[np.float64]:
    """Return what one seat's worth says of another's, [seats, seats].

    1 within a team; -1 between two teams, where what one wins the other loses; 0 where it says nothing.
    """
    teams = np.array(game.teams)
    same = teams[:, None] == teams
    opposed = getattr(game, "zero_sum", True) and len(np.unique(teams)) == 2
    return np.where(same, 1.0, -1.0 if opposed else 0.0)


@kernel
def _lambda_returns(
    rounds: Ints,
    seats: Ints,
    values: NDArray[np.float64],
    shared: NDArray[np.float64],
    trace: float,
    running: NDArray[np.float64],
    out: NDArray[np.float32],
) -> None:
    """Walk the record backwards; `running` holds the lambda-return of each round for each seat."""
    for t in range(len(rounds) - 1, -1, -1):
        later, seat = running[rounds[t]], seats[t]
        out[t] = later[seat] - values[t]
        found = (1.0 - trace) * values[t] + trace * later[seat]
        for other in range(len(later)):
            if shared[seat, other] != 0:
                later[other] = shared[seat, other] * found


def lambda_returns(
    rounds: Ints, seats: Ints, values: Array, worth: Array, shared: NDArray[np.float64], trace: float
) -> NDArray[np.float32]:
    """Return the lambda-return of each decision minus its value, [n] float32, to who decides.

    rounds: [n] which round each decision belongs to, in order of play. seats: [n] who decides.
    values: [n] value of each state to who decides. worth: [rounds, seats], what each round came to.
    shared: of `shared_worth`; a return goes through the values of those whose worth says something.
    trace: lambda; 1 is plain Monte Carlo.
    """
    out, running = np.empty(len(rounds), np.float32), np.array(worth, np.float64)
    _lambda_returns(rounds, seats, np.asarray(values, np.float64), shared, trace, running, out)
    return out
