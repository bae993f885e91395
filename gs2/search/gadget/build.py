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

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cfr.tree import FlatTree
from games.game import CHANCE, TERMINAL
from games.ragged import ranges
from gs2.search.config.stages import GADGET_NAMES
from gs2.search.gadget.path import (
    LIVE,
    Entry,
    GadgetError,
    doubled,
    forced_by_infoset,
    forced_deal,
)


@dataclass(frozen=True, eq=False)
class Gadget:
    """A subgame with its gadget on top.

    tree: what to solve; the gadget's own infosets come first.
    slot_origin: [A] int64, slot of the subgame's forest, -1 for the gadget's own.
    infoset_origin: [I] int32, infoset of the subgame's forest, -1 for the gadget's own.
    """

    tree: FlatTree
    slot_origin: NDArray[np.int64]
    infoset_origin: NDArray[np.int32]

    def to_forest(self, policy: NDArray[np.float64], n_slots: int) -> NDArray[np.float64]:
        """Return a policy of the gadget's tree on the slots of the forest, [n_slots] float64.

        Where a forced copy repeats an infoset of the opponent, the copy entered by choice counts.
        """
        out = np.empty(n_slots)
        own = self.slot_origin >= 0
        out[self.slot_origin[own][::-1]] = policy[own][::-1]
        return out


