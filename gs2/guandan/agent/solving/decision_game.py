"""The game of one decision: our move and how everybody plays on, in common deals, near the blueprint.

The subgame is as shallow as it can be and as wide in deals: our candidate moves at the root, and below each a
multi-valued leaf, at which we choose a style to play on in (`gs2.guandan.agent.styles`) and the opponents
choose theirs. We know our move and nothing of the deal; the opponents know the move and, of the deal, the
bucket that their hands are in, so that they do not see through it. Payoffs are rollouts of the same deals.
Everybody is anchored: we to the blueprint's soft policy, at a price that follows from the rollouts' noise, so
that the solution leaves it only as far as the sample says; the opponents to the blueprint itself.
With one style for everybody this is the comparison of moves by rollouts (`gs2.guandan.agent.racing`).
Source: Brown, Sandholm and Amos 2018 (multi-valued states); Sokota et al. 2023 (the anchored solver).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cfr.anchored import Anchor, AnchoredSolution, solve_anchored
from cfr.tree import FlatTree
from games.game import TERMINAL
from games.guandan.cards import unpack
from games.guandan.combos import ORDER
from games.guandan.rounds.round import advance
from games.support.array_types import Array
from gs2.guandan.agent.decision import SampledSolution
from gs2.guandan.agent.guandan_config import GuanDanConfig
from gs2.guandan.agent.racing import MoveComparison, Question, difference_noise
from gs2.guandan.agent.rollout import Rollouts
from gs2.guandan.agent.styles import Styles, style_table
from gs2.search.subgame.continuations import LeafChooser, with_choices
from gs2.search.subgame.cut import Subgame

TEAMS = (0, 1, 0, 1)
ITERATIONS = 150
"""Iterations of the anchored solver; the trees have some thousand nodes."""
DISTINCT = 9
"""Decimals, in standard deviations, by which hands differ that are told apart."""
Leans = tuple[tuple[str, ...], tuple[str, ...]]
"""Styles to choose from at a leaf, the blueprint's first: of the player to act, of the two opponents."""


@dataclass(frozen=True, eq=False)
class DecisionGame:
    """What one decision is worth in some deals, for every way of playing on.

    payoffs: [n, a, u, o] float64, levels to the player's team in each deal, for each move, own style and
        opponents' style. weights: [n] float64 of the deals. bucket: [n] int64, what the opponents know.
    seat: who decides. magnet: [a] float64 > 0, the policy it is anchored to; price: for each nat, in levels.
    their_price: of the opponents, whose magnet is the blueprint, SHARE of their policy.
    """

    payoffs: NDArray[np.float64]
    weights: NDArray[np.float64]
    bucket: NDArray[np.int64]
    seat: int
    magnet: NDArray[np.float64]
    price: float
    their_price: float


SHARE = 0.7
"""Probability of the blueprint in the magnet of a choice of styles; the others share the rest."""


def style_payoffs(
    question: Question,
    known: NDArray[np.float64],
    leans: Leans,
    rollouts: Rollouts,
    depth: int | None,
    deadline: float | None = None,
) -> NDArray[np.float64]:
    """Return the payoff of each move in each deal and every pair of styles, [n, a, u, o] float64.

    question: the moves and the deals. known: [n, a], payoffs where everybody plays on by the blueprint; for
        these no rollout is made. leans: the styles that may be chosen.
    depth, deadline: of rollouts, see `Rollouts.payoffs`.
    """
    n, a = known.shape
    ours, theirs = map(len, leans)
    out = np.empty((n, a, ours, theirs))
    out[:, :, 0, 0] = known
    pairs = [(u, o) for u in range(ours) for o in range(theirs) if u or o]
    if not pairs:
        return out
    seat = int(question.state["player"][0])
    after = np.repeat(question.worlds.states[:n], a)
    advance(after, np.tile(question.moves, n))
    states = np.tile(after, len(pairs))
    of = np.zeros((len(pairs), n * a, 4), np.uint8)
    for k, (u, o) in enumerate(pairs):
        of[k, :, seat] = u
        of[k, :, (seat + 1) & 3] = of[k, :, (seat + 3) & 3] = ours + o
    of[:, :, (seat + 2) & 3] = 0
    styles = Styles(style_table((*leans[0], *leans[1])), of.reshape(-1, 4))
    sign = 1 - 2 * (seat & 1)
    found = sign * rollouts.payoffs(states, depth, deadline, styles).reshape(len(pairs), n, a)
    for k, (u, o) in enumerate(pairs):
        out[:, :, u, o] = found[k]
    return out


