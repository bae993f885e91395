"""Move pruning by minimum combination (ODMC): moves that spoil the hand are not offered.

Of a decision's moves those stay

- whose rest can be played out in at most K_min + n + N / f - 1 moves, K_min being the least among all moves,
  n the margin asked for, N = 27 the cards dealt and f the fewest cards that any player still in holds, so
  that pruning fades as the end comes near;
- PASS, bombs of every kind, and a move that plays the last card.

Source: Luo & Tan 2024, equation 2: K_i <= K_min + N / f + d with d the number of the current circle from 1.
With n = 2 and d = 1 ours is theirs at the deal. We leave d out (a round here takes some 20 circles, so that
theirs would end after three), and keep bombs and PASS, which win and cede the lead whatever they cost.
Straight flushes count as straights in K: what breaks one up is not seen.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.chooser import Chooser, Decisions
from blueprint.guandan.hands import card_counts
from blueprint.guandan.rules.fewest_moves import NO_ROOM, Room, count_fewest_moves, room
from games.guandan.cards import HAND_SIZE, PASS, STRAIGHT_FLUSH
from games.guandan.rounds.state import HAND, LEFT, LEVEL, action_words, views
from games.support.array_types import Bytes, Int, Ints
from games.support.kernel import kernel

__all__ = ["PrunedChooser", "kept_moves", "prune"]


@kernel(nogil=True)
def _kept_moves(
    words: Ints,
    bytes_: Bytes,
    rows: Ints,
    seats: Ints,
    offsets: Ints,
    moves: Ints,
    margin: Int,
    work: Room,
    kept: NDArray[np.bool_],
) -> None:
    naturals = np.empty(15, np.int64)
    fewest = np.empty(1 + np.max(offsets[1:] - offsets[:-1]), np.int64)
    for j in range(len(rows)):
        i, p = rows[j], seats[j]
        level = np.int64(bytes_[i, LEVEL])
        low = np.int64(HAND_SIZE)
        for seat in range(4):
            left = np.int64(bytes_[i, LEFT + seat])
            if left:
                low = min(low, left)
        least: Int = 99
        for k in range(offsets[j], offsets[j + 1]):
            wild = card_counts(
                words[i, HAND + 2 * p] - moves[k, 1],
                words[i, HAND + 2 * p + 1] - moves[k, 2],
                level,
                naturals,
            )
            found = count_fewest_moves(naturals, wild, work)
            fewest[k - offsets[j]] = 0 if found == NO_ROOM else found
            if found != NO_ROOM:
                least = min(least, found)
        limit = least + margin + HAND_SIZE // low - 1
        for k in range(offsets[j], offsets[j + 1]):
            kind = moves[k, 0] & 255
            kept[k] = fewest[k - offsets[j]] <= limit or kind == PASS or kind >= STRAIGHT_FLUSH


def kept_moves(decisions: Decisions, margin: int) -> NDArray[np.bool_]:
    """Return which moves of each decision stay, [m] bool; at least one of each decision does.

    margin: n of the rule above, at least 0. Raises ValueError at a lower one.
    """
    if margin < 0:
        raise ValueError(f"pruning: the margin must be at least 0; got {margin}")
    kept = np.ones(len(decisions.actions), np.bool_)
    if len(decisions):
        _kept_moves(
            *views(decisions.states),
            decisions.rows,
            decisions.seats,
            decisions.offsets,
            action_words(decisions.actions),
            margin,
            room(),
            kept,
        )
    return kept


def prune(decisions: Decisions, margin: int) -> tuple[Decisions, NDArray[np.int64]]:
    """Return the decisions with the moves that stay, and what index each had in its row, [kept] int64."""
    kept = kept_moves(decisions, margin)
    counts = np.diff(decisions.offsets)
    offsets = np.concatenate([[0], np.cumsum(kept)])[decisions.offsets]
    within = np.arange(len(kept)) - np.repeat(decisions.offsets[:-1], counts)
    fewer = Decisions(decisions.states, decisions.rows, decisions.seats, offsets, decisions.actions[kept])
    return fewer, within[kept]


class PrunedChooser:
    """A player that is offered only the moves that stay."""

    def __init__(self, chooser: Chooser, margin: int) -> None:
        self.chooser, self.margin = chooser, margin

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        """Return one action per decision, as an index within its row."""
        fewer, within = prune(decisions, self.margin)
        found: NDArray[np.int64] = within[fewer.offsets[:-1] + self.chooser(fewer)]
        return found
