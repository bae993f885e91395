"""A blueprint and positions for tests: no weights, fast, and good or bad enough for what a test needs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Decisions
from games.guandan.cards import BOMB, PASS
from games.guandan.combos import ORDER
from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import advance, deal
from gs2.guandan.agent.deals.dealing import DealNetworks


class CountEvaluator:
    """Plays many low cards and keeps its bombs; values a state by who has fewer cards left."""

    name = "count"
    sees_all = False

    def __init__(self, noise: float = 0.0) -> None:
        self.noise = noise

    def advantages(self, decisions: Decisions) -> NDArray:
        a, each = decisions.actions, decisions.table.rows
        rows, seats = decisions.rows[each], decisions.seats[each]
        place = ORDER[decisions.states["level"][rows].astype(np.int64), a["rank"].astype(np.int64)]
        q = 0.06 * a["size"] - 0.02 * place - 0.4 * (a["type"] >= BOMB - 1) - 0.01 * (a["type"] == PASS)
        q = q + 2.0 * (a["size"] == decisions.states["left"][rows, seats])  # out at once
        if self.noise:
            # a fixed function of the action, so that equal questions get equal answers
            q = q + self.noise * np.sin(1e3 * place + 7.0 * a["size"] + a["type"])
        return q.astype(np.float32)

    def values(self, states: NDArray, rows: NDArray, seats: NDArray) -> NDArray:
        left, at = states["left"][rows].astype(float), np.arange(len(rows))
        mine = np.minimum(left[at, seats], left[at, seats ^ 2])
        theirs = np.minimum(left[at, seats ^ 1], left[at, seats ^ 3])
        return 2.0 * np.tanh((theirs - mine) / 10.0)


def counting(noise: float = 0.0) -> DealNetworks:
    """Return what an agent needs: the evaluator above, and nothing that knows how likely deals are."""
    return DealNetworks(CountEvaluator(noise))


def random_choice(states: NDArray, rng: np.random.Generator) -> NDArray:
    """Return one random canonical move of each unfinished state."""
    moves = legal(states, canonical=True)
    return moves.values[moves.offsets[:-1] + (rng.random(len(states)) * moves.counts).astype(np.int64)]


def midgame(n: int, rng: np.random.Generator, plies: int = 60, least: int = 2) -> NDArray:
    """Return n positions after `plies` random moves, at least `least` moves to choose from, [n] STATE."""
    found: list[NDArray] = []
    while len(found) < n:
        states = deal(64, rng, level=rng.integers(0, 13, 64))
        for _ in range(plies):
            live = np.flatnonzero(states["player"] >= 0)
            part = states[live]
            advance(part, random_choice(part, rng))
            states[live] = part
        states = states[states["player"] >= 0]
        if len(states):
            states = states[legal(states, canonical=True).counts >= least]
        found += [states[i : i + 1].copy() for i in range(len(states))]
    out = np.empty(n, found[0].dtype)
    for i in range(n):
        out[i] = found[i][0]
    return out
