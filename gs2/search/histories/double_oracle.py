"""Histories kept in summary: the opponent goes on there by one of a few fixed plans, and chooses which.

Generation leaves histories out to save work, and what it leaves out is where the opponent then takes its
revenge. A summary keeps them at a fraction of their size: below them the opponent only picks, at each of its
infosets, one of the plans found so far, each a pure best response to a strategy that was tried. Whenever a
solution loses something there, the opponent's best response to it joins the plans and the subgame is solved
again (the double-oracle method of McMahan, Gordon and Blum 2003, on the opponent's side and on these infosets
alone). Once no plan gains more, the solution is that of the subgame with all histories generated.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from games.game import CHANCE
from gs2.search.context import Search
from gs2.search.gadget.build import Top, graft
from gs2.search.histories.enumerated import Considered, OpponentResponse
from gs2.search.subgame.cut import Subgame


class Summary:
    """The plans of the opponent at the histories kept in summary; g opponent infosets in all.

    plans: [n, slots] float64, of the full tree; only the slots below these histories are ever set.
    of_group: for each opponent infoset considered, the plans it chooses among.
    """

    def __init__(self, search: Search, considered: Considered, rows: NDArray[np.int64]) -> None:
        """Start with the best response to the strategy. rows: of the histories kept in summary, rising."""
        self.plans = np.empty((search.config.subgame.plans, search.context.tree.n_slots))
        self.count = 1
        self.response = OpponentResponse(search, considered, rows)
        none = np.zeros(0, np.int64)
        _, pure = self.response.respond(none, np.zeros(0))
        self.plans[0, self.response.slots] = pure
        self.of_group = {int(group): [0] for group in self.response.groups}

    def full(self) -> bool:
        """Return whether no plan can be added."""
        return self.count >= len(self.plans)

    def complete(
        self,
        slots: NDArray[np.int64],
        probs: NDArray[np.float64],
        seen: NDArray[np.float64],
        tolerance: float,
    ) -> float:
        """Add the opponent's best response to a strategy where it gains; return the most it gains, payoffs.

        slots, probs: [s], the strategy, where it differs from the old one. seen: [g] float64, what the
        opponent infosets considered are worth against it with the plans held so far.
        tolerance: gains up to this, in payoffs, are let pass.
        """
        present, places = self.response.places(slots)
        values, pure = self.response.respond(places, probs[present])
        gain = values - seen[self.response.groups]
        found = np.flatnonzero(gain > tolerance)
        if len(found) and not self.full():
            self.plans[self.count, self.response.slots] = pure
            for group in self.response.groups[found].tolist():
                self.of_group[group].append(self.count)
            self.count += 1
        return float(gain.max())

    def copies(
        self, group: NDArray[np.int32], summary: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return how often each root comes, [r] int64, and the plan of each copy in turn, int32.

        group, summary: [r], opponent infoset of each root (as considered), and whether it is in summary.
        """
        plans = [
            self.of_group[g] if inside else [-1]
            for g, inside in zip(group.tolist(), summary.tolist(), strict=True)
        ]
        counts = np.fromiter((len(p) for p in plans), np.int64, len(plans))
        return counts, np.fromiter((p for row in plans for p in row), np.int32, int(counts.sum()))


def choose_plans(
    subgame: Subgame,
    counts: NDArray[np.int64],
    weights: NDArray[np.float64],
    group: NDArray[np.int32],
    opponent: int,
) -> Subgame:
    """Return a subgame in which the opponent chooses among the copies of each history.

    subgame: each of r histories `counts[i]` >= 1 times in a row, at its roots. weights: [r] float64, of the
    roots of the result. group: [r] int32, the opponent's infoset at each; histories of one infoset have as
    many copies.
    Where there is one copy nothing is chosen: it comes below a chance node of one outcome. The new infosets
    come first; they and their slots have no origin (-1).
    """
    if np.all(counts == 1):
        return subgame
    tree, r = subgame.tree, len(counts)
    chooses = counts > 1
    known, number = np.unique(group[chooses], return_inverse=True)
    g = len(known)
    infoset = np.full(r, -1, np.int32)
    infoset[chooses] = number.reshape(-1)
    first = np.flatnonzero(chooses)[np.unique(number, return_index=True)[1]]
    root_above = np.repeat(np.arange(r), counts)
    top = Top(tree)
    top.level(np.full(r, -1), weights, np.where(chooses, opponent, CHANCE), infoset)
    top.infoset_player, top.infoset_size = [opponent] * g, counts[first].tolist()
    top.roots(root_above, np.ones(tree.n_roots))
    where = np.cumsum(counts) - counts
    return replace(
        subgame,
        tree=graft(top, tree).tree,
        root_of=np.concatenate([np.arange(r), root_above[subgame.root_of]]).astype(np.int32),
        origin=np.concatenate([subgame.origin[where], subgame.origin]),
        grafted=np.concatenate([np.ones(g, bool), subgame.chosen]),
        infoset_origin=np.concatenate([np.full(g, -1), subgame.infoset_origin]).astype(np.int32),
        slot_origin=np.concatenate([np.full(int(counts[first].sum()), -1), subgame.slot_origin]),
        truncated=subgame.truncated + np.int32(r),
    )
