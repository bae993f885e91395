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

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gs2.alternative import best_response_node_values, group_values
from gs2.config import SearchConfig
from gs2.context import Profile, SearchContext
from gs2.histories import Considered

__all__ = ["certify", "mix_plans", "splice_slots"]

ROUNDING = 1e-12
"""Gain of the opponent, as a share of the payoff range, that counts as none."""
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


def certify(
    context: SearchContext,
    profile: Profile,
    infoset: int,
    considered: Considered,
    slots: NDArray[np.int64],
    probs: NDArray[np.float64],
    config: SearchConfig,
) -> tuple[float, NDArray[np.int64], NDArray[np.float64]]:
    """Return (weight of the refined strategy, slots, their policy) after anchoring and certification.

    Of the slots only those that `config.scope` replaces come back. Weight 0 means that the old strategy
    stands, because none of the mixtures tried is certified.
    """
    inside = splice_slots(context, considered.player, infoset, slots, config.scope)
    slots, new = slots[inside], probs[inside]
    old = profile.policy[slots]
    if config.certificate == "none":
        if config.anchor == 1:
            return 1.0, slots, new
        return (
            config.anchor,
            slots,
            mix_plans(context, considered.player, slots, old, new, config.anchor),
        )

    cut = context.cutter.cut(considered.nodes, considered.reach)
    at = np.full(context.tree.n_slots, -1, np.int64)
    at[cut.slot_origin] = np.arange(len(cut.slot_origin))
    present = at[slots] >= 0
    base = profile.policy[cut.slot_origin]
    mass = np.bincount(considered.group, considered.reach)
    low, high = context.game.payoff_range

    def opponent_values(weight: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        mixed = mix_plans(context, considered.player, slots, old, new, weight)
        policy = base.copy()
        policy[at[slots[present]]] = mixed[present]
        values, _ = best_response_node_values(cut.tree, policy, considered.opponent)
        rooted = group_values(values[: len(considered.nodes)], considered.reach, considered.group)
        return rooted, mixed

    before, _ = opponent_values(0.0)
    allowed = before + ROUNDING * (high - low)

    def gain(weight: float) -> tuple[bool, float, NDArray[np.float64]]:
        after, mixed = opponent_values(weight)
        return bool(np.all(after <= allowed)), float(mass @ (before - after)), mixed

    top = config.anchor
    good, worth, mixed = gain(top)
    best = (worth, top, mixed) if good else (0.0, 0.0, old)
    if config.certificate == "margin":
        return best[1], slots, best[2]
    if not good:
        low_w, high_w = 0.0, top
        for _ in range(WEIGHTS_TRIED):
            middle = (low_w + high_w) / 2
            good, worth, mixed = gain(middle)
            if good:
                low_w = middle
                if worth > best[0]:
                    best = (worth, middle, mixed)
            else:
                high_w = middle
        top = low_w
    if top > 0:
        best = _golden(gain, top, best)
    return best[1], slots, best[2]


def _golden(gain, top: float, best: tuple[float, float, NDArray]) -> tuple[float, float, NDArray]:
    """Return the best certified weight in [0, top] by golden-section search of the concave gain."""
    ratio = (5**0.5 - 1) / 2
    a, b = 0.0, top
    c, d = b - ratio * (b - a), a + ratio * (b - a)
    tried = {}
    for weight in (c, d):
        tried[weight] = gain(weight)
    for _ in range(WEIGHTS_TRIED):
        if tried[c][1] >= tried[d][1]:
            b, d = d, c
            c = b - ratio * (b - a)
            tried.setdefault(c, gain(c))
        else:
            a, c = c, d
            d = a + ratio * (b - a)
            tried.setdefault(d, gain(d))
    for weight, (good, worth, mixed) in tried.items():
        if good and worth > best[0]:
            best = (worth, weight, mixed)
    return best
