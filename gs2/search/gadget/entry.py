"""How the opponents come to a subgame: how often, what else they may have, how forced entries are dealt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gs2.search.gadget.path import OpponentPath

__all__ = ["LIVE", "Entry", "GadgetError", "forced_by_infoset", "forced_deal"]

LIVE = 1e-300
"""Weights up to this count as zero, because smaller ones cannot be normalised."""


class GadgetError(ValueError):
    """Bad input to a gadget: the rule, the value received and the next step."""


@dataclass(frozen=True, eq=False)
class Entry:
    """How the opponents come to the r roots of a subgame.

    seats: the opponents who may object, in the order in which they are asked; [q].
    group: [q, r] int32, number of the opponent's infoset at each root, 0 … g - 1, all present.
    alternative: [q, r] float64, what the opponent gets by staying out, in payoffs; equal within a group.
    reach: [r] float64 >= 0, probability that chance and everyone but the opponents lead to the root.
    opponent_reach: [r] float64, the opponents' own part of that.
    gift: [q, r] float64 >= 0, what the opponent gave away on its way, in payoffs; equal within a group.
    path: the opponent's way to the roots, which the gadget `path` needs.
    prior: [r] float64 >= 0, how forced entries are dealt, or None for as reached, uniform over infosets.
    """

    seats: tuple[int, ...]
    group: NDArray[np.int32]
    alternative: NDArray[np.float64]
    reach: NDArray[np.float64]
    opponent_reach: NDArray[np.float64]
    gift: NDArray[np.float64] | None = None
    prior: NDArray[np.float64] | None = None
    path: OpponentPath | None = None


def forced_deal(entry: Entry) -> NDArray[np.float64]:
    """Return how forced entries are dealt, [r] summing to 1."""
    if entry.prior is not None:
        if entry.prior.shape != entry.reach.shape or not entry.prior.sum() > LIVE:
            raise GadgetError("gadget: prior must have one weight per root, not all zero")
        given: NDArray[np.float64] = entry.prior / entry.prior.sum()
        return given
    group = entry.group[0]
    mass = np.bincount(group, entry.reach)
    uniform: NDArray[np.float64] = (
        entry.reach / np.where(mass > LIVE, mass, 1.0)[group] / np.count_nonzero(mass > LIVE)
    )
    return uniform


def forced_by_infoset(
    entry: Entry, within: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how forced entries are dealt to the infosets of the only opponent [g], then to the roots [r].

    within: [r] float64, the probability of each root within its infoset as reached, which stands where an
        infoset's forced entries have no weight of their own.
    """
    group = entry.group[0]
    deal = forced_deal(entry)
    share = np.bincount(group, deal).astype(np.float64)
    forced = deal / np.where(share > 0, share, 1.0)[group]
    return share, np.where(share[group] > 0, forced, within)
