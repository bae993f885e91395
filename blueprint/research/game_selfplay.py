"""Games by a network in lockstep, and what is learned from them: self-play, or against somebody fixed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from blueprint.game_lockstep import GameLockstep
from blueprint.protocol import Agent, Decisions, drawn
from blueprint.research.game_network import GameNetwork
from blueprint.soft_choices import draw_soft
from games.support.array_types import Array


@dataclass(frozen=True, eq=False)
class Turn:
    """Decisions of one seat at one step of games in lockstep, as a policy learns from them.

    hands: [k, players * inputs] features of what each player sees, from this one on. legal: [k, columns].
    policy: [k, columns] float32. column: [k] int64, of the action taken. chance: [k] float32, with which it
    was taken, exploration included. games: [k] int64, which.
    """

    seat: int
    hands: Array
    legal: NDArray[np.bool_]
    policy: NDArray[np.float32]
    column: NDArray[np.int64]
    chance: NDArray[np.float32]
    games: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Decided:
    """What some games taught.

    own: [n, inputs] features where the network decided. column: [n] int64, of the action taken. gain: [n]
    float32, payoff to the decider, in stakes of the game. seen: [k, inputs] features of seats of the network
    at others' decisions. worth: [k] float32, their payoffs. turns: in order, where a policy is learned, with
    payoff: [games, players].
    """

    own: Array
    column: NDArray[np.int64]
    gain: NDArray[np.float32]
    seen: Array
    worth: NDArray[np.float32]
    turns: list[Turn] = field(default_factory=list)
    payoff: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)))

    def __len__(self) -> int:
        """Return the number of the network's decisions."""
        return len(self.own)


def play_generation(
    network: GameNetwork, n: int, rng: np.random.Generator, *, epsilon: float, rival: Agent | None = None
) -> Decided:
    """Return what n games in lockstep teach.

    The network plays by its policy, or with probability `epsilon` by a uniformly random action; all seats, or
    where there is a `rival`, somebody fixed to answer, those of one team, each team in as many of the games.
    Raises GameError if no game has a decision of the network's.
    """
    layout, game = network.layout, network.layout.game
    teams = np.array(game.teams)
    side = np.arange(n) % len(set(game.teams))  # the network's team where it does not play all seats
    games = GameLockstep.begun(game, n, rng)
    turns: list[Turn] = []
    learns_policy = network.weights.has_policy
    own: list[tuple[Array, Array, Array, int]] = []
    seen: list[tuple[Array, Array, int]] = []

    def look(rows: NDArray[np.int64], seat: int, *, acts: bool) -> Array:
        return layout.features.of(games.states[rows], seat, np.full(len(rows), acts))

    while games.go_on():
        running, players, actions = games.running, games.players, games.actions
        pick = games.drawn(rng)
        for seat in range(game.num_players):
            learns = (side[running] == teams[seat]) | (rival is None)
            rows = np.flatnonzero((players == seat) & learns)
            if len(rows):
                legal, features = actions.take(rows), look(rows, seat, acts=True)
                v, a, scores = network.weights.answer(features)
                columns = layout.columns.of(legal)
                if learns_policy:
                    values, temperature = scores[legal.rows, columns], 1.0
                else:
                    values, temperature = v[legal.rows] + a[legal.rows, columns], network.config.temperature
                choice, chance = draw_soft(values, legal.offsets, temperature, epsilon, rng)
                pick[rows] = choice
                column = columns[legal.offsets[:-1] + choice]
                own.append((features, column, running[rows], seat))
                if learns_policy:  # its decisions hold what the others see
                    others = [(seat + k) % game.num_players for k in range(1, game.num_players)]
                    hands = np.hstack([features, *(look(rows, k, acts=False) for k in others)])
                    allowed = np.zeros((len(rows), layout.columns.count), bool)
                    allowed[legal.rows, columns] = True
                    policy = softmax(np.where(allowed, scores, -np.inf))
                    turns.append(Turn(seat, hands, allowed, policy, column, chance, running[rows]))
            rows = np.flatnonzero((players == seat) & ~learns)
            if rival is not None and len(rows):
                asked = Decisions.of(games.states[rows], actions.take(rows), seat, game=game)
                pick[rows] = drawn(rival, asked, rng)[0]
            rows = np.flatnonzero((players >= 0) & (players != seat) & learns)
            if len(rows) and not learns_policy:
                seen.append((look(rows, seat, acts=False), running[rows], seat))
        games.step(pick)
    gains = (games.payoff / layout.stake).astype(np.float32)
    empty = np.zeros((0, layout.features.width), np.uint8)
    return Decided(
        np.concatenate([features for features, *_ in own] or [empty]),
        np.concatenate([column for _, column, *_ in own] or [np.zeros(0, np.int64)]),
        np.concatenate([gains[which, seat] for *_, which, seat in own] or [np.zeros(0, np.float32)]),
        np.concatenate([features for features, *_ in seen] or [empty]),
        np.concatenate([gains[which, seat] for _, which, seat in seen] or [np.zeros(0, np.float32)]),
        turns,
        games.payoff,
    )


def softmax(scores: Array) -> NDArray[np.float32]:
    """Return the softmax of each row, [n, columns] float32."""
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return np.asarray(weights / weights.sum(1, keepdims=True), np.float32)
