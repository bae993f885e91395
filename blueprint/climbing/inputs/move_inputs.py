"""Games whose moves are inputs: too many for a column each, so that the network is shown what a move does.

Such a game says so itself (`moves_are_inputs`). How it is seen and played in lockstep is told here:

    inputs = move_inputs(load_game("doudizhu"))
    states = inputs.deal(1024, rng)
    legal = inputs.legal(states)
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

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
from blueprint.climbing.inputs.doudizhu_rows import (
    DOUDIZHU_HASH,
    HIDDEN_BITS,
    MOVE_BITS,
    SEAT_BITS,
    write_hidden,
    write_moves,
    write_seats,
)
from blueprint.climbing.rules.move_pruning import (
    keep_big2_moves,
    keep_doudizhu_moves,
    write_big2_turns,
    write_doudizhu_turns,
)
from games.climbing.big2.big2 import Big2
from games.climbing.big2.random_rounds import legal_plays
from games.climbing.big2.random_rounds import play_randomly as random_play
from games.climbing.big2.table_rows import apply_all, table_views
from games.climbing.doudizhu.doudizhu import DouDizhu
from games.climbing.doudizhu.move_table import move_table
from games.climbing.doudizhu.multiset import DECK_COPIES, NUM_PLAIN
from games.climbing.doudizhu.round_kernels import act_all, legal_actions, random_endings
from games.climbing.doudizhu.round_state import round_views
from games.game import Game, GameError
from games.ragged import Ragged
from games.support.array_types import Array, Bytes, Ints

__all__ = ["MoveInputs", "move_inputs"]


ActionType = type[np.int64] | type[np.uint64]
Kept = NDArray[np.bool_]


class MoveInputs(Protocol):
    """How a game is seen by a network, and played in lockstep.

    layout: name of the rows' layout. action_type: dtype of the game's actions. seat_bits, move_bits,
    hidden_bits: widths of the rows. others: seats whose hands are hidden from one, each
    `hidden_bits / others` wide.
    """

    game: Game
    layout: str
    action_type: ActionType
    seat_bits: int
    move_bits: int
    hidden_bits: int
    others: int

    def deal(self, n: int, rng: np.random.Generator) -> Array:
        """Return n freshly dealt rounds, at their first decision."""
        ...

    def legal(self, states: Array) -> Ragged:
        """Return the legal actions of contiguous states, int64 words."""
        ...

    def act(self, states: Array, actions: Ints) -> None:
        """Take a legal action, a word of `legal`, at each of contiguous states, in place."""
        ...

    def play_randomly(self, states: Array, rng: np.random.Generator) -> Array:
        """Return the ends of rounds after uniformly random play."""
        ...

    def write_seats(self, states: Array, rows: Ints, seats: Ints, out: Bytes) -> None:
        """Write what seats see, [k or more, seat_bits]. rows: [k] of which states; seats: [k] whose eyes."""
        ...

    def write_moves(
        self, states: Array, rows: Ints, seats: Ints, offsets: Ints, words: Ints, out: Bytes
    ) -> None:
        """Write moves, [m or more, move_bits]: words[offsets[j]:offsets[j + 1]] at states[rows[j]]."""
        ...

    def write_hidden(self, states: Array, rows: Ints, seats: Ints, out: Bytes) -> None:
        """Write the others' hands, [k or more, hidden_bits]."""
        ...

    def keep_moves(self, states: Array, seats: Ints, offsets: Ints, words: Ints, margin: int) -> Kept:
        """Return which moves a pruned player is offered, [m]: words[offsets[j]:offsets[j + 1]] at state j."""
        ...

    def turns_left(self, states: Array, seats: Ints, offsets: Ints, words: Ints) -> Ints:
        """Return in about how many turns the hand that each move leaves is shed, [m] int64."""
        ...

    def cards_left(self, states: Array) -> Ints:
        """Return how many cards each seat holds, [n, seats] int64."""
        ...

    def words(self, actions: Array) -> Ints:
        """Return the game's actions as words."""
        ...


class _DouDizhuInputs:
    """DouDiZhu, with any deck, and with or without an auction."""

    layout = DOUDIZHU_HASH
    action_type: ActionType = np.int64
    seat_bits, move_bits, hidden_bits, others = SEAT_BITS, MOVE_BITS, HIDDEN_BITS, 2

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
        self._dealt = int(copies.sum()) // 3

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

    def keep_moves(self, states: Array, seats: Ints, offsets: Ints, words: Ints, margin: int) -> Kept:
        kept = np.ones(len(words), np.bool_)
        views = round_views(states)
        keep_doudizhu_moves(
            views[0], views[2], seats, offsets, words, margin, self._dealt, self._tables, kept
        )
        return kept

    def turns_left(self, states: Array, seats: Ints, offsets: Ints, words: Ints) -> Ints:
        out = np.empty(len(words), np.int64)
        write_doudizhu_turns(round_views(states)[0], seats, offsets, words, self._tables, out)
        return out

    def cards_left(self, states: Array) -> Ints:
        return np.asarray(states["left"], np.int64)

    def words(self, actions: Array) -> Ints:
        return np.ascontiguousarray(actions, np.int64)


class _Big2Inputs:
    """Big2, with any number of seats and any deck."""

    action_type: ActionType = np.uint64
    seat_bits, move_bits, hidden_bits, others = BIG2_SEAT_BITS, BIG2_MOVE_BITS, BIG2_HIDDEN_BITS, 3

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
        apply_all(*table_views(states), actions, self._book)

    def play_randomly(self, states: Array, rng: np.random.Generator) -> Array:
        return random_play(states, rng, self._book)[0]

    def write_seats(self, states: Array, rows: Ints, seats: Ints, out: Bytes) -> None:
        write_big2_seats(*table_views(states), rows, seats, self._deck, self._book, out)

    def write_moves(
        self, states: Array, rows: Ints, seats: Ints, offsets: Ints, words: Ints, out: Bytes
    ) -> None:
        write_big2_moves(table_views(states)[0], rows, seats, offsets, words, self._deck, self._book, out)

    def write_hidden(self, states: Array, rows: Ints, seats: Ints, out: Bytes) -> None:
        write_big2_hidden(table_views(states)[0], rows, seats, self._players, out)

    def keep_moves(self, states: Array, seats: Ints, offsets: Ints, words: Ints, margin: int) -> Kept:
        kept = np.ones(len(words), np.bool_)
        keep_big2_moves(table_views(states)[0], seats, offsets, words, margin, self._book, kept)
        return kept

    def turns_left(self, states: Array, seats: Ints, offsets: Ints, words: Ints) -> Ints:
        out = np.empty(len(words), np.int64)
        write_big2_turns(table_views(states)[0], seats, offsets, words, self._book, out)
        return out

    def cards_left(self, states: Array) -> Ints:
        held = np.ascontiguousarray(states["hand"][:, : self._players])
        bits = np.unpackbits(held.view(np.uint8).reshape(*held.shape, 8), axis=2)
        found: Ints = bits.sum(2, dtype=np.int64)
        return found

    def words(self, actions: Array) -> Ints:
        return np.ascontiguousarray(actions, np.uint64).view(np.int64)


def move_inputs(game: Game) -> MoveInputs:
    """Return how a game is seen and played in lockstep. Raises GameError for one without such inputs."""
    if isinstance(game, DouDizhu):
        return _DouDizhuInputs(game)
    if isinstance(game, Big2):
        return _Big2Inputs(game)
    raise GameError(f"{game.name}: its moves are no inputs of a network; those of doudizhu and big2 are")
