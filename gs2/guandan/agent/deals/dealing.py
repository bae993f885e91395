"""Deals for one decision: drawn by the belief, weighed whole, a few at first and more where they are needed.

Most comparisons of moves are settled in a part of the deals that they may take. What is the same for all
deals of a decision (what was seen, the odds of every card) is worked out once.

Where the published agent is asked for (`greedy`), the moves of the round so far are asked of the blueprint
again in every deal, each by the hand that its seat would have held; the latest moves come first.
Source: GS2 supplement, C.5 takes the greedy blueprint's reach (`supported`). One surprising move leaves it no
deal at all, so our own agents ask a network that weighs whole deals.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blueprint.guandan import SHIPPED
from blueprint.protocol import PlayedMoves
from games.game import GameError
from games.guandan.rounds.round import advance, restarted
from games.support.array_types import Array
from gs2.guandan.agent.deals.determinize import Worlds, card_odds, sample_worlds
from gs2.guandan.agent.evaluator import (
    BATCH,
    Evaluator,
    best_moves,
    load_quick,
    quick_file,
)
from gs2.guandan.agent.guandan_config import DealsConfig
from gs2.guandan.beliefs.belief_network import (
    DEALS,
    DEFAULT,
    BeliefNetwork,
    DealNetwork,
    load_network,
)


def replayed(state: Array, moves: PlayedMoves) -> Array:
    """Return the round before each of its moves, [k] STATE, in the deal of `state` [1].

    Raises GameError if the moves do not lead to the state.
    """
    out = states_along(restarted(state), moves.actions)
    if not np.array_equal(out["hash"][-1:], state["hash"]):
        raise GameError(
            "guandan: the moves given must lead to the state from the start of its round; they do not"
        )
    return out[:-1]


def states_along(start: Array, actions: Array) -> Array:
    """Return a round before each of some moves and after the last, [n + 1] STATE. start: [1] STATE."""
    out = np.repeat(start, len(actions) + 1)
    for k in range(len(actions)):
        out[k + 1] = out[k]
        advance(out[k + 1 : k + 2], actions[k : k + 1])
    return out


def supported(deals: Array, state: Array, moves: PlayedMoves, evaluator: Evaluator) -> NDArray[np.bool_]:
    """Return in which deals the blueprint's best moves are all that others have played, [n] bool.

    A move counts as the best one of its type, rank and size. deals: [n] STATE of the infoset of the seat to
    act at `state` [1]; they are asked about until they fail, the latest moves first.
    """
    before, alive = replayed(state, moves), np.arange(len(deals))
    which = np.flatnonzero(moves.seats != state["player"][0])[::-1]
    while len(which) and len(alive):
        some = max(1, BATCH // len(alive))  # few deals are asked about many moves at once
        asked, which = which[:some], which[some:]
        states = np.repeat(before[asked], len(alive))
        began: Any = deals["hand"][alive]  # a type is not asked of what is added to fields: it takes seconds
        states["hand"] = np.tile(began + deals["played"][alive], (len(asked), 1, 1)) - states["played"]
        done, best = np.repeat(moves.actions[asked], len(alive)), best_moves(evaluator, states)
        same = np.all([best[name] == done[name] for name in ("type", "rank", "size")], axis=0)
        alive = alive[same.reshape(len(asked), -1).all(0)]
    return np.isin(np.arange(len(deals)), alive)


def drawn_worlds(worlds: Worlds, logs: NDArray[np.float64], count: int, rng: np.random.Generator) -> Worlds:
    """Return up to `count` of some deals, drawn by exp(logs) and their weights, in random order.

    Deals that are listed are weighted and all kept.
    """
    weighed = worlds.weighed(logs)
    return weighed if worlds.exact else thinned(weighed, count, rng)


def thinned(worlds: Worlds, count: int, rng: np.random.Generator) -> Worlds:
    """Return up to `count` of some deals, drawn by their weights, in random order.

    A deal drawn often counts so often. Systematic resampling: no deal comes more or less often than its share
    by one or more.
    """
    weights = worlds.weights
    if len(weights) > count:
        steps = (rng.random() + np.arange(count)) / count
        rows = np.searchsorted(np.cumsum(weights) / weights.sum(), steps).clip(max=len(weights) - 1)
        kept, times = np.unique(rows, return_counts=True)
        worlds = Worlds(worlds.states[kept], times.astype(np.float64), False)
    return worlds.take(rng.permutation(len(worlds)))


@dataclass(frozen=True, eq=False)
class DealNetworks:
    """What knows how likely deals are.

    evaluator: of the blueprint. beliefs: who is likely to hold which card; None deals the hidden cards
    uniformly. deals: how likely whole deals are beside that; None takes them as they come. quick: knows the
    blueprint's moves sooner, for rollouts; None without one.
    """

    evaluator: Evaluator
    beliefs: BeliefNetwork | None = None
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
        load_network(BeliefNetwork) if beliefs.is_file() else None,
        load_network(DealNetwork) if deals.is_file() else None,
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
        config, network = self.config, self.networks.deals
        weigh = config.reach > 0 and not config.greedy and network is not None
        first = max(n, round(config.pool * n / most)) if weigh else n
        listed = (max(most, config.pool) if weigh else most) if listing else 0
        worlds = sample_worlds(self.state, self.seat, first, self.rng, odds=self.odds, listed=listed)
        if network is None or not weigh:
            return self.weighed(worlds)
        return drawn_worlds(worlds, config.reach * network.log_ratios(worlds.states, self.seat), n, self.rng)

    def weighed(self, worlds: Worlds) -> Worlds:
        """Return deals with weight 0 where the greedy blueprint would not have led, if that is asked for."""
        if not self.config.greedy or self.config.reach == 0 or self.moves is None:
            return worlds
        live = supported(worlds.states, self.state, self.moves, self.networks.evaluator)
        return Worlds(worlds.states, worlds.weights * live, worlds.exact)
