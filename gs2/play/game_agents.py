"""Who plays a game: agents that answer from an infoset, and those that also ask how the game came to it.

An agent decides in batches, by `policy(game, states, player, actions)` of `blueprint.protocol.GameAgent`. It
is handed states, of which it may use what its player sees: `infoset_key`, `infoset_text` and `actions`. One
that needs the way to the infoset, such as a search that samples the hidden part, has `asks_trails = True`,
and its `policy` gets `trails` as well, a `SeatTrail` for each state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import GameAgent
from games.game import Game
from games.infosets.trail import SeatTrail
from games.ragged import Ragged
from games.support.array_types import Array
from games.support.contract import ContractError

__all__ = ["AnswerFault", "Trails", "answers", "asks_trails"]

SUM_TOLERANCE = 1e-5
"""How far the probabilities of a row may sum from 1: float32 softmaxes over some hundred actions."""


class AnswerFault(ContractError):
    """An agent whose answer is no policy."""


Trails = Sequence[SeatTrail] | None
"""Of one player, one for each state; None where nobody keeps them."""


def asks_trails(agent: GameAgent) -> bool:
    """Return whether an agent is to be told how each game came to where it stands."""
    return bool(getattr(agent, "asks_trails", False))


def answers(
    agent: GameAgent,
    game: Game,
    states: Array,
    player: int,
    actions: Ragged,
    trails: Trails = None,
) -> NDArray[np.float64]:
    """Return an agent's probabilities, [m] float64, each row summing to 1 exactly as far as floats do.

    trails: of `player`, one for each state, if they are known; for agents that ask for them.
    Raises AnswerFault where they are no probabilities.
    """
    told: dict[str, Any] = {} if trails is None or not asks_trails(agent) else {"trails": trails}
    found = np.asarray(agent.policy(game, states, player, actions, **told), np.float64)
    if found.shape != actions.values.shape[:1]:
        raise AnswerFault(
            f"{agent.name}: a policy must have one probability for each of {len(actions.values)} actions; "
            f"got an array of shape {found.shape}; see blueprint/protocol.py"
        )
    total = np.bincount(actions.rows, found, minlength=len(actions))
    # nan compares as False, so the test is for what must hold
    if len(found) and not (found.min() >= 0 and np.all(np.abs(total - 1) <= SUM_TOLERANCE)):
        bad = int(np.argmax(~(np.abs(total - 1) <= SUM_TOLERANCE) | (_least(found, actions) < 0)))
        raise AnswerFault(
            f"{agent.name}: probabilities must not be negative and must sum to 1; got "
            f"{found[actions.offsets[bad] : actions.offsets[bad + 1]].tolist()} at "
            f'"{game.infoset_text(states[bad], player)}"; see blueprint/protocol.py'
        )
    scaled: NDArray[np.float64] = found / np.repeat(total, actions.counts)
    return scaled


def _least(values: NDArray[np.float64], actions: Ragged) -> NDArray[np.float64]:
    """Return the smallest value of each row, none of which is empty, [n] float64."""
    found: NDArray[np.float64] = np.minimum.reduceat(values, actions.offsets[:-1])
    return found
