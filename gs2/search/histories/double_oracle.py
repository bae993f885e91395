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
from gs2.search.context import SearchContext
from gs2.search.histories.enumerated import Considered
from gs2.search.strategy import Strategy
from gs2.search.subgame.alternative import best_responses, group_values
from gs2.search.subgame.cut import Subgame

__all__ = ["OpponentResponse", "Summary", "choose_plans"]


class OpponentResponse:
    """The opponent's counterfactual best response from some histories on, to any strategy of the player."""

    def __init__(
        self, context: SearchContext, strategy: Strategy, considered: Considered, rows: NDArray[np.int64]
    ) -> None:
        """Take rows of the histories considered, rising: all of every opponent infoset that they touch."""
        self._opponent = considered.opponent
        self._cut = context.cutter.cut(considered.nodes[rows], considered.reach[rows])
        self._base = strategy.probs[self._cut.slot_origin]
        self._order = np.argsort(self._cut.slot_origin)
        self._ranked = self._cut.slot_origin[self._order]
        self._reach = considered.reach[rows]
        self.groups, number = np.unique(considered.group[rows], return_inverse=True)
        self._group = number.reshape(-1).astype(np.int32)
        tree = self._cut.tree
        self._theirs = tree.slot_player == self._opponent

    @property
    def slots(self) -> NDArray[np.int64]:
        """Slots of the full tree at which `respond` gives a plan, [s] int64."""
        slots: NDArray[np.int64] = self._cut.slot_origin[self._theirs]
        return slots

    def places(self, slots: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (which of the slots can be met here, where): two [n] int64."""
        at = np.minimum(np.searchsorted(self._ranked, slots), len(self._ranked) - 1)
        present = np.flatnonzero(self._ranked[at] == slots)
        return present, self._order[at[present]]

    def respond(
        self, places: NDArray[np.int64], probs: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return (value of each of `groups` to the opponent, [g]; its pure response on `slots`, [s]).

        places, probs: [n], where the player's strategy differs from the one held at construction.
        """
        policy = self._base
        if len(places):
            policy = policy.copy()
            policy[places] = probs
        return self._values(policy)

    def respond_to(self, policy: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the value of each of `groups` to the opponent, [g], against a policy of the full tree."""
        return self._values(policy[self._cut.slot_origin])[0]

    def _values(self, policy: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        values, _, pure = best_responses(self._cut.tree, policy, self._opponent)
        rooted = group_values(values[: len(self._reach)], self._reach, self._group)
        return rooted, pure[self._theirs]


class Summary:
    """The plans of the opponent at the histories kept in summary; g opponent infosets in all.

    plans: [n, slots] float64, of the full tree; only the slots below these histories are ever set.
    of_group: for each opponent infoset considered, the plans it chooses among.
    """

    def __init__(
        self,
        context: SearchContext,
        strategy: Strategy,
        considered: Considered,
        rows: NDArray[np.int64],
        most: int,
    ) -> None:
        """Start with the best response to the strategy in `strategy`.

        rows: rows of the histories kept in summary, rising. most: plans that may ever be held.
        """
        self.plans = context.plan_buffer(most)
        self.count = 1
        self.response = OpponentResponse(context, strategy, considered, rows)
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
    tree = subgame.tree
    r, copies = len(counts), tree.n_roots
    chooses = counts > 1
    known, number = np.unique(group[chooses], return_inverse=True)
    g = len(known)
    infoset = np.full(r, -1, np.int32)
    infoset[chooses] = number.reshape(-1)
    first = np.flatnonzero(chooses)[np.unique(number, return_index=True)[1]]
    sizes = np.concatenate([counts[first], np.diff(tree.infoset_offset)])
    root_above = np.repeat(np.arange(r), counts)
    n_children = np.concatenate([counts, tree.n_children]).astype(np.int32)
    node_infoset = np.where(tree.infoset >= 0, tree.infoset + g, -1)
    player = np.where(chooses, opponent, CHANCE)
    none = np.zeros((r, *tree.action.shape[1:]), tree.action.dtype)
    prob = tree.chance_prob.copy()
    prob[:copies] = 1.0
    parent = np.where(tree.parent < 0, -1, tree.parent + r)
    parent[:copies] = root_above
    new = replace(
        tree,
        parent=np.concatenate([np.full(r, -1), parent]).astype(np.int32),
        first_child=(r + np.cumsum(n_children) - n_children).astype(np.int32),
        n_children=n_children,
        player=np.concatenate([player, tree.player]).astype(np.int8),
        infoset=np.concatenate([infoset, node_infoset]).astype(np.int32),
        chance_prob=np.concatenate([weights, prob]),
        level_offsets=np.concatenate([[0], tree.level_offsets + r]),
        terminal=tree.terminal + np.int32(r),
        infoset_player=np.concatenate([np.full(g, opponent), tree.infoset_player]).astype(np.int8),
        infoset_offset=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        infoset_key=np.concatenate([np.zeros((g, tree.infoset_key.shape[1]), np.uint64), tree.infoset_key]),
        action=np.concatenate([none, tree.action]),
    )
    n_slots = int(counts[first].sum())
    where = np.cumsum(counts) - counts
    return replace(
        subgame,
        tree=new,
        root_of=np.concatenate([np.arange(r), root_above[subgame.root_of]]).astype(np.int32),
        origin=np.concatenate([subgame.origin[where], subgame.origin]),
        grafted=np.concatenate([np.ones(g, bool), subgame.chosen]),
        infoset_origin=np.concatenate([np.full(g, -1), subgame.infoset_origin]).astype(np.int32),
        slot_origin=np.concatenate([np.full(n_slots, -1), subgame.slot_origin]),
        truncated=subgame.truncated + np.int32(r),
    )
