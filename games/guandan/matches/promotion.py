"""Levels after a round: promotion, passing A, failing at A."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from games.guandan.cards import NUM_RANKS
from games.guandan.rounds.state import NOBODY
from games.guandan.rules import RULING, Rules
from games.support.array_types import Array

__all__ = ["Score", "score_round"]

ACE = NUM_RANKS - 1


@dataclass(frozen=True, eq=False)
class Score:
    """What rounds led to; arrays over n rounds.

    levels: [n, 2] uint8, rank code of each team's level. fails: [n, 2] uint8, its failures at A so far.
    drops: [n, 2] uint16, times it dropped back to 2. winner: [n] uint8, the team that has won the match, else
    NOBODY. drawn: [n] bool, the match ends without a winner by `max_drops`.
    """

    levels: NDArray[np.uint8]
    fails: NDArray[np.uint8]
    drops: NDArray[np.uint16]
    winner: NDArray[np.uint8]
    drawn: NDArray[np.bool_]


def score_round(
    order: Array,
    owner: Array,
    levels: Array,
    fails: Array,
    drops: Array,
    *,
    rules: Rules = RULING,
) -> Score:
    """Return levels, failures at A and the match's winner after rounds that ended in this order.

    order: [n, 4] seats as they finished. owner: [n], team at whose level the round was played, or NOBODY.
    levels, fails, drops: [n, 2], before the round.
    The first finisher's team rises by 3, 2 or 1 levels, never past A, as its other seat came second, third
    or last. A round that it owned at A wins the match unless that seat came last; any other round owned at A
    is a failure, and the third one drops the team to 2.
    """
    rows = np.arange(len(order))
    team = order[:, 0] % 2
    place = np.argmax(order == (order[:, :1] + 2) % 4, 1)
    owned = (owner != NOBODY) & (levels[rows, owner % 2] == ACE)
    enough = place == 1 if rules.ace_win == "double" else place < 3
    won = owned & (team == owner) & enough
    levels, fails, drops = levels.astype(np.int64), fails.astype(np.int64), drops.astype(np.int64)
    levels[rows, team] = np.minimum(levels[rows, team] + 4 - place, ACE)
    failed = owned & ~won
    if rules.ace_failure == "dweller":
        failed &= order[:, 3] % 2 == owner
    at = owner % 2
    fails[rows, at] += failed
    dropped = failed & (fails[rows, at] >= rules.ace_limit)
    bottom = np.where(team == owner, 1, 0) if rules.ace_promotes else 0
    levels[rows, at] = np.where(dropped, bottom, levels[rows, at])
    fails[rows, at] = np.where(dropped, 0, fails[rows, at])
    drops[rows, at] += dropped
    drawn = np.zeros(len(order), bool)
    if rules.max_drops is not None:
        drawn = ~won & (drops.sum(1) >= rules.max_drops)
    return Score(
        levels.astype(np.uint8),
        fails.astype(np.uint8),
        drops.astype(np.uint16),
        np.where(won, team, NOBODY).astype(np.uint8),
        drawn,
    )
