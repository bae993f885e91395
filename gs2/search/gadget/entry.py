"""How the opponents come to a subgame: how often, what else they may have, how forced entries are dealt.

Where entry is forced now and then, a forest stands twice, side by side: opponents enter the first copy by
choice and are forced into the second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cfr.tree import FlatTree
from games.game import TERMINAL
from games.ragged import ranges
from gs2.search.gadget.graft import Gadget
from gs2.search.gadget.path import OpponentPath

__all__ = ["LIVE", "Entry", "GadgetError", "doubled", "forced_by_infoset", "forced_deal", "from_doubled"]

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
    """Return how forced entries are dealt, [r] summing to 1. Raises GadgetError for an unfit prior."""
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


def doubled(
    forest: FlatTree, root_of: NDArray[np.int32], seats: tuple[int, ...]
) -> tuple[FlatTree, NDArray[np.int32], NDArray[np.int32]]:
    """Return two copies of a forest side by side, their root_of, [2N], each infoset's number before, [I].

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


def from_doubled(gadget: Gadget, origin: NDArray[np.int32]) -> Gadget:
    """Return a gadget over a doubled forest with its origins in the single one; origin: [I] of `doubled`."""
    tree = gadget.tree
    extra = gadget.entry_infosets
    infoset_origin = np.concatenate([np.full(extra, -1, np.int32), origin])
    sizes = np.diff(tree.infoset_offset)[extra:]
    n = int(origin.max()) + 1 if len(origin) else 0
    plain = np.zeros(n, np.int64)
    plain[origin] = sizes
    start = np.cumsum(plain) - plain
    own = ranges(start[origin], sizes)
    entry_slots = tree.n_slots - len(own)
    return Gadget(tree, extra, np.concatenate([np.full(entry_slots, -1), own]), infoset_origin)


def _by_appearance(infoset: NDArray[np.int64], bound: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return infosets renumbered by first appearance, -1 left as it is, and the old number of each."""
    first = np.full(bound + 1, len(infoset), np.int64)
    first[infoset[::-1]] = np.arange(len(infoset))[::-1]  # the last write, the first appearance, stays
    present = np.flatnonzero(first[:bound] < len(infoset))
    origin = present[np.argsort(first[present], kind="stable")]
    number = np.full(bound + 1, -1, np.int32)
    number[origin] = np.arange(len(origin))
    return number[infoset], origin
