"""Payoffs as sweeps take them: for every kind of terminal the form that costs least.

    dense    a matrix, n² numbers: fastest where there are few private states and few kinds
    flat     a product of two vectors of weights, one amount, 3 n numbers: folds, and what has few classes
    stairs   private states in the order of their strength, about 6 n numbers: showdowns of many hands

A comparison (`games.infosets.payoff_forms`) is a sum of flat items, too: one for each class of private states
that all compare alike. Costs are estimates in vectors of eight numbers moved or multiplied, fitted to one
machine; they decide how fast a sweep is, never what comes out, rounding aside.

`add_payoffs` is what a sweep calls at a terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.engine.simd import LANES, fma, splat, store, take, total
from cfr.public.tree import padded
from games.infosets.payoff_forms import PayoffForms
from games.support.kernel import kernel

FLAT, STAIRS = 1, 2
"""Forms of an item: a product of weights, one amount; amounts by how strengths compare."""
PLAN_FIELDS = 8
_FORM, _NUMBERS, _INDEX, _COLUMNS, _ROWS, _PAIRS, _PAIR_NUMBERS, _PAIR_INDEX = range(PLAN_FIELDS)


@kernel(nogil=True)
def add_payoffs(
    payoffs: Any, kind: int, sizes: tuple[int, int, int], vec: Any, reach: int, value: int
) -> None:
    """Add the payoffs of a kind of terminal against the reach at vec[reach:] to vec[value:].

    payoffs: (matrix, first, plan, amounts, numbers, index, spare): where the matrix of a kind lies, 0 where
    it has items instead; vec[spare:] is room for the sums of classes.
    sizes: (the other's private states, these padded, the traverser's padded).
    """
    matrix = payoffs[0][kind]
    if matrix:
        _dense(payoffs[4], matrix, sizes[0], sizes[2], vec, reach, value)
    else:
        _structured(payoffs, kind, sizes, vec, reach, value)


@kernel(nogil=True)
def _structured(
    payoffs: Any, kind: int, sizes: tuple[int, int, int], vec: Any, reach: int, value: int
) -> None:
    """Add the items of a kind."""
    _, first, plan, amounts, numbers, index, spare = payoffs
    _, other_wide, wide = sizes
    for item in range(first[kind], first[kind + 1]):
        at = PLAN_FIELDS * item
        form = plan[at + _FORM]
        paid = amounts[3 * item], amounts[3 * item + 1], amounts[3 * item + 2]
        if form == FLAT:
            where = plan[at + _NUMBERS], other_wide, wide, plan[at + _ROWS]
            _flat(numbers, where, paid[1], vec, reach, value)
        else:
            where = plan[at + _NUMBERS], plan[at + _INDEX], plan[at + _COLUMNS], plan[at + _ROWS]
            _stairs((numbers, index), where, paid, vec, (reach, value, spare))
        pairs = plan[at + _PAIRS]
        if pairs:
            where = plan[at + _PAIR_NUMBERS], plan[at + _PAIR_INDEX], pairs, 0
            _listed((numbers, index), where, paid, vec, reach, value)


@kernel(nogil=True)
def _dense(numbers: Any, start: int, n: int, wide: int, vec: Any, reach: int, value: int) -> None:
    """Add a matrix [n, wide] from `start` against the reach."""
    j = 0
    while j + LANES < wide:
        sum_0, sum_1 = take(vec, value + j), take(vec, value + j + LANES)
        at = start + j
        for i in range(reach, reach + n):
            prob = splat(vec, vec[i])
            sum_0 = fma(prob, take(numbers, at), sum_0)
            sum_1 = fma(prob, take(numbers, at + LANES), sum_1)
            at += wide
        store(vec, value + j, sum_0)
        store(vec, value + j + LANES, sum_1)
        j += 2 * LANES
    if j < wide:
        sum_0 = take(vec, value + j)
        at = start + j
        for i in range(reach, reach + n):
            sum_0 = fma(splat(vec, vec[i]), take(numbers, at), sum_0)
            at += wide
        store(vec, value + j, sum_0)


@kernel(nogil=True)
def _flat(
    numbers: Any, where: tuple[int, int, int, int], paid: float, vec: Any, reach: int, value: int
) -> None:
    """Add an amount times a product of weights, and times a diagonal if there is one.

    numbers: from where[0] the other's weights [other_wide], the own [wide], the diagonal [wide].
    """
    at, other_wide, wide, diagonal = where
    found = splat(vec, 0.0)
    for j in range(0, other_wide, LANES):
        found = fma(take(numbers, at + j), take(vec, reach + j), found)
    amount = splat(vec, paid)
    worth = splat(vec, total(found)) * amount
    at += other_wide
    for j in range(0, wide, LANES):
        mine = fma(take(numbers, at + j), worth, take(vec, value + j))
        if diagonal:
            mine = fma(take(numbers, at + wide + j) * amount, take(vec, reach + j), mine)
        store(vec, value + j, mine)


@kernel(nogil=True)
def _stairs(tables: Any, where: tuple[int, int, int, int], paid: Any, vec: Any, places: Any) -> None:
    """Add amounts by how strengths compare: sums over classes of the other's, then one read a private state.

    numbers: from where[0] the other's weights in the order of their strength, then the own. index: from
    where[1] the ends of the other's classes, its private states in order, then the own classes' (end, classes
    below, classes not above), and the own private states in order.
    """
    numbers, index = tables
    weight, at, classes, own_classes = where
    below, equal, above = paid
    reach, value, spare = places
    order, zero = at + classes, numbers[0]
    n = index[at + classes - 1]
    found = zero
    vec[spare] = zero
    k = 0
    for c in range(classes):
        part = zero
        end = index[at + c]
        while k < end:
            part += numbers[weight + k] * vec[reach + index[order + k]]
            k += 1
        found += part
        vec[spare + c + 1] = found
    weight, at = weight + n, order + n
    rows = at + 3 * own_classes
    k = 0
    for c in range(at, rows, 3):
        less, most = vec[spare + index[c + 1]], vec[spare + index[c + 2]]
        worth = above * less + equal * (most - less) + below * (found - most)
        end = index[c]
        while k < end:
            vec[value + index[rows + k]] += numbers[weight + k] * worth
            k += 1


@kernel(nogil=True)
def _listed(
    tables: Any, where: tuple[int, int, int, int], paid: Any, vec: Any, reach: int, value: int
) -> None:
    """Add the shares of listed pairs. index: (own, the other's, how they compare: 0, 1, 2) of each."""
    numbers, index = tables
    weight, at, pairs, _ = where
    for k in range(pairs):
        own, other, sign = index[at], index[at + 1], index[at + 2]
        amount = paid[0] if sign == 0 else paid[1] if sign == 1 else paid[2]
        vec[value + own] += numbers[weight + k] * amount * vec[reach + other]
        at += 3


Floats = NDArray[Any]
SweptPayoffs = tuple[
    NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], Floats, Floats, NDArray[np.int32], int
]
"""(matrix, first, plan, amounts, numbers, index, spare) of `cfr.public.swept_payoffs`.

matrix: [kinds], where the matrix of each lies in the numbers, 0 for none. first: [kinds + 1], the items of
the others. plan: [items, PLAN_FIELDS] and amounts: [items, 3], both flat. spare: where `vec` has room.
"""

