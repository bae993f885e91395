"""Tribute by a network: the card after which its value of the own hand, as the round begins, is highest.

Every option is tried: the hand that it leaves, the level, whose level it is, who leads and which card the
other is then known to hold. What a decision does not say is averaged over: which opponent is on the other
side and, for a payer, which card comes back. Nothing hidden is looked at: V sees one hand.
`card_choice` of `blueprint.guandan.play.deals` is the rule that it is measured against.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from games.guandan.cards import HAND_SIZE, NUM_CARDS, unpack
from games.guandan.matches.lockstep import CardDecisions
from games.guandan.matches.tribute import CARD_PACKED, CARD_RANK
from games.guandan.rounds.round import from_hands
from games.support.array_types import Array

RETURNS = 8
"""Cards that a payer imagines to come back, the same for each of its options."""
HIGHEST_RETURN = 8
"""Rank code of T."""


class Values(Protocol):
    """What values states in one seat's eyes, such as `blueprint.guandan.network.inference.Inference`."""

    def values(self, states: Array, rows: NDArray[np.int64], seats: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the expected payoff of states[rows] to the seats, [k] float64."""
        ...


class NetworkTribute:
    """Chooses tribute and return cards: the `cards` of an agent (see `Matches.card_decisions`)."""

    def __init__(self, network: Values) -> None:
        self.network = network

    def __call__(self, decisions: CardDecisions) -> NDArray[np.int64]:
        """Return a card for each decision, [k] int64."""
        found: NDArray[np.int64] = self.option_values(decisions).argmax(1)
        return found

    def option_values(self, decisions: CardDecisions) -> NDArray[np.float64]:
        """Return the value of giving each card, [k, 54]: -inf for no option, 0 for the only one."""
        value = np.full(decisions.options.shape, -np.inf)
        value[decisions.options] = 0.0
        open_ = decisions.options.sum(1) > 1
        for back in (True, False):
            at, cards = np.nonzero(decisions.options & (open_ & (decisions.back == back))[:, None])
            if len(at):
                value[at, cards] = self._value(decisions, at, cards, back)
        return value

    def _value(
        self, decisions: CardDecisions, at: NDArray[np.int64], cards: NDArray[np.int64], back: bool
    ) -> NDArray[np.float64]:
        """Return V after giving `cards[i]` in decision `at[i]`, [n] float64."""
        hands = unpack(decisions.hands)[at].astype(np.int64)
        hands[np.arange(len(at)), cards] -= 1
        total = np.zeros(len(at))
        if back:
            for other in (1, 3):
                total += self._ask(decisions, at, cards, hands, other, other)
            return total / 2
        draws = self._returns(decisions)
        for k in range(RETURNS):
            full = hands.copy()
            full[np.arange(len(at)), draws[at, k]] += 1
            other = (1, 3)[k % 2]
            total += self._ask(decisions, at, cards, full, other, 0)
        return total / RETURNS

    def _returns(self, decisions: CardDecisions) -> NDArray[np.int64]:
        """Return cards that may come back, [k, RETURNS]: unseen, up to T, not of the level."""
        rng = np.random.default_rng(0)  # anew for each call: answers do not hang on those before
        unseen = 2 - unpack(decisions.hands).astype(np.float64)
        allowed = (CARD_RANK <= HIGHEST_RETURN) & (decisions.levels[:, None] != CARD_RANK)
        # the largest of n exponential races by weight: a draw without replacement
        race = np.where(allowed & (unseen > 0), rng.random(unseen.shape) ** (1 / np.maximum(unseen, 0.5)), -1)
        return np.argsort(-race, axis=1)[:, :RETURNS].astype(np.int64)

    def _ask(
        self,
        decisions: CardDecisions,
        at: NDArray[np.int64],
        cards: NDArray[np.int64],
        hands: NDArray[np.int64],
        other: int,
        leader: int,
    ) -> NDArray[np.float64]:
        """Return V of these hands, [n]; other, leader: seats after the own one."""
        n = len(at)
        seats = decisions.seats[at].astype(np.int64)
        # somebody holds the rest; V does not see who
        rest = np.repeat(np.tile(np.arange(NUM_CARDS), n), (2 - hands).ravel()).reshape(n, 3, HAND_SIZE)
        all_four = np.zeros((n, 4, NUM_CARDS), np.int64)
        rows = np.arange(n)
        all_four[rows, seats] = hands
        for j in range(3):
            np.add.at(all_four, (rows[:, None], ((seats + 1 + j) % 4)[:, None], rest[:, j]), 1)
        level = decisions.levels[at]
        # tribute is paid to the team whose level it is
        owner = (seats + (0 if decisions.back[at[0]] else 1)) % 2
        states = from_hands(
            all_four,
            level=level,
            first=(seats + leader) % 4,
            levels=np.repeat(level[:, None], 2, 1),
            owner=owner,
        )
        states["known"][rows, (seats + other) % 4] = CARD_PACKED[cards]
        return self.network.values(states, rows, seats)
