"""Opponents that do not see through the deals: infosets of a forest tied together.

A forest below k sampled deals in which an opponent holds k different hands gives it k infosets wherever it
acts: it knows the deal, and so what we hold. Against such opponents no policy is good at the real infoset,
where they know no more than one hand. Tying lets infosets of similar hands decide alike: a tree with fewer
infosets and the same histories.

Recall. Two infosets may be tied and yet be reached by different own actions. The player of the tied infoset
would then have forgotten what it did, and CFR's promise is gone: regrets at an infoset no longer add up to
regret of the whole, the average policy need not play what the iterations played, and a best response cannot
be found bottom up. `tie_infosets` therefore ties only infosets whose own sequences are tied as well, from the
root down (`recall=True`): what comes out is a game of perfect recall, a coarser one, and every solver,
sequence form and certificate is as good on it as on any. With `recall=False` everything that is asked for is
tied; `TreeSolver(tree, recall=False)` runs on the result, as in Waugh et al. 2009, "A practical use of
imperfect recall", and promises nothing.
An infoset of the gadget's own counts as part of the sequence: tie the entry with the same buckets
(`tie_entry`) before the gadget is built; the sequence form refuses the gadget otherwise.

In order: grow the forest, graft choices of continuations if there are any, `infoset_labels` of the buckets of
hands (`gs2.search.subgame.buckets`), `tie_subgame`, gadget, solver; `Tied.untied` gives the policy back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cfr.tree import FlatTree
from cfr.values import infoset_parent_slot
from gs2.search.gadget.entry import Entry
from gs2.search.subgame.cut import Subgame
from gs2.search.subgame.playing_out import mixed_bits

__all__ = [
    "Clairvoyance",
    "Tied",
    "clairvoyance",
    "infoset_labels",
    "leaf_labels",
    "situations",
    "tie_entry",
    "tie_infosets",
    "tie_subgame",
]

_STEP = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Tied:
    """A tree with some of its infosets tied, and where the old ones went; I old infosets, A old slots.

    tree: the same histories in the same order. infoset: [I] int32, new number of each infoset.
    slot: [A] int64, new slot of each slot.
    """

    tree: FlatTree
    infoset: NDArray[np.int32]
    slot: NDArray[np.int64]

    def untied(self, policy: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a policy of the tied tree on the slots of the old one, [A] float64."""
        return policy[self.slot]

    def mean(self, policy: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return an old policy's mean over the infosets tied together, on the new slots, float64.

        weight: [I] float64 >= 0, how much each old infoset counts, its reach for example; all alike where a
        tied infoset has none.
        """
        sizes = np.bincount(self.slot, minlength=self.tree.n_slots)
        counts = np.diff(self.tree.infoset_offset)
        old = np.zeros(len(self.infoset), np.int64)
        old[:] = counts[self.infoset]
        each = np.repeat(weight, old)
        mass = np.bincount(self.slot, each, minlength=self.tree.n_slots)
        total = np.bincount(self.slot, each * policy, minlength=self.tree.n_slots)
        plain = np.bincount(self.slot, policy, minlength=self.tree.n_slots) / np.maximum(sizes, 1)
        return np.divide(total, mass, out=plain, where=mass > 0)


def tie_infosets(
    tree: FlatTree,
    labels: NDArray[np.int64],
    *,
    meaning: NDArray[np.int64] | None = None,
    recall: bool = True,
) -> Tied:
    """Return the tree in which infosets of one label are one.

    labels: [I] int64; negative ones leave an infoset as it is. Infosets of different players, or with
    different numbers of actions, are never tied.
    meaning: [A] int64, what each slot's action stands for, its class for example; only infosets whose actions
    mean the same in the same order are tied.
    recall: tie only what keeps recall perfect (see above).
    Raises ValueError for labels or meanings of another size.
    """
    n = tree.n_infosets
    counts = np.diff(tree.infoset_offset)
    if labels.shape != (n,) or (meaning is not None and meaning.shape != (tree.n_slots,)):
        raise ValueError(
            f"tie_infosets: labels must have one entry per infoset, {n}, and meaning one per slot, "
            f"{tree.n_slots}; got {labels.shape} and {None if meaning is None else meaning.shape}"
        )
    free = labels < 0
    alike = _joined(np.where(free, np.arange(n), labels), free, tree.infoset_player, counts)
    if meaning is not None and n:
        within = np.arange(tree.n_slots) - np.repeat(tree.infoset_offset[:-1], counts)
        bits = mixed_bits(meaning.astype(np.uint64) * _STEP + mixed_bits(within.astype(np.uint64) + _STEP))
        alike = _joined(alike, np.add.reduceat(bits, tree.infoset_offset[:-1]))
    if recall:
        alike = _with_recall(tree, alike)
    first, number = np.unique(alike, return_index=True, return_inverse=True)[1:]
    place = np.empty(len(first), np.int64)
    order = np.argsort(first)
    place[order] = np.arange(len(first))
    infoset = place[number.reshape(-1)]
    kept = first[order]
    offset = np.concatenate([[0], np.cumsum(counts[kept])]).astype(np.int64)
    slot = np.repeat(offset[infoset] - tree.infoset_offset[:-1], counts) + np.arange(tree.n_slots)
    renumbered = np.where(tree.infoset >= 0, infoset[tree.infoset] if n else -1, -1)
    tied = replace(
        tree,
        infoset=renumbered.astype(np.int32),
        infoset_player=tree.infoset_player[kept],
        infoset_offset=offset,
        infoset_key=tree.infoset_key[kept],
    )
    return Tied(tied, infoset.astype(np.int32), slot)


def _with_recall(tree: FlatTree, alike: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return numbers of infosets that are equal where `alike` is and own sequences are tied as well."""
    n = tree.n_infosets
    before = np.full(n, -1, np.int64)
    for seat in np.unique(tree.infoset_player).tolist():
        mine = tree.infoset_player == seat
        before[mine] = infoset_parent_slot(tree, seat)[mine]
    above = np.where(before >= 0, tree.slot_infoset[before] if n else -1, -1)
    action = np.where(before >= 0, before - tree.infoset_offset[above], -1)
    found = np.full(n, -1, np.int64)
    here = np.flatnonzero(above < 0)
    done, names = np.zeros(n, bool), 0
    while len(here):
        parent = np.where(above[here] >= 0, found[above[here]], -1)
        number = _joined(alike[here], parent, action[here])
        found[here] = names + number
        names += int(number.max()) + 1
        done[here] = True
        here = np.flatnonzero(~done & (above >= 0) & done[above])
    return found


def _joined(*columns: NDArray[np.generic]) -> NDArray[np.int64]:
    """Return numbers 0 … that are equal where all columns are, [n] int64."""
    number = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        one = np.unique(column, return_inverse=True)[1].reshape(-1).astype(np.int64)
        number = number * (int(one.max(initial=0)) + 1) + one
        number = np.unique(number, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return number


def tie_subgame(
    subgame: Subgame,
    labels: NDArray[np.int64],
    *,
    meaning: NDArray[np.int64] | None = None,
    recall: bool = True,
) -> tuple[Subgame, Tied]:
    """Return the subgame with infosets of one label tied, and where the old infosets went.

    Arguments are those of `tie_infosets`. Infosets tied together have no origin (-1).
    """
    tied = tie_infosets(subgame.tree, labels, meaning=meaning, recall=recall)
    tree = tied.tree
    alone = np.bincount(tied.infoset, minlength=tree.n_infosets) == 1
    infoset_origin = np.empty(tree.n_infosets, np.int32)
    infoset_origin[tied.infoset] = subgame.infoset_origin
    slot_origin = np.empty(tree.n_slots, np.int64)
    slot_origin[tied.slot] = subgame.slot_origin
    grafted = np.empty(tree.n_infosets, bool)
    grafted[tied.infoset] = subgame.chosen
    made = replace(
        subgame,
        tree=tree,
        grafted=grafted,
        infoset_origin=np.where(alone, infoset_origin, -1).astype(np.int32),
        slot_origin=np.where(np.repeat(alone, np.diff(tree.infoset_offset)), slot_origin, -1),
    )
    return made, tied


def tie_entry(entry: Entry, buckets: NDArray[np.int64]) -> Entry:
    """Return how opponents come to the roots when they know their bucket only.

    buckets: [q, r] int64, each opponent's bucket at each root. Alternative values and gifts become means
    over the bucket, weighed by reach. Roots of one bucket of the first opponent must stand together for
    maxmargin: sort them so before the forest is grown.
    Raises ValueError where a bucket parts what an opponent cannot tell apart, or for a path.
    """
    if entry.path is not None:
        raise ValueError(
            "tie_entry: the gadget path keeps infosets of its own; got a path; use another gadget"
        )
    if buckets.shape != entry.group.shape:
        raise ValueError(
            f"tie_entry: buckets must be [opponents, roots], {entry.group.shape}; got {buckets.shape}"
        )
    group = np.empty_like(entry.group)
    alternative = np.empty_like(entry.alternative)
    gift = None if entry.gift is None else np.empty_like(entry.gift)
    for i in range(len(entry.seats)):
        if len(np.unique(_joined(entry.group[i], buckets[i]))) != len(np.unique(entry.group[i])):
            raise ValueError(
                f"tie_entry: an infoset must lie in one bucket; got one of seat {entry.seats[i]} in several"
            )
        number = np.unique(buckets[i], return_inverse=True)[1].reshape(-1)
        group[i] = number
        alternative[i] = _means(entry.alternative[i], entry.reach, number)
        if gift is not None and entry.gift is not None:
            gift[i] = _means(entry.gift[i], entry.reach, number)
    return replace(entry, group=group, alternative=alternative, gift=gift)


def _means(
    values: NDArray[np.float64], weight: NDArray[np.float64], group: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the weighted mean of each value's group, [n] float64; a plain one where weights are 0."""
    mass = np.bincount(group, weight)
    plain = np.bincount(group, values) / np.bincount(group)
    mean = np.divide(np.bincount(group, weight * values), mass, out=plain, where=mass > 0)
    found: NDArray[np.float64] = mean[group]
    return found


def _paths(tree: FlatTree) -> NDArray[np.uint64]:
    """Return a number for what was done since the root before each node, [N], the same below any root."""
    action = np.ascontiguousarray(tree.action)
    size = action.nbytes // max(tree.n_nodes, 1)
    wide = next(width for width in (8, 4, 2, 1) if size % width == 0)
    words = action.view(f"u{wide}").reshape(tree.n_nodes, -1)
    bits = np.full(tree.n_nodes, _STEP, np.uint64)
    for column in words.T:
        bits = mixed_bits(bits + column.astype(np.uint64) + np.uint64(1))
    path = np.zeros(tree.n_nodes, np.uint64)
    for start, end in zip(tree.level_offsets[1:-1], tree.level_offsets[2:], strict=True):
        up = tree.parent[start:end]
        actor = (tree.player[up].astype(np.int64) + 2).astype(np.uint64)
        path[start:end] = mixed_bits(path[up] * _STEP + mixed_bits(bits[start:end] + actor * _STEP))
    return path


def _sets(group: NDArray[np.int64], path: NDArray[np.uint64], n: int) -> NDArray[np.uint64]:
    """Return a number for the set of paths in each of n groups, [n] uint64."""
    pairs = mixed_bits(path + _STEP * (group.astype(np.uint64) + np.uint64(1)))
    first = np.unique(pairs, return_index=True)[1]
    found = np.zeros(n, np.uint64)
    np.add.at(found, group[first], mixed_bits(path[first] + _STEP))
    return found


def situations(tree: FlatTree) -> NDArray[np.int64]:
    """Return a number for what everybody did since the roots, infoset by infoset, [I] int64.

    Equal where the histories of two infosets follow the same set of ways, chance outcomes included, below
    whichever roots: two hands in the same situation.
    """
    decision = np.flatnonzero(tree.player >= 0)
    sets = _sets(tree.infoset[decision].astype(np.int64), _paths(tree)[decision], tree.n_infosets)
    number: NDArray[np.int64] = np.unique(sets, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return number


def infoset_labels(subgame: Subgame, buckets: Mapping[int, NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return labels that tie what seats of one bucket know in one situation, [I] int64; -1 for other seats.

    buckets: for each seat to be tied [r] int64, the bucket of what it knows at each root.
    Raises ValueError where a bucket parts what a seat cannot tell apart.
    """
    tree = subgame.tree
    labels = np.full(tree.n_infosets, -1, np.int64)
    where = situations(tree)
    for seat, bucket in buckets.items():
        nodes = np.flatnonzero(tree.player == seat)
        at = tree.infoset[nodes]
        of_root = bucket[subgame.root_of[nodes]]
        known = np.full(tree.n_infosets, -1, np.int64)
        known[at] = of_root
        if np.any(known[at] != of_root):
            raise ValueError(f"ties: an infoset of seat {seat} must lie in one bucket; got one in several")
        mine = tree.infoset_player == seat
        labels[mine] = _joined(known[mine], where[mine])
    return labels


def leaf_labels(subgame: Subgame, bucket: NDArray[np.int64], known: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return labels of what a seat of some bucket knows at each truncated leaf, [T] int64.

    bucket: [r] int64, of what it knows at each root. known: [T] int64, its infoset at each leaf, as
    `known_at` of `gs2.search.subgame.multi_valued` returns.
    """
    leaves = subgame.truncated
    number = np.unique(known, return_inverse=True)[1].reshape(-1).astype(np.int64)
    ways = _sets(number, _paths(subgame.tree)[leaves], int(number.max(initial=-1)) + 1)
    return _joined(bucket[subgame.root_of[leaves]], ways[number])


@dataclass(frozen=True)
class Clairvoyance:
    """How far opponents see through the histories of a forest.

    roots: histories that the searching player cannot tell apart. histories: of them, the mean number that an
    opponent infoset cannot tell apart. alone: share of opponent infosets that know the history, 1 where every
    opponent is clairvoyant.
    """

    roots: int
    histories: float
    alone: float


def clairvoyance(subgame: Subgame, seats: tuple[int, ...]) -> Clairvoyance:
    """Return how far some seats see through the histories of a forest.

    Every infoset of theirs counts alike; without any, all histories are told from each other by nobody.
    """
    tree = subgame.tree
    nodes = np.flatnonzero(np.isin(tree.player, seats))
    r = tree.n_roots
    if len(nodes) == 0:
        return Clairvoyance(r, float(r), 0.0)
    pairs = np.unique(tree.infoset[nodes].astype(np.int64) * r + subgame.root_of[nodes])
    counts = np.unique(pairs // r, return_counts=True)[1]
    return Clairvoyance(r, float(counts.mean()), float((counts == 1).mean()))