VECTOR, FAR_VECTOR = 1.0, 3.0
"""Cost of a vector of a matrix: where all matrices together stay in the cache, and where they do not."""
NEAR_BYTES = 1 << 20
"""Bytes of matrices that stay in the cache."""
FLAT_ITEM, STAIRS_ITEM = 30.0, 20.0
STEP = 1.5
"""Cost of a private state of either player in stairs, and of a listed pair in whichever form."""
CLASS = 4.0


@dataclass(frozen=True, eq=False)
class _Term:
    """A term as one player sees it; arrays are of its own private states, then of the other's.

    weight, strength: of both; no strength where nothing is compared. paid: amounts where the own strength is
    below, equal, above. pairs: (own, other's, share) of those listed, and sign: how they compare, 0 to 2.
    key: what tells terms apart that differ in more than the amounts.
    """

    weight: tuple[Floats, Floats]
    strength: tuple[NDArray[np.int64], NDArray[np.int64]] | None
    paid: tuple[float, float, float]
    pairs: tuple[NDArray[np.int64], NDArray[np.int64], Floats]
    sign: NDArray[np.int64]
    key: tuple[int, int]

    @property
    def scale(self) -> float:
        """The largest amount."""
        return max(map(abs, self.paid))

    @property
    def amounts(self) -> Floats:
        """What each listed pair is paid."""
        return np.array(self.paid)[self.sign]


