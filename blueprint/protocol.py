"""What search asks of a blueprint: action values, action probabilities and state values, in batches."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from games.game import Game
from games.ragged import Ragged
from games.support.array_types import Array

__all__ = ["Blueprint", "GameAgent", "UnknownAgent"]


class UnknownAgent(ValueError):
    """A name that no agent of the game has."""


@runtime_checkable
class GameAgent(Protocol):
    """Whoever can play any seat of a game: a name, and a policy at what its player sees. A Blueprint is one.

    The answer depends on the player's infoset alone, never on what is hidden from it in `states`. It may take
    long, as that of an agent that searches; it must be the same when asked again. An agent with
    `asks_trails = True` is also given `trails`, how each game came to its state (`gs2.play.game_agents`).
    """

    name: str

    def policy(self, game: Game, states: Array, player: int, actions: Ragged) -> Array:
        """Return the probability of each action in `actions`, [m] float64; each row sums to 1.

        states: [n] states at which `player` acts; actions: one row of legal actions per state.
        """
        ...


@runtime_checkable
class Blueprint(GameAgent, Protocol):
    """A strategy for every seat with a value attached: tabular or neural, on any game.

    All three answer from what `player` knows at each state (its infoset), never from the hidden rest.
    Values are payoffs to `player`, on the game's own scale (`Game.payoff_range`).
    """

    def q(self, game: Game, states: Array, player: int, actions: Ragged) -> Array:
        """Return the value to `player` of each action in `actions`, [m] float64, when play goes on by it.

        states: [n] states at which `player` acts; actions: one row of legal actions per state.
        """
        ...

    def value(self, game: Game, states: Array, player: int) -> Array:
        """Return the value to `player` of each state, [n] float64, whoever is to act."""
        ...
