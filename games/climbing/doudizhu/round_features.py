"""What a network sees of a round: cards as thermometers of bits, who is who, and the last moves.

Counts of cards are written copy by copy, 54 bits a multiset: bit k of a rank is set where more than k are
held. Seats are told from the looker's place on: itself, the next, the one after.
Source: the kinds of inputs are those of Zha et al. 2021 (DouZero), table 4; the layout is ours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from games.climbing.doudizhu.move_table import KIND_NAMES, move_table
from games.climbing.doudizhu.multiset import DECK_COPIES, NUM_RANKS, count_ranks
from games.climbing.doudizhu.round_state import BY_BID, MOST_CALLS, NO_SEAT
from games.support.array_types import Array, Rows

__all__ = ["LAST_MOVES", "round_features"]

LAST_MOVES = 9
"""Moves of the record that are shown, the latest first."""
MOST_BOMBS = 13

_COPY_RANK = np.repeat(np.arange(NUM_RANKS), DECK_COPIES)
_COPY_NUMBER = np.concatenate([np.arange(copies) for copies in DECK_COPIES])


def _card_bits(packed: Array) -> NDArray[np.uint8]:
    """Return packed multisets [n] as bits, [n, 54] uint8."""
    return (count_ranks(packed)[:, _COPY_RANK] > _COPY_NUMBER).astype(np.uint8)


def _one_of(values: Array, number: int) -> NDArray[np.bool_]:
    bits: NDArray[np.bool_] = values.astype(np.int64)[:, None] == np.arange(number)
    return bits


def _at_least(values: Array, number: int) -> NDArray[np.bool_]:
    bits: NDArray[np.bool_] = values.astype(np.int64)[:, None] > np.arange(number)
    return bits


def round_features(states: Rows, player: int, rules: int) -> NDArray[np.uint8]:
    """Return what `player` knows at each state as bits, [n, width] uint8.

    In turn: its own cards, those unseen, what each seat has played, the bottom where it is shown, the move to
    beat with its kind, the last moves with who made them and how many passed after each, cards left, bombs,
    passes, and the seats of landlord and leader with the bid and the calls.
    """
    table = move_table()
    seats = [(player + k) % 3 for k in range(3)]
    hand, played = states["hand"][:, player], states["played"]
    shown = states["landlord"] != NO_SEAT if rules & BY_BID else np.ones(len(states), bool)
    bottom = np.where(shown, states["bottom"], 0).astype(np.uint64)
    whole = np.uint64(sum(int(copies) << 4 * rank for rank, copies in enumerate(DECK_COPIES)))
    unseen = whole - hand - played.sum(1, dtype=np.uint64)
    cards = table.cards.astype(np.uint64)
    plays = states["plays"].astype(np.int64)
    parts: list[Array] = [_card_bits(hand), _card_bits(unseen)]
    parts += [_card_bits(played[:, seat]) for seat in seats]
    parts += [_card_bits(bottom), _card_bits(cards[states["beat"]])]
    parts.append(_one_of(table.heads[states["beat"]] & 255, len(KIND_NAMES)))
    who = _seats_of_moves(states)
    rows = np.arange(len(states))
    for back in range(1, LAST_MOVES + 1):
        at = np.maximum(plays - back, 0)
        there = plays >= back
        move = np.where(there, states["record"][rows, at], 0)
        gap = states["gaps"][rows, at // 32] >> (2 * (at % 32)).astype(np.uint64) & np.uint64(3)
        seat = np.where(there, (who[rows, at] - player) % 3, 3)
        parts += [_card_bits(cards[move]), _one_of(seat, 3), _at_least(np.where(there, gap, 0), 2)]
    parts += [_at_least(states["left"][:, seat], 20) for seat in seats]
    parts += [_at_least(states["bombs"], MOST_BOMBS), _at_least(states["passes"], 2)]
    for name in ("landlord", "leader"):
        seat = states[name].astype(np.int64)
        parts.append(_one_of(np.where(seat == NO_SEAT, NO_SEAT, (seat - player) % 3), 3))
    parts.append(_at_least(states["bid"], 3))
    calls = states["calls"].astype(np.int64)[:, None] >> np.arange(2 * MOST_CALLS) & 1
    parts += [calls, _at_least(states["called"], MOST_CALLS)]
    return np.concatenate([part.astype(np.uint8) for part in parts], axis=1)


def _seats_of_moves(states: Rows) -> NDArray[np.int64]:
    """Return the seat that made each move of the record, [n, 52] int64; wrong where there is none."""
    places = np.arange(states["record"].shape[1])
    gaps = states["gaps"][:, places // 32] >> (2 * (places % 32)).astype(np.uint64) & np.uint64(3)
    turns = np.cumsum(gaps.astype(np.int64) + 1, axis=1)
    first = np.where(states["landlord"] == NO_SEAT, 0, states["landlord"]).astype(np.int64)
    found: NDArray[np.int64] = (first[:, None] + turns - gaps.astype(np.int64) - 1) % 3
    return found
