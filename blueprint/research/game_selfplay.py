"""Games by a network in lockstep, and what is learned from them: self-play, or against somebody fixed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blueprint.choosing.soft_choice import choose_soft
from blueprint.game_lockstep import GameLockstep
from blueprint.protocol import GameAgent
from blueprint.research.game_network import GameNetwork
from games.ragged import pick_by
from games.support.array_types import Array

__all__ = ["Decided", "Rival", "play_generation"]


@dataclass(frozen=True)
class Rival:
    """Somebody fixed that the network learns to answer. agent: plays the seats of every other team."""

    agent: GameAgent


@dataclass(frozen=True, eq=False)
class Decided:
    """What some games taught.

    own: [n, inputs] features where the network decided. column: [n] int64, of the action taken. gain: [n]
    float32, payoff to the decider, in stakes of the game. seen: [k, inputs] features of seats of the network
    at others' decisions. worth: [k] float32, their payoffs.
    """

    own: Array
    column: NDArray[np.int64]
    gain: NDArray[np.float32]
    seen: Array
    worth: NDArray[np.float32]

    @classmethod
    def joined(cls, parts: list[Decided]) -> Decided:
        """Return what several batches of games taught."""
        names = ("own", "column", "gain", "seen", "worth")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def play_generation(
    network: GameNetwork, n: int, rng: np.random.Generator, *, epsilon: float, rival: Rival | None = None
) -> Decided:
    """Return what n games in lockstep teach.

    The network plays by its policy, or with probability `epsilon` by a uniformly random action; all seats, or
    where there is a `rival` those of one team, each team in as many of the games.
    Raises GameError if no game has a decision of the network's.
    """
    layout, game = network.layout, network.layout.game
    teams = np.array(game.teams)
    side = np.arange(n) % len(set(game.teams))  # the network's team where it does not play all seats
    games = GameLockstep.begun(game, n, rng)
    own: list[tuple[Array, Array, Array, int]] = []
    seen: list[tuple[Array, Array, int]] = []
    while games.go_on():
        states, running, players, actions = games.states, games.running, games.players, games.actions
        pick = games.drawn(rng)
        for seat in range(game.num_players):
            learns = (side[running] == teams[seat]) | (rival is None)
            rows = np.flatnonzero((players == seat) & learns)
            for rows_of in _nonempty(rows):
                legal = actions.take(rows_of)
                features = layout.features.of(states[rows_of], seat, np.ones(len(rows_of), bool))
                v, a = network.weights.answer(features)
                columns = layout.columns.of(legal)
                q = v[legal.rows] + a[legal.rows, columns]
                pick[rows_of] = choose_soft(q, legal.offsets, network.config.temperature, epsilon, rng)
                own.append((features, columns[legal.offsets[:-1] + pick[rows_of]], running[rows_of], seat))
            for rows_of in _nonempty(np.flatnonzero((players == seat) & ~learns)):
                assert rival is not None
                legal = actions.take(rows_of)
                pick[rows_of] = pick_by(
                    legal, rival.agent.policy(game, states[rows_of], seat, legal), rng.random(len(legal))
                )
            for rows_of in _nonempty(np.flatnonzero((players >= 0) & (players != seat) & learns)):
                waits = np.zeros(len(rows_of), bool)
                seen.append((layout.features.of(states[rows_of], seat, waits), running[rows_of], seat))
        games.step(pick)
    gains = (games.payoff / layout.stake).astype(np.float32)
    empty = np.zeros((0, layout.features.width), np.uint8)
    return Decided(
        np.concatenate([features for features, _, _, _ in own] or [empty]),
        np.concatenate([column for _, column, _, _ in own] or [np.zeros(0, np.int64)]),
        np.concatenate([gains[which, seat] for _, _, which, seat in own] or [np.zeros(0, np.float32)]),
        np.concatenate([features for features, _, _ in seen] or [empty]),
        np.concatenate([gains[which, seat] for _, which, seat in seen] or [np.zeros(0, np.float32)]),
    )


def _nonempty(rows: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield the rows, if there are any."""
    if len(rows):
        yield rows