@dataclass(frozen=True, eq=False)
class _Classes:
    """Private states that weigh anything, in the order of their strength, in classes that compare alike.

    own, other: which they are. ends: of the other's classes. steps: [own classes, 3], the end of each, the
    other's classes below it, and those not above it.
    """

    own: NDArray[np.int64]
    other: NDArray[np.int64]
    ends: NDArray[np.int64]
    steps: NDArray[np.int64]


def _term(forms: PayoffForms, t: int, player: int) -> _Term:
    deal, order = int(forms.deal[t]), int(forms.order[t])
    below, equal, above = (float(amount) for amount in forms.paid[t])
    weight: tuple[Floats, Floats] = forms.first[deal], forms.second[deal]
    own, other, share = forms.listed(deal)
    strength = None if order < 0 else (forms.strength0[order], forms.strength1[order])
    if player == 1:
        weight, own, other, (below, equal, above) = weight[::-1], other, own, (-above, -equal, -below)
        strength = None if strength is None else strength[::-1]
    sign = np.ones(len(own), np.int64)
    if strength is not None:
        sign += np.sign(strength[0][own] - strength[1][other])
    return _Term(weight, strength, (below, equal, above), (own, other, share), sign, (deal, order))


def _classes(term: _Term) -> _Classes:
    assert term.strength is not None
    own, other = (np.flatnonzero(weight) for weight in term.weight)
    mine, theirs = term.strength[0][own], term.strength[1][other]
    own, other = own[np.argsort(mine, kind="stable")], other[np.argsort(theirs, kind="stable")]
    mine, theirs = np.sort(mine), np.sort(theirs)
    below, equal, above = term.paid
    # Columns are of one class if every row compares alike with them, as far as the amounts tell.
    less, most = (np.searchsorted(mine, theirs, side) for side in ("left", "right"))
    less, most = (less, less) if equal == above else (most, most) if equal == below else (less, most)
    ends = np.flatnonzero(np.append((np.diff(less) > 0) | (np.diff(most) > 0), len(other) > 0)) + 1
    last = theirs[ends - 1]
    less, most = (np.searchsorted(last, mine, side) for side in ("left", "right"))
    less, most = (most, most) if equal == above else (less, less) if equal == below else (less, most)
    tops = np.flatnonzero(np.append((np.diff(less) > 0) | (np.diff(most) > 0), len(own) > 0)) + 1
    return _Classes(own, other, ends, np.stack([tops, less[tops - 1], most[tops - 1]], axis=1))


