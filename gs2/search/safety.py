"""Safety: mixing a refined strategy with the old one, and a certificate that nothing is lost by it.

The certificate. Let a search change the player's strategy at some infosets and below, and nowhere else.
Every way in which the opponent can notice leads through one of the opponent infosets that share a history
with them. If the opponent's counterfactual best-response value rises at none of these, it rises nowhere above
them either, because best-response values are monotone in the values below: the opponent's best response to
the whole strategy is worth no more than before. This holds if what the opponent does below one of these
infosets touches nothing outside of it; `gs2.search.histories.covers` states the lemma and extends the cover
where it must. All of it can be computed at the infoset, from the histories of those opponent infosets
(order-2 knowledge where every turn is noticed), given the player's strategy elsewhere.

Mixtures. The value of an opponent infoset is a maximum of linear functions of the player's realization plan,
so it is convex in the weight of the refined plan: the weights that certify form an interval from 0, and the
best of them is found by bisection and golden sections.

Many searches, one after another or side by side: `gs2.search.successive`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from games.support.kernel import kernel
from gs2.search.certificate import sampled_verdict
from gs2.search.config.stages import SafetyConfig
from gs2.search.context import Search, SearchContext
from gs2.search.gadget.path import OpponentPath, opponent_path
from gs2.search.histories.enumerated import Considered, OpponentResponse, weigh_histories

ROUNDING = 1e-12
"""Gain of the opponent, as a share of the payoff range, that counts as none."""
TIE_BREAK = 0.02
"""Weight of the opponent's values summed as reached, beside its value of the whole game."""
WEIGHTS_TRIED = 7
"""Bisections for the largest weight that certifies, and then golden sections below it."""


@dataclass(frozen=True, eq=False)
class Certified:
    """What the certificate let through.

    weight: of the refined strategy; 0 means that the old one stands, because no mixture tried is certified.
    slots: [s] int64, those that `config.safety.scope` replaces. probs: [s] float64, their policy.
    considered: all histories of every opponent infoset that can notice the change.
    before, after: [g] float64, what these infosets are worth to the opponent, in payoffs; without a
        certificate, or with a statistical one, as the subgame sees it, nan where it does not.
    said: what a statistical certificate found, in words.
    """

    weight: float
    slots: NDArray[np.int64]
    probs: NDArray[np.float64]
    considered: Considered
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    said: str = ""


def splice_slots(
    context: SearchContext, player: int, infoset: int, slots: NDArray[np.int64], scope: str
) -> NDArray[np.bool_]:
    """Return which of the slots a search at an infoset replaces, [s] bool.

    scope: "infoset": those of the infoset; "subtree": and of the player's infosets below it; "block": all.
    """
    if scope == "block":
        return np.ones(len(slots), bool)
    of, inside = context.tree.slot_infoset, {infoset}
    # Infosets are numbered ancestors first, so a parent is settled before its children are looked at.
    for number in np.unique(of[slots]).tolist() if scope == "subtree" else ():
        above = int(context.parent_slot(player)[number])
        if above >= 0 and int(of[above]) in inside:
            inside.add(number)
    return np.isin(of[slots], list(inside))


class PlanMixer:
    """Mixes two policies on some of a player's infosets as realization plans.

    slots: [s] int64, all slots of these infosets. Above them both policies are taken to play alike.
    old, new: [s] float64, the policies there.
    """

    def __init__(
        self,
        context: SearchContext,
        player: int,
        slots: NDArray[np.int64],
        old: NDArray[np.float64],
        new: NDArray[np.float64],
    ) -> None:
        self.slots, self.old, self.new = slots, old, new
        self._order = np.argsort(slots, kind="stable")
        ranked = slots[self._order]
        numbers = context.tree.slot_infoset[ranked]
        starts = np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1]]))
        above = context.parent_slot(player)[numbers[starts]]
        at = np.minimum(np.searchsorted(ranked, above), len(ranked) - 1)
        self._parents = np.where(ranked[at] == above, at, -1)
        self._starts = np.append(starts, len(slots))

    def mix(self, weight: float) -> NDArray[np.float64]:
        """Return the policy of (1 - weight) of the old plan and weight of the new, [s] float64."""
        mixed = np.empty(len(self.old))
        _mix(self._starts, self._parents, self._order, self.old, self.new, weight, mixed)
        return mixed


