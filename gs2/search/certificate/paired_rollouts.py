"""Paired rollouts: what a refined policy and the blueprint get from the same histories by the same luck."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint
from games.game import Game
from gs2.search.subgame.playing_out import CommonDraws, play_out

__all__ = ["action_payoffs", "columns_against", "strategy_payoffs"]


def columns_against(
    game: Game, player: int, blueprint: Blueprint, continuations: Sequence[Blueprint]
) -> list[list[Blueprint]]:
    """Return for each seat what it plays in each column: opponents a continuation, our team the blueprint.

    continuations: C of them, the blueprint first. The result has C blueprints for each seat.
    """
    team = game.teams[player]
    return [
        list(continuations) if game.teams[seat] != team else [blueprint] * len(continuations)
        for seat in range(game.num_players)
    ]


def action_payoffs(
    game: Game,
    states: NDArray[Any],
    player: int,
    columns: Sequence[Sequence[Blueprint]],
    rng: np.random.Generator,
    *,
    rollouts: int = 1,
) -> NDArray[np.float64]:
    """Return the mean payoff of each of a player's actions at histories of one infoset, [n, C, a] float64.

    states: [n], all of one infoset of the player, who acts. columns: for each seat what it plays in each of C
    columns from then on, as `columns_against` gives it.
    rollouts: games for each; all actions and columns of one history meet the same luck.
    Raises ValueError where the player does not act, or actions differ in number.
    """
    actions = game.actions(states)
    if not np.all(game.player(states) == player) or len(np.unique(actions.counts)) > 1:
        raise ValueError(f"action_payoffs: states must be of one infoset at which seat {player} acts")
    n, c = len(states), len(columns[0])
    a = int(actions.counts[0]) if n else 0
    after = game.step(states, actions.rows, actions.values)
    row = np.repeat(np.arange(n * a), c * rollouts)
    column = np.tile(np.repeat(np.arange(c), rollouts), n * a)
    sample = np.tile(np.arange(rollouts), n * a * c)
    draws = CommonDraws(int(rng.integers(1 << 62)), row // max(a, 1), sample, rollouts, game.num_players)
    chosen = np.repeat(column[:, None], game.num_players, axis=1)
    payoffs = play_out(game, after[row], columns, draws, chosen)[:, player]
    mean: NDArray[np.float64] = payoffs.reshape(n, a, c, rollouts).mean(axis=3)
    return np.ascontiguousarray(mean.swapaxes(1, 2))


def strategy_payoffs(
    game: Game,
    states: NDArray[Any],
    player: int,
    strategies: Sequence[Blueprint],
    columns: Sequence[Sequence[Blueprint]],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return what a player gets from histories by each of its strategies, [n, S, C] float64, one game each.

    strategies: S of them, for this decision and all later ones of the player; the refined and the old, say.
    columns: what each seat plays in each of C columns; the player's own are not looked at.
    All strategies and columns of one history meet the same luck.
    """
    n, s, c = len(states), len(strategies), len(columns[0])
    row = np.repeat(np.arange(n), s * c)
    own = np.tile(np.repeat(np.arange(s), c), n)
    column = np.tile(np.arange(c), n * s)
    draws = CommonDraws(int(rng.integers(1 << 62)), row, np.zeros(len(row), np.int64), 1, game.num_players)
    chosen = np.repeat(column[:, None], game.num_players, axis=1)
    chosen[:, player] = own
    plays = [list(strategies) if seat == player else list(columns[seat]) for seat in range(game.num_players)]
    payoffs: NDArray[np.float64] = play_out(game, states[row], plays, draws, chosen)[:, player]
    return payoffs.reshape(n, s, c)
