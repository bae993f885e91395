"""One step of mirror descent at an infoset, from all or a weighted few of its histories."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.tree import FlatTree
from cfr.values import node_values
from games.game import TERMINAL, payoff_span
from games.ragged import ranges
from gs2.search.config.stages import GenerationConfig, SolveConfig
from gs2.search.context import Log, Search, SearchContext, Strategy
from gs2.search.gadget.path import LIVE
from gs2.search.generation import generate
from gs2.search.histories.enumerated import NOTHING, Considered, Kept, after_each, belief, histories_of

ANSWERS = 0xA25
"""Seed of the histories from which opponents answer a step."""
PRIOR = 0.3
"""Standard deviation that advantages are taken to have over histories before any is seen, as a share of the
payoff's: a few histories that agree are no proof. Of 0 and 0.3: docs/measurements/generation.md."""
LEAST_DEVIATION = 0.01
"""Least deviation of payoffs that a step reckons with, as a share of the payoff range: where strategies never
hesitate, nothing deviates."""

SLIP = 0.02
"""How far a robust step takes the histories to be those of the strategy still, whatever an opponent does."""
TIED = 1e-10
"""Actions whose values differ by less, as a share of the payoff range, are equally good to an opponent."""
LEAST_PROBABILITY = 1e-6
"""What a step takes a probability of zero for, so that an action can come alive."""
PARTS = 10
"""Parts of a mixture of answers."""
ROUNDING = 1e-9
"""Share of a history's weight below which nothing was left out for it."""