class _Compiler:
    """Collects the items of one player's payoffs, numbers that several need kept once."""

    def __init__(self, forms: PayoffForms, player: int, dtype: Any, used: NDArray[np.bool_]) -> None:
        self.forms, self.player, self.dtype = forms, player, np.dtype(dtype)
        n, self.n_other = forms.private[player], forms.private[1 - player]
        self.wide, self.other_wide = padded(n), padded(self.n_other)
        self.size = self.n_other * self.wide
        near = int(used.sum()) * self.size * self.dtype.itemsize <= NEAR_BYTES
        self.dense_cost = self.size / LANES * (VECTOR if near else FAR_VECTOR)
        self.n_numbers, self.n_index = 1, 0  # the first number is 0
        self.numbers: list[tuple[int, Callable[[], Floats]]] = []
        self.index: list[NDArray[np.int64]] = []
        self.matrices = np.zeros(len(forms), np.int64)
        self.items: list[tuple[int, ...]] = []
        self.amounts: list[tuple[float, float, float]] = []
        self._places: dict[Hashable, tuple[int, int]] = {}
        self._known: dict[Hashable, _Classes] = {}

    def add(self, kind: int) -> None:
        """Add the items of a kind."""
        terms = [_term(self.forms, t, self.player) for t in self.forms.terms(kind)]
        found = [self._best(term) for term in terms]
        if self.forms.matrix[kind] >= 0 or sum(cost for cost, _ in found) > self.dense_cost:
            self.matrices[kind] = self._put(("matrix", kind), self.size, lambda: self._dense(kind), ())[0]
            return
        for _, add in found:
            add()

    def _dense(self, kind: int) -> Floats:
        paid = self.forms.dense(kind)
        out = np.zeros((self.n_other, self.wide), self.dtype)
        out[:, : self.forms.private[self.player]] = paid.T if self.player == 0 else -paid
        return out.reshape(-1)

    def _best(self, term: _Term) -> tuple[float, Callable[[], None]]:
        """Return what a term costs at best, and what adds it."""
        own, other, _ = term.pairs
        diagonal = self.wide == self.other_wide and np.array_equal(own, other) and len(own) > 0
        flat = FLAT_ITEM + (self.other_wide + self.wide) / LANES
        once = self.wide / LANES if diagonal else STEP * len(own)
        if term.strength is None:
            return flat + once, lambda: self._flat(term, diagonal)
        classes = self._classes_of(term)
        steps = len(classes.ends) + len(classes.steps)
        listed = int(np.count_nonzero(term.amounts))
        stairs = STAIRS_ITEM + STEP * (len(classes.own) + len(classes.other) + listed) + CLASS * steps
        few = min(len(classes.ends), len(classes.steps))
        flats = flat * max(few, 1) + (once if listed else 0.0)
        if few and stairs < flats:
            return stairs, lambda: self._stairs(term, classes)
        return flats, lambda: self._flats(term, classes, diagonal and listed > 0)

    def _classes_of(self, term: _Term) -> _Classes:
        below, equal, above = term.paid
        key = (*term.key, equal == above, equal == below)
        if key not in self._known:
            self._known[key] = _classes(term)
        return self._known[key]

    def _flat(self, term: _Term, diagonal: bool) -> None:
        whole = np.ones(len(term.sign)), diagonal
        self._product(("flat", *term.key), term.weight, term, whole, term.paid[1])

    def _product(
        self,
        key: Hashable,
        weights: tuple[Floats, Floats],
        term: _Term,
        listed_pairs: tuple[Floats, bool],
        amount: float,
    ) -> None:
        """Add a flat item. listed_pairs: by what the share of each of the term's pairs is multiplied, none
        for no pairs, and whether they are a diagonal."""
        (shares, diagonal), (own, other, share) = listed_pairs, term.pairs
        listed = 0 if diagonal else len(shares)
        size = self.other_wide + (1 + diagonal) * self.wide

        def numbers() -> Floats:
            out = np.zeros(size + listed)
            out[: self.n_other] = weights[1]
            out[self.other_wide : self.other_wide + len(weights[0])] = weights[0]
            if diagonal:
                np.add.at(out, self.other_wide + self.wide + own, share * shares)
            out[size:] = (share * shares)[:listed] if listed else 0.0
            return out

        index = np.stack([own, other, np.ones(len(own), np.int64)], axis=1).reshape(-1)[: 3 * listed]
        at, where = self._put(key, size + listed, numbers, index)
        self._item(FLAT, (at, 0, 0, int(diagonal)), (0.0, amount, 0.0), (listed, at + size, where))

    def _flats(self, term: _Term, classes: _Classes, diagonal: bool) -> None:
        """Add a comparison as products, one for each class of whichever player has fewer."""
        own, other = np.zeros_like(term.weight[0]), np.zeros_like(term.weight[1])
        own[classes.own], other[classes.other] = term.weight[0][classes.own], term.weight[1][classes.other]
        class_of, step_of = np.zeros(len(other), np.int64), np.zeros(len(own), np.int64)
        class_of[classes.other] = np.repeat(np.arange(len(classes.ends)), np.diff(classes.ends, prepend=0))
        step_of[classes.own] = np.repeat(
            np.arange(len(classes.steps)), np.diff(classes.steps[:, 0], prepend=0)
        )
        scale = term.scale
        paid = np.array(term.paid) / scale if scale else np.zeros(3)
        which = np.arange(len(classes.ends))
        _, less, most = classes.steps.T
        table = paid[1 + (which < less[:, None]).astype(np.int64) - (which >= most[:, None])]
        few = len(classes.ends) <= len(classes.steps)
        shares = paid[term.sign] if term.amounts.any() else np.zeros(0)
        # Where nothing weighs anything there is no class, but pairs may be listed all the same.
        for k in range(max(min(table.shape), int(len(shares) > 0))):
            if not table.size:
                weights = own, other
            elif few:
                weights = own * table[step_of, k], other * (class_of == k)
            else:
                weights = own * (step_of == k), other * table[k, class_of]
            given = (shares, diagonal) if k == 0 else (np.zeros(0), False)
            key = "flats", *term.key, k, *(paid + 0.0).tolist()
            self._product(key, weights, term, given, scale)

    def _stairs(self, term: _Term, classes: _Classes) -> None:
        kept = np.flatnonzero(term.amounts)
        own, other, share = (part[kept] for part in term.pairs)
        numbers = np.concatenate([term.weight[1][classes.other], term.weight[0][classes.own], share])
        parts = classes.ends, classes.other, classes.steps.reshape(-1), classes.own
        pairs = np.stack([own, other, term.sign[kept]], axis=1).reshape(-1)
        index = np.concatenate([*parts, pairs])
        below, equal, above = term.paid
        key = "stairs", *term.key, equal == above, equal == below, kept.tobytes()
        at, where = self._put(key, len(numbers), lambda: numbers, index)
        fields = at, where, len(classes.ends), len(classes.steps)
        listed = len(kept), at + len(numbers) - len(kept), where + len(index) - len(pairs)
        self._item(STAIRS, fields, term.paid, listed)

    def _put(self, key: Hashable, size: int, numbers: Callable[[], Floats], index: Any) -> tuple[int, int]:
        """Return where numbers and indices lie, which are added if they are new."""
        if key not in self._places:
            self._places[key] = self.n_numbers, self.n_index
            self.numbers.append((self.n_numbers, numbers))
            self.index.append(np.asarray(index, np.int64))
            self.n_numbers += size
            self.n_index += len(index)
        return self._places[key]

    def _item(
        self,
        form: int,
        fields: tuple[int, int, int, int],
        paid: tuple[float, float, float],
        listed: tuple[int, int, int] = (0, 0, 0),
    ) -> None:
        self.items.append((form, *fields, *listed))
        self.amounts.append(paid)

    def filled(self) -> Floats:
        """Return all numbers."""
        out = np.zeros(self.n_numbers, self.dtype)
        for start, make in self.numbers:
            found = make()
            out[start : start + len(found)] = found
        return out


