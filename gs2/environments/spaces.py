"""What an environment shows and how it numbers moves.

A seat is told a row of numbers of what it knows, and nothing of what is hidden from it:

- `rows`: the bits that gs2's own networks of games whose moves are inputs are shown;
- `game`: the features that the game offers;
- `words`: the words of the infoset, hashed to 1,024 places;
- `key`: the bits of the infoset key: exact, and hard to learn from;
- and those that a game registers (`gs2.wings`).

Moves have a fixed number each, or places in a list with features:

- `table`: the number that an action is, for games that say below which their moves' numbers lie
  (`move_numbers`). A number is one move everywhere, so that a mask over a network's columns is all there is.
- `listed`: places in the list of legal moves; a row of bits says what each does. For games whose moves are
  inputs (`moves_are_inputs`): the rows are those that gs2's own networks are shown. Where moves are sets of
  cards, a fixed space would have some 20,000 numbers, nearly all of them never legal in a round, and what is
  learned of one would say nothing of the next. A game may register rows of its own (`gs2.wings`).
- `found`: a number for each action that random plays come across, for games with few distinct actions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from blueprint.climbing.move_inputs import RowInputs, move_inputs
from blueprint.protocol import MoveInputs
from blueprint.research.infoset_features import ActionColumns, InfosetFeatures, feature_kind, scalar_actions
from games.game import Game, GameError
from games.support.array_types import Array
from gs2.wings import own_part

MOVE_KINDS = ("auto", "table", "listed", "found")
LONGEST = 1024
"""Length of a list of moves where the game does not say what none of its lists exceeds (`longest_list`)."""


class MoveSpace:
    """How moves are numbered: here they are numbers themselves, size of them.

    width: of a listed move's row, 0 where a number says all. high, dtype: of the numbers of such a row, which
    begin at 0. rows: called with a state [1], a seat that acts there and its legal actions for what each of
    them does, [m, width].
    """

    width, high = 0, 1
    dtype: type[np.uint8] | type[np.int8] = np.uint8
    rows: Callable[[Array, int, Array], Array]

    def __init__(self, size: int) -> None:
        self.size = size

    def numbers(self, legal: Array) -> NDArray[np.int64]:
        """Return the number of each legal action, [m] int64, each another.

        Raises GameError if one has none.
        """
        return np.asarray(legal, np.int64)


class _FoundMoves(MoveSpace):
    """The actions that random plays of a game come across, in order of their values."""

    def __init__(self, game: Game, looks: int) -> None:
        self.name = game.name
        # more looks only add: the numbers of one environment are those of the next
        known = [ActionColumns.sampled(game, np.random.default_rng(k))[0].known for k in range(looks)]
        self.known = np.unique(np.concatenate(known))
        super().__init__(len(self.known))

    def numbers(self, legal: Array) -> NDArray[np.int64]:
        values = scalar_actions(legal)
        at: NDArray[np.int64] = np.minimum(np.searchsorted(self.known, values), self.size - 1)
        unknown = np.flatnonzero(self.known[at] != values)
        if len(unknown):
            raise GameError(
                f"{self.name}: each move must have a number; random plays did not come across "
                f"{legal[unknown[0]]!r}; make the environment with greater looks"
            )
        return at


class _InputRows:
    """The rows of moves that are inputs of networks. longest: of a list, as far as is known."""

    dtype: type[np.uint8] | type[np.int8] = np.uint8

    def __init__(self, game: Game) -> None:
        self.inputs, self.longest = move_inputs(game), int(getattr(game, "longest_list", LONGEST))
        self.width, self.high = self.inputs.move_bits, 255 if isinstance(self.inputs, RowInputs) else 1

    def rows(self, states: Array, seat: int, legal: Array) -> Array:
        out = np.empty((len(legal), self.width), np.uint8)
        offsets = np.array([0, len(legal)])
        words = self.inputs.words(legal)
        at = np.ascontiguousarray(states)
        self.inputs.write_moves(at, np.zeros(1, np.int64), np.array([seat]), offsets, words, out)
        return out


class _ListedMoves(MoveSpace):
    """Places in the list of legal moves, with a row for each. shown: what the rows are."""

    def __init__(self, name: str, shown: Any, size: int | None) -> None:
        super().__init__(size or shown.longest)
        self.name, self.rows = name, shown.rows
        self.width, self.high, self.dtype = shown.width, shown.high, shown.dtype

    def numbers(self, legal: Array) -> NDArray[np.int64]:
        if len(legal) > self.size:
            raise GameError(
                f"{self.name}: {len(legal)} moves are legal but max_moves is {self.size}; make the "
                "environment with a greater one"
            )
        return np.arange(len(legal))


def move_space(game: Game, kind: str = "auto", *, max_moves: int | None = None, looks: int = 2) -> MoveSpace:
    """Return how the moves of a game are numbered.

    kind: of MOVE_KINDS; auto is `table` for games that have one, `listed` for others whose moves are inputs
        or have rows of their own, and `found` for the rest. max_moves: of a list. looks: at the game for
        `found`, 4,096 random plays each.
    Raises GameError if the game cannot be numbered so.
    """
    if kind not in MOVE_KINDS:
        raise GameError(f"{game.name}: moves is one of {', '.join(MOVE_KINDS)}; got {kind!r}")
    own = own_part(game.name, "environment")
    table = int(getattr(game, "move_numbers", 0))
    as_inputs = own is not None or bool(getattr(game, "moves_are_inputs", False))
    if kind == "auto":
        kind = "table" if table else "listed" if as_inputs else "found"
    if max_moves is not None and (kind != "listed" or max_moves < 1):
        raise GameError(
            f"{game.name}: max_moves must be at least 1, and moves listed; got {max_moves} for {kind}; leave "
            "it out"
        )
    if kind == "table":
        if not table:
            raise GameError(f"{game.name}: it has no table of moves; leave moves out")
        return MoveSpace(table)
    if kind == "found":
        if as_inputs:
            raise GameError(f"{game.name}: it has too many moves to find them by playing; leave moves out")
        if looks < 1:
            raise GameError(f"{game.name}: looks must be at least 1; got {looks}; leave it out")
        return _FoundMoves(game, looks)
    if not as_inputs:
        raise GameError(
            f"{game.name}: moves are listed only where something says what they do; leave moves out"
        )
    return _ListedMoves(game.name, _InputRows(game) if own is None else own.moves(game), max_moves)


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
    known = [*VIEWS, *own] if hasattr(game, "infoset_key") else ["auto", *own]
    if own and "rows" in known:
        known.remove("rows")  # they are no bits; such a game has views of its own
    if kind not in known:
        raise GameError(f"{game.name}: observation is one of {', '.join(known)}; got {kind!r}")
    if kind == "rows" or (kind == "auto" and getattr(game, "moves_are_inputs", False)):
        return _Rows(move_inputs(game))
    return _Features(game, feature_kind(game, kind))
