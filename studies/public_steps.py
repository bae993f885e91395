"""A step of mirror descent at every infoset of a factored game, on the public tree.

What `gs2.search.pipeline` does at one infoset of a listed game with solver = mirror-descent. A history is a
pair of private states here. Its value is found for all pairs of a public state at once, from the leaves up,
so that the whole game costs two passes over its public tree and a choice of histories an infoset.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint
from cfr.public.public_solver import PublicSolver
from cfr.public.tree import PublicTree
from games.game import CHANCE, payoff_span
from gs2.play.agent_names import load_game_blueprint
from gs2.public.pairs import PublicSearchError
from gs2.public.public_strategy import PublicStrategy, public_states
from gs2.search.config.search import SearchConfig
from gs2.search.config.stages import SolveConfig
from gs2.search.gadget.entry import LIVE
from gs2.search.solve.mirror_descent import (
    ANSWERS,
    LEAST_DEVIATION,
    KeptValues,
    keep,
    mirror_descent_step,
    step_from,
)

__all__ = ["PairValues", "mixed_strategies", "named_strategy", "pair_values", "step_everywhere"]


def named_strategy(tree: PublicTree, name: str) -> PublicStrategy:
    """Return what a name stands for on a public tree: `uniform`, `cfr:2`, or a blueprint as in `gs2 match`.

    The game is listed where the blueprint needs that, as `dmc:100000` does; seeds are 0.
    """
    word, _, count = name.partition(":")
    solver = PublicSolver(tree, "cfr")
    if word == "cfr":
        solver.run(int(count))
    strategy = PublicStrategy.average(solver)
    return (
        strategy if word in ("cfr", "uniform") else _tabulated(strategy, load_game_blueprint(tree.game, name))
    )


def _tabulated(strategy: PublicStrategy, blueprint: Blueprint) -> PublicStrategy:
    """Return a blueprint's policy on a strategy's tree; the strategy's own where no history is possible."""
    tree, game = strategy.tree, strategy.tree.game
    probs = (strategy.probs[0].copy(), strategy.probs[1].copy())
    for node in np.flatnonzero(tree.player >= 0).tolist():
        seat, public = int(tree.player[node]), public_states(tree, node)
        chance = game.deal_weights(public)[0]
        chance = chance if seat == 0 else chance.T
        held = np.flatnonzero(chance.any(axis=1))
        dealt = held, chance[held].argmax(axis=1)
        states = game.deal(np.repeat(public, len(held), axis=0), *(dealt if seat == 0 else dealt[::-1]))
        found = blueprint.policy(game, states, seat, game.actions(states)).reshape(len(held), -1)
        first = int(tree.row[node])
        probs[seat][first : first + found.shape[1], held] = found.T
    return PublicStrategy(tree, probs)


@dataclass(frozen=True, eq=False)
class PairValues:
    """What both players' policies are worth at each of n public states, by pairs of private states.

    weight: [n, n0, n1] float64, probability by chance of each pair there. value: the same times the expected
    payoff to player 0; square: times its expected square.
    reach: for each player, [n, its private states] float64, its own part in how it comes there.
    """

    weight: NDArray[np.float64]
    value: NDArray[np.float64]
    square: NDArray[np.float64]
    reach: tuple[NDArray[np.float64], NDArray[np.float64]]


def _edges(tree: PublicTree, node: int) -> range:
    return range(int(tree.first_edge[node]), int(tree.first_edge[node + 1]))


def pair_values(strategy: PublicStrategy) -> PairValues:
    """Return the values of all pairs at all public states: n · n0 · n1 numbers, three times."""
    tree, shape = strategy.tree, (len(strategy.tree), *strategy.tree.n_private)
    weight, value, square = np.empty(shape), np.zeros(shape), np.zeros(shape)
    reach = tuple(np.ones((shape[0], n)) for n in tree.n_private)
    weight[0] = tree.game.deal_weights(public_states(tree, 0))[0]
    for node in range(len(tree)):
        seat = int(tree.player[node])
        policy = None if seat == CHANCE else strategy.at(node)
        for number, edge in enumerate(_edges(tree, node)):
            to = int(tree.child[edge])
            if to < 0:
                continue
            chance = seat == CHANCE
            weight[to] = tree.game.deal_weights(public_states(tree, to))[0] if chance else weight[node]
            for player in (0, 1):
                reach[player][to] = reach[player][node]
            if policy is not None:
                reach[seat][to] *= policy[:, number]
    dense: dict[int, NDArray[np.float64]] = {}
    for node in range(len(tree) - 1, -1, -1):
        for number, edge in enumerate(_edges(tree, node)):
            paid, squared = _after(tree, node, edge, (weight, value, square), dense)
            share = _share(strategy, node, number)
            value[node] += share * paid
            square[node] += share * squared
    return PairValues(weight, value, square, (reach[0], reach[1]))


