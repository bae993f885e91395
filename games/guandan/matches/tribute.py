"""What comes between two rounds: levels and failures at A, then tribute. Plain array functions on batches.

The last finisher of the round before pays tribute, the highest card held, to the first; after a double win
both losers pay, and the higher card goes to the first finisher. Payers who hold both big jokers between them
pay nothing. Receivers return a low card. Payers stand in slots: slot 0 is the last seat of the finishing
order, slot 1 the one before it, used after a double win only. The players choose cards out of the options
given here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from games.guandan.cards import HR, NUM_CARDS, NUM_RANKS, pack, unpack
from games.guandan.combos import ORDER
from games.guandan.rounds.state import NOBODY
from games.guandan.rules import RULING, Rules
from games.support.array_types import Array, Bytes

CARD_RANK = np.concatenate([np.arange(52) // 4, [13, 14]]).astype(np.uint8)
"""[54] uint8, rank code of each card index."""
CARD_PACKED = pack(np.eye(NUM_CARDS, dtype=np.uint8))
"""[54, 2] uint64, each card as a packed multiset."""
_PLACE = ORDER[:, CARD_RANK].astype(np.int8)
_LEVEL_PLACE = 12
_HIGHEST_RETURN = 8
"""Rank code of T, the highest card that may be returned."""


def card_place(cards: ArrayLike, levels: ArrayLike) -> NDArray[np.int8]:
    """Return the place of each card in the level-aware order, 0 the lowest to 14 the big joker, int8."""
    place: NDArray[np.int8] = _PLACE[np.asarray(levels), np.asarray(cards)]
    return place


def payers(order: Bytes) -> NDArray[np.uint8]:
    """Return the seats that owe tribute after rounds that ended in this order, [n, 2] uint8 by slot.

    order: [n, 4] seats as they finished. Slot 1 is NOBODY unless one team finished first and second.
    """
    double = order[:, 1] == (order[:, 0] + 2) % 4
    return np.stack([order[:, 3], np.where(double, order[:, 2], NOBODY)], -1).astype(np.uint8)


def big_jokers(hands: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Return the big jokers in packed hands [..., 2], uint8."""
    return (hands[..., 1] >> np.uint64(2 * (HR - 28)) & np.uint64(3)).astype(np.uint8)


def anti_tribute(hands: NDArray[np.uint64], seats: Bytes) -> NDArray[np.bool_]:
    """Return whether the payers hold both big jokers and so pay nothing, [n] bool.

    hands: [n, 4, 2] packed. seats: [n, 2], as `payers` gives them.
    """
    jokers = big_jokers(hands)
    rows = np.arange(len(hands))
    second = np.where(seats[:, 1] == NOBODY, 0, jokers[rows, seats[:, 1] % 4])
    both: NDArray[np.bool_] = jokers[rows, seats[:, 0]] + second == 2
    return both


def tribute_options(
    hands: NDArray[np.uint64], levels: ArrayLike, *, rules: Rules = RULING
) -> NDArray[np.bool_]:
    """Return the cards that each payer may pay, [k, 54] bool: the highest by the level's order.

    hands: [k, 2] packed. levels: rank code of the round, [k]. The wild cards are never paid (unless a hand
    has nothing else). Of several suits the payer chooses, or pays the first of H, S, C, D if the rules say
    so.
    """
    levels = np.broadcast_to(np.asarray(levels, np.int64), len(hands))
    held = unpack(hands) > 0
    place = np.where(held, _PLACE[levels], -2)
    rows = np.arange(len(hands))
    wild = 4 * levels
    place[rows, wild] = np.where(held[rows, wild], -1, -2)
    best = place == place.max(1, keepdims=True)
    if rules.tribute_suit == "lowest":
        first = best.argmax(1)
        best[:] = False
        best[rows, first] = True
    may: NDArray[np.bool_] = best & held
    return may


def return_options(
    hands: NDArray[np.uint64], levels: ArrayLike, received: Bytes, *, rules: Rules = RULING
) -> NDArray[np.bool_]:
    """Return the cards that each receiver may return, [k, 54] bool: 2..T but for the level's rank.

    hands: [k, 2] packed, the tribute card included. received: [k], the tribute card. A receiver without any
    such card returns one of the lowest.
    """
    levels = np.broadcast_to(np.asarray(levels, np.int64), len(hands))
    counts = unpack(hands)
    rows = np.arange(len(hands))
    if not rules.return_received:
        counts[rows, received] -= 1
    held = counts > 0
    allowed = held & (CARD_RANK <= _HIGHEST_RETURN)
    if not rules.return_levels:
        allowed &= levels[:, None] != CARD_RANK
    place = np.where(held, _PLACE[levels], 99)
    lowest = held & (place == place.min(1, keepdims=True))
    return np.where(allowed.any(1, keepdims=True), allowed, lowest)


