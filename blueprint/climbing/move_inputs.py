"""Games whose moves are inputs: too many for a column each, so that the network is shown what a move does.

    inputs = move_inputs(game)
    states = inputs.deal(1024, rng)
    legal = inputs.legal(states)

Such a game says so itself (`moves_are_inputs`). Any game whose luck ends with the deal may be one, by
functions that say in bytes what a seat sees and what a move does (`RowGame`); a `games.SimpleGame` by `shows`
and `shows_move`. Others register kernels of their own (`blueprint.networks`).
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any, Protocol

import numpy as np

from blueprint.game_lockstep import GameLockstep
from blueprint.networks import OF_GAMES
from blueprint.protocol import MoveInputs, Untaught
from blueprint.row_layout import rows_hash
from games.game import CHANCE, TERMINAL, Game, GameError
from games.ragged import Ragged, pick_by
from games.support.array_types import Array, Bytes, Ints


class RowGame(Game, Protocol):
    """A game that says in bytes, 0 to 255 each, what a seat sees and what a move does.

    It may have `hidden_rows(states, seats)` as well: what is hidden from seats, for the critic of training.
    """

    moves_are_inputs: bool

    def seat_rows(self, states: Array, seats: Ints) -> Bytes:
        """Return what seats[k] sees at states[k], [n, width]: the same at all histories of an infoset."""
        ...

    def move_rows(self, states: Array, seats: Ints, rows: Ints, actions: Array) -> Bytes:
        """Return what actions[k] of seats[rows[k]] does at states[rows[k]], [m, width]."""
        ...


class RowInputs:
    """A game of anybody's that writes its own rows; its actions are int64."""

    action_type: Any = np.int64
    trial_rounds = 128
    untaught: Untaught | None = None
    past = None

    def __init__(self, game: RowGame) -> None:
        """Take the game. Raises GameError if it acts by chance after the deal, or its rows are none."""
        self.game: Game = game
        self._rows, self._hidden = game, getattr(game, "hidden_rows", None)
        first = self.deal(1, np.random.default_rng(0))
        seats, legal = self.game.player(first).astype(np.int64), game.actions(first)
        if legal.values.dtype != np.int64 or legal.values.ndim != 1:
            raise GameError(
                f"{game.name}: actions must be int64 numbers where moves are inputs; got {legal.values.dtype}"
            )
        whose = np.zeros(len(legal.values), np.int64)
        self.seat_bits = _width(game.seat_rows(first, seats), 1, f"{game.name}: seat_rows")
        moves = game.move_rows(first, seats, whose, legal.values)
        self.move_bits = _width(moves, len(whose), f"{game.name}: move_rows")
        self.hidden_bits = 0
        if self._hidden is not None:
            self.hidden_bits = _width(self._hidden(first, seats), 1, f"{game.name}: hidden_rows")
        self.others = game.num_players - 1
        widths = (("seat", self.seat_bits), ("move", self.move_bits), ("hidden", self.hidden_bits))
        self.layout = rows_hash(1, widths)

    def deal(self, n: int, rng: np.random.Generator) -> Array:
        states = np.ascontiguousarray(GameLockstep.begun(self.game, n, rng).states)
        while len(rows := np.flatnonzero(self.game.player(states) == CHANCE)):
            outcomes = self.game.actions(states[rows])
            picked = pick_by(outcomes, self.game.chance_probs(states[rows], outcomes), rng.random(len(rows)))
            states[rows] = self.game.step(
                states[rows], np.arange(len(rows)), outcomes.values[outcomes.offsets[:-1] + picked]
            )
        return states

    def legal(self, states: Array) -> Ragged:
        return self.game.actions(states)

    def act(self, states: Array, actions: Ints) -> None:
        states[:] = self.game.step(states, np.arange(len(states)), actions)
        if (self.game.player(states) == CHANCE).any():
            raise GameError(f"{self.game.name}: chance must not act after the deal where moves are inputs")

    def play_randomly(self, states: Array, rng: np.random.Generator) -> Array:
        states = states.copy()
        while len(rows := np.flatnonzero(self.game.player(states) != TERMINAL)):
            some = states[rows]
            legal = self.legal(some)
            even = 1 / np.repeat(legal.counts, legal.counts)
            self.act(some, legal.values[pick_by(legal, even, rng.random(len(rows))) + legal.offsets[:-1]])
            states[rows] = some
        return states

    def write_seats(self, states: Array, rows: Ints, seats: Ints, out: Bytes) -> None:
        self._fill(out[: len(rows), : self.seat_bits], self._rows.seat_rows(states[rows], seats), "seat_rows")

    def write_moves(
        self, states: Array, rows: Ints, seats: Ints, offsets: Ints, words: Ints, out: Bytes
    ) -> None:
        whose = np.repeat(np.arange(len(rows)), np.diff(offsets))
        self._fill(out[: len(words)], self._rows.move_rows(states[rows], seats, whose, words), "move_rows")

    def write_hidden(self, states: Array, rows: Ints, seats: Ints, out: Bytes, at: int = 0) -> None:
        if self._hidden is not None:
            place = out[: len(rows), at : at + self.hidden_bits]
            self._fill(place, self._hidden(states[rows], seats), "hidden_rows")

    def _fill(self, out: Bytes, rows: Bytes, what: str) -> None:
        if _width(rows, len(out), f"{self.game.name}: {what}") != out.shape[1]:
            raise GameError(
                f"{self.game.name}: {what} must be as wide at every history; got {rows.shape[1]} after "
                f"{out.shape[1]}"
            )
        out[:] = rows

    def words(self, actions: Array) -> Ints:
        return np.ascontiguousarray(actions, np.int64)


def _width(rows: Bytes, n: int, what: str) -> int:
    """Return the width of rows, [n, width]. Raises GameError, beginning with `what`, if they are no bytes."""
    if not isinstance(rows, np.ndarray) or rows.dtype != np.uint8 or rows.ndim != 2 or len(rows) != n:
        got = f"{rows.dtype} of shape {rows.shape}" if isinstance(rows, np.ndarray) else type(rows).__name__
        raise GameError(f"{what} must be uint8 of shape ({n}, width); got {got}")
    return int(rows.shape[1])


def move_inputs(game: Game, learned: Game | None = None) -> MoveInputs:
    """Return how a game is seen and played in lockstep. Raises GameError for one without such inputs.

    learned: the same game by the rules that a network learned by, whose inputs these are; None for these.
    """
    own = OF_GAMES.get(game.name.partition("(")[0])
    if own is not None and own.inputs:
        found: MoveInputs = resolve_name(own.inputs)(game, learned)
        return found
    if getattr(game, "moves_are_inputs", False):
        return RowInputs(game)  # type: ignore[arg-type]  # it says that it has the rows
    known = " or ".join(name for name, one in OF_GAMES.items() if one.inputs)
    raise GameError(
        f"{game.name}: its moves are no inputs of a network; it must be {known}, or have seat_rows "
        "and move_rows, a SimpleGame shows and shows_move"
    )
