"""Gadgets: what stands above the histories of a subgame so that solving it keeps the opponent in check.

Each gadget is a tree made of a tree, so any solver takes it as it is:

unsafe      chance deals the histories as both players' blueprints reach them; the opponent cannot object.
resolve     chance deals a history; the opponent, who sees its own infoset, takes its alternative value or
            enters. Source: Burch, Johanson and Bowling 2014 (CFR-D).
maxmargin   the opponent chooses the infoset to enter with; every payoff there is less its alternative value,
            so the least margin over infosets grows. Source: Moravcik et al. 2016.
reach-maxmargin  the same, with what the opponent gave away on the path added to the alternative value.
            Source: Brown and Sandholm 2017.
path        the opponent's own decisions on its way stand above the subgame, each with the best value of
            leading away from it (see `path`).

A floor on entry makes chance force the opponent in with a small probability, infoset by infoset after a
positive prior, so that infosets it would rather avoid are still played well: the gadget's equilibrium is
then close to a sequential one (arXiv 2601.17131).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cfr.tree import FlatTree
from gs2.search.gadget.doubled import doubled, from_doubled
from gs2.search.gadget.entry import LIVE, Entry, GadgetError
from gs2.search.gadget.graft import Gadget, graft
from gs2.search.gadget.maxmargin import less_outside, maxmargin_top
from gs2.search.gadget.path_gadget import path_top
from gs2.search.gadget.resolve import resolve_top, unsafe_top

__all__ = [
    "GADGETS",
    "LIVE",
    "OWN_GADGETS",
    "Entry",
    "Gadget",
    "GadgetBuilder",
    "GadgetError",
    "build_gadget",
]

GADGETS = ("unsafe", "resolve", "maxmargin", "reach-maxmargin", "path")
OWN_GADGETS: dict[str, GadgetBuilder] = {}
"""Builders added by `gs2.parts.register_gadget`."""


class GadgetBuilder(Protocol):
    """Build a gadget of one's own (`gs2.parts.register_gadget`)."""

    def __call__(self, forest: FlatTree, root_of: NDArray[np.int32], entry: Entry, floor: float, /) -> Gadget:
        """Return the gadget above a forest; arguments as those of `build_gadget`, which checked them."""
        ...


def build_gadget(
    kind: str, forest: FlatTree, root_of: NDArray[np.int32], entry: Entry, *, floor: float = 0.0
) -> Gadget:
    """Return the gadget of a kind above a forest of histories.

    forest: one root per history; its weights are not used. Roots of the same infoset of the (only or
        first) opponent stand together for maxmargin.
    root_of: [N] int32, index of the root above each node.
    floor: probability in [0, 1) with which the opponent is forced to enter.
    Raises GadgetError for an unknown kind, a floor out of range or where there is nothing to floor, entry
    arrays of wrong shape, or roots that nobody reaches.
    """
    r = forest.n_roots
    if kind not in GADGETS and kind not in OWN_GADGETS:
        raise GadgetError(f"gadget must be one of {', '.join((*GADGETS, *OWN_GADGETS))}; got {kind!r}")
    if not 0 <= floor < 1:
        raise GadgetError(f"gadget: the entry floor must be in [0, 1); got {floor}")
    if entry.reach.shape != (r,) or entry.group.shape != (len(entry.seats), r):
        raise GadgetError(f"gadget: reach and group must have one entry per root, {r}")
    if kind in OWN_GADGETS:
        return OWN_GADGETS[kind](forest, root_of, entry, floor)
    if kind == "unsafe":
        return graft(unsafe_top(forest, entry), forest)
    if not entry.reach.sum() > LIVE:
        raise GadgetError("gadget: needs a history that chance and the searching player reach; got none")
    if not floor:
        return _safe(kind, forest, root_of, entry, 0.0)
    twice, root_of_twice, origin = doubled(forest, root_of, entry.seats)
    return from_doubled(_safe(kind, twice, root_of_twice, entry, floor), origin)


def _safe(kind: str, forest: FlatTree, root_of: NDArray[np.int32], entry: Entry, floor: float) -> Gadget:
    """Return a safe gadget; with a floor the forest is a doubled one."""
    if kind == "resolve":
        return graft(resolve_top(forest, entry, floor), forest)
    if kind == "path":
        if entry.path is None:
            raise GadgetError("gadget: path needs the opponent's way to the roots; pass Entry(path=)")
        return graft(path_top(forest, entry, entry.path, floor), forest)
    if len(entry.seats) != 1:
        raise GadgetError(
            f"gadget: {kind} needs exactly one opponent; got seats {entry.seats}; use 'resolve'"
        )
    shift = entry.alternative[0]
    if kind == "reach-maxmargin" and entry.gift is not None:
        shift = shift + entry.gift[0]
    return graft(maxmargin_top(forest, entry, floor), less_outside(forest, root_of, entry, shift))
