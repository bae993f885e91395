"""Playing policies out on a sequence form: between slots and positions, plans, payoffs, best responses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cfr.engine import kernels
from cfr.engine.layout import ANY_SHAPE, BASE, EVERY_SHAPE, WIDE, State, Ways, Work, aligned_zeros
from cfr.sequence_form import SequenceForm

__all__ = ["SWEPT_ANYHOW", "FormArrays", "Pair"]

Pair = tuple[NDArray[Any], NDArray[Any]]
"""One array for each side."""
SWEPT_ANYHOW = 100_000_000
"""Positions that a process sweeps before it compiles ways of their own for common shapes: half a second's."""
SWEPT_BESIDE = 400
"""Positions that could be swept in the time that an iteration takes beside."""
_swept = 0


class FormArrays:
    """A sequence form with the arrays its kernels take.

    Arrays "by position" hold one number for each position of a side's layout, "on slots" one for each slot
    of the tree.
    """

    def __init__(self, form: SequenceForm) -> None:
        layout = form.layout
        self.form = form
        self.sides = layout.sides[0].arrays, layout.sides[1].arrays
        self.boxes = layout.boxes[0].arrays, layout.boxes[1].arrays
        self._positions = tuple(side.position[1:] for side in layout.sides)
        self._slots = tuple(plex.slot[1:] for plex in form.sides)

    def work(self) -> tuple[Work, Work]:
        """Return fresh scratch for each side: (plan, reach, value, marked, queue, units)."""
        a, b = (
            (
                aligned_zeros(side.n_positions),
                aligned_zeros(int(side.bundle[:, WIDE].max())),
                aligned_zeros(side.n_positions),
                np.zeros((len(side.bundle) + 63) // 64 * 64, np.uint8),
                np.zeros(len(side.bundle) + len(side.child) + 8, np.int32),
                np.empty(len(side.unit_bundle) + 1, np.int32),
            )
            for side in self.form.layout.sides
        )
        return a, b

    def iterate(
        self,
        t0: int,
        n: int,
        variant: tuple[float, ...],
        discounts: NDArray[np.float64],
        states: tuple[State, State],
        work: tuple[Work, Work],
    ) -> None:
        """Run `kernels.iterate` in the ways that pay."""
        kernels.iterate(self.ways(n), t0, n, variant, discounts, self.sides, self.boxes, states, work)

    def ways(self, n: int) -> Ways:
        """Return how `n` iterations, or one evaluation, are to be swept, and count them as run."""
        global _swept
        positions = sum(int(side.n_positions) for side in self.form.layout.sides)
        _swept += max(int(n), 1) * (SWEPT_BESIDE + positions)
        return EVERY_SHAPE if _swept > SWEPT_ANYHOW else ANY_SHAPE

    def zeros(self) -> Pair:
        """Return zeros by position, float64."""
        a, b = (aligned_zeros(side.n_positions) for side in self.form.layout.sides)
        return a, b

    def to_slots(self, arrays: Pair) -> NDArray[np.float64]:
        """Return both sides' numbers on slots, [n_slots] float64; 0 where neither side decides."""
        out = np.zeros(self.form.n_slots)
        for slots, positions, array in zip(self._slots, self._positions, arrays, strict=True):
            out[slots] = array[positions]
        return out

    def from_slots(self, values: ArrayLike, arrays: Pair | None = None) -> Pair:
        """Return numbers on slots as a pair of arrays by position, in `arrays` if given."""
        numbers = np.asarray(values, np.float64)
        a, b = arrays or self.zeros()
        a[self._positions[0]] = numbers[self._slots[0]]
        b[self._positions[1]] = numbers[self._slots[1]]
        return a, b

    def _bundles(self) -> Pair:
        a, b = (
            np.searchsorted(side.bundle[:, BASE], side.position[plex.start[:-1]], "right") - 1
            for side, plex in zip(self.form.layout.sides, self.form.sides, strict=True)
        )
        return a, b

    def to_infosets(self, arrays: Pair) -> NDArray[Any]:
        """Return numbers by bundle as numbers by infoset of the tree, [I]."""
        out = np.zeros(self.form.n_infosets, arrays[0].dtype)
        for plex, at, array in zip(self.form.sides, self._bundles(), arrays, strict=True):
            out[plex.infoset] = array[at]
        return out

    def from_infosets(self, values: ArrayLike, arrays: Pair) -> None:
        """Fill arrays by bundle from numbers by infoset of the tree."""
        for plex, at, array in zip(self.form.sides, self._bundles(), arrays, strict=True):
            array[at] = np.asarray(values)[plex.infoset]

    def evaluate(self, policies: Pair) -> tuple[float, float, float]:
        """Return (value to side 0, best-response value of side 0, of side 1) of policies by position."""
        work = self._pay(policies)
        (value, best_0), (_, best_1) = (kernels.respond(self.sides[s], work[s]) for s in range(2))
        return value, best_0, best_1

    def payoffs(self, policy: ArrayLike, side: int) -> NDArray[np.float64]:
        """Return the utility of each position of `side` when the other follows `policy` (on slots)."""
        return self._pay(self.from_slots(policy))[side][2]

    def _pay(self, policies: Pair) -> tuple[Work, Work]:
        """Return scratch with each side's plan, and its payoffs against the other's."""
        work = self.work()
        none = np.zeros(0, np.int32)
        a, b = ((policy, policy, policy, policy, none) for policy in policies)
        self.iterate(0, 0, (0.0,) * 7, np.zeros((1, 4)), (a, b), work)
        return work
