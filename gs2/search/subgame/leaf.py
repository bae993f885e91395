"""Leaf evaluators: what a history at the depth limit is worth.

An evaluator is a function (game, states) -> payoffs [n, P], on the game's own scale. `check_leaf_value` is
the contract test for one's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint
from games.game import CHANCE, TERMINAL, Game
from games.support.contract import require
from gs2.search.subgame.playing_out import FreshDraws, play_out

__all__ = ["OWN_LEAVES", "LeafEvaluator", "check_leaf_value", "checked_leaf", "rollout_leaf", "value_leaf"]

MOST_IDLE = 1000
"""Random plays without any decision after which a game is taken to have none."""

LeafEvaluator = Callable[[Game, NDArray[Any]], NDArray[np.float64]]
"""What values histories: (game, states [n]) to payoffs, [n, P] float64, on the game's own scale."""
OWN_LEAVES: dict[str, LeafEvaluator] = {}
"""Those that were registered, by name (`gs2.parts.register_leaf`)."""


def value_leaf(blueprint: Blueprint) -> LeafEvaluator:
    """Return an evaluator that asks the blueprint for the value of each team's view and settles between them.

    Two seats of different teams see a history differently, so their values need not sum to zero; half the
    difference does. Seats of one team are averaged first.
    """

    def leaf(game: Game, states: NDArray[Any]) -> NDArray[np.float64]:
        teams = np.array(game.teams)
        by_seat = np.stack([blueprint.value(game, states, seat) for seat in range(game.num_players)], axis=1)
        gain = (by_seat[:, teams == 0].mean(axis=1) - by_seat[:, teams == 1].mean(axis=1)) / 2
        payoffs: NDArray[np.float64] = gain[:, None] * np.where(teams == 0, 1.0, -1.0)
        return payoffs

    return leaf


def rollout_leaf(blueprint: Blueprint, rng: np.random.Generator, *, rollouts: int = 10) -> LeafEvaluator:
    """Return an evaluator that plays every history to its end a few times and takes the mean payoff.

    rollouts: games from each history.
    """

    def leaf(game: Game, states: NDArray[Any]) -> NDArray[np.float64]:
        now = np.repeat(states, rollouts, axis=0)
        payoffs = play_out(game, now, [(blueprint,)] * game.num_players, FreshDraws(rng))
        mean: NDArray[np.float64] = payoffs.reshape(len(states), rollouts, -1).mean(axis=1)
        return mean

    return leaf


def check_leaf_value(
    leaf: LeafEvaluator, game: Game, rng: np.random.Generator, *, histories: int = 64
) -> None:
    """Return None if `leaf` keeps the contract at histories met in random play.

    Payoffs must come as [n, players] finite floats within the game's payoff range, equal within a team, with
    the two teams' summing to zero. An evaluator on another scale (win probability, normalised reward) fails
    here rather than corrupting a search.
    Raises ContractError naming the broken rule, and for a game in which nobody decides.
    """
    states = _random_histories(game, rng, histories)
    _check_values(leaf(game, states.copy()), game, len(states))


def checked_leaf(leaf: LeafEvaluator) -> LeafEvaluator:
    """Return the same evaluator with every answer held against the contract of `check_leaf_value`."""

    def checked(game: Game, states: NDArray[Any]) -> NDArray[np.float64]:
        return _check_values(leaf(game, states), game, len(states))

    return checked


def _check_values(given: Any, game: Game, n: int) -> NDArray[np.float64]:
    """Return what an evaluator said of n histories, [n, players]; raise ContractError if it must not."""
    try:
        values = np.asarray(given)
    except ValueError:  # rows of different lengths
        values = np.zeros(0, object)
    wanted = (n, game.num_players)
    _require(values.shape == wanted, f"must be [n, players], {wanted}", values.shape)
    _require(np.issubdtype(values.dtype, np.floating), "must be finite floats", values.dtype)
    finite = np.isfinite(values)
    _require(finite.all(), "must be finite floats", values[~finite][:3])
    teams = np.array(game.teams)
    low, high = game.payoff_range
    slack = 1e-6 * (high - low)
    if n == 0:
        return values
    inside = values.min() >= low - slack and values.max() <= high + slack
    _require(inside, f"must lie in the payoff range [{low}, {high}]", f"[{values.min():g}, {values.max():g}]")
    for team in (0, 1):
        mine = values[:, teams == team]
        shared = np.allclose(mine, mine[:, :1], atol=slack)
        _require(shared, f"must be the same for all seats of team {team}", mine[0])
    total = values[:, int(np.argmax(teams == 0))] + values[:, int(np.argmax(teams == 1))]
    _require(
        np.allclose(total, 0.0, atol=2 * slack),
        "must sum to zero over the two teams",
        f"a sum of {total[np.abs(total).argmax()]:g}",
    )
    return values


def _require(holds: object, rule: str, received: object) -> None:
    require(holds, f"leaf: values {rule}", received, "check_leaf_value in gs2/search/subgame/leaf.py")


def _random_histories(game: Game, rng: np.random.Generator, count: int) -> NDArray[Any]:
    """Return decision histories met while playing uniformly at random."""
    found: list[NDArray[Any]] = []
    plays = 0
    while len(found) < count:
        plays += 1
        state = game.root()
        while True:
            player = int(game.player(state)[0])
            if player == TERMINAL:
                break
            actions = game.actions(state)
            if player == CHANCE:
                prob = game.chance_probs(state, actions)
                pick = int(rng.choice(len(prob), p=prob / prob.sum()))
            else:
                found.append(state)
                pick = int(rng.integers(len(actions.values)))
            state = game.step(state, np.zeros(1, np.int64), actions.values[pick : pick + 1])
        met = found or plays < MOST_IDLE
        _require(met, "are asked for where somebody decides", f"no decision in {plays} plays of {game.name}")
    return np.concatenate(found[:count])