class Top:
    """Levels of nodes above a forest, added from the roots down.

    Who adds a node of a new infoset also adds that infoset to `infoset_player` and `infoset_size`.
    """

    def __init__(self, forest: FlatTree) -> None:
        self.forest = forest
        self.parent: list[NDArray[np.integer[Any]]] = []
        self.player: list[NDArray[np.int8]] = []
        self.prob: list[NDArray[np.float64]] = []
        self.infoset: list[NDArray[np.int32]] = []
        self.returns: list[NDArray[np.float64]] = []
        self.infoset_player: list[int] = []
        self.infoset_size: list[int] = []
        self.root_at = np.zeros(0, np.int64)

    @classmethod
    def of_one(cls, forest: FlatTree, player: int = CHANCE) -> Top:
        """Return levels that begin with one node, of chance or of a player's first infoset here."""
        top = cls(forest)
        top.infoset_player = [player] * (player >= 0)
        infoset = np.full(1, 0 if player >= 0 else -1, np.int32)
        top.level(np.full(1, -1, np.int64), np.ones(1), np.full(1, player), infoset)
        return top

    def level(
        self,
        parent: NDArray[np.integer[Any]],
        prob: NDArray[np.float64],
        player: NDArray[np.integer[Any]],
        infoset: NDArray[np.int32] | None = None,
        returns: NDArray[np.float64] | None = None,
    ) -> None:
        """Add a level of n nodes.

        parent: [n], rising, counted within the level before; -1 in the first. prob: [n], chance's probability
        of each, 1 below a player's node. player: [n]. infoset: [n], -1 where nobody decides, by default
        everywhere.
        returns: [terminal nodes of the level, P], payoffs.
        """
        before = sum(len(p) for p in self.parent[:-1])
        self.parent.append(parent + before)
        self.prob.append(prob)
        self.player.append(player.astype(np.int8))
        self.infoset.append(np.full(len(parent), -1, np.int32) if infoset is None else infoset)
        if returns is not None:
            self.returns.append(returns)

    def roots(
        self,
        parent: NDArray[np.integer[Any]],
        prob: NDArray[np.float64],
        is_root: NDArray[np.bool_] | None = None,
        returns: NDArray[np.float64] | None = None,
    ) -> None:
        """Add the last level: the forest's roots in order, among terminals where `is_root` is False.

        parent, prob, is_root: [n]. returns: [terminals, P], payoffs.
        """
        is_root = np.ones(len(parent), bool) if is_root is None else is_root
        player = np.full(len(parent), TERMINAL, np.int8)
        player[is_root] = self.forest.player[: self.forest.n_roots]
        infoset = np.full(len(parent), -1, np.int32)
        infoset[is_root] = self.forest.infoset[: self.forest.n_roots]
        own = infoset >= 0
        infoset[own] += len(self.infoset_player)
        self.level(parent, prob, player, infoset, returns)
        self.root_at = np.flatnonzero(is_root) + sum(len(p) for p in self.parent[:-1])

    def payoffs(self, seat: int, value: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return payoffs [n, P] that give `value` [n] to the seat's team."""
        sign = np.where(np.array(self.forest.teams) == self.forest.teams[seat], 1.0, -1.0)
        return value[:, None] * sign


def graft(top: Top, forest: FlatTree) -> Gadget:
    """Return the forest below the last level of `top` as one tree."""
    n_top = sum(len(p) for p in top.parent)
    r = forest.n_roots
    shift = n_top - r
    extra = len(top.infoset_player)
    at = top.root_at
    up = forest.parent[r:]
    parent = np.concatenate([*top.parent, np.where(up < r, at[np.minimum(up, r - 1)], up + shift)])
    infoset_below = forest.infoset[r:]
    player = np.concatenate([*top.player, forest.player[r:]])
    terminal = np.flatnonzero(player == TERMINAL)
    # Roots that are terminal themselves stand among the top's terminals; put each payoff at its node.
    returns = np.empty((len(terminal), forest.n_players))
    moved = np.where(forest.terminal < r, at[np.minimum(forest.terminal, r - 1)], forest.terminal + shift)
    from_forest = np.searchsorted(terminal, moved)
    own = np.ones(len(terminal), bool)
    own[from_forest] = False
    returns[from_forest] = forest.returns
    if top.returns:
        returns[own] = np.concatenate(top.returns)
    levels = np.cumsum([0] + [len(p) for p in top.parent])
    key_width = forest.infoset_key.shape[1]
    none = np.zeros((n_top, *forest.action.shape[1:]), forest.action.dtype)
    none[at] = forest.action[:r]
    tree = FlatTree.of_levels(
        parent,
        player,
        np.concatenate([levels, forest.level_offsets[2:] + shift]),
        np.concatenate([top.infoset_size, np.diff(forest.infoset_offset)]),
        infoset=np.concatenate(
            [*top.infoset, np.where(infoset_below >= 0, infoset_below + extra, -1)]
        ).astype(np.int32),
        chance_prob=np.concatenate([*top.prob, forest.chance_prob[r:]]),
        returns=returns,
        infoset_player=np.concatenate([top.infoset_player, forest.infoset_player]).astype(np.int8),
        infoset_key=np.concatenate([np.zeros((extra, key_width), np.uint64), forest.infoset_key]),
        action=np.concatenate([none, forest.action[r:]]),
        teams=forest.teams,
        n_truncated=forest.n_truncated,
    )
    entry_slots = int(np.sum(top.infoset_size))
    slot_origin = np.arange(-entry_slots, forest.n_slots)
    slot_origin[:entry_slots] = -1
    infoset_origin = np.concatenate([np.full(extra, -1), np.arange(forest.n_infosets)]).astype(np.int32)
    return Gadget(tree, slot_origin, infoset_origin)


def unsafe_top(forest: FlatTree, entry: Entry) -> Top:
    """Return the one level in which chance deals the roots as both blueprints reach them.

    Raises GadgetError where they reach none together.
    """
    weight = entry.reach * entry.opponent_reach
    if not weight.sum() > LIVE:
        raise GadgetError("gadget: unsafe needs a history that both blueprints reach; got none")
    top = Top.of_one(forest)
    top.roots(np.zeros(len(weight), np.int32), weight / weight.sum())
    return top


def resolve_top(forest: FlatTree, entry: Entry, floor: float) -> Top:
    """Return the levels in which chance deals a root and each opponent in turn enters or stays out.

    floor: probability with which chance instead deals a forced entry, below which nobody is asked.
    """
    r = len(entry.reach)
    top = Top.of_one(forest)
    every = np.arange(r)
    # Chance deals the r histories to the opponents, and once more, forced, straight into the subgame.
    prior = forced_deal(entry) if floor else np.zeros(0)
    forced = np.arange(len(prior))
    top.level(
        np.zeros(r + len(forced), np.int64),
        np.concatenate([(1 - floor) * (entry.reach / entry.reach.sum()), floor * prior]),
        np.repeat([entry.seats[0], CHANCE], [r, len(forced)]),
        np.concatenate([entry.group[0], np.full(len(forced), -1)]).astype(np.int32),
    )
    for at, seat in enumerate(entry.seats):
        count = int(entry.group[at].max()) + 1
        first = len(top.infoset_player)
        top.infoset_player += [seat] * count
        top.infoset_size += [2] * count
        out = top.payoffs(seat, entry.alternative[at])
        # Each opponent's node has two children: out, a terminal, and in. On all but the last opponent's
        # level the histories in are the next opponent's nodes.
        asked, above = (every, r) if at == 0 else (2 * every + 1, 2 * r)
        parent = np.concatenate([np.repeat(asked, 2), above + forced])
        is_in = np.concatenate([np.tile([False, True], r), np.ones(len(forced), bool)])
        prob = np.ones(len(parent))
        if at == len(entry.seats) - 1:
            top.roots(parent, prob, is_in, out)
        else:
            nxt = entry.seats[at + 1]
            player = np.where(is_in, nxt, TERMINAL)
            infoset = np.full(len(parent), -1, np.int32)
            infoset[: 2 * r][1::2] = entry.group[at + 1] + first + count
            player[2 * r :] = CHANCE
            top.level(parent, prob, player, infoset, out)
    return top


def maxmargin_top(forest: FlatTree, entry: Entry, floor: float) -> Top:
    """Return the levels in which the opponent chooses an infoset and chance deals a root of it.

    floor: probability with which chance instead deals a forced entry.
    Raises GadgetError for several opponents, roots out of order and infosets that nobody reaches.
    """
    if len(entry.seats) != 1:
        raise GadgetError(
            f"gadget: maxmargin, reach-maxmargin need one opponent; got seats {entry.seats}; use 'resolve'"
        )
    group = entry.group[0]
    if np.any(np.diff(group) < 0):
        raise GadgetError("gadget: roots must stand in the order of the opponent's infosets for maxmargin")
    mass = np.bincount(group, entry.reach)
    g = len(mass)
    if np.any(mass <= LIVE):
        raise GadgetError("gadget: maxmargin needs every infoset of the opponent to be reachable")
    within = entry.reach / mass[group]
    seat = entry.seats[0]
    share, forced = forced_by_infoset(entry, within) if floor else (np.zeros(0), np.zeros(0))
    top = Top.of_one(forest, CHANCE if floor else seat)
    if floor:
        top.infoset_player.append(seat)
        entered = np.array([1 - floor, floor])
        top.level(np.zeros(2, np.int64), entered, np.array([seat, CHANCE]), np.array([0, -1], np.int32))
    top.infoset_size.append(g)
    copies = 1 + bool(floor)
    weights = np.concatenate([np.ones(g), share])
    top.level(np.repeat(np.arange(copies), g), weights, np.full(copies * g, CHANCE))
    top.roots(np.concatenate([group, group + g][:copies]).astype(np.int64), np.concatenate([within, forced]))
    return top


def path_top(forest: FlatTree, entry: Entry, floor: float) -> Top:
    """Return the levels of the opponent's own decisions above the roots (`OpponentPath.above_entries`).

    Raises GadgetError without the opponent's way.
    """
    if entry.path is None:
        raise GadgetError("gadget: path needs the opponent's way to the roots; pass Entry(path=)")
    levels, sizes, parent, prob = entry.path.above_entries(entry, floor)
    top, seat = Top.of_one(forest), entry.seats[0]
    for above, share, player, infoset, paid in levels:
        top.level(above, share, player, infoset, top.payoffs(seat, paid))
    top.infoset_player, top.infoset_size = [seat] * len(sizes), sizes
    top.roots(parent, prob)
    return top


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
    if kind not in GADGET_NAMES:
        raise GadgetError(f"gadget must be one of {', '.join(GADGET_NAMES)}; got {kind!r}")
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
    offset = forest.infoset_offset
    if floor:
        forest, root_of, origin = doubled(forest, root_of, entry.seats)
    if kind == "resolve":
        top = resolve_top(forest, entry, floor)
    elif kind == "path":
        top = path_top(forest, entry, floor)
    else:
        top = maxmargin_top(forest, entry, floor)
        shift = entry.alternative[0]
        if kind == "reach-maxmargin" and entry.gift is not None:
            shift = shift + entry.gift[0]
        below = np.tile(shift, 1 + bool(floor))[root_of[forest.terminal]]
        forest = replace(forest, returns=forest.returns - top.payoffs(entry.seats[0], below))
    gadget = graft(top, forest)
    if not floor:
        return gadget
    slots = ranges(offset[origin], np.diff(offset)[origin])
    # From the gadget's tree to the two copies, and from these to the one forest; -1 stays.
    infosets, slots = np.append(origin, -1).astype(np.int32), np.append(slots, -1)
    return replace(
        gadget, infoset_origin=infosets[gadget.infoset_origin], slot_origin=slots[gadget.slot_origin]
    )
