"""Determinization: complete deals that agree with what one seat knows, listed if few, else sampled."""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial

import numpy as np
from numpy.typing import NDArray

from games.guandan.cards import DECK, NUM_CARDS, pack, unpack, wild_card
from games.guandan.combos import ORDER
from games.guandan.rounds.belief import determinise
from games.support.array_types import Array
from gs2.guandan.beliefs.belief_network import Beliefs, steer


@dataclass(frozen=True, eq=False)
class Worlds:
    """Deals that one seat considers possible.

    states: [n] STATE, one infoset of the seat. weights: [n] float64 >= 0, how likely each is; only ratios
    count; 0 where the greedy blueprint weighs (`supported`). exact: whether these are all deals there are.
    """

    states: Array
    weights: NDArray[np.float64]
    exact: bool

    def __len__(self) -> int:
        """Return the number of deals."""
        return len(self.states)

    def take(self, rows: NDArray[np.int64] | slice) -> Worlds:
        """Return some of the deals."""
        return Worlds(self.states[rows], self.weights[rows], False)

    def joined(self, others: Worlds) -> Worlds:
        """Return these deals and then others, drawn anew of the same infoset."""
        states = np.empty(len(self) + len(others), self.states.dtype)
        states[: len(self)], states[len(self) :] = self.states, others.states
        return Worlds(states, np.concatenate([self.weights, others.weights]), False)


def _hidden(state: Array, seat: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return (unseen counts [54], places to fill [5], hands known so far [4, 54]); place 4 is out of play."""
    played = unpack(state["played"]).astype(np.int64)
    hands = np.zeros((4, NUM_CARDS), np.int64)
    hands[seat] = unpack(state["hand"][seat])
    unseen = DECK.astype(np.int64) - hands[seat] - played.sum(0)
    shown = np.maximum(unpack(state["known"]).astype(np.int64) - played, 0)
    places = np.zeros(5, np.int64)
    for s in range(4):
        if s != seat:
            hands[s] = np.minimum(shown[s], np.maximum(unseen, 0))
            unseen = unseen - hands[s]
            places[s] = int(state["left"][s]) - hands[s].sum()
    places[4] = unseen.sum() - places.sum()
    return unseen, places, hands


def count_bound(state: Array, seat: int) -> float:
    """Return an upper bound on the number of deals that `seat` considers possible at one state."""
    unseen, places, _ = _hidden(state, seat)
    if places.min() < 0 or unseen.min() < 0:
        return 0.0
    total = 1.0
    rest = int(unseen.sum())
    for free in places:
        total *= factorial(rest) / (factorial(int(free)) * factorial(rest - int(free)))
        rest -= int(free)
    return total


def list_worlds(state: Array, seat: int, limit: int) -> Worlds | None:
    """Return all deals that `seat` considers possible at one state, or None if there are more than `limit`.

    A deal counts by the ways of shuffling the two copies of each card that lead to it, as `determinise` does.
    """
    unseen, places, hands = _hidden(state, seat)
    if places.min() < 0 or unseen.min() < 0:
        return None
    level = int(state["level"])
    cards = np.flatnonzero(unseen)
    allowed = np.ones((len(cards), 5), bool)
    for row, card in enumerate(cards):
        rank = card // 4 if card < 52 else card - 39
        if card != wild_card(level):
            allowed[row, :4] = ORDER[level, rank] <= state["cap"]
    found: list[tuple[NDArray[np.int64], float]] = []
    stack: list[tuple[int, NDArray[np.int64], NDArray[np.int64], float]] = [(0, places, hands, 1.0)]
    work = 0
    while stack:
        row, free, held, weight = stack.pop()
        work += 1
        if work > 40 * limit + 1000:
            return None
        if row == len(cards):
            found.append((held, weight))
            if len(found) > limit:
                return None
            continue
        card = cards[row]
        for first in range(5):
            if not allowed[row, first] or free[first] == 0:
                continue
            if unseen[card] == 1:
                choices = [(first, first, 1)]
            else:
                choices = [(first, second, 1 + (first != second)) for second in range(first, 5)]
            for a, b, ways in choices:
                left = free.copy()
                left[a] -= 1
                if unseen[card] == 2:
                    left[b] -= 1
                    if left[b] < 0 or not allowed[row, b]:
                        continue
                grown = held.copy()
                for s in (a, b)[: unseen[card]]:
                    if s < 4:
                        grown[s, card] += 1
                stack.append((row + 1, left, grown, weight * ways))
    if not found:
        return None
    states = np.repeat(np.atleast_1d(state), len(found))
    states["hand"] = pack(np.array([held for held, _ in found]))
    return Worlds(states, np.array([weight for _, weight in found]), True)


def card_odds(beliefs: Beliefs, state: Array, seat: int, strength: float = 1.0) -> NDArray[np.float64] | None:
    """Return log odds of who holds each hidden card at one state, [3, 54]; None where all are the same.

    strength: exponent of the odds.
    """
    if strength <= 0:
        return None
    found = np.asarray(beliefs.log_odds(state, np.array([seat])), np.float64)
    odds: NDArray[np.float64] = found[0] * strength
    if odds.shape != (3, NUM_CARDS) or not np.isfinite(odds).all():
        raise ValueError(f"beliefs: log odds must be finite, [3, 54] a state; got shape {odds.shape}")
    return odds


def sample_worlds(
    state: Array,
    seat: int,
    n: int,
    rng: np.random.Generator,
    *,
    odds: NDArray[np.float64] | None = None,
    listed: int | None = None,
) -> Worlds:
    """Return n deals that `seat` considers possible; all of them, weighted, if there are few; shuffled.

    state: [1] STATE. odds: [3, 54] log odds by which hidden cards are dealt (`card_odds`), None for uniform
        deals. listed: up to how many are listed, by default n.
    Raises GameError if no deal is consistent.
    """
    row = np.array(state, copy=True, ndmin=1)
    few = n if listed is None else listed
    if count_bound(row[0], seat) <= 16 * few:
        found = list_worlds(row[0], seat, few)
        if found is not None:
            # whoever looks at the first few only must not see the order of the listing
            order = rng.permutation(len(found))
            found = Worlds(found.states[order], found.weights[order], True)
            return found if odds is None else _weighed(found, seat, odds)
    states = determinise(np.repeat(row, n), seat, rng)
    if odds is not None:
        states = steer(states, seat, odds, rng)
    return Worlds(states, np.ones(n), False)


def _weighed(worlds: Worlds, seat: int, odds: NDArray[np.float64]) -> Worlds:
    """Return listed deals with weights multiplied by their cards' odds, the likeliest first."""
    hands = unpack(worlds.states["hand"]).astype(np.float64)
    others = hands[:, [(seat + j) % 4 for j in (1, 2, 3)]]
    score = np.einsum("nsc,sc->n", others, odds)
    weights = worlds.weights * np.exp(score - score.max())
    # likely deals first: a search cut short has then seen most of what there is
    order = np.argsort(-weights, kind="stable")
    return Worlds(worlds.states[order], weights[order], worlds.exact)
