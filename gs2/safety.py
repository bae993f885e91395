"""Safety: mixing a refined strategy with the old one, and a certificate that nothing is lost by it.

The certificate. Let a search change the player's strategy at one infoset and below, and nowhere else. Every
way in which the opponent can notice leads through one of the opponent infosets that share a history with it.
If the opponent's counterfactual best-response value rises at none of them, it rises nowhere above them
either, because best-response values are monotone in the values below: the opponent's best response to the
whole strategy is worth no more than before. All of it can be computed at the infoset from the histories of
those opponent infosets (order-2 knowledge), given the player's strategy elsewhere.

The value of each opponent infoset is convex in the weight of the refined strategy (a maximum of linear
functions of the realization plan), so the weights that certify form an interval that starts at 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gs2.alternative import best_response_node_values, group_values
from gs2.config import SearchConfig
from gs2.context import Profile, SearchContext
from gs2.histories import Considered, weigh_histories
from gs2.path import OpponentPath, opponent_path

__all__ = ["certify", "mix_plans", "splice_slots"]

ROUNDING = 1e-12
"""Gain of the opponent, as a share of the payoff range, that counts as none."""
TIE_BREAK = 0.02
"""Weight of the opponent's values summed as reached, beside its value of the whole game."""
WEIGHTS_TRIED = 7
"""Bisections of the weight, and then golden sections of the certified interval."""


def splice_slots(
    context: SearchContext, player: int, infoset: int, slots: NDArray[np.int64], scope: str
) -> NDArray[np.bool_]:
    """Return which of the slots a search at an infoset replaces, [s] bool.

    scope: "infoset": those of the infoset; "subtree": and of the player's infosets below it; "block": all.
    """
    tree = context.tree
    if scope == "block":
        return np.ones(len(slots), bool)
    start, end = tree.infoset_offset[infoset : infoset + 2]
    inside = (slots >= start) & (slots < end)
    if scope == "infoset":
        return inside
    below = np.zeros(tree.n_slots + 1, bool)  # the last entry answers for "no slot above"
    below[start:end] = True
    of_slot = context.slot_infoset
    parents = context.parent_slot(player)
    mine = np.unique(of_slot[slots])
    for number in mine[mine > infoset]:
        if below[parents[number]]:
            below[tree.infoset_offset[number] : tree.infoset_offset[number + 1]] = True
    return below[slots]


def mix_plans(
    context: SearchContext,
    player: int,
    slots: NDArray[np.int64],
    old: NDArray[np.float64],
    new: NDArray[np.float64],
    weight: float,
) -> NDArray[np.float64]:
    """Return the policy whose realization plan is (1 - weight) of the old one's and weight of the new, [s].

    slots: [s] int64, all slots of some of the player's infosets. old, new: [s] float64, policies on them;
    above these infosets both are taken to play alike.
    """
    order = np.argsort(slots, kind="stable")
    inside = np.full(context.tree.n_slots + 1, -1, np.int64)
    inside[slots[order]] = np.arange(len(slots))
    numbers = context.slot_infoset[slots[order]]
    starts = np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1]]))
    parents = inside[context.parent_slot(player)[numbers[starts]]]
    out = np.empty(len(slots))
    _mix(np.append(starts, len(slots)), parents, old[order], new[order], weight, out)
    mixed = np.empty(len(slots))
    mixed[order] = out
    return mixed


@njit(cache=True)
def _mix(starts, parents, old, new, weight, out):
    plan_old = np.empty(len(old))
    plan_new = np.empty(len(old))
    for i in range(len(parents)):
        a = (1.0 - weight) * (plan_old[parents[i]] if parents[i] >= 0 else 1.0)
        b = weight * (plan_new[parents[i]] if parents[i] >= 0 else 1.0)
        # plan_old and plan_new stay unweighted, so undo the weights where they are used as reaches.
        for s in range(starts[i], starts[i + 1]):
            plan_old[s] = old[s] * (plan_old[parents[i]] if parents[i] >= 0 else 1.0)
            plan_new[s] = new[s] * (plan_new[parents[i]] if parents[i] >= 0 else 1.0)
            out[s] = (a * old[s] + b * new[s]) / (a + b) if a + b > 0 else new[s]


@dataclass(frozen=True, eq=False)
class Certified:
    """What came through.

    weight: of the refined strategy; 0 means that the old one stands, because no mixture tried is certified.
    slots: [s] int64, those that `config.scope` replaces. probs: [s] float64, their policy.
    considered: all histories of every opponent infoset that can notice the change. before, after: [g]
    float64, what these are worth to the opponent, in payoffs; nan without a certificate.
    """

    weight: float
    slots: NDArray[np.int64]
    probs: NDArray[np.float64]
    considered: Considered
    before: NDArray[np.float64]
    after: NDArray[np.float64]


