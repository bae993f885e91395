"""Gadgets: what stands above the histories of a subgame so that solving it keeps the opponent in check.

Each gadget is a tree made of a tree, so any solver takes it as it is:

unsafe      chance deals the histories as both players' blueprints reach them; the opponent cannot object.
resolve     chance deals a history; the opponent, who sees its own infoset, takes its alternative value or
            enters. Source: Burch, Johanson and Bowling 2014 (CFR-D).
maxmargin   the opponent chooses the infoset to enter with; every payoff there is less its alternative value,
            so the least margin over infosets grows. Source: Moravcik et al. 2016.
reach-maxmargin  the same, with what the opponent gave away on the path added to the alternative value.
            Source: Brown and Sandholm 2017.

A floor on entry makes chance force the opponent in with a small probability, infoset by infoset after a
positive prior, so that infosets it would rather avoid are still played well: the gadget's equilibrium is
then close to a sequential one (arXiv 2601.17131).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cfr.tree import FlatTree
from games.contract import require
from games.game import CHANCE, TERMINAL
from gs2.search.gadget.path import OpponentPath

__all__ = [
    "GADGETS",
    "OWN_GADGETS",
    "Entry",
    "Gadget",
    "GadgetBuilder",
    "GadgetError",
    "build_gadget",
    "check_gadget",
]

GADGETS = ("unsafe", "resolve", "maxmargin", "reach-maxmargin", "path")
OWN_GADGETS: dict[str, GadgetBuilder] = {}
"""Builders added by `gs2.parts.register_gadget`."""
Child = tuple[str, int | float, float]
"""A node of the gadget `path`: what it is, its index or payoff, its probability."""
LIVE = 1e-300
"""Weights up to this count as zero: what is less cannot be normalised."""


ROUNDING = 1e-8
"""How far sums of a gadget's probabilities, and of its payoffs by their scale, may be off."""


class GadgetError(ValueError):
    """Bad input to a gadget: the rule, the value received and what to do next."""


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


@dataclass(frozen=True, eq=False)
class Gadget:
    """A subgame with its gadget on top.

    tree: what to solve. entry_infosets: how many infosets the gadget itself added; they come first.
    slot_origin: [A] int64, slot of the subgame's forest, -1 for the gadget's own.
    infoset_origin: [I] int32, infoset of the subgame's forest, -1 for the gadget's own.
    """

    tree: FlatTree
    entry_infosets: int
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
        weight = entry.reach * entry.opponent_reach
        if not weight.sum() > LIVE:
            raise GadgetError("gadget: unsafe needs a history that both blueprints reach; got none")
        top = _Top(forest)
        top.roots(np.zeros(r, np.int32), weight / weight.sum())
        return _graft(top, forest)
    if not entry.reach.sum() > LIVE:
        raise GadgetError("gadget: needs a history that chance and the searching player reach; got none")
    if floor:
        forest, root_of, origin = _doubled(forest, root_of, entry.seats)
    if kind == "resolve":
        gadget = _graft(_resolve_top(forest, entry, r, floor), forest)
    elif kind == "path":
        if entry.path is None:
            raise GadgetError("gadget: path needs the opponent's way to the roots; pass Entry(path=)")
        gadget = _graft(_path_top(forest, entry, entry.path, floor), forest)
    else:
        if len(entry.seats) != 1:
            raise GadgetError(
                f"gadget: {kind} needs exactly one opponent; got seats {entry.seats}; use 'resolve'"
            )
        shift = entry.alternative[0]
        if kind == "reach-maxmargin" and entry.gift is not None:
            shift = shift + entry.gift[0]
        gadget = _graft(_maxmargin_top(forest, entry, r, floor), _less(forest, root_of, entry, shift))
    if floor:
        gadget = _from_doubled(gadget, origin)
    return gadget


