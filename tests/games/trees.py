"""A plain walk over a whole game, for tests that count or compare."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.tree import FlatTree
from games import CHANCE, TERMINAL, Game, Ragged
from games.infosets.trail import Trail, Watcher


@dataclass
class Level:
    """All histories of one length: their states, who acts and what may be done."""

    states: NDArray
    player: NDArray
    actions: Ragged
    probs: NDArray


def line_to(tree: FlatTree, node: int) -> Ragged:
    """Return the actions that lead from the root of a tree to a node, as one row, [depth]."""
    way = tree.way_to(node)
    return Ragged.from_counts(np.array([len(way)]), tree.action[way])


def levels(game: Game) -> Iterator[Level]:
    """Yield the game level by level; row order is that of the parents, then of their actions."""
    states = game.root()
    while len(states):
        actions = game.actions(states)
        yield Level(states, game.player(states), actions, game.chance_probs(states, actions))
        states = game.step(states, actions.rows, actions.values)


def watched(
    game: Game, rng: np.random.Generator, until: Callable[[NDArray, int], bool], first: int | None = None
) -> tuple[Trail, NDArray]:
    """Return what the player to act saw of a random play, and the state, where `until` holds of both.

    first: so many of a player's actions are chosen from; None for all.
    """
    watchers, state = [Watcher(game, seat) for seat in range(game.num_players)], game.root()
    while True:
        for watcher in watchers:
            watcher.see(state)
        who, actions = int(game.player(state)[0]), game.actions(state)
        if who >= 0 and until(state, who):
            return watchers[who].trail, state
        probs = game.chance_probs(state, actions)[: first if who >= 0 else None]
        taken = actions.values[rng.choice(len(probs), p=probs / probs.sum())]
        if who >= 0:
            watchers[who].act(taken)
        state = game.step(state, np.zeros(1, np.int64), taken[None])


def sizes(game: Game) -> dict[str, Any]:
    """Return the sizes that tests/data/efg.json records, counted on our own tree."""
    count: dict[str, Any] = {"nodes": 0, "terminals": 0, "chance_nodes": 0, "max_depth": -1, "max_actions": 0}
    lists: dict[str, list[int]] = {"dec_nodes": [0, 0], "infosets": [0, 0], "sequences": [1, 1]}
    payoffs: list[float] = []
    for level in levels(game):
        count["nodes"] += len(level.states)
        count["max_depth"] += 1
        over = level.player == TERMINAL
        count["terminals"] += int(over.sum())
        count["chance_nodes"] += int((level.player == CHANCE).sum())
        if over.any():
            returns = game.returns(level.states[over])
            payoffs += [returns.min(), returns.max()]
        for player in (0, 1):
            at = np.flatnonzero(level.player == player)
            keys, first = np.unique(game.infoset_key(level.states[at], player), axis=0, return_index=True)
            lists["dec_nodes"][player] += len(at)
            lists["infosets"][player] += len(keys)
            lists["sequences"][player] += int(level.actions.counts[at][first].sum())
            count["max_actions"] = max(count["max_actions"], int(level.actions.counts[at].max(initial=0)))
    return {**count, **lists, "payoff_range": [min(payoffs), max(payoffs)]}
