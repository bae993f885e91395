"""How the opponents come to a subgame: how often, what else they may have, how forced entries are dealt.

Where entry is forced now and then, a forest stands twice, side by side: opponents enter the first copy by
choice and are forced into the second.

The opponent's own way to a subgame is every decision it took, and what it could have had instead.

With the searching player's strategy fixed outside a subgame, everything the opponent can do elsewhere
condenses into a small tree of its own decisions above the subgame: at each it may go on towards the subgame
or take the best counterfactual value of another action. Values of that tree are values of the whole game, so
what is solved below it is solved for exploitability itself, not for a stand-in such as the least margin.
Gifts (Brown and Sandholm 2017) are the first-order version of this.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cfr.best_response import counterfactual_values
from cfr.tree import FlatTree
from games.game import CHANCE, TERMINAL
from games.support.kernel import kernel
from gs2.search.context import SearchContext, Strategy

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
    parent = np.where(up < 0, -1, np.where(second, two[up], one[up]))
    split = np.zeros(forest.n_players + 2, bool)  # chance and terminals index from the end
    split[list(seats)] = True
    infoset = forest.infoset[source].astype(np.int64)
    infoset[second & split[forest.player[source]]] += forest.n_infosets
    # Infosets are numbered anew by first appearance, -1 left as it is.
    bound, total = 2 * forest.n_infosets, len(infoset)
    first = np.full(bound + 1, total, np.int64)
    first[infoset[::-1]] = np.arange(total)[::-1]  # the last write, the first appearance, stays
    present = np.flatnonzero(first[:bound] < total)
    origin = present[np.argsort(first[present], kind="stable")]
    number = np.full(bound + 1, -1, np.int32)
    number[origin] = np.arange(len(origin))
    origin = origin % max(forest.n_infosets, 1)
    row = np.full(forest.n_nodes, -1, np.int64)
    row[forest.terminal] = np.arange(len(forest.terminal))
    player = forest.player[source]
    tree = FlatTree.of_levels(
        parent,
        player,
        2 * levels,
        np.diff(forest.infoset_offset)[origin],
        infoset=number[infoset],
        chance_prob=forest.chance_prob[source],
        returns=forest.returns[row[source[player == TERMINAL]]],
        infoset_player=forest.infoset_player[origin],
        infoset_key=forest.infoset_key[origin],
        action=forest.action[source],
        teams=forest.teams,
        n_truncated=2 * forest.n_truncated,
    )
    roots = (root_of[source] + second * forest.n_roots).astype(np.int32)
    return tree, roots, origin.astype(np.int32)


@dataclass(frozen=True, eq=False)
class OpponentPath:
    """The opponent's decisions above g of its infosets; m decisions, q sequences with 0 the empty one.

    infoset: [m] int64, numbers in the tree, ancestors first. above: [m] int64, sequence before the decision.
    mass: [m] float64, probability that chance and the searching player lead there.
    out: [m] float64, value of the best action that leads away from the subgame, in payoffs; nan if none does.
    slot: [q] int64, slot of each sequence in the tree, -1 for the empty one. owner: [q] int64, its decision,
        -1 for the empty one.
    entry: [g] int64, sequence after which each entry infoset comes. entry_mass: [g] float64, its probability.
    rest_mass, rest: [q] float64, probability and value (payoffs) of what may follow a sequence besides the
        decisions and entries listed; value 0 where the probability is.
    """

    infoset: NDArray[np.int64]
    above: NDArray[np.int64]
    mass: NDArray[np.float64]
    out: NDArray[np.float64]
    slot: NDArray[np.int64]
    owner: NDArray[np.int64]
    entry: NDArray[np.int64]
    entry_mass: NDArray[np.float64]
    rest_mass: NDArray[np.float64]
    rest: NDArray[np.float64]

    def sequence_mass(self) -> NDArray[np.float64]:
        """Return the probability of each sequence when the opponent plays for it, [q] float64."""
        return np.where(self.owner >= 0, self.mass[self.owner], 1.0) if len(self.mass) else np.ones(1)

    @cached_property
    def _after(self) -> tuple[list[list[int]], list[list[int]], list[list[int]]]:
        """The decisions and the entries that follow each sequence, and the sequences of each decision."""
        q = len(self.slot)
        return _rows(self.above, q), _rows(self.entry, q), _rows(self.owner, len(self.infoset))

    def entry_order(self) -> NDArray[np.int64]:
        """Return the entries in the order in which the opponent's tree holds them, [g] int64."""
        found: list[int] = []
        decisions, entries, sequences = self._after

        def visit(sequence: int) -> None:
            for decision in decisions[sequence]:
                for after in sequences[decision]:
                    visit(after)
            found.extend(entries[sequence])

        visit(0)
        return np.array(found, np.int64)

    def reordered(self, order: NDArray[np.int64]) -> OpponentPath:
        """Return the same way with its entries numbered in another order, [entries] int64."""
        return replace(self, entry=self.entry[order], entry_mass=self.entry_mass[order])

    def above_entries(
        self, entry: Entry, floor: float
    ) -> tuple[list[Level], list[int], NDArray[np.int64], NDArray[np.float64]]:
        """Return the opponent's decisions above the roots, below one chance node: (levels, how many actions
        each of its infosets has, parent of each root, [roots] int64, and its probability, [roots] float64).

        floor: probability of a forced entry wherever chance and the searching player lead to the subgame.
        Raises GadgetError unless the entry numbers the opponent's infosets in the order of the path.
        """
        group, g, seat = entry.group[0], len(self.entry), entry.seats[0]
        within = entry.reach / self.entry_mass[group]
        share, forced = np.zeros(0), np.zeros(0)
        if floor:
            # Payoffs above stand for the whole game; force entry as often as chance leads to the subgame.
            floor *= min(1.0, float(self.entry_mass.sum()))
            share, forced = forced_by_infoset(entry, within)
        mass, acts = self.sequence_mass(), {"decision": seat, "out": TERMINAL}
        decisions, entries, sequences = self._after

        def after(kind: str, what: int | float) -> list[tuple[Node, float]]:
            """Return the children of a node, with probabilities; entries wait as their own only child."""
            found: list[tuple[Node, float]] = []
            if kind == "out":
                return found
            what = int(what)
            if kind == "sequence":
                scale = mass[what]
                found += [(("decision", i), self.mass[i] / scale) for i in decisions[what]]
                found += [(("entry", j), self.entry_mass[j] / scale) for j in entries[what]]
                if self.rest_mass[what] > 0:
                    found.append((("out", float(self.rest[what])), self.rest_mass[what] / scale))
                return found
            if kind == "decision":
                found += [(("sequence", q), 1.0) for q in sequences[what]]
                if not np.isnan(self.out[what]):
                    found.append((("out", float(self.out[what])), 1.0))
                return found
            if kind == "floor":
                return [(("sequence", 0), 1.0 - floor), (("force", 0), floor)]
            if kind == "force":
                return [(("forced", j), float(part)) for j, part in enumerate(share)]
            return [((kind, what), 1.0)]

        level: list[Node] = [("floor" if floor else "sequence", 0)]
        levels: list[Level] = []
        sizes: list[int] = []
        # Entries wait in single-child chance nodes until all have come, so that the roots stand on one level.
        while any(kind not in ("entry", "forced", "out") for kind, _ in level):
            below = [(at, *child) for at, node in enumerate(level) for child in after(*node)]
            level = [node for _, node, _ in below]
            player = np.array([acts.get(kind, CHANCE) for kind, _ in level], np.int8)
            decides = player == seat
            infoset = np.where(decides, len(sizes) - 1 + np.cumsum(decides), -1).astype(np.int32)
            sizes += [len(after(*node)) for node in level if node[0] == "decision"]
            paid = np.array([what for kind, what in level if kind == "out"], np.float64)
            parent, prob = (np.array([one[part] for one in below]) for part in (0, 2))
            levels.append((parent, prob, player, infoset, paid))
        waiting = [node for node in level if node[0] != "out"]
        if waiting != [("entry", j) for j in range(g)] + [("forced", j) for j in range(g if floor else 0)]:
            raise GadgetError("gadget: for `path`, number the opponent's infosets in the order of its path")
        place = np.array([at for at, (kind, _) in enumerate(level) if kind != "out"])
        parent = np.concatenate([place[group + g * copy] for copy in range(1 + bool(floor))])
        return levels, sizes, parent, np.concatenate([within, forced])

    def root_value(self, values: NDArray[np.float64]) -> float:
        """Return the opponent's best-response value of the whole game if its entry infosets have `values`.

        values: [g] float64, payoffs per unit of `entry_mass`.
        """
        total = self.rest_mass * self.rest + np.bincount(
            self.entry, self.entry_mass * values, minlength=len(self.slot)
        )
        if len(self.infoset):
            _fold(self.owner, self.above, self.out, self.mass, total)
        return float(total[0])


