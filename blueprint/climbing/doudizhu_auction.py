"""The auction of DouDiZhu by rule, which a network that learned without one follows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from games.climbing.doudizhu.doudizhu import DouDizhu
from games.climbing.doudizhu.round_state import BID, CALLS, HAND, NO_SEAT, round_views
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
def _choices(words: Ints, bytes_: Bytes, player: int, offsets: Ints, actions: Ints, out: Ints) -> None:
    """Write the place of the rule's call among the actions of each decision, [n]."""
    for i in range(len(words)):
        wanted = CALLS + called_by_rule(words[i, HAND + player], int(bytes_[i, BID]))
        for j in range(offsets[i], offsets[i + 1]):
            if actions[j] == wanted:
                out[i] = j


class Auction:
    """What a game with an auction has beyond that of a network which learned with a fixed landlord."""

    def __init__(self, game: DouDizhu) -> None:
        self.game = game

    def here(self, states: Array) -> NDArray[np.bool_]:
        """Return whether each state is one of the auction, [n]."""
        found: NDArray[np.bool_] = states["landlord"] == NO_SEAT
        return found

    def choices(self, states: Array, player: int, actions: Ragged) -> Ints:
        """Return the place in `actions` of the rule's call at each state of the auction, [n]."""
        out = np.zeros(len(states), np.int64)
        words, _, marks = round_views(states)
        _choices(words, marks, player, actions.offsets, np.ascontiguousarray(actions.values), out)
        return out

    def stakes(self, states: Array, player: int) -> NDArray[np.float64]:
        """Return the payoffs here to 1 of those with a fixed landlord, [n]: the call, twice for a landlord.

        There a landlord gets what one farmer pays.
        """
        called = np.maximum(states["bid"], 1) if self.game.scoring == "points" else 1.0
        found: NDArray[np.float64] = (1.0 + (states["landlord"] == player)) * called
        return found
