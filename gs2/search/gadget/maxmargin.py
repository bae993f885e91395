"""The gadgets that raise the least margin: the opponent chooses the infoset to enter with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cfr.tree import FlatTree
from games.game import CHANCE
from gs2.search.gadget.entry import LIVE, Entry, GadgetError, forced_by_infoset
from gs2.search.gadget.graft import Top, team_returns

__all__ = ["less_outside", "maxmargin_top"]


def maxmargin_top(forest: FlatTree, entry: Entry, floor: float) -> Top:
    """Return the levels in which the opponent chooses an infoset and chance deals a root of it.

    floor: probability with which chance instead deals a forced entry.
    Raises GadgetError for roots out of order and for infosets that nobody reaches.
    """
    group = entry.group[0]
    if np.any(np.diff(group) < 0):
        raise GadgetError("gadget: roots must stand in the order of the opponent's infosets for maxmargin")
    mass = np.bincount(group, entry.reach)
    g = len(mass)
    if np.any(mass <= LIVE):
        raise GadgetError("gadget: maxmargin needs every infoset of the opponent to be reachable")
    within = entry.reach / mass[group]
    seat = entry.seats[0]
    if not floor:
        top = Top(forest, seat)
        top.infoset_size.append(g)
        top.level(np.zeros(g, np.int64), np.ones(g), np.full(g, CHANCE))
        top.roots(group.astype(np.int64), within)
        return top
    top = Top(forest)
    top.infoset_player.append(seat)
    top.infoset_size.append(g)
    top.level(
        np.zeros(2, np.int64),
        np.array([1 - floor, floor]),
        np.array([seat, CHANCE]),
        np.array([0, -1], np.int32),
    )
    share, forced = forced_by_infoset(entry, within)
    top.level(np.repeat([0, 1], g), np.concatenate([np.ones(g), share]), np.full(2 * g, CHANCE))
    top.roots(np.concatenate([group, group + g]).astype(np.int64), np.concatenate([within, forced]))
    return top


def less_outside(
    forest: FlatTree, root_of: NDArray[np.int32], entry: Entry, shift: NDArray[np.float64]
) -> FlatTree:
    """Return the forest with `shift` [r] taken from the opponent's payoffs below each root."""
    if forest.n_roots != len(shift):
        shift = np.tile(shift, 2)
    below = shift[root_of[forest.terminal]]
    return replace(forest, returns=forest.returns - team_returns(forest, entry.seats[0], below))
