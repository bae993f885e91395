"""Deals for one decision: drawn by the belief, weighed whole, a few at first and more where they are needed.

Most comparisons of moves are settled in a part of the deals that they may take. What is the same for all
deals of a decision (what was seen, the odds of every card) is worked out once.

How likely the blueprint would have played what the others played says how doubtful a deal is.
A deal in which a seat passed over a move that the blueprint would have made there is a doubtful deal. The
moves of the round so far are asked of the blueprint again in every deal, each by the hand that its seat
would have held. Few deals stand up to a whole round, so the many that are sampled are thinned on the way:
the latest moves, which say most about the cards that are left, come first.
Source: GS2 supplement, C.5 takes the greedy blueprint's reach (`supported`). One surprising move leaves it no
deal at all, so our own agents take its soft policy's.
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
from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import advance, restarted
from games.support.array_types import Array
from gs2.guandan.agent.deals.determinize import Worlds, card_odds, sample_worlds
from gs2.guandan.agent.evaluator import (
    BATCH,
    Evaluator,
    best_actions,
    evaluator_values,
    load_quick,
    quick_file,
)
from gs2.guandan.agent.guandan_config import DealsConfig
from gs2.guandan.beliefs.belief_network import (
    DEALS,
    DEFAULT,
    BeliefNetwork,
    DealNetwork,
    load_beliefs,
    load_deal_network,
)

LEAST = 1e-3
"""Probability that any move has at least: nobody follows the blueprint entirely."""
LAP = 6
"""Moves of the others after which deals are thinned."""


@dataclass(frozen=True)
class SoftPolicy:
    """The blueprint's softmax over its Q, to a power; temperature: in levels, 0 for its best move alone."""

    evaluator: Evaluator
    temperature: float
    strength: float = 1.0

    def log_probability(self, states: Array, done: Array) -> NDArray[np.float64]:
        """Return the log probability of an action at each state, [n].

        Among canonical moves of its type, rank and size it is the most likely one.
        """
        table = legal(states, canonical=True)
        out = np.zeros(len(states))
        counts = table.counts
        if counts.max() == 1:
            return out
        q = evaluator_values(self.evaluator, states, table)
        starts = table.offsets[:-1]
        same = np.ones(len(q), bool)
        for name in ("type", "rank", "size"):
            same &= table.values[name] == done[table.rows][name]
        if self.temperature == 0:
            return np.where(same[best_actions(q, table)], 0.0, -np.inf)
        shifted = np.exp((q - np.maximum.reduceat(q, starts)[table.rows]) / self.temperature)
        best = np.maximum.reduceat(np.where(same, shifted, 0.0), starts)
        probability: NDArray[np.float64] = best / np.add.reduceat(shifted, starts)
        return self.strength * np.log(np.maximum(probability, LEAST))


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


def moves_to_weigh(moves: PlayedMoves, seat: int) -> NDArray[np.int64]:
    """Return the moves that others made, the latest first."""
    return np.flatnonzero(moves.seats != seat)[::-1]


def log_reach(
    deals: Array, before: Array, moves: PlayedMoves, which: NDArray[np.int64], soft: SoftPolicy
) -> NDArray[np.float64]:
    """Return the log probability of some moves of the round in each deal, [n] float64.

    deals: [n] STATE, one infoset. before: [k] STATE before each of the moves, in any deal (see `replayed`).
    which: [w], the moves asked about.
    """
    n, w = len(deals), len(which)
    states = np.repeat(before[which], n)
    began: Any = deals["hand"]  # a type is not asked of what is added to fields: it takes seconds to find
    states["hand"] = np.tile(began + deals["played"], (w, 1, 1)) - states["played"]
    logs = soft.log_probability(states, np.repeat(moves.actions[which], n))
    found: NDArray[np.float64] = logs.reshape(w, n).sum(0)
    return found


def supported(deals: Array, state: Array, moves: PlayedMoves, evaluator: Evaluator) -> NDArray[np.bool_]:
    """Return in which deals the blueprint's best moves are all that others have played, [n] bool.

    deals: [n] STATE of the infoset of the seat to act at `state` [1]; they are asked about until they fail.
    """
    before, greedy = replayed(state, moves), SoftPolicy(evaluator, 0.0)
    alive = np.arange(len(deals))
    which = moves_to_weigh(moves, int(state["player"][0]))
    while len(which) and len(alive):
        some = max(1, BATCH // len(alive))  # few deals are asked about many moves at once
        logs = log_reach(deals[alive], before, moves, which[:some], greedy)
        alive, which = alive[logs == 0], which[some:]
    return np.isin(np.arange(len(deals)), alive)


def likely_worlds(
    worlds: Worlds,
    state: Array,
    moves: PlayedMoves,
    soft: SoftPolicy,
    count: int,
    rng: np.random.Generator,
) -> Worlds:
    """Return up to `count` of some deals, drawn by the blueprint's reach.

    state: [1] STATE at which the deals are considered, by the seat to act. Deals that are listed are weighted
    and all kept; others are thinned by half lap by lap, so that their weights come out alike.
    """
    seat = int(state["player"][0])
    before = replayed(state, moves)
    which = moves_to_weigh(moves, seat)
    if worlds.exact:
        return drawn_worlds(worlds, log_reach(worlds.states, before, moves, which, soft), count, rng)
    while len(which) and len(worlds) > 1:
        lap, which = which[:LAP], which[LAP:]
        worlds = worlds.weighed(log_reach(worlds.states, before, moves, lap, soft))
        worlds = _thinned(worlds, max(count, len(worlds) // 2) if len(which) else count, rng)
    return worlds.take(rng.permutation(len(worlds)))


def drawn_worlds(worlds: Worlds, logs: NDArray[np.float64], count: int, rng: np.random.Generator) -> Worlds:
    """Return up to `count` of some deals, drawn by exp(logs) and their weights, in random order.

    Deals that are listed are weighted and all kept.
    """
    weighed = worlds.weighed(logs)
    return weighed if worlds.exact else thinned(weighed, count, rng)


def thinned(worlds: Worlds, count: int, rng: np.random.Generator) -> Worlds:
    """Return up to `count` of some deals, drawn by their weights, in random order."""
    kept = _thinned(worlds, count, rng)
    return kept.take(rng.permutation(len(kept)))


def _thinned(worlds: Worlds, count: int, rng: np.random.Generator) -> Worlds:
    """Return up to `count` deals drawn by their weights, in order; a deal drawn often counts so often.

    Systematic resampling: no deal comes more or less often than its share by one or more.
    """
    weights = worlds.weights
    if len(weights) <= count:
        return worlds
    steps = (rng.random() + np.arange(count)) / count
    rows = np.searchsorted(np.cumsum(weights) / weights.sum(), steps).clip(max=len(weights) - 1)
    kept, times = np.unique(rows, return_counts=True)
    return Worlds(worlds.states[kept], times.astype(np.float64), False)


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
