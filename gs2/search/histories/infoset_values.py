"""What a blueprint's actions are worth at an infoset, also where it values single histories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint
from games.game import Game
from games.ragged import Ragged

MOST_ASKED = 32
"""Histories of an infoset that a blueprint which values histories is asked about; of more, as many that are
spread over their reach."""
NO_REACH: Mapping[bytes, float] = {}


def values_histories(blueprint: Blueprint) -> bool:
    """Return whether a blueprint's values are those of single histories, with what these hide.

    It then says so by an attribute of this name. Others answer from what the player knows.
    """
    return bool(getattr(blueprint, "values_histories", False))


@dataclass(frozen=True, eq=False)
class HistoriesMet:
    """Histories at which one player acts, by infoset.

    states: [n]. actions: one row of legal actions for each. keys: [n, key width] uint64.
    """

    game: Game
    states: NDArray[Any]
    player: int
    actions: Ragged
    keys: NDArray[np.uint64]

    @cached_property
    def _parts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        _, first, number = np.unique(self.keys, axis=0, return_index=True, return_inverse=True)
        return first.astype(np.int64), number.reshape(-1).astype(np.int64)

    @property
    def first(self) -> NDArray[np.int64]:
        """Return the first history of each infoset, [I] int64."""
        return self._parts[0]

    @property
    def number(self) -> NDArray[np.int64]:
        """Return the infoset of each history, [n] int64 in [0, I)."""
        return self._parts[1]

    @cached_property
    def legal(self) -> Ragged:
        """Return the actions of each infoset."""
        return self.actions.take(self.first)


def root_reach(states: NDArray[Any], reach: NDArray[np.float64]) -> dict[bytes, float]:
    """Return how likely each of some histories is, as a share of their mean, by its state's bytes."""
    mean = float(reach.mean()) if len(reach) else 0.0
    shares = reach / mean if mean > 0 else np.ones(len(reach))
    return {state.tobytes(): float(share) for state, share in zip(states, shares, strict=True)}


class InfosetValues:
    """Gives the value of each action at infosets, by a blueprint.

    A blueprint that answers from what the player knows is asked about one history of each infoset. One that
    values histories is asked about those that are met, and the mean by their reach is taken: an action must
    not be judged by what one deal hides. Its answer is the same in whatever order they come, and is kept: an
    infoset that is met again deeper in the tree is worth what it was.
    reach: of histories drawn (`root_reach`); all others count alike.
    """

    def __init__(self, blueprint: Blueprint, reach: Mapping[bytes, float] = NO_REACH) -> None:
        self.blueprint, self._reach = blueprint, reach
        self._known: dict[tuple[int, bytes], NDArray[np.float64]] = {}

    def __call__(self, met: HistoriesMet, wanted: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the value of each action of `met.legal`, [m] float64; 0 at infosets that are not wanted.

        wanted: [I] bool.
        """
        values = np.zeros(len(met.legal.values))
        at = np.flatnonzero(wanted)
        if len(at) == 0:
            return values
        if values_histories(self.blueprint):
            found = np.concatenate(self._means(met, at))
        else:
            states, legal = met.states[met.first[at]], met.legal.take(at)
            found = np.asarray(self.blueprint.q(met.game, states, met.player, legal), np.float64)
        values[wanted[met.legal.rows]] = found
        return values

    def _means(self, met: HistoriesMet, at: NDArray[np.int64]) -> list[NDArray[np.float64]]:
        """Return the mean value of each action at some infosets, [a] float64 each."""
        order = np.argsort(met.number, kind="stable")
        ends = np.cumsum(np.bincount(met.number, minlength=len(met.first)))
        found = []
        for infoset in at.tolist():
            name = met.player, met.keys[met.first[infoset]].tobytes()
            if name not in self._known:
                rows = order[ends[infoset - 1] if infoset else 0 : ends[infoset]]
                self._known[name] = self._mean(met, rows)
            found.append(self._known[name])
        return found

    def _mean(self, met: HistoriesMet, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the mean value of each action over the histories of one infoset, [a] float64."""
        names = [met.states[row].tobytes() for row in rows.tolist()]
        order = sorted(range(len(rows)), key=names.__getitem__)
        weight = np.array([self._reach.get(names[place], 1.0) for place in order])
        chosen, share = _spread(weight if weight.sum() > 0 else np.ones(len(rows)))
        rows = rows[order][chosen]
        q = self.blueprint.q(met.game, met.states[rows], met.player, met.actions.take(rows))
        mean: NDArray[np.float64] = share @ np.asarray(q, np.float64).reshape(len(rows), -1)
        return mean


def _spread(weight: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return at most `MOST_ASKED` of n weighted things, evenly spread over the weights, and their shares."""
    if np.count_nonzero(weight) <= MOST_ASKED:
        rows = np.flatnonzero(weight)
        times = MOST_ASKED // len(rows)
        return np.repeat(rows, times), np.repeat(weight[rows] / (times * weight.sum()), times)
    marks = (np.arange(MOST_ASKED) + 0.5) / MOST_ASKED
    ends = np.cumsum(weight)
    rows, counts = np.unique(np.searchsorted(ends, marks * ends[-1]), return_counts=True)
    return rows, counts / MOST_ASKED
