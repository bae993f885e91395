"""What an environment tells a seat: a row of numbers of what it knows, and nothing of what is hidden from it.

- `rows`: the bits that gs2's own networks of DouDiZhu and Big2 are shown (`blueprint.climbing.inputs`);
- `game`: the features that the game offers;
- `words`: the words of the infoset, hashed to 1,024 places;
- `key`: the bits of the infoset key: exact, and hard to learn from;
- and those that a game registers (`gs2.wings`).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from blueprint.climbing.inputs.move_inputs import MoveInputs, RowInputs, move_inputs
from blueprint.research.infoset_features import InfosetFeatures, feature_kind
from games.game import Game, GameError
from games.support.array_types import Array
from gs2.wings import own_part

__all__ = ["VIEWS", "SeatView", "seat_view"]

VIEWS = ("auto", "rows", "game", "words", "key")


class SeatView(Protocol):
    """What seats see. width: numbers of a row. low, high: between which they lie. dtype: theirs."""

    width: int
    low: float
    high: float
    dtype: type[np.uint8] | type[np.int8] | type[np.float32]

    def of(self, states: Array, seat: int, acts: bool) -> Array:
        """Return what a seat knows at one state, [width]. acts: whether it is to act there."""
        ...


class _Rows:
    """The rows of networks whose inputs are moves."""

    low = 0.0
    dtype: type[np.uint8] | type[np.int8] | type[np.float32] = np.uint8

    def __init__(self, inputs: MoveInputs) -> None:
        self.inputs, self.width = inputs, inputs.seat_bits
        self.high = 255.0 if isinstance(inputs, RowInputs) else 1.0

    def of(self, states: Array, seat: int, acts: bool) -> Array:
        out = np.empty((1, self.width), np.uint8)
        at = np.ascontiguousarray(states)
        self.inputs.write_seats(at, np.zeros(1, np.int64), np.array([seat]), out)
        row: Array = out[0]
        return row


class _Features:
    """What networks see in games of any kind."""

    def __init__(self, game: Game, kind: str) -> None:
        self.features = InfosetFeatures(game, kind)
        self.width = self.features.width
        own = self.features.kind == "game"  # numbers of any size; those of words and keys are bits
        self.low, self.high = (-np.inf, np.inf) if own else (0.0, 1.0)
        self.dtype: type[np.uint8] | type[np.int8] | type[np.float32] = np.float32 if own else np.uint8

    def of(self, states: Array, seat: int, acts: bool) -> Array:
        row: Array = self.features.of(states, seat, np.array([acts]))[0].astype(self.dtype, copy=False)
        return row


def seat_view(game: Game, kind: str = "auto") -> SeatView:
    """Return what seats of a game are told.

    kind: of VIEWS, or of the game's own; auto is its first own one, else the first of VIEWS that it has.
    Raises GameError if it does not have what is wanted.
    """
    part = own_part(game.name, "environment")
    own = {} if part is None else part.views
    if kind in own or (own and kind == "auto"):
        found: SeatView = own[next(iter(own)) if kind == "auto" else kind](game)
        return found
    known = (*VIEWS, *own) if hasattr(game, "infoset_key") else ("auto", *own)
    if kind not in known:
        raise GameError(f"{game.name}: observation is one of {', '.join(known)}; got {kind!r}")
    if kind == "rows" or (kind == "auto" and getattr(game, "moves_are_inputs", False)):
        return _Rows(move_inputs(game))
    return _Features(game, feature_kind(game, kind))
