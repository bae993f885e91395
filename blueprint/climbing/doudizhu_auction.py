"""The auction of DouDiZhu by rule, which a network that learned without one follows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from games.climbing.doudizhu.doudizhu import DouDizhu
from games.climbing.doudizhu.round_state import BID, CALLS, HAND, LANDLORD, NO_SEAT, round_views
from games.ragged import Ragged
from games.support.array_types import Array, Bytes, Ints
from games.support.kernel import kernel


@kernel
def called_by_rule(hand: int, bid: int) -> int:
    """Return the call for a packed hand, 0 or above the bid: jokers, 2s and bombs count."""
    worth = 3 * (hand >> 52 & 1) + 4 * (hand >> 56 & 1) + 2 * (hand >> 48 & 15)
    for rank in range(13):
        if hand >> 4 * rank & 15 == 4:
            worth += 4
    call = 3 if worth >= 8 else 2 if worth >= 6 else 1 if worth >= 4 else 0
    return call if call > bid else 0


@kernel(nogil=True)
def _decide(
    words: Ints, bytes_: Bytes, seats: Ints, offsets: Ints, actions: Ints, scores: NDArray[np.float64]
) -> None:
    """Write what `Auction.decide` says."""
    for i in range(len(words)):
        if bytes_[i, LANDLORD] == NO_SEAT:
            wanted = CALLS + called_by_rule(words[i, HAND + seats[i]], int(bytes_[i, BID]))
            for j in range(offsets[i], offsets[i + 1]):
                scores[j] = 0.0 if actions[j] == wanted else -np.inf


class Auction:
    """What a game with an auction has beyond that of a network which learned with a fixed landlord."""

    def __init__(self, game: DouDizhu) -> None:
        self.game = game

    def here(self, states: Array) -> NDArray[np.bool_]:
        """Return whether each state is one of the auction, [n]."""
        found: NDArray[np.bool_] = states["landlord"] == NO_SEAT
        return found

    def decide(self, states: Array, seats: Ints, actions: Ragged, scores: NDArray[np.float64]) -> None:
        """Write the scores of calls among `actions`, [m]: 0 for the rule's, -inf for the others."""
        words, _, marks = round_views(states)
        _decide(words, marks, seats, actions.offsets, np.ascontiguousarray(actions.values), scores)

    def stakes(self, states: Array, player: int) -> NDArray[np.float64]:
        """Return the payoffs here to 1 of those with a fixed landlord, [n]: the call, twice for a landlord.

        There a landlord gets what one farmer pays.
        """
        called = np.maximum(states["bid"], 1) if self.game.scoring == "points" else 1.0
        found: NDArray[np.float64] = (1.0 + (states["landlord"] == player)) * called
        return found
