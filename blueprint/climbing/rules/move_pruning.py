"""Move pruning by minimum combination (ODMC): moves that spoil the hand are not offered.

Of a decision's moves those stay

- whose rest can be shed in at most K_min + n + N / f - 1 turns, K_min being the least among all moves, n the
  margin asked for, N the cards that a seat is dealt (in DouDiZhu on average, a third of the deck) and f the
  fewest cards that any seat holds, so that pruning fades as the end comes near;
- the pass, and in DouDiZhu bombs and the rocket.

Source: Luo & Tan 2024, equation 2: K_i <= K_min + N / f + d with d the number of the current circle. We leave
d out, and keep what wins the lead whatever it costs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blueprint.climbing.rules.big2_turns import big2_turns
from blueprint.climbing.rules.doudizhu_turns import TURN_ROOM, doudizhu_turns
from games.climbing.big2.big2_rules import HAND as HAND_SIZE
from games.climbing.big2.big2_rules import PLAYERS, Book
from games.climbing.big2.card_masks import count_cards
from games.climbing.big2.table_rows import HELD
from games.climbing.doudizhu.move_table import BOMB, PASS, Tables
from games.climbing.doudizhu.round_state import CALLS, HAND, LEFT
from games.support.array_types import Bytes, Ints
from games.support.kernel import kernel

__all__ = ["keep_big2_moves", "keep_doudizhu_moves", "write_big2_turns", "write_doudizhu_turns"]


@kernel(nogil=True)
def write_doudizhu_turns(
    words: Ints, seats: Ints, offsets: Ints, moves: Ints, tables: Tables, out: Ints
) -> None:
    """Write the turns that each move leaves to shed, [m]; a call leaves those of the hand."""
    stack = np.empty(TURN_ROOM, np.int64)
    for j in range(len(seats)):
        hand = words[j, HAND + seats[j]]
        for k in range(offsets[j], offsets[j + 1]):
            move = moves[k]
            rest = hand if move >= CALLS else hand - tables[0][move]
            out[k] = doudizhu_turns(rest, stack) if rest else 0


@kernel(nogil=True)
def keep_doudizhu_moves(
    words: Ints,
    bytes_: Bytes,
    seats: Ints,
    offsets: Ints,
    moves: Ints,
    margin: int,
    dealt: int,
    tables: Tables,
    kept: NDArray[np.bool_],
) -> None:
    """Write which moves of each decision stay, [m]; calls all do. Decision j is at state j, of seats[j].

    dealt: cards of a seat on average, a third of the deck.
    """
    turns = np.empty(offsets[len(seats)], np.int64)
    write_doudizhu_turns(words, seats, offsets, moves, tables, turns)
    for j in range(len(seats)):
        fewest, least = 20, 99
        for seat in range(3):
            fewest = min(fewest, int(bytes_[j, LEFT + seat]))
        for k in range(offsets[j], offsets[j + 1]):
            least = min(least, turns[k])
        limit = least + margin + dealt // max(fewest, 1) - 1
        for k in range(offsets[j], offsets[j + 1]):
            move = moves[k]
            always = move == PASS or move >= CALLS or tables[1][min(move, CALLS - 1)] & 255 >= BOMB
            kept[k] = always or turns[k] <= limit


@kernel(nogil=True)
def write_big2_turns(words: Ints, seats: Ints, offsets: Ints, moves: Ints, book: Book, out: Ints) -> None:
    """Write the turns that each play leaves to shed, [m]."""
    room = np.empty(26, np.int64)
    for j in range(len(seats)):
        hand = words[j, HELD + seats[j]]
        for k in range(offsets[j], offsets[j + 1]):
            out[k] = big2_turns(hand & ~moves[k], book, room)


@kernel(nogil=True)
def keep_big2_moves(
    words: Ints, seats: Ints, offsets: Ints, moves: Ints, margin: int, book: Book, kept: NDArray[np.bool_]
) -> None:
    """Write which plays of each decision stay, [m]. Decision j is at state j, of seats[j]."""
    turns = np.empty(offsets[len(seats)], np.int64)
    write_big2_turns(words, seats, offsets, moves, book, turns)
    players, dealt = book[0][PLAYERS], int(book[0][HAND_SIZE])
    for j in range(len(seats)):
        fewest, least = 52, 99
        for seat in range(players):
            fewest = min(fewest, count_cards(words[j, HELD + seat]))
        for k in range(offsets[j], offsets[j + 1]):
            least = min(least, turns[k])
        limit = least + margin + dealt // max(fewest, 1) - 1
        for k in range(offsets[j], offsets[j + 1]):
            kept[k] = moves[k] == 0 or turns[k] <= limit
