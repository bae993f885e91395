"""Symmetries of a board with private moves: what lets a walk visit one of several like parts of the game.

A symmetry exchanges cells and keeps which stones win, as a reflection of the tic-tac-toe board does. It maps
infosets to infosets. If a policy is the same at them, so are its values, and histories that begin with like
tries need one walk. The symmetries here are their own inverses and are used one after another: with the whole
group of the first ones, each makes a group of twice as many. Those of tic-tac-toe give all eight of the
square; of others, a part of the group may be left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cfr.private_moves.listing import Tries
from games.infosets.private_moves import Placements
from games.support.kernel import kernel

Cells: TypeAlias = tuple[int, ...]
"""Where a symmetry takes each cell."""
Part: TypeAlias = tuple[int, int, float]
"""First tries of both players, and the weight of what follows them before images are added."""
ALIKE = 1e-12
"""Probabilities no further apart than this are the same."""


@kernel(nogil=True)
def slot_of(first: Any, legal: Any, infoset: int, cell: int) -> Any:
    """Return the slot of a cell at an infoset."""
    slot, before = first[infoset], np.int64(legal[infoset]) & ((1 << cell) - 1)
    while before:
        before &= before - 1
        slot += 1
    return slot


@kernel(nogil=True)
def fill_images(first: Any, legal: Any, child: Any, to: Any, image: Any) -> None:
    """Write the infoset that a symmetry takes each infoset to. to: [cells]."""
    image[0] = 0
    for infoset in range(len(image)):
        slot = first[infoset]
        for cell in range(len(to)):
            if not legal[infoset] >> cell & 1:
                continue
            if child[2 * slot] >= 0 or child[2 * slot + 1] >= 0:
                there = slot_of(first, legal, image[infoset], to[cell])
                for failed in range(2):
                    if child[2 * slot + failed] >= 0:
                        image[child[2 * slot + failed]] = child[2 * there + failed]
            slot += 1


@kernel(nogil=True)
def add_images(first: Any, legal: Any, to: Any, image: Any, factor: float, values: Any) -> None:
    """Replace the value of each slot by `factor` times its sum with that of its image, the same at both."""
    for infoset in range(len(image)):
        if image[infoset] < infoset:
            continue
        slot = first[infoset]
        for cell in range(len(to)):
            if not legal[infoset] >> cell & 1:
                continue
            there = slot_of(first, legal, image[infoset], to[cell])
            if image[infoset] > infoset or there >= slot:
                total = factor * (values[slot] + values[there])
                values[slot] = total
                values[there] = total
            slot += 1


@kernel(nogil=True)
def differs(first: Any, legal: Any, to: Any, image: Any, most: float, values: Any) -> bool:
    """Return whether the values of a slot and its image differ by more than `most` anywhere."""
    for infoset in range(len(image)):
        slot = first[infoset]
        for cell in range(len(to)):
            if legal[infoset] >> cell & 1:
                there = slot_of(first, legal, image[infoset], to[cell])
                if abs(values[slot] - values[there]) > most:
                    return True
                slot += 1
    return False


class Symmetries:
    """The symmetries of a game's placements, and where they take the infosets of both players.

    reflections: symmetries that are their own inverses; their products are the `size` symmetries in use.
    """

    def __init__(self, rules: Placements, sides: tuple[Tries, ...]) -> None:
        self.reflections, self._group = _reflections(rules)
        self._sides = sides
        self._images: list[list[NDArray[np.int32]]] = []

    @property
    def size(self) -> int:
        """Return how many symmetries there are, the one that moves nothing included."""
        return len(self._group)

    @property
    def nbytes(self) -> int:
        """Return the bytes of the images, made when they are first asked for."""
        return 4 * len(self.reflections) * sum(side.n_infosets for side in self._sides)

    def parts(self, symmetric: bool) -> list[list[Part]]:
        """Return what to walk, in rounds in which no two parts share a first try of either player.

        symmetric: whether one part stands for all its images.
        """
        cells = len(self._group[0])
        group = self._group if symmetric else self._group[:1]
        left: list[list[tuple[int, int]]] = []
        seen: set[tuple[int, int]] = set()
        for shift, first in product(range(cells), range(cells)):
            second = (first + shift) % cells
            if (first, second) not in seen:
                left.append(sorted({(moved[first], moved[second]) for moved in group}))
                seen |= set(left[-1])
        rounds: list[list[Part]] = []
        while left:
            rounds.append([])
            later = []
            for alike in left:
                one, two = ({part[player] for part in rounds[-1]} for player in (0, 1))
                free = [pair for pair in alike if pair[0] not in one and pair[1] not in two]
                if free:
                    rounds[-1].append((*free[0], len(alike) / len(group)))
                else:
                    later.append(alike)
            left = later
        return rounds

    def keeps(self, policy: tuple[NDArray[np.float64], NDArray[np.float64]]) -> bool:
        """Return whether a policy, [slots] of each player, is the same at infosets that are images."""
        if not self.reflections:
            return False
        n = len(self.reflections[0])
        at_root = [side[1 : n + 1] for side in policy]
        if any(np.abs(row[list(to)] - row).max() > ALIKE for row in at_root for to in self.reflections):
            return False
        return not any(
            differs(side.first, side.legal, to, image, ALIKE, policy[player])
            for player, side in enumerate(self._sides)
            for to, image in self._moved(player)
        )

    def add(self, player: int, values: NDArray[np.float64], *, mean: bool = False) -> None:
        """Replace each slot's value by the sum over its images, or by their mean, the same at all of them."""
        side = self._sides[player]
        for to, image in self._moved(player):
            add_images(side.first, side.legal, to, image, 0.5 if mean else 1.0, values)

    def _moved(self, player: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
        if not self._images:
            for side in self._sides:
                self._images.append([np.empty(side.n_infosets, np.int32) for _ in self.reflections])
                for to, image in zip(self.reflections, self._images[-1], strict=True):
                    fill_images(side.first, side.legal, side.child, np.array(to), image)
        return zip(map(np.array, self.reflections), self._images[player], strict=True)


def _reflections(rules: Placements) -> tuple[list[Cells], list[Cells]]:
    """Return symmetries that are their own inverses, and the group that they make, its unit first."""
    masks = np.arange(1 << rules.cells)
    has = masks[:, None] >> np.arange(rules.cells) & 1
    # Cells in as many winning masks: only these can be exchanged.
    kind = [tuple(row) for row in np.stack([has[rules.wins[player]].sum(0) for player in (0, 1)], 1).tolist()]

    def exchanges(at: int, to: list[int]) -> Iterator[Cells]:
        while at < rules.cells and to[at] >= 0:
            at += 1
        if at == rules.cells:
            yield tuple(to)
            return
        for other in range(at, rules.cells):
            if to[other] < 0 and kind[other] == kind[at]:
                more = to.copy()
                more[at], more[other] = other, at
                yield from exchanges(at + 1, more)

    unit = tuple(range(rules.cells))
    found = [
        to
        for to in exchanges(0, [-1] * rules.cells)
        if to != unit and (rules.wins[:, has @ (1 << np.array(to))] == rules.wins).all()
    ]
    chain, group = [], {unit}
    more = True
    while more:
        more = False
        for to in found:
            if to not in group and all(_after(to, _after(each, to)) in group for each in group):
                chain.append(to)
                group |= {_after(to, each) for each in group}
                more = True
    return chain, sorted(group)  # the unit comes first


def _after(second: Cells, first: Cells) -> Cells:
    return tuple(second[cell] for cell in first)