def settle_tribute(
    order: Bytes, levels: ArrayLike, cards: Bytes, first: ArrayLike = 0, *, rules: Rules = RULING
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return who receives each slot's tribute, [n, 2] uint8, and who leads the round, [n] uint8.

    order: [n, 4], the finishing order that the tribute is for. levels: rank code of the round, [n].
    cards: [n, 2], card index paid by each slot (of slot 1 ignored after a single win).
    first: [n], slot of the payer who answered first; matters only to `tribute_tie="arrival"`.
    """
    n = len(order)
    levels = np.broadcast_to(np.asarray(levels, np.int64), n)
    first = np.broadcast_to(np.asarray(first), n)
    banker, partner = order[:, 0], (order[:, 0] + 2) % 4
    seats = payers(order)
    double = seats[:, 1] != NOBODY
    paid = np.where(double[:, None], cards, 0)
    by_level = card_place(paid, levels[:, None]).astype(np.int64)
    by_worth = by_level if rules.tribute_compare == "level" else CARD_RANK[paid].astype(np.int64)
    if rules.tribute_tie == "clockwise":
        tie = (seats[:, 1] == (banker + 1) % 4).astype(np.int64)
        lead_tie = tie
    else:
        tie = first.astype(np.int64)
        lead_tie = np.where(by_level[:, 0] == _LEVEL_PLACE, 1 - tie, tie)
    top = np.where(by_worth[:, 0] == by_worth[:, 1], tie, by_worth[:, 1] > by_worth[:, 0])
    lead = np.where(by_level[:, 0] == by_level[:, 1], lead_tie, by_level[:, 1] > by_level[:, 0])
    to = np.stack([np.where(top == 0, banker, partner), np.where(top == 1, banker, partner)], -1)
    to = np.where(double[:, None], to, np.stack([banker, np.full(n, NOBODY)], -1))
    leader = np.where(double & (lead == 1), seats[:, 1], seats[:, 0])
    return to.astype(np.uint8), leader.astype(np.uint8)


ACE = NUM_RANKS - 1


@dataclass(frozen=True, eq=False)
class Score:
    """What rounds led to; arrays over n rounds.

    levels: [n, 2] uint8, rank code of each team's level. fails: [n, 2] uint8, its failures at A so far.
    drops: [n, 2] uint16, times it dropped back to 2. winner: [n] uint8, the team that has won the match, else
    NOBODY. drawn: [n] bool, the match ends without a winner by `max_drops`.
    """

    levels: NDArray[np.uint8]
    fails: NDArray[np.uint8]
    drops: NDArray[np.uint16]
    winner: NDArray[np.uint8]
    drawn: NDArray[np.bool_]


def score_round(
    order: Array,
    owner: Array,
    levels: Array,
    fails: Array,
    drops: Array,
    *,
    rules: Rules = RULING,
) -> Score:
    """Return levels, failures at A and the match's winner after rounds that ended in this order.

    order: [n, 4] seats as they finished. owner: [n], team at whose level the round was played, or NOBODY.
    levels, fails, drops: [n, 2], before the round.
    The first finisher's team rises by 3, 2 or 1 levels, never past A, as its other seat came second, third
    or last. A round that it owned at A wins the match unless that seat came last; any other round owned at A
    is a failure, and the third one drops the team to 2.
    """
    rows = np.arange(len(order))
    team = order[:, 0] % 2
    place = np.argmax(order == (order[:, :1] + 2) % 4, 1)
    owned = (owner != NOBODY) & (levels[rows, owner % 2] == ACE)
    enough = place == 1 if rules.ace_win == "double" else place < 3
    won = owned & (team == owner) & enough
    levels, fails, drops = levels.astype(np.int64), fails.astype(np.int64), drops.astype(np.int64)
    levels[rows, team] = np.minimum(levels[rows, team] + 4 - place, ACE)
    failed = owned & ~won
    if rules.ace_failure == "dweller":
        failed &= order[:, 3] % 2 == owner
    at = owner % 2
    fails[rows, at] += failed
    dropped = failed & (fails[rows, at] >= rules.ace_limit)
    bottom = np.where(team == owner, 1, 0) if rules.ace_promotes else 0
    levels[rows, at] = np.where(dropped, bottom, levels[rows, at])
    fails[rows, at] = np.where(dropped, 0, fails[rows, at])
    drops[rows, at] += dropped
    drawn = np.zeros(len(order), bool)
    if rules.max_drops is not None:
        drawn = ~won & (drops.sum(1) >= rules.max_drops)
    return Score(
        levels.astype(np.uint8),
        fails.astype(np.uint8),
        drops.astype(np.uint16),
        np.where(won, team, NOBODY).astype(np.uint8),
        drawn,
    )
