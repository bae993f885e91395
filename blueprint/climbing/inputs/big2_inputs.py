"""Big2 for networks whose inputs are moves."""

from __future__ import annotations

import numpy as np

from blueprint.climbing.inputs.big2_rows import (
    BIG2_HASH,
    BIG2_HIDDEN_BITS,
    BIG2_MOVE_BITS,
    BIG2_SEAT_BITS,
    BIG2_STAYS_OUT_HASH,
    write_big2_hidden,
    write_big2_moves,
    write_big2_seats,
)
from blueprint.climbing.inputs.move_inputs import ActionType
from games.climbing.big2.big2 import Big2
from games.climbing.big2.table_rows import apply_all, legal_plays
from games.climbing.big2.table_rows import play_randomly as random_play
from games.game import Game
from games.ragged import Ragged
from games.round_rows import views
from games.support.array_types import Array, Bytes, Ints

__all__ = ["Big2Inputs"]


class Big2Inputs:
    """Big2, with any number of seats and any deck."""

    action_type: ActionType = np.uint64
    seat_bits, move_bits, hidden_bits, others = BIG2_SEAT_BITS, BIG2_MOVE_BITS, BIG2_HIDDEN_BITS, 3
    trial_rounds = 4096

    def __init__(self, game: Big2) -> None:
        self.game: Game = game
        self.deal, self._book = game.sample_deals, game.rules.book()
        self.layout = BIG2_STAYS_OUT_HASH if game.rules.stays_out else BIG2_HASH
        self._deck = int(game.words.whole)
        self._players = game.num_players

    def legal(self, states: Array) -> Ragged:
        found = legal_plays(states, self._book)
        return Ragged(found.offsets, found.values.view(np.int64))

    def act(self, states: Array, actions: Ints) -> None:
        apply_all(*views(states), actions, self._book)

    def play_randomly(self, states: Array, rng: np.random.Generator) -> Array:
        return random_play(states, rng, self._book)[0]

    def write_seats(self, states: Array, rows: Ints, seats: Ints, out: Bytes) -> None:
        write_big2_seats(*views(states), rows, seats, self._deck, self._book, out)

    def write_moves(
        self, states: Array, rows: Ints, seats: Ints, offsets: Ints, words: Ints, out: Bytes
    ) -> None:
        write_big2_moves(views(states)[0], rows, seats, offsets, words, self._deck, self._book, out)

    def write_hidden(self, states: Array, rows: Ints, seats: Ints, out: Bytes) -> None:
        write_big2_hidden(views(states)[0], rows, seats, self._players, out)

    def words(self, actions: Array) -> Ints:
        return np.ascontiguousarray(actions, np.uint64).view(np.int64)
