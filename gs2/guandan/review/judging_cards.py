"""Tribute and return cards of a round judged by what the network thinks of the hands that they leave.

There is no search here: the network's value of the own hand as the round begins, after each card that might
have been given, with what the giver could not know averaged over (`NetworkTribute`). A card that the options
of the ruling do not hold is shown and not judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.play.network_tribute import NetworkTribute
from games.guandan.cards import CARD_NAMES, pack, unpack
from games.guandan.matches.lockstep import CardDecisions
from games.guandan.matches.tribute import return_options, tribute_options
from games.support.array_types import Array
from gs2.guandan.agent.evaluator import Evaluator
from gs2.guandan.review.recorded_rounds import CardGiven, RecordedRound
from gs2.guandan.review.review_data import ReviewedCard

__all__ = ["judge_cards"]


@dataclass(frozen=True)
class _Views:
    """An evaluator's value of what one seat sees, under the name that tribute asks for."""

    evaluator: Evaluator

    def values(self, states: Array, rows: NDArray[np.int64], seats: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.evaluator.views(states, rows, seats)


def judge_cards(played: RecordedRound, evaluator: Evaluator) -> list[ReviewedCard]:
    """Return the judgement of each tribute and return card by a seat whose hand is known and had a choice."""
    tribute = NetworkTribute(_Views(evaluator))
    found = []
    for decision, given in _decisions(played):
        options = decision.options[0]
        if options.sum() < 2 or not options[given]:
            continue
        # one at a time: what a payer imagines to come back must not hang on what is judged beside it
        value = tribute.option_values(decision)[0]
        best = given if value[given] >= value.max() else int(value.argmax())
        seat, back = int(decision.seats[0]), bool(decision.back[0])
        loss, names = float(value[best] - value[given]), (CARD_NAMES[given], CARD_NAMES[best])
        found.append(ReviewedCard(seat, back, *names, loss, int(options.sum())))
    return found


def _decisions(played: RecordedRound) -> Iterator[tuple[CardDecisions, int]]:
    """Yield each card that was chosen as its decision, with the index of the card given."""
    hands = unpack(played.start["hand"][0]).astype(np.int64)
    for back, given in ((False, played.tributes), (True, played.returns)):
        for giver, taker, name in given:
            if not played.known[giver]:
                continue
            card = CARD_NAMES.index(name)
            hand = hands[giver].copy()
            hand[card] += 1
            received: int | None = None
            if back:
                received = _card(played.tributes, taker, giver)
            else:
                returned = _card(played.returns, taker, giver)
                if returned is not None:
                    hand[returned] -= 1
            if hand.min() < 0 or hand.max() > 2 or (back and received is None):
                continue  # what was seen of this exchange does not fit together
            yield _decision(played, giver, hand, received), card


def _card(given: tuple[CardGiven, ...], giver: int, taker: int) -> int | None:
    """Return the card that went from one seat to another, None if none did."""
    return next(
        (CARD_NAMES.index(name) for one, other, name in given if (one, other) == (giver, taker)), None
    )


def _decision(
    played: RecordedRound, seat: int, hand: NDArray[np.int64], received: int | None
) -> CardDecisions:
    """Return the decision of a seat; received: the tribute card that it returns one for, None for a payer."""
    packed = pack(hand[None].astype(np.uint8))
    level = played.start["level"].astype(np.uint8)
    if received is None:
        options = tribute_options(packed, level)
    else:
        options = return_options(packed, level, np.array([received], np.uint8))
    return CardDecisions(
        np.zeros(1, np.int64),
        np.array([seat], np.uint8),
        np.zeros(1, np.uint8),
        np.array([received is not None]),
        level,
        packed,
        options,
    )
