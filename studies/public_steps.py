"""A step of mirror descent at every infoset of a factored game, on the public tree.

What `gs2.search.pipeline` does at one infoset of a listed game with solver = mirror-descent. A history is a
pair of private states here. Its value is found for all pairs of a public state at once, from the leaves up,
so that the whole game costs two passes over its public tree and a choice of histories an infoset.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint
from cfr.public.policies.public_policy import PublicPolicy
from cfr.public.public_solver import PublicSolver
from cfr.public.tree import PublicTree, past_forced
from games.game import CHANCE, payoff_span
from games.support.array_types import Array
from gs2.play.agent_names import load_game_blueprint
from gs2.search.config.search import SearchConfig
from gs2.search.gadget.path import LIVE
from gs2.search.mirror_descent import (
    ANSWERS,
    SLIP,
    TIED,
    KeptValues,
    keep,
    plain_size,
    step_size,
    step_up,
)
from gs2.search.public_source import PublicSearchError, public_states

AT_ONCE = 1 << 13
"""Public states at which a blueprint is asked together."""


def named_strategy(tree: PublicTree, name: str) -> PublicPolicy:
    """Return what a name stands for on a public tree: `uniform`, `cfr:2`, or a blueprint as in `gs2 match`.

    The game is listed where the blueprint needs that, as `dmc:100000` does; seeds are 0.
    """
    word, _, count = name.partition(":")
    solver = PublicSolver(tree, "cfr")
    if word == "cfr":
        solver.run(int(count))
    strategy = PublicPolicy.of(solver)
    return (
        strategy if word in ("cfr", "uniform") else _tabulated(strategy, load_game_blueprint(tree.game, name))
    )


def _tabulated(strategy: PublicPolicy, blueprint: Blueprint) -> PublicPolicy:
    """Return a blueprint's policy on a strategy's tree; the strategy's own where no history is possible."""
    tree, game = strategy.tree, strategy.tree.game
    probs = (strategy.rows[0].copy(), strategy.rows[1].copy())
    for nodes, public in _by_level(tree):
        for seat in (0, 1):
            for start in range(0, len(nodes), AT_ONCE):
                here = np.flatnonzero(tree.player[nodes[start : start + AT_ONCE]] == seat) + start
                if not len(here):
                    continue
                chance = game.deal_weights(public[here])
                chance = chance if seat == 0 else chance.swapaxes(1, 2)
                at, held = np.nonzero(chance.any(axis=2))
                dealt = held, chance[at, held].argmax(axis=1)
                states = game.deal(public[here[at]], *(dealt if seat == 0 else dealt[::-1]))
                actions = game.actions(states)
                found = blueprint.policy(game, states, seat, actions)
                column = np.arange(len(found)) - np.repeat(actions.offsets[:-1], actions.counts)
                first = tree.row[nodes[here[at]]].astype(np.int64)
                probs[seat][first[actions.rows] + column, held[actions.rows]] = found
    return PublicPolicy(tree, probs)