def decision_tree(game: DecisionGame) -> FlatTree:
    """Return the game as a tree: deals, our move, our style, theirs; choices of one are left out."""
    n, a, *styles = game.payoffs.shape
    me, them = game.seat, (game.seat + 1) & 3
    deal = np.arange(n)
    share = np.where(np.arange(4) % 2 == me % 2, 1.0, -1.0)
    moves = FlatTree.of_levels(
        np.concatenate([np.full(n, -1), np.repeat(deal, a)]),
        np.repeat([me, TERMINAL], [n, n * a]).astype(np.int8),
        np.array([0, n, n + n * a]),
        np.array([a]),
        infoset=np.repeat([0, -1], [n, n * a]).astype(np.int32),
        chance_prob=np.concatenate([game.weights / game.weights.sum(), np.ones(n * a)]),
        returns=np.zeros((n * a, 4)),
        infoset_player=np.array([me], np.int8),
        infoset_key=np.zeros((1, 1), np.uint64),
        action=np.concatenate([np.zeros(n, np.int64), np.tile(np.arange(a), n)]),
        teams=TEAMS,
    )
    root_of = np.concatenate([deal, np.repeat(deal, a)]).astype(np.int32)
    nowhere = np.full(a, -1)
    subgame = Subgame(moves, root_of, root_of[:0], nowhere[:1].astype(np.int32), nowhere, moves.terminal)
    move = np.tile(np.arange(a), n)
    seen = move * (int(game.bucket.max()) + 1) + np.repeat(game.bucket, a)
    values = game.payoffs.reshape(n * a, *styles)[..., None] * share
    return with_choices(subgame, (LeafChooser(me, move), LeafChooser(them, seen)), values).tree


def solve_decision(game: DecisionGame) -> tuple[FlatTree, AnchoredSolution]:
    """Return a decision game as a tree, and its equilibrium near the blueprint."""
    tree = decision_tree(game)
    magnet = np.empty(tree.n_slots)
    for i, size in enumerate(np.diff(tree.infoset_offset).tolist()):
        rest = (1 - SHARE) / (size - 1) if size > 1 else 0.0
        magnet[tree.slots(i)] = [SHARE if size > 1 else 1.0, *[rest] * (size - 1)]
    magnet[tree.slots(0)] = game.magnet / game.magnet.sum()
    price = np.zeros(4)
    price[game.seat], price[(game.seat + 1) & 3] = game.price, game.their_price
    return tree, solve_anchored(tree, Anchor(magnet, tuple(price.tolist())), iterations=ITERATIONS)


def contested(comparison: MoveComparison) -> NDArray[np.int64]:
    """Return the moves that were not given up, by their places among those compared."""
    return np.flatnonzero(~np.isnan(comparison.payoffs[-1]))