@kernel(lazy=True)
def _mix(
    starts: NDArray[np.int64],
    parents: NDArray[np.int64],
    order: NDArray[np.int64],
    old: NDArray[np.float64],
    new: NDArray[np.float64],
    weight: float,
    mixed: NDArray[np.float64],
) -> None:
    # Shares of both plans in what leads to a slot, not the plans, which underflow on long ways.
    share_old = np.empty(len(old))
    share_new = np.empty(len(old))
    for i in range(len(parents)):
        a = share_old[parents[i]] if parents[i] >= 0 else 1.0 - weight
        b = share_new[parents[i]] if parents[i] >= 0 else weight
        for s in range(starts[i], starts[i + 1]):
            at = order[s]
            mixed[at] = a * old[at] + b * new[at]
            share_old[s] = a * old[at] / mixed[at] if mixed[at] > 0 else 0.0
            share_new[s] = b * new[at] / mixed[at] if mixed[at] > 0 else 1.0


def cover(search: Search, considered: Considered, slots: NDArray[np.int64]) -> Considered:
    """Return all histories of every opponent infoset that can notice a change at some slots.

    slots: [s] int64, slots of the searching player at and below the histories considered.
    """
    graph = search.context.graph(considered.player)
    covers = search.context.covers(considered.player)
    changed = np.unique(search.context.tree.slot_infoset[slots])
    if covers.turns_are_noticed:
        # What lies deeper lies below one of these.
        changed = np.intersect1d(changed, considered.own_infoset)
    top = np.sort(graph.members[considered.player].take(graph.infoset_group[changed]).values)
    every = graph.neighbours(top, (considered.opponent,))
    return weigh_histories(search, covers.make(considered.infoset, top, every), considered.infoset)


@dataclass(frozen=True, eq=False)
class Proposal:
    """What the solution of a subgame proposes to the searching player.

    slots, probs: [s] int64 and float64, everything that was solved. solved: [g] float64, what the opponent
        infosets considered are worth against it as the subgame sees it; nan outside the subgame.
    nodes, decisions, infosets: size of the subgame with its gadget. iterations: run by the solver.
    gap: exploitability of the solution within the gadget, in payoffs.
    complete: whether the opponent's replies that a summary left out gain it nothing.
    """

    slots: NDArray[np.int64]
    probs: NDArray[np.float64]
    solved: NDArray[np.float64]
    nodes: int
    decisions: int
    infosets: int
    iterations: int
    gap: float
    complete: bool = True


