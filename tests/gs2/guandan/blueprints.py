"""Blueprints for tests: no weights, fast, and good or bad enough for what a test needs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Decisions
from games.game import Game
from games.guandan.cards import BOMB, PASS
from games.guandan.combos import ORDER
from games.guandan.rounds.round import advance, deal, legal
from games.ragged import Ragged


class CountBlueprint:
    """Plays many low cards and keeps its bombs; values a state by who has fewer cards left."""

    name = "count"

    def __init__(self, noise: float = 0.0) -> None:
        self.noise = noise

    def q(self, game: Game, states: NDArray, player: int, actions: Ragged) -> NDArray:
        a = actions.values
        level = states["level"].astype(np.int64)[actions.rows]
        place = ORDER[level, a["rank"].astype(np.int64)]
        q = 0.06 * a["size"] - 0.02 * place - 0.4 * (a["type"] >= BOMB - 1) - 0.01 * (a["type"] == PASS)
        out_at_once = a["size"] == states["left"][:, player].astype(np.int64)[actions.rows]
        q = q + 2.0 * out_at_once
        if self.noise:
            # a fixed function of the action, so that equal questions get equal answers
            q = q + self.noise * np.sin(1e3 * place + 7.0 * a["size"] + a["type"])
        return q

    def policy(self, game: Game, states: NDArray, player: int, actions: Ragged) -> NDArray:
        q = self.q(game, states, player, actions)
        e = np.exp((q - np.maximum.reduceat(q, actions.offsets[:-1])[actions.rows]) / 0.1)
        return e / np.add.reduceat(e, actions.offsets[:-1])[actions.rows]

    def value(self, game: Game, states: NDArray, player: int) -> NDArray:
        left = states["left"].astype(float)
        mine = np.minimum(left[:, player], left[:, player ^ 2])
        theirs = np.minimum(left[:, player ^ 1], left[:, player ^ 3])
        return 2.0 * np.tanh((theirs - mine) / 10.0)


class CountEvaluator:
    """The same blueprint as an evaluator, without sorting states by seat."""

    name = "count"
    sees_all = False

    def __init__(self, noise: float = 0.0) -> None:
        self.blueprint = CountBlueprint(noise)

    def q(self, decisions: Decisions) -> np.ndarray:
        states, rows, seats = decisions.states, decisions.rows, decisions.seats
        table = Ragged(np.asarray(decisions.offsets, np.int64), decisions.actions)
        turned = states[rows]
        turned["left"][:, 0] = turned["left"][np.arange(len(rows)), seats]
        return self.blueprint.q(None, turned, 0, table).astype(np.float32)

    def values(self, states, rows, seats):
        left = states["left"][rows].astype(float)
        at = np.arange(len(rows))
        mine = np.minimum(left[at, seats], left[at, seats ^ 2])
        theirs = np.minimum(left[at, seats ^ 1], left[at, seats ^ 3])
        return 2.0 * np.tanh((theirs - mine) / 10.0)

    views = values


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
