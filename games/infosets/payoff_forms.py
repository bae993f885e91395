"""Payoffs of terminal public states in structured form: what chance gives, times how two strengths compare.

The payoff of a pair of private states (i, j) to player 0, times the probability by chance of the pair and of
all that was shown, is a sum of *terms*. A term is a weight times an amount:

    weight   first[i] * second[j], plus a share for each of a few listed pairs
    amount   one of three, as strength0[i] is below, equal to or above strength1[j]; or always the same

A fold is a term whose amount is always the same. A showdown compares hands. A call of liar compares the one
count with what is missing of the other. What is of low rank is a sum of the first kind. Listed pairs take
back what a product of weights gives to pairs that exclude each other, as two players with the same card do;
where they share one of several cards, a term for each card takes it back from the hands that hold it. What
has no such form is a matrix.

    forms = FormBuilder((n, n))
    deal = forms.deal(first, second, diagonal=-first * second)
    forms.pay(0, deal, forms.strengths(hands, hands), (-1.0, 0.0, 1.0))
    forms.build(1).values(0, player=0, reach=np.ones(n))

Source of the sums over sorted hands: Johanson, Waugh, Bowling and Zinkevich 2011.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.game import GameError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
BELOW, EQUAL, ABOVE = 0, 1, 2


@dataclass(frozen=True, eq=False)
class PayoffForms:
    """The payoffs to player 0, times chance, at n terminal public states.

    first, second: [deals, n0] and [deals, n1] float64, weights of the private states.
    pair_offset: [deals + 1] int64, pair: [m, 2] int64, share: [m] float64: what some pairs get besides.
    strength0, strength1: [orders, n0] and [orders, n1] int64.
    term_offset: [n + 1] int64, the terms of each state. deal: [t] int64. order: [t] int64, -1 where nothing
    is compared. paid: [t, 3] float64, amounts where the strength of player 0 is below, equal, above.
    matrix: [n] int64, which matrix is added to the terms, -1 for none. matrices: [k, n0, n1] float64.
    """

    first: Floats
    second: Floats
    pair_offset: Ints
    pair: Ints
    share: Floats
    strength0: Ints
    strength1: Ints
    term_offset: Ints
    deal: Ints
    order: Ints
    paid: Floats
    matrix: Ints
    matrices: Floats

    def __post_init__(self) -> None:
        n0, n1 = self.private
        deals, orders, m, n, t = (
            len(part) for part in (self.first, self.strength0, self.share, self.matrix, self.deal)
        )
        shapes = {
            "first": (deals, n0),
            "second": (deals, n1),
            "pair_offset": (deals + 1,),
            "pair": (m, 2),
            "share": (m,),
            "strength0": (orders, n0),
            "strength1": (orders, n1),
            "term_offset": (n + 1,),
            "order": (t,),
            "paid": (t, 3),
            "matrix": (n,),
            "matrices": (len(self.matrices), n0, n1),
        }
        for name, shape in shapes.items():
            array = getattr(self, name)
            _require(array.shape == shape, f"{name} must be {list(shape)}; got {list(array.shape)}")
            _require(array.dtype.kind == "i" or bool(np.isfinite(array).all()), f"{name} must be finite")
        _within("deal", self.deal, 0, deals)
        _within("order", self.order, -1, orders)
        _within("matrix", self.matrix, -1, len(self.matrices))
        for player in (0, 1):
            _within("pair", self.pair[:, player], 0, self.private[player])
        for name, length in (("pair_offset", m), ("term_offset", t)):
            ends = getattr(self, name)
            sound = ends[0] == 0 and ends[-1] == length and not (np.diff(ends) < 0).any()
            _require(bool(sound), f"{name} must rise from 0 to {length}")

    def __len__(self) -> int:
        return len(self.matrix)

    @property
    def private(self) -> tuple[int, int]:
        """Private states of each player."""
        return self.matrices.shape[1], self.matrices.shape[2]

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(array.nbytes for array in self.arrays().values())

    @classmethod
    def of_matrices(cls, matrices: Floats) -> PayoffForms:
        """Return payoffs without structure, [n, n0, n1] float64."""
        n, n0, n1 = matrices.shape
        return replace(FormBuilder((n0, n1)).build(n), matrix=np.arange(n), matrices=matrices)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def terms(self, state: int) -> range:
        """Return the numbers of a state's terms."""
        return range(int(self.term_offset[state]), int(self.term_offset[state + 1]))

    def listed(self, deal: int) -> tuple[Ints, Ints, Floats]:
        """Return the pairs that a deal lists: (private states of player 0, of player 1, shares)."""
        at = slice(int(self.pair_offset[deal]), int(self.pair_offset[deal + 1]))
        return self.pair[at, 0], self.pair[at, 1], self.share[at]

    def dense(self, state: int) -> Floats:
        """Return the payoffs at a state as a matrix, [n0, n1] float64."""
        number = int(self.matrix[state])
        out: Floats = np.zeros(self.private) if number < 0 else self.matrices[number].copy()
        for t in self.terms(state):
            deal, order = int(self.deal[t]), int(self.order[t])
            weight = np.outer(self.first[deal], self.second[deal])
            own, other, share = self.listed(deal)
            np.add.at(weight, (own, other), share)
            sign: Any = 0
            if order >= 0:
                sign = np.sign(self.strength0[order][:, None] - self.strength1[order])
            out += weight * self.paid[t][1 + sign]
        return out

    def values(self, state: int, player: int, reach: Floats) -> Floats:
        """Return a state's counterfactual values to a player, [its private states] float64.

        reach: [the other's private states]. Takes time in proportion to n log n, a matrix aside.
        """
        number = int(self.matrix[state])
        out: Floats = np.zeros(self.private[player])
        if number >= 0:
            paid = self.matrices[number]
            out += paid @ reach if player == 0 else -(paid.T @ reach)
        for t in self.terms(state):
            deal, order = int(self.deal[t]), int(self.order[t])
            weights, paid = (self.first[deal], self.second[deal]), self.paid[t]
            own, other, share = self.listed(deal)
            if player == 1:
                weights, paid, own, other = weights[::-1], -paid[::-1], other, own
            at = weights[1] * reach
            if order < 0:
                out += paid[EQUAL] * weights[0] * at.sum()
                np.add.at(out, own, paid[EQUAL] * share * reach[other])
                continue
            strengths = self.strength0[order], self.strength1[order]
            mine, theirs = strengths if player == 0 else strengths[::-1]
            rank = np.argsort(theirs, kind="stable")
            total = np.concatenate([[0.0], np.cumsum(at[rank])])
            less, most = (total[np.searchsorted(theirs[rank], mine, side)] for side in ("left", "right"))
            out += weights[0] * (
                paid[ABOVE] * less + paid[EQUAL] * (most - less) + paid[BELOW] * (total[-1] - most)
            )
            np.add.at(out, own, paid[1 + np.sign(mine[own] - theirs[other])] * share * reach[other])
        return out

    def restricted(
        self, kept: NDArray[np.bool_], possible: NDArray[np.bool_], states: NDArray[np.bool_]
    ) -> PayoffForms:
        """Return the payoffs with nothing paid but for some pairs, [n0, n1] bool, structured if that can be.

        possible: [n0, n1] bool, pairs that pay anything. states: [n] bool, those that are wanted.
        """
        kept = kept & possible
        rows, columns = (np.asarray(kept.any(axis=axis)) for axis in (1, 0))
        if np.array_equal(kept, possible):
            return self
        if np.array_equal(kept, np.outer(rows, columns) & possible):
            return self.kept(rows, columns)
        return self.masked(kept, states)

    def kept(self, rows: NDArray[np.bool_], columns: NDArray[np.bool_]) -> PayoffForms:
        """Return the payoffs with nothing paid but for some private states of each: [n0], [n1] bool."""
        return replace(
            self,
            first=self.first * rows,
            second=self.second * columns,
            share=self.share * (rows[self.pair[:, 0]] & columns[self.pair[:, 1]]),
            matrices=self.matrices * (rows[:, None] & columns),
        )

    def masked(self, kept: NDArray[np.bool_], states: NDArray[np.bool_]) -> PayoffForms:
        """Return the payoffs with nothing paid but for some pairs, [n0, n1] bool, as matrices.

        states: [n] bool, those that are wanted; others pay nothing.
        """
        wanted = np.flatnonzero(states)
        matrices = np.zeros((len(wanted), *self.private))
        for at, state in enumerate(wanted.tolist()):
            matrices[at] = self.dense(state) * kept
        none = FormBuilder(self.private).build(len(self))
        return replace(none, matrix=np.where(states, np.cumsum(states) - 1, -1), matrices=matrices)


