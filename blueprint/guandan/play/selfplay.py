"""GuanDan's rounds in lockstep (`blueprint.game_lockstep`): how they are dealt, played and remembered."""

from __future__ import annotations

from typing import Any

import numpy as np

from blueprint.guandan.network.inputs import FEATURE_HASH, GuanDanRows
from blueprint.guandan.play.deals import deal_rounds
from blueprint.protocol import PlayedMoves, Untaught
from games.game import Game
from games.guandan.cards import ACTION
from games.guandan.rounds.playout import legal, random_playouts
from games.guandan.rounds.round import GuanDan
from games.guandan.rounds.state import NOBODY, action_words, play_all
from games.ragged import Ragged
from games.round_rows import views
from games.support.array_types import Array, Ints


class PastMoves:
    """The moves of rounds that advance together, kept while they are played.

    They belong to rounds from their start on: of a round that began before, only what came since is kept.
    """

    def __init__(self, states: Array) -> None:
        """Take the rounds, [n] STATE; they are looked at whenever a step has been taken."""
        self._states = states
        self._due = states["player"].copy()
        self._steps: list[tuple[Array, Array]] = []

    def step(self) -> None:
        """Take note of the move that every running round has made."""
        running = np.flatnonzero(self._due >= 0)
        seats = np.full(len(self._due), NOBODY, np.uint8)
        seats[running] = self._due[running]
        moves = np.zeros(len(self._due), ACTION)
        moves[running] = self._states["last"][running, self._due[running]]
        self._steps.append((seats, moves))
        self._due = self._states["player"].copy()

    def of(self, row: int) -> PlayedMoves:
        """Return the moves of one round, oldest first."""
        made = [(seats[row], moves[row]) for seats, moves in self._steps if seats[row] != NOBODY]
        return PlayedMoves(
            np.array([seat for seat, _ in made], np.uint8), np.array([move for _, move in made], ACTION)
        )


class GuanDanInputs(GuanDanRows):
    """GuanDan: rounds of all levels, half of them after tribute, and one move of each effect."""

    layout = FEATURE_HASH
    action_type: Any = ACTION
    others = 3
    trial_rounds = 4096
    untaught: Untaught | None = None
    past = PastMoves

    def __init__(self, game: Game, learned: Game | None = None) -> None:
        self.game = game

    def deal(self, n: int, rng: np.random.Generator) -> Array:
        return deal_rounds(n, rng, tribute=0.5)

    def legal(self, states: Array) -> Ragged:
        found = legal(states, canonical=True)
        return Ragged(found.offsets, action_words(found.values))

    def act(self, states: Array, actions: Ints) -> None:
        play_all(*views(states), actions)

    def play_randomly(self, states: Array, rng: np.random.Generator) -> Array:
        return random_playouts(states, rng, canonical=True)[0]


GUANDAN = GuanDanInputs(GuanDan())
