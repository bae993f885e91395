"""What an environment shows of GuanDan: what each listed move is, and the position in numbers.

    from gs2.environments.game_env import GameEnv

    env = GameEnv("guandan(moves=canonical)")
    match = GameEnv("guandan_match(rules=njupt)", observation="openguandan")

`examples/guandan_masked_agent.py` trains an agent on these rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

from games.guandan.cards import HAND_SIZE, TYPE_NAMES
from games.guandan.matches.match import Match
from games.guandan.matches.match_game import GuanDanMatch
from games.guandan.rounds.round import GuanDan
from games.guandan.views.features import (
    ACTION_WIDTH,
    OBSERVATION_WIDTH,
    STATE_WIDTH,
    action_features,
    observations,
    state_features,
)
from games.support.array_types import Array, Rows

__all__ = ["MOVE_SLICES", "MOVE_WIDTH", "ROWS", "move_features"]

_STAGES = ("tribute", "back", "play")
CANONICAL_MOVES = 384
"""More than a position has canonical moves: 15 singles, 15 pairs, 13 trips, 12 tubes, 13 * 14 full houses, 13
plates, 10 straights, 7 * 13 bombs, 10 straight flushes, the joker bomb and PASS."""
FULL_MOVES = 1 << 14
"""Well above the longest list seen (5,939 of 27 cards with two wild cards)."""
_TYPE, _RANK, _SIZE = ACTION_WIDTH, ACTION_WIDTH + len(TYPE_NAMES), ACTION_WIDTH + len(TYPE_NAMES) + 15
MOVE_SLICES = {
    "cards": slice(0, _TYPE),
    "type": slice(_TYPE, _RANK),
    "rank": slice(_RANK, _SIZE),
    "size": slice(_SIZE, _SIZE + 1),
}
"""Where each part of a move lies. cards: counts of the 54 cards, 0..2. type, rank: one-hot; types in the
order of `cards.TYPE_NAMES`, ranks 2..A, then the jokers. size: cards played, 0 for a PASS."""
MOVE_WIDTH = _SIZE + 1


def move_features(actions: Rows) -> NDArray[np.int8]:
    """Return what describes each move, [m, MOVE_WIDTH] int8; parts by name in MOVE_SLICES.

    actions: [m] ACTION.
    """
    out = np.zeros((len(actions), MOVE_WIDTH), np.int8)
    out[:, MOVE_SLICES["cards"]] = action_features(actions)
    rows = np.arange(len(actions))
    out[rows, _TYPE + actions["type"].astype(np.int64)] = 1
    out[rows, _RANK + actions["rank"].astype(np.int64)] = 1
    out[:, _SIZE] = out[:, MOVE_SLICES["cards"]].sum(1)
    return out


class _Moves:
    """Rows of listed moves; a tribute or return card is a single."""

    width, high, dtype = MOVE_WIDTH, HAND_SIZE, np.int8

    def __init__(self, game: GuanDan | GuanDanMatch) -> None:
        self.longest = CANONICAL_MOVES if game.canonical else FULL_MOVES

    def rows(self, states: Array, seat: int, legal: Rows) -> NDArray[np.int8]:
        """Return what each move is, [m, MOVE_WIDTH]."""
        return move_features(legal)


class _View:
    """The position as `encode` has it; of a match also its stage, one-hot: tribute, return or play."""

    low, high, dtype = -1, 2, np.int8

    def __init__(self, width: int, encode: Callable[..., Array], game: GuanDan | GuanDanMatch) -> None:
        self.encode, self.whole = encode, isinstance(game, GuanDanMatch)
        self.width = width + len(_STAGES) * self.whole

    def of(self, states: Array, seat: int, acts: bool) -> Array:
        """Return what a seat knows, [width]."""
        if not self.whole:
            row: Array = self.encode(states, seat)[0]
            return row
        match: Match = states[0].match
        stage = "play" if match.over else match.phase
        state = match.state
        if stage != "play":
            state = match.unplayed()
            state["left"] = np.minimum(state["left"], HAND_SIZE)  # whoever is to return a card has one more
        seen = self.encode(state, seat)[0]
        return np.append(seen, np.array([stage == name for name in _STAGES], np.int8))


ROWS = SimpleNamespace(
    moves=_Moves,
    views={
        "danzero": partial(_View, STATE_WIDTH, state_features),
        "openguandan": partial(_View, OBSERVATION_WIDTH, observations),
    },
)
"""What GuanDan brings to an environment (`gs2.wings`): `moves` and `views`, each called with the game."""