def _require(sound: bool, rule: str) -> None:
    if not sound:
        raise GameError(f"payoff forms: {rule}; see games.infosets.payoff_forms")


def _within(name: str, numbers: Ints, low: int, end: int) -> None:
    sound = not len(numbers) or (numbers.min() >= low and numbers.max() < end)
    _require(bool(sound), f"{name} must be in [{low}, {end})")


class FormBuilder:
    """Puts payoffs together, term by term.

    private: of each player, how many private states there are.
    """

    def __init__(self, private: tuple[int, int]) -> None:
        self._private = private
        self._deals: list[tuple[Floats, Floats]] = []
        self._pairs: list[tuple[Ints, Floats]] = []
        self._orders: list[tuple[Ints, Ints]] = []
        self._terms: list[tuple[int, int, int, tuple[float, float, float]]] = []
        self._known: dict[Hashable, int] = {}

    def deal(
        self,
        first: Floats,
        second: Floats,
        *,
        pairs: Ints | None = None,
        share: Floats | None = None,
        diagonal: Floats | None = None,
    ) -> int:
        """Return the number of a weight: first[i] * second[j], and shares of some pairs [m, 2] besides.

        diagonal: [n] float64, shares of the pairs of a private state with itself.
        """
        if diagonal is not None:
            pairs, share = np.repeat(np.arange(len(diagonal)), 2).reshape(-1, 2), diagonal
        if pairs is None or share is None:
            pairs, share = np.zeros((0, 2), np.int64), np.zeros(0)
        key = "deal", *(np.asarray(part).tobytes() for part in (first, second, pairs, share))
        if key not in self._known:
            self._known[key] = len(self._deals)
            self._deals.append((np.asarray(first, np.float64), np.asarray(second, np.float64)))
            self._pairs.append((np.asarray(pairs, np.int64), np.asarray(share, np.float64)))
        return self._known[key]

    def strengths(self, first: NDArray[Any], second: NDArray[Any]) -> int:
        """Return the number of a comparison of strengths, [n0] and [n1] whole numbers."""
        both = np.asarray(first, np.int64), np.asarray(second, np.int64)
        key = "order", both[0].tobytes(), both[1].tobytes()
        if key not in self._known:
            self._known[key] = len(self._orders)
            self._orders.append(both)
        return self._known[key]

    def pay(self, state: int, deal: int, order: int | None, paid: float | tuple[float, float, float]) -> None:
        """Add a term to a state's payoffs: a weight times what is paid to player 0.

        order: the comparison; None where nothing is compared. paid: one amount, or those where the strength
        of player 0 is below, equal, above.
        """
        amounts = paid if isinstance(paid, tuple) else (paid, paid, paid)
        same = order is None or amounts[0] == amounts[1] == amounts[2]
        _require(order is not None or len(set(amounts)) == 1, "amounts that differ must have an order")
        self._terms.append((state, deal, -1 if order is None or same else order, amounts))

    def build(self, n: int) -> PayoffForms:
        """Return the payoffs of n states, those numbered from 0 to n - 1."""
        n0, n1 = self._private
        _require(all(0 <= state < n for state, *_ in self._terms), f"states must be in [0, {n})")
        terms = sorted(self._terms, key=lambda term: term[0])
        counts = np.bincount([state for state, *_ in terms], minlength=n) if terms else np.zeros(n, np.int64)
        listed = [len(share) for _, share in self._pairs]
        return PayoffForms(
            first=_stacked([first for first, _ in self._deals], (n0,)),
            second=_stacked([second for _, second in self._deals], (n1,)),
            pair_offset=np.cumsum([0, *listed]).astype(np.int64),
            pair=np.concatenate([np.zeros((0, 2), np.int64), *[pairs for pairs, _ in self._pairs]]),
            share=np.concatenate([np.zeros(0), *[share for _, share in self._pairs]]),
            strength0=_stacked([first for first, _ in self._orders], (n0,), np.int64),
            strength1=_stacked([second for _, second in self._orders], (n1,), np.int64),
            term_offset=np.cumsum([0, *counts]).astype(np.int64),
            deal=np.array([deal for _, deal, _, _ in terms], np.int64),
            order=np.array([order for _, _, order, _ in terms], np.int64),
            paid=_stacked([np.array(paid, np.float64) for *_, paid in terms], (3,)),
            matrix=np.full(n, -1, np.int64),
            matrices=np.zeros((0, n0, n1)),
        )


def _stacked(rows: list[Any], shape: tuple[int, ...], dtype: Any = np.float64) -> NDArray[Any]:
    return np.array(rows, dtype).reshape(len(rows), *shape)
