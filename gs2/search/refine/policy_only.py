"""Blueprints that are a policy and nothing else: their values come from playing on."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cfr.policies.policy import Policy
from games.game import Game
from games.ragged import Ragged
from games.support.array_types import Array
from gs2.search.subgame.leaf import rollout_leaf
from gs2.search.subgame.playing_out import CommonDraws, play_out

__all__ = ["KeyedPlay", "PolicyOnly", "UniformPlay"]

ROLLOUTS = 4
"""Games played from each state to value it."""


class _Plays(Protocol):
    name: str

    def policy(self, game: Game, states: Array, player: int, actions: Ragged) -> NDArray[np.float64]: ...


class UniformPlay:
    """Plays every legal action alike."""

    name = "uniform"

    def policy(self, game: Game, states: Array, player: int, actions: Ragged) -> NDArray[np.float64]:
        """Return the probability of each action, [m] float64."""
        return np.repeat(1.0 / np.maximum(actions.counts, 1), actions.counts)


class KeyedPlay:
    """Plays a policy that is kept by infoset key, such as a file of `gs2 blueprint`."""

    def __init__(self, policy: Policy, name: str) -> None:
        """Take a policy and what to call it."""
        self.name, self._policy = name, policy

    def policy(self, game: Game, states: Array, player: int, actions: Ragged) -> NDArray[np.float64]:
        """Return the probability of each action, [m] float64. Raises PolicyError for an unknown infoset."""
        return self._policy.at(
            game.infoset_key(states, player), player, lambda row: game.infoset_text(states[row], player)
        ).values


class PolicyOnly:
    """A blueprint whose values come from playing on by its policy, a few games from each state.

    Of one state they know what it hides; means over what a player cannot tell apart are what it may expect.
    """

    values_histories = True

    def __init__(self, plays: _Plays) -> None:
        """Take what says how it plays."""
        self.name, self._plays = plays.name, plays

    def policy(self, game: Game, states: Array, player: int, actions: Ragged) -> NDArray[np.float64]:
        """Return the probability of each action, [m] float64."""
        return self._plays.policy(game, states, player, actions)

    def value(self, game: Game, states: Array, player: int) -> NDArray[np.float64]:
        """Return the mean payoff to `player` of a few games from each state, [n] float64."""
        leaf = rollout_leaf(self, np.random.default_rng(0), rollouts=ROLLOUTS)
        found: NDArray[np.float64] = leaf(game, states)[:, player]
        return found

    def q(self, game: Game, states: Array, player: int, actions: Ragged) -> NDArray[np.float64]:
        """Return the mean payoff to `player` of a few games after each action, [m] float64.

        All actions of a state meet the same luck, so that they are compared by what they do.
        """
        after = np.repeat(game.step(states, actions.rows, actions.values), ROLLOUTS, axis=0)
        games = ROLLOUTS * np.repeat(actions.rows, ROLLOUTS) + np.arange(len(after)) % ROLLOUTS
        stream = np.zeros(len(after), np.int64)
        draws = CommonDraws(0, stream, games, ROLLOUTS * len(states), game.num_players)
        payoffs = play_out(game, after, [(self,)] * game.num_players, draws)[:, player]
        mean: NDArray[np.float64] = payoffs.reshape(-1, ROLLOUTS).mean(axis=1)
        return mean
