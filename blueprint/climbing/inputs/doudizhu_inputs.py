"""DouDiZhu for networks whose inputs are moves."""

from __future__ import annotations

import numpy as np

from blueprint.climbing.inputs.doudizhu_rows import (
    DOUDIZHU_HASH,
    HIDDEN_BITS,
    MOVE_BITS,
    SEAT_BITS,
    write_hidden,
    write_moves,
    write_seats,
)
from blueprint.climbing.inputs.move_inputs import ActionType
from games.climbing.doudizhu.doudizhu import DouDizhu
from games.climbing.doudizhu.move_table import move_table
from games.climbing.doudizhu.multiset import DECK_COPIES, NUM_PLAIN
from games.climbing.doudizhu.round_state import act_all, legal_actions, random_endings, round_views
from games.game import Game
from games.ragged import Ragged
from games.support.array_types import Array, Bytes, Ints

__all__ = ["DouDizhuInputs"]


class DouDizhuInputs:
    """DouDiZhu, with any deck, and with or without an auction."""

    layout = DOUDIZHU_HASH
    action_type: ActionType = np.int64
    seat_bits, move_bits, hidden_bits, others = SEAT_BITS, MOVE_BITS, HIDDEN_BITS, 2
    trial_rounds = 4096

    def __init__(self, game: DouDizhu) -> None:
        self.game: Game = game
        self._rules, self.deal = game.rules, game.sample_deals
        self._tables = move_table().tables
        copies = np.where(
            (np.arange(len(DECK_COPIES)) < game.ranks) | (np.arange(len(DECK_COPIES)) >= NUM_PLAIN),
            DECK_COPIES,
            0,
        )
        self._deck = sum(int(count) << 4 * rank for rank, count in enumerate(copies))

    def legal(self, states: Array) -> Ragged:
        return legal_actions(states, self._rules)

    def act(self, states: Array, actions: Ints) -> None:
        act_all(*round_views(states), actions, self._rules, self._tables)

    def play_randomly(self, states: Array, rng: np.random.Generator) -> Array:
        return random_endings(states, rng, self._rules)[0]

    def write_seats(self, states: Array, rows: Ints, seats: Ints, out: Bytes) -> None:
        write_seats(*round_views(states), rows, seats, self._deck, self._tables, out)

    def write_moves(
        self, states: Array, rows: Ints, seats: Ints, offsets: Ints, words: Ints, out: Bytes
    ) -> None:
        views = round_views(states)
        write_moves(views[0], rows, seats, offsets, words, self._deck, self._tables, out)

    def write_hidden(self, states: Array, rows: Ints, seats: Ints, out: Bytes) -> None:
        write_hidden(round_views(states)[0], rows, seats, out)

    def words(self, actions: Array) -> Ints:
        return np.ascontiguousarray(actions, np.int64)
