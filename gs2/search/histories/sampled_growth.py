"""What grows below drawn histories: the likeliest branches, and leaves played out in common luck.

Branches are judged by what a blueprint's actions are worth at the infoset, also where it values single
histories.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint, values_histories
from cfr.tree import EnumeratedTree, TreeBudget, TreeRules, grow, require_states
from cfr.tree.memory import SEARCH_BYTES, TooLarge
from games.game import TERMINAL, Game
from games.infosets.two_seats import TwoSeatView
from games.ragged import Ragged
from games.support.configuration import ConfigError
from gs2.search.config.search import SearchConfig
from gs2.search.context import SearchContext, Strategy
from gs2.search.continuation_policies import rollout_play
from gs2.search.histories.enumerated import after_each, belief
from gs2.search.histories.seats import played_by_all
from gs2.search.subgame.cut import root_numbers
from gs2.search.subgame.leaf import CommonDraws, LeafEvaluator, checked_leaf, play_out, value_leaf

MAX_SAMPLED_NODES = 4_000_000
"""Nodes below the histories drawn up to which a subgame is grown."""
ROWS_AT_ONCE = 1 << 16
"""Games played at once, which bounds the memory."""
MOST_MORE = 64
"""Times as many games as configured that are played from each leaf, at most, where histories are few."""


MOST_ASKED = 32
"""Histories of an infoset that a blueprint which values histories is asked about; of more, as many that are
spread over their reach."""
NO_REACH: Mapping[bytes, float] = {}


class HistoriesMet:
    """Histories at which one player acts, by infoset; n of them, at I infosets.

    first: [I] int64, the first history of each infoset. number: [n] int64, the infoset of each history.
    legal: the actions of each infoset.
    """

    def __init__(
        self, game: Game, states: NDArray[Any], player: int, actions: Ragged, keys: NDArray[np.uint64]
    ) -> None:
        """Take the histories, [n], a row of legal actions for each, and their keys, [n, key width]."""
        self.game, self.states, self.player, self.actions, self.keys = game, states, player, actions, keys
        _, first, number = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        self.first, self.number = first.astype(np.int64), number.reshape(-1).astype(np.int64)
        self.legal = actions.take(self.first)


def root_reach(states: NDArray[Any], reach: NDArray[np.float64]) -> dict[bytes, float]:
    """Return how likely each of some histories is, as a share of their mean, by its state's bytes."""
    mean = float(reach.mean()) if len(reach) else 0.0
    shares = reach / mean if mean > 0 else np.ones(len(reach))
    return {state.tobytes(): float(share) for state, share in zip(states, shares, strict=True)}


