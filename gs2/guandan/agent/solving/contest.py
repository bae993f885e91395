"""Moves that stood a comparison by rollouts, decided by the game of how everybody plays on after them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from games.guandan.cards import unpack
from games.guandan.combos import ORDER
from games.support.array_types import Array
from gs2.guandan.agent.deals.determinize import Worlds
from gs2.guandan.agent.guandan_config import GuanDanConfig
from gs2.guandan.agent.racing import MoveComparison, Question, difference_noise
from gs2.guandan.agent.rollout import Rollouts
from gs2.guandan.agent.solving.decision_game import (
    DecisionGame,
    Lean,
    SolvedDecision,
    solve_decision,
    style_payoffs,
)
from gs2.guandan.agent.solving.sampled_solution import SampledSolution
from gs2.search.subgame.buckets import cluster_rows

__all__ = ["Contest", "ContestSolution"]


@dataclass(frozen=True, eq=False)
class ContestSolution:
    """A contest solved. moves: [a] indices among those compared; policy: [a]. worlds: the deals in it."""

    moves: NDArray[np.int64]
    worlds: Worlds
    solved: SolvedDecision

    @property
    def policy(self) -> NDArray[np.float64]:
        """Return the probability of each move, [a]."""
        return self.solved.policy

    def told(self, candidates: NDArray[np.int64]) -> SampledSolution:
        """Return the solution as decisions tell it; candidates: the moves that were compared."""
        tree = self.solved.tree
        nobody = np.zeros((0, len(self.worlds)))
        return SampledSolution(
            worlds=self.worlds,
            opponents=(),
            alternative=nobody,
            solved=nobody,
            moves=candidates[self.moves],
            policy=self.policy,
            nodes=tree.n_nodes,
            infosets=tree.n_infosets,
            leaves=len(tree.terminal),
            depth=1,
            iterations=self.solved.iterations,
            gap=self.solved.gap,
            thinned=0,
            later={},
            seconds={},
            notes=(),
        )


@dataclass(frozen=True, eq=False)
class Contest:
    """Moves of one decision that were played in the same deals.

    question: those moves alone, in those deals. rows: [a], their places among the moves compared.
    payoffs: [n, a] where everybody plays on by the blueprint, in these deals and more; weights: [n] of them.
    price: of leaving the blueprint's soft policy, in levels for each nat.
    """

    question: Question
    rows: NDArray[np.int64]
    payoffs: NDArray[np.float64]
    weights: NDArray[np.float64]
    price: float

    @classmethod
    def of(cls, question: Question, comparison: MoveComparison, config: GuanDanConfig) -> Contest | None:
        """Return the contest of the moves that were not given up; None if one is left."""
        payoffs, weights, all_ = comparison.payoffs, comparison.weights, comparison.worlds
        rows = np.flatnonzero(~np.isnan(payoffs[-1]))
        if len(rows) < 2:
            return None
        best = int(np.flatnonzero(rows == comparison.best)[0])
        # What the rollouts' noise and the blueprint's errors make of each other (`posterior`), as a price.
        to_the_end = config.comparison.depth is None
        missing = 1.0 - weights.sum() / all_.weights.sum() if all_.exact else 1.0
        noise = difference_noise(payoffs[:, rows], weights, best, to_the_end, missing)
        price = config.deals.temperature * noise / max(config.comparison.trust, 1e-6) ** 2
        worlds = all_.take(slice(0, min(len(payoffs), config.subgame.leaf_worlds)))
        asked = replace(question, moves=question.moves[rows], prior=question.prior[rows], worlds=worlds)
        return cls(asked, rows, payoffs[:, rows], weights, price)

    def solve(
        self, rollouts: Rollouts, config: GuanDanConfig, deadline: float | None = None
    ) -> ContestSolution:
        """Return the solution of the contest, after the rollouts that it still needs.

        deadline: an instant of `time.perf_counter()` from which on rollouts are valued where they stand.
        """
        question, n = self.question, len(self.question.worlds)
        lean = Lean(tuple(config.subgame.ours.split("+")), tuple(config.subgame.theirs.split("+")))
        limits = config.comparison.depth, deadline
        payoffs = style_payoffs(question, self.payoffs[:n], lean, rollouts, *limits)
        # More deals say what the moves are worth than how others may play on: their mean counts.
        mean, there = (
            np.average(self.payoffs[:m], axis=0, weights=self.weights[:m]) for m in (len(self.payoffs), n)
        )
        payoffs += (mean - there)[None, :, None, None]
        seat = int(question.state["player"][0])
        soft = np.exp((question.prior - question.prior.max()) / config.deals.temperature)
        game = DecisionGame(
            payoffs,
            question.worlds.weights,
            _opponent_buckets(question.worlds.states, seat, config.subgame.buckets),
            seat,
            soft,
            self.price,
            config.solution.opponent_price,
        )
        return ContestSolution(self.rows, question.worlds, solve_decision(game))


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