class _Top:
    """Levels of nodes above a forest, added from the root down; level 0 is one chance node."""

    def __init__(self, forest: FlatTree, player: int = CHANCE) -> None:
        self.forest = forest
        self.parent = [np.full(1, -1, np.int64)]
        self.player = [np.full(1, player, np.int8)]
        self.prob = [np.ones(1)]
        self.infoset = [np.zeros(1, np.int32) if player >= 0 else np.full(1, -1, np.int32)]
        self.returns: list[NDArray] = []
        self.infoset_player = [player] if player >= 0 else []
        self.infoset_size: list[int] = []
        self.root_at = np.zeros(0, np.int64)

    def level(
        self,
        parent: NDArray,
        prob: NDArray,
        player: NDArray,
        infoset: NDArray | None = None,
        returns: NDArray | None = None,
    ) -> None:
        """Add a level; `parent` counts within the level before and must not fall."""
        before = sum(len(p) for p in self.parent[:-1])
        self.parent.append(parent + before)
        self.prob.append(prob)
        self.player.append(player.astype(np.int8))
        self.infoset.append(np.full(len(parent), -1, np.int32) if infoset is None else infoset)
        if returns is not None:
            self.returns.append(returns)

    def roots(
        self,
        parent: NDArray,
        prob: NDArray,
        is_root: NDArray[np.bool_] | None = None,
        returns: NDArray | None = None,
    ) -> None:
        """Add the last level: the forest's roots in order, among terminals where `is_root` is False."""
        is_root = np.ones(len(parent), bool) if is_root is None else is_root
        player = np.full(len(parent), TERMINAL, np.int8)
        player[is_root] = self.forest.player[: self.forest.n_roots]
        infoset = np.full(len(parent), -1, np.int32)
        infoset[is_root] = self.forest.infoset[: self.forest.n_roots]
        own = infoset >= 0
        infoset[own] += len(self.infoset_player)
        self.level(parent, prob, player, infoset, returns)
        self.root_at = np.flatnonzero(is_root) + sum(len(p) for p in self.parent[:-1])


def _team_returns(forest: FlatTree, seat: int, value: NDArray) -> NDArray:
    """Return payoffs [n, P] that give `value` [n] to the seat's team."""
    sign = np.where(np.array(forest.teams) == forest.teams[seat], 1.0, -1.0)
    return value[:, None] * sign


def _resolve_top(forest: FlatTree, entry: Entry, r: int, floor: float) -> _Top:
    top = _Top(forest)
    deal = entry.reach / entry.reach.sum()
    every = np.arange(r)
    if floor:
        # Chance deals the r histories to the opponents, and once more, forced, straight into the subgame.
        prior = _prior(entry)
        top.level(
            np.zeros(2 * r, np.int64),
            np.concatenate([(1 - floor) * deal, floor * prior]),
            np.concatenate([np.full(r, entry.seats[0]), np.full(r, CHANCE)]),
            np.concatenate([entry.group[0], np.full(r, -1)]).astype(np.int32),
        )
    else:
        top.level(np.zeros(r, np.int64), deal, np.full(r, entry.seats[0]), entry.group[0].astype(np.int32))
    for at, seat in enumerate(entry.seats):
        count = int(entry.group[at].max()) + 1
        first = len(top.infoset_player)
        top.infoset_player += [seat] * count
        top.infoset_size += [2] * count
        out = _team_returns(forest, seat, entry.alternative[at])
        # Each opponent's node has two children: out, a terminal, and in. On all but the last opponent's
        # level the histories in are the next opponent's nodes.
        position = 2 * every if at == 0 else 2 * every + 1
        parent = np.repeat(every if at == 0 else position, 2)
        is_in = np.tile([False, True], r)
        prob = np.ones(2 * r)
        if floor:
            parent = np.concatenate([parent, (r if at == 0 else 2 * r) + every])
            is_in = np.concatenate([is_in, np.ones(r, bool)])
            prob = np.concatenate([prob, np.ones(r)])
        if at == len(entry.seats) - 1:
            top.roots(parent, prob, is_in, out)
        else:
            nxt = entry.seats[at + 1]
            player = np.where(is_in, nxt, TERMINAL)
            infoset = np.full(len(parent), -1, np.int32)
            infoset[: 2 * r][1::2] = entry.group[at + 1] + first + count
            if floor:
                player[2 * r :] = CHANCE
            top.level(parent, prob, player, infoset, out)
    return top


