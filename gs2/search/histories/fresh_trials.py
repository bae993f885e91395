"""Trials of a statistical certificate where histories are drawn: new ones, played out beyond any tree.

What a subgame was solved on says nothing of what was not drawn, so the histories that judge its solution are
drawn for that alone. Those of them that the tree lacks, and whatever lies behind a depth limit or a branch
that was left out, are played by the blueprint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint
from blueprint.tabular import KeyIndex
from games.game import Game
from games.infosets.histories import HistorySample, joined_samples
from games.infosets.sampling import follow_trails
from games.infosets.trail import Trail
from games.ragged import Ragged
from games.support.array_types import Array
from gs2.search.config.search import SearchConfig
from gs2.search.histories.sampled_growth import places_among
from gs2.search.histories.seats import past_rule
from gs2.search.strategy import Strategy

__all__ = ["FreshTrials"]


@dataclass(frozen=True, eq=False)
class FreshTrials:
    """Draws histories at the end of a trail, for a certificate: see `gs2.search.context.TrialSource`.

    config: of the search, which says how histories are drawn. start: the blueprint on the tree below those
    that the subgame stands on. seed: of all that is drawn here.
    """

    game: Game
    blueprint: Blueprint
    trail: Trail
    config: SearchConfig
    start: Strategy
    seed: int

    def draw(self, n: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return n histories of the infoset and their weights, independent of each other.

        Of an infoset that is known wholly they are drawn as likely as they are; elsewhere each trial is a
        sample of one history, of a weight without bias. Of a game that draws by itself, those that it drew.
        """
        rng = np.random.default_rng(self.seed)
        found = self._follow(1, n, rng)[0]
        weight = self._weight(found)
        if found.complete:
            return found.states[rng.choice(len(found), n, p=weight / weight.sum())], np.ones(n)
        if found.scaled:
            ones = self._follow(n, 1, rng)
            if all(one.scaled for one in ones):
                every = joined_samples(ones)
                return every.states, self._weight(every)
        order = rng.permutation(len(found))
        return found.states[order], weight[order]

    def _follow(self, samples: int, n: int, rng: np.random.Generator) -> list[HistorySample]:
        """Return some samples of up to n histories."""
        past = past_rule(self.blueprint, self.trail.player, self.config)
        explore = self.config.histories.explore
        return follow_trails(self.game, [self.trail] * samples, n, rng, policy=past, explore=explore)

    def _weight(self, sample: HistorySample) -> NDArray[np.float64]:
        """Return how likely chance and the opponent, as far as it is believed, make histories, [n] float64.

        Alike where they never lead here.
        """
        theirs = sample.players[:, 1 - self.trail.player] ** self.config.histories.belief
        weight: NDArray[np.float64] = sample.stands * sample.chance * theirs
        return weight if weight.sum() > 0 else np.ones(len(sample))

    def plays(self, strategies: tuple[Strategy, ...]) -> tuple[Blueprint, ...]:
        """Return what plays each of some strategies on the tree where any of them is not the blueprint."""
        tree = self.start.tree
        changed = np.any([strategy.raw != self.start.raw for strategy in strategies], axis=0)
        there = np.unique(tree.slot_infoset[changed & (tree.slot_player == self.trail.player)])
        return tuple(_ChangedPlay(self.blueprint, self.trail.player, one, there) for one in strategies)


class _ChangedPlay:
    """A blueprint in whose place a player follows a strategy at some infosets of a tree.

    The tree may lack some of the actions there: those are never played.
    """

    def __init__(
        self, blueprint: Blueprint, player: int, strategy: Strategy, infosets: NDArray[np.int64]
    ) -> None:
        tree = strategy.tree
        self.name, self._blueprint, self._player = blueprint.name, blueprint, player
        self._index = KeyIndex(tree.infoset_key[infosets])
        actions = tree.slot_actions()
        self._there = [(actions[s], strategy.raw[s]) for s in map(tree.slots, infosets.tolist())]

    def policy(self, game: Game, states: Array, player: int, actions: Ragged) -> NDArray[np.float64]:
        """Return the probability of each action, [m] float64."""
        probs = np.array(self._blueprint.policy(game, states, player, actions), np.float64)
        if player != self._player:
            return probs
        found = self._index.find(game.infoset_key(states, player))
        for number in np.unique(found[found >= 0]).tolist():
            rows = np.flatnonzero(found == number)
            kept, instead = self._there[number]
            legal = actions[int(rows[0])]
            here = np.zeros(len(legal))
            here[places_among(legal, kept)] = instead
            probs[actions.offsets[rows][:, None] + np.arange(len(legal))] = here
        return probs

    def q(self, game: Game, states: Array, player: int, actions: Ragged) -> Array:
        """Return the blueprint's value of each action, [m] float64."""
        return self._blueprint.q(game, states, player, actions)

    def value(self, game: Game, states: Array, player: int) -> Array:
        """Return the blueprint's value of each state, [n] float64."""
        return self._blueprint.value(game, states, player)