def solve_contest(
    question: Question,
    comparison: MoveComparison,
    rollouts: Rollouts,
    config: GuanDanConfig,
    deadline: float | None = None,
) -> SampledSolution:
    """Return the solution of the game of the moves that were not given up, two or more of them.

    Its moves are numbered among those compared. deadline: an instant of `time.perf_counter()` from which on
    the rollouts that it still needs are valued where they stand.
    """
    rows, weights, all_ = contested(comparison), comparison.weights, comparison.worlds
    played = comparison.payoffs[:, rows]
    best = int(np.flatnonzero(rows == comparison.best)[0])
    # What the rollouts' noise and the blueprint's errors make of each other (`posterior`), as a price.
    missing = 1.0 - weights.sum() / all_.weights.sum() if all_.exact else 1.0
    noise = difference_noise(played, weights, best, config.comparison.depth is None, missing)
    price = config.deals.temperature * noise / max(config.comparison.trust, 1e-6) ** 2
    n = min(len(played), config.subgame.leaf_worlds)
    worlds, prior = all_.take(slice(0, n)), question.prior[rows]
    asked = replace(question, moves=question.moves[rows], prior=prior, worlds=worlds)
    leans = tuple(config.subgame.ours.split("+")), tuple(config.subgame.theirs.split("+"))
    payoffs = style_payoffs(asked, played[:n], leans, rollouts, config.comparison.depth, deadline)
    # More deals say what the moves are worth than how others may play on: their mean counts.
    mean, there = (np.average(played[:m], axis=0, weights=weights[:m]) for m in (len(played), n))
    payoffs += (mean - there)[None, :, None, None]
    seat = int(question.state["player"][0])
    game = DecisionGame(
        payoffs,
        worlds.weights,
        _opponent_buckets(worlds.states, seat, config.subgame.buckets),
        seat,
        np.exp((prior - prior.max()) / config.deals.temperature),
        price,
        config.subgame.opponent_price,
    )
    tree, found = solve_decision(game)
    return SampledSolution(
        worlds=worlds,
        opponents=(),
        alternative=np.zeros((0, n)),
        solved=np.zeros((0, n)),
        moves=rows,
        policy=found.policy[tree.slots(0)],
        nodes=tree.n_nodes,
        infosets=tree.n_infosets,
        leaves=len(tree.terminal),
        depth=1,
        iterations=found.iteration,
        gap=found.gap,
    )


def _strength_features(states: Array, seat: int) -> NDArray[np.float64]:
    """Return features of the hand of a seat in some deals, [n, 4] float64.

    Bombs of four and more, high cards (aces, level cards, jokers), pairs, cards of one kind alone.
    """
    hands = unpack(states["hand"][:, seat]).astype(np.int64)
    level = int(states["level"][0])
    ranks = np.concatenate([hands[:, :52].reshape(-1, 13, 4).sum(2), hands[:, 52:]], axis=1)
    high = ORDER[level] >= 11
    return np.stack(
        [
            np.count_nonzero(ranks >= 4, axis=1),
            ranks[:, high].sum(1),
            np.count_nonzero(ranks == 2, axis=1),
            np.count_nonzero(ranks == 1, axis=1),
        ],
        axis=1,
    ).astype(np.float64)


def _opponent_buckets(states: Array, seat: int, count: int) -> NDArray[np.int64]:
    """Return the bucket that both opponents' hands are in, [n] int64 from 0, at most `count` of them.

    states: [n] STATE, deals of one infoset of `seat`.
    """
    if count == 1:
        return np.zeros(len(states), np.int64)
    both = [_strength_features(states, (seat + j) & 3) for j in (1, 3)]
    return cluster_rows(np.concatenate(both, axis=1), count)


def cluster_rows(features: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Return the cluster of each of some rows, [n] int64, numbered by first appearance; at most k of them.

    features: [n, d] float64, n > 0; every column is brought to mean 0 and deviation 1. Rows with equal
    features share a cluster, whatever their order.
    Source: scikit-learn KMeans with one start, on the distinct rows.
    """
    spread = features.std(axis=0)
    points = np.round((features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0), DISTINCT) + 0.0
    distinct, number = np.unique(points, axis=0, return_inverse=True)
    found = number.reshape(-1).astype(np.int64)
    if len(distinct) > k:
        from sklearn.cluster import KMeans  # a heavy import that only buckets need

        mass = np.bincount(found).astype(np.float64)
        model = KMeans(n_clusters=k, n_init=1, random_state=0)
        found = model.fit(distinct, sample_weight=mass).labels_.astype(np.int64)[found]
    first = np.unique(found, return_index=True)[1]
    rank = np.empty(int(found.max()) + 1, np.int64)
    rank[found[np.sort(first)]] = np.arange(len(first))
    return rank[found]