class InfosetValues:
    """Gives the value of each action at infosets, by a blueprint.

    A blueprint that answers from what the player knows is asked about one history of each infoset. One that
    values histories is asked about those that are met, and the mean by their reach is taken: an action must
    not be judged by what one deal hides. Its answer is the same in whatever order they come, and is kept: an
    infoset that is met again deeper in the tree is worth what it was.
    reach: of histories drawn (`root_reach`); all others count alike.
    """

    def __init__(self, blueprint: Blueprint, reach: Mapping[bytes, float] = NO_REACH) -> None:
        self.blueprint, self._reach = blueprint, reach
        self._known: dict[tuple[int, bytes], NDArray[np.float64]] = {}

    def __call__(self, met: HistoriesMet, wanted: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the value of each action of `met.legal`, [m] float64; 0 at infosets that are not wanted.

        wanted: [I] bool.
        """
        values = np.zeros(len(met.legal.values))
        at = np.flatnonzero(wanted)
        if len(at) == 0:
            return values
        if values_histories(self.blueprint):
            found = np.concatenate(self._means(met, at))
        else:
            states, legal = met.states[met.first[at]], met.legal.take(at)
            found = np.asarray(self.blueprint.q(met.game, states, met.player, legal), np.float64)
        values[wanted[met.legal.rows]] = found
        return values

    def _means(self, met: HistoriesMet, at: NDArray[np.int64]) -> list[NDArray[np.float64]]:
        """Return the mean value of each action at some infosets, [a] float64 each."""
        order = np.argsort(met.number, kind="stable")
        ends = np.cumsum(np.bincount(met.number, minlength=len(met.first)))
        found = []
        for infoset in at.tolist():
            name = met.player, met.keys[met.first[infoset]].tobytes()
            if name not in self._known:
                rows = order[ends[infoset - 1] if infoset else 0 : ends[infoset]]
                self._known[name] = self._mean(met, rows)
            found.append(self._known[name])
        return found

    def _mean(self, met: HistoriesMet, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the mean value of each action over the histories of one infoset, [a] float64."""
        names = [met.states[row].tobytes() for row in rows.tolist()]
        order = sorted(range(len(rows)), key=names.__getitem__)
        weight = np.array([self._reach.get(names[place], 1.0) for place in order])
        chosen, share = _spread(weight if weight.sum() > 0 else np.ones(len(rows)))
        rows = rows[order][chosen]
        q = self.blueprint.q(met.game, met.states[rows], met.player, met.actions.take(rows))
        mean: NDArray[np.float64] = share @ np.asarray(q, np.float64).reshape(len(rows), -1)
        return mean


def _spread(weight: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return at most `MOST_ASKED` of n weighted things, evenly spread over the weights, and their shares."""
    if np.count_nonzero(weight) <= MOST_ASKED:
        rows = np.flatnonzero(weight)
        times = MOST_ASKED // len(rows)
        return np.repeat(rows, times), np.repeat(weight[rows] / (times * weight.sum()), times)
    marks = (np.arange(MOST_ASKED) + 0.5) / MOST_ASKED
    ends = np.cumsum(weight)
    rows, counts = np.unique(np.searchsorted(ends, marks * ends[-1]), return_counts=True)
    return rows, counts / MOST_ASKED


class LikeliestBranches:
    """The rule that keeps the n actions of an infoset which a blueprint plays most often.

    Of actions that it plays equally often, as those that it never plays, the ones of highest Q are kept. A
    rule is for one tree (`InfosetValues`).
    """

    def __init__(
        self,
        blueprint: Blueprint,
        n: int,
        gap: float | None = None,
        reach: Mapping[bytes, float] = NO_REACH,
    ) -> None:
        """Take the blueprint, how many are kept, and by how much their Q may lie below the best.

        reach: of histories drawn, as `root_reach` gives it.
        """
        self.blueprint, self.n, self.gap = blueprint, n, gap
        self._values = InfosetValues(blueprint, reach)

    def __call__(self, game: Game, states: NDArray[Any], player: int, actions: Ragged) -> NDArray[np.bool_]:
        """Return which actions are kept, [m] bool; of those equal in everything the first."""
        if actions.counts.max(initial=0) <= (1 if self.gap is not None else self.n):
            return np.ones(len(actions.values), bool)
        met = HistoriesMet(game, states, player, actions, game.infoset_key(states, player))
        kept = Ragged.from_counts(met.legal.counts, self._best(met))
        found: NDArray[np.bool_] = kept.take(met.number).values
        return found

    def _best(self, met: HistoriesMet) -> NDArray[np.bool_]:
        """Return which actions of each infoset are kept, [m] bool."""
        legal = met.legal
        states, rows, start = met.states[met.first], legal.rows, legal.offsets[:-1]
        prob = np.asarray(self.blueprint.policy(met.game, states, met.player, legal), np.float64)
        if self.gap is not None:
            wanted = legal.counts > 1
        else:  # Q decides where the last that may be kept is as likely as the next
            ranked = prob[np.lexsort((-prob, rows))]
            wanted = legal.counts > self.n
            last = start[wanted] + self.n - 1
            wanted[wanted] = ranked[last] == ranked[last + 1]
        value = self._values(met, wanted)
        order = np.lexsort((-value, -prob, rows))
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order)) - start[rows[order]]
        kept: NDArray[np.bool_] = place < self.n
        if self.gap is not None:
            best = np.maximum.reduceat(value, start)
            kept &= (value >= best[rows] - self.gap) | (place == 0)
        return kept


def kept_actions(
    blueprint: Blueprint, config: SearchConfig, reach: Mapping[bytes, float] = NO_REACH
) -> LikeliestBranches | None:
    """Return the rule that keeps what a configuration says; None where it keeps every action."""
    subgame = config.subgame
    if subgame.branches is None:
        return None
    return LikeliestBranches(blueprint, subgame.branches, subgame.gap, reach)


def grow_sampled(
    game: Game,
    blueprint: Blueprint,
    roots: tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64]],
    config: SearchConfig,
    rng: np.random.Generator,
    leaf: LeafEvaluator | None = None,
) -> tuple[EnumeratedTree, Playouts | None]:
    """Return the tree below some histories, to the depth and with the branches of a configuration.

    With it come the games played from its leaves, if they were. Where there are fewer histories than may be
    drawn, each is played out more often, so that an action is judged by as many games as were asked for.
    roots: histories [r], their weights [r] float64, and how likely chance and the opponent make them, [r]
        float64. leaf: in place of the configured evaluator.
    Raises TooLarge if it does not fit.
    """
    subgame = config.subgame
    branches = kept_actions(blueprint, config, root_reach(roots[0], roots[2]))
    rules = TreeRules(branch_limit=branches)
    played = leaf is None and subgame.leaf == "rollout"
    if subgame.depth is not None:
        ends = _nothing if played else value_leaf(blueprint) if leaf is None else checked_leaf(leaf)
        rules = TreeRules(subgame.depth, ends, _nature_acts, branch_limit=branches)
    budget = TreeBudget(max_nodes=MAX_SAMPLED_NODES, history_bytes=SEARCH_BYTES)
    try:
        tree = grow(game, *roots[:2], rules=rules, budget=budget)
    except TooLarge as error:
        if subgame.depth is not None:
            raise
        raise TooLarge(
            f"{game.name}: method {config.name} solves to the end of the game, and what lies below the "
            f"{len(roots[0])} histories drawn must fit into {MAX_SAMPLED_NODES:,} nodes; it does not; "
            "set depth = 1 with leaf = rollout or value, or take the method gs2"
        ) from error
    if subgame.depth is not None and played:
        times = min(max(1, config.histories.samples // tree.n_roots), MOST_MORE)
        rollouts = max(subgame.rollouts * times, 1 + (tree.n_roots == 1))  # one game says nothing of luck
        greedy = subgame.playing == "greedy"
        return play_out_leaves(game, tree, blueprint, rng, rollouts=rollouts, greedy=greedy)
    return tree, None


def _nature_acts(game: Game, states: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where a seat that plays the blueprint acts, in a game seen from two seats, [n] bool."""
    return game.nature_acts(states) if isinstance(game, TwoSeatView) else np.zeros(len(states), bool)


def _nothing(game: Game, states: NDArray[Any]) -> NDArray[np.float64]:
    return np.zeros((len(states), game.num_players))


def play_out_leaves(
    game: Game,
    tree: EnumeratedTree,
    blueprint: Blueprint,
    rng: np.random.Generator,
    *,
    rollouts: int,
    greedy: bool = False,
) -> tuple[EnumeratedTree, Playouts | None]:
    """Return the tree with every history at its depth limit played to the end a few times, and these games.

    All leaves below one root meet the same luck, so that actions are compared by what they do. The luck of
    the roots is stratified: what a seat does next lies in a part of its own in each of them.
    greedy: everybody takes the blueprint's action of highest Q (see `rollout_play`); but where that repeats
    one game from every leaf, as without chance, the blueprint's policy is played.
    """
    tree = require_states(tree, "rollouts")
    places = np.flatnonzero(game.player(tree.states[tree.terminal]) != TERMINAL)
    if len(places) == 0:
        return tree, None
    nodes = tree.terminal[places]
    root = root_numbers(tree)[nodes].astype(np.int64)
    played, plays = played_by_all(game, blueprint)
    samples, seed = tree.n_roots * rollouts, int(rng.integers(1 << 62))
    found = np.empty((len(nodes), rollouts, game.num_players))
    step = max(1, ROWS_AT_ONCE // rollouts)
    first = rollout_play(plays, greedy=greedy)
    for each in (first, plays) if first is not plays else (plays,):
        seats = [(each,)] * played.num_players
        for start in range(0, len(nodes), step):
            rows = np.repeat(np.arange(start, min(start + step, len(nodes))), rollouts)
            number = root[rows] * rollouts + np.tile(np.arange(rollouts), len(rows) // rollouts)
            draws = CommonDraws(seed, np.zeros(len(rows), np.int64), number, samples, played.num_players)
            payoffs = play_out(played, tree.states[nodes[rows]], seats, draws)
            payoffs = game.payoffs(payoffs) if isinstance(game, TwoSeatView) else payoffs
            found[rows[::rollouts]] = payoffs.reshape(-1, rollouts, game.num_players)
        if rollouts == 1 or np.any(found != found[:, :1]):
            break
    returns = tree.returns.copy()
    returns[places] = found.mean(axis=1)
    return replace(tree, returns=returns), Playouts(nodes, found)


@dataclass(frozen=True, eq=False)
class Playouts:
    """Games played to the end from the leaves of a tree.

    nodes: [z] the leaves. payoffs: [z, k, P] float64, of each game; the k-th games from all leaves below one
    root met the same luck.
    """

    nodes: NDArray[np.int32]
    payoffs: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ActionErrors:
    """How far luck may have moved the values of an infoset's actions.

    values: [a] float64, their means.
    drawn, played: [a, a] float64, covariance of the mean values, in payoffs squared: between the histories,
    taken as a sample weighted by the reach of chance and the others, and between the games that were played
    from each. The former holds the latter where histories are many, and is 0 where there is but one.
    """

    values: NDArray[np.float64]
    drawn: NDArray[np.float64]
    played: NDArray[np.float64]

    def of(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the standard error of sums of the actions' values, [n] float64; shares: [n, a]."""
        parts = [np.einsum("na,ab,nb->n", shares, cov, shares) for cov in (self.drawn, self.played)]
        errors: NDArray[np.float64] = np.sqrt(np.maximum(np.maximum(*parts), 0.0))
        return errors

    def gains(self, policy: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the standard error of what each action gains over a policy, [a] float64."""
        return self.of(np.eye(len(policy)) - policy)

    def share(self, policy: NDArray[np.float64]) -> float:
        """Return the squared error of the actions' gains over their square, weighed by a policy [a]."""
        signal = float((self.values - self.values @ policy) ** 2 @ policy)
        return float(self.gains(policy) ** 2 @ policy) / max(signal, np.finfo(float).tiny ** 0.5)


def action_errors(strategy: Strategy, infoset: int, playouts: Playouts | None = None) -> ActionErrors:
    """Return how far luck may have moved the values of an infoset's actions under a strategy.

    playouts: the games played from the tree's leaves, if they were.
    """
    tree = strategy.tree
    player = int(tree.infoset_player[infoset])
    nodes = np.flatnonzero(tree.infoset == infoset).astype(np.int32)
    weight, values = belief(strategy, nodes, player), after_each(strategy, nodes)
    means = weight @ values
    apart = (values - means) * weight[:, None]
    drawn: NDArray[np.float64] = apart.T @ apart
    if playouts is None or (games := playouts.payoffs.shape[1]) < 2:
        return ActionErrors(means, drawn, np.zeros_like(drawn))
    children = tree.first_child[nodes][:, None] + np.arange(tree.n_children[nodes[0]])
    each = _by_game(strategy, children, player, playouts)
    each = (each - each.mean(axis=2, keepdims=True)) * weight[:, None, None]
    played: NDArray[np.float64] = np.einsum("hak,hbk->ab", each, each) / (games * (games - 1))
    return ActionErrors(means, drawn, played)


def _by_game(
    strategy: Strategy, children: NDArray[np.int32], player: int, playouts: Playouts
) -> NDArray[np.float64]:
    """Return what the games below some histories add to their value, game by game, [h, a, k] float64.

    children: [h, a], the histories, none below another.
    """
    tree = strategy.tree
    slot = tree.child_slot()
    edge = np.where(slot >= 0, strategy.probs[slot], tree.chance_prob)
    place, share = np.full(tree.n_nodes, -1), np.ones(tree.n_nodes)
    place[children.reshape(-1)] = np.arange(children.size)
    for start, end in pairwise(tree.level_offsets[1:]):
        above = tree.parent[start:end]
        below = start + np.flatnonzero((place[above] >= 0) & (place[start:end] < 0))
        place[below] = place[tree.parent[below]]
        share[below] = share[tree.parent[below]] * edge[below]
    inside = np.flatnonzero(place[playouts.nodes] >= 0)
    at = playouts.nodes[inside]
    found = np.zeros((children.size, playouts.payoffs.shape[1]))
    np.add.at(found, place[at], share[at, None] * playouts.payoffs[inside, :, player])
    return found.reshape(*children.shape, -1)


def fitting_roots(context: SearchContext, infoset: int) -> NDArray[np.bool_]:
    """Return which roots can stand beside those of the infoset, [r] bool.

    Where a player need not notice that the other acted, histories that it cannot tell apart may follow
    different decisions, and one of them lead to the infoset of another. A tree in which some histories of an
    infoset follow a decision and others start below it has no perfect recall: those that start are left out,
    or what leads to the infoset searched. The same holds for what the opponent knows where the player acts.
    Raises ConfigError if histories of the infoset itself do not fit together.
    """
    tree = context.tree
    root_of = root_numbers(tree)
    roots = tree.infoset[: tree.n_roots] == infoset
    fitting = np.ones(tree.n_roots, bool)
    searching = int(tree.infoset_player[infoset])
    graph = context.graph(searching)
    known: list[tuple[int, NDArray[Any], NDArray[np.int64]]] = [
        (1 - searching, graph.nodes, graph.group[1 - searching].astype(np.int64))
    ]
    for player in range(tree.n_players):
        nodes = np.flatnonzero(tree.player == player)
        known.append((player, nodes, tree.infoset[nodes].astype(np.int64)))
    for player, nodes, number in known:
        starts = context.own_slot(player)[nodes] < 0
        count, started = np.bincount(number), np.bincount(number, starts)
        rows = np.flatnonzero(((started > 0) & (started < count))[number])
        mixed, number, below = nodes[rows], number[rows], ~starts[rows]
        from_searched = np.zeros(len(count), bool)
        from_searched[number[roots[root_of[mixed]] & ~below]] = True
        wrong = np.where(from_searched[number], below, ~below)
        fitting[root_of[mixed[wrong]]] = False
    if not fitting[roots].all():
        raise ConfigError(
            f"{context.game.name}: histories of the infoset must follow the same decisions of the opponent, "
            "or ones that it remembers; some come before one that others follow, and what is drawn has no "
            "perfect recall; use source = enumerated if the game can be listed"
        )
    return fitting
