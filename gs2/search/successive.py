"""Successive searches: when their certificates add up, and what the next one takes over.

One after another, each certified with what the one before left, searches add up as they are. Those of one
level of the game may hold the opponent down to its values before the first of them, in place of those that
the last one left (`SearchOptions.start`): once all are done nothing at the level rose, and what one gained
another may spend where it buys more.

Lemma ("shared"). Let the searches of one level start from one strategy, and each change it only at an
infoset of that level and below. Let n be the most searches of the level that may change something below one
of the opponent infosets by which a search is certified. If each takes 1 / n of a weight that certifies, the
opponent's best response to all changes together is worth no more than before.
Proof: no infoset of a level lies above another, so no two searches change the same infoset, and none changes
the player's reach of another's. The joint realization plan is therefore x + Σ wⱼ (xⱼ - x). Here xⱼ is the
plan with the certified change of search j alone, and wⱼ its share. Below an opponent infoset g only searches
that may change something there appear in the sum. Their shares add up to at most 1: each is at most 1 over
their number. So the joint plan below g is a mean of plans that do not raise g's value, one of them the plan
before. Values are convex in the plan, so g's does not rise, and by the lemma of covers nor does the game's.
Where the opponent notices every turn of the player, searches have their opponent infosets in common, and n is
the most infosets of the player that meet in one. Elsewhere their groups overlap unequally; n is then the
number of the level's infosets, and the proof is that for one group, the whole game.

The lemma ends there. A search above another multiplies the reach of what that one changes, and the product of
two harmless changes can do harm at any weight. So searches that start from the blueprint at every level
("independent") cannot be certified apart. Nor can blocks: where two overlap, one infoset keeps what one of
them made and the next what the other did, which is a mean of neither.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cfr.best_response import CounterfactualValues
from cfr.tree import FlatTree
from gs2.search.context import SearchContext, Strategy
from gs2.search.safety import Certified


def with_certified(
    context: SearchContext,
    strategy: Strategy,
    slots: NDArray[np.int64],
    probs: NDArray[np.float64],
    certified: Certified | None,
) -> Strategy:
    """Return the strategy after what a search found was taken over.

    slots, probs: [s], what the search changes. certified: what it knows of the effect.
    Where the opponent notices every turn, what its infosets are worth is brought up to date, if it is known,
    by what the certificate found; so later searches of the same level need not derive it anew. Where the
    player never leads there, nothing changes for the opponent.
    """
    if certified is None:
        return strategy.with_changes(slots, probs)
    considered = certified.considered
    opponent = considered.opponent
    best = strategy.known_opponent_values(opponent)
    if best is None or not context.covers(considered.player).turns_are_noticed:
        return strategy.with_changes(slots, probs)
    known = np.isfinite(certified.after)
    mass = np.bincount(considered.group, considered.reach)
    first = np.searchsorted(considered.group, np.arange(len(mass)))
    last = context.own_slot(opponent)[considered.nodes[first]]
    gain = np.zeros(len(mass)) if considered.off_path else mass * (certified.after - certified.before)
    until, parents = strategy.first_below(slots), context.parent_slot(opponent)
    above = _after_gains(context.tree, best, parents, last[known], gain[known], until)
    return strategy.with_changes(slots, probs, {opponent: above})


def _after_gains(
    tree: FlatTree,
    best: CounterfactualValues,
    parents: NDArray[np.int64],
    slots: NDArray[np.int64],
    gains: NDArray[np.float64],
    until: int,
) -> CounterfactualValues:
    """Return best-response values after what follows some slots of their seat became worth more.

    parents: [I] int64, the seat's own slot before each of its infosets, -1 for none.
    slots: [n] int64, -1 for the start of the game. gains: [n] float64, weighted by the others' reach.
    Values above are brought up to date, values below are not: they hold above nodes before `until`.
    """
    infoset_value, slot_value, root = best.infoset.copy(), best.slot.copy(), best.root
    waiting: dict[int, float] = {}
    for slot, gain in zip(slots.tolist(), gains.tolist(), strict=True):
        waiting[slot] = waiting.get(slot, 0.0) + gain
    # Infosets are numbered ancestors first, so the highest slot has nothing waiting below it.
    while waiting:
        slot = max(waiting)
        gain = waiting.pop(slot)
        if gain == 0.0:
            continue
        if slot < 0:
            root += gain
            continue
        slot_value[slot] += gain
        infoset = int(tree.slot_infoset[slot])
        # Other slots of the same infoset may wait too; take them together.
        start, end = tree.infoset_offset[infoset : infoset + 2]
        for other in range(start, end):
            slot_value[other] += waiting.pop(other, 0.0)
        now = float(slot_value[start:end].max())
        above = int(parents[infoset])
        waiting[above] = waiting.get(above, 0.0) + now - infoset_value[infoset]
        infoset_value[infoset] = now
    known = until if best.until is None else min(best.until, until)
    return CounterfactualValues(best.player, infoset_value, slot_value, best.reach, root, known)