def _compiled(
    forms: PayoffForms, used: NDArray[np.bool_], player: int, dtype: Any
) -> tuple[_Compiler, NDArray[np.int64]]:
    compiler = _Compiler(forms, player, dtype, used)
    first = np.zeros(len(forms) + 1, np.int64)
    for kind in range(len(forms)):
        if used[kind]:
            compiler.add(kind)
        first[kind + 1] = len(compiler.items)
    return compiler, first


def swept_payoffs(
    forms: PayoffForms, used: NDArray[np.bool_], player: int, dtype: Any, spare: int
) -> SweptPayoffs:
    """Return the payoffs to a player as sweeps take them.

    used: [kinds] bool, the kinds that the tree has. dtype: float32 or float64. spare: see `SweptPayoffs`.
    """
    compiler, first = _compiled(forms, used, player, dtype)
    return (
        compiler.matrices,
        first,
        np.array(compiler.items, np.int64).reshape(-1, PLAN_FIELDS).reshape(-1),
        np.array(compiler.amounts, compiler.dtype).reshape(-1),
        compiler.filled(),
        np.concatenate([np.zeros(1, np.int64), *compiler.index])[1:].astype(np.int32),
        spare,
    )


def swept_bytes(forms: PayoffForms, used: NDArray[np.bool_], dtype: Any) -> int:
    """Return the bytes of both players' payoffs as sweeps take them, of which no matrix is made."""
    taken = 0
    for player in (0, 1):
        compiler, first = _compiled(forms, used, player, dtype)
        numbers = compiler.n_numbers + 3 * len(compiler.items)
        taken += first.nbytes + compiler.matrices.nbytes + 8 * PLAN_FIELDS * len(compiler.items)
        taken += numbers * compiler.dtype.itemsize + 4 * compiler.n_index
    return taken