def _maxmargin_top(forest: FlatTree, entry: Entry, r: int, floor: float) -> _Top:
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
        top = _Top(forest, seat)
        top.infoset_size.append(g)
        top.level(np.zeros(g, np.int64), np.ones(g), np.full(g, CHANCE))
        top.roots(group.astype(np.int64), within)
        return top
    top = _Top(forest)
    top.infoset_player.append(seat)
    top.infoset_size.append(g)
    top.level(
        np.zeros(2, np.int64),
        np.array([1 - floor, floor]),
        np.array([seat, CHANCE]),
        np.array([0, -1], np.int32),
    )
    prior = _prior(entry)
    share = np.bincount(group, prior)
    top.level(np.repeat([0, 1], g), np.concatenate([np.ones(g), share]), np.full(2 * g, CHANCE))
    forced = prior / np.where(share > 0, share, 1.0)[group]
    forced = np.where(share[group] > 0, forced, within)
    top.roots(np.concatenate([group, group + g]).astype(np.int64), np.concatenate([within, forced]))
    return top


def _path_top(forest: FlatTree, entry: Entry, path: OpponentPath, floor: float) -> _Top:
    """Return the opponent's decisions above the roots, level by level.

    A sequence is a chance node, a decision a node of the opponent's. Entries wait in single-child chance
    nodes until all have come, so that the roots stand on one level.
    """
    seat = entry.seats[0]
    top = _Top(forest)
    group = entry.group[0]
    g = len(path.entry)
    within = entry.reach / path.entry_mass[group]
    mass = path.sequence_mass()
    nothing = (np.zeros(0, np.int64), np.zeros(0))

    def children(kind: str, what: int) -> list[Child]:
        """Return (kind, index or payoff, probability) of what follows a node of the level before."""
        found: list[Child] = []
        if kind == "sequence":
            scale = mass[what]
            found += [("decision", i, path.mass[i] / scale) for i in path.decisions_after[what]]
            found += [("entry", j, path.entry_mass[j] / scale) for j in path.entries_after[what]]
            if path.rest_mass[what] > 0:
                found.append(("out", float(path.rest[what]), path.rest_mass[what] / scale))
            return found
        if kind == "decision":
            found += [("sequence", q, 1.0) for q in path.sequences_of[what]]
            if not np.isnan(path.out[what]):
                found.append(("out", float(path.out[what]), 1.0))
            return found
        if kind == "floor":
            return [("sequence", 0, 1.0 - floor), ("force", 0, floor)]
        if kind == "force":
            return [("forced", j, float(share[j])) for j in range(g)]
        return [(kind, what, 1.0)]

    share, forced = nothing
    if floor:
        # Payoffs above stand for the whole game; force entry as often as chance leads to the subgame.
        floor *= min(1.0, float(path.entry_mass.sum()))
        prior = _prior(entry)
        share = np.bincount(group, prior, minlength=g)
        forced = np.where(share[group] > 0, prior / np.where(share > 0, share, 1.0)[group], within)
    level: list[tuple[str, int | float]] = [("floor" if floor else "sequence", 0)]
    while any(kind not in ("entry", "forced", "out") for kind, _ in level):
        nxt: list[tuple[str, int | float]] = []
        parent: list[int] = []
        prob: list[float] = []
        for at, (kind, what) in enumerate(level):
            if kind == "out":
                continue
            found = children(kind, int(what))
            if kind == "decision":
                top.infoset_size.append(len(found))
            nxt += [(child, index) for child, index, _ in found]
            parent += [at] * len(found)
            prob += [share for _, _, share in found]
        player = np.full(len(nxt), CHANCE, np.int8)
        infoset = np.full(len(nxt), -1, np.int32)
        for at, (kind, _) in enumerate(nxt):
            if kind == "decision":
                player[at] = seat
                infoset[at] = len(top.infoset_player)
                top.infoset_player.append(seat)
            elif kind == "out":
                player[at] = TERMINAL
        payoffs = np.array([what for kind, what in nxt if kind == "out"], np.float64)
        top.level(np.array(parent), np.array(prob), player, infoset, _team_returns(forest, seat, payoffs))
        level = nxt
    waiting = [(kind, what) for kind, what in level if kind != "out"]
    if waiting != [("entry", j) for j in range(g)] + [("forced", j) for j in range(g)][: g if floor else 0]:
        raise GadgetError("gadget: for `path`, number the opponent's infosets in the order of its path")
    place = np.array([at for at, (kind, _) in enumerate(level) if kind != "out"])
    if floor:
        top.roots(np.concatenate([place[group], place[g + group]]), np.concatenate([within, forced]))
    else:
        top.roots(place[group], within)
    return top


