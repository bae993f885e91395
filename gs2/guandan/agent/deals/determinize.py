"""Determinization: complete deals that agree with what one seat knows, listed if few, else sampled."""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial

import numpy as np
from numpy.typing import NDArray

from games.guandan.cards import DECK, NUM_CARDS, pack, unpack, wild_card
from games.guandan.combos import ORDER
from games.guandan.matches.tribute import CARD_RANK
from games.guandan.rounds.belief import determinise
from games.support.array_types import Array
from gs2.guandan.beliefs.belief_network import BeliefNetwork, steer

_SPLITS: tuple[list[tuple[int, ...]], ...] = (
    [],
    [(a,) for a in range(4, -1, -1)],
    [(a, b) for a in range(4, -1, -1) for b in range(4, a - 1, -1)],
)
_GIVEN = [np.array([np.bincount(split, minlength=5) for split in splits]) for splits in _SPLITS]
_WAYS = [np.array([float(len(set(split))) for split in splits]) for splits in _SPLITS]
"""How no, one or two copies of a card go to five places, and in how many ways each comes about."""


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
        return len(self.states)

    def take(self, rows: NDArray[np.int64] | slice, *, exact: bool = False) -> Worlds:
        return Worlds(self.states[rows], self.weights[rows], exact)

    def weighed(self, logs: NDArray[np.float64]) -> Worlds:
        """Return the deals with weights multiplied by exp(logs), to a constant; logs: [n]."""
        return Worlds(self.states, self.weights * np.exp(logs - logs.max()), self.exact)

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
    level, work = int(state["level"]), 1
    held, free, weights = hands[None].astype(np.uint8), places[None], np.ones(1)
    for card in np.flatnonzero(unseen).tolist():
        may = (ORDER[level, CARD_RANK[card]] <= state["cap"]) | (card == wild_card(level))
        given, ways = _GIVEN[unseen[card]], _WAYS[unseen[card]]
        fits = (given <= np.where([*may, True], free, 0)[:, None]).all(2)
        rows, which = np.nonzero(fits)
        work += len(rows)
        if work > 40 * limit + 1000:
            return None
        held, free, weights = held[rows], free[rows] - given[which], weights[rows] * ways[which]
        held[:, :, card] += given[which, :4].astype(np.uint8)
    if not 0 < len(held) <= limit:
        return None
    states = np.repeat(np.atleast_1d(state), len(held))
    states["hand"] = pack(held)
    return Worlds(states, weights, True)


def card_odds(
    beliefs: BeliefNetwork, state: Array, seat: int, strength: float = 1.0
) -> NDArray[np.float64] | None:
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
            found = found.take(rng.permutation(len(found)), exact=True)
            if odds is None:
                return found
            hands = unpack(found.states["hand"]).astype(np.float64)
            others = hands[:, [(seat + j) % 4 for j in (1, 2, 3)]]
            found = found.weighed(np.einsum("nsc,sc->n", others, odds))
            # likely deals first: a search cut short has then seen most of what there is
            return found.take(np.argsort(-found.weights, kind="stable"), exact=True)
    states = determinise(np.repeat(row, n), seat, rng)
    if odds is not None:
        states = steer(states, seat, odds, rng)
    return Worlds(states, np.ones(n), False)
