"""Blueprints from networks of values that are asked at every state."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from blueprint.soft_choices import soft_shares
from games.game import Game
from games.ragged import Ragged
from games.support.array_types import Array
from games.support.configuration import ConfigError


class NetworkBlueprint(ABC):
    """A blueprint (see `blueprint.protocol`) that plays by the softmax of scores.

    scale: payoffs to 1 of the network's values. temperature: of the softmax; 0 for the best action.
    """

    def __init__(self, game: Game, scale: float, name: str, temperature: float) -> None:
        """Take the game of the network, and what it is called."""
        self.game, self.scale, self.name, self.temperature = game, scale, name, temperature
        self.low, self.high = game.payoff_range

    @abstractmethod
    def answer(
        self, states: Array, player: int, actions: Ragged
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Return the network's values of actions, [m], and their scores; None where these are its payoffs."""

    @abstractmethod
    def views(self, states: Array, player: int) -> NDArray[np.float64]:
        """Return the network's values of states at which others act, [n]."""

    def q(self, game: Game, states: Array, player: int, actions: Ragged) -> NDArray[np.float64]:
        """Return the value to `player` of each action, [m] float64. Raises ConfigError for another game."""
        return self._asked(game, states, player, actions)[0]

    def policy(self, game: Game, states: Array, player: int, actions: Ragged) -> NDArray[np.float64]:
        """Return the probability of each action, [m] float64."""
        scores = self._asked(game, states, player, actions)[1]
        return soft_shares(scores, actions.offsets, self.temperature)

    def value(self, game: Game, states: Array, player: int) -> NDArray[np.float64]:
        """Return the value to `player` of each state, [n] float64, from what it sees there.

        Where it acts itself, that is the policy's mean of Q; where others do, V.
        """
        self._check(game)
        acts = game.player(states) == player
        out = np.empty(len(states))
        mine, others = np.flatnonzero(acts), np.flatnonzero(~acts)
        if len(mine):
            actions = game.actions(states[mine])
            q, scores = self._asked(game, states[mine], player, actions)
            chances = soft_shares(scores, actions.offsets, self.temperature)
            out[mine] = np.bincount(actions.rows, q * chances, minlength=len(mine))
        if len(others):
            out[others] = np.clip(self.scale * self.views(states[others], player), self.low, self.high)
        return out

    def _check(self, game: Game) -> None:
        if game.name != self.game.name:
            raise ConfigError(
                f"{self.name}: it is a network for {self.game.name}; got a state of {game.name}"
            )

    def _asked(
        self, game: Game, states: Array, player: int, actions: Ragged
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return Q in payoffs and the scores whose softmax is the policy, [m] both."""
        self._check(game)
        if len(states) == 0:
            return np.zeros(0), np.zeros(0)
        values, scores = self.answer(states, player, actions)
        q = np.clip(self.scale * values, self.low, self.high)
        return q, q if scores is None else scores