def keep(
    alternative: NDArray[np.float64],
    weight: NDArray[np.float64],
    config: GenerationConfig,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the histories of an infoset that a generator keeps, and `KeptValues.carried` and `unkept`, [n].

    They come by rising value to the opponent. alternative: [m] float64, that value at each history. weight:
    [m] float64, the share of the infoset's reach that each has. All are kept as they come by the generator
    "all".
    """
    if config.generator == "all":
        return np.arange(len(weight)), weight, np.zeros(len(weight))
    assert config.k is not None  # SearchConfig requires it with a generator that chooses
    chosen, carried = generate(config.generator, alternative, weight, config.k, rng)
    by_value = np.argsort(alternative[chosen], kind="stable")
    rows, carried = chosen[by_value], carried[by_value]
    if not carried.sum() > LIVE:
        carried = np.ones(len(rows))
    carried = carried / carried.sum()
    unkept = 1 - np.divide(weight[rows], carried, out=np.ones(len(rows)), where=carried > 0)
    return rows, carried, np.where(unkept > ROUNDING, unkept, 0.0)


@dataclass(frozen=True, eq=False)
class KeptValues:
    """What n histories kept of an infoset say of its actions.

    values: [n, a] float64, payoff to the player of each action at each history when everyone goes on as
        before, by rising value to the opponent. squares: [n] float64, expected squared payoff at each.
    carried: [n] float64, share of the infoset's reach that each carries; they add up to 1.
    unkept: [n] float64, how much of that belongs to histories left out, in [0, 1].
    """

    values: NDArray[np.float64]
    squares: NDArray[np.float64]
    carried: NDArray[np.float64]
    unkept: NDArray[np.float64]

    @property
    def mean(self) -> NDArray[np.float64]:
        """Return the action values, [a] float64; without bias if the histories are a weighted sample."""
        found: NDArray[np.float64] = self.carried @ self.values
        return found

    def deviation(self, policy: NDArray[np.float64]) -> float:
        """Return the standard deviation of the payoff from the infoset on. policy: [a] float64."""
        variance = float(self.carried @ self.squares - (self.mean @ policy) ** 2)
        return float(np.sqrt(max(variance, 0.0)))

    def noise_share(self, policy: NDArray[np.float64], deviation: float) -> float:
        """Return the squared error of the actions' advantages over their square, both weighed by the policy.

        An action's error counts a history as a draw from its stratum, whose variance is that between
        neighbours by value to the opponent, and as much again as `PRIOR` says. 0 if everything was kept.
        """
        variance = self.carried**2 * self.unkept
        if not variance.any():
            return 0.0
        advantage = self.values - (self.values @ policy)[:, None]
        if len(advantage) == 1:
            spread = advantage**2
        else:
            between = np.diff(advantage, axis=0) ** 2 / 2
            spread = np.concatenate([between[:1], (between[1:] + between[:-1]) / 2, between[-1:]])
        noise = float((variance @ spread) @ policy + (PRIOR * deviation) ** 2 * variance.sum())
        signal = float((self.carried @ advantage) ** 2 @ policy)
        return noise / max(signal, np.finfo(float).tiny ** 0.5)


def step_from(
    seen: KeptValues,
    old: NDArray[np.float64],
    config: SolveConfig,
    span: float,
    others: Sequence[NDArray[np.float64]] = (),
) -> NDArray[np.float64]:
    """Return the policy after one step from what some histories say, [a] float64.

    old: [a] float64, the policy now. span: the game's payoff range. others: action values against further
    answers of the opponent, [a] float64 each, of which the step must gain against the worst. The first
    answer's deviation and noise set the price.
    """
    step = step_size(seen, old, config, span)
    return step_up(np.stack([seen.mean, *others]), old, step)


def step_size(seen: KeptValues, old: NDArray[np.float64], config: SolveConfig, span: float) -> float:
    """Return the size of the step from what some histories say, in inverse payoffs."""
    deviation = seen.deviation(old)
    step = plain_size(deviation, config, span)
    if config.caution > 0:
        step /= 1 + config.caution * seen.noise_share(old, max(deviation, LEAST_DEVIATION * span))
    return float(step)


def plain_size(
    deviation: float | NDArray[np.float64], config: SolveConfig, span: float
) -> NDArray[np.float64]:
    """Return the size of a step from values without noise, in inverse payoffs, of the deviation's shape."""
    unit = deviation if config.unit == "deviation" else np.full_like(deviation, span)
    size: NDArray[np.float64] = config.step / np.maximum(unit, LEAST_DEVIATION * span)
    return size


def step_up(
    values: NDArray[np.float64], old: NDArray[np.float64], step: float | NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the policies after the steps whose least gain against n answers is largest, of old's shape.

    Gains are over `old`, less the price of leaving it. By duality a step is the plain one up a mixture of the
    action values, the mixture against which it would gain least; here the best of a grid of `PARTS`.

    values: [n, a] float64, action values against each answer, or [n, m, a] at m infosets. old: [a] or [m, a]
    float64. step: η > 0, or [m, 1].
    """
    if len(values) == 1:
        return mirror_descent_step(old, values[0], step=step)
    gains = np.tensordot(mixtures(len(values)), values - (values * old).sum(axis=-1, keepdims=True), 1)
    logits = np.log(np.maximum(old, LEAST_PROBABILITY)) + step * gains
    most = logits.max(axis=-1, keepdims=True)
    worth = most + np.log(np.exp(logits - most).sum(axis=-1, keepdims=True))
    worst = np.take_along_axis(gains, worth.argmin(axis=0)[None], axis=0)[0]
    return mirror_descent_step(old, worst, step=step)


@cache
def mixtures(n: int) -> NDArray[np.float64]:
    """Return the mixtures of n things by `PARTS` parts, [m, n] float64; the first is the first thing."""
    parts = [one for one in itertools.product(range(PARTS + 1), repeat=n - 1) if sum(one) <= PARTS]
    found: NDArray[np.float64] = np.array([(PARTS - sum(one), *one) for one in parts]) / PARTS
    return found


def mirror_descent_step(
    policy: NDArray[np.float64], q: NDArray[np.float64], *, step: float | NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the policy after one step up the action values, [a] float64, or [n, a] at n infosets at once.

    policy: [a] float64, the policy now; a small floor keeps actions of probability zero alive.
    q: [a] float64, action values. step: step size η > 0, in inverse units of q; [n, 1] of n infosets.
    Source: Sokota et al. 2023, without a magnet: π' ∝ π · e^(ηq).
    """
    logits = np.log(np.maximum(policy, LEAST_PROBABILITY)) + step * q
    weights: NDArray[np.float64] = np.exp(logits - logits.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights


def _valued(
    strategy: Strategy,
    nodes: NDArray[np.int32],
    carried: NDArray[np.float64],
    unkept: NDArray[np.float64],
) -> KeptValues:
    """Return what the actions are worth at histories of one infoset when everyone goes on by the strategy."""
    tree = strategy.tree
    squares = strategy.kept("squares", lambda: node_values(tree, strategy.raw, tree.returns**2))
    return KeptValues(after_each(strategy, nodes), squares[nodes, tree.player[nodes[0]]], carried, unkept)


def keep_few(
    search: Search, considered: Considered, rng: np.random.Generator
) -> tuple[Kept, KeptValues, NDArray[np.int32]]:
    """Return the histories of the infoset that the generator keeps, what they say of actions, and where.

    A step from all histories keeps none of them for a subgame.
    """
    nodes = histories_of(search.context, considered.infoset)
    weight = belief(search.strategy, nodes, considered.player)
    here = _rows_of(search.context, nodes, considered)
    alternative = considered.alternative[considered.group[here]]
    rows, carried, unkept = keep(alternative, weight, search.config.generation, rng)
    kept, none, nodes = NOTHING, np.zeros(len(rows), bool), nodes[rows]
    if search.config.generation.generator != "all":
        kept = Kept(here[rows], none, none, here[np.sort(rows)])
    return kept, _valued(_answered(search, nodes), nodes, carried, unkept), nodes


def _against_others(
    search: Search, nodes: NDArray[np.int32], carried: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """Return the action values against the answers that a robust step meets beside the first, [a] each.

    nodes, carried: histories of the infoset, and the share of its reach that each carries.
    """
    context, strategy, tree = search.context, search.strategy, search.context.tree
    seat = 1 - int(tree.player[nodes[0]])
    below = _infosets_below(tree, nodes, seat)
    met = np.union1d(below, _infosets_above(tree, nodes, seat))
    found = []
    for share, infosets in ((1.0, below), (0.5, met)):
        key = "best", share, search.config.generation, seat
        answered = _with_answers(strategy, key, infosets, partial(_best, search, share))
        weight = carried
        if share < 1.0:
            before, after = (one.reach_at(nodes) for one in (strategy, answered))
            likely = before.chance * before.players[:, seat]
            # A part of a game does not hold what the opponent did before, which may have been anything.
            otherwise = after.chance * (after.players[:, seat] if strategy.above is None else 1.0)
            likelier = (1 - SLIP) * otherwise + SLIP * likely
            everything = len(nodes) == len(histories_of(context, int(tree.infoset[nodes[0]])))
            ratio = np.divide(likelier, likely, out=np.ones(len(nodes)), where=likely > 0)
            weight = likelier if everything else carried * ratio
            weight = weight / weight.sum() if weight.sum() > LIVE else carried
        found.append(weight @ after_each(answered, nodes))
    return found


def _best(search: Search, share: float, infoset: int) -> NDArray[np.float64]:
    """Return the policy that plays the best actions at an infoset by a share, else the strategy's, [a]."""
    value = _seen_by_answers(search, infoset).mean
    best = value >= value.max() - TIED * payoff_span(search.context.game)
    old = search.strategy.probs[search.context.tree.slots(infoset)]
    found: NDArray[np.float64] = share * best / best.sum() + (1 - share) * old
    return found


def _answered(search: Search, nodes: NDArray[np.int32]) -> Strategy:
    """Return the strategy that a step is taken against: the opponent's as it answers below some histories.

    Its answer at an infoset is a step of its own from the strategy, from as many histories. The histories are
    drawn by the infoset's number, so that all searches of a strategy meet the same answers.
    """
    solve, generation = search.config.solve, search.config.generation
    if not solve.extragradient:
        return search.strategy
    tree, seat = search.context.tree, 1 - int(search.context.tree.player[nodes[0]])
    below = _infosets_below(tree, nodes, seat)
    return _with_answers(search.strategy, (solve, generation, seat), below, partial(_step, search))


def _with_answers(
    strategy: Strategy,
    key: Hashable,
    infosets: NDArray[np.int64],
    answer: Callable[[int], NDArray[np.float64]],
) -> Strategy:
    """Return a strategy with answers to it at some infosets, and at others that were asked for before.

    key: of the answers, which are made once. infosets: rising, [i]. answer: the policy at an infoset.
    """
    offset = strategy.tree.infoset_offset
    made: dict[str, Any] = strategy.kept(
        ("answers", key), lambda: {"known": np.zeros(strategy.tree.n_infosets, bool), "strategy": strategy}
    )
    missing = infosets[~made["known"][infosets]]
    if len(missing):
        policies = np.concatenate([answer(infoset) for infoset in missing.tolist()])
        slots = ranges(offset[missing], np.diff(offset)[missing])
        made["strategy"], made["known"][missing] = made["strategy"].with_changes(slots, policies), True
    answers: Strategy = made["strategy"]
    return answers


def _step(search: Search, infoset: int) -> NDArray[np.float64]:
    """Return the policy after a step at an infoset when everyone goes on by the strategy, [a]."""
    seen, context = _seen_by_answers(search, infoset), search.context
    old = search.strategy.probs[context.tree.slots(infoset)]
    return step_from(seen, old, search.config.solve, payoff_span(context.game))


def _seen_by_answers(search: Search, infoset: int) -> KeptValues:
    """Return what the actions of an opponent that answers are worth when everyone goes on by the strategy."""
    context, strategy, generation = search.context, search.strategy, search.config.generation
    nodes, seat = histories_of(context, infoset), int(context.tree.infoset_player[infoset])
    theirs, rng = strategy.values[nodes, 1 - seat], np.random.default_rng([ANSWERS, infoset])
    rows, carried, unkept = keep(theirs, belief(strategy, nodes, seat), generation, rng)
    return _valued(strategy, nodes[rows], carried, unkept)


def _infosets_above(tree: FlatTree, nodes: NDArray[np.int32], seat: int) -> NDArray[np.int64]:
    """Return the infosets of a seat on the way to some nodes, rising, [i]."""
    found, here = [np.zeros(0, np.int64)], tree.parent[nodes]
    while len(here := here[here >= 0]):
        found.append(tree.infoset[here[tree.player[here] == seat]].astype(np.int64))
        here = tree.parent[here]
    return np.unique(np.concatenate(found))


def _infosets_below(tree: FlatTree, nodes: NDArray[np.int32], seat: int) -> NDArray[np.int64]:
    """Return the infosets of a seat below some nodes, rising, [i]."""
    found, here = [np.zeros(0, np.int64)], nodes.astype(np.int64)
    while len(here):
        here = ranges(tree.first_child[here], tree.n_children[here])
        found.append(tree.infoset[here[tree.player[here] == seat]].astype(np.int64))
        here = here[tree.player[here] != TERMINAL]
    return np.unique(np.concatenate(found))


def _rows_of(context: SearchContext, nodes: NDArray[np.int32], considered: Considered) -> NDArray[np.int64]:
    """Return the row of each history of the infoset among those considered, [n]; 0 where chance never leads.

    Where a later confusion of the opponent's is considered as well, a history stands for those below it.
    """
    order = np.argsort(considered.nodes)
    there = considered.nodes[order]
    at, found = nodes.astype(np.int64), np.zeros(len(nodes), np.int64)
    missing = np.ones(len(nodes), bool)
    while missing.any():
        place = np.minimum(np.searchsorted(there, at), len(there) - 1)
        met = missing & (there[place] == at)
        found[met] = order[place[met]]
        missing &= ~met
        at[missing] = context.tree.parent[at[missing]]
        missing &= at >= 0
    return found


def mirror_descent(
    search: Search, considered: Considered, rng: np.random.Generator, log: Log
) -> tuple[Kept, NDArray[np.float64]]:
    """Return the histories of the infoset that say what to do, and the policy there after a step, [a]."""
    context, strategy, config = search.context, search.strategy, search.config
    old = strategy.probs[context.tree.slots(considered.infoset)]
    kept, seen, nodes = keep_few(search, considered, rng)
    log.lap("generation")
    others = _against_others(search, nodes, seen.carried) if config.solve.robust else ()
    probs = step_from(seen, old, config.solve, payoff_span(context.game), others)
    log.lap("solve")
    return kept, probs
