"""Blueprints made of a policy alone: their values come from playing on, or from a tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Agent, Blueprint, Decisions, agent_name, probabilities, values_histories
from blueprint.tabular import KeyIndex
from cfr.policies.policy import Policy
from cfr.tree import FlatTree
from games.game import Game
from games.ragged import Ragged
from games.support.array_types import Array
from games.support.configuration import ConfigError
from gs2.policies.tabulate import Plays
from gs2.search.context import SearchContext, Strategy
from gs2.search.continuation_policies import ValuedByAnother
from gs2.search.subgame.leaf import CommonDraws, play_out, rollout_leaf

ROLLOUTS = 4
"""Games played from each state to value it."""


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


class AgentPlay:
    """Plays as an agent does, which must not need to follow the games."""

    def __init__(self, agent: Agent) -> None:
        """Take the agent."""
        self.agent, self.name = agent, agent_name(agent)

    def policy(self, game: Game, states: Array, player: int, actions: Ragged) -> NDArray[np.float64]:
        """Return the probability of each action, [m] float64. Raises AgentFault for no policy."""
        return probabilities(self.agent, Decisions.of(states, actions, player, game=game))


class PolicyOnly:
    """A blueprint whose values come from playing on by its policy, a few games from each state.

    Of one state they know what it hides; means over what a player cannot tell apart are what it may expect.
    """

    values_histories = True

    def __init__(self, plays: Plays) -> None:
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


class PlayedStrategy(ValuedByAnother):
    """A strategy on a full tree as a `Blueprint` that may change from search to search.

    name: what to call it. probs: [slots] float64, read whenever it is asked.
    """

    name = "the strategy refined so far"

    def __init__(self, context: SearchContext, strategy: Strategy) -> None:
        """Take a tree and the strategy on it; what values histories is the strategy's own blueprint."""
        self._tree: FlatTree = context.tree
        self._context, self._strategy = context, strategy
        self.probs = strategy.probs
        self._places: dict[int, tuple[KeyIndex, NDArray[np.int64]]] = {}
        self._slots = Ragged(self._tree.infoset_offset, np.arange(self._tree.n_slots))

    @property
    def values_histories(self) -> bool:
        """Return whether the values are those of single histories."""
        return values_histories(self.base)

    @property
    def base(self) -> Blueprint:  # type: ignore[override]  # made when it is first asked
        """Return the blueprint that values histories."""
        return self._strategy.known_blueprint(self._context.game)

    def policy(self, game: Game, states: Array, player: int, actions: Ragged) -> NDArray[np.float64]:
        """Return the probability of each action, [m] float64."""
        keys = game.infoset_key(states, player)
        return self.probs[self._slots.take(self.numbers(keys, player)).values]

    def numbers(self, keys: NDArray[np.uint64], player: int) -> NDArray[np.int64]:
        """Return the number in the tree of a player's infosets by their keys, [n] int64.

        Raises ValueError for a key that the tree does not have.
        """
        if player not in self._places:
            mine = np.flatnonzero(self._tree.infoset_player == player)
            self._places[player] = KeyIndex(self._tree.infoset_key[mine]), mine
        index, mine = self._places[player]
        row = index.find(keys)
        if np.any(row < 0):
            raise ValueError(
                f"{self._context.game.name}: the tree must have every infoset asked for; it lacks one"
            )
        return mine[row]

    def slots_of(self, part: FlatTree, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the full tree's slots for slots of a tree of the same game, [s] int64, of one player.

        Raises ConfigError where that tree holds only some of the actions.
        """
        infoset = part.slot_infoset[slots]
        if len(slots) == 0:
            return slots
        there = np.unique(infoset)
        number = self.numbers(part.infoset_key[there], int(part.infoset_player[there[0]]))
        whole = np.diff(self._tree.infoset_offset)[number]
        if np.any(whole != np.diff(part.infoset_offset)[there]):
            raise ConfigError(
                f"{self._context.game.name}: branches must be at least {whole.max()} where a whole strategy "
                "is refined, for every action to have a probability; got fewer; set branches = None"
            )
        at = number[np.searchsorted(there, infoset)]
        found: NDArray[np.int64] = self._tree.infoset_offset[at] + slots - part.infoset_offset[infoset]
        return found
