"""Whether a gadget's tree is one that any solver can take, and maps back to its forest."""

from __future__ import annotations

import numpy as np

from cfr.tree import FlatTree
from games.game import CHANCE
from games.support.contract import require
from gs2.search.gadget.build import Gadget

ROUNDING = 1e-8
"""How far sums of a gadget's probabilities, and of its payoffs by their scale, may be off."""


def check_gadget(gadget: Gadget, forest: FlatTree, searcher: int) -> None:
    """Return None if a gadget's tree is one that any solver can take and maps back to its forest.

    Checks the tree's own rules, perfect recall of two deciding seats, probabilities that sum to one at
    chance, zero-sum payoffs, and that every infoset of the searching player is there once, with its actions.
    Raises ContractError (or InvalidTree) naming the broken rule.
    """
    from cfr.sequence_form import deciding_seats, sequence_form

    _require(isinstance(gadget, Gadget), "must be a gs2.search.gadget.build.Gadget", type(gadget).__name__)
    tree = gadget.tree.validate()
    _require(tree.n_roots == 1, "must have one root", tree.n_roots)
    if len(deciding_seats(tree)) <= 2:
        sequence_form(tree)
    below = np.arange(1, tree.n_nodes)
    total = np.bincount(tree.parent[below], tree.chance_prob[below], minlength=tree.n_nodes)
    sums = total[tree.player == CHANCE]
    off = np.abs(sums - 1.0).max(initial=0.0)
    _require(off <= ROUNDING, "must have chance probabilities that sum to one", f"sums off by {off:g}")
    first, second = (
        tree.returns @ np.where(np.array(tree.teams) == team, 1.0 / max(1, tree.teams.count(team)), 0)
        for team in (0, 1)
    )
    gap = np.abs(first + second).max(initial=0.0)
    scale = max(1.0, np.abs(first).max(initial=0.0))
    _require(gap <= ROUNDING * scale, "must pay the two teams sums of zero", f"a sum of {gap:g}")
    shape = (tree.n_slots,), (tree.n_infosets,)
    maps = gadget.slot_origin.shape, gadget.infoset_origin.shape
    _require(maps == shape, f"must map all its slots and infosets, {shape}", maps)
    for name, origin, most in (
        ("slot_origin", gadget.slot_origin, forest.n_slots),
        ("infoset_origin", gadget.infoset_origin, forest.n_infosets),
    ):
        known = np.all((origin >= -1) & (origin < most))
        _require(known, f"must have {name} in [-1, {most})", f"{origin.min()} to {origin.max()}")
    mine = np.sort(gadget.infoset_origin[tree.infoset_player == searcher])
    theirs = np.flatnonzero(forest.infoset_player == searcher)
    _require(
        np.array_equal(mine, theirs),
        f"must hold each infoset of the searching player {searcher} once",
        f"{len(mine)} infosets for the forest's {len(theirs)}",
    )
    sizes = np.diff(tree.infoset_offset)
    own = np.flatnonzero(gadget.infoset_origin >= 0)
    wanted = np.diff(forest.infoset_offset)[gadget.infoset_origin[own]]
    odd = own[sizes[own] != wanted]
    _require(not len(odd), "must keep the actions of the forest's infosets", f"others at infosets {odd[:3]}")
    start = np.cumsum(sizes) - sizes
    for infoset in own:
        slots = gadget.slot_origin[start[infoset] : start[infoset] + sizes[infoset]]
        origin = forest.infoset_offset[gadget.infoset_origin[infoset]] + np.arange(sizes[infoset])
        _require(np.array_equal(slots, origin), f"must map slots back in order, {origin}", slots)


def _require(holds: object, rule: str, received: object) -> None:
    require(holds, f"gadget: {rule}", received, "check_gadget in gs2/search/gadget/check.py")
