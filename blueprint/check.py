"""What every blueprint must keep, neural or tabular, one's own included."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint
from games.game import TERMINAL, Game
from games.ragged import Ragged
from games.support.array_types import Array
from games.support.contract import ContractError


class BlueprintError(ContractError):
    """A blueprint that was asked about what it does not know, or that does not keep its contract."""


def row_sums(values: Array, actions: Ragged) -> NDArray[np.float64]:
    """Return the sum of each row's values, [n] float64."""
    return np.bincount(actions.rows, values, minlength=len(actions)).astype(np.float64)


@dataclass(frozen=True)
class BlueprintReport:
    """What `check_blueprint` saw: decisions asked about, and the extremes of q and of values."""

    decisions: int
    lowest: float
    highest: float


def check_blueprint(
    blueprint: Blueprint,
    game: Game,
    rng: np.random.Generator,
    *,
    plays: int = 20,
    states: Array | None = None,
    tolerance: float = 0.05,
) -> BlueprintReport:
    """Return what was seen while checking that a blueprint keeps its contract on a game.

    Random plays are walked through; at every decision: q, policy and value have one finite number for each
    action or state; probabilities are not negative and sum to 1; q and values lie within the game's payoffs;
    the policy's mean of q is the value; and an infoset gets the same answers whatever is hidden from it and
    whatever else is asked in the batch.
    plays: random plays from `states`, [n] (drawn with replacement), by default from the game's root.
    tolerance: allowed error of the mean, of the bounds and between answers, in payoffs.
    Raises BlueprintError naming what does not hold, and where.
    """
    now = game.root() if states is None else states
    now = now[rng.integers(0, len(now), plays)]
    count, lowest, highest = 0, np.inf, -np.inf
    while len(now):
        players = np.asarray(game.player(now), np.int64)
        now, players = now[players != TERMINAL], players[players != TERMINAL]
        if len(now) == 0:
            break
        actions = game.actions(now)
        for player in np.unique(players[players >= 0]):
            rows = np.flatnonzero(players == player)
            asked = (blueprint, game, now[rows], int(player), actions.take(rows))
            q, _, value = answers = _answers(*asked)
            _require(asked, answers, tolerance)
            count += len(rows)
            lowest, highest = min(lowest, q.min(), value.min()), max(highest, q.max(), value.max())
        pick = actions.offsets[:-1] + (rng.random(len(now)) * actions.counts).astype(np.int64)
        now = game.step(now, np.arange(len(now)), actions.values[pick])
    return BlueprintReport(count, float(lowest), float(highest))


_Asked = tuple[Blueprint, Game, Array, int, Ragged]
"""A question to a blueprint: states at which one player acts, and all their actions."""


def _answers(
    blueprint: Blueprint, game: Game, states: Array, player: int, actions: Ragged
) -> tuple[Array, Array, Array]:
    """Return q, policy and value. Raises BlueprintError unless they are as many finite numbers."""
    q = np.asarray(blueprint.q(game, states, player, actions))
    policy = np.asarray(blueprint.policy(game, states, player, actions))
    value = np.asarray(blueprint.value(game, states, player))
    for name, array, size in (
        ("q", q, len(actions.values)),
        ("policy", policy, len(actions.values)),
        ("value", value, len(states)),
    ):
        if array.shape != (size,) or not np.all(np.isfinite(array)):
            raise BlueprintError(
                f"{blueprint.name}: {name} must be {size} finite numbers; got shape {array.shape}"
                + (", not all of them finite" if array.shape == (size,) else "")
            )
    return q, policy, value


def _require(asked: _Asked, answers: tuple[Array, Array, Array], tolerance: float) -> None:
    """Raise BlueprintError for the first rule that the answers break."""
    blueprint, game, states, player, actions = asked
    q, policy, value = answers
    low, high = game.payoff_range

    def fail(rule: str, bad: NDArray[np.bool_], got: Array) -> None:
        if np.any(bad):
            row = int(np.argmax(bad))
            where = game.infoset_text(states[row], player)
            raise BlueprintError(f"{blueprint.name}: {rule}; got {got[row]} at {where}")

    rows = actions.rows
    negative = np.bincount(rows[policy < 0], minlength=len(states)) > 0
    fail("a probability must not be negative", negative, row_sums(np.minimum(policy, 0), actions))
    total = row_sums(policy, actions)
    fail("probabilities must sum to 1", np.abs(total - 1) > 1e-6, total)
    keys = game.infoset_key(states, player)
    _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    same = first[group.ravel()]
    twin = actions.offsets[same][rows] + np.arange(len(rows)) - actions.offsets[rows]
    for name, array, at, other in (("value", value, np.arange(len(states)), same), ("q", q, rows, twin)):
        apart = np.zeros(len(states))
        np.maximum.at(apart, at, np.abs(array - array[other]))
        fail(f"{name} must be the same throughout an infoset", apart > tolerance, apart)
    mean = row_sums(policy * q, actions)
    fail("the policy's mean of q must be the value", np.abs(mean - value) > tolerance, mean - value)
    for name, array, at in (("q", q, rows), ("value", value, np.arange(len(states)))):
        out = np.zeros(len(states))
        np.maximum.at(out, at, np.maximum(low - array, array - high))
        fail(f"{name} must lie in [{low}, {high}]", out > tolerance * (high - low), out)
    one = np.array([0])
    alone = _answers(blueprint, game, states[one], player, actions.take(one))
    for got, batch in zip(alone, answers, strict=True):
        apart = np.abs(got - batch[: len(got)]).max()
        fail("answers must not depend on the batch", np.array([apart > tolerance]), np.array([apart]))