def certify(search: Search, considered: Considered, proposal: Proposal) -> Certified:
    """Return the refined strategy after anchoring and certification.

    After the deadline of the search's options no further mixture is tried; the opponent is held down to their
    `start`, if there is one, in place of the present strategy.
    """
    context, strategy, config = search.context, search.strategy, search.config
    player, infoset, solved = considered.player, considered.infoset, proposal.solved
    inside = splice_slots(context, player, infoset, proposal.slots, config.safety.scope)
    slots, new = proposal.slots[inside], proposal.probs[inside]
    change = PlanMixer(context, player, slots, strategy.probs[slots], new)
    if config.safety.certificate == "none":
        mixed = new if config.safety.anchor == 1 else change.mix(config.safety.anchor)
        return Certified(config.safety.anchor, slots, mixed, considered, considered.alternative, solved)
    if config.safety.certificate == "statistical":
        verdict = sampled_verdict(search, strategy.with_changes(slots, new), considered)
        weight = config.safety.anchor if verdict.kept else 0.0
        mixed = change.mix(weight) if weight else change.old
        return Certified(weight, slots, mixed, considered, considered.alternative, solved, verdict.text())
    if config.safety.scope == "block" and config.subgame.rest != "summary":
        considered = cover(search, considered, slots)
    response = OpponentResponse(search, considered, np.arange(len(considered.nodes)))
    present, places = response.places(change.slots)
    mass = np.bincount(considered.group, considered.reach)
    path: OpponentPath | None = None

    def attempt(weight: float) -> Attempt:
        mixed = change.mix(weight) if weight else change.old
        rooted, _ = response.respond(places, mixed[present])
        root = path.root_value(rooted) if path is not None else 0.0
        return Attempt(weight, mixed, rooted, root + TIE_BREAK * float(mass @ rooted), root)

    before = attempt(0.0)
    if config.safety.certificate == "path":
        there = considered.nodes, considered.group, considered.reach, before.values
        path = opponent_path(context, strategy, considered.opponent, *there)
        before = attempt(0.0)
    slack = ROUNDING * (context.game.payoff_range[1] - context.game.payoff_range[0])
    most, start = before.values, search.options.start
    if start is not None:
        most = np.maximum(most, response.respond_to(start.probs))

    def sound(tried: Attempt) -> bool:
        if config.safety.certificate == "path":
            return tried.root <= before.root + slack
        return bool(np.all(tried.values <= most + slack))

    best = best_attempt(attempt, sound, before, config.safety, search.options.deadline)
    if config.safety.certificate == "shared" and best.weight > 0:
        best = attempt(best.weight / _most_sharers(context, considered))
    if config.safety.shrink < 1 and best.weight > 0:
        best = attempt(best.weight * config.safety.shrink)
    return Certified(best.weight, slots, best.mixed, considered, before.values, best.values)


def _most_sharers(context: SearchContext, considered: Considered) -> int:
    """Return how many searches of one level may change what a certificate goes by."""
    player = considered.player
    if not context.covers(player).turns_are_noticed:
        level, mine = context.infoset_level, context.tree.infoset_player == player
        return int(np.count_nonzero(mine & (level == level[considered.infoset])))
    pairs = np.unique(np.stack([considered.group, considered.own_infoset]), axis=1)
    return int(np.bincount(pairs[0]).max())


@dataclass(frozen=True, eq=False)
class Attempt:
    """One mixture: its weight, its policy [s], the opponent's values [g], their cost, the root's value."""

    weight: float
    mixed: NDArray[np.float64]
    values: NDArray[np.float64]
    cost: float
    root: float = 0.0


def best_attempt(
    attempt: Callable[[float], Attempt],
    sound: Callable[[Attempt], bool],
    before: Attempt,
    config: SafetyConfig,
    deadline: float | None,
) -> Attempt:
    """Return the cheapest sound mixture up to the configured weight; `before` if none is better.

    config: with `margin` that weight alone is tried. deadline: an instant after which nothing more is tried.
    """
    top = attempt(config.anchor)
    if config.certificate == "margin":
        return top if sound(top) else before

    def out_of_time() -> bool:
        return deadline is not None and time.perf_counter() >= deadline

    best = before
    if not sound(top):
        low, high = before, top
        for _ in range(WEIGHTS_TRIED):
            if out_of_time():
                break
            middle = attempt((low.weight + high.weight) / 2)
            if sound(middle):
                low = middle
            else:
                high = middle
        top = low
    if top.cost < best.cost:
        best = top
    if top.weight == 0 or out_of_time():
        return best
    ratio = (5**0.5 - 1) / 2
    a, b = 0.0, top.weight
    left, right = attempt(b - ratio * (b - a)), attempt(a + ratio * (b - a))
    for _ in range(WEIGHTS_TRIED):
        for tried in (left, right):
            if tried.cost < best.cost and sound(tried):
                best = tried
        if out_of_time():
            break
        if left.cost <= right.cost:
            b, right = right.weight, left
            left = attempt(b - ratio * (b - a))
        else:
            a, left = left.weight, right
            right = attempt(a + ratio * (b - a))
    return best