def _by_level(tree: PublicTree) -> Iterator[tuple[NDArray[np.int64], Array]]:
    """Yield the nodes of each depth, [n], and their public states."""
    game = tree.game
    nodes, states = np.zeros(1, np.int64), past_forced(game, game.public_root())
    while len(nodes):
        yield nodes, states
        actions = game.actions(states)
        edges = tree.first_edge[nodes][actions.rows] + np.arange(len(actions.rows))
        child = tree.child[edges - np.repeat(actions.offsets[:-1], actions.counts)]
        on = np.flatnonzero(child >= 0)
        nodes = child[on].astype(np.int64)
        states = past_forced(game, game.step(states, actions.rows[on], actions.values[on]))


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

    @property
    def arrays(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return weight, value and square."""
        return self.weight, self.value, self.square


def _edges(tree: PublicTree, node: int) -> range:
    return range(int(tree.first_edge[node]), int(tree.first_edge[node + 1]))


def pair_values(strategy: PublicPolicy, like: PairValues | None = None) -> PairValues:
    """Return the values of all pairs at all public states: n · n0 · n1 numbers, three times.

    like: values of another strategy on the tree, whose weights by chance are taken; then it is twice.
    """
    tree, shape = strategy.tree, (len(strategy.tree), *strategy.tree.n_private)
    value, square = np.zeros(shape), np.zeros(shape)
    weight = np.empty(shape) if like is None else like.weight
    reach = tuple(np.ones((shape[0], n)) for n in tree.n_private)
    if like is None:
        weight[0] = tree.game.deal_weights(public_states(tree, 0))[0]
    for node in range(len(tree)):
        seat = int(tree.player[node])
        policy = None if seat == CHANCE else strategy.probs(node)
        for number, edge in enumerate(_edges(tree, node)):
            to = int(tree.child[edge])
            if to < 0:
                continue
            if like is None:
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


def _share(strategy: PublicPolicy, node: int, number: int) -> NDArray[np.float64] | float:
    """Return how likely each pair takes an edge, to multiply [n0, n1] with; weights hold chance."""
    seat = int(strategy.tree.player[node])
    if seat == CHANCE:
        return 1.0
    one: NDArray[np.float64] = strategy.probs(node)[:, number]
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


def _alternatives(strategy: PublicPolicy, found: PairValues, opponent: int) -> NDArray[np.float64]:
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
                reach *= strategy.probs(node)[:, number]
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
    strategy: PublicPolicy, config: SearchConfig, rng: np.random.Generator, values: PairValues | None = None
) -> PublicPolicy:
    """Return both players' strategies after a step at every infoset, each from the strategy given.

    With `extragradient` each seat's step is taken against the other's plain step everywhere, and with
    `robust` against its best actions as well. The histories of these answers are drawn by a seed of their
    own. values: `pair_values` of the strategy, where they are known already.
    Raises PublicSearchError for another solver than mirror-descent and for histories that would be drawn.
    """
    if config.solve.solver != "mirror-descent" or config.histories.source == "sampled":
        raise PublicSearchError(
            "step_everywhere: solver must be mirror-descent and no source sampled; got "
            f"{config.solve.solver}, {config.histories.source}; take gs2-s"
        )
    found = pair_values(strategy) if values is None else values
    reached = tuple(found.reach[seat] > LIVE for seat in (0, 1))
    kept = _Kept(strategy, found, config, rng, (reached[0], reached[1]))
    plain, best = None, None
    if config.solve.extragradient:
        plain, best = _answers(strategy, found, config)
    after = []
    for seat in (0, 1):
        answers = [(strategy if plain is None else _with_other(strategy, plain, seat), False)]
        if config.solve.robust and best is not None:
            half = (best.rows[0] + strategy.rows[0]) / 2, (best.rows[1] + strategy.rows[1]) / 2
            answers.append((_with_other(strategy, best, seat), False))
            answers.append((_with_other(strategy, PublicPolicy(strategy.tree, half), seat), True))
        worth: list[NDArray[np.float64]] = []
        sizes: list[NDArray[np.float64]] = []
        for answer, throughout in answers:
            met = found if answer is strategy else pair_values(answer, found)
            against, sized = kept.action_values(seat, met, likelier=throughout, sized=not worth)
            del met  # of a large game there is room for few
            worth.append(against)
            sizes.append(sized)
        after.append(_stepped(strategy, seat, np.stack(worth), sizes[0], reached[seat]))
    return PublicPolicy(strategy.tree, (after[0], after[1]))


def _with_other(strategy: PublicPolicy, other: PublicPolicy, seat: int) -> PublicPolicy:
    """Return a seat's policy of one strategy with its opponent's of another."""
    mine, theirs = strategy.rows[seat], other.rows[1 - seat]
    return PublicPolicy(strategy.tree, (mine, theirs) if seat == 0 else (theirs, mine))


def _answers(
    strategy: PublicPolicy, found: PairValues, config: SearchConfig
) -> tuple[PublicPolicy, PublicPolicy]:
    """Return both seats' plain steps everywhere, and their best actions everywhere, ties split evenly."""
    tree, span = strategy.tree, payoff_span(strategy.tree.game)
    always = tuple(np.ones_like(reach, bool) for reach in found.reach)
    kept = _Kept(strategy, found, config, np.random.default_rng(ANSWERS), (always[0], always[1]))
    plain, best = [], []
    for seat in (0, 1):
        worth, sizes = kept.action_values(seat, found, sized=True)
        plain.append(_stepped(strategy, seat, worth[None], sizes, always[seat]))
        probs = strategy.rows[seat].copy()
        for node in np.flatnonzero(tree.player == seat).tolist():
            rows = slice(int(tree.row[node]), int(tree.row[node]) + len(_edges(tree, node)))
            most = worth[rows] >= worth[rows].max(axis=0) - TIED * span
            probs[rows, : tree.n_private[seat]] = most / most.sum(axis=0)
        best.append(probs)
    return PublicPolicy(tree, (plain[0], plain[1])), PublicPolicy(tree, (best[0], best[1]))


def _stepped(
    strategy: PublicPolicy,
    seat: int,
    worth: NDArray[np.float64],
    sizes: NDArray[np.float64],
    stepping: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Return a seat's policy, [rows, wide], after steps up what its actions are worth to it.

    worth: [answers, rows, private states]. sizes: [n, private states]. stepping: the same, where to step.
    """
    tree = strategy.tree
    probs = strategy.rows[seat].copy()
    for node in np.flatnonzero((tree.player == seat) & stepping.any(axis=1)).tolist():
        lanes = np.flatnonzero(stepping[node])
        first = int(tree.row[node])
        rows = slice(first, first + len(_edges(tree, node)))
        values = worth[:, rows, lanes].swapaxes(1, 2)
        new = step_up(values, strategy.probs(node)[lanes], sizes[node, lanes][:, None])
        probs[rows, lanes] = new.T
    return probs


class _Kept:
    """The histories that a search keeps at every infoset of both seats, and what its actions are worth there.

    stepping: for each seat, [n, private states], infosets of which histories are needed.
    """

    def __init__(
        self,
        strategy: PublicPolicy,
        found: PairValues,
        config: SearchConfig,
        rng: np.random.Generator,
        stepping: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    ) -> None:
        self.strategy, self.found, self.config, self.stepping = strategy, found, config, stepping
        self.few: dict[tuple[int, int], tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]]
        self.few = {}
        tree, k = strategy.tree, config.generation.k
        everything = [config.generation.generator == "all" or (k or 0) >= n for n in tree.n_private[::-1]]
        worth = [None if everything[seat] else _alternatives(strategy, found, 1 - seat) for seat in (0, 1)]
        for node in np.flatnonzero(tree.player >= 0).tolist():
            seat = int(tree.player[node])
            values = worth[seat]
            if values is None:
                continue
            chance, theirs = self._seen_by(seat, found.weight[node]), found.reach[1 - seat][node]
            for private in np.flatnonzero(stepping[seat][node] & chance.any(axis=1)).tolist():
                met = np.flatnonzero(chance[private] > 0)
                weight = chance[private, met] * theirs[met]
                weight = weight / weight.sum() if weight.sum() > LIVE else np.full(len(met), 1 / len(met))
                rows, carried, unkept = keep(values[node, met], weight, config.generation, rng)
                self.few[node, private] = met[rows], carried, unkept

    def action_values(
        self, seat: int, met: PairValues, *, likelier: bool = False, sized: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return what a seat's actions are worth to it, [rows, private states], and how far it steps.

        met: values against some answer of the opponent. likelier: whether the histories to which the answer
        leads count for more. sized: whether the sizes are wanted, [n, private states] float64; else empty.
        """
        tree, config = self.strategy.tree, self.config.solve
        span, sign = payoff_span(tree.game), 1.0 if seat == 0 else -1.0
        worth = np.zeros((tree.n_rows[seat], tree.n_private[seat]))
        sizes = np.zeros((len(tree), tree.n_private[seat]) if sized else 0)
        dense: dict[int, NDArray[np.float64]] = {}
        for node in np.flatnonzero(tree.player == seat).tolist():
            chance = self._seen_by(seat, self.found.weight[node])
            after = [_after(tree, node, edge, met.arrays, dense)[0] for edge in _edges(tree, node)]
            paid = sign * np.stack([self._seen_by(seat, one) for one in after], axis=1)
            share = self._shares(seat, node, chance, met if likelier else None)
            share = np.divide(share, chance, out=np.zeros_like(share), where=chance > 0)
            mean = (paid @ share[:, :, None])[:, :, 0]
            first = int(tree.row[node])
            worth[first : first + mean.shape[1]] = mean.T
            if not sized:
                continue
            square, old = self._seen_by(seat, met.square[node]), self.strategy.probs(node)
            variance = (share * square).sum(axis=1) - (mean * old).sum(axis=1) ** 2
            sizes[node] = plain_size(np.sqrt(np.maximum(variance, 0.0)), config, span)
            for private in np.flatnonzero(self.stepping[seat][node]).tolist():
                if (node, private) in self.few:
                    at, carried, unkept = self.few[node, private]
                    by_chance = chance[private, at]
                    values = paid[private][:, at].T / by_chance[:, None]
                    seen = KeptValues(values, square[private, at] / by_chance, carried, unkept)
                    sizes[node, private] = step_size(seen, old[private], config, span)
        return worth, sizes

    def _seen_by(self, seat: int, pairs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return an array of pairs with the seat's private states first."""
        return pairs if seat == 0 else pairs.T

    def _shares(
        self, seat: int, node: int, chance: NDArray[np.float64], answer: PairValues | None
    ) -> NDArray[np.float64]:
        """Return the share of its infoset's reach that each history carries, [private states, theirs].

        answer: of which the histories count by how likely it makes them, up to `SLIP`.
        """
        theirs = self.found.reach[1 - seat][node]
        likely = theirs
        if answer is not None:
            likely = (1 - SLIP) * answer.reach[1 - seat][node] + SLIP * theirs
        possible = chance > 0
        even = possible / np.maximum(possible.sum(axis=1, keepdims=True), 1)
        share = _normalised(chance * likely, _normalised(chance * theirs, even))
        ratio = np.divide(likely, theirs, out=np.ones(len(theirs)), where=theirs > 0)
        for private in np.flatnonzero(self.stepping[seat][node]).tolist():
            at, carried, _ = self.few.get((node, private), (None, None, None))
            if at is None or carried is None:
                continue
            share[private] = 0.0
            weight = carried * ratio[at]
            if len(at) == int(possible[private].sum()):
                weight = chance[private, at] * likely[at]
            share[private, at] = weight / weight.sum() if weight.sum() > LIVE else carried
        return share


def _normalised(weight: NDArray[np.float64], otherwise: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows that add up to 1; another row where one is not live."""
    mass = weight.sum(axis=1, keepdims=True)
    shares: NDArray[np.float64] = np.divide(weight, mass, out=otherwise.copy(), where=mass > LIVE)
    return shares


def mixed_strategies(strategies: Sequence[PublicPolicy]) -> PublicPolicy:
    """Return the strategies that play one of several, each equally often and kept to through a game.

    The mixture of realization plans, as `experiments.refinement.methods` makes it on listed trees.
    """
    tree = strategies[0].tree
    probs = (np.zeros_like(strategies[0].rows[0]), np.zeros_like(strategies[0].rows[1]))
    for seat in (0, 1):
        reach = np.ones((len(strategies), len(tree), tree.n_private[seat]))
        for node in range(len(tree)):
            mine = int(tree.player[node]) == seat
            policies = [one.probs(node) for one in strategies] if mine else []
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
    return PublicPolicy(tree, probs)
