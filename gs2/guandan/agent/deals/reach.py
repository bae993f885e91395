"""How likely the blueprint would have played what the others played, deal by deal, and deals drawn by it.

A deal in which a seat passed over a move that the blueprint would have made there is a doubtful deal. The
moves of the round so far are asked of the blueprint again in every deal, each by the hand that its seat
would have held. Few deals stand up to a whole round, so the many that are sampled are thinned on the way:
the latest moves, which say most about the cards that are left, come first.
Source: GS2 supplement, C.5 takes the greedy blueprint's reach (`supported`). One surprising move leaves it no
deal at all, so our own agents take its soft policy's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import PlayedMoves
from games.game import GameError
from games.guandan.rounds.round import advance, legal, restarted
from games.support.array_types import Array
from gs2.guandan.agent.deals.determinize import Worlds
from gs2.guandan.agent.evaluator import BATCH, Evaluator, best_actions, evaluator_values

__all__ = [
    "LEAST",
    "SoftPolicy",
    "drawn_worlds",
    "likely_worlds",
    "log_reach",
    "moves_to_weigh",
    "replayed",
    "supported",
    "thinned",
]

LEAST = 1e-3
"""Probability that any move has at least: nobody follows the blueprint entirely."""
LAP = 6
"""Moves of the others after which deals are thinned."""


@dataclass(frozen=True)
class SoftPolicy:
    """The blueprint's softmax over its Q, to a power; temperature: in levels, 0 for its best move alone."""

    evaluator: Evaluator
    temperature: float
    strength: float = 1.0

    def log_probability(self, states: Array, done: Array) -> NDArray[np.float64]:
        """Return the log probability of an action at each state, [n].

        Among canonical moves of its type, rank and size it is the most likely one.
        """
        table = legal(states, canonical=True)
        out = np.zeros(len(states))
        counts = table.counts
        if counts.max() == 1:
            return out
        q = evaluator_values(self.evaluator, states, table)
        starts = table.offsets[:-1]
        same = np.ones(len(q), bool)
        for name in ("type", "rank", "size"):
            same &= table.values[name] == done[table.rows][name]
        if self.temperature == 0:
            return np.where(same[best_actions(q, table)], 0.0, -np.inf)
        shifted = np.exp((q - np.maximum.reduceat(q, starts)[table.rows]) / self.temperature)
        best = np.maximum.reduceat(np.where(same, shifted, 0.0), starts)
        probability: NDArray[np.float64] = best / np.add.reduceat(shifted, starts)
        return self.strength * np.log(np.maximum(probability, LEAST))


def replayed(state: Array, moves: PlayedMoves) -> Array:
    """Return the round before each of its moves, [k] STATE, in the deal of `state` [1].

    Raises GameError if the moves do not lead to the state.
    """
    at = restarted(state)
    out = np.repeat(at, len(moves))
    for k in range(len(moves)):
        out[k] = at[0]
        advance(at, moves.actions[k : k + 1])
    if not np.array_equal(at["hash"], state["hash"]):
        raise GameError(
            "guandan: the moves given must lead to the state from the start of its round; they do not"
        )
    return out


def moves_to_weigh(moves: PlayedMoves, seat: int) -> NDArray[np.int64]:
    """Return the moves that others made, the latest first."""
    return np.flatnonzero(moves.seats != seat)[::-1]


def log_reach(
    deals: Array, before: Array, moves: PlayedMoves, which: NDArray[np.int64], soft: SoftPolicy
) -> NDArray[np.float64]:
    """Return the log probability of some moves of the round in each deal, [n] float64.

    deals: [n] STATE, one infoset. before: [k] STATE before each of the moves, in any deal (see `replayed`).
    which: [w], the moves asked about.
    """
    n, w = len(deals), len(which)
    states = np.repeat(before[which], n)
    began: Any = deals["hand"]  # a type is not asked of what is added to fields: it takes seconds to find
    states["hand"] = np.tile(began + deals["played"], (w, 1, 1)) - states["played"]
    logs = soft.log_probability(states, np.repeat(moves.actions[which], n))
    found: NDArray[np.float64] = logs.reshape(w, n).sum(0)
    return found


def supported(deals: Array, state: Array, moves: PlayedMoves, evaluator: Evaluator) -> NDArray[np.bool_]:
    """Return in which deals the blueprint's best moves are all that others have played, [n] bool.

    deals: [n] STATE of the infoset of the seat to act at `state` [1]; they are asked about until they fail.
    """
    before, greedy = replayed(state, moves), SoftPolicy(evaluator, 0.0)
    alive = np.arange(len(deals))
    which = moves_to_weigh(moves, int(state["player"][0]))
    while len(which) and len(alive):
        some = max(1, BATCH // len(alive))  # few deals are asked about many moves at once
        logs = log_reach(deals[alive], before, moves, which[:some], greedy)
        alive, which = alive[logs == 0], which[some:]
    return np.isin(np.arange(len(deals)), alive)


def likely_worlds(
    worlds: Worlds,
    state: Array,
    moves: PlayedMoves,
    soft: SoftPolicy,
    count: int,
    rng: np.random.Generator,
) -> Worlds:
    """Return up to `count` of some deals, drawn by the blueprint's reach.

    state: [1] STATE at which the deals are considered, by the seat to act. Deals that are listed are weighted
    and all kept; others are thinned by half lap by lap, so that their weights come out alike.
    """
    seat = int(state["player"][0])
    before = replayed(state, moves)
    which = moves_to_weigh(moves, seat)
    if worlds.exact:
        logs = log_reach(worlds.states, before, moves, which, soft)
        return Worlds(worlds.states, worlds.weights * np.exp(logs - logs.max()), True)
    states, weights = worlds.states, worlds.weights
    while len(which) and len(states) > 1:
        lap, which = which[:LAP], which[LAP:]
        logs = log_reach(states, before, moves, lap, soft)
        weights = weights * np.exp(logs - logs.max())
        wanted = max(count, len(states) // 2) if len(which) else count
        rows, weights = _thinned(weights, wanted, rng)
        states = states[rows]
    order = rng.permutation(len(states))
    return Worlds(states[order], weights[order], False)


def drawn_worlds(worlds: Worlds, logs: NDArray[np.float64], count: int, rng: np.random.Generator) -> Worlds:
    """Return up to `count` of some deals, drawn by exp(logs) and their weights, in random order.

    Deals that are listed are weighted and all kept.
    """
    weights = worlds.weights * np.exp(logs - logs.max())
    if worlds.exact:
        return Worlds(worlds.states, weights, True)
    return thinned(Worlds(worlds.states, weights, False), count, rng)


def thinned(worlds: Worlds, count: int, rng: np.random.Generator) -> Worlds:
    """Return up to `count` of some deals, drawn by their weights, in random order."""
    rows, weights = _thinned(worlds.weights, count, rng)
    order = rng.permutation(len(rows))
    return Worlds(worlds.states[rows[order]], weights[order], False)


def _thinned(
    weights: NDArray[np.float64], count: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return (rows, weights) of up to `count` rows drawn by their weights; a row drawn often counts so often.

    Systematic resampling: no row comes more or less often than its share by one or more.
    """
    if len(weights) <= count:
        return np.arange(len(weights)), weights
    steps = (rng.random() + np.arange(count)) / count
    rows = np.searchsorted(np.cumsum(weights) / weights.sum(), steps).clip(max=len(weights) - 1)
    kept, times = np.unique(rows, return_counts=True)
    return kept, times.astype(np.float64)