def _share(strategy: PublicStrategy, node: int, number: int) -> NDArray[np.float64] | float:
    """Return how likely each pair takes an edge, to multiply [n0, n1] with; weights hold chance."""
    seat = int(strategy.tree.player[node])
    if seat == CHANCE:
        return 1.0
    one: NDArray[np.float64] = strategy.at(node)[:, number]
    return one[:, None] if seat == 0 else one[None, :]


def _after(
    tree: PublicTree,
    node: int,
    edge: int,
    arrays: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    dense: dict[int, NDArray[np.float64]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return value and square after an edge, both times chance, [n0, n1] each."""
    weight, value, square = arrays
    to = int(tree.child[edge])
    if to >= 0:
        return value[to], square[to]
    if to not in dense:
        dense[to] = tree.payoffs.dense(-1 - to)
    paid = dense[to]
    # A terminal after a player's move has its public state's weight; one that chance ends is not met.
    return paid, np.divide(paid**2, weight[node], out=np.zeros_like(paid), where=weight[node] > 0)


def _alternatives(strategy: PublicStrategy, found: PairValues, opponent: int) -> NDArray[np.float64]:
    """Return what each private state of the opponent is worth to it at each public state, [n, its states].

    Of its best response to the whole strategy, given how the other comes there; 0 where it never does.
    """
    tree, other = strategy.tree, 1 - opponent
    sign = 1.0 if opponent == 0 else -1.0
    out = np.zeros((len(tree), tree.n_private[opponent]))
    dense: dict[int, NDArray[np.float64]] = {}
    for node in range(len(tree) - 1, -1, -1):
        after = []
        for number, edge in enumerate(_edges(tree, node)):
            to = int(tree.child[edge])
            if to >= 0:
                after.append(out[to])
                continue
            paid = _after(tree, node, edge, (found.weight, found.value, found.square), dense)[0]
            reach = found.reach[other][node].copy()
            if int(tree.player[node]) == other:
                reach *= strategy.at(node)[:, number]
            after.append(sign * (paid @ reach if opponent == 0 else reach @ paid))
        out[node] = np.max(after, axis=0) if int(tree.player[node]) == opponent else np.sum(after, axis=0)
    mass = np.array(
        [
            weight @ reach if opponent == 0 else reach @ weight
            for weight, reach in zip(found.weight, found.reach[other], strict=True)
        ]
    )
    worth: NDArray[np.float64] = np.divide(out, mass, out=np.zeros_like(out), where=mass > LIVE)
    return worth


def step_everywhere(
    strategy: PublicStrategy,
    config: SearchConfig,
    rng: np.random.Generator,
    values: PairValues | None = None,
    *,
    unreached: bool = False,
) -> PublicStrategy:
    """Return both players' strategies after a step at every infoset, each from the strategy given.

    With `extragradient` each seat's step is taken against the other's plain step everywhere, whose histories
    are drawn by a seed of their own. values: `pair_values` of the strategy, where they are known already.
    unreached: whether a step is also taken at infosets to which the player's own strategy never leads.
    Raises PublicSearchError for another solver than mirror-descent, for histories that would be drawn and for
    a robust step, which no public tree takes yet.
    """
    if config.solve.robust:
        raise PublicSearchError("step_everywhere: robust must be false on a public tree; leave it out")
    if config.solve.solver != "mirror-descent" or config.histories.source == "sampled":
        raise PublicSearchError(
            "step_everywhere: solver must be mirror-descent and no source sampled; got "
            f"{config.solve.solver}, {config.histories.source}; take gs2-s"
        )
    tree, span = strategy.tree, payoff_span(strategy.tree.game)
    found = pair_values(strategy) if values is None else values
    probs = (strategy.probs[0].copy(), strategy.probs[1].copy())
    k = config.generation.k
    whole = [config.generation.generator == "all" or (k is not None and n <= k) for n in tree.n_private[::-1]]
    alternatives = [None if whole[seat] else _alternatives(strategy, found, 1 - seat) for seat in (0, 1)]
    dense: dict[int, NDArray[np.float64]] = {}
    against = (found, found)
    if config.solve.extragradient:
        plain, draw = config.replace(extragradient=False), np.random.default_rng(ANSWERS)
        answer = step_everywhere(strategy, plain, draw, found, unreached=True).probs
        against = (
            pair_values(PublicStrategy(tree, (strategy.probs[0], answer[1]))),
            pair_values(PublicStrategy(tree, (answer[0], strategy.probs[1]))),
        )
    for node in np.flatnonzero(tree.player >= 0).tolist():
        seat = int(tree.player[node])
        sign = 1.0 if seat == 0 else -1.0
        met_by = against[seat]
        arrays = met_by.weight, met_by.value, met_by.square
        after = [_after(tree, node, edge, arrays, dense)[0] for edge in _edges(tree, node)]
        paid = sign * np.stack(after, axis=-1)
        chance, square, old = found.weight[node], met_by.square[node], strategy.at(node)
        if seat == 1:
            paid, chance, square = paid.swapaxes(0, 1), chance.T, square.T
        first = int(tree.row[node])
        worth = alternatives[seat]
        theirs = found.reach[1 - seat][node]
        stepping = chance.any(axis=1) & (unreached | (found.reach[seat][node] > LIVE))
        if worth is None:
            new = _step_of_all((paid, square, chance), theirs, old, config.solve, span)
            probs[seat][first : first + new.shape[1], : len(new)][:, stepping] = new[stepping].T
            continue
        for private in np.flatnonzero(stepping).tolist():
            met = np.flatnonzero(chance[private] > 0)
            weight = chance[private, met] * theirs[met]
            weight = weight / weight.sum() if weight.sum() > LIVE else np.full(len(met), 1 / len(met))
            rows, carried, unkept = keep(worth[node, met], weight, config.generation, rng)
            at = met[rows]
            by_chance = chance[private, at]
            seen = KeptValues(
                paid[private, at] / by_chance[:, None], square[private, at] / by_chance, carried, unkept
            )
            new = step_from(seen, old[private], config.solve, span)
            probs[seat][first : first + len(new), private] = new
    return PublicStrategy(tree, probs)


def _step_of_all(
    values: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    theirs: NDArray[np.float64],
    old: NDArray[np.float64],
    config: SolveConfig,
    span: float,
) -> NDArray[np.float64]:
    """Return the policies after a step at m infosets of a public state, every history kept, [m, a] float64.

    What `step_from` does at one: nothing is left out, so that there is no noise. values: what the player is
    paid by action, [m, n, a], and expected squares, [m, n], both times chance, [m, n], the third. theirs: [n]
    float64, the other's reach. old: [m, a] float64. Rows without any history mean nothing.
    """
    paid, square, chance = values
    weight = chance * theirs
    mass, met = weight.sum(axis=1, keepdims=True), chance > 0
    even = met / np.maximum(met.sum(axis=1, keepdims=True), 1)
    weight = np.divide(weight, mass, out=even, where=mass > LIVE)
    share = np.divide(weight, chance, out=np.zeros_like(weight), where=met)
    mean = (share[:, None, :] @ paid)[:, 0]
    variance = (share * square).sum(axis=1) - (mean * old).sum(axis=1) ** 2
    deviation = np.maximum(np.sqrt(np.maximum(variance, 0.0)), LEAST_DEVIATION * span)
    step = config.step / (deviation if config.unit == "deviation" else np.full(len(old), span))
    return mirror_descent_step(old, mean, step=step[:, None], magnet=config.magnet * span)


def mixed_strategies(strategies: Sequence[PublicStrategy]) -> PublicStrategy:
    """Return the strategies that play one of several, each equally often and kept to through a game.

    The mixture of realization plans, as `experiments.refinement.mixture` makes it on listed trees.
    """
    tree = strategies[0].tree
    probs = (np.zeros_like(strategies[0].probs[0]), np.zeros_like(strategies[0].probs[1]))
    for seat in (0, 1):
        reach = np.ones((len(strategies), len(tree), tree.n_private[seat]))
        for node in range(len(tree)):
            mine = int(tree.player[node]) == seat
            policies = [one.at(node) for one in strategies] if mine else []
            for number, edge in enumerate(_edges(tree, node)):
                to = int(tree.child[edge])
                if to >= 0:
                    reach[:, to] = reach[:, node]
                    for row, policy in zip(reach, policies, strict=False):
                        row[to] *= policy[:, number]
            if mine:
                share = reach[:, node]
                total = share.sum(axis=0)
                share = np.divide(share, total, out=np.full_like(share, 1 / len(share)), where=total > 0)
                first = int(tree.row[node])
                for part, policy in zip(share, policies, strict=True):
                    probs[seat][first : first + policy.shape[1], : len(part)] += (part[:, None] * policy).T
    return PublicStrategy(tree, probs)