def cover(
    context: SearchContext, profile: Profile, considered: Considered, slots: NDArray[np.int64]
) -> Considered:
    """Return all histories of every opponent infoset that can notice a change at some slots.

    slots: [s] int64, slots of the searching player at and below the histories considered.
    """
    graph = context.graph(considered.player)
    changed = np.unique(context.slot_infoset[slots])
    own = np.intersect1d(changed, considered.own_infoset)
    top = np.sort(graph.members[considered.player].take(graph.infoset_group[own]).values)
    every = graph.antichain(graph.neighbours(top, (considered.opponent,)), context.tree)
    return weigh_histories(context, profile, top, every, considered.infoset, considered.player)


def certify(
    context: SearchContext,
    profile: Profile,
    infoset: int,
    considered: Considered,
    slots: NDArray[np.int64],
    probs: NDArray[np.float64],
    config: SearchConfig,
    solved: NDArray[np.float64],
) -> Certified:
    """Return the refined strategy after anchoring and certification.

    Of the slots only those that `config.scope` replaces come back. Weight 0 means that the old strategy
    stands, because none of the mixtures tried is certified.
    """
    inside = splice_slots(context, considered.player, infoset, slots, config.scope)
    slots, new = slots[inside], probs[inside]
    old = profile.policy[slots]
    unknown = np.full(len(considered.alternative), np.nan)
    if config.certificate == "none":
        if config.anchor == 1:
            return Certified(1.0, slots, new, considered, considered.alternative, solved)
        mixed = mix_plans(context, considered.player, slots, old, new, config.anchor)
        return Certified(config.anchor, slots, mixed, considered, unknown, unknown)

    if config.scope == "block":
        considered = cover(context, profile, considered, slots)
    cut = context.cutter.cut(considered.nodes, considered.reach)
    at = np.full(context.tree.n_slots, -1, np.int64)
    at[cut.slot_origin] = np.arange(len(cut.slot_origin))
    present = at[slots] >= 0
    base = profile.policy[cut.slot_origin]
    mass = np.bincount(considered.group, considered.reach)
    low, high = context.game.payoff_range
    path: OpponentPath | None = None

    def attempt(weight: float) -> Attempt:
        mixed = mix_plans(context, considered.player, slots, old, new, weight)
        policy = base.copy()
        policy[at[slots[present]]] = mixed[present]
        values, _ = best_response_node_values(cut.tree, policy, considered.opponent)
        rooted = group_values(values[: len(considered.nodes)], considered.reach, considered.group)
        return Attempt(weight, mixed, rooted, float(mass @ rooted), path.root_value(rooted) if path else 0.0)

    before = attempt(0.0)
    slack = ROUNDING * (high - low)
    if config.certificate == "path":
        path = opponent_path(
            context,
            profile,
            considered.opponent,
            considered.nodes,
            considered.group,
            considered.reach,
            before.values,
        )
        before = attempt(0.0)

    def sound(tried: Attempt) -> bool:
        if path is not None:
            return tried.root <= before.root + slack
        return bool(np.all(tried.values <= before.values + slack))

    def cost(tried: Attempt) -> float:
        return tried.root + TIE_BREAK * tried.total

    best = before
    top = attempt(config.anchor)
    if config.certificate == "margin":
        best = top if sound(top) else before
    else:
        best = _best_weight(attempt, sound, cost, before, top)
    return Certified(best.weight, slots, best.mixed, considered, before.values, best.values)


@dataclass(frozen=True, eq=False)
class Attempt:
    """One mixture: its weight, its policy [s], the opponent's values [g], their weighted sum, the root's."""

    weight: float
    mixed: NDArray[np.float64]
    values: NDArray[np.float64]
    total: float
    root: float


def _best_weight(
    attempt: Callable[[float], Attempt],
    sound: Callable[[Attempt], bool],
    cost: Callable[[Attempt], float],
    before: Attempt,
    top: Attempt,
) -> Attempt:
    """Return the cheapest sound mixture up to the weight of `top`; `before` if none is better.

    Costs are convex in the weight and the sound weights an interval from 0, so golden sections within the
    largest sound weight find it.
    """
    best = before
    if not sound(top):
        low, high = before, top
        for _ in range(WEIGHTS_TRIED):
            middle = attempt((low.weight + high.weight) / 2)
            if sound(middle):
                low = middle
            else:
                high = middle
        top = low
    if cost(top) < cost(best):
        best = top
    if top.weight == 0:
        return best
    ratio = (5**0.5 - 1) / 2
    a, b = 0.0, top.weight
    left, right = attempt(b - ratio * (b - a)), attempt(a + ratio * (b - a))
    for _ in range(WEIGHTS_TRIED):
        for tried in (left, right):
            if sound(tried) and cost(tried) < cost(best):
                best = tried
        if cost(left) <= cost(right):
            b, right = right.weight, left
            left = attempt(b - ratio * (b - a))
        else:
            a, left = left.weight, right
            right = attempt(a + ratio * (b - a))
    return best