Node = tuple[str, int | float]
"""What a node of the way is, and its index or payoff.

sequence: what the opponent played so far; chance goes on from it. decision: one of the opponent's. out: a
payoff that ends the way. entry: the histories of an infoset. floor: whether entry is forced. force: which
infoset is forced. forced: the histories of that infoset, dealt once more.
"""


Level = tuple[
    NDArray[np.int64], NDArray[np.float64], NDArray[np.int8], NDArray[np.int32], NDArray[np.float64]
]
"""(parent within the level before, chance's probability, player, infoset) of each node, and what its terminal
nodes pay the opponent."""


@kernel
def _fold(
    owner: NDArray[np.int64],
    above: NDArray[np.int64],
    out: NDArray[np.float64],
    mass: NDArray[np.float64],
    total: NDArray[np.float64],
) -> None:
    """Add to the sequences in `total` the best of what follows them, last decisions first."""
    best = out * mass
    # Sequences and decisions are numbered ancestors first: when a sequence comes up from the end, all its
    # decisions have; the first sequence of a decision to be numbered is the last to come up.
    first = np.full(len(above), len(owner), np.int64)
    for q in range(len(owner)):
        if owner[q] >= 0 and first[owner[q]] == len(owner):
            first[owner[q]] = q
    for q in range(len(owner) - 1, -1, -1):
        i = owner[q]
        if i < 0:
            continue
        if not best[i] >= total[q]:
            best[i] = total[q]
        if first[i] == q:
            total[above[i]] += best[i]