def _prior(entry: Entry) -> NDArray[np.float64]:
    """Return how forced entries are dealt, [r] summing to 1."""
    if entry.prior is not None:
        if entry.prior.shape != entry.reach.shape or not entry.prior.sum() > LIVE:
            raise GadgetError("gadget: prior must have one weight per root, not all zero")
        return entry.prior / entry.prior.sum()
    group = entry.group[0]
    mass = np.bincount(group, entry.reach)
    return entry.reach / np.where(mass > LIVE, mass, 1.0)[group] / np.count_nonzero(mass > LIVE)


def _less(forest: FlatTree, root_of: NDArray, entry: Entry, shift: NDArray) -> FlatTree:
    """Return the forest with `shift` [r] taken from the opponent's payoffs below each root."""
    if forest.n_roots != len(shift):
        shift = np.tile(shift, 2)
    below = shift[root_of[forest.terminal]]
    return replace(forest, returns=forest.returns - _team_returns(forest, entry.seats[0], below))


def _doubled(
    forest: FlatTree, root_of: NDArray[np.int32], seats: tuple[int, ...]
) -> tuple[FlatTree, NDArray[np.int32], NDArray[np.int32]]:
    """Return two copies of the forest side by side, root_of for them, and each infoset's number before.

    The searching player cannot tell the copies apart; the opponents, who were forced into the second, can.
    """
    levels = forest.level_offsets
    sizes = np.diff(levels)
    # Node i of a level that spans [s, e) becomes s + i in the first copy and e + i in the second.
    node_level = np.repeat(np.arange(len(sizes)), sizes)
    one = np.arange(forest.n_nodes) + levels[:-1][node_level]
    two = np.arange(forest.n_nodes) + levels[1:][node_level]
    source = np.empty(2 * forest.n_nodes, np.int64)
    source[one] = source[two] = np.arange(forest.n_nodes)
    second = np.zeros(2 * forest.n_nodes, bool)
    second[two] = True
    up = forest.parent[source]
    parent = np.where(up < 0, -1, np.where(second, two[up], one[up])).astype(np.int32)
    n_children = forest.n_children[source]
    split = np.zeros(forest.n_players + 2, bool)  # chance and terminals index from the end
    split[list(seats)] = True
    infoset = forest.infoset[source].astype(np.int64)
    infoset[second & split[forest.player[source]]] += forest.n_infosets
    number, origin = _by_appearance(infoset, 2 * forest.n_infosets)
    origin = origin % max(forest.n_infosets, 1)
    row = np.full(forest.n_nodes, -1, np.int64)
    row[forest.terminal] = np.arange(len(forest.terminal))
    player = forest.player[source]
    terminal = np.flatnonzero(player == TERMINAL).astype(np.int32)
    sizes_i = np.diff(forest.infoset_offset)[origin]
    tree = FlatTree(
        parent=parent,
        first_child=(2 * forest.n_roots + np.cumsum(n_children) - n_children).astype(np.int32),
        n_children=n_children,
        player=player,
        infoset=number,
        chance_prob=forest.chance_prob[source],
        level_offsets=2 * levels,
        terminal=terminal,
        returns=forest.returns[row[source[terminal]]],
        infoset_player=forest.infoset_player[origin],
        infoset_offset=np.concatenate([[0], np.cumsum(sizes_i)]).astype(np.int64),
        infoset_key=forest.infoset_key[origin],
        action=forest.action[source],
        states=None,
        teams=forest.teams,
        n_truncated=2 * forest.n_truncated,
    )
    roots = (root_of[source] + second * forest.n_roots).astype(np.int32)
    return tree, roots, origin.astype(np.int32)


