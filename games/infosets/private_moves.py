"""Private moves: an exact form of games whose players place stones and see their own tries alone.

A try on a free cell places a stone. A try on a cell that the opponent holds fails, and the player learns
that. Nobody sees the opponent's tries. A game offers the form by a `placements` attribute; `check_game` holds
it against the game's own functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from games.game import TERMINAL, Game, GameError

MOST_CELLS = 16
PLAYS = 200
"""Random plays that a check compares."""


@dataclass(frozen=True)
class Placements:
    """The rules of a game of private moves; actions are cells, numbered from 0.

    cells: how many there are. wins: [2, 2**cells] bool, whether a mask of a player's stones has won, and pays
    it 1; a full board that nobody has won pays 0. abrupt: whether a failed try ends the turn; otherwise the
    player tries again.
    Raises GameError if a single stone wins, or there are fewer than 3 cells or more than 16.
    """

    cells: int
    wins: NDArray[np.bool_]
    abrupt: bool

    def __post_init__(self) -> None:
        if not 3 <= self.cells <= MOST_CELLS:
            raise GameError(f"placements: cells must be in [3, {MOST_CELLS}]; got {self.cells}")
        if self.wins.shape != (2, 1 << self.cells) or self.wins.dtype != np.bool_:
            raise GameError(
                f"placements: wins must be bool of shape (2, {1 << self.cells}); got {self.wins.dtype} of "
                f"shape {self.wins.shape}"
            )
        few = [0, *(1 << cell for cell in range(self.cells))]
        if self.wins[:, few].any():
            raise GameError("placements: a player must need two stones or more to win; one is enough here")


@runtime_checkable
class PrivateMovesGame(Game, Protocol):
    """A game that has the form of private moves."""

    placements: Placements


def check_private_moves(game: PrivateMovesGame, rng: np.random.Generator) -> None:
    """Return None if a game plays as its placements say; raise GameError that names the history if not."""
    rules = game.placements
    whole = (1 << rules.cells) - 1
    for _ in range(PLAYS):
        states, seat, stones, known = game.root(), 0, [0, 0], [0, 0]
        over = False
        while not over:
            legal = [cell for cell in range(rules.cells) if not known[seat] >> cell & 1]
            _require(game, states, int(game.player(states)[0]) == seat, "player")
            _require(game, states, game.actions(states).values.tolist() == legal, "actions")
            cell = int(rng.choice(legal))
            states = game.step(states, np.zeros(1, np.int64), np.array([cell]))
            known[seat] |= 1 << cell
            failed = bool(stones[1 - seat] >> cell & 1)
            if not failed:
                stones[seat] |= 1 << cell
                over = bool(rules.wins[seat, stones[seat]]) or stones[0] | stones[1] == whole
            if not over and (rules.abrupt or not failed):
                seat = 1 - seat
        _require(game, states, int(game.player(states)[0]) == TERMINAL, "player")
        paid = float(rules.wins[0, stones[0]]) - float(rules.wins[1, stones[1]])
        _require(game, states, game.returns(states)[0].tolist() == [paid, -paid], "returns")


def _require(game: Game, states: NDArray[np.void], sound: bool, function: str) -> None:
    if not sound:
        raise GameError(
            f"{game.name}: {function} must be as `placements` says; it differs after "
            f"{game.state_text(states[0])}; mend one of them (games.infosets.private_moves)"
        )