def _rows(number: NDArray[np.int64], count: int) -> list[list[int]]:
    """Return the indices that hold each number 0 … count - 1."""
    found: list[list[int]] = [[] for _ in range(count)]
    for index, at in enumerate(number.tolist()):
        if at >= 0:
            found[at].append(index)
    return found


def opponent_path(
    context: SearchContext,
    strategy: Strategy,
    opponent: int,
    nodes: NDArray[np.int32],
    group: NDArray[np.int32],
    reach: NDArray[np.float64],
    values: NDArray[np.float64],
) -> OpponentPath:
    """Return the opponent's way to its g infosets at r histories.

    nodes: [r], none below another. group: [r], the opponent's infoset at each, 0 … g - 1. reach: [r],
    probability that chance and the searching player lead there. values: [g], what the infosets are worth to
    the opponent now, in payoffs.
    """
    best = strategy.opponent_values(opponent, nodes)
    parents = context.parent_slot(opponent)
    first = np.unique(group, return_index=True)[1]
    entry_slot = context.own_slot(opponent)[nodes[first]]
    number: dict[int, int] = {-1: 0}
    decisions: dict[int, int] = {}
    for last in entry_slot.tolist():
        way = []
        while last not in number:
            way.append(last)
            last = int(parents[context.tree.slot_infoset[last]])
        for step in reversed(way):
            decisions.setdefault(int(context.tree.slot_infoset[step]), len(decisions))
            number[step] = len(number)
    infoset = np.array(list(decisions), np.int64)
    slot = np.array(list(number), np.int64)
    owner = np.array([-1 if s < 0 else decisions[int(context.tree.slot_infoset[s])] for s in slot], np.int64)
    mass = best.reach[infoset]
    above = np.array([number[int(parents[i])] for i in infoset], np.int64)
    out = np.full(len(infoset), np.nan)
    for i, at in enumerate(infoset.tolist()):
        away = [s for s in context.tree.slots(at).tolist() if s not in number]
        if away:
            out[i] = best.slot[away].max() / mass[i] if mass[i] > 0 else 0.0
    entry = np.array([number[int(s)] for s in entry_slot], np.int64)
    entry_mass = np.bincount(group, reach).astype(np.float64)
    sequence_mass = np.where(owner >= 0, mass[owner], 1.0) if len(mass) else np.ones(1)
    rest_mass = sequence_mass.copy()
    rest = np.where(slot >= 0, best.slot[slot], best.root)
    np.add.at(rest_mass, above, -mass)
    np.add.at(rest, above, -best.infoset[infoset])
    np.add.at(rest_mass, entry, -entry_mass)
    np.add.at(rest, entry, -entry_mass * values)
    # What is left of a sequence by rounding alone is nothing.
    nothing = rest_mass <= 1e-12 * np.maximum(sequence_mass, 1e-300)
    rest_mass[nothing] = 0.0
    rest = np.divide(rest, rest_mass, out=np.zeros(len(rest)), where=~nothing)
    return OpponentPath(infoset, above, mass, out, slot, owner, entry, entry_mass, rest_mass, rest)


def gifts(strategy: Strategy, seat: int) -> NDArray[np.float64]:
    """Return what `seat` has given away on the way to each node by not best-responding, [N] float64.

    In payoffs, per unit of the others' reach: summed over its own actions above the node, the value of
    the infoset less that of the action. Given to all histories below alike, which shares a gift among
    subgames in proportion to that reach and keeps refining all of them safe.
    Source: Brown and Sandholm 2017.
    """
    tree = strategy.tree

    def given_away() -> NDArray[np.float64]:
        best = counterfactual_values(tree, strategy.raw, seat, best_response=True)
        counts = np.diff(tree.infoset_offset)
        lost = np.repeat(best.infoset, counts) - best.slot
        mass = np.repeat(best.reach, counts)
        per_slot = np.divide(lost, mass, out=np.zeros_like(lost), where=mass > 0)
        out = np.zeros(tree.n_nodes)
        slot = tree.child_slot()
        for start, end in pairwise(tree.level_offsets[1:]):
            above = tree.parent[start:end]
            own = tree.player[above] == seat
            out[start:end] = out[above]
            out[start:end][own] += per_slot[slot[start:end][own]]
        return out

    return strategy.kept(("gifts", seat), given_away)
