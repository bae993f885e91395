"""Ragged rows: one flat array of values and the offsets at which each row starts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from games.support.array_types import Array


@dataclass(frozen=True, eq=False)
class Ragged:
    """Rows of unequal length, stored end to end.

    offsets: [n + 1] int64; row i is `values[offsets[i]:offsets[i + 1]]`.
    values: [m, ...] the entries of all rows; its dtype belongs to whoever made it.
    Raises ValueError if the offsets do not start at 0, fall, or end elsewhere than at m.
    """

    offsets: NDArray[np.int64]
    values: Array

    def __post_init__(self) -> None:
        offsets = self.offsets
        if offsets.ndim != 1 or len(offsets) == 0 or offsets[0] != 0:
            raise ValueError("Ragged: offsets must be a 1-D array that starts with 0")
        if offsets[-1] != len(self.values) or np.any(offsets[1:] < offsets[:-1]):
            raise ValueError(
                f"Ragged: offsets must rise to the number of values, {len(self.values)}; "
                f"the last is {offsets[-1]}"
            )

    @classmethod
    def from_counts(cls, counts: Array, values: Array) -> Ragged:
        """Return the ragged rows whose i-th row holds `counts[i]` of `values`."""
        offsets = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=offsets[1:])
        return cls(offsets, values)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> Array:
        """Return the values of one row (a view)."""
        if not -len(self) <= row < len(self):
            raise IndexError(f"Ragged: row must be in [0, {len(self)}); got {row}")
        row %= len(self)
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    @property
    def counts(self) -> NDArray[np.int64]:
        """[n] int64, the length of each row."""
        return np.diff(self.offsets)

    @property
    def rows(self) -> NDArray[np.int64]:
        """[m] int64, the row that each value belongs to."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.counts)

    def take(self, rows: Array) -> Ragged:
        """Return the given rows, [k] integers in [0, n), in that order; a row may come more than once."""
        counts = self.counts.take(rows)
        offsets = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=offsets[1:])
        shift = self.offsets.take(rows)
        shift -= offsets[:-1]
        return Ragged(offsets, self.values.take(np.arange(offsets[-1]) + np.repeat(shift, counts), axis=0))


def ranges(first: Array, counts: Array) -> NDArray[np.int64]:
    """Return `counts[i]` numbers from `first[i]` on for every i, [sum of counts]. first, counts: [n]."""
    sizes = np.asarray(counts, np.int64)
    shift: NDArray[np.int64] = np.asarray(first, np.int64) - (np.cumsum(sizes) - sizes)
    found: NDArray[np.int64] = np.arange(sizes.sum()) + np.repeat(shift, sizes)
    return found


def pick_by(rows: Ragged, probs: Array, uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return one index within each row, [n] int64: where the row's running sum passes the random number.

    probs: [m] float64, not negative, whose rows need not sum to exactly 1. uniforms: [n] in [0, 1).
    An action of probability 0 is never picked.
    """
    total = np.cumsum(probs)
    before = np.concatenate([[0.0], total])[rows.offsets]
    wanted = before[:-1] + uniforms * (before[1:] - before[:-1])
    found = np.minimum(np.searchsorted(total, wanted, side="right"), rows.offsets[1:] - 1)
    # Rounding can carry a number to the end of its row: back to the last action that is possible.
    stuck = np.flatnonzero(np.asarray(probs)[found] <= 0)
    for row in stuck:
        possible = np.flatnonzero(probs[rows.offsets[row] : rows.offsets[row + 1]] > 0)
        found[row] = rows.offsets[row] + (possible[-1] if len(possible) else 0)
    picked: NDArray[np.int64] = found - rows.offsets[:-1]
    return picked
