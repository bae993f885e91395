"""A tabular blueprint: action probabilities, action values and state values by infoset key."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from games.game import Game
from games.ragged import Ragged
from games.support.array_types import Array


class UnknownInfoset(ValueError):
    """A state whose infoset the table does not hold."""


@dataclass(frozen=True, eq=False)
class SeatTable:
    """What one seat knows, by infoset key.

    key: [I, key width] uint64, infosets where the seat acts. offset: [I + 1] int64; the entries of infoset i
        are `offset[i]:offset[i + 1]`. prob: [A] float64. q: [A] float64, in payoffs to the seat.
    seen_key: [K, key width] uint64, every infoset of the seat at any decision, its own or another's.
    seen_value: [K] float64, in payoffs to the seat.
    """

    key: NDArray[np.uint64]
    offset: NDArray[np.int64]
    prob: NDArray[np.float64]
    q: NDArray[np.float64]
    seen_key: NDArray[np.uint64]
    seen_value: NDArray[np.float64]

    def __post_init__(self) -> None:
        if len(self.offset) != len(self.key) + 1 or self.offset[-1] != len(self.prob):
            raise ValueError(
                "SeatTable: offset must have one entry per infoset and end at the number of actions"
            )
        if len(self.q) != len(self.prob) or len(self.seen_key) != len(self.seen_value):
            raise ValueError("SeatTable: prob and q, and seen_key and seen_value, must be of equal length")


class TabularBlueprint:
    """A blueprint from tables, one per seat; `gs2.tabulate` makes one of a policy on a tree."""

    def __init__(self, name: str, seats: tuple[SeatTable, ...]) -> None:
        """Index the tables. name: what to call the blueprint in results."""
        self.name = name
        self.seats = seats
        self._own = tuple(KeyIndex(seat.key) for seat in seats)
        self._seen = tuple(KeyIndex(seat.seen_key) for seat in seats)

    def q(self, game: Game, states: Array, player: int, actions: Ragged) -> NDArray[np.float64]:
        """Return the value to `player` of each action, [m] float64, when play goes on by the blueprint.

        Raises UnknownInfoset for a state that the table does not hold.
        """
        return self._entries(self.seats[player].q, game, states, player, actions)

    def policy(self, game: Game, states: Array, player: int, actions: Ragged) -> NDArray[np.float64]:
        """Return the probability of each action, [m] float64.

        Raises UnknownInfoset for a state that the table does not hold.
        """
        return self._entries(self.seats[player].prob, game, states, player, actions)

    def value(self, game: Game, states: Array, player: int) -> NDArray[np.float64]:
        """Return the value to `player` of each decision state, [n] float64, from what it knows there.

        Raises UnknownInfoset for a state that the table does not hold.
        """
        row = self._rows(self._seen[player], game, states, player)
        return self.seats[player].seen_value[row]

    def _entries(
        self, table: NDArray[np.float64], game: Game, states: Array, player: int, actions: Ragged
    ) -> NDArray[np.float64]:
        row = self._rows(self._own[player], game, states, player)
        found = Ragged(self.seats[player].offset, table).take(row)
        if not np.array_equal(found.offsets, actions.offsets):
            raise ValueError(
                f"{self.name}: actions must be all legal actions of each state, in the game's order; "
                f"got {len(actions.values)} for states that have {len(found.values)}"
            )
        return found.values

    def _rows(self, index: KeyIndex, game: Game, states: Array, player: int) -> NDArray[np.int64]:
        row = index.find(game.infoset_key(states, player))
        if np.any(row < 0):
            text = game.infoset_text(states[int(np.argmax(row < 0))], player)
            raise UnknownInfoset(
                f"{self.name}: the table must hold the infoset; {text!r} is not there; is it for {game.name}?"
            )
        return row


class KeyIndex:
    """Rows of distinct keys, found by bisection."""

    def __init__(self, keys: NDArray[np.uint64]) -> None:
        scalars = _scalars(keys)
        self._order = np.argsort(scalars, kind="stable")
        self._sorted = scalars[self._order]

    def find(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the row of each key, [n] int64; -1 where there is none."""
        if len(self._sorted) == 0:
            return np.full(len(keys), -1, np.int64)
        wanted = _scalars(keys)
        at = np.minimum(np.searchsorted(self._sorted, wanted), len(self._sorted) - 1)
        return np.where(self._sorted[at] == wanted, self._order[at], -1)


def _scalars(keys: NDArray[np.uint64]) -> Array:
    """Return each key as one sortable scalar, [n]: the word itself, or several words as raw bytes."""
    if keys.shape[1] == 1:
        return np.ascontiguousarray(keys[:, 0], np.uint64)
    words = np.ascontiguousarray(keys, ">u8")
    return words.view(np.dtype((np.void, 8 * keys.shape[1])))[:, 0]
