"""Deals for one decision: drawn by the belief, weighed whole, a few at first and more where they are needed.

Most comparisons of moves are settled in a part of the deals that they may take. What is the same for all
deals of a decision (what was seen, the odds of every card) is worked out once.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from blueprint.guandan import SHIPPED
from blueprint.protocol import PlayedMoves
from games.support.array_types import Array
from gs2.guandan.agent.deals.determinize import Worlds, card_odds, sample_worlds
from gs2.guandan.agent.deals.reach import SoftPolicy, drawn_worlds, likely_worlds, supported
from gs2.guandan.agent.evaluator import Evaluator, load_quick, quick_file
from gs2.guandan.agent.guandan_config import DealsConfig
from gs2.guandan.beliefs.belief_network import DEFAULT, Beliefs, load_beliefs
from gs2.guandan.beliefs.deal_network import DEALS, DealNetwork, load_deal_network

__all__ = ["DealNetworks", "Dealer", "load_networks", "network_files"]


@dataclass(frozen=True, eq=False)
class DealNetworks:
    """What knows how likely deals are.

    evaluator: of the blueprint. beliefs: who is likely to hold which card; None deals the hidden cards
    uniformly. deals: how likely whole deals are beside that; None takes them as they come. quick: knows the
    blueprint's moves sooner, for rollouts; None without one.
    """

    evaluator: Evaluator
    beliefs: Beliefs | None = None
    deals: DealNetwork | None = None
    quick: Evaluator | None = None


def load_networks(blueprint: str | Path | None = None) -> DealNetworks:
    """Return the networks of a checkpoint, by default the shipped one, with the shipped beliefs.

    Its quick network is the one beside the checkpoint, if there is one (`load_quick`).
    Raises CheckpointError if the checkpoint is damaged or foreign.
    """
    from blueprint.guandan.network.inference import load_inference

    *_, beliefs, deals = network_files()
    return DealNetworks(
        load_inference(blueprint),
        load_beliefs() if beliefs.is_file() else None,
        load_deal_network() if deals.is_file() else None,
        load_quick(blueprint),
    )


def network_files(blueprint: Path = SHIPPED) -> tuple[Path, Path, Path, Path]:
    """Return a blueprint's file and those of the quick network, of beliefs and of whole deals beside it.

    Any of them may be missing.
    """
    return blueprint, quick_file(blueprint), DEFAULT, DEALS


class Dealer:
    """Draws deals that the player to act at one state considers possible.

    state: [1] STATE. moves: of the round so far, None where they are not known.
    """

    def __init__(
        self,
        state: Array,
        moves: PlayedMoves | None,
        networks: DealNetworks,
        config: DealsConfig,
        rng: np.random.Generator,
    ) -> None:
        self.state, self.moves, self.networks, self.config, self.rng = state, moves, networks, config, rng
        self.seat = int(state["player"][0])
        self.odds: NDArray[np.float64] | None = None
        if networks.beliefs is not None:
            self.odds = card_odds(networks.beliefs, state, self.seat, config.belief)

    def draw(self, n: int, most: int, *, listing: bool = True) -> Worlds:
        """Return n deals, drawn from their share of the pool where whole deals are weighed.

        most: deals that the decision may take in all. listing: return all deals there are if they are few.
        Raises GameError if no deal is consistent.
        """
        config, networks = self.config, self.networks
        replay = config.replay and self.moves is not None
        weigh = config.reach > 0 and not config.greedy and (replay or networks.deals is not None)
        first = max(n, round(config.pool * n / most)) if weigh else n
        listed = (max(most, config.pool) if weigh else most) if listing else 0
        worlds = sample_worlds(self.state, self.seat, first, self.rng, odds=self.odds, listed=listed)
        if not weigh:
            return self.weighed(worlds)
        if replay and self.moves is not None:
            soft = SoftPolicy(networks.evaluator, config.temperature, config.reach)
            return likely_worlds(worlds, self.state, self.moves, soft, n, self.rng)
        assert networks.deals is not None  # or there would be nothing to weigh by
        logs = config.reach * networks.deals.log_ratios(worlds.states, self.seat)
        return drawn_worlds(worlds, logs, n, self.rng)

    def weighed(self, worlds: Worlds) -> Worlds:
        """Return deals with weight 0 where the greedy blueprint would not have led, if that is asked for."""
        if not self.config.greedy or self.config.reach == 0 or self.moves is None:
            return worlds
        live = supported(worlds.states, self.state, self.moves, self.networks.evaluator)
        return Worlds(worlds.states, worlds.weights * live, worlds.exact)