def _by_appearance(infoset: NDArray[np.int64], bound: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return infosets renumbered by first appearance, -1 left as it is, and the old number of each."""
    first = np.full(bound + 1, len(infoset), np.int64)
    first[infoset[::-1]] = np.arange(len(infoset))[::-1]  # the last write, the first appearance, stays
    present = np.flatnonzero(first[:bound] < len(infoset))
    origin = present[np.argsort(first[present], kind="stable")]
    number = np.full(bound + 1, -1, np.int32)
    number[origin] = np.arange(len(origin))
    return number[infoset], origin


def _graft(top: _Top, forest: FlatTree) -> Gadget:
    """Return the forest below the last level of `top`."""
    n_top = sum(len(p) for p in top.parent)
    r = forest.n_roots
    shift = n_top - r
    extra = len(top.infoset_player)
    at = top.root_at
    up = forest.parent[r:]
    parent = np.concatenate([*top.parent, np.where(up < r, at[np.minimum(up, r - 1)], up + shift)])
    top_children = np.bincount(np.concatenate(top.parent[1:]), minlength=n_top)
    top_children[at] = forest.n_children[:r]
    n_children = np.concatenate([top_children, forest.n_children[r:]]).astype(np.int32)
    first_child = (1 + np.cumsum(n_children) - n_children).astype(np.int32)
    infoset_below = forest.infoset[r:]
    player = np.concatenate([*top.player, forest.player[r:]])
    terminal = np.flatnonzero(player == TERMINAL).astype(np.int32)
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
    sizes = np.concatenate([top.infoset_size, np.diff(forest.infoset_offset)])
    key_width = forest.infoset_key.shape[1]
    none = np.zeros((n_top, *forest.action.shape[1:]), forest.action.dtype)
    none[at] = forest.action[:r]
    tree = FlatTree(
        parent=parent.astype(np.int32),
        first_child=first_child,
        n_children=n_children,
        player=player,
        infoset=np.concatenate(
            [*top.infoset, np.where(infoset_below >= 0, infoset_below + extra, -1)]
        ).astype(np.int32),
        chance_prob=np.concatenate([*top.prob, forest.chance_prob[r:]]),
        level_offsets=np.concatenate([levels, forest.level_offsets[2:] + shift]).astype(np.int64),
        terminal=terminal,
        returns=returns,
        infoset_player=np.concatenate([top.infoset_player, forest.infoset_player]).astype(np.int8),
        infoset_offset=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        infoset_key=np.concatenate([np.zeros((extra, key_width), np.uint64), forest.infoset_key]),
        action=np.concatenate([none, forest.action[r:]]),
        states=None,
        teams=forest.teams,
        n_truncated=forest.n_truncated,
    )
    entry_slots = int(np.sum(top.infoset_size))
    slot_origin = np.arange(-entry_slots, forest.n_slots)
    slot_origin[:entry_slots] = -1
    infoset_origin = np.concatenate([np.full(extra, -1), np.arange(forest.n_infosets)]).astype(np.int32)
    return Gadget(tree, extra, slot_origin, infoset_origin)


def _from_doubled(gadget: Gadget, origin: NDArray[np.int32]) -> Gadget:
    """Return a gadget over a doubled forest with its origins in the forest that was doubled."""
    tree = gadget.tree
    extra = gadget.entry_infosets
    infoset_origin = np.concatenate([np.full(extra, -1, np.int32), origin])
    sizes = np.diff(tree.infoset_offset)[extra:]
    n = int(origin.max()) + 1 if len(origin) else 0
    plain = np.zeros(n, np.int64)
    plain[origin] = sizes
    start = np.cumsum(plain) - plain
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    own = np.repeat(start[origin], sizes) + within
    entry_slots = tree.n_slots - len(own)
    return Gadget(tree, extra, np.concatenate([np.full(entry_slots, -1), own]), infoset_origin)


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
    require(holds, f"gadget: {rule}", received, "check_gadget in gs2/search/gadget/build.py")
