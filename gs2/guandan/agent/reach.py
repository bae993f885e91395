"""How likely the blueprint would have played what the others played, deal by deal.

A deal in which a seat passed over a move that the blueprint would have made there is a doubtful deal. The
agent remembers its own decisions of a round; between two of them each of the others acted once, and what it
did can be read off the later state. Those moves are replayed in every deal and asked of the blueprint.
Source: GS2 supplement, C.5 takes the greedy blueprint's reach; we take its soft policy's, since one
surprising move would leave no deal at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from games.game import TERMINAL
from games.guandan.cards import NO_ACTION
from games.guandan.rounds.round import advance, legal
from games.support.array_types import Array
from gs2.guandan.agent.determinize import Worlds
from gs2.guandan.agent.evaluator import Evaluator, evaluator_values

__all__ = ["LEAST", "log_reach", "weigh"]

LEAST = 1e-3
"""Probability that any move has at least: nobody follows the blueprint entirely."""


def log_reach(
    deals: Array,
    seat: int,
    trail: list[tuple[Array, Array]],
    evaluator: Evaluator,
    temperature: float,
    *,
    laps: int = 3,
) -> NDArray[np.float64]:
    """Return the log probability of the others' latest moves in each deal, [n] float64.

    deals: [n] STATE, one infoset of `seat`. trail: the seat's earlier decisions of the round in order, each
    the state [1] STATE and the move played [1] ACTION. temperature: of the blueprint's soft policy.
    laps: how many of the seat's decisions to go back. A lap that cannot be told from the states ends it.
    """
    out = np.zeros(len(deals))
    later = deals[:1]
    soft = _SoftPolicy(evaluator, temperature)
    for before, move in trail[: -laps - 1 : -1]:
        lap = _lap(deals, seat, (before, move), later, soft)
        if lap is None:
            break
        out += lap
        later = before
    return out


@dataclass(frozen=True)
class _SoftPolicy:
    """The blueprint's softmax over its Q; temperature: in levels."""

    evaluator: Evaluator
    temperature: float

    def log_probability(self, states: Array, done: Array) -> NDArray[np.float64]:
        """Return the log probability of an action at each state, [n].

        Among canonical moves of its type, rank and size it is the most likely one.
        """
        table = legal(states, canonical=True)
        q = evaluator_values(self.evaluator, states, table) / self.temperature
        starts = table.offsets[:-1]
        shifted = np.exp(q - np.maximum.reduceat(q, starts)[table.rows])
        same = np.ones(len(q), bool)
        for name in ("type", "rank", "size"):
            same &= table.values[name] == done[name]
        best = np.maximum.reduceat(np.where(same, shifted, 0.0), starts)
        probability: NDArray[np.float64] = best / np.add.reduceat(shifted, starts)
        return np.log(np.maximum(probability, LEAST))


def _lap(
    deals: Array,
    seat: int,
    own: tuple[Array, Array],
    later: Array,
    soft: _SoftPolicy,
) -> NDArray[np.float64] | None:
    """Return the log probability of what the others did between two own decisions; None if it is not clear.

    own: the earlier decision, its state and move. later: the state of the later one.
    """
    before, move = own
    others = [s for s in range(4) if s != seat and before["left"][0, s] > 0]
    if not 0 < later["plays"][0] - before["plays"][0] <= 1 + len(others):
        return None
    states = np.repeat(before, len(deals))
    states["hand"] = deals["hand"] + deals["played"] - before["played"]
    advance(states, np.repeat(move, len(states)))
    out = np.zeros(len(deals))
    while states["plays"][0] < later["plays"][0]:
        player = int(states["player"][0])
        if player in (seat, TERMINAL):
            return None
        done = later["last"][0, player]
        if done["type"] == NO_ACTION:
            return None
        out += soft.log_probability(states, done)
        advance(states, np.repeat(done, len(states)))
    return out if np.array_equal(states["hash"][0], later["hash"][0]) else None


def weigh(worlds: Worlds, log_weights: NDArray[np.float64], count: int, rng: np.random.Generator) -> Worlds:
    """Return deals weighted by exp(log_weights) besides: all if they are listed, else `count` drawn by it.

    Drawn without more repeats than their weights ask for (systematic resampling), in random order.
    """
    likely = worlds.weights * np.exp(log_weights - log_weights.max())
    if worlds.exact:
        return Worlds(worlds.states, likely, True)
    steps = (rng.random() + np.arange(count)) / count
    rows = np.searchsorted(np.cumsum(likely) / likely.sum(), steps).clip(max=len(likely) - 1)
    return Worlds(worlds.states[rng.permutation(rows)], np.ones(count), False)
