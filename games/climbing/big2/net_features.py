"""What a network sees of a seat's view of a round, as bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from games.climbing.big2.big2_rules import Big2Rules
from games.climbing.big2.card_masks import card_bits
from games.support.array_types import Rows

__all__ = ["RECENT", "big2_features"]

RECENT = 8
"""Last plays whose cards and seats are told; the cards that each seat has played are told in any case."""


def big2_features(rules: Big2Rules, states: Rows, player: int) -> NDArray[np.uint8]:
    """Return what a seat knows as bits, [n, width] uint8; seats are counted from the looker's own.

    Each of the following as bits, cards by place in the deck: own hand; cards unseen; cards that each seat
    has played; how many each has left, in unary; the play to beat, and whose it is; who acts; passes since,
    in unary; who waits for the next lead; cards and seat of the last RECENT plays.
    What is left out is the order of earlier plays: infosets that differ in it alone look alike.
    states: [n] BIG2_STATE. The width follows from the rules.
    """
    n, deck, seats = len(states), rules.deck, rules.players
    order = (player + np.arange(seats)) % seats
    own = states["hand"][:, player]
    played = states["played"][:, order]
    whole = np.uint64(sum(1 << int(card) for card in deck))
    gone = np.bitwise_or.reduce(played, axis=1)
    left = rules.hand - card_bits(played, deck).sum(2, dtype=np.int64)

    def seat_bits(seat: NDArray[np.int64], known: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return one bit for each seat from the looker's own, [n, seats]; none where it is not known."""
        found: NDArray[np.bool_] = (seat[:, None] - player) % seats == np.arange(seats)
        return found & known[:, None]

    acting = states["player"].astype(np.int64)
    owner = states["owner"].astype(np.int64)
    parts = [
        card_bits(own, deck),
        card_bits(whole & ~(own | gone), deck),
        card_bits(played, deck).reshape(n, seats * len(deck)),
        (left[:, :, None] > np.arange(rules.hand)).reshape(n, seats * rules.hand),
        card_bits(states["beat"], deck),
        seat_bits(owner, states["beat"] != 0),
        seat_bits(acting, acting >= 0),
        states["passes"][:, None] > np.arange(seats - 1),
        states["out"].astype(np.int64)[:, None] >> order & 1,
    ]
    went = states["went"][:, deck].astype(np.int64)
    plays = states["plays"].astype(np.int64)
    for back in range(RECENT):
        wanted = plays - back
        cards = (went & 63 == wanted[:, None]) & (wanted > 0)[:, None]
        # every card of a play has the same seat in its upper bits
        parts += [cards, seat_bits((went * cards).max(1, initial=0) >> 6, wanted > 0)]
    return np.concatenate([part.astype(np.uint8) for part in parts], axis=1)
